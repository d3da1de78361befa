"""Names of relations and of entity kinds: which are known, and how any other is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

_KNOWN = """
    related_to part_of contains is_a instance_of generalizes requires enables uses produces replaces
    precedes extends implements alternative_to contrasts_with compatible_with mitigates defines
    applies_to located_in depends_on supersedes contradicts cites derived_from links_to embeds parent_of
    tagged mentions co_mentioned
"""
KNOWN_PREDICATES = frozenset(_KNOWN.split())
"""Relations with a fixed meaning; any other is kept as it is written, in snake case."""

_WRITTEN_AS = {"related": "related_to", "see_also": "related_to", "sources": "cites", "source_refs": "cites"}
_NO_RELATION = frozenset(("tags", "tag", "alias", "aliases", "title", "relations", "cluster", "clusters"))
_UNLIKE_A_WORD = re.compile(r"\W+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LONGEST = 80

ENTITY_KINDS = (
    "person",
    "organization",
    "place",
    "event",
    "product",
    "technology",
    "concept",
    "project",
    "version",
    "decision",
    "tool",
    "entity",
)
"""The kinds of node that a page can be by its type or folder; every other page is of kind ``page``."""

_KIND_WORDS: Mapping[str, str] = MappingProxyType(
    {
        **{kind: kind for kind in ENTITY_KINDS},
        **{f"{kind}s": kind for kind in ENTITY_KINDS},
        "people": "person",
        "company": "organization",
        "companies": "organization",
        "organisation": "organization",
        "organisations": "organization",
        "location": "place",
        "locations": "place",
        "technologies": "technology",
        "entities": "entity",
        "adr": "decision",
        "adrs": "decision",
    }
)


def predicate(written: object) -> str:
    """Return a relation's name in lower snake case; ``related_to`` where nothing usable is written."""
    return _predicate(written) if isinstance(written, str) else "related_to"


@lru_cache(maxsize=4_096)
def _predicate(written: str) -> str:
    words = _UNLIKE_A_WORD.sub("_", _HUMP.sub("_", written[:_LONGEST].strip()))
    name = words.strip("_").lower()
    return _WRITTEN_AS.get(name, name) or "related_to"


def property_relation(key: str) -> str:
    """Return the relation that a property's links state; empty for keys that state none."""
    name = predicate(key)
    return "" if name in _NO_RELATION else name


def page_kind(page_type: str, path: str) -> str:
    """Return the kind of node a page is: by its type, else by the nearest folder that names a kind."""
    found = _KIND_WORDS.get(predicate(page_type)) if page_type else None
    if found:
        return found
    for folder in reversed(path.split("/")[:-1]):
        if found := _KIND_WORDS.get(folder.casefold()):
            return found
    return "page"


def kind_name(written: object) -> str:
    """Return a node's kind as a sidecar writes it, in lower snake case; ``entity`` where there is none."""
    if not isinstance(written, str) or not written.strip():
        return "entity"
    name = predicate(written)
    return _KIND_WORDS.get(name, name)
