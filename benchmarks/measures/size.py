"""Sizes: the state on disk, what tools/list costs an agent, and what an install takes."""

from __future__ import annotations

import json
import os
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.corpus import fingerprints
from benchmarks.figures import Recorder
from wikimcp.markdown.tokens import count_tokens

TITLE = "Sizes"
PRODUCT = "wikimcp-server"


def measure(bench: Bench, recorder: Recorder) -> None:
    """Measure once: sizes do not vary between repetitions."""
    bench.say("sizes")
    _of_the_state(bench, recorder)
    _of_the_tools(bench, recorder)
    _of_the_install(bench, recorder)


def _of_the_state(bench: Bench, recorder: Recorder) -> None:
    state = bench.warm_state
    parts = {
        "catalog": ("*/index-*/catalog.sqlite*", "state: catalog (SQLite)"),
        "lexical": ("*/index-*/lexical/**/*", "state: lexical index"),
        "vectors": ("*/vectors/**/*", "state: vectors"),
        "ledger": ("*/ledger.sqlite*", "state: version ledger"),
        "all": ("**/*", "state: everything"),
    }
    for key, (pattern, label) in parts.items():
        size = sum(file.stat().st_size for file in state.glob(pattern) if file.is_file())
        recorder.add(f"size.state.{key}", size / 1e6, label=label, unit="MB")
    rows = sum(file.stat().st_size // 8 for file in state.glob("*/vectors/*/keys.u64"))
    recorder.add("size.vectors", rows, label="vectors (equal texts share one)", unit="count")
    size = sum(file.stat().st_size for file in bench.vault.rglob("*") if file.is_file())
    recorder.add("size.vault", size / 1e6, label="the vault itself", unit="MB")
    changed = bench.before.items() ^ fingerprints(bench.vault).items()
    recorder.add("size.changed", len(changed), label="files of the vault that serving changed", unit="count")


def _of_the_tools(bench: Bench, recorder: Recorder) -> None:
    with bench.client(bench.warm_state) as client:
        client.handshake()
        bench.settled(client)
        tools = client.ask("tools/list")["tools"]
    asked = [[tool["name"], tool["description"], tool["inputSchema"]] for tool in tools]
    recorder.add("size.tools", len(tools), label="tools on offer", unit="count")
    for key, what, label in (
        ("input", asked, "tools/list: names, descriptions, input schemas"),
        (
            "schemas",
            [*asked, *(tool.get("outputSchema") for tool in tools)],
            "tools/list: with output schemas",
        ),
        ("message", tools, "tools/list: the whole message"),
    ):
        tokens = sum(
            count_tokens(json.dumps(part, ensure_ascii=False, separators=(",", ":"))) for part in what
        )
        recorder.add(f"size.tools.{key}", tokens, label=label, unit="tokens")
    recorder.remark("tokens are an estimate: a quarter of the characters of compact JSON.")


def _of_the_install(bench: Bench, recorder: Recorder) -> None:
    packages = required(PRODUCT)
    if not packages:
        recorder.remark(f"{PRODUCT} is not installed as a package: no install size")
        return
    size = sum(_disk_size(package) for package in packages)
    recorder.add("size.packages", len(packages), label="packages that an install brings", unit="count")
    recorder.add("size.install", size / 1e6, label="their size on disk, without extras", unit="MB")


def required(name: str) -> list[Distribution]:
    """Return a package and all that it needs, without extras, as far as they are installed here."""
    found: dict[str, Distribution] = {}
    wanted = [name]
    for package in wanted:
        key = re.sub(r"[-_.]+", "-", package).lower()
        if key in found:
            continue
        try:
            found[key] = distribution(package)
        except PackageNotFoundError:  # one that only other systems need
            continue
        for line in found[key].requires or ():
            needed, _, marker = line.partition(";")
            if "extra" not in marker and (match := re.match(r"[\w.-]+", needed)):
                wanted.append(match[0])
    return list(found.values())


def _disk_size(package: Distribution) -> int:
    """Return the bytes of a package's files; of an editable install, those of the source package."""
    files = [Path(str(file.locate())) for file in package.files or ()]
    if package.metadata["Name"] == PRODUCT and any("editable" in file.name for file in files):
        source = sys.modules["wikimcp"].__path__[0]
        files = [Path(folder) / name for folder, _, names in os.walk(source) for name in names]
    return sum(file.stat().st_size for file in files if file.is_file())
