"""Makes the vaults that are measured: copies of a corpus, alike or each with a word of its own.

Alike copies have equal text, which is embedded once for all of them. In a *varied* vault every copy
carries a word of its own in title, summary, id and each paragraph, so that no chunk is shared.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import BenchError

PAGE_SUFFIXES = (".md", ".markdown")
_SYLLABLES = ("bo", "da", "fe", "gi", "ku", "la", "mo", "ne", "pi", "ru")
_IDS = re.compile(r"((?:canonical_)?id:[ \t]+[\"']?)(?=\w)")
_WORDS = re.compile(r"((?:title|summary|description):[ \t]+[\"']?)(?=\w)")
_BLOCK = re.compile(r"(?:title|summary|description):[ \t]+[>|][-+]?\s*$")
_INDENT = re.compile(r"([ \t]*)")
_NO_PARAGRAPH = re.compile(r"\s*(#|\||=+\s*$|-{3,}|\*{3,}|<|>|\$\$|%%|\[[^\]]+\]:|!\[\[)")
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")


def build_vault(source: Path, target: Path, *, copies: int = 1, varied: bool = False) -> int:
    """Write ``copies`` copies of ``source`` below ``target``; returns the number of page files.

    A single copy lies at the root, several in folders of their own; dot folders (an editor's
    settings) lie once, at the root. Raises BenchError for a folder without pages.
    """
    if not source.is_dir():
        raise BenchError(f"{source} is no folder")
    target.mkdir(parents=True)
    for entry in sorted(source.iterdir()):
        if entry.name.startswith(".") and entry.is_dir() and entry.name != ".git":
            shutil.copytree(entry, target / entry.name)
    pages = 0
    for number in range(1, copies + 1):
        folder = target if copies == 1 else target / f"copy-{number:02}"
        for file in _files(source):
            place = folder / file.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            is_page = file.suffix.lower() in PAGE_SUFFIXES
            pages += is_page
            if varied and is_page:
                text = file.read_bytes().decode("utf-8", "surrogateescape")
                place.write_bytes(salted(text, own_word(number)).encode("utf-8", "surrogateescape"))
            else:
                shutil.copyfile(file, place)
    if not pages:
        raise BenchError(f"{source.name} holds no markdown")
    return pages


def _files(source: Path) -> Iterator[Path]:
    """Yield the files outside dot folders, by path."""
    for file in sorted(source.rglob("*")):
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(source).parts):
            yield file


def own_word(number: int) -> str:
    """Return a word for a number that no text has: letters only, the same in every run."""
    digits = f"{number:03}"
    return "zyx" + "".join(_SYLLABLES[int(digit)] for digit in digits)


def salted(text: str, word: str) -> str:
    """Put a word into title, summary, description, id and after every paragraph of a page."""
    lines = text.split("\n")
    start = _frontmatter_end(lines)
    head, body = lines[:start], lines[start:]
    if not any(line.startswith("title:") for line in head):
        at = next((at for at, line in enumerate(body) if line.startswith("# ")), None)
        if at is not None:
            body[at] = f"# {word} {body[at][2:]}"
    return "\n".join([*_salted_head(head, word), *_salted_body(body, word)])


def _salted_head(lines: list[str], word: str) -> Iterator[str]:
    """Yield the lines of frontmatter, the word at the beginning of each value that is to differ."""
    in_block = False
    for line in lines:
        if in_block:
            yield _INDENT.sub(rf"\g<1>{word} ", line, count=1)
        elif ids := _IDS.match(line):
            yield f"{ids[1]}{word}-{line[ids.end() :]}"
        elif words := _WORDS.match(line):
            yield f"{words[1]}{word} {line[words.end() :]}"
        else:
            yield line
        in_block = _BLOCK.match(line) is not None


def _frontmatter_end(lines: list[str]) -> int:
    """Return the number of lines that are frontmatter, both fences included."""
    if lines and lines[0].lstrip("\ufeff").rstrip() == "---":
        for at, line in enumerate(lines[1:], start=1):
            if line.rstrip() in ("---", "..."):
                return at + 1
    return 0


def _salted_body(lines: list[str], word: str) -> Iterator[str]:
    """Yield the lines of a body, the word after the last line of each paragraph outside fences."""
    fence = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            yield line
            continue
        ends = line.strip() and not following.strip()
        if fence or not ends or _NO_PARAGRAPH.match(line):
            yield line
            continue
        bare = line.rstrip("\r")
        yield f"{bare.rstrip()} {word}{line[len(bare) :]}"


def titles(folder: Path) -> list[str]:
    """Return the titles of a vault's pages (else their file names): asked for when there are no questions."""
    found = []
    for file in _files(folder):
        if file.suffix.lower() in PAGE_SUFFIXES:
            head = file.read_text("utf-8", errors="replace")[:4_000]
            named = re.search(r"^(?:title:|#)[ \t]+(.+)$", head, re.MULTILINE)
            found.append(named[1].strip(" \"'\r") if named else file.stem)
    return list(dict.fromkeys(found))


def fingerprints(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time (nanoseconds) of every file, to tell afterwards which were changed."""
    return {
        str(file.relative_to(folder)): (stat.st_size, stat.st_mtime_ns)
        for file in folder.rglob("*")
        if file.is_file() and (stat := file.stat())
    }
