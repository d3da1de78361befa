"""Key facts of a page: what its frontmatter states, then the sentences that state numbers, names or rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wikimcp.markdown.tokens import CJK, LineIndex
from wikimcp.models import Section
from wikimcp.tools.contract import Wire
from wikimcp.tools.page_prose import Passage, paragraphs, said
from wikimcp.tools.rendering import clip, flatten

MOST_FACTS = 16
_LONGEST_FACT = 320
_MOST_FRONTMATTER = 10
_MOST_LISTED = 8
_LISTS = ("key_facts", "keyfacts", "facts", "key_points")
_IDENTITY = "title id canonical_id object_id uuid slug name aliases alias wiki_title role hubs"
_ABOUT = (
    "summary description desc type status cluster clusters tags tag related relations source sources runbook"
)
_DATES = "date created updated updated_at last_updated lastupdated modified version author authors generated"
_REVIEW = "verified_at verified_by confidence audience draft publish published public visibility state"
_SITE = (
    "review_state layout permalink cssclass cssclasses lang language position weight order icon cover banner"
)
_OTHER = "auto-generated auto_generated kg_include"
_TOLD_ELSEWHERE = frozenset(" ".join((_IDENTITY, _ABOUT, _DATES, _REVIEW, _SITE, _OTHER)).split())

_RULE = re.compile(
    r"\b(?:must|never|always|only|requires?|required|at (?:most|least)|up to|no more than|do not|don't)\b|"
    r"\b(?:does not|may not|cannot|can't|mandatory|forbidden|not allowed|should|shall|limits?|limited)\b|"
    r"\b(?:defaults?|maximum|minimum|owner|owned by|refuses?|rejects?|rejected)\b|"
    r"必須|必ず|禁止|してはいけない|必须|不得|нельзя|должен|должна|должны|только|всегда|никогда|"
    r"musi|zawsze|nigdy|tylko",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d")
_MEASURE = re.compile(
    r"\d[\d.,]*\s?(?:%|°|ms|s|sec|seconds?|min|minutes?|h|hours?|days?|weeks?|months?|years?|[kKMGT]i?B|€|\$|£|¥|"
    r"tokens?|pages?|rows?|times?|requests?|milli\w+|million|billion|degrees)\b|[€$£¥]\s?\d|\d+\s?%"
)
_CODE = re.compile(r"`[^`\n]+`")
_NAME = re.compile(r"(?<=[\w,;:)] )[A-Z][\w-]*[a-z]\w*|\b[A-Z]{2,}[\w-]*\b|\[\[")
_STRONG = re.compile(r"\*\*[^*\n]+\*\*")
_SENTENCE_END = re.compile(r"(?:[.!?]+[\"'”’)*_`]*(?=\s)|[。！？]+[」』）]*)\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|No|Nr|St|Dr|Mr|Mrs|Ms|[A-Za-z])|\s\d{1,2})\.$"
)
_WORD = re.compile(r"\w")
_FEWEST_CHARACTERS, _MOST_CHARACTERS = 15, 500
_ENOUGH = 3


class KeyFact(Wire):
    """One fact as the page has it; ``lines`` are first and last, ``source`` is frontmatter or text."""

    schema_in_full = False

    fact: str
    lines: list[int] | None = None
    source: str


def key_facts(
    text: str,
    sections: Sequence[Section],
    frontmatter: Mapping[str, Any],
    *,
    without: Sequence[Sequence[int]] = (),
    limit: int = MOST_FACTS,
) -> list[KeyFact]:
    """Return at most ``limit`` facts: those of the frontmatter first, the others in the order of the page.

    Sentences within the lines (first, last) of ``without`` are left out.
    """
    start = min((section.own.start for section in sections), default=len(text))
    facts = list(_of_frontmatter(text[:start], frontmatter))[: min(_MOST_FRONTMATTER, limit)]
    lines = LineIndex(text)
    scored: list[tuple[int, list[int], str]] = []
    for section in sections:
        for at, paragraph in enumerate(paragraphs(text, section)):
            for passage, sentence in _sentences(text, paragraph):
                weight = _weight(sentence, leading=at == 0)
                span = [lines.line(passage.start), lines.line(max(passage.start, passage.end - 1))]
                if weight >= _ENOUGH and not any(a <= span[0] and span[1] <= b for a, b in without):
                    scored.append((weight, span, sentence))
    best = sorted(scored, key=lambda one: -one[0])[: max(limit - len(facts), 0)]
    for span, sentence in sorted((span, sentence) for _, span, sentence in best):
        facts.append(KeyFact(fact=clip(flatten(sentence), _LONGEST_FACT), lines=span, source="text"))
    return facts


def _of_frontmatter(head: str, frontmatter: Mapping[str, Any]) -> Iterator[KeyFact]:
    """Yield declared facts, then the other keys that say something, with the line of their key."""
    folded = {key.casefold().replace(" ", "_"): key for key in frontmatter}
    for name in _LISTS:
        if (key := folded.get(name)) is not None:
            for value in _plain_values(frontmatter[key]):
                yield _declared(value, _line_of(head, key))
    for name, key in folded.items():
        if name in _LISTS or name in _TOLD_ELSEWHERE:
            continue
        values = _plain_values(frontmatter[key])
        if values:
            more = f" and {len(values) - _MOST_LISTED} more" if len(values) > _MOST_LISTED else ""
            yield _declared(f"{key}: {', '.join(values[:_MOST_LISTED])}{more}", _line_of(head, key))


def _declared(fact: str, line: int) -> KeyFact:
    shown = clip(flatten(fact), _LONGEST_FACT)
    return KeyFact(fact=shown, lines=[line, line] if line else None, source="frontmatter")


def _plain_values(value: object) -> list[str]:
    """Return what can be said in a word or a sentence; flags and nested mappings are no facts."""
    items = value if isinstance(value, list) else [value]
    plain = [item for item in items if isinstance(item, (str, int, float)) and not isinstance(item, bool)]
    return [text for item in plain if (text := flatten(str(item)))] if len(plain) == len(items) else []


def _line_of(head: str, key: str) -> int:
    found = re.search(rf"^[\"']?{re.escape(key)}[\"']?[ \t]*::?", head, re.MULTILINE | re.IGNORECASE)
    return head.count("\n", 0, found.start()) + 1 if found else 0


def _sentences(text: str, paragraph: Passage) -> Iterator[tuple[Passage, str]]:
    """Yield the sentences of a paragraph with where they stand."""
    start = paragraph.start
    for found in _SENTENCE_END.finditer(text, paragraph.start, paragraph.end):
        if _ABBREVIATION.search(text, max(start, found.start() - 12), found.start() + 1):
            continue
        yield from _sentence(text, start, found.end())
        start = found.end()
    yield from _sentence(text, start, paragraph.end)


def _sentence(text: str, start: int, end: int) -> Iterator[tuple[Passage, str]]:
    while end > start and text[end - 1].isspace():
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    passage = Passage(start, end)
    sentence = said(text, passage)
    if sentence and _WORD.search(sentence):
        yield passage, sentence


def _weight(sentence: str, *, leading: bool) -> int:
    """Say how much a sentence states: rules most, then measures, numbers, names and code."""
    shortest = _FEWEST_CHARACTERS // 3 if CJK.search(sentence) else _FEWEST_CHARACTERS
    if not shortest <= len(sentence) <= _MOST_CHARACTERS or sentence.endswith((":", "?")):
        return 0
    weight = 3 * bool(_RULE.search(sentence)) + 2 * bool(_NUMBER.search(sentence))
    weight += (
        2 * bool(_MEASURE.search(sentence)) + bool(_CODE.search(sentence)) + bool(_NAME.search(sentence))
    )
    return weight + bool(_STRONG.search(sentence)) + leading
