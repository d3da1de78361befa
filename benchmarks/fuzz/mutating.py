"""Fuzzed pages, each a function of seed and number: a page of the corpus or of pieces, changed a few times.

Any page can be made again from its two numbers; nothing else decides about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from benchmarks.fuzz.pieces import BAD_BYTES, BLOCKS, CHARACTERS, FRONT, NAMES, SPANS

LONGEST = 2**20
"""Bytes that a fuzzed page has at most."""
_LARGEST_SEED = 40_000
_FENCE = re.compile(rb"\A(?:\xef\xbb\xbf)?---[ \t]*\r?\n")

Mutator = Callable[[bytes, Random, Sequence[bytes]], bytes]


@dataclass(frozen=True, slots=True)
class FuzzedFile:
    """One page to read: its name without suffix (bytes that are no UTF-8 as surrogates) and its bytes."""

    name: str
    data: bytes


def fuzzed_file(seed: int, number: int, seeds: Sequence[bytes]) -> FuzzedFile:
    """Make page ``number`` of the run ``seed``, starting from one of ``seeds`` or from pieces alone."""
    random = Random(f"{seed}/{number}")
    data = random.choice(seeds) if seeds and random.random() < 0.6 else _composed(random)
    for _ in range(random.choice((0, 1, 1, 2, 3, 5, 8))):
        data = random.choice(_MUTATORS)(data, random, seeds)[:LONGEST]
    return FuzzedFile(random.choice(NAMES) if random.random() < 0.3 else "p", data)


@cache
def seed_pages(folders: tuple[Path, ...]) -> tuple[bytes, ...]:
    """Read the pages below some folders, by path; the largest are left out, for the run to stay quick."""
    files = sorted(
        file
        for folder in folders
        for file in folder.rglob("*")
        if file.suffix.lower() in (".md", ".markdown", ".org") and file.is_file()
    )
    return tuple(data for file in files if len(data := file.read_bytes()) <= _LARGEST_SEED)


def _composed(random: Random) -> bytes:
    """Make a page of pieces alone, most often with a block of frontmatter."""
    parts = []
    if random.random() < 0.7:
        keys = random.choices(FRONT, k=random.randint(0, 9))
        parts.append(
            "\n".join(("---", *keys, random.choice(("---", "---", "...", "--- ", "----", "")))) + "\n"
        )
    for _ in range(random.randint(0, 40)):
        parts.append(random.choice(random.choice((BLOCKS, BLOCKS, SPANS, SPANS, CHARACTERS))))
        parts.append(random.choice(("", "", " ", "\n", "\n", "\n\n")))
    return "".join(parts).encode()


def _tail(random: Random, usual: int, most: int) -> int:
    """Choose a size: most often a usual one, now and then one that shows what grows too fast."""
    return random.randint(usual, most) if random.random() < 0.05 else random.randint(1, usual)


def _place(data: bytes, random: Random) -> int:
    """Choose a place: anywhere, at the start of a line, or in the first lines."""
    at = random.randint(0, len(data))
    kind = random.random()
    if kind < 0.4:
        return data.rfind(b"\n", 0, at) + 1
    return min(at, random.randint(0, 300)) if kind < 0.6 else at


def _range(data: bytes, random: Random) -> tuple[int, int]:
    start = _place(data, random)
    return start, min(start + random.choice((1, 2, 10, 80, 1_000)), len(data))


def _insert(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    at = _place(data, random)
    pieces = random.choices(random.choice((BLOCKS, SPANS, SPANS, CHARACTERS)), k=random.randint(1, 4))
    return data[:at] + "".join(pieces).encode() + data[at:]


def _insert_bad_bytes(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    at = _place(data, random)
    return data[:at] + random.choice(BAD_BYTES) + data[at:]


def _delete(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    start, end = _range(data, random)
    return data[:start] + data[end:]


def _repeat(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    start, end = _range(data, random)
    return data[:end] + data[start:end] * random.choice((1, 2, 20, _tail(random, 20, 300))) + data[end:]


def _nest(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    """Put many of one mark in a row, or each on a deeper line."""
    at = _place(data, random)
    mark = random.choice(
        (
            "> ",
            "- ",
            "1. ",
            "[",
            "![",
            "[[",
            "((",
            "*",
            "_",
            "**a",
            "`",
            "$",
            "<b>",
            "<!--",
            "{{",
            "%%",
            "|",
            "#",
        )
        + (
            "a: {",
            "a: [",
            "&a ",
            "\t",
            "\\",
            "[a](",
            "<",
            "&",
            "~~",
            "^",
            "::",
            "k:: ",
            "[x]: y\n",
            "a\n===\n",
        )
    ).encode()
    times = random.choice((5, 60, _tail(random, 200, 20_000)))
    if random.random() < 0.3:
        deeper = b"".join(b"  " * depth + mark + b"x\n" for depth in range(min(times, 300)))
        return data[:at] + deeper + data[at:]
    return data[:at] + mark * times + data[at:]


def _long_line(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    at = _place(data, random)
    part = random.choice((*SPANS, *CHARACTERS, "word ", "a", "\u65e5", "x,")).replace("\n", " ").encode()
    return data[:at] + part * _tail(random, 500, 60_000) + data[at:]


def _splice(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    other = random.choice(seeds) if seeds else _composed(random)
    start = _place(other, random)
    at = _place(data, random)
    return data[:at] + other[start : start + random.choice((50, 500, 5_000))] + data[at:]


def _swap_lines(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return b"\n".join(lines)


def _line_ends(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    end = random.choice((b"\r\n", b"\r", b"\n\r", b"\xe2\x80\xa8", b"\xc2\x85", b"\r\r\n"))
    if random.random() < 0.5:
        return data.replace(b"\n", end)
    return b"".join(
        line + random.choice((b"\n", end)) if line else b"\n" for line in data.split(b"\n", 5_000)
    )


def _cut(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    return data[: _place(data, random)]


def _flip(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 3, 20))):
        if changed:
            changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _encode(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    """Write the page in another encoding, with or without its mark."""
    text = data.decode("utf-8", "replace")
    encoding = random.choice(("utf-8-sig", "utf-16", "utf-32", "utf-16-le", "cp1252", "latin-1", "shift_jis"))
    encoded = text.encode(encoding, "replace")
    return encoded[: -random.choice((1, 2, 3))] if random.random() < 0.2 else encoded


def _mark(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    return random.choice(("\ufeff", "\ufeff\ufeff", "\n", " ", "\u200b", "<!-- x -->\n")).encode() + data


def _front_line(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    """Put lines into the frontmatter, making one where there is none."""
    lines = "\n".join(random.choices(FRONT, k=random.randint(1, 5))).encode() + b"\n"
    opening = _FENCE.match(data)
    if opening is None:
        return b"---\n" + lines + b"---\n" + data
    close = data.find(b"\n---", opening.end())
    at = opening.end() if close < 0 or random.random() < 0.5 else close + 1
    return data[:at] + lines + data[at:]


def _front_bulk(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    """Blow the frontmatter up: many keys, deep or long values, aliases of aliases."""
    kind, size = random.randrange(5), _tail(random, 300, 12_000)
    if kind == 0:
        bulk = "".join(f"k{number}: {number}\n" for number in range(size))
    elif kind == 1:
        bulk = "deep: " + "[" * size + "]" * random.choice((0, size)) + "\n"
    elif kind == 2:
        bulk = "a0: &a0 [x, x]\n" + "".join(
            f"a{number}: &a{number} [*a{number - 1}, *a{number - 1}]\n" for number in range(1, min(size, 60))
        )
    elif kind == 3:
        bulk = f"tags: [{', '.join(f't{number}' for number in range(size))}]\n"
    else:
        bulk = f"n: {'9' * size}\nf: {'1' * size}.5e{size}\nx: 0x{'f' * size}\n"
    return b"---\n" + bulk.encode() + (b"" if _FENCE.match(data) else b"---\n") + _FENCE.sub(b"", data)


_MUTATORS: tuple[Mutator, ...] = (
    *(_insert, _insert, _insert, _insert_bad_bytes, _delete, _delete, _repeat, _nest, _long_line, _splice),
    *(_swap_lines, _line_ends, _cut, _flip, _encode, _mark, _front_line, _front_line, _front_bulk),
)
