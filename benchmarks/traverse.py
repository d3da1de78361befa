"""How long `traverse` takes from the pages of a large wiki: `python -m benchmarks.traverse [--copies 10]`.

Each start page is asked once with the edges around it not yet known, as a new server has it, and once again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.corpus import build_vault
from benchmarks.figures import percentile
from benchmarks.processes import CORPUS, ROOT
from wikimcp.app import build_service
from wikimcp.models import Caller
from wikimcp.service import WikiService
from wikimcp.settings import load_settings


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; progress goes to stderr."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, default=CORPUS if CORPUS.is_dir() else ROOT / "sample_vault")
    parser.add_argument("--copies", type=int, default=10, help="copies of the corpus in one vault (10)")
    parser.add_argument("--every", type=int, default=12, help="start from every so many-th page (12)")
    parser.add_argument("--depth", type=int, default=2, help="hops (2)")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="wikimcp-traverse-") as work:
        vault = Path(work) / "vault"
        told: dict[str, Any] = {"pages": build_vault(given.corpus, vault, copies=given.copies)}
        print(f"indexing {told['pages']:,} pages", file=sys.stderr)
        flags = {"vault": str(vault), "state_dir": str(Path(work) / "state"), "embedder": "none"}
        service = build_service(load_settings(flags, env={}))
        try:
            service.wait_ready("none")
            told |= measured(service, every=given.every, depth=given.depth)
        finally:
            service.close()
    print(json.dumps(told, indent=1))
    return 0


def measured(service: WikiService, *, every: int, depth: int) -> dict[str, Any]:
    """Return the milliseconds of both passes over the start pages, and how many edges the answers had."""
    slugs = [page.slug for page in service.keeper.reading().pages][::every]
    begin = time.perf_counter()
    edges = [_walked(service, slugs[0], depth)]
    told: dict[str, Any] = {"starts": len(slugs), "graph_s": round(time.perf_counter() - begin, 2)}
    for name in ("first_pass_ms", "second_pass_ms"):
        times = []
        for slug in slugs:
            begin = time.perf_counter()
            edges.append(_walked(service, slug, depth))
            times.append((time.perf_counter() - begin) * 1_000)
        told[name] = {f"p{at}": round(percentile(times, at / 100), 2) for at in (50, 95, 99)}
    told["edges_p50"] = percentile(edges, 0.5)
    return told


def _walked(service: WikiService, slug: str, depth: int) -> int:
    answer = service.call("traverse", {"start_node": slug, "max_depth": depth}, Caller())
    assert answer.structured is not None
    return len(answer.structured["edges"])


if __name__ == "__main__":
    sys.exit(main())
