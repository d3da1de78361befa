"""Blocks in text files: in and out again over any text, with any line ends."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from wikimcp.clients.text_blocks import TextBlock, TomlTable

BLOCK = TextBlock("CLAUDE.md", lambda _: "## Wiki\n\nUse it.")
TABLE = TomlTable("config.toml", "mcp_servers", lambda mark: {"command": 'w"x', "args": ["serve", str(mark)]})
_lines = st.lists(st.text(alphabet="ab #-é`<>!", max_size=6), max_size=6)


@given(_lines, st.sampled_from(["\n", "\r\n"]), st.booleans())
@example([" "], "\n", False)
def test_a_block_put_in_and_taken_out_leaves_every_byte(lines: list[str], newline: str, closed: bool) -> None:
    text = newline.join(lines) + (newline if closed else "")
    after = BLOCK.install(text, folders=0)
    assert after.startswith(text)
    assert BLOCK.install(after, folders=0) == after
    removed = BLOCK.uninstall(after)
    assert removed is not None and removed.text == text and not removed.made_file


_tables = st.lists(
    st.sampled_from(
        [
            "a = 1",
            "# note",
            "",
            'b = """\nx\n"""  # keep',
            "[t]\nc = [1,\n  2, # two\n]",
            "[[many]]\nd = 'x'",
            "[mcp_servers.db]\ncommand = 'db'",
            "mcp_servers.flat.command = 'y'",
            "[mcp_servers]\n# none yet",
        ]
    ),
    max_size=5,
    unique=True,
)


@given(_tables, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_table_put_in_and_taken_out_leaves_every_byte(lines: list[str], newline: str, closed: bool) -> None:
    import tomllib

    text = "\n".join(lines).replace("\n", newline) + (newline if closed else "")
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    after = TABLE.install(text, folders=0)
    assert after.startswith(text)
    assert TABLE.install(after, folders=0) == after
    tree = tomllib.loads(after)
    assert tree["mcp_servers"].pop("wikimcp")["command"] == 'w"x'
    assert tree == {**before, "mcp_servers": before.get("mcp_servers", {})}
    removed = TABLE.uninstall(after)
    assert removed is not None and removed.text == text
