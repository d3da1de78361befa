"""Checks the citation of every section of a vault and reports the time per 1,000.

All must be current. A section is cited as a bundle cites it (its own text) and as read_pages does (with all
below it), and each uri goes through the tool. The index is made in a folder of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from wikimcp.app import build_service
from wikimcp.index.view import Reading
from wikimcp.models import Caller
from wikimcp.service import WikiService
from wikimcp.settings import load_settings
from wikimcp.tools.citing import citation_uri

_AT_ONCE = 50  # the most that one call verifies


def section_uris(reading: Reading) -> Iterator[tuple[str, int]]:
    """Yield (uri, 1 for a section or 0 for its subtree) of every section of every page."""
    for page in reading.pages:
        text = reading.text(page)
        for section in reading.sections(page):
            own, tree = section.own, section.subtree
            yield citation_uri(reading.cite(page, text, own.start, own.end, section.heading_path)), 1
            if tree.end != own.end:
                yield citation_uri(reading.cite(page, text, tree.start, tree.end, section.heading_path)), 0


def verified(service: WikiService, uris: Sequence[str]) -> tuple[list[dict[str, object]], float]:
    """Verify uris by one call; returns the verdicts and the seconds that it took."""
    began = time.perf_counter()
    answer = service.call("list_stale_citations", {"verify": list(uris)}, Caller())
    seconds = time.perf_counter() - began
    assert answer.structured is not None
    return answer.structured["verified"], seconds


def measure(corpus: Path, state: Path) -> dict[str, object]:
    """Return counts by verdict, the uris that are not current, and the seconds per 1,000 citations."""
    flags = {"vault": str(corpus), "state_dir": str(state), "embedder": "none", "answer_tokens": 100_000}
    service = build_service(load_settings(flags, env={}), background=False)
    try:
        service.wait_ready("none")
        made = list(section_uris(service.keeper.reading()))
        uris = [uri for uri, _ in made]
        counts: Counter[str] = Counter()
        wrong: list[str] = []
        seconds: list[float] = []
        for first in range(0, len(uris), _AT_ONCE):
            batch = uris[first : first + _AT_ONCE]
            rows, took = verified(service, batch)
            seconds.append(took)
            counts.update(str(row["status"]) for row in rows)
            counts["unanswered"] += len(batch) - len(rows)
            wrong += [
                f"{row['status']} {uri}"
                for row, uri in zip(rows, batch, strict=False)
                if row["status"] != "current"
            ]
    finally:
        service.close()
    return {
        "sections": sum(number for _, number in made),
        "headings": sum(number for uri, number in made if "/" in uri.removeprefix("cite://")),
        "citations": len(uris),
        "counts": {name: count for name, count in counts.items() if count},
        "notCurrent": wrong[:50],
        "secondsPerThousand": round(1_000 * sum(seconds) / max(len(uris), 1), 3),
        "medianSecondsPerCall": round(statistics.median(seconds), 4) if seconds else 0.0,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Print the measures as JSON; exit code 1 when a citation is not current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, metavar="DIR", help="the vault")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="wikimcp-citations-") as folder:
        result = measure(arguments.corpus, Path(folder))
    print(json.dumps(result, ensure_ascii=False, indent=2))
    return 1 if result["notCurrent"] else 0


if __name__ == "__main__":
    sys.exit(main())
