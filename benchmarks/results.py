"""All that one run of the benchmarks found, with what it was run on; turns into JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.figures import Figure, Outcome
from benchmarks.goals import Scale, goal_for, scale_of


@dataclass(frozen=True, slots=True)
class VaultSet:
    """One vault that was measured: ``copies`` of the corpus, each with words of its own when ``varied``."""

    copies: int
    varied: bool
    pages: int

    @property
    def name(self) -> str:
        """The name in tables: page files, and how they were made."""
        how = "" if self.copies == 1 else f", {self.copies} {'varied' if self.varied else 'alike'} copies"
        return f"{self.pages:,} pages{how}"

    @property
    def scale(self) -> Scale:
        """Which goals it is held against."""
        return scale_of(self.pages)


@dataclass(frozen=True, slots=True)
class Results:
    """Everything a report is made of. ``options`` are those of the command line that shape figures."""

    date: str
    machine: Mapping[str, Any]
    load_before: float
    load_after: float
    options: Mapping[str, Any]
    sets: Sequence[VaultSet]
    outcomes: Sequence[Outcome]

    def of(self, measure: str) -> list[Outcome]:
        """Return the outcomes of a measure, in the order of the sets."""
        return [outcome for outcome in self.outcomes if outcome.measure == measure]

    def sets_of(self, measure: str) -> list[VaultSet]:
        """Return the sets that a measure was taken of."""
        taken = {outcome.set_name for outcome in self.of(measure)}
        return [one for one in self.sets if one.name in taken]

    def by_set(self) -> Iterator[tuple[VaultSet, Figure]]:
        """Yield every figure with its set, set by set."""
        for one in self.sets:
            for outcome in self.outcomes:
                if outcome.set_name == one.name:
                    yield from ((one, figure) for figure in outcome.figures)

    def labels(self, measure: str) -> dict[str, Figure]:
        """Return one figure for each key of a measure, of whichever set has it, in order."""
        found: dict[str, Figure] = {}
        for outcome in self.of(measure):
            for figure in outcome.figures:
                found.setdefault(figure.key, figure)
        return found

    def figure(self, key: str, vault_set: VaultSet) -> Figure | None:
        """Return one figure of one set."""
        return next((found for one, found in self.by_set() if one == vault_set and found.key == key), None)

    def figure_at(self, key: str, scale: Scale) -> Figure | None:
        """Return a figure of the first set of a scale (of any set for the empty one) that has it."""
        sets = [one for one in self.sets if scale in ("", one.scale)]
        return next((found for one in sets if (found := self.figure(key, one))), None)

    @property
    def busy(self) -> bool:
        """Whether the machine did other work when the run began: then times are upper bounds."""
        return self.load_before > 0.5 * float(self.machine.get("cores", 1))

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain values, with the verdict on each figure that has a goal."""
        outcomes = []
        for outcome in self.outcomes:
            facts = outcome.as_json()
            scale = next(one.scale for one in self.sets if one.name == outcome.set_name)
            for figure in facts["figures"]:
                if goal := goal_for(figure["key"], scale):
                    figure["goal"] = str(goal)
                    figure["verdict"] = goal.verdict(figure["median"])
            outcomes.append(facts)
        return {
            "date": self.date,
            "machine": dict(self.machine),
            "load_before": self.load_before,
            "load_after": self.load_after,
            "busy": self.busy,
            "options": dict(self.options),
            "sets": [
                {"name": one.name, "pages": one.pages, "copies": one.copies, "varied": one.varied}
                for one in self.sets
            ],
            "outcomes": outcomes,
        }
