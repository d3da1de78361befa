"""The skill of extraction names only what is there: tools, verbs, predicates, kinds, fields, codes; its example holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.clients.test_skill import _code
from tests.index.live_wiki import LiveWiki
from wikimcp.cli.arguments import build_parser
from wikimcp.graph.page_rows import INFERRED
from wikimcp.graph.predicates import ENTITY_KINDS, KNOWN_PREDICATES
from wikimcp.graph.sidecar import MOST_EDGES, MOST_NODES
from wikimcp.guide.sidecar_check import LONGEST_SPAN, ROW_FIELDS
from wikimcp.models import Caller
from wikimcp.tools.registry import TOOLS

NAME = "wiki-extractor"
FILE = Path(__file__).parents[2] / "skills" / NAME / "SKILL.md"
TEXT = FILE.read_text(encoding="utf-8")
CHECKER = Path(__file__).parents[2] / "wikimcp" / "guide" / "sidecar_check.py"
PAGE = (
    "# Rollback\n\nRollback needs the deploy tool. Mira Lind owns the runbook; it replaces the\n"
    "old restart procedure.\n"
)
ANSWER = {"valid", "counts", "findings", "severity", "code", "message", "row", "index", "line"}
"""What `graph validate --json` prints, as the check of the example below sees it."""


def _codes() -> set[str]:
    """Every code that the checker gives, read off its source."""
    source = CHECKER.read_text(encoding="utf-8")
    given = re.findall(r"findings\.add\(\s*(?:row|item\.row|None),\s*\"([a-z_]+)\"", source)
    mapped = re.search(r"_FILE_CODES = \{(.*?)\}", source, re.DOTALL)
    assert mapped is not None
    return set(given) | set(re.findall(r': "([a-z_]+)"', mapped[1]))


def test_the_frontmatter_keeps_the_limits_of_skills() -> None:
    _, head, body = TEXT.split("---\n", 2)
    front = yaml.safe_load(head)
    assert front["name"] == NAME == FILE.parent.name
    assert 100 < len(front["description"]) < 1_024
    assert not re.search(r"[<>]", front["description"])
    assert 20 < len(body.splitlines()) < 500


def test_every_name_in_code_exists() -> None:
    known = set(TOOLS) | KNOWN_PREDICATES | set(ENTITY_KINDS) | ROW_FIELDS | _codes()
    known |= ANSWER | {"nodes", "edges", "page", "span", "#", "edges[2]", INFERRED, "runbooks/rollback"}
    known |= {"tools/deploy"}
    words = {word for word in _code(TEXT) if not word.startswith("wikimcp ")}
    assert words - known == set()
    assert {"discover_schema", "read_pages"} <= words & set(TOOLS)


def test_every_command_in_it_is_one() -> None:
    commands = [word for word in _code(TEXT) if word.startswith("wikimcp ")]
    assert len(commands) >= 4
    for command in commands:
        arguments = build_parser().parse_args(command.split()[1:])
        assert arguments.verb == "graph" and arguments.action in ("validate", "import")


def test_it_lists_every_kind_and_every_predicate_that_an_agent_may_write() -> None:
    code = _code(TEXT)
    assert set(ENTITY_KINDS) | KNOWN_PREDICATES <= code
    folded = " ".join(TEXT.split())
    assert (
        f"{MOST_NODES:,} nodes and {MOST_EDGES:,} edges" in folded
        and f"{LONGEST_SPAN:,} characters" in folded
    )


def test_the_check_sees_a_name_that_is_not_there() -> None:
    assert {"unknown_predicate", "no_such_end", "not_json", "evidence", "duplicate"} <= _codes()
    assert "unknown_verb" not in _codes() | KNOWN_PREDICATES | ROW_FIELDS


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_its_example_is_valid_for_the_page_it_speaks_of(tmp_path: Path, line_end: str) -> None:
    found = re.search(r"```json\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    wiki = LiveWiki(tmp_path, watch=False)
    wiki.write("runbooks/rollback.md", PAGE.replace("\n", line_end))
    wiki.write("tools/deploy.md", "# Deploy\n\nShips.\n")
    try:
        checked = wiki.service.check_sidecar(found[1].encode(), Caller())
        assert (checked["valid"], checked["counts"]["errors"], checked["counts"]["spans"]) == (True, 0, 4)
        assert {(row["code"], row["row"]) for row in checked["findings"]} == {
            ("unknown_predicate", "edges[2]")
        }
        rows = json.loads(found[1])
        assert set().union(*rows["nodes"], *rows["edges"]) <= ROW_FIELDS
        wrong = wiki.service.check_sidecar(b'[{"from": "tools/deploy"}]', Caller())
        assert set(wrong) | set(wrong["findings"][0]) == ANSWER | {"left_out"}
    finally:
        wiki.stop()
