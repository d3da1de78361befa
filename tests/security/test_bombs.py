"""Pages made to cost more than they are long: each is read, alone and together, in a process that ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.edges.processes import PATIENCE, environment

LONG = 60_000
MARKDOWN = {
    "quotes": "> " * 5_000 + "deep",
    "lists": "\n".join(" " * (2 * depth) + "- x" for depth in range(2_000)),
    "brackets": "[" * LONG,
    "pairs": "[](" * 20_000,
    "pictures": "![" * 30_000 + "]" * 30_000,
    "stars": "*_" * 30_000 + "a",
    "mixed emphasis": "**a *b " * 10_000,
    "ticks": " ".join("`" * length for length in range(1, 350)),
    "comments": "<!-" * 20_000,
    "cdata": "<![CDATA[" * 5_000,
    "tags": "<a" * 30_000,
    "angle brackets": "<" * LONG,
    "references": "\n".join(f"[r{n}]: x" for n in range(5_000)) + "\n" + "[r1][r2]" * 5_000,
    "footnotes": "".join(f"[^{n}]" for n in range(5_000))
    + "\n\n"
    + "\n".join(f"[^{n}]: x" for n in range(5_000)),
    "wikilinks": "[[" * 30_000 + "]]" * 30_000,
    "one link": "[[" + "a|" * 30_000 + "]]",
    "embeds": "![[a#" * 12_000,
    "hashes": "#" * LONG,
    "tag signs": "#a/" * 20_000,
    "headings": "\n".join("#" * (1 + n % 6) + f" h{n}" for n in range(6_000)),
    "table": "|" * 3_000 + "\n" + "|-" * 3_000 + "\n" + "|x" * 20_000,
    "callouts": "> [!note] " * 6_000,
    "inline fields": "(a:: " * 12_000,
    "templates": "{{<" * 20_000,
    "maths": "$$" * 30_001,
    "block ids": " ^a" * 20_000,
    "citations": "[c](cite://x/" * 4_000 + '"' * 4_000,
    "anchors": "[a](file:x#L1-L" * 4_000,
    "comment signs": "%%" * 30_001,
    "underscores": "_" * LONG,
    "blanks": "a" + " " * LONG + "b",
    "line ends": "\r\n" * LONG,
    "marks over letters": "a" + "\u0301" * LONG,
    "no-width": "\u200b" * LONG,
    "urls": "http://" * 10_000,
    "allow": "[{ALLOW view " * 5_000,
    "dates": "2031-" * 12_000,
}
HEADS = {
    "billion laughs": "a: &a [x, x]\n" + "\n".join(f"{c}: &{c} [{', '.join([f'*{p}'] * 9)}]" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
    "merges": "a: &a {k: v}\n" + "\n".join(f"{c}: &{c} {{<<: [{', '.join([f'*{p}'] * 9)}]}}" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
    "itself": "a: &a [*a]",
    "deep flow": "a: " + "[" * 30_000,
    "deep maps": "a: " + "{a: " * 10_000,
    "deep block": "\n".join("  " * depth + "a:" for depth in range(300)),
    "many keys": "\n".join(f"k{n}: v" for n in range(20_000)),
    "big number": "a: " + "9" * 100_000,
    "sexagesimal": "a: " + "1:" * 30_000 + "1",
    "float": "a: 1e" + "9" * 5_000,
    "binary": "a: !!binary " + "A" * LONG,
    "python": "a: !!python/object/apply:os.system ['touch pwned']",
    "open quote": "a: '" + "x" * LONG,
    "block scalar": "a: |" + "\n  x" * 20_000,
    "question marks": "? " * 20_000,
    "anchors": "\n".join(f"k{n}: &x{n} v" for n in range(5_000)),
    "tags": "tags: [" + "a, " * 20_000 + "]",
    "colons": ":" * LONG,
}  # fmt: skip


def _read(folder: Path, pages: dict[str, str]) -> dict[str, object]:
    """Index a vault of pages with the real command, and return its answer to a plain question."""
    vault = folder / "vault"
    vault.mkdir()
    (vault / "open.md").write_text("# Open\n\nThe barley is in.\n")
    for name, text in pages.items():
        (vault / f"{name}.md").write_bytes(text.encode())
    done = subprocess.run(
        [sys.executable, "-m", "wikimcp", "bundle", "barley", "--vault", str(vault), "--json"],
        env=environment(HOME=str(folder), WIKIMCP_EMBEDDER="none", WIKIMCP_STATE_DIR=str(folder / "state")),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    assert not (folder / "pwned").exists()
    return answer


@pytest.mark.parametrize("kind", ["markdown", "heads"])
def test_pages_made_to_be_slow_cost_no_other_page_its_place(tmp_path: Path, kind: str) -> None:
    pages = (
        MARKDOWN if kind == "markdown" else {name: f"---\n{head}\n---\n# T\n" for name, head in HEADS.items()}
    )
    answer = _read(tmp_path, pages)
    sections = answer["sections"]
    index = answer["index"]
    assert isinstance(sections, list)
    assert sections[0]["slug"] == "open"
    assert isinstance(index, dict)
    assert index["pages"] > len(pages) // 2, "a page that is slow to read is a page all the same"
