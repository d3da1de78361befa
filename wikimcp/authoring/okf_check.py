"""Whether a folder is a conforming bundle of the Open Knowledge Format, version by version.

Three things are required in every version: a readable head on each page, a ``type`` in it, and index
and log files in their form. All else is advice. A later minor version only adds to an earlier one, so
what conforms to 0.2 conforms to 0.3; keys that are not known are never held against a page.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from wikimcp.errors import BadArgument, WikiError
from wikimcp.markdown.body import parse_body
from wikimcp.markdown.frontmatter import Frontmatter, parse_frontmatter
from wikimcp.models import Section

VERSIONS = ("0.1", "0.2", "0.3")
_SINCE_TRUST = ("0.2", "0.3")
_MOST_BYTES = 8 * 2**20
_LIFECYCLE = frozenset(("draft", "stable", "deprecated"))
_ACTOR = re.compile(r"(?:human|process|team):\S+|[^\s/:]+/\S+")
_ENTRY = re.compile(r"^[ \t]{0,3}[*+-][ \t]+\[", re.MULTILINE)
_NOTE = re.compile(r"^\[\^([^\]\s]+)\]:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class OkfFinding:
    """One thing that is wrong (``error``) or could be better (``advice``), and in which versions."""

    level: str
    rule: str
    file: str
    line: int
    message: str
    versions: tuple[str, ...] = VERSIONS

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "level": self.level,
            "rule": self.rule,
            "file": self.file,
            "line": self.line,
            "message": self.message,
            "versions": list(self.versions),
        }


@dataclass(frozen=True, slots=True)
class OkfReport:
    """The findings of a folder, with the version its root index declares (empty: none)."""

    declared: str
    version: str
    pages: int
    findings: tuple[OkfFinding, ...]

    @property
    def ok(self) -> bool:
        """Whether the folder conforms to the version that was asked for."""
        return self.conforms(self.version)

    def conforms(self, version: str) -> bool:
        """Whether no error counts in a version."""
        return not any(item.level == "error" and version in item.versions for item in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; ``conformant`` says it for each version."""
        return {
            "ok": self.ok,
            "version": self.version,
            "declared": self.declared or None,
            "pages": self.pages,
            "conformant": {version: self.conforms(version) for version in VERSIONS},
            "findings": [item.to_json() for item in self.findings],
        }


def check_okf(folder: Path, *, version: str = "") -> OkfReport:
    """Check every markdown file of a folder; ``version`` empty: the declared one, else 0.2.

    Raises BadArgument for a version that is not known, WikiError for a folder that cannot be read.
    """
    if version and version not in VERSIONS:
        raise BadArgument(f"there is no OKF {version[:20]}", hint=f"Versions: {', '.join(VERSIONS)}.")
    if not folder.is_dir():
        raise WikiError(f"'{folder.name}' is no folder", hint="Name the folder of a wiki.")
    findings: list[OkfFinding] = []
    declared, pages = "", 0
    for path in _markdown_files(folder):
        name = path.rpartition("/")[2]
        try:
            data = (folder / path).read_bytes()[:_MOST_BYTES]
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            findings.append(OkfFinding("error", "not-utf-8", path, line, "the file is not UTF-8"))
            continue
        except OSError as error:
            findings.append(OkfFinding("error", "unreadable", path, 0, f"cannot be read ({error.strerror})"))
            continue
        head = parse_frontmatter(text)
        if path == "index.md":
            declared = str(head.data.get("okf_version") or "")
        if name == "index.md":
            findings += _index(path, text, head)
        elif name == "log.md":
            findings += _log(path, text, head)
        else:
            pages += 1
            findings += _page(path, text, head)
    wanted = version or (declared if declared in VERSIONS else "0.2")
    if declared and declared not in VERSIONS:
        message = f"okf_version {declared[:20]!r} is not known here; it was read as {wanted}"
        findings.append(OkfFinding("advice", "unknown-version", "index.md", 1, message))
    findings.sort(key=lambda item: (item.level != "error", item.file, item.line, item.rule))
    return OkfReport(declared, wanted, pages, tuple(findings))


def _markdown_files(folder: Path) -> list[str]:
    found: list[str] = []
    for base, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = Path(base).relative_to(folder).as_posix()
        shown = (name for name in files if name.endswith(".md") and not name.startswith("."))
        found.extend(name if inside == "." else f"{inside}/{name}" for name in shown)
    return sorted(found)


def _page(path: str, text: str, head: Frontmatter) -> Iterator[OkfFinding]:
    broken = [note for note in head.diagnostics if note.code == "frontmatter_invalid"]
    if broken:
        yield OkfFinding("error", "head-unreadable", path, broken[0].line, broken[0].message)
        return
    if not _has_block(text, head):
        yield OkfFinding("error", "no-head", path, 1, "the page does not begin with a block of properties")
        return
    kind = head.data.get("type")
    if not isinstance(kind, str) or not kind.strip():
        line = _line(text, head, "type")
        yield OkfFinding("error", "no-type", path, line, "the head has no type, or one that is no text")
    for key in ("title", "description"):
        if not head.data.get(key):
            yield OkfFinding("advice", f"no-{key}", path, 1, f"the head has no {key}")
    yield from _provenance(path, text, head)
    yield from _trust(path, text, head)
    yield from _legacy(path, text, head)


def _provenance(path: str, text: str, head: Frontmatter) -> Iterator[OkfFinding]:
    """Look at sources and at the footnotes that are keyed to them."""
    line = _line(text, head, "sources")
    sources = head.data.get("sources")
    entries = sources if isinstance(sources, list) else [] if sources is None else [sources]
    ids: set[str] = set()
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, Mapping) or not entry.get("resource"):
            message = f"source {number} has no resource"
            yield OkfFinding("advice", "source-without-resource", path, line, message, _SINCE_TRUST)
        if isinstance(entry, Mapping) and entry.get("id"):
            ids.add(str(entry["id"]))
    for note in _NOTE.finditer(text, head.body_start) if ids else ():
        if note[1] not in ids:
            at = text.count("\n", 0, note.start()) + 1
            message = f"the footnote {note[1][:40]!r} is no id of a source"
            yield OkfFinding("advice", "footnote-without-source", path, at, message, _SINCE_TRUST)


def _trust(path: str, text: str, head: Frontmatter) -> Iterator[OkfFinding]:
    """Look at who made and who confirmed the page, at its lifecycle, and at computations."""

    def advice(rule: str, key: str, message: str) -> OkfFinding:
        return OkfFinding("advice", rule, path, _line(text, head, key), message, _SINCE_TRUST)

    verified = head.data.get("verified")
    events = [("generated", head.data["generated"])] if "generated" in head.data else []
    events += [
        ("verified", item) for item in (verified if isinstance(verified, list) else [verified]) if item
    ]
    for key, event in events:
        by = event.get("by") if isinstance(event, Mapping) else None
        if not isinstance(event, Mapping) or not by:
            yield advice(f"{key}-without-by", key, f"{key} does not say by whom")
        elif not _ACTOR.fullmatch(str(by)):
            yield advice(
                "no-actor", key, f"{str(by)[:40]!r} is neither name/version nor human:name nor process:name"
            )
        at = event.get("at") if isinstance(event, Mapping) else None
        if at is not None and not _is_time(str(at)):
            yield advice(f"{key}-at", key, f"{key}.at is no ISO 8601 time with an offset")
    status = head.data.get("status")
    if status is not None and status not in _LIFECYCLE:
        yield advice(
            "status", "status", f"the status {str(status)[:40]!r} is none of draft, stable, deprecated"
        )
    stale = head.data.get("stale_after")
    if stale is not None and not _is_day(str(stale)):
        yield advice("stale-after", "stale_after", "stale_after is no date")
    if head.data.get("type") == "Attested Computation" and not head.data.get("runtime"):
        yield advice("no-runtime", "type", "an Attested Computation has no runtime")


def _legacy(path: str, text: str, head: Frontmatter) -> Iterator[OkfFinding]:
    if "timestamp" in head.data:
        line = _line(text, head, "timestamp")
        if "generated" not in head.data:
            message = "timestamp is superseded by generated.at"
            yield OkfFinding("advice", "legacy-timestamp", path, line, message, _SINCE_TRUST)
        if not _is_time(str(head.data["timestamp"])) and not _is_day(str(head.data["timestamp"])):
            yield OkfFinding("advice", "timestamp", path, line, "timestamp is no ISO 8601 time", ("0.1",))
    for section in _sections(text, head):
        if section.level == 1 and section.heading == "Citations" and not head.data.get("sources"):
            message = "a list of citations is superseded by sources in the head"
            yield OkfFinding(
                "advice", "legacy-citations", path, section.own.first_line, message, _SINCE_TRUST
            )


def _index(path: str, text: str, head: Frontmatter) -> Iterator[OkfFinding]:
    if _has_block(text, head):
        extra = sorted(set(head.data) - {"okf_version"})
        if path != "index.md":
            yield OkfFinding("error", "index-head", path, 1, "an index below the root has no head")
        elif extra:
            message = f"the head of the root index holds okf_version alone, not {', '.join(extra)[:80]}"
            yield OkfFinding("error", "index-head", path, 1, message)
    sections = _sections(text, head)
    headed = next((section.own.start for section in sections if section.level), len(text))
    stray = _ENTRY.search(text, head.body_start, headed)
    if stray is not None:
        line = text.count("\n", 0, stray.start()) + 1
        yield OkfFinding(
            "error", "index-structure", path, line, "an entry of the index stands under no heading"
        )


def _log(path: str, text: str, head: Frontmatter) -> Iterator[OkfFinding]:
    if _has_block(text, head):
        yield OkfFinding("advice", "log-head", path, 1, "a log has no head")
    newest: date | None = None
    for section in _sections(text, head):
        if section.level != 2:
            continue
        line = section.own.first_line
        if not _is_day(section.heading):
            message = f"the heading {section.heading[:40]!r} is no date of the form YYYY-MM-DD"
            yield OkfFinding("error", "log-date", path, line, message)
            continue
        day = date.fromisoformat(section.heading)
        if newest is not None and day > newest:
            yield OkfFinding("error", "log-order", path, line, f"{day} stands below an older day")
        newest = day


def _sections(text: str, head: Frontmatter) -> tuple[Section, ...]:
    return parse_body(text, head.body_start).sections


def _has_block(text: str, head: Frontmatter) -> bool:
    return head.body_start > (1 if text.startswith("\ufeff") else 0)


def _line(text: str, head: Frontmatter, key: str) -> int:
    position = head.positions.get(key)
    return 1 if position is None else text.count("\n", 0, position) + 1


def _is_day(text: str) -> bool:
    try:
        return bool(re.fullmatch(r"\d{4}-\d{2}-\d{2}", text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_time(text: str) -> bool:
    """Whether a text is a moment in ISO 8601: date, time and offset."""
    if not re.match(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}", text):
        return False
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
