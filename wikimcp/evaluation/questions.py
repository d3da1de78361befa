"""The questions file: a CSV with one row for each right section of a question."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from wikimcp.errors import BadArgument

NEGATIVE = "NEGATIVE"
COLUMNS = ("id", "category", "question", "gold_canonical_id", "gold_heading_path")
_KINDS_BY_ID = {"nf": "far", "nn": "near"}
_SHOWN_ERRORS = 5


@dataclass(frozen=True, slots=True)
class Gold:
    """A right section: its page's canonical id, its heading path as written, its line in the file."""

    canonical_id: str
    heading_path: str
    line: int


@dataclass(frozen=True, slots=True)
class Question:
    """One question; ``golds`` is empty for category NEGATIVE, whose ``kind`` is far, near or empty."""

    id: str
    category: str
    text: str
    kind: str
    golds: tuple[Gold, ...]

    @property
    def answerable(self) -> bool:
        """Whether the vault is said to answer it."""
        return self.category != NEGATIVE


def read_questions(file: Path) -> list[Question]:
    """Read the questions in order of first appearance; rows of one id are one question.

    ``kind`` of a NEGATIVE question is the column of that name, else told by an id like ``nf-001``
    (far off) or ``nn-001`` (near miss). Raises BadArgument naming the first wrong lines.
    """
    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadArgument(f"{file.name} is not UTF-8", hint="Save it as UTF-8.") from error
    except OSError as error:
        raise BadArgument(f"{file.name} cannot be read ({error.strerror})", hint="Check the path.") from error
    rows = csv.DictReader(io.StringIO(text, newline=""), restkey="", strict=True)
    questions: dict[str, Question] = {}
    wrong: list[str] = []
    try:
        missing = [column for column in COLUMNS if column not in (rows.fieldnames or ())]
        if missing:
            raise BadArgument(
                f"{file.name} line 1 lacks the column {', '.join(missing)}",
                hint=f"Its columns are {', '.join(COLUMNS)}.",
            )
        for line, row in _numbered(rows):
            question = _question(row, line)
            fault = _fault(question, row, questions)
            if fault:
                wrong.append(f"line {line}: {fault}")
            elif known := questions.get(question.id):
                questions[question.id] = replace(known, golds=(*known.golds, *question.golds))
            else:
                questions[question.id] = question
    except csv.Error as error:
        raise BadArgument(f"{file.name} line {rows.reader.line_num} is not CSV: {error}") from error
    if wrong:
        more = f" (and {len(wrong) - _SHOWN_ERRORS} more)" if len(wrong) > _SHOWN_ERRORS else ""
        raise BadArgument(
            f"{file.name} {'; '.join(wrong[:_SHOWN_ERRORS])}{more}", hint="Correct these lines."
        )
    if not questions:
        raise BadArgument(f"{file.name} holds no questions", hint="Add a row for each right section.")
    return list(questions.values())


def _numbered(rows: csv.DictReader[str]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield each row with the line it starts on (a quoted field may run over several)."""
    line = rows.line_num + 1
    for row in rows:
        yield line, row
        line = rows.line_num + 1


def _question(row: Mapping[str, str], line: int) -> Question:
    values = {column: (row.get(column) or "").strip() for column in (*COLUMNS, "kind")}
    category = values["category"].upper()
    kind = values["kind"].casefold() or _KINDS_BY_ID.get(values["id"].partition("-")[0].casefold(), "")
    gold = Gold(values["gold_canonical_id"], values["gold_heading_path"], line)
    golds = (gold,) if gold.canonical_id or gold.heading_path else ()
    return Question(values["id"], category, values["question"], kind if category == NEGATIVE else "", golds)


def _fault(question: Question, row: Mapping[str, str], known: Mapping[str, Question]) -> str:
    """Say what is wrong with one row; empty when it is right."""
    for name, value in (("id", question.id), ("category", question.category), ("question", question.text)):
        if not value:
            return f"no {name}"
    if "" in row:
        return "more fields than columns"
    if question.answerable and not (question.golds and question.golds[0].canonical_id):
        return "no gold_canonical_id (only NEGATIVE questions have none)"
    if not question.answerable and question.golds:
        return "a NEGATIVE question with a right section"
    if not question.answerable and question.kind not in ("", "far", "near"):
        return f"kind is '{question.kind[:40]}', not far or near"
    other = known.get(question.id)
    if other and (other.text, other.category) != (question.text, question.category):
        return f"the id {question.id} already stands for another question"
    if other and not question.answerable:
        return f"the id {question.id} is there twice"
    return ""
