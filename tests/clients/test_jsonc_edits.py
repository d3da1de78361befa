"""Edits on the text of JSON files: what is put in comes out again, to the byte, and nothing else moves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wikimcp.clients.jsonc import BrokenText, parse
from wikimcp.clients.marks import Mark
from wikimcp.clients.parts import InstallRefused, JsonEntry, Removed
from wikimcp.clients.wiring import Wiring, server_entry

WIRING = Wiring(command=("/opt/bin/wikimcp",), vault="/home/ana/notes")
SERVER = server_entry(".mcp.json", "mcpServers", WIRING)
HOOK = JsonEntry(
    ".claude/settings.json",
    ("hooks", "UserPromptSubmit"),
    lambda mark: {"hooks": [WIRING.hook("claude-code", mark)]},
    item=True,
)
AGAIN = JsonEntry(
    ".claude/settings.json",
    ("hooks", "SessionStart"),
    lambda mark: {"matcher": "compact|clear", "hooks": [WIRING.hook("claude-code", mark)]},
    item=True,
)

_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=8),
    st.sampled_from(["a//b", "/*", '"', "\\", "é"]),
)
_names = st.sampled_from(["mcpServers", "hooks", "UserPromptSubmit", "other", "a b", "//", "x"])


@st.composite
def blanks(draw: st.DrawFn, newline: str) -> str:
    """Blanks and comments as people leave them, line comments closed by a line end."""
    pieces = [" ", "  ", "\t", newline, f"{newline}  ", f"{newline}\t", "/* c */", f"// note{newline}", ""]
    return "".join(draw(st.lists(st.sampled_from(pieces), max_size=3)))


@st.composite
def written(draw: st.DrawFn, value: Any, newline: str) -> str:
    """One of the many ways to write a value down."""

    def gap() -> str:
        return draw(blanks(newline))

    if isinstance(value, dict):
        rows = [
            f"{gap()}{json.dumps(key)}{gap()}:{gap()}{draw(written(item, newline))}{gap()}"
            for key, item in value.items()
        ]
        brackets = "{}"
    elif isinstance(value, list):
        rows = [f"{gap()}{draw(written(item, newline))}{gap()}" for item in value]
        brackets = "[]"
    else:
        return json.dumps(value, ensure_ascii=draw(st.sampled_from([True, False])))
    trailing = f",{gap()}" if rows and draw(st.sampled_from([True, False])) else ""
    return f"{brackets[0]}{','.join(rows) or gap()}{trailing}{brackets[1]}"


_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=8,
)
_roots = st.fixed_dictionaries(
    {},
    optional={
        "mcpServers": st.dictionaries(_names, _values, max_size=2),
        "hooks": st.dictionaries(
            st.sampled_from(["UserPromptSubmit", "SessionStart", "Stop"]),
            st.lists(_values, max_size=2),
            max_size=2,
        ),
        "x": _values,
        "last": _values,
    },
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    root = draw(_roots)
    if draw(st.booleans()):
        indent = draw(st.sampled_from(["  ", "    ", "\t", None]))
        text = json.dumps(root, indent=indent, ensure_ascii=False).replace("\n", newline)
    else:
        text = draw(written(root, newline))
    return draw(blanks(newline)) + text + draw(blanks(newline))


def _there_and_back(part: JsonEntry, text: str) -> str:
    after = part.install(text, folders=0)
    assert part.install(after, folders=0) == after, "a second time changes nothing"
    root, wanted = parse(after), parse(text)
    assert root is not None and part.state(after) == "installed"
    removed = part.uninstall(after)
    assert isinstance(removed, Removed)
    assert removed.text == text
    before = {} if wanted is None else wanted.plain
    for key, value in before.items():
        if key != part.keys[0]:
            assert root.plain[key] == value
    return after


@settings(max_examples=400, deadline=None)
@given(documents())
def test_a_server_put_in_and_taken_out_leaves_every_byte(text: str) -> None:
    _there_and_back(SERVER, text)


@settings(max_examples=400, deadline=None)
@given(documents())
def test_two_hooks_put_in_and_taken_out_in_turn_leave_every_byte(text: str) -> None:
    one = _there_and_back(HOOK, text)
    two = _there_and_back(AGAIN, one)
    back = AGAIN.uninstall(two)
    assert back is not None and back.text == one


@settings(max_examples=150, deadline=None)
@given(documents())
def test_other_options_change_the_entry_in_place_and_the_way_back_stays(text: str) -> None:
    other = server_entry(".mcp.json", "mcpServers", Wiring(command=("uvx", "w"), vault="/srv/wiki"))
    after = other.install(SERVER.install(text, folders=0), folders=0)
    root = parse(after)
    assert root is not None and root.plain["mcpServers"]["wikimcp"]["args"][:3] == ["w", "serve", "/srv/wiki"]
    removed = SERVER.uninstall(after)
    assert removed is not None and removed.text == text


PRETTY = """{
  // servers of the team
  "mcpServers": {
    "db": {"command": "db-mcp"} // keep
  },
}
"""


def test_an_entry_takes_the_style_of_its_neighbours() -> None:
    assert SERVER.install(PRETTY, folders=0) == PRETTY.replace(
        '"db-mcp"} // keep\n',
        '"db-mcp"}, // keep\n'
        '    "wikimcp": {\n'
        '      "command": "/opt/bin/wikimcp",\n'
        '      "args": ["serve", "/home/ana/notes", "--installed", "1"]\n'
        "    }\n",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"mcpServers": {}}', '{"mcpServers": {"wikimcp": {'),
        ('{"a": 1}', '{"a": 1, "mcpServers": {"wikimcp": {'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"wikimcp": {\n\t\t\t"command"'),
        ('{\r\n    "a": [],\r\n}', '{\r\n    "a": [],\r\n    "mcpServers": {\r\n        "wikimcp": {\r\n'),
        ("{}", '{\n  "mcpServers": {\n    "wikimcp": {'),
        ('{\n  "mcpServers": {}\n}', '{\n  "mcpServers": {\n    "wikimcp": {\n      "command"'),
    ],
)
def test_the_layout_follows_the_file(text: str, expected: str) -> None:
    assert _there_and_back(SERVER, text).startswith(expected)


@pytest.mark.parametrize("text", ["", "\n", "  \r\n", "// nothing yet\n", "/* x */"])
def test_a_blank_file_gets_a_document_and_is_blank_again(text: str) -> None:
    _there_and_back(SERVER, text)


def test_what_was_put_into_our_containers_stays_when_we_go() -> None:
    after = SERVER.install(None, folders=0)
    mixed = after.replace('    "wikimcp"', '    "mine": {"command": "x"},\n    "wikimcp"')
    removed = SERVER.uninstall(mixed)
    assert removed is not None and not removed.made_file
    assert json.loads(removed.text) == {"mcpServers": {"mine": {"command": "x"}}}
    behind = after.replace('"f0"]\n    }', '"f0"]\n    },\n    "mine": {"command": "x"}')
    removed = SERVER.uninstall(behind)
    assert removed is not None and not removed.made_file
    assert json.loads(removed.text) == {"mcpServers": {"mine": {"command": "x"}}}


def test_a_file_that_we_made_is_to_go_again() -> None:
    removed = SERVER.uninstall(SERVER.install(None, folders=2))
    assert removed == Removed("\n", made_file=True, folders=2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3 is broken: a comma or } is expected"),
        ('{\n  "a": tru\n}', "line 2 is broken: a value is expected, not 'tru'"),
        ('{"a": 1', "line 1 is broken: a bracket is not closed"),
        ('{\n\n"a": "x\ny"}', "line 3 is broken: a value is expected"),
        ("{} x", "line 1 is broken: something stands after the end"),
        ("{/* x", "line 1 is broken: a comment that is not closed"),
        ("{'a': 1}", "line 1 is broken: a key in double quotes is expected"),
        ('{"a" 1}', "line 1 is broken: a colon is expected"),
        ('{"a": "\\q"}', "line 1 is broken: a text with an unknown escape"),
        ("[" * 5000, "line 1 is broken: more than 200 levels"),
        ('{"mcpServers":', "line 1 is broken: the text ends in the middle"),
        ("[]", "line 1: the file is not an object"),
        ('{\n"mcpServers": []}', "line 2: 'mcpServers' is not an object"),
        ('{"mcpServers": {},\n"mcpServers": {}}', "line 2: 'mcpServers' is there a second time"),
        ('{"mcpServers": {\n"wikimcp": {"command": "wikimcp"}}}', "line 2 has an entry 'wikimcp'"),
    ],
)
def test_what_cannot_be_edited_is_refused_with_its_line(text: str, expected: str) -> None:
    with pytest.raises(InstallRefused) as refused:
        SERVER.install(text, folders=0)
    assert expected in str(refused.value)
    assert "Nothing was written." in str(refused.value)


def test_an_entry_made_by_hand_is_never_taken_out() -> None:
    text = '{"mcpServers": {"wikimcp": {"command": "wikimcp", "args": ["serve", "docs"]}}}'
    assert SERVER.uninstall(text) is None
    assert SERVER.state(text) == "by hand"


@given(st.text(alphabet='{}[]",:/*\n 1tn\\', max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        root = parse(text)
    except BrokenText as error:
        assert 1 <= error.line <= text.count("\n") + 1
    else:
        assert root is None or text[root.start : root.end].strip()


@given(_values)
def test_plain_json_is_read_as_python_reads_it(value: Any) -> None:
    root = parse(json.dumps(value))
    assert root is not None and root.plain == value


@pytest.mark.parametrize(
    "mark", [Mark(), Mark(levels=3, opened=True), Mark(whole=True), Mark(whole=True, folders=2)]
)
def test_a_mark_reads_as_it_was_written(mark: Mark) -> None:
    assert Mark.read(str(mark)) == mark


@pytest.mark.parametrize("code", ["", "x", "1x", "e", "-1", "f"])
def test_anything_else_is_no_mark(code: str) -> None:
    assert Mark.read(code) is None
