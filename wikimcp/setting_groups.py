"""The groups of settings and their keys: one dataclass a group, one field a key, with kind and bounds.

Which source gives a value is the matter of `settings`; what it means, of the part that uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wikimcp.config_text import Rule


@dataclass(frozen=True, slots=True)
class Places:
    """Folders that belong to the person who runs the program; tests give their own."""

    home: Path
    config: Path
    state: Path
    data: Path

    @classmethod
    def of_user(cls) -> Places:
        """Return the folders of this platform's conventions."""
        import platformdirs

        return cls(
            home=Path.home(),
            config=platformdirs.user_config_path("wikimcp"),
            state=platformdirs.user_state_path("wikimcp"),
            data=platformdirs.user_data_path("wikimcp"),
        )


def declared(kind: str, default: object, *choices: str, between: tuple[float, float] | None = None) -> Any:  # noqa: ANN401
    """Declare a key as a dataclass field; a callable default is called for its value."""
    low, high = between or (None, None)
    rule = {"rule": Rule(kind, low, high, choices)}
    return (
        field(default_factory=default, metadata=rule)
        if callable(default)
        else field(default=default, metadata=rule)
    )


@dataclass(frozen=True, slots=True)
class Drafts:
    """``allow``: the operator's switch; a caller must ask for drafts as well."""

    allow: bool = declared("flag", False)


@dataclass(frozen=True, slots=True)
class Models:
    """The folder where embedding models lie, and the one to use (empty: the default, or any there)."""

    dir: Path = declared("path", lambda: Places.of_user().data / "models")
    name: str = declared("text", "")


@dataclass(frozen=True, slots=True)
class Coverage:
    """Cosines at which a bundle is strong or partial; None: the embedder's own calibrated pair."""

    strong_similarity: float | None = declared("number", None, between=(-1, 1))
    partial_similarity: float | None = declared("number", None, between=(-1, 1))
    lexical_lift: bool = declared("flag", True)


@dataclass(frozen=True, slots=True)
class Dense:
    """``hnsw_threshold``: chunks above which an approximate index is used where it is installed."""

    hnsw_threshold: int = declared("whole", 250_000, between=(0, 10**9))


@dataclass(frozen=True, slots=True)
class Urls:
    """``file``: whether answers may hold ``file://`` addresses of this machine."""

    file: bool = declared("flag", False)


@dataclass(frozen=True, slots=True)
class Start:
    """``wait_seconds``: how long a call waits for an index that is still being built."""

    wait_seconds: float = declared("number", 2.0, between=(0, 60))


@dataclass(frozen=True, slots=True)
class Http:
    """The HTTP edge: its address, extra Host values, who may ask without a key, and how often.

    ``allow_anonymous``: an open address may be bound without a key, and where there are keys requests
    without one are answered too. ``cors_origins``: web pages that may ask. ``rate_per_minute`` (0: any
    number) and ``rate_burst`` hold for each key, and for each address that asks without one; of the
    connections beyond ``max_connections`` that are open at once each is refused.
    """

    host: str = declared("text", "127.0.0.1")
    port: int = declared("whole", 8808, between=(0, 65_535))
    allowed_hosts: tuple[str, ...] = declared("list", ())
    allow_anonymous: bool = declared("flag", False)
    keys_file: Path = declared("path", lambda: Places.of_user().config / "keys.json")
    cors_origins: tuple[str, ...] = declared("list", ())
    rate_per_minute: int = declared("whole", 1_200, between=(0, 10**9))
    rate_burst: int = declared("whole", 240, between=(1, 10**9))
    time_limit: float = declared("number", 60.0, between=(1, 3_600))
    max_connections: int = declared("whole", 500, between=(1, 100_000))
    agent_to_agent: bool = declared("flag", False)


@dataclass(frozen=True, slots=True)
class Graph:
    """``enabled``: whether the knowledge graph and its tools are on."""

    enabled: bool = declared("flag", True)


@dataclass(frozen=True, slots=True)
class Sparql:
    """What one query may cost: seconds of the clock, and memory beyond the data."""

    seconds: float = declared("number", 5.0, between=(0.05, 60))
    memory_mb: int = declared("whole", 512, between=(16, 65_536))


@dataclass(frozen=True, slots=True)
class Briefing:
    """Share of a briefing that its prompt may take beside pins and clusters; the hot page first."""

    prompt_share: float = declared("number", 0.4, between=(0, 1))
    hot: bool = declared("flag", True)


@dataclass(frozen=True, slots=True)
class Citations:
    """Folders that source anchors (``file:path#L10``) are relative to: absolute, or from the vault's root."""

    source_roots: tuple[str, ...] = declared("list", ())


@dataclass(frozen=True, slots=True)
class Authoring:
    """The compiled wiki: its project, its folder there, the folders it is compiled from, how, and fetching.

    ``workspace`` None: the nearest folder upwards that has such a wiki, else the current one. ``raw_roots``
    are folders of the workspace, each plain or as ``name=folder``; none: those of the wiki's manifest.
    ``allow_fetch``: whether a source may be fetched from the web.
    """

    workspace: Path | None = declared("path", None)
    wiki_root: str = declared("text", ".wiki")
    raw_roots: tuple[str, ...] = declared("list", ())
    profile: str = declared("text", "auto", "codebase", "pkm", "hybrid", "auto")
    allow_fetch: bool = declared("flag", False)


GROUPS: Mapping[str, type] = {
    group.__name__.lower(): group
    for group in (Drafts, Models, Coverage, Dense, Urls, Start, Http, Graph, Sparql, Briefing, Citations)
    + (Authoring,)
}
"""Every group by the name its keys begin with."""

FOLDERS_OWN = frozenset(
    {
        *("vault", "adapter", "ignore", "private", "file_cap_bytes", "embedder", "models.name"),
        *("answer_tokens", "watch", "log_level", "dense.hnsw_threshold", "start.wait_seconds"),
        *("coverage.strong_similarity", "coverage.partial_similarity", "coverage.lexical_lift"),
        *(
            "briefing.prompt_share",
            "briefing.hot",
            "graph.enabled",
            "authoring.profile",
            "authoring.raw_roots",
        ),
    }
)
"""The keys that a config file found in a folder may set: how the folder is read and answered from.

Such a file comes with the folder, from whoever wrote it. Every other key says who may ask, what of the
machine is reached and what a question may cost: that is for whoever runs the server, so a key that is
not named here is refused there.
"""

NARROWING = frozenset({"ignore", "private"})
"""The keys that a folder's file adds to what the user's file says, instead of taking its place."""
