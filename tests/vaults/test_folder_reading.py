"""Detection, walking, ignore rules, safe reading and decoding of a vault's files."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest

from wikimcp.errors import SettingsError, VaultError
from wikimcp.models import FileStamp
from wikimcp.vaults.decoding import decode
from wikimcp.vaults.detect import detect
from wikimcp.vaults.folder import FolderAdapter
from wikimcp.vaults.globs import compile_globs
from wikimcp.vaults.options import VaultOptions


def put(folder: Path, name: str, text: str | bytes = "text\n") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return file


def paths(adapter: FolderAdapter) -> list[str]:
    return [stamp.path for stamp in adapter.scan().files]


# Detection


def test_a_folder_with_obsidian_settings_and_a_page_is_an_obsidian_vault(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    assert detect(tmp_path).name == "generic"  # the signal alone, without a page, falls through
    put(tmp_path, "deep/down/n.md")
    assert detect(tmp_path).name == "obsidian"


def test_an_empty_folder_is_a_vault_without_pages(tmp_path: Path) -> None:
    adapter = detect(tmp_path)
    assert (adapter.name, adapter.scan().files) == ("generic", ())


def test_the_adapter_can_be_named(tmp_path: Path) -> None:
    assert detect(tmp_path, VaultOptions(adapter="Obsidian")).name == "obsidian"
    with pytest.raises(SettingsError, match="Did you mean 'obsidian'"):
        detect(tmp_path, VaultOptions(adapter="obsidain"))


@pytest.mark.parametrize("kind", ["missing", "file", "dangling"])
def test_a_root_that_is_no_folder_is_a_clear_error(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "notes"
    if kind == "file":
        root.write_text("x", "utf-8")
    elif kind == "dangling":
        root.symlink_to(tmp_path / "nowhere")
    with pytest.raises(VaultError) as caught:
        detect(root)
    assert "'notes'" in caught.value.message
    assert caught.value.hint
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user whom rights can stop")
def test_an_unreadable_root_is_a_clear_error(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir(mode=0o000)
    try:
        with pytest.raises(VaultError, match="cannot be read"):
            detect(root)
    finally:
        root.chmod(0o700)


def test_a_root_that_goes_away_is_an_error_of_the_next_walk(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    put(root, "a.md")
    adapter = detect(root)
    assert paths(adapter) == ["a.md"]
    root.rename(tmp_path / "moved")
    with pytest.raises(VaultError):
        adapter.scan()
    with pytest.raises(FileNotFoundError):
        adapter.read("a.md")
    assert adapter.stat("a.md") is None


def test_adapters_survive_pickling(tmp_path: Path) -> None:
    put(tmp_path, ".obsidian/app.json", '{"userIgnoreFilters": ["out/"]}')
    put(tmp_path, "a.md", "# A\n")
    put(tmp_path, "out/b.md")
    adapter = detect(tmp_path, VaultOptions(private=("a.md",)))
    assert paths(adapter) == ["a.md"]
    copy = pickle.loads(pickle.dumps(adapter))
    assert paths(copy) == ["a.md"]
    assert copy.parse(copy.read("a.md")) == adapter.parse(adapter.read("a.md"))


# Walking


def test_pages_are_told_by_suffix_and_other_files_are_attachments(tmp_path: Path) -> None:
    for name in ["a.md", "B.MD", "c.markdown", "d/e.md", "map.png", "d/x.pdf", "note.mdx", "md", "t.txt"]:
        put(tmp_path, name)
    scan = detect(tmp_path).scan()
    assert [stamp.path for stamp in scan.files] == ["B.MD", "a.md", "c.markdown", "d/e.md"]
    assert scan.attachments == {"map.png", "d/x.pdf", "note.mdx", "md", "t.txt"}
    assert (scan.unread, scan.diagnostics) == ((), ())


def test_a_stamp_is_that_of_the_file(tmp_path: Path) -> None:
    file = put(tmp_path, "a.md", "12345")
    status = file.stat()
    expected = FileStamp("a.md", status.st_mtime_ns, 5, status.st_ino)
    adapter = detect(tmp_path)
    assert adapter.scan().files == (expected,)
    assert adapter.stat("a.md") == expected
    assert adapter.read("a.md").stamp == expected


@pytest.mark.parametrize(
    "name",
    [
        ".hidden/a.md",
        ".a.md",
        "x/node_modules/a.md",
        "__pycache__/a.md",
        "dist/a.md",
        "x/build/a.md",
        "venv/a.md",
        "lib/site-packages/a.md",
    ],
)
def test_ignored_folders_are_ignored_at_every_level(tmp_path: Path, name: str) -> None:
    put(tmp_path, name)
    adapter = detect(tmp_path)
    assert adapter.scan().files == ()
    assert adapter.stat(name) is None


@pytest.mark.parametrize("name", ["building/a.md", "build.md", "my build/a.md", "dist.d/a.md", "Build/a.md"])
def test_names_that_only_resemble_ignored_ones_are_served(tmp_path: Path, name: str) -> None:
    put(tmp_path, name)
    adapter = detect(tmp_path)
    assert paths(adapter) == [name]
    assert adapter.stat(name) is not None


@pytest.mark.parametrize(
    ("glob", "hit", "missed"),
    [
        ("private/", "private/a.md", "not private/a.md"),
        ("private", "x/private/a.md", "x/privateer.md"),
        ("/private", "private/a.md", "x/private/a.md"),
        ("x/y", "x/y/a.md", "z/x/y/a.md"),
        ("*.tmp.md", "x/a.tmp.md", "x/a.tmp.md.md"),
        ("drafts/**", "drafts/x/a.md", "x/drafts/a.md"),
        ("**/old/*.md", "x/y/old/a.md", "x/y/older/a.md"),
        ("a?c.md", "abc.md", "a/c.md"),
        ("[ab].md", "x/a.md", "x/c.md"),
        ("[!ab].md", "x/c.md", "x/a.md"),
        ("./x/*/z.md", "x/y/z.md", "x/y/y/z.md"),
        ("a+b (c).md", "a+b (c).md", "aab c.md"),
        ("x\\y", "x/y/a.md", "xy/a.md"),
    ],
)
def test_globs_match_as_in_gitignore(glob: str, hit: str, missed: str) -> None:
    pattern = compile_globs([glob])
    assert pattern is not None
    assert pattern.match(hit)
    assert not pattern.match(missed)


def test_no_globs_are_no_pattern() -> None:
    assert compile_globs(["", " ", "# comment", "/"]) is None


def test_obsidian_excludes_by_prefix_and_by_regular_expression(tmp_path: Path) -> None:
    filters = ["Templates/", "/\\.excalidraw\\.md$/", "/^(?<year>7)/", 8, ""]
    put(tmp_path, ".obsidian/app.json", "\ufeff" + json.dumps({"userIgnoreFilters": filters}))
    for name in ["templates/t.md", "a.excalidraw.md", "a.md", "x/Templates/u.md", "70.md", "8.md"]:
        put(tmp_path, name)
    scan = detect(tmp_path).scan()
    assert [stamp.path for stamp in scan.files] == ["a.md", "x/Templates/u.md"]
    assert scan.diagnostics == ()


# Reading


def test_a_file_over_the_cap_is_read_in_part(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "# A\n\n" + "line é\n" * 1_000)
    adapter = detect(tmp_path, VaultOptions(file_cap_bytes=2_000))
    content = adapter.read("a.md")
    assert content.partial
    assert content.text.endswith("line é\n")
    assert len(content.text.encode("utf-8")) <= 2_000
    assert [note.code for note in content.diagnostics] == ["file_too_large"]
    assert content.stamp.size > 2_000
    assert adapter.parse(content).partial


@pytest.mark.parametrize("cap", range(1_024, 1_030))
def test_a_cut_never_splits_a_character(tmp_path: Path, cap: int) -> None:
    put(tmp_path, "a.md", "🦊日é" * 1_000)
    content = detect(tmp_path, VaultOptions(file_cap_bytes=cap)).read("a.md")
    assert content.encoding == "utf-8"
    assert "\ufffd" not in content.text


def test_a_file_of_exactly_the_cap_is_whole(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "x" * 2_000)
    assert not detect(tmp_path, VaultOptions(file_cap_bytes=2_000)).read("a.md").partial


def test_reading_tells_gone_from_refused(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    (tmp_path / "dir.md").mkdir()
    adapter = detect(tmp_path)
    for name in ["gone.md", "dir.md", "a.md/b.md", "a.txt"]:
        with pytest.raises(FileNotFoundError) as caught:
            adapter.read(name)
        assert str(tmp_path) not in str(caught.value)
        assert adapter.stat(name) is None


# Decoding


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        ("é".encode(), "é", "utf-8"),
        (b"\xef\xbb\xbfa", "\ufeffa", "utf-8"),
        ("\ufeffé".encode("utf-16-be"), "\ufeffé", "utf-16-be"),
        ("\ufeffé".encode("utf-32-le"), "\ufeffé", "utf-32-le"),
        (b"caf\xe9", "café", "cp1252"),
        (b"It\x92s 5\x80 \x96 fine", "It’s 5€ – fine", "cp1252"),
        (
            b"d\xe9j\xe0 \xe9t\xe9 gar\xe7on No\xebl na\xefve t\xeate \x81",
            "déjà été garçon Noël naïve tête \x81",
            "latin-1",
        ),
        (b"plain text with one \xff byte", "plain text with one \ufffd byte", "utf-8"),
        ("gut: ä ö".encode() + b" \xe4", "gut: ä ö \ufffd", "utf-8"),
        ("quoted \ufffd".encode(), "quoted \ufffd", "utf-8"),
        (b"one \x00 nul", "one \x00 nul", "utf-8"),
    ],
)
def test_text_is_decoded_as_what_it_is(data: bytes, text: str, encoding: str) -> None:
    found = decode(data)
    assert (found.text, found.encoding) == (text, encoding)
    try:
        data.decode(encoding if encoding.startswith("utf") else "utf-8")
        assert found.diagnostics == ()
    except UnicodeDecodeError:
        assert len(found.diagnostics) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n",
        b"%PDF-1.7\n",
        b"PK\x03\x04rest",
        b"\x00\x01\x02\x03" * 9,
        bytes(range(256)),
        b"\xff\xd8\xff\xe0",
    ],
)
def test_what_is_no_text_is_binary(data: bytes) -> None:
    found = decode(data)
    assert (found.text, found.encoding) == ("", "binary")
    assert found.diagnostics[0].message
