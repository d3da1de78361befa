"""The Dendron fixture and its corners: several vaults, dotted names, label-first and cross-vault links."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vaults.dialects import FIXTURES, fixture_copy, only_page, pages_of, paths_of, put, served
from wikimcp.errors import VaultError
from wikimcp.models import Caller, LinkKind
from wikimcp.vaults.detect import VaultOptions, detect

PAGE = "---\nid: x\n---\nWords.\n"


def test_its_notes_are_those_of_the_configured_vaults() -> None:
    assert paths_of(detect(FIXTURES / "dendron")) == [
        "boardroom/plans.md",
        "field/root.md",
        "field/survey.2031.draft.md",
        "field/survey.2031.md",
        "main/notes/oven.brick.door.md",
        "main/notes/oven.md",
        "main/notes/root.md",
    ]


def test_notes_are_named_by_their_dots_and_read_as_dendron_writes_them() -> None:
    pages = pages_of(FIXTURES / "dendron")
    assert set(pages) == {"plans", "root", "survey.2031", "survey.2031.draft", "oven", "oven.brick.door"}
    assert {slug for slug, page in pages.items() if page.withheld} == {"plans", "survey.2031.draft"}
    root = pages["root"]
    assert (root.path, root.title, root.canonical_id) == ("main/notes/root.md", "Handbook", "rootmain01")
    assert root.summary == "Where everything begins"
    assert root.updated_at == "2021-01-18T20:00:00+00:00"
    assert pages["oven"].summary == "An oven bakes. Brick C# style, dendron://field/survey.2031."
    assert {note.code for note in pages["oven.brick.door"].diagnostics} == {"unknown_vault"}


def test_a_name_in_two_vaults_is_two_pages(tmp_path: Path) -> None:
    with served(fixture_copy("dendron", tmp_path)) as wiki:
        assert [page.slug for page in wiki.view.pages if page.path.endswith("root.md")] == [
            "root",
            "main/notes/root",
        ]
        assert wiki.call("get_page", slug="main/notes/root.md")["title"] == "Handbook"


def test_its_links_lead_where_dendron_leads_them(tmp_path: Path) -> None:
    with served(fixture_copy("dendron", tmp_path)) as wiki:
        assert wiki.resolved("oven") == [
            ("oven.brick.door#hinge", "oven.brick.door"),
            ("not this form", ""),
            ("oven.brick.door", "oven.brick.door"),
            ("drawing.png", "main/notes/drawing.png"),
        ]
        assert wiki.resolved("oven.brick.door") == [
            ("field/survey.2031", "survey.2031"),
            ("field/survey.2031#heat", "survey.2031"),
            ("oven", "oven"),
            ("oven#bakes", "oven"),
            ("survey.2031", "survey.2031"),
        ]
        assert wiki.resolved("survey.2031") == [("root", "root"), ("main/notes/root", "main/notes/root")]
        links = wiki.view.body(wiki.view.names.slugs["oven"]).links
        assert [link.label for link in links[:3]] == ["Brick C# style", "dendron://field/survey.2031", "door"]
        assert links[3].kind is LinkKind.ATTACHMENT
        assert wiki.found("two hundred degrees")[0] == "survey.2031"


def test_each_vault_means_its_own_note_by_a_name_that_others_have_too(tmp_path: Path) -> None:
    config = "vaults:\n- fsPath: a\n- fsPath: b\n- fsPath: c\n"
    links = "[[x.y]] [[label|x.y#Deep]] ![[x.y#deep]]\n"
    files = {"a/x.y.md": "# A\n", "b/x.y.md": "## Deep\n", "a/of.a.md": links, "b/of.b.md": links}
    with served(put(tmp_path, {"dendron.yml": config, **files, "c/of.c.md": "[[x.y]]\n"})) as wiki:
        assert [page for _, page in wiki.resolved("of.a")] == ["x.y", "x.y", "x.y"]
        assert [page for _, page in wiki.resolved("of.b")] == ["b/x.y", "b/x.y", "b/x.y"]
        assert wiki.call("get_page", slug="of.b").get("diagnostics", []) == []
        (odd,) = wiki.call("get_page", slug="of.c")["diagnostics"]
        assert odd["code"] == "ambiguous_link"
        assert "x.y, b/x.y" in odd["message"]


def test_the_hierarchy_of_a_note_is_that_of_its_own_vault(tmp_path: Path) -> None:
    names = ("a/x", "b/x", "b/x.y", "b/x.y.z", "a/p.q", "b/p.q")
    files = {f"{name}.md": "Words.\n" for name in names}
    with served(put(tmp_path, {"dendron.yml": "vaults:\n- fsPath: a\n- fsPath: b\n", **files})) as wiki:
        edges = [edge for edge in wiki.service.graph(Caller())["edges"] if edge["relation"] == "parent_of"]
        assert sorted((edge["source"], edge["target"]) for edge in edges) == [
            ("page:b/x", "page:x.y"),
            ("page:x.y", "page:x.y.z"),
            ("placeholder:p", "page:b/p.q"),
            ("placeholder:p", "page:p.q"),
        ]


def note_with(folder: Path, text: str) -> list[tuple[str, str, str, str]]:
    page = only_page(put(folder, {"dendron.yml": "vaults:\n- fsPath: v\n  name: V\n", "v/a.md": text}))
    return [(link.kind.value, link.target, link.fragment, link.label) for link in page.body.links]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[b]]", ("wikilink", "b", "", "")),
        ("[[ Label | b.c ]]", ("wikilink", "b.c", "", "Label")),
        ("[[C#|lang.csharp#Top]]", ("wikilink", "lang.csharp", "Top", "C#")),
        ("[[#Local]]", ("wikilink", "", "Local", "")),
        ("[[here|#Local]]", ("wikilink", "", "Local", "here")),
        ("![[b#start,1:#end]]", ("embed", "b", "start", "")),
        ("![[b#^anchor:#^other]]", ("embed", "b", "^anchor", "")),
        ("[[dendron://V/b.c#h]]", ("wikilink", "v/b.c", "h", "")),
        ("[[x|dendron://V/b.c]]", ("wikilink", "v/b.c", "", "x")),
        ("[[x|https://x.test/a]]", ("external", "https://x.test/a", "", "x")),
        ("[x](b.case)", ("markdown", "b.case", "", "x")),
        ("[[1]](https://x.test)", ("external", "https://x.test", "", "[1]")),
        ("![pic](assets/p.png)", ("attachment", "assets/p.png", "", "pic")),
        ("---\nup: '[[Top|b.c]]'\n---\n", ("wikilink", "b.c", "", "Top")),
        ("---\nup: '[[dendron://V/b.c]]'\n---\n", ("wikilink", "v/b.c", "", "")),
        ("---\nup: '[Top](https://x.test)'\n---\n", ("external", "https://x.test", "", "Top")),
    ],
)
def test_a_label_stands_before_its_target(tmp_path: Path, text: str, expected: tuple[str, ...]) -> None:
    assert note_with(tmp_path, text) == [expected]


@pytest.mark.parametrize(
    ("config", "paths"),
    [
        ("workspace:\n  vaults:\n  - fsPath: v\n", ["v/a.md"]),
        ("vaults:\n  - fsPath: ./v/\n", ["v/a.md"]),
        ("workspace:\n  vaults:\n  - fsPath: v\n    selfContained: true\n", ["v/notes/b.md"]),
        ("workspace:\n  vaults:\n  - fsPath: .\n    selfContained: true\n", ["notes/c.md"]),
        ("workspace:\n  vaults:\n  - {fsPath: w, workspace: v}\n", ["v/w/d.md"]),
        ("workspace:\n  vaults:\n  - fsPath: v\\w\n", ["v/w/d.md"]),
        ("workspace:\n  vaults:\n  - fsPath: gone\n  - fsPath: notes\n", ["notes/c.md"]),
        ("vaults: [{fsPath: notes}]\nworkspace:\n  vaults: []\n", ["notes/c.md"]),
    ],
)
def test_vaults_are_found_as_they_are_configured(tmp_path: Path, config: str, paths: list[str]) -> None:
    files = {"v/a.md": PAGE, "v/notes/b.md": PAGE, "v/w/d.md": PAGE, "notes/c.md": PAGE, "e.md": PAGE}
    if paths == ["v/a.md"]:
        files = {"v/a.md": PAGE, "e.md": PAGE}
    assert paths_of(detect(put(tmp_path, {"dendron.yml": config, **files}))) == paths


@pytest.mark.parametrize("path", ["../outside", "/etc", "v/../../outside", "C:\\notes", "link"])
@pytest.mark.parametrize("adapter", ["auto", "dendron"])
def test_a_vault_outside_of_the_root_is_an_error_that_names_it(
    tmp_path: Path, path: str, adapter: str
) -> None:
    put(tmp_path / "outside", {"a.md": PAGE})
    vault = put(tmp_path / "vault", {"b.md": PAGE, "dendron.yml": f"vaults:\n- fsPath: {path}\n"})
    (vault / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(VaultError) as caught:
        detect(vault, VaultOptions(adapter=adapter))
    assert repr(path) in caught.value.message
    assert str(tmp_path) not in caught.value.message


def test_a_trusted_vault_outside_of_the_root_may_be_linked_to(tmp_path: Path) -> None:
    put(tmp_path / "outside", {"a.md": PAGE})
    vault = put(tmp_path / "vault", {"dendron.yml": "vaults:\n- fsPath: link\n"})
    (vault / "link").symlink_to(tmp_path / "outside")
    adapter = detect(vault, VaultOptions(trusted_links=("../outside",)))
    assert paths_of(adapter) == ["link/a.md"]


@pytest.mark.parametrize(
    "config", ["", "version: 5\n", "workspace: [\n", "workspace:\n  vaults: 7\n", "\x00"]
)
def test_a_configuration_without_vaults_costs_a_note_and_no_page(tmp_path: Path, config: str) -> None:
    adapter = detect(put(tmp_path, {"dendron.yml": config, "x/a.b.md": PAGE}))
    scan = adapter.scan()
    assert [stamp.path for stamp in scan.files] == ["x/a.b.md"]
    assert [(path, note.code) for path, note in scan.diagnostics] == [("", "vault_settings")]


@pytest.mark.parametrize(
    ("broken", "left", "told"),
    [
        ("dev: [unclosed\n", ["page:a"], "dendron.yml is no YAML; its list of vaults is, and is taken"),
        (
            "\tbad\n",
            [],
            "dendron.yml is no YAML, so that nobody knows which notes its vaults leave out or hold private; "
            "every page is withheld until it is mended and wikimcp starts again",
        ),
    ],
)
def test_a_private_vault_stays_withheld_while_the_configuration_is_broken(
    tmp_path: Path, broken: str, left: list[str], told: str
) -> None:
    config = "workspace:\n  vaults:\n  - fsPath: open\n  - fsPath: own\n    visibility: private\n"
    files = {"open/a.md": PAGE, "own/b.md": "---\nid: y\n---\nMarkerword.\n"}
    vault = put(tmp_path / "vault", {"dendron.yml": config, **files})
    with served(vault) as wiki:
        assert [page["slug"] for page in wiki.call("list_pages")["pages"]] == ["a"]
        reasons = [row["reason"] for row in wiki.service.status(Caller(operator=True))["withheld"]]
        assert reasons == ["private: by dendron.yml: its vault 'own' is private"]
    put(vault, {"dendron.yml": config + broken})
    with served(vault) as wiki:
        assert [node["id"] for node in wiki.service.graph(Caller())["nodes"]] == left
    assert [note.message for _, note in detect(vault).scan().diagnostics] == [told]


@pytest.mark.parametrize("broken", ["", "dev: [unclosed\n"])
def test_a_vault_that_becomes_private_while_it_is_served_is_in_no_answer(tmp_path: Path, broken: str) -> None:
    config = "workspace:\n  vaults:\n  - fsPath: open\n  - fsPath: own\n"
    files = {"open/a.md": PAGE, "own/b.md": "---\nid: y\n---\nMarkerword.\n"}
    with served(put(tmp_path / "vault", {"dendron.yml": config, **files})) as wiki:
        assert [page["slug"] for page in wiki.call("list_pages")["pages"]] == ["a", "b"]
        private = f"{config}    visibility: private\n"
        for written in (private, private + broken):
            put(tmp_path / "vault", {"dendron.yml": written})
            assert [page["slug"] for page in wiki.call("list_pages")["pages"]] == ["a"]
            assert "Markerword" not in str(wiki.call("assemble_bundle", query="words"))


def test_only_the_dots_of_the_file_name_are_the_hierarchy(tmp_path: Path) -> None:
    vault = put(
        tmp_path, {"dendron.yml": "vaults: [{fsPath: v.1}]\n", "v.1/sub.dir/a.b.md": PAGE, "v.1/a.b.md": PAGE}
    )
    assert set(pages_of(vault)) == {"a.b", "sub.dir/a.b"}


MENTIONS = """---
id: z
tags: [area.pump, plain]
---
# Note

See #area.valve, (#plain.) and @ana; mail a@b.test, `@no` word@no #12 #a..b @bo.li!

[x](y#z) #own.
"""


def test_tags_and_names_of_people_are_links_to_their_notes(tmp_path: Path) -> None:
    files = {"tags.area.valve.md": PAGE, "tags.plain.md": PAGE, "user.ana.md": PAGE, "a.md": MENTIONS}
    with served(put(tmp_path / "v", {"dendron.yml": "vaults: [{fsPath: .}]\n", **files})) as wiki:
        assert wiki.resolved("a") == [
            ("tags.area.pump", ""),
            ("tags.plain", "tags.plain"),
            ("tags.area.valve", "tags.area.valve"),
            ("tags.plain", "tags.plain"),
            ("user.ana", "user.ana"),
            ("tags.a", ""),
            ("user.bo.li", ""),
            ("y#z", ""),
            ("tags.own", ""),
        ]
        page = wiki.call("get_page", slug="a")
        assert page["tags"] == ["area.pump", "plain", "area.valve", "a", "own"]
        assert [note["message"] for note in page["diagnostics"]] == ["'y#z' leads to no page"]
        graph = wiki.service.graph(Caller())
        ends = {edge["target"] for edge in graph["edges"] if edge["source"] == "page:a"}
        assert {"page:tags.area.valve", "page:user.ana", "tag:area.pump", "placeholder:user.bo.li"} <= ends
        assert "placeholder:tags.own" not in ends
        for link in wiki.view.body(wiki.view.names.slugs["a"]).links:
            if link.start >= 0 and link.label:
                assert MENTIONS.startswith(link.label, link.start) or link.label == "x"
