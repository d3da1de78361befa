"""Binding of arguments: what is taken as meant, what is clamped, and what is an error."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from tests.tools.small_wiki import SmallWiki
from tests.tools.test_tool_contract import SIGNATURES, tool_of
from wikimcp.errors import BadArgument, WikimcpError
from wikimcp.tools.arguments import bind_arguments
from wikimcp.tools.contract import AnyTool, Params, Result, Tool, ToolContext
from wikimcp.tools.parameters import parameters_of
from wikimcp.tools.rendering import render_data
from wikimcp.tools.schemas import input_schema


class EveryKind(Params):
    """One parameter of each kind."""

    query: Annotated[str, Field(description="Text", max_length=4_096)]
    mode: Annotated[Literal["hybrid", "dense", "lexical"], Field(description="Mode")] = "hybrid"
    limit: Annotated[int, Field(ge=1, le=30, description="Limit")] = 12
    score: Annotated[float, Field(ge=0, le=1, description="Score")] = 0.5
    depth: Annotated[int | None, Field(ge=1, le=4, description="Depth")] = None
    strict: Annotated[bool, Field(description="Strict")] = False
    tags: Annotated[tuple[str, ...], Field(description="Tags")] = ()
    pair: Annotated[tuple[str, ...], Field(min_length=1, max_length=2, description="Pair")] = ("a",)
    properties: Annotated[dict[str, Any], Field(description="Properties")] = {}


def case_id(value: object) -> str | None:
    """Name the values that the test runner cannot print or should not."""
    if isinstance(value, int) and value.bit_length() > 64:
        return "huge"
    return "long" if isinstance(value, str) and len(value) > 60 else None


def nothing(reading: object, params: EveryKind, context: ToolContext) -> Result:
    return Result()


TOOL: Tool[EveryKind, Result] = Tool("probe", "Probe", "Nothing.", EveryKind, Result, nothing, render_data)


def bind(**arguments: object) -> tuple[EveryKind, list[str]]:
    return bind_arguments(TOOL, {"query": "x", **arguments})


def refusal(tool: AnyTool, arguments: object) -> str:
    with pytest.raises(BadArgument) as raised:
        bind_arguments(tool, arguments)
    return str(raised.value)


def test_left_out_and_null_arguments_take_their_defaults() -> None:
    params, notes = bind(mode=None, limit=None, tags=None, depth=None, properties=None)
    assert params == EveryKind(query="x")
    assert notes == []


@pytest.mark.parametrize(
    ("given_value", "meant"),
    [("5", 5), (" 5 ", 5), (5.0, 5), ("5.0", 5), ("+5", 5), ("5e0", 5), ("", 12), ("null", 12)],
)
def test_numbers_are_taken_as_meant(given_value: object, meant: int) -> None:
    params, notes = bind(limit=given_value)
    assert (params.limit, notes) == (meant, [])


@pytest.mark.parametrize(
    ("given_value", "used"),
    [
        (0, 1),
        (-1, 1),
        (31, 30),
        (10**9, 30),
        (10**5000, 30),
        ("9" * 5000, 30),
        (-(10**400), 1),
        (math.inf, 30),
        (-math.inf, 1),
        ("inf", 30),
        ("1e400", 30),
        (1e300, 30),
    ],
    ids=case_id,
)
def test_numbers_out_of_range_are_clamped_and_reported(given_value: object, used: int) -> None:
    params, notes = bind(limit=given_value)
    assert params.limit == used
    assert len(notes) == 1
    assert notes[0].startswith("limit ")
    assert notes[0].endswith(f": {used} was used")
    assert len(notes[0]) < 150


def test_fractions_are_cut_and_reported() -> None:
    params, notes = bind(limit=5.7)
    assert params.limit == 5
    assert notes == ["limit takes whole numbers: 5 was used for 5.7"]


@pytest.mark.parametrize(
    "wrong", ["abc", "5 pages", "0x10", "1_0", math.nan, "nan", True, False, [5], {"a": 1}, b"5"]
)
def test_what_is_no_number_is_refused_with_the_range_and_an_example(wrong: object) -> None:
    message = refusal(TOOL, {"query": "x", "limit": wrong})
    assert message.startswith("bad_argument: limit must be a whole number from 1 to 30, got ")
    assert message.endswith("Example: limit=12")


@pytest.mark.parametrize(
    ("given_value", "meant"),
    [(True, True), ("true", True), ("TRUE ", True), ("yes", True), (1, True), ("1", True), (1.0, True)]
    + [(False, False), ("false", False), ("No", False), (0, False), ("off", False), ("", False)],
)
def test_flags_are_taken_as_meant(given_value: object, meant: bool) -> None:
    assert bind(strict=given_value)[0].strict is meant


@pytest.mark.parametrize("wrong", ["maybe", 2, -1, [True], {"a": 1}, math.nan])
def test_what_is_no_flag_is_refused(wrong: object) -> None:
    assert "strict must be true or false, got " in refusal(TOOL, {"query": "x", "strict": wrong})


@pytest.mark.parametrize(
    ("given_value", "meant"),
    [
        ('["A"]', ("A",)),
        ('["A","B"]', ("A", "B")),
        ("A", ("A",)),
        ("[[Oak Plan]]", ("[[Oak Plan]]",)),
        ("[not json", ("[not json",)),
        (["A", "A", "B"], ("A", "B")),
        (("A",), ("A",)),
        ([2031], ("2031",)),
        (2031, ("2031",)),
        ([], ()),
        ("[]", ()),
        (["", " "], ()),
        ("a, b", ("a, b",)),
        ("[" * 100_000, ("[" * 4_096,)),
    ],
    ids=case_id,
)
def test_lists_are_taken_as_meant(given_value: object, meant: tuple[str, ...]) -> None:
    assert bind(tags=given_value)[0].tags == meant


@pytest.mark.parametrize("wrong", [{"a": 1}, [["A"]], [None], [True], [{"a": 1}], True])
def test_what_is_no_list_of_texts_is_refused(wrong: object) -> None:
    assert "tags must be a list of texts, got " in refusal(TOOL, {"query": "x", "tags": wrong})


def test_too_many_of_a_limited_list_is_an_error_that_names_the_limit() -> None:
    message = refusal(TOOL, {"query": "x", "pair": ["a", "b", "c"]})
    assert message == "bad_argument: pair takes at most 2, got 3. Call again with the rest, 2 at a time."


def test_an_unlimited_list_is_cut_with_a_note() -> None:
    params, notes = bind(tags=[str(number) for number in range(5_000)])
    assert len(params.tags) == 1_000
    assert notes == ["tags: the first 1,000 of 5,000 were used"]


@pytest.mark.parametrize("meant", ["dense", "DENSE", " Dense ", "d-ense"])
def test_choices_are_folded(meant: str) -> None:
    assert bind(mode=meant)[0].mode == "dense"


@pytest.mark.parametrize("wrong", ["densse", "x" * 10_000, "\x00", "日本"], ids=case_id)
def test_an_unknown_choice_names_what_is_allowed_and_the_nearest(wrong: str) -> None:
    message = refusal(TOOL, {"query": "x", "mode": wrong})
    assert "mode must be one of hybrid, dense, lexical, got " in message
    assert 'Nearest: mode="' in message


def test_a_choice_near_another_is_suggested() -> None:
    assert refusal(TOOL, {"query": "x", "mode": "lexicl"}).endswith('Nearest: mode="lexical"')


@pytest.mark.parametrize("wrong", [5, True, ["dense"], {}])
def test_a_choice_of_another_type_is_refused(wrong: object) -> None:
    assert "mode must be one of" in refusal(TOOL, {"query": "x", "mode": wrong})


@pytest.mark.parametrize("wrong", [["a"], {"a": 1}, True, b"x", 10**5000], ids=case_id)
def test_what_is_no_text_is_refused(wrong: object) -> None:
    assert "query must be text, got " in refusal(TOOL, {"query": wrong})


def test_a_number_may_be_a_text() -> None:
    assert bind(query=2031)[0].query == "2031"


def test_an_over_long_text_is_cut_with_a_note() -> None:
    params, notes = bind(query="x" * 20_000)
    assert params.query == "x" * 4_096
    assert notes == ["query was cut at 4,096 characters (it had 20,000)"]


@pytest.mark.parametrize(
    "text", ["\x00", "a\x00b", "\ud800", "\x1b[31m", "\u202e", "%", "_", "*", '"', "NEAR(a b"]
)
def test_any_text_is_harmless(text: str) -> None:
    params, notes = bind(query=text)
    params.query.encode()
    assert "\x00" not in params.query
    assert notes == []


def test_objects_are_taken_as_meant_too() -> None:
    assert bind(properties='{"a": "b", "n": 1}')[0].properties == {"a": "b", "n": 1}
    assert "properties must be an object" in refusal(TOOL, {"query": "x", "properties": [1]})
    assert "properties must be an object" in refusal(TOOL, {"query": "x", "properties": {"a": {"b": 1}}})
    assert "at most 100 keys" in refusal(TOOL, {"query": "x", "properties": {str(n): 1 for n in range(101)}})


@pytest.mark.parametrize("arguments", [[], "text", 5, "[1]"])
def test_arguments_that_are_no_object_are_refused(arguments: object) -> None:
    assert "arguments of probe must be an object" in refusal(TOOL, arguments)


def test_arguments_sent_as_json_text_are_read() -> None:
    params, _ = bind_arguments(TOOL, '{"query": "x", "limit": 3}')
    assert params.limit == 3


@pytest.mark.parametrize(
    ("unknown", "near"),
    [("colection", "cluster"), ("Tags", "tags"), ("modifiedAfter", "modified_after"), ("limt", "limit")],
)
def test_an_unknown_argument_is_named_with_the_nearest_right_one(unknown: str, near: str) -> None:
    message = refusal(tool_of("list_pages"), {unknown: "a"})
    assert f'has no argument "{unknown}" (nearest: {near})' in message
    assert "Its arguments: cluster, tags, type, " in message


def test_many_long_unknown_arguments_still_give_a_short_error() -> None:
    message = refusal(tool_of("list_pages"), {f"{'x' * 5_000}\n{number}": 1 for number in range(50)})
    assert "and 47 more" in message
    assert len(message) < 1_000
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "missing"), [("read_pages", "slugs"), ("get_page", "slug"), ("get_page_by_id", "id")]
)
@pytest.mark.parametrize("arguments", [None, {}, {"include_drafts": True}])
def test_a_missing_argument_is_named_with_an_example(name: str, missing: str, arguments: object) -> None:
    message = refusal(tool_of(name), arguments)
    assert message.startswith(f"bad_argument: {name} needs {missing}. Example: {missing}=")


@pytest.mark.parametrize(("name", "blank"), [("get_page", "slug"), ("get_page_by_id", "id")])
def test_a_blank_name_is_an_error(name: str, blank: str) -> None:
    assert f"{blank} is empty" in refusal(tool_of(name), {blank: "  "})


def test_no_slugs_at_all_is_an_error() -> None:
    assert "slugs needs at least 1" in refusal(tool_of("read_pages"), {"slugs": []})


def test_more_than_twenty_slugs_is_an_error_that_says_so() -> None:
    message = refusal(tool_of("read_pages"), {"slugs": [f"p{number}" for number in range(21)]})
    assert "slugs takes at most 20, got 21" in message


ODD: list[object] = [
    *(None, True, 0, -1, 10**9, 10**5000, 1.5, math.nan, math.inf, "", " ", "2", "x", "\x00", "\ud800"),
    *(
        "../outside.md",
        "%2e%2e%2foutside.md",
        "/etc/passwd",
        "C:\\x.md",
        "n.md\x00.txt",
        "file:///etc/passwd",
    ),
    *(
        "x" * 30_000,
        "[" * 5_000,
        "[]",
        "{}",
        [],
        [None],
        [[]],
        {},
        {"a": {"b": []}},
        ["a"] * 50,
        b"x",
        object(),
    ),
]
PARAMETERS = [(name, parameter) for name, parameters in SIGNATURES.items() for parameter in parameters]
NEEDED: dict[str, dict[str, object]] = {
    "read_pages": {"slugs": ["backup"]},
    "get_page": {"slug": "backup"},
    "get_page_by_id": {"id": "01TESTTESTTESTTEST00000001"},
}


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> SmallWiki:
    wiki = SmallWiki(tmp_path_factory.mktemp("vault"))
    wiki.add("ops/backup.md", "# Backup\n\nText.\n", tags=("ops",), clusters=("ops",), frontmatter={"a": 1})
    return wiki


def safe_call(wiki: SmallWiki, name: str, arguments: dict[str, object]) -> str:
    """Call a tool; return its answer or error text, which must be fit to send."""
    try:
        text = wiki.call(name, arguments).text
    except WikimcpError as error:
        text = str(error)
        assert len(text) < 1_000
        assert "\n" not in text
    text.encode()
    assert str(wiki.root) not in text
    assert "Traceback" not in text
    assert "pydantic" not in text
    return text


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_no_value_of_any_parameter_breaks_a_tool(wiki: SmallWiki, name: str, parameter: str) -> None:
    for value in ODD:
        assert safe_call(wiki, name, {**NEEDED.get(name, {}), parameter: value})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=200, deadline=None)
@given(choice=st.sampled_from(PARAMETERS), value=json_values)
def test_no_json_value_breaks_a_tool(wiki: SmallWiki, choice: tuple[str, str], value: object) -> None:
    name, parameter = choice
    assert safe_call(wiki, name, {**NEEDED.get(name, {}), parameter: value})


@pytest.mark.parametrize("name", SIGNATURES)
def test_every_example_in_an_error_is_itself_right(name: str) -> None:
    tool = tool_of(name)
    model: type[Params] = tool.params
    examples = {parameter.name: parameter.example for parameter in parameters_of(model).values()}
    _, notes = bind_arguments(tool, {**examples, "cursor": None} if "cursor" in examples else examples)
    assert notes == []


def test_a_parameter_type_that_no_schema_can_show_is_refused_at_once(tmp_path: Path) -> None:
    class Odd(Params):
        when: complex = 0j

    with pytest.raises(TypeError, match="when"):
        parameters_of(Odd)


def test_the_schema_shows_every_kind_plainly() -> None:
    properties = input_schema(TOOL)["properties"]
    assert {name: facts["type"] for name, facts in properties.items()} == {
        "query": "string",
        "mode": "string",
        "limit": "integer",
        "score": "number",
        "depth": "integer",
        "strict": "boolean",
        "tags": "array",
        "pair": "array",
        "properties": "object",
    }
