"""Two writers and a reader on one compiled wiki, kill -9 among them, many times over.

Run as ``python -m benchmarks.authoring_races --rounds 500``. A writer reports each change over a pipe
once it has returned. After each round the wiki is looked at: every reported change is there, no file
is torn, and log and indexes say what the pages say. Needs ``fork``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from wikimcp.authoring.init import init_wiki
from wikimcp.authoring.insight import record_insight
from wikimcp.authoring.log import add_entry
from wikimcp.authoring.okf import body_of, read_head, render_page
from wikimcp.authoring.pages import DiskFiles, list_pages, regenerate_indexes
from wikimcp.authoring.workspace import Workspace
from wikimcp.authoring.writing import transaction
from wikimcp.errors import Conflict

SHARED = "Shared counter"
SHARED_PAGE = "concepts/shared-counter.md"
ROUNDS_PER_WIKI = 10
OPERATIONS = 6
LONGEST_LIFE = 0.12  # seconds until a kill, at most
_SUM = re.compile(r"\nsum: ([0-9a-f]{64})\n?\Z")


class Fault(Exception):
    """Something that must never happen has happened."""


def run(rounds: int, seed: int, folder: Path) -> dict[str, int]:
    """Play the rounds; returns counts. Raises Fault."""
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    reported: list[str] = []
    workspace = Workspace.open(folder)
    for number in range(rounds):
        if number % ROUNDS_PER_WIKI == 0:
            root = folder / f"wiki-{number}"
            root.mkdir()
            workspace, reported = Workspace.open(root), []
            init_wiki(workspace, deploy=False)
        fresh = play(workspace, number, chance, counts)
        counts["changes"] += len(fresh)
        reported += fresh
        look(workspace, reported, counts)
    return dict(counts)


def play(workspace: Workspace, number: int, chance: random.Random, counts: Counter[str]) -> list[str]:
    """Let two writers and a reader loose, kill some of them, and return what the writers reported."""
    pipes = [os.pipe() for _ in range(3)]
    seeds = [chance.randrange(2**32) for _ in pipes]
    works: Sequence[Callable[[int, int], None]] = (
        lambda out, seed: write(workspace, f"{number}a", out, seed),
        lambda out, seed: write(workspace, f"{number}b", out, seed),
        lambda out, seed: read(workspace, out, seed),
    )
    children = [fork(work, pipe[1], seed) for work, pipe, seed in zip(works, pipes, seeds, strict=True)]
    for _, out in pipes:
        os.close(out)
    victims = [child for child in children[:2] if chance.random() < 0.6]
    for victim in victims:
        time.sleep(chance.uniform(0, LONGEST_LIFE / max(len(victims), 1)))
        os.kill(victim, signal.SIGKILL)
    said = [drain(pipe[0]) for pipe in pipes]
    for child in children[:2]:
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            counts["killed"] += 1
        elif os.WEXITSTATUS(status):
            raise Fault(f"a writer ended with {os.WEXITSTATUS(status)}")
    if os.WEXITSTATUS(os.waitpid(children[2], 0)[1]):
        raise Fault("the reader saw a torn file: " + " ".join(said[2]))
    counts["rounds"] += 1
    counts["reads"] += len(said[2])
    return said[0] + said[1]


def fork(work: Callable[[int, int], None], out: int, seed: int) -> int:
    """Run ``work`` in a process of its own; returns its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work(out, seed)
        code = 0
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        os._exit(code)


def drain(pipe: int) -> list[str]:
    """Return the lines of a pipe up to its end."""
    with os.fdopen(pipe, "rb") as stream:
        return [line.decode() for line in stream.read().splitlines()]


def write(workspace: Workspace, name: str, out: int, seed: int) -> None:
    """Make some changes and report each one after it was made."""
    chance = random.Random(seed)
    for step in range(OPERATIONS):
        mark = f"{name}-{step}"
        kind = chance.choice(("page", "insight", "counter"))
        {"page": add_page, "insight": add_insight, "counter": add_to_counter}[kind](workspace, mark)
        os.write(out, f"{kind} {mark}\n".encode())


def read(workspace: Workspace, out: int, seed: int) -> None:
    """Read the whole wiki again and again; every page must be whole each time."""
    chance = random.Random(seed)
    for _ in range(OPERATIONS):
        for page in list_pages(DiskFiles(workspace)):
            check_whole(page.path, page.text)
        log = DiskFiles(workspace).read("log.md") or b"\n"
        if not log.endswith(b"\n"):
            raise Fault("log.md is torn")
        os.write(out, b"read\n")
        time.sleep(chance.uniform(0, 0.01))


def add_page(workspace: Workspace, mark: str) -> None:
    """Write a page that everybody may see, with indexes and log."""
    path = f"entities/page-{mark}.md"
    with transaction(workspace) as change:
        fields = {"type": "Entity", "title": f"Page {mark}", "description": "One of many."}
        change.write(path, render_page(fields, summed(f"# Page {mark}\n\n" + "text " * 400)), expect=None)
        regenerate_indexes(change)
        add_entry(change, "Page", f"made {mark}")


def add_insight(workspace: Workspace, mark: str) -> None:
    """Record an insight that is new."""
    record_insight(
        workspace, title=f"Insight {mark}", content=summed(f"# Insight {mark}\n\n" + "word " * 300)
    )


def add_to_counter(workspace: Workspace, mark: str) -> None:
    """Add a line to the page that both writers change, by compare and swap."""
    lines: list[str] = []
    expected: str | None = None
    while True:
        content = summed("\n".join([f"# {SHARED}", "", *lines, f"- {mark}"]))
        try:
            record_insight(workspace, title=SHARED, content=content, content_hash=expected)
            return
        except Conflict as conflict:
            expected = conflict.content_hash
            lines = counter_lines(conflict.current or "")


def counter_lines(text: str) -> list[str]:
    """Return the entries of the shared page."""
    return [line for line in body_of(text).splitlines() if line.startswith("- ")]


def summed(text: str) -> str:
    """Return a text that ends in its own checksum."""
    text = text.strip()
    return f"{text}\n\nsum: {hashlib.sha256(text.encode()).hexdigest()}"


def check_whole(path: str, text: str) -> None:
    """Raise Fault when a page is not what somebody wrote whole."""
    body = body_of(text).strip()
    found = _SUM.search(body)
    if found is None or hashlib.sha256(body[: found.start()].strip().encode()).hexdigest() != found[1]:
        raise Fault(f"{path} is torn")
    if not read_head(text).type:
        raise Fault(f"{path} has lost its head")


def look(workspace: Workspace, reported: Sequence[str], counts: Counter[str]) -> None:
    """Complete what was interrupted, as the next verb would, and compare pages, log, indexes and reports."""
    state = workspace.wiki_root / ".state"
    counts["completed"] += (state / "intent.json").exists()
    counts["dropped"] += (state / "staged").exists() and not (state / "intent.json").exists()
    with transaction(workspace) as change:
        if change.notes:
            raise Fault(f"recovery could not complete a change: {change.notes}")
        if drift := regenerate_indexes(change):
            raise Fault(f"indexes do not say what the pages say: {drift}")
    pages = {page.path: page for page in list_pages(DiskFiles(workspace))}
    for page in pages.values():
        check_whole(page.path, page.text)
    log = (workspace.wiki_root / "log.md").read_text()
    index = (workspace.wiki_root / "entities" / "index.md").read_text()
    counter = counter_lines(pages[SHARED_PAGE].text) if SHARED_PAGE in pages else []
    if len(set(counter)) != len(counter):
        raise Fault("a change was made twice")
    for report in reported:
        kind, mark = report.split()
        lost = {
            "page": f"entities/page-{mark}.md" not in pages,
            "insight": f"concepts/insight-{mark}.md" not in pages,
            "counter": f"- {mark}" not in counter,
        }[kind]
        if lost:
            raise Fault(f"the change {report} is lost")
    made = {path.removeprefix("entities/page-").removesuffix(".md") for path in pages if "/page-" in path}
    insights = {path for path in pages if path.startswith("concepts/insight-")}
    if made != set(re.findall(r"made (\S+)", log)) or made != set(re.findall(r"\(page-(\S+)\.md\)", index)):
        raise Fault("log or index do not agree with the pages")
    logged = Counter(re.findall(r"(Proposed|Changed) a concept \(content_hash ([0-9a-f]{16})\)", log))
    hashes = {pages[path].content_hash[:16] for path in insights}
    if not hashes <= {digest for _, digest in logged}:
        raise Fault("the log does not agree with the insights")
    if sum(logged.values()) != len(insights) + len(counter):
        raise Fault("the log does not agree with the shared page")
    leftovers = {path.name for path in state.iterdir()} - {".gitignore", "lock"}
    if leftovers:
        raise Fault(f"left behind: {leftovers}")
    counts["most_pages"] = max(counts["most_pages"], len(pages))


def main() -> int:
    """Play and print the counts; 1 and the fault when something was lost or torn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            counts = run(arguments.rounds, arguments.seed, Path(folder))
        except Fault as fault:
            print(json.dumps({"fault": str(fault), "seed": arguments.seed}))
            return 1
    print(json.dumps({**counts, "seed": arguments.seed, "seconds": round(time.monotonic() - began, 1)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
