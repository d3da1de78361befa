"""A runbook as an agent can follow it: when to use it, the steps, how to check, how to go back.

The frontmatter key ``runbook`` comes first; what it does not say is read from the sections of the page.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Self

from wikimcp.markdown.tokens import LineIndex
from wikimcp.models import Section
from wikimcp.tools.contract import Wire
from wikimcp.tools.page_prose import Passage, list_items, said
from wikimcp.tools.rendering import clip, flatten, plain

PARTS = (
    "when_to_use",
    "steps",
    "rollback",
    "inputs",
    "verification",
    "pitfalls",
    "escalation",
    "afterwards",
    "references",
)
"""The parts of a runbook, those first that are kept longest when there is little room."""

_LONGEST_LINE = 700
_LONGEST_HEADING = 120
_HEADING_LINES = re.compile(r"[^\r\n]*(?:\r?\n[ ]{0,3}(?:=+|-+)[ \t]*(?=[\r\n]|\Z))?[\r\n]*")
_MOST_LINES = 40  # of one part
_SPELLINGS: Mapping[str, str] = {
    "when": "when_to_use",
    "use_when": "when_to_use",
    "triggers": "when_to_use",
    "symptoms": "when_to_use",
    "prerequisites": "inputs",
    "requirements": "inputs",
    "procedure": "steps",
    "roll_back": "rollback",
    "verify": "verification",
    "checks": "verification",
    "caveats": "pitfalls",
    "gotchas": "pitfalls",
    "contacts": "escalation",
    "related_tools": "references",
}
_HEADINGS: Sequence[tuple[str, re.Pattern[str]]] = tuple(
    (part, re.compile(words, re.IGNORECASE))
    for part, words in (
        (
            "pitfalls",
            r"pitfall|caveat|gotcha|known issue|does not help|did not help|troubleshoot|if (?:it|that) fails",
        ),
        (
            "when_to_use",
            r"^when\b|^use (?:this|when)|symptom|trigger|^applies|^decide|^how urgent|^когда|^kiedy|とき",
        ),
        ("inputs", r"^before\b|prerequisite|requirement|^inputs?\b|preparation|^you need|^what you need"),
        ("rollback", r"roll(?:ing)?[ -]?back|\bundo\b|back ?out|\brevert"),
        ("verification", r"^verif|^check\b|^checks\b|validat|^confirm|^how to tell|^test (?:it|that)"),
        ("escalation", r"escalat|^contact|^who to|^who do|^кому|^still nothing"),
        ("references", r"^see also|^references?$|^further reading|^links$|^related"),
        ("afterwards", r"^after\b|^afterwards|^the day after|follow[- ]?up|clean[- ]?up"),
    )
)


class RunbookLine(Wire):
    """One step or remark, with its lines in the file and the heading it stands under, where it has them."""

    text: str
    lines: list[int] | None = None
    heading: str | None = None


class Runbook(Wire):
    """The parts that the page has."""

    schema_in_full = False

    when_to_use: list[RunbookLine] | None = None
    steps: list[RunbookLine] | None = None
    rollback: list[RunbookLine] | None = None
    inputs: list[RunbookLine] | None = None
    verification: list[RunbookLine] | None = None
    pitfalls: list[RunbookLine] | None = None
    escalation: list[RunbookLine] | None = None
    afterwards: list[RunbookLine] | None = None
    references: list[RunbookLine] | None = None

    @classmethod
    def of(cls, rows: Sequence[tuple[str, RunbookLine]]) -> Self:
        """Make a runbook of its lines, each with the name of its part."""
        parts: dict[str, list[RunbookLine]] = {}
        for part, line in rows:
            parts.setdefault(part, []).append(line)
        return cls.model_validate(parts)


def runbook_lines(
    text: str, sections: Sequence[Section], frontmatter: Mapping[str, Any], *, title: str
) -> list[tuple[str, RunbookLine]]:
    """Return the lines of a runbook with the names of their parts, in the order of ``PARTS``."""
    declared = _declared(frontmatter.get("runbook"))
    read = _from_sections(text, sections, title)
    rows: list[tuple[str, RunbookLine]] = []
    for part in PARTS:
        lines = declared.get(part) or read.get(part) or []
        rows += [(part, line) for line in lines[:_MOST_LINES]]
    return rows


def _declared(value: object) -> dict[str, list[RunbookLine]]:
    """Read the frontmatter's runbook: a mapping from the name of a part to a text or a list of texts."""
    found: dict[str, list[RunbookLine]] = {}
    for key, said_there in value.items() if isinstance(value, Mapping) else ():
        name = re.sub(r"[\W_]+", "_", str(key).casefold()).strip("_")
        part = _SPELLINGS.get(name, name)
        items = said_there if isinstance(said_there, list) else [said_there]
        texts = [_shown(str(item)) for item in items if isinstance(item, (str, int, float))]
        if part in PARTS:
            found.setdefault(part, []).extend(RunbookLine(text=one) for one in texts if one)
    return found


def _from_sections(text: str, sections: Sequence[Section], title: str) -> dict[str, list[RunbookLine]]:
    """Read the parts from the sections: by their headings, and as steps what is numbered anywhere else."""
    found: dict[str, list[RunbookLine]] = {}
    lines = LineIndex(text)
    plain_sections: list[Section] = []
    for section in sections:
        part = _part_of(section, title)
        if part is None:
            plain_sections.append(section)
        else:
            rows = [_line(text, lines, section, passage) for passage in _pieces(text, section)]
            found.setdefault(part, []).extend(rows)
    steps = [
        _line(text, lines, section, passage)
        for section in plain_sections
        for passage in list_items(text, section, ordered=True)
    ]
    if not steps:  # no numbers: then the sections themselves are what to do, one after another
        headed = [section for section in plain_sections if section.level > 1]
        steps = [
            _line(text, lines, section, Passage(section.own.start, section.own.end)) for section in headed
        ]
    if steps:
        found["steps"] = steps
    return {part: rows for part, rows in found.items() if rows}


def _part_of(section: Section, title: str) -> str | None:
    """Return the part that a section's heading, or else the one above it, names; None: part of the doing."""
    for heading in reversed(section.heading_path):
        if heading.casefold() == title.casefold():
            continue
        for part, words in _HEADINGS:
            if words.search(heading) and not words.search(title):
                return part
    return None


def _pieces(text: str, section: Section) -> list[Passage]:
    """Return the items of a section's list, or where it has none all that it says, commands too."""
    items = list_items(text, section, ordered=True) or list_items(text, section, ordered=False)
    if items:
        return items
    heading = _HEADING_LINES.match(text, section.own.start, section.own.end) if section.level else None
    start = heading.end() if heading else section.own.start
    return [Passage(start, section.own.end)] if text[start : section.own.end].strip() else []


def _line(text: str, lines: LineIndex, section: Section, passage: Passage) -> RunbookLine:
    start, end = passage.start, passage.end
    while end > start and text[end - 1].isspace():
        end -= 1
    heading = clip(flatten(section.heading), _LONGEST_HEADING)
    return RunbookLine(
        text=_shown(_without_mark(text, Passage(start, end))),
        lines=[lines.line(start), lines.line(max(start, end - 1))],
        heading=heading or None,
    )


def _without_mark(text: str, passage: Passage) -> str:
    """Return an item without its mark and indentation; a command in it stays as it is."""
    raw = text[passage.start : passage.end]
    first, newline, rest = raw.partition("\n")
    head = said(first, Passage(0, len(first)))
    return f"{head}{newline}{textwrap.dedent(rest)}"


def _shown(text: str) -> str:
    return clip(plain(text.replace("\r\n", "\n")).strip(), _LONGEST_LINE)
