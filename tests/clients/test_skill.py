"""The skill and the standing instructions name only tools, arguments and fields that the contract has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from wikimcp.clients.skill_file import SKILL, SkillFile, shipped_skill
from wikimcp.clients.wiring import Wiring, standing_instructions
from wikimcp.tools.contract import IndexStamp
from wikimcp.tools.registry import TOOLS, load
from wikimcp.tools.schemas import input_schema, output_schema

ROOT = Path(__file__).parents[2]
TEXT = shipped_skill()
STANDING = standing_instructions(Wiring(command=("wikimcp",), vault="/v", pins=("a",), clusters=("b",)))
ARGUMENTS = {
    "assemble_bundle": {"query", "cluster", "tags", "type", "path_prefix", "exclude"},
    "get_briefing": {"pins", "clusters", "prompt"},
    "read_pages": {"heading", "format"},
    "list_stale_citations": {"verify"},
}
"""The arguments that the two texts name, by the tool they name them with."""

NO_NAMES = {"wikimcp", "slug @ version"}
"""What stands in code besides names of the contract: the server, and the form of a citation."""


def _words(schema: Any) -> Iterator[str]:
    """Every property and every choice in a JSON schema."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        yield from (value for value in schema.get("enum", []) if isinstance(value, str))
        for value in schema.values():
            yield from _words(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _words(value)


def _known() -> set[str]:
    words = set(TOOLS) | NO_NAMES
    for tool in map(load, TOOLS):
        words |= set(_words(input_schema(tool))) | set(_words(output_schema(tool)))
    words |= {field.alias or name for name, field in IndexStamp.model_fields.items()}
    words |= set(_words(IndexStamp.model_json_schema()))
    return words


def _code(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", text))


def test_the_frontmatter_keeps_the_limits_of_skills() -> None:
    _, head, body = TEXT.split("---\n", 2)
    front = yaml.safe_load(head)
    assert front["name"] == SKILL == (ROOT / "skills" / SKILL / "SKILL.md").parent.name
    assert re.fullmatch(r"[a-z0-9-]{1,64}", front["name"])
    assert 100 < len(front["description"]) < 1_024
    assert not re.search(r"[<>]", front["description"])
    assert 20 < len(body.splitlines()) < 500


@pytest.mark.parametrize("text", [TEXT, STANDING], ids=["skill", "standing instructions"])
def test_every_name_in_code_is_in_the_contract(text: str) -> None:
    known = _known()
    unknown = set()
    for word in _code(text):
        parts = word.split(".") if re.fullmatch(r"[A-Za-z_.]+", word) else [word]
        if not set(parts) <= known and word not in known:
            unknown.add(word)
    assert unknown == set()


def test_the_check_sees_a_name_that_is_not_there() -> None:
    assert not {"assemble_bundel", "topSimilarty"} & _known()
    assert {"assemble_bundle", "missingTerms", "handle", "building", "strong"} <= _known()


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_argument_belongs_to_the_tool_it_is_named_with(name: str) -> None:
    assert set(input_schema(load(name))["properties"]) >= ARGUMENTS[name]


def test_the_skill_says_what_it_has_to() -> None:
    code, folded = _code(TEXT), " ".join(TEXT.split())
    assert {"strong", "partial", "weak", "unknown", "slug @ version", "citation.handle"} <= code
    assert {"get_briefing", "assemble_bundle", "retrieve_context", "read_pages", "sparql_query"} <= code
    order = [
        TEXT.index(f"\n{step}. `{name}`")
        for step, name in enumerate(("assemble_bundle", "retrieve_context"), 1)
    ]
    assert order == sorted(order)
    for rule in (
        "does not cover it",
        "ask the user",
        "is not grounding",
        "A new topic is a new",
        "Never make one up",
    ):
        assert rule in folded


def test_an_installed_copy_is_the_skill_and_one_comment() -> None:
    copy = SkillFile("SKILL.md").install(None, folders=2)
    assert copy.startswith(TEXT) and copy[len(TEXT) :].strip().startswith("<!-- wikimcp:skill f2 ")
    assert json.dumps(copy.replace("\n", "\r\n"))
    removed = SkillFile("SKILL.md").uninstall(copy.replace("\n", "\r\n"))
    assert removed is not None and removed.made_file, "other line ends are no edit"


def test_the_same_skill_put_there_by_hand_is_left_alone() -> None:
    part = SkillFile("SKILL.md")
    assert part.install(TEXT, folders=0) == TEXT
    assert part.uninstall(TEXT) is None and part.state(TEXT) == "by hand"


def test_an_older_copy_of_ours_is_renewed() -> None:
    part = SkillFile("SKILL.md")
    from wikimcp.clients.marks import Mark
    from wikimcp.clients.skill_file import _closed

    older = _closed("---\nname: wiki-context\n---\nOlder.\n", Mark(whole=True, folders=1))
    assert part.install(older, folders=0) == _closed(TEXT, Mark(whole=True, folders=1))
