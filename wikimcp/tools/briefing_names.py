"""What a briefing is asked for: pins and clusters found by their names, with a warning for each that is not.

A warning says the same of a withheld page as of one that never was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from wikimcp.errors import Ambiguous, NotFound, Unavailable
from wikimcp.index.names import fold
from wikimcp.index.view import Cluster, PageRecord, Reading
from wikimcp.tools.cluster_order import in_reading_order
from wikimcp.tools.filters import unknown_value
from wikimcp.tools.rendering import clip, flatten

MOST_PINS = 25
MOST_CLUSTERS = 10
MOST_MEMBERS = 200
_SHOWN_CANDIDATES = 5
_SHOWN_EXCESS = 5
_LONGEST_NAME = 60
_LONGEST_WARNING = 300


@dataclass(frozen=True, slots=True)
class AskedCluster:
    """A cluster that was asked for: its pages in the order to read them, and how many there are in all."""

    cluster: Cluster
    pages: Sequence[PageRecord]
    total: int


@dataclass(slots=True)
class Asked:
    """The pages and clusters that the names mean, each once, in the order given."""

    pins: list[PageRecord] = field(default_factory=list)
    clusters: list[AskedCluster] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def revs(self) -> frozenset[int]:
        """Return the revs of all pages of the clusters."""
        return frozenset(page.rev for asked in self.clusters for page in asked.pages)


def read_names(reading: Reading, *, pins: Sequence[str], clusters: Sequence[str]) -> Asked:
    """Look the names up; unknown, ambiguous and surplus ones are warnings."""
    asked = Asked()
    asked.pins = _pins(reading, pins[:MOST_PINS], asked.warnings)
    if len(pins) > MOST_PINS:
        asked.warnings.append(_excess("pins", pins, MOST_PINS))
    for cluster in _clusters(reading, clusters[:MOST_CLUSTERS], asked.warnings):
        pages = in_reading_order(reading, cluster)
        asked.clusters.append(AskedCluster(cluster, pages[:MOST_MEMBERS], len(pages)))
        if len(pages) > MOST_MEMBERS:
            name = clip(flatten(cluster.name), _LONGEST_NAME)
            asked.warnings.append(
                f"clusters: the first {MOST_MEMBERS} of the {len(pages)} pages of '{name}' were considered"
            )
    if len(clusters) > MOST_CLUSTERS:
        asked.warnings.append(_excess("clusters", clusters, MOST_CLUSTERS))
    return asked


def _excess(what: str, names: Sequence[str], most: int) -> str:
    left = [clip(flatten(name), _LONGEST_NAME) for name in names[most : most + _SHOWN_EXCESS]]
    more = len(names) - most - len(left)
    listed = ", ".join(left) + (f" and {more} more" if more else "")
    return f"{what}: only the first {most} of {len(names)} were used; left out: {listed}"


def _pins(reading: Reading, names: Sequence[str], warnings: list[str]) -> list[PageRecord]:
    found: dict[str, PageRecord] = {}
    for name in names:
        try:
            page = reading.resolve(name)
        except Ambiguous as error:
            warnings.append(_ambiguous("pins", name, "pages", error.candidates))
        except (NotFound, Unavailable) as error:
            hint = f". {flatten(error.hint)}" if error.hint else ""
            warnings.append(clip(f"pins: {flatten(error.message)}{hint}", _LONGEST_WARNING))
        else:
            found.setdefault(page.slug, page)
    return list(found.values())


def _clusters(reading: Reading, names: Sequence[str], warnings: list[str]) -> list[Cluster]:
    found: dict[str, Cluster] = {}
    for name in names:
        wanted = name.strip().strip("/")
        fitting = next((group for group in _readings(wanted, list(reading.clusters)) if group), [])
        if len(fitting) == 1:
            found.setdefault(fitting[0], reading.clusters[fitting[0]])
        elif fitting:
            warnings.append(_ambiguous("clusters", wanted, "clusters", fitting))
        else:
            said = unknown_value("cluster", wanted, list(reading.clusters))
            warnings.append(clip(f"clusters: {said}", _LONGEST_WARNING))
    return list(found.values())


def _readings(wanted: str, known: Sequence[str]) -> Iterator[list[str]]:
    """Yield the clusters of exactly that name, of that name folded, and those whose last part it is."""
    key = fold(wanted)
    yield [name for name in known if name == wanted]
    yield [name for name in known if fold(name) == key]
    yield [name for name in known if "/" in name and fold(name.rsplit("/", 1)[-1]) == key]


def _ambiguous(argument: str, name: str, what: str, candidates: Sequence[str]) -> str:
    shown = ", ".join(clip(flatten(one), 2 * _LONGEST_NAME) for one in candidates[:_SHOWN_CANDIDATES])
    more = len(candidates) - _SHOWN_CANDIDATES
    tail = f" and {more} more" if more > 0 else ""
    named = clip(flatten(name), _LONGEST_NAME)
    return f"{argument}: '{named}' names {len(candidates)} {what}: {shown}{tail}. Use one of these names"
