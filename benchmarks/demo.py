"""The demo: index the sample vault, start the server as a client would, and print what an agent gets.

Everything it writes goes to a temporary folder. Run by `make demo`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

VAULT = Path(__file__).parents[1] / "sample_vault"
QUESTIONS = (
    "How do we roll back a bad deploy?",
    "Why did we leave RabbitMQ?",
    "What is the best icing for a birthday sponge cake?",
)
WIDTH = 100
COLOURED = sys.stdout.isatty() and "NO_COLOR" not in os.environ
MARKS = {"strong": "32", "partial": "33", "weak": "31", "unknown": "35"}


def main() -> int:
    """Run the demo; returns 0 when every question got an answer."""
    if not VAULT.is_dir():
        print("sample_vault is not here: run this from a clone", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="wikimcp-demo-") as state:
        return index(Path(state)) or anyio.run(talk, Path(state))


def index(state: Path) -> int:
    """Build the index of the sample vault; a server would do this by itself, in the background."""
    say(f"$ wikimcp index {VAULT.name}", "1")
    started = time.perf_counter()
    words = [sys.executable, "-m", "wikimcp", "index", str(VAULT), "--state-dir", str(state), "--json"]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=False)
    if done.returncode == 0:
        files = json.loads(done.stdout)["files"]
        seconds = time.perf_counter() - started
        say(f"{files['indexed']} pages and {files['withheld']} withheld ones in {seconds:.1f} s\n")
    return done.returncode


async def talk(state: Path) -> int:
    """Start `wikimcp serve` over stdio, ask the questions and print the answers."""
    arguments = ["-m", "wikimcp", "serve", str(VAULT), "--state-dir", str(state), "--log-level", "error"]
    say(f"$ wikimcp serve {VAULT.name}", "1")
    started = time.perf_counter()
    async with Client(StdioServerParameters(command=sys.executable, args=arguments)) as client:
        tools = sorted(tool.name for tool in (await client.list_tools()).tools)
        say(f"connected in {time.perf_counter() - started:.1f} s, {len(tools)} tools: {', '.join(tools)}\n")
        if not await brief(client):
            return 1
        for question in QUESTIONS:
            started = time.perf_counter()
            result = await client.call_tool("assemble_bundle", {"query": question, "token_budget": 1200})
            if result.is_error:
                print(text_of(result.content), file=sys.stderr)
                return 1
            show_bundle(question, result.structured_content or {}, (time.perf_counter() - started) * 1000)
    return 0


async def brief(client: Client) -> bool:
    """Print the briefing an agent gets at the start of a session; tells whether it got one."""
    asked = {
        "prompt": "I am about to change how bookings are paid.",
        "pins": ["idempotency-key"],
        "clusters": ["money"],
        "budget": 1400,
    }
    started = time.perf_counter()
    result = await client.call_tool("get_briefing", asked)
    say(f"get_briefing {json.dumps(asked)}", "1")
    say(f"  {(time.perf_counter() - started) * 1000:.0f} ms", "2")
    print(textwrap.indent(text_of(result.content), "  "))
    return not result.is_error


def show_bundle(question: str, bundle: Mapping[str, Any], milliseconds: float) -> None:
    """Print one bundle: its confidence, then each section under its citation."""
    coverage = bundle["coverage"]
    confidence = str(coverage["confidence"])
    say(f"? {question}", "1;36")
    say(
        f"  {confidence} ({coverage['topSimilarity']:.2f}), {milliseconds:.0f} ms", MARKS.get(confidence, "0")
    )
    sections = bundle["sections"]
    shown = 1 if confidence in ("weak", "unknown") else 3
    for section in sections[:shown]:
        citation = section["citation"]
        heading = " > ".join(section["headingPath"])
        first, last = citation["lines"]
        say(f"  {citation['handle']}  {heading}  lines {first} to {last}", "33")
        print(textwrap.indent(shortened(section["text"]), "    "))
    if len(sections) > shown:
        say(f"  and {len(sections) - shown} more", "2")
    if confidence in ("weak", "unknown"):
        say(f"  next for the agent: {coverage.get('next', 'another tool')}", "2")
    print()


def shortened(text: str, *, lines: int = 5) -> str:
    """Return the first lines of a section, wrapped, without empty ones."""
    wrapped = [
        part for line in text.splitlines() if line.strip() for part in textwrap.wrap(line, WIDTH) or [line]
    ]
    return "\n".join([*wrapped[:lines], *(["..."] if len(wrapped) > lines else [])])


def text_of(content: list[Any]) -> str:
    """Join the text parts of a tool's content."""
    return "\n".join(part.text for part in content if getattr(part, "text", None))


def say(line: str, colour: str = "0") -> None:
    """Print a line, in colour where a person looks on."""
    print(f"\x1b[{colour}m{line}\x1b[0m" if COLOURED else line, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
