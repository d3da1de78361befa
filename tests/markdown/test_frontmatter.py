"""Frontmatter: where the block is, what its values become, what is read of a broken one."""

from __future__ import annotations

import pytest

from wikimcp.markdown.frontmatter import Frontmatter, parse_frontmatter
from wikimcp.markdown.yaml_values import MAX_NODES, YamlFault, load_yaml, plain_value


def front(block: str) -> Frontmatter:
    return parse_frontmatter(f"---\n{block}\n---\nBody\n")


def codes(found: Frontmatter) -> list[str]:
    return [note.code for note in found.diagnostics]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("~", None),
        ("", None),
        ("true", True),
        ("FALSE", False),
        ("5", 5),
        ("-3", -3),
        ("0.8", 0.8),
        ("yes", "yes"),
        ("NO", "NO"),
        ("1.10", "1.10"),
        ("007", "007"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("1e3", "1e3"),
        ("-0", "-0"),
        (".nan", ".nan"),
        ("12:30", "12:30"),
        ("12345678901234567890", "12345678901234567890"),
        ("2031-02-03", "2031-02-03"),
        ("2031-2-3", "2031-2-3"),
        ("2031-02-03 04:05:06", "2031-02-03T04:05:06"),
        ("2031-02-03 04:05", "2031-02-03T04:05"),
        ("2031-02-03t04:05:06.7 +02:00", "2031-02-03T04:05:06.7+02:00"),
        ("2031-02-03T04:05:06Z", "2031-02-03T04:05:06Z"),
        ("~/notes", "~/notes"),
    ],
)
def test_an_unquoted_scalar_is_a_value_only_where_nothing_is_lost(text: str, value: object) -> None:
    found = plain_value(text)
    assert found == value
    assert type(found) is type(value)


def test_quoted_scalars_and_block_scalars_are_text() -> None:
    data = front(
        "a: '5'\nb: \"true\"\nc: |\n  one\n  two\nd: >\n  one\n  two\ne: ! 5\nf: !!str 5\ng: !!int 5"
    ).data
    assert data == {"a": "5", "b": "true", "c": "one\ntwo\n", "d": "one two\n", "e": "5", "f": "5", "g": 5}


def test_titles_and_names_stay_text() -> None:
    assert front("title: 2031\naliases: [1, 2]\nid: 42\ncount: 42").data == {
        "title": "2031",
        "aliases": ["1", "2"],
        "id": "42",
        "count": 42,
    }


def test_matrices_and_templates_are_told_from_wikilinks() -> None:
    data = front("a: [[1, 2]]\nb: [[2031]]\nc: [[a], [b]]\nd: {{date}}\ne: [[Smith, John]]\nf: [[A|b]]").data
    assert data == {
        "a": [[1, 2]],
        "b": "[[2031]]",
        "c": [["a"], ["b"]],
        "d": "{{date}}",
        "e": "[[Smith, John]]",
        "f": "[[A|b]]",
    }


def test_aliases_and_merges_are_resolved() -> None:
    assert front("base: &b {x: 1, y: 2}\nmine:\n  <<: *b\n  y: 3\nagain: *b").data == {
        "base": {"x": 1, "y": 2},
        "mine": {"x": 1, "y": 3},
        "again": {"x": 1, "y": 2},
    }


def test_positions_point_at_the_keys() -> None:
    text = "\ufeff---\r\né: 1\r\nb: 2\r\n---\r\n"
    found = parse_frontmatter(text)
    assert {key: text[place] for key, place in found.positions.items()} == {"é": "é", "b": "b"}


@pytest.mark.parametrize(
    "text", ["---\n---\nBody\n", "---\n# only a comment\n---\nBody\n", "---\n\n---\nBody\n"]
)
def test_an_empty_block_is_a_block(text: str) -> None:
    found = parse_frontmatter(text)
    assert found.data == {}
    assert text[found.body_start :] == "Body\n"
    assert found.diagnostics == ()


@pytest.mark.parametrize(
    "text", ["", "---", "---\n", "--- x\n---\n", "----\na: 1\n----\n", "\n---\na: 1\n---\n"]
)
def test_what_does_not_open_and_close_on_fences_is_body(text: str) -> None:
    found = parse_frontmatter(text)
    assert (found.data, found.body_start) == ({}, 0)


@pytest.mark.parametrize(
    ("block", "data"),
    [
        ("title: a: b\ntags:\n  - x\n  - y: z: w", {"title": "a: b", "tags": ["x", "y: z: w"]}),
        ("title: a: b\nsummary: one\n  two", {"title": "a: b", "summary": "one two"}),
        ("title: 'open\nkind: note", {"title": "open", "kind": "note"}),
        ("@bad: x\nkind: note", {"@bad": "x", "kind": "note"}),
        ("kind: note\njunk\nmore: 1\nlast: 2", {"kind": "note", "more": 1, "last": 2}),
        ("kind: %x\nlist:\n- a\n- b", {"kind": "%x", "list": ["a", "b"]}),
    ],
)
def test_entries_that_stand_alone_survive_a_broken_block(block: str, data: dict[str, object]) -> None:
    found = front(block)
    assert found.data == data
    assert codes(found) == ["frontmatter_invalid"]


def test_prose_between_two_rules_is_no_block_even_if_it_is_no_yaml() -> None:
    text = "---\nSome prose: with: colons\nand a second line\nand a third\n---\nRest\n"
    assert parse_frontmatter(text).body_start == 0


def test_a_second_block_adds_what_is_missing() -> None:
    found = parse_frontmatter("---\ntitle: A\n---\n---\ntitle: B\ntags: x\n---\nBody\n")
    assert found.data == {"title": "A", "tags": "x"}
    assert codes(found) == ["frontmatter_second_block"]


def test_a_rule_after_the_block_is_no_second_block() -> None:
    text = "---\ntitle: A\n---\n\n---\n\nText\n\n---\n"
    assert text[parse_frontmatter(text).body_start :].startswith("\n---")


def test_a_file_cut_inside_of_its_block_is_withheld() -> None:
    assert parse_frontmatter("---\ntitle: A\nsummary: cut", partial=True).flags
    assert not parse_frontmatter("---\ntitle: A\nsummary: cut").flags
    assert not parse_frontmatter("---\n\nProse that was cut", partial=True).flags


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [*x]",
        "a: *nowhere",
        "a: !!set {x}",
        "a: !mine x",
        "a: !!binary aGk=",
        "a: \x01",
        'a: "\\ud800"',
        "a: [x",
    ],
)
def test_what_is_no_safe_yaml_is_a_fault_with_a_place(text: str) -> None:
    with pytest.raises(YamlFault) as caught:
        load_yaml(text)
    assert caught.value.reason
    assert 0 <= caught.value.index <= len(text)


def test_limits_are_exact() -> None:
    assert len(load_yaml("[" + "x," * (MAX_NODES - 1) + "]").root) == MAX_NODES - 1
    with pytest.raises(YamlFault, match="10,000"):
        load_yaml("[" + "x," * MAX_NODES + "]")
    load_yaml("[" * 50 + "]" * 50)
    with pytest.raises(YamlFault, match="50 levels"):
        load_yaml("[" * 51 + "]" * 51)
    load_yaml("a: &a 1\nb: [" + "*a," * 50 + "]")
    with pytest.raises(YamlFault, match="50 aliases"):
        load_yaml("a: &a 1\nb: [" + "*a," * 51 + "]")
    with pytest.raises(YamlFault, match="256 KiB"):
        load_yaml("x" * (256 * 1024 + 1))
