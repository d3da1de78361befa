"""`wikimcp graph --html`: one page that holds all it needs, in which vault text is text, never over a file of others."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from tests.frame.picture_wiki import HILLS, HOSTILE, NAMES, Read, data_of, flat, write_vault
from tests.verb_runs import Run, verb_runs
from wikimcp.graph.picture import is_picture, picture_html


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a verb over a vault of its own; gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vault").mkdir()
    return verb_runs(tmp_path, monkeypatch, capsys)


def test_the_page_holds_what_the_graph_holds_without_headings(run: Run, tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", HILLS)
    code, out, err = run("graph", "--html", "hills.html", "--json")
    page = (tmp_path / "hills.html").read_text(encoding="utf-8")
    told, data = json.loads(out), data_of(page)
    graph = json.loads(run("graph", "--json")[1])
    kept = {row["id"]: row for row in graph["nodes"] if row["kind"] != "heading"}
    edges = [row for row in graph["edges"] if row["source"] in kept and row["target"] in kept]
    assert (code, err) == (0, "")
    assert told == {
        "file": "hills.html",
        "bytes": len(page.encode()),
        "nodes": len(data["nodes"]),
        "edges": len(data["edges"]),
    }
    ids = [row[0] for row in data["nodes"]]
    assert ids == list(kept)
    shown = [(ids[s], ids[t], data["relations"][r]) for s, t, r, _ in data["edges"]]
    assert shown == [(row["source"], row["target"], row["relation"]) for row in edges]
    assert ("page:mill", "page:river", "uses") in shown
    rows = {row[0]: row for row in data["nodes"]}
    _, name, kind, clusters, summary, path, _ = rows["page:mill"]
    assert (name, data["types"][kind], summary, path) == (
        "Mill",
        ["place", True],
        "Where corn is ground.",
        "mill.md",
    )
    assert [data["clusters"][one] for one in clusters] == ["water"]
    assert data["types"][rows["placeholder:Nowhere"][2]] == ["placeholder", False]
    assert data["clusters"] == ["water", "caves", "maps"]
    assert data["title"] == "The hills" and "<title>The hills</title>" in page


def test_withheld_pages_are_not_in_it(run: Run, tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", HILLS)
    _, page, _ = run("graph", "--html", "-")
    (tmp_path / "vault" / "secret.md").unlink()
    _, without, _ = run("graph", "--html", "-")
    assert "secret" not in page.lower() and "vaulted" not in page
    assert page == without


def test_no_text_of_the_vault_is_taken_for_markup(run: Run, tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", HOSTILE)
    code, page, err = run("graph", "--html", "-")
    harmless = Read(picture_html("Index", {"nodes": []}))
    read, data = Read(page), data_of(page)
    assert (code, err) == (0, "")
    assert read.faults == harmless.faults == []
    assert read.elements[6:] == harmless.elements[6:], "the same elements whatever the vault says"
    assert "".join(read.texts["title"]) == "</title><script>document.title=1</script> & more"
    assert not re.search("[<>&\u2028\u2029]", "".join(read.texts["script"][:1]))
    labels = {row[0]: row[1] for row in data["nodes"]}
    for name, title in NAMES.items():
        assert labels[f"page:{name}"] == flat(title)
    assert {"a_script_b"} <= set(data["relations"])
    said_by_models = [edge for edge in data["edges"] if edge[3]]
    assert [data["relations"][edge[2]] for edge in said_by_models] == ["a_script_b"]


def test_the_page_loads_nothing_and_runs_its_own_script_alone(run: Run, tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", HILLS)
    _, page, _ = run("graph", "--html", "-")
    read = Read(page)
    for tag, attributes in read.elements:
        assert not {"src", "href", "action", "style", "srcset"} & set(attributes), (tag, attributes)
        assert not [key for key in attributes if key.startswith("on")], (tag, attributes)
        assert "://" not in "".join(attributes.values())
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    for word in (
        "://",
        "fetch(",
        "XMLHttpRequest",
        "WebSocket",
        "import(",
        "innerHTML",
        "eval(",
        "insertAdjacent",
    ):
        assert word not in script, word
    assert "url(" not in style and "@import" not in style
    policy = next(
        attributes["content"]
        for tag, attributes in read.elements
        if "http-equiv" in attributes and tag == "meta"
    )
    for text in (script, style):
        assert f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy


def test_an_empty_vault_has_a_page_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "vault" / "note.txt").write_text("no page")
    code, page, _ = run("graph", "--html", "-")
    assert code == 0 and Read(page).faults == []
    assert data_of(page)["nodes"] == []


def test_a_page_of_this_command_is_replaced_and_another_file_only_by_force(run: Run, tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", HILLS)
    file = tmp_path / "hills.html"
    assert run("graph", "--html", str(file))[0] == 0
    first = file.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o666 & ~_umask()
    (tmp_path / "vault" / "new.md").write_text("# New\n")
    assert run("graph", "--html", str(file))[0] == 0
    assert file.read_bytes() != first and is_picture(file.read_bytes()[:1024])
    letter = b"<!doctype html>\n<title>A letter</title>\n"
    file.write_bytes(letter)
    code, out, err = run("graph", "--html", "hills.html")
    assert (code, out) == (2, "") and file.read_bytes() == letter
    assert err == (
        "wikimcp: usage: --html: hills.html exists and is no page of this command. "
        "Add --force to replace it, or choose another name.\n"
    )
    assert run("graph", "--html", "hills.html", "--force")[0] == 0
    assert is_picture(file.read_bytes()[:1024])
    assert sorted(path.name for path in tmp_path.glob(".wikimcp-*")) == []


def test_a_link_is_written_through_and_stays(run: Run, tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", HILLS)
    (tmp_path / "out").mkdir()
    (tmp_path / "link.html").symlink_to(tmp_path / "out" / "real.html")
    assert run("graph", "--html", "link.html")[0] == 0
    assert (tmp_path / "link.html").is_symlink() and (tmp_path / "out" / "real.html").is_file()


def test_nothing_is_written_into_the_vault(run: Run, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    write_vault(vault, HILLS)
    (vault / "deep").mkdir()
    (tmp_path / "door").symlink_to(vault / "deep")
    (tmp_path / "link.html").symlink_to(vault / "there.html")
    before = sorted(vault.rglob("*"))
    for place in ("vault/g.html", "vault/deep/g.html", "door/g.html", "link.html", "state/../vault/g.html"):
        for force in ((), ("--force",)):
            code, out, err = run("graph", "--html", place, *force)
            assert (code, out) == (2, ""), place
            assert err.startswith("wikimcp: usage: --html: the file would lie inside the vault.")
    assert sorted(vault.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["--html"], 2, "usage: argument --html: expected one argument"),
        (["--html", ""], 2, "usage: --html takes the name of a file"),
        (["--html", "."], 2, "usage: --html takes the name of a file"),
        (["--html", "/dev/null", "--force"], 2, "usage: --html takes the name of a file"),
        (["--html", "no/such/g.html"], 2, "usage: --html: the folder of no/such/g.html does not exist"),
        (["--html", "a\0b"], 2, "is no place for a file"),
        (["--html", "x" * 5000], 2, "is no place for a file"),
        (["--html", "x" * 250 + "é" * 50 + ".html"], 2, "usage: --html"),
        (["around", "mill", "--html", "g.html"], 2, "usage: --html goes with the whole graph alone"),
        (["export", "--html", "g.html"], 2, "usage: --html goes with the whole graph alone"),
        (["--force"], 2, "usage: --force goes with --html"),
        (["--html", "g.html", "--set", "graph.enabled=false"], 1, "unavailable: the graph is off"),
    ],
)
def test_wrong_use_is_one_line_and_leaves_no_file(
    run: Run, tmp_path: Path, words: list[str], code: int, expected: str
) -> None:
    write_vault(tmp_path / "vault", HILLS)
    found, out, err = run("graph", *words)
    assert (found, out) == (code, "")
    assert expected in err and len(err.splitlines()) == 1
    assert not list(tmp_path.glob("*.html")) and not list(tmp_path.glob(".wikimcp-*"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_that_cannot_be_written_is_named(run: Run, tmp_path: Path) -> None:
    write_vault(tmp_path / "vault", HILLS)
    (tmp_path / "shut").mkdir(mode=0o555)
    code, _, err = run("graph", "--html", "shut/g.html")
    assert code == 2 and "--html: shut/g.html cannot be written: Permission denied" in err


def test_only_a_page_of_this_command_is_taken_for_one() -> None:
    page = picture_html("t", {}).encode()
    assert is_picture(page[:1024]) and is_picture(page[:1024].replace(b"\n", b"\r\n"))
    for other in (b"", b"<!doctype html>\n", b"\xff\xfe", b" " + page, page[:40]):
        assert not is_picture(other)


def test_the_large_corpus_makes_a_page_of_modest_size(corpus_picture: Path) -> None:
    page = corpus_picture.read_text(encoding="utf-8")
    data = data_of(page)
    pages = [row for row in data["nodes"] if data["types"][row[2]][1]]
    assert Read(page).faults == []
    assert len(page.encode()) < 1_500_000
    assert len(pages) >= 1_200
    assert sum(1 for edge in data["edges"] if data["relations"][edge[2]] == "links_to") >= 4_400


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
