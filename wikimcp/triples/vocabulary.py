"""The vocabulary of wikis that ships with the package, and what the projection needs to know of it.

The file is the truth about labels, domains and ranges; here stand the classes that pages take by their type.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from wikimcp.triples.terms import OWL, RDF, RDFS

_COMMENT = re.compile(r"^#.*$", re.MULTILINE)
_PARTS = re.compile(r'<[^>]*>|"[^"]*"|@prefix|[\w.-]*:\w*|\ba\b|[.;]')

ENTITY_CLASSES = (
    "Person",
    "Organization",
    "Place",
    "Event",
    "Product",
    "Technology",
    "Project",
    "Version",
    "Tool",
)
"""Classes below Entity."""

PAGE_CLASSES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **{
            name.lower(): (name, "Page")
            for name in ("Hub", "Article", "Reference", "Runbook", "Decision", "Concept", "Entity")
        },
        **{name.lower(): (name, "Entity", "Page") for name in ENTITY_CLASSES},
    }
)
"""By the folded ``type`` of a page, the classes it takes. Not every entity has a page, so both are named."""

NODE_CLASSES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "placeholder": ("Placeholder",),
        "external": ("External",),
        **{f"entity {name.lower()}": (name, "Entity") for name in ENTITY_CLASSES},
    }
)
"""The classes of a node that has no page: by the sort of its id, or by ``entity`` and its kind."""


def vocabulary_turtle() -> str:
    """Return the vocabulary as Turtle."""
    return files("wikimcp.triples").joinpath("vocabulary.ttl").read_text(encoding="utf-8")


@cache
def vocabulary_lines() -> str:
    """Return the vocabulary as N-Triples. The file keeps to names, strings, ``;`` and ``.``."""
    namespaces: dict[str, str] = {}
    lines: list[str] = []
    subject = ""

    def whole(name: str) -> str:
        if name == "a":
            return f"<{RDF}type>"
        if name[0] in '<"':
            return name
        prefix, _, local = name.partition(":")
        return f"<{namespaces[prefix]}{local}>"

    parts = _PARTS.findall(_COMMENT.sub("", vocabulary_turtle()))
    at = 0
    while at < len(parts):
        if parts[at] == "@prefix":
            namespaces[parts[at + 1].removesuffix(":")] = parts[at + 2][1:-1]
            at += 4
            continue
        if not subject:
            subject = whole(parts[at])
            at += 1
        lines.append(f"{subject} {whole(parts[at])} {whole(parts[at + 1])} .\n")
        subject = subject if parts[at + 2] == ";" else ""
        at += 3
    return "".join(lines)


@cache
def vocabulary_terms() -> frozenset[str]:
    """Return the IRIs of the classes and properties that the vocabulary declares."""
    return frozenset(line[1 : line.index(">")] for line in vocabulary_lines().splitlines())


TERM_KINDS = ("Class", "ObjectProperty", "DatatypeProperty")
"""What a term can be declared as, in the namespace of OWL."""


@dataclass(frozen=True, slots=True)
class DeclaredTerm:
    """A class or property as the vocabulary declares it, by IRIs; empty where it says nothing."""

    iri: str
    kind: str
    label: str = ""
    parent: str = ""
    domain: str = ""
    range: str = ""


_SAID = {
    f"{RDFS}label": "label",
    f"{RDFS}subClassOf": "parent",
    f"{RDFS}domain": "domain",
    f"{RDFS}range": "range",
}
_STATEMENT = re.compile(r'<(?P<of>[^>]*)> <(?P<said>[^>]*)> (?:<(?P<iri>[^>]*)>|"(?P<text>.*)") \.')


@cache
def declared_terms() -> tuple[DeclaredTerm, ...]:
    """Return the classes and properties that the vocabulary declares."""
    found: dict[str, dict[str, str]] = {}
    for statement in _STATEMENT.finditer(vocabulary_lines()):
        value = statement["iri"] or statement["text"] or ""
        facts = found.setdefault(statement["of"], {})
        if statement["said"] == f"{RDF}type" and value.startswith(OWL):
            facts["kind"] = value.removeprefix(OWL)
        elif statement["said"] in _SAID:
            facts.setdefault(_SAID[statement["said"]], value)
    return tuple(
        DeclaredTerm(iri, **facts) for iri, facts in found.items() if facts.get("kind") in TERM_KINDS
    )


@cache
def vocabulary_uses() -> Mapping[str, int]:
    """Return how many statements of the vocabulary itself have each property."""
    return Counter(statement["said"] for statement in _STATEMENT.finditer(vocabulary_lines()))
