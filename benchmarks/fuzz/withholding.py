"""Pages whose frontmatter withholds them, then broken: however it is broken, they may not become public.

What a block means when it still parses is asked of PyYAML alone, not of the product.
"""

from __future__ import annotations

import re
from random import Random

import yaml

from benchmarks.fuzz.mutating import FuzzedFile
from benchmarks.fuzz.pieces import BAD_BYTES, CHARACTERS, FRONT

_YES = (
    "true",
    "True",
    "TRUE",
    "yes",
    "Yes",
    "on",
    "y",
    "1",
    "'true'",
    '"yes"',
    "[true]",
    "[ 'on' ]",
    "true # why",
)
_NO = ("false", "False", "no", "No", "off", "n", "0", "'false'", '"no"', "[false]", "false # not yet")
_NEITHER = (
    "maybe",
    "tru",
    "fals",
    "[true, false]",
    "{a: b}",
    "TBD",
    "2",
    "-",
    "~x",
    "\u0442rue",
    "'",
    "[",
    "*x",
)
_STATES = (
    "draft",
    "Draft",
    "DRAFT",
    "'draft'",
    '"Draft"',
    "proposed",
    "needs review",
    "needs-review",
    "[draft]",
)
_STATUSES = (
    *_STATES,
    *("private", "hidden", "embargoed", "confidential", "internal", "withheld", "unpublished", "blocked"),
    *("draft (second)", "Draft, of March", "draft/idea", "draft: of March"),
)
_CLOSED: dict[str, tuple[str, ...]] = {
    "draft": (*_YES, *_NEITHER),
    "publish": (*_NO, *_NEITHER, "2999-01-01"),
    "published": (*_NO, *_NEITHER, "2999-01-01", "9999"),
    "public": (*_NO, *_NEITHER),
    "status": _STATUSES,
    "review_state": (*_STATES, "rejected"),
    "state": (*_STATES, "Rejected"),
    "visibility": ("team", "[ops, legal]", "'ops'", "- ops", "{a: b}", "private", "[", "\u00e9quipe"),
}
_SPELLINGS = {
    "draft": ("draft", "Draft", "DRAFT", '"draft"', "'draft'", "draft ", "\uff44raft"),
    "review_state": ("review_state", "reviewState", "review-state", "Review State", '"review_state"'),
    "status": ("status", "Status", "STATUS", '"status"'),
}
_BREAKERS = (
    *(
        'title: "never closed',
        "title: 'never closed",
        "a: b: c",
        "a: [1, 2",
        "a: {b: c",
        "a: *nowhere",
        "a: &x &y z",
    ),
    *(
        "\ttab: x",
        "a:\tb",
        "- item",
        "@at: x",
        "`tick`: x",
        "%percent",
        "a: %b",
        "? a\n? b",
        "key",
        "just words here",
    ),
    *(
        "a: |\n x\nb",
        "  odd: indent",
        "a: !!int x",
        "a: !<",
        "]",
        "}",
        "a: ]",
        '"a": "b" c',
        "a: 'b' 'c'",
        "!!x",
        "&",
    ),
    *(
        "a: \x01",
        "a: \x00",
        "\x00",
        "a: \ufffe",
        "<<: 3",
        "<<: [1]",
        "<<",
        "{{title}}",
        "a: {{x}}",
        "<% x %>",
        "a: \\",
    ),
    *(
        "<<<<<<< HEAD",
        "=======",
        ">>>>>>> branch",
        "--- x",
        "a: >\n\tb",
        "title: Re: x",
        "'",
        '"',
        "[[link]]",
        ": x",
    ),
)
_CLOSES = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_ODD_OPENINGS = (
    "\n---\n",
    " ---\n",
    "\u200b---\n",
    "\ufeff\ufeff---\n",
    "<!-- made -->\n---\n",
    "+++\n",
    ";;;\n",
    "\n\n---\n",
)


def closed_file(seed: int, number: int) -> tuple[FuzzedFile, str]:
    """Make a page that must be withheld, and the line that says so; empty where that is left open."""
    random = Random(f"closed {seed}/{number}")
    key = random.choice(list(_CLOSED))
    name = random.choice(_SPELLINGS.get(key, (key, key.title(), f'"{key}"')))
    line = f"{name}: {random.choice(_CLOSED[key])}"
    if line.endswith(": - ops"):
        line = line.replace(": - ops", ":\n- ops")
    before, after = _lines(random), _lines(random)
    if random.random() < 0.06:
        (before if random.random() < 0.5 else after).append(_bulk(random))
    block = "\n".join((*before, line, *after))
    opening, closing = "---\n", random.choice(("\n---\n", "\n---  \n", "\n...\n", "\n---\n---\nb: c\n---\n"))
    surely = _stays_closed(block, key) and not _CLOSES.search(block)
    if random.random() < 0.15:
        opening = random.choice(_ODD_OPENINGS)
        surely = (
            surely and len("\n".join(before)) < 4_000 and "\n\n" not in block and "\n---" not in f"\n{block}"
        )
        closing = "\n" + opening.strip("\n\ufeff\u200b ").rpartition("\n")[2] + "\n"
    elif random.random() < 0.12:
        closing = "\n"
        surely = surely and len("\n".join(before)) < 4_000 and "\n\n" not in block
    text = opening + block + closing + random.choice(("", "# Body\n\nwords\n", "words", "draft: false\n"))
    return FuzzedFile("p", _written(text, random)), line if surely else ""


def _lines(random: Random) -> list[str]:
    return random.choices(
        random.choice((_BREAKERS, FRONT, ("title: x", "tags: [a]", "n: 1"))), k=random.randint(0, 3)
    )


def _bulk(random: Random) -> str:
    kind = random.randrange(4)
    if kind == 0:
        return f"long: {'x' * 300_000}"
    if kind == 1:
        return "\n".join(f"k{number}: {number}" for number in range(6_000))
    if kind == 2:
        return f"deep: {'[' * 80}{']' * 80}"
    return "a: &a 1\nb: [" + "*a, " * 80 + "1]"


def _written(text: str, random: Random) -> bytes:
    """Encode a page, sometimes with other line ends, a mark, another encoding or bad bytes in the body."""
    kind = random.random()
    if kind < 0.15:
        text = text.replace("\n", random.choice(("\r\n", "\r")))
    if random.random() < 0.1 and not text.startswith("\ufeff"):
        text = "\ufeff" + text
    if random.random() < 0.1:
        text += random.choice(CHARACTERS)
    if 0.15 < kind < 0.2 and "\x00" not in text:
        return text.removeprefix("\ufeff").encode("utf-16")
    data = text.encode("utf-8", "surrogatepass")
    return data + random.choice(BAD_BYTES[:3]) + b"word" if 0.2 < kind < 0.25 else data


def _stays_closed(block: str, key: str) -> bool:
    """Say whether a block must withhold: it is no YAML, or its mapping still holds the key.

    Where quotes or an indented text of a block that parses have swallowed the line, it says nothing.
    """
    try:
        found = yaml.load(block.encode(), Loader=yaml.BaseLoader)
    except (yaml.YAMLError, UnicodeError, RecursionError, ValueError, TypeError):
        return True
    folded = key.replace("_", "")
    return isinstance(found, dict) and any(_folded(name) == folded for name in found)


def _folded(name: object) -> str:
    return re.sub(r"[\s_-]", "", str(name).replace("\uff44", "d")).casefold()
