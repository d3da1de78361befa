"""`wikimcp cite verify`: checks citations for people and for CI; exit code 1 when one does not hold.

Pages of the vault are checked by name; a file that is no page of it, such as the README of the same
repository, is read here, and its citations of the vault are checked alike.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wikimcp.cli.parsing import Verbs
from wikimcp.cli.show import print_json, print_table
from wikimcp.cli.verbs import local_caller, opened, settings_of
from wikimcp.errors import BadArgument, TooLarge
from wikimcp.settings import Settings

if TYPE_CHECKING:
    from wikimcp.service import WikiService

_TOOL = "list_stale_citations"
_ANSWER_TOKENS = 100_000  # of one answer: nobody's context has to hold it
_AT_ONCE = 20  # citations of a file that are checked by one call
_MOST_BYTES = 8 * 2**20
_NOT_CURRENT = ("stale", "moved", "target_missing", "ambiguous")
_SUFFIXES = (".md", ".markdown")
Row = Mapping[str, Any]


def add_cite(verbs: Verbs) -> None:
    """Describe the verb."""
    cite = verbs.add(
        "cite",
        "check the citations of pages",
        prints="Prints each citation that is not current, with its verdict and where its span stands now. "
        "Exit code 0 when all are current, 1 when one is not.",
        examples=[
            "wikimcp cite verify                        every citation of the vault",
            "wikimcp cite verify runbooks/rollback      those in a page and of it",
            "wikimcp cite verify README.md docs/*.md    those in files outside of the vault, too",
            "wikimcp cite verify --json",
        ],
    )
    cite.add_argument("action", choices=["verify"], metavar="verify")
    cite.add_argument("pages", nargs="*", metavar="PAGE", help="pages by slug or file (default: all)")


def cite(arguments: argparse.Namespace) -> int:
    """Check citations and print those that are not current."""
    settings = settings_of(arguments)
    settings = replace(settings, answer_tokens=max(settings.answer_tokens, _ANSWER_TOKENS))
    checked = 0
    found: list[Row] = []
    notes: list[str] = []
    with opened(settings, vectors="none", whole_history=True) as service:
        for page in arguments.pages or [""]:
            file = _file_named(page)
            root = service.keeper.store.adapter.source_root.resolve()
            if file is not None and file.is_relative_to(root):
                parts = _in_vault(service, settings, file.relative_to(root).as_posix())
            elif file is not None:
                parts = _in_file(service, settings, file, page)
            else:
                parts = _in_vault(service, settings, page)
            for count, rows, told in parts:
                checked += count
                found.extend(rows)
                notes.extend(note for note in told if note not in notes)
    if getattr(arguments, "json", False):
        counts = {status: sum(row["status"] == status for row in found) for status in _NOT_CURRENT}
        counts = {"current": checked - len(found), **{name: count for name, count in counts.items() if count}}
        print_json({"checked": checked, "counts": counts, "citations": found, "notes": notes})
    else:
        if found:
            print_table(
                ["verdict", "where", "target", "what is wrong, and where it is now"], map(_cells, found)
            )
        print(f"{checked} citations checked, {len(found)} not current")
        for note in notes:
            print(f"note: {note}")
    return 1 if found else 0


def _in_vault(
    service: WikiService, settings: Settings, page: str
) -> Iterator[tuple[int, Sequence[Row], Sequence[str]]]:
    """Yield (citations checked, those not current, notes) of a page or of the whole vault, part by part."""
    cursor, counted = "", 0
    while True:
        asked: dict[str, Any] = {"limit": 200, "cursor": cursor} | ({"page": page} if page else {})
        answer = service.call(_TOOL, asked, local_caller(settings)).structured or {}
        yield (0 if counted else answer["checked"]), answer["citations"], ([] if counted else answer["notes"])
        counted = 1
        cursor = answer.get("nextCursor", "")
        if not cursor:
            return


def _in_file(
    service: WikiService, settings: Settings, file: Path, shown: str
) -> Iterator[tuple[int, Sequence[Row], Sequence[str]]]:
    """Yield the same of the citations in a file outside of the vault."""
    from wikimcp.markdown.body import parse_body
    from wikimcp.markdown.frontmatter import parse_frontmatter
    from wikimcp.models import LinkKind

    text = _text_of(file, shown)
    body = parse_body(text, parse_frontmatter(text).body_start)
    cited = [link for link in body.links if link.kind is LinkKind.CITATION and not link.in_comment]
    given = [json.dumps({"uri": link.target, "span": link.span_text, "claim": link.label}) for link in cited]
    left = list(dict.fromkeys(given))  # equal ones are answered once
    verdicts: dict[str, Row] = {}
    while left:
        answer = service.call(_TOOL, {"verify": left[:_AT_ONCE]}, local_caller(settings)).structured or {}
        if not answer["verified"]:
            raise TooLarge("a verdict is over the size cap", hint="Set answer_tokens higher.")
        verdicts.update(zip(left, answer["verified"], strict=False))
        left = left[len(answer["verified"]) :]
    rows = [
        {**verdicts[text], "source": shown, "line": link.line}
        for text, link in zip(given, cited, strict=True)
    ]
    yield len(rows), [row for row in rows if row["status"] != "current"], []


def _file_named(page: str) -> Path | None:
    """Return the markdown file that a word names from the current folder; None when it names none."""
    if not page.lower().endswith(_SUFFIXES):
        return None
    try:
        real = Path(page).resolve(strict=True)
    except (OSError, RuntimeError):
        return None
    return real if real.is_file() else None


def _text_of(file: Path, shown: str) -> str:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise BadArgument(f"'{shown}' is larger than 8 MiB", hint="Name a smaller file.")
        return file.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise BadArgument(f"'{shown}' cannot be read ({error.strerror})", hint="Check its rights.") from error


def _cells(row: Row) -> Sequence[str]:
    source, line = row.get("source", ""), row.get("line")
    what = [row.get("reason", "")]
    if now := row.get("movedTo"):
        what.append(f"now {now['uri']}")
    if near := row.get("nearest"):
        alike = f"{near['similarity']:.0%} alike" if "similarity" in near else "the section"
        what.append(f"nearest, lines {near['lines'][0]}-{near['lines'][1]} ({alike}): {near['text'][:120]}")
    return (
        row["status"],
        f"{source}:{line}" if line else str(source),
        str(row["target"]),
        "; ".join(part for part in what if part),
    )
