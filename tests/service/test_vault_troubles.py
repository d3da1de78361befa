"""Odd files, and a vault that is empty, missing, unreadable or gone for a while."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.index.live_wiki import LiveWiki, until
from wikimcp.app import build_service
from wikimcp.errors import Unavailable, VaultError, WikimcpError
from wikimcp.models import Caller
from wikimcp.ports import FileContent, VaultAdapter
from wikimcp.settings import load_settings

CALLER, OPERATOR = Caller(), Caller(operator=True)


@pytest.fixture(params=[True, False], ids=["watched", "walked"])
def wiki(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveWiki]:
    live = LiveWiki(tmp_path, watch=request.param)
    live.write("lamp.md", "# Lamp\n\nThe lamp is trimmed at dusk.\n")
    live.write("deep/mill.md", "# Mill\n\nThe mill grinds barley. See [[lamp]].\n")
    live.write("deep/pump.md", "# Pump\n\nThe pump.\n")
    yield live
    live.stop()


def skipped(wiki: LiveWiki) -> dict[str, str]:
    return {entry["path"]: entry["code"] for entry in wiki.service.status(OPERATOR)["skipped"]}


def said(wiki: LiveWiki, tool: str, **arguments: object) -> str:
    try:
        return str(wiki.call(tool, **arguments))
    except WikimcpError as error:
        return str(error)


def test_what_is_no_page_is_skipped_named_and_hides_nothing_else(wiki: LiveWiki, tmp_path: Path) -> None:
    (wiki.vault / "folder.md").mkdir()
    wiki.write("folder.md/inner.md", "# Inner\n\nA kestrel.\n")
    (wiki.vault / "picture.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4)
    (wiki.vault / "nowhere.md").symlink_to("not-there.md")
    (tmp_path / "outside.md").write_text("# Outside\n\nosprey\n")
    (wiki.vault / "leak.md").symlink_to(tmp_path / "outside.md")
    if sys.platform != "win32":
        os.mkfifo(wiki.vault / "pipe.md")
    assert wiki.found("kestrel") == ["folder.md/inner"]
    assert wiki.found("osprey") == []
    assert wiki.slugs() == ["deep/mill", "deep/pump", "folder.md/inner", "lamp"]
    found = skipped(wiki)
    assert found.keys() >= {"picture.md", "nowhere.md", "leak.md"}
    assert wiki.call("list_pages")["index"]["skipped"] == len(found)
    assert wiki.service.status(CALLER)["files"]["skipped"] == len(found)
    for path in found:
        assert "is not served" in said(wiki, "get_page", slug=path)
        assert "is not served" in said(wiki, "read_pages", slugs=[path.removesuffix(".md")])
    assert str(tmp_path) not in said(wiki, "get_page", slug="leak.md")
    (wiki.vault / "picture.md").write_text("# Picture\n\nNow a page of ospreys.\n")
    assert wiki.found("ospreys") == ["picture"]
    (wiki.vault / "nowhere.md").unlink()
    (wiki.vault / "leak.md").unlink()
    assert skipped(wiki).keys().isdisjoint({"picture.md", "nowhere.md", "leak.md"})


def test_a_page_that_becomes_unreadable_says_why_and_comes_back(wiki: LiveWiki) -> None:
    assert wiki.found("dusk") == ["lamp"]
    (wiki.vault / "lamp.md").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x01\x02\x03" * 30)
    assert wiki.found("dusk") == []
    assert "is in the vault but is not served" in said(wiki, "get_page", slug="lamp")
    assert wiki.call("get_page", slug="deep/mill")["outlinkCount"] == 0
    wiki.write("lamp.md", "# Lamp\n\nThe lamp is trimmed at dusk.\n")
    assert wiki.found("dusk") == ["lamp"]
    assert wiki.call("get_page", slug="deep/mill")["outlinkCount"] == 1
    assert skipped(wiki) == {}


class CountingAdapter:
    """An adapter that notes the files it opens."""

    def __init__(self, inner: VaultAdapter) -> None:
        self._inner = inner
        self.opened: list[str] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def read(self, path: str) -> FileContent:
        """Open one file."""
        self.opened.append(path)
        return self._inner.read(path)


def test_skipped_files_are_not_read_again_until_they_change(wiki: LiveWiki) -> None:
    (wiki.vault / "picture.md").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x01\x02\x03" * 30)
    wiki.slugs()
    store = wiki.service.keeper.store
    counting = CountingAdapter(store.adapter)
    store.adapter = cast(VaultAdapter, counting)
    wiki.service.keeper.scan()
    assert counting.opened == []
    (wiki.vault / "picture.md").touch()
    wiki.service.keeper.scan()
    assert set(counting.opened) == {"picture.md"}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", "Bare"),
        ("\n\n", "Bare"),
        ("---\ntitle: Only front\n---\n", "Only front"),
        ("---\ntitle: Only front\n---", "Only front"),
        ("\ufeff", "Bare"),
        ("#", "Bare"),
        ("---", "Bare"),
        ("\0" * 3, None),
        ('---\ntitle: "\\ud800 half"\ntags: ["\\udfff"]\n---\nA kestrel.\n', None),
        ('---\ntitle: "a\\u0000b"\naliases: ["\\u001f", "x\\u001fy"]\n---\nA kestrel.\n', None),
    ],
)
def test_pages_of_nearly_nothing_are_pages(wiki: LiveWiki, text: str, title: str | None) -> None:
    wiki.write("bare.md", text)
    assert wiki.found("dusk") == ["lamp"]
    if title is not None:
        assert wiki.call("get_page", slug="bare")["title"].casefold() == title.casefold()
        assert wiki.call("read_pages", slugs=["bare"])["pages"][0]["content"] == text
    wiki.write("lamp.md", "# Lamp\n\nNow at noon.\n")
    assert wiki.found("noon") == ["lamp"]
    wiki.stop()
    assert wiki.found("noon") == ["lamp"]


def test_a_huge_page_is_searched_in_its_first_part_and_says_so(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False, file_cap_bytes=200_000)
    wiki.write(
        "huge.md",
        "# Huge\n\nA kestrel at the start.\n\n" + "filler words here\n\n" * 20_000 + "osprey at the end\n",
    )
    wiki.write("lamp.md", "# Lamp\n\nA lamp.\n")
    try:
        assert wiki.found("kestrel") == ["huge"]
        assert wiki.found("osprey") == []
        assert wiki.call("get_page", slug="huge")["diagnostics"]
        assert wiki.service.status(CALLER)["files"] == {"indexed": 2, "partial": 1, "skipped": 0}
        wiki.write("huge.md", "# Huge\n\nSmall now, an osprey.\n")
        assert wiki.found("osprey") == ["huge"]
    finally:
        wiki.stop()


@pytest.mark.parametrize("emptied", ["moved away", "replaced by an empty folder", "emptied in place"])
def test_a_vault_that_vanishes_is_kept_and_comes_back_by_itself(wiki: LiveWiki, emptied: str) -> None:
    assert len(wiki.slugs()) == 3
    away = wiki.vault.with_name("away")
    if emptied == "emptied in place":
        away.mkdir()
        for item in list(wiki.vault.iterdir()):
            shutil.move(item, away / item.name)
    else:
        wiki.vault.rename(away)
        if emptied == "replaced by an empty folder":
            wiki.vault.mkdir()
    answer = wiki.call("list_pages")
    assert answer["total"] == 3
    assert answer["index"]["state"] == "degraded"
    assert any("kept" in note for note in answer["notes"])
    with pytest.raises(Unavailable, match="vault|pages"):
        wiki.call("assemble_bundle", query="lamp trimmed at dusk")
    assert wiki.service.status(CALLER)["files"]["indexed"] == 3
    if emptied == "emptied in place":
        for item in list(away.iterdir()):
            shutil.move(item, wiki.vault / item.name)
    else:
        if wiki.vault.exists():
            wiki.vault.rmdir()
        away.rename(wiki.vault)
    wiki.write("new.md", "# New\n\nA kestrel.\n")
    until(lambda: said(wiki, "list_pages").count("'ready'"), "the vault is well again")
    assert wiki.found("kestrel") == ["new"]
    assert wiki.found("dusk") == ["lamp"]
    freshness = wiki.service.keeper.freshness
    assert freshness.watched == freshness._watch  # the watcher was begun anew where there was one
    wiki.write("new.md", "# New\n\nAn osprey.\n")
    assert wiki.found("osprey") == ["new"]


def test_a_vault_gone_at_the_start_is_served_from_what_is_known(wiki: LiveWiki) -> None:
    wiki.slugs()
    wiki.stop()
    shutil.rmtree(wiki.vault)
    wiki.vault.mkdir()
    answer = wiki.call("list_pages")
    assert (answer["total"], answer["index"]["state"]) == (3, "degraded")
    wiki.write("other.md", "# Other\n\nA kestrel.\n")
    until(lambda: wiki.slugs() == ["other"], "what is there now is what counts")


def test_the_only_page_of_a_vault_can_be_deleted(tmp_path: Path) -> None:
    for watch in (True, False):
        folder = tmp_path / str(watch)
        folder.mkdir()
        wiki = LiveWiki(folder, watch=watch)
        wiki.write("only.md", "# Only\n\nlanternword5 is here.\n")
        assert wiki.found("lanternword5") == ["only"]
        (wiki.vault / "only.md").unlink()
        assert "lanternword5" not in said(wiki, "assemble_bundle", query="lantern")
        assert "off" in said(wiki, "get_page", slug="only")
        wiki.stop()


def test_an_empty_vault_has_no_tools_and_says_so_until_a_page_comes(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=True)
    changes: list[int] = []
    service = wiki.service
    service.subscribe(lambda: changes.append(len(service.tools())))
    assert service.tools() == []
    assert service.off_tools()["assemble_bundle"] == "the wiki has no pages"
    with pytest.raises(Unavailable, match="the wiki has no pages"):
        wiki.call("assemble_bundle", query="anything")
    assert "0 pages" in service.read_resource("wiki://index", CALLER)
    assert service.manifest(CALLER)["pages"] == 0
    wiki.write("first.md", "# First\n\nA kestrel.\n")
    until(lambda: changes, "the tools come by themselves")
    assert changes[0] >= 10
    assert wiki.found("kestrel") == ["first"]
    (wiki.vault / "first.md").unlink()
    until(lambda: changes[-1] == 0, "they go with the last page")
    wiki.write("again.md", "# Again\n\nA kestrel.\n")
    assert wiki.found("kestrel") == ["again"]
    wiki.stop()


@pytest.mark.parametrize("kind", ["missing", "a file", "a dead link"])
def test_a_vault_that_is_no_folder_is_a_clear_error(tmp_path: Path, kind: str) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    settings = load_settings(
        {"vault": str(vault), "state_dir": str(tmp_path / "state"), "embedder": "none"}, {}
    )
    vault.rmdir()
    if kind == "a file":
        vault.write_text("x")
    elif kind == "a dead link":
        vault.symlink_to(tmp_path / "nowhere")
    with pytest.raises(VaultError) as raised:
        build_service(settings)
    assert "vault" in str(raised.value) and str(tmp_path) not in str(raised.value)


def test_a_vault_that_goes_between_finding_and_reading_it_is_told_and_read_when_it_comes(
    tmp_path: Path,
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    flags = {"vault": str(vault), "state_dir": str(tmp_path / "state"), "embedder": "none"}
    service = build_service(load_settings(flags, {}), background=False)
    vault.rmdir()
    with pytest.raises(VaultError):
        service.wait_ready("none")
    assert service.tools() == []
    assert "there is no folder" in service.off_tools()["assemble_bundle"]
    service.close()


def test_settings_of_the_vault_itself_take_effect_at_the_next_answer(wiki: LiveWiki) -> None:
    (wiki.vault / ".obsidian").mkdir()
    wiki.stop()
    assert len(wiki.slugs()) == 3
    settings = wiki.vault / ".obsidian" / "app.json"
    settings.write_text('{"userIgnoreFilters": ["deep/"]}')
    assert wiki.slugs() == ["lamp"]
    assert wiki.found("barley") == []
    settings.write_text('{"userIgnoreFilters": []}')
    assert len(wiki.slugs()) == 3
    assert wiki.found("barley") == ["deep/mill"]


def test_two_pages_of_one_id_are_both_served_and_both_named(wiki: LiveWiki) -> None:
    wiki.write("a.md", "---\nid: 01SAME\n---\n# A\n\nA kestrel.\n")
    wiki.write("b.md", "---\nid: 01SAME\n---\n# B\n\nAn osprey.\n")
    assert wiki.call("get_page_by_id", id="01SAME")["slug"] == "a"
    first, second = wiki.call("get_page", slug="a"), wiki.call("get_page", slug="b")
    assert first["canonicalId"] == "01SAME" != second["canonicalId"]
    assert wiki.call("get_page_by_id", id=second["canonicalId"])["slug"] == "b"
    for page, other in ((first, "b.md"), (second, "a.md")):
        (why,) = [d for d in page["diagnostics"] if "duplicate_id" in str(d)]
        assert "01SAME" in str(why) and other in str(why)
    told = [d for d in wiki.service.status(OPERATOR)["diagnostics"] if d["code"] == "duplicate_id"]
    assert [d["path"] for d in told] == ["a.md", "b.md"]
    (wiki.vault / "a.md").unlink()
    now = wiki.call("get_page", slug="b")
    assert now["canonicalId"] == "01SAME" and "duplicate_id" not in str(now)


def test_the_id_of_a_renamed_page_leads_to_it(wiki: LiveWiki) -> None:
    was = wiki.call("get_page", slug="lamp")["canonicalId"]
    (wiki.vault / "lamp.md").rename(wiki.vault / "deep/lantern.md")
    found = wiki.call("get_page_by_id", id=was)
    assert found["slug"] == "deep/lantern" and found["canonicalId"] != was
    assert found["version"] == 1
    (wiki.vault / "deep/lantern.md").rename(wiki.vault / "light.md")
    assert wiki.call("get_page_by_id", id=was)["slug"] == "light"
    wiki.write("light.md", "---\ndraft: true\n---\n# Lamp\n")
    assert "not_found" in said(wiki, "get_page_by_id", id=was)
