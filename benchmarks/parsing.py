"""`python -m benchmarks.parsing`: a corpus parsed to pages, sections, links and chunks on one core.

The time stands beside that of markdown-it-py, which makes tokens only, on the same bodies.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.processes import CORPUS
from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.vaults.detect import detect


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; returns 0, or 2 for wrong use."""
    parser = argparse.ArgumentParser(prog="benchmarks.parsing", description=__doc__)
    parser.add_argument("--corpus", type=Path, default=CORPUS, metavar="DIR", help="a folder of markdown")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="repetitions (3)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args(argv)
    if not given.corpus.is_dir() or given.runs < 1:
        parser.error("give a folder of markdown, --corpus DIR, and --runs from 1")
    facts = measure(given.corpus, runs=given.runs)
    if given.json:
        print(json.dumps(facts, indent=1))
        return 0
    print(
        f"{facts['pages']:,} pages, {facts['sections']:,} sections, {facts['links']:,} links, "
        f"{facts['chunks']:,} chunks in {facts['seconds']:.3f} s; markdown-it-py {facts['reference']:.3f} s "
        f"({facts['ratio']:.1f} times as long)"
    )
    return 0


def measure(corpus: Path, *, runs: int) -> dict[str, Any]:
    """Return counts, and the median processor seconds of both parsers over pages already in memory."""
    from markdown_it import MarkdownIt

    adapter = detect(corpus)
    contents = [adapter.read(stamp.path) for stamp in adapter.scan().files]
    contents = [content for content in contents if content.encoding != "binary"]
    bodies = [content.text[parse_frontmatter(content.text).body_start :] for content in contents]
    reference = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    pages = [adapter.parse(content) for content in contents]
    ours = _median(lambda: [adapter.parse(content) for content in contents], runs)
    theirs = _median(lambda: [reference.parse(body) for body in bodies], runs)
    return {
        "pages": len(pages),
        "sections": sum(len(page.body.sections) for page in pages),
        "links": sum(len(page.body.links) for page in pages),
        "chunks": sum(len(page.body.chunks) for page in pages),
        "seconds": round(ours, 4),
        "reference": round(theirs, 4),
        "ratio": round(theirs / ours, 2) if ours else 0.0,
    }


def _median(work: Callable[[], object], runs: int) -> float:
    """Return the median processor time of one thread, in seconds."""
    times = []
    for _ in range(runs):
        begun = time.thread_time()
        work()
        times.append(time.thread_time() - begun)
    return statistics.median(times)


if __name__ == "__main__":
    raise SystemExit(main())
