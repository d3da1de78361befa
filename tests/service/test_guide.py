"""Beside the tools: instructions, resources, prompts, completions, manifest and status."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.index.live_wiki import LiveWiki
from wikimcp.errors import BadArgument, NotFound
from wikimcp.guide.ladder import instructions, ladder
from wikimcp.markdown.tokens import count_tokens
from wikimcp.models import Caller
from wikimcp.service import ResourceSpec
from wikimcp.tools.registry import TOOLS

CALLER = Caller()


@pytest.fixture
def wiki(tmp_path: Path) -> Iterator[LiveWiki]:
    live = LiveWiki(tmp_path, watch=False)
    live.write(
        "index.md", "---\nwiki_title: Mill wiki\ndescription: Of mills.\n---\n# Home\n\nSee [[mill]].\n"
    )
    live.write(
        "works/mill.md", "---\ncluster: works\ntype: hub\ntags: [Water]\n---\n# Mill\n\nThe mill grinds.\n"
    )
    live.write("works/pump.md", "---\ncluster: works/pumps\ntags: [water, sea]\n---\n# Pump\n\nIt pumps.\n")
    live.write("日本語 & [x] #1.md", "# 日本語 & [x] #1\n\nText.\n")
    live.write("n.sync-conflict-20310203-101010-ABCDEFG.md", "# Leftover\n\nText.\n")
    yield live
    live.stop()


def listed(wiki: LiveWiki) -> dict[str, ResourceSpec]:
    found: dict[str, ResourceSpec] = {}
    cursor = None
    while True:
        part, cursor = wiki.service.resources(CALLER, cursor)
        found.update((resource.uri, resource) for resource in part)
        if cursor is None:
            return found


def test_the_instructions_are_short_and_name_only_tools_that_are_there(wiki: LiveWiki) -> None:
    text = wiki.service.instructions
    assert len(text) < 2_000 and len(instructions(TOOLS, wiki="w" * 100)) < 2_000
    assert "slug @ version" in text and "never" in text
    assert text.index("call get_briefing once") < text.index("1. assemble_bundle")
    assert "get_briefing" not in instructions(["assemble_bundle"])
    there = {tool.name for tool in wiki.service.tools()}
    assert all(name in there or name not in text for name in TOOLS)
    steps = ladder(TOOLS)
    assert steps[0].startswith("1. assemble_bundle") and steps[-1].endswith("Never guess.")
    order = [
        step for step in ("assemble_bundle", "retrieve_context", "read_pages", "traverse", "sparql_query")
    ]
    positions = [" ".join(steps).index(name) for name in order]
    assert positions == sorted(positions)
    assert ladder(())[0].startswith("1. When this is exhausted")


def test_every_listed_resource_can_be_read_and_tells_its_size(wiki: LiveWiki) -> None:
    resources = listed(wiki)
    assert list(resources)[:2] == ["wiki://hot", "wiki://index"]
    assert {uri for uri in resources if "/cluster/" in uri} == {
        "wiki://cluster/works", "wiki://cluster/works%2Fpumps",
    }  # fmt: skip
    assert not any("sync-conflict" in uri for uri in resources)
    for uri, resource in resources.items():
        text = wiki.service.read_resource(uri, CALLER)
        assert text and resource.mime_type == "text/markdown"
        assert abs(count_tokens(text) - resource.tokens) <= 8, uri


def test_a_page_resource_is_the_file_and_odd_names_are_encoded(wiki: LiveWiki) -> None:
    (uri,) = (uri for uri in listed(wiki) if "%E6%97%A5" in uri)
    assert unquote(uri) == "wiki://page/日本語 & [x] #1"
    assert wiki.service.read_resource(uri, CALLER) == "# 日本語 & [x] #1\n\nText.\n"
    assert wiki.service.read_resource("wiki://page/works%2Fmill", CALLER).endswith("The mill grinds.\n")
    assert wiki.service.read_resource("wiki://page/works/mill", CALLER).endswith("The mill grinds.\n")


def test_the_index_and_the_hot_page_are_the_vaults_own_or_made_from_the_catalog(wiki: LiveWiki) -> None:
    assert "# Home" in wiki.service.read_resource("wiki://index", CALLER)
    recent = wiki.service.read_resource("wiki://hot", CALLER)
    assert recent.startswith("# Edited last") and "`works/mill`" in recent
    wiki.write("hot.md", "# Hot\n\nNow.\n")
    assert wiki.service.read_resource("wiki://hot", CALLER) == "# Hot\n\nNow.\n"
    (wiki.vault / "index.md").unlink()
    made = wiki.service.read_resource("wiki://index", CALLER)
    assert "works (2 pages, hub `works/mill`)" in made and "works/pumps (1 pages)" in made
    cluster = wiki.service.read_resource("wiki://cluster/works", CALLER)
    assert cluster.splitlines()[0] == "# works" and "`works/mill`" in cluster


@pytest.mark.parametrize(
    ("uri", "error"),
    [
        ("wiki://page/milk", NotFound),
        ("wiki://cluster/workz", NotFound),
        ("wiki://nothing", NotFound),
        ("wiki://page/", NotFound),
        ("wiki://page/../../etc/passwd", NotFound),
        ("wiki://page/%2e%2e%2foutside.md", NotFound),
        ("wiki://hot/x", NotFound),
        ("file:///etc/passwd", BadArgument),
        ("", BadArgument),
    ],
)
def test_what_is_no_resource_is_a_clear_error(wiki: LiveWiki, uri: str, error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        wiki.service.read_resource(uri, CALLER)
    assert "Traceback" not in str(raised.value) and str(wiki.vault) not in str(raised.value)
    if uri == "wiki://cluster/workz":
        assert "works" in str(raised.value)


def test_a_long_list_of_resources_comes_in_parts_that_an_edit_ends(wiki: LiveWiki) -> None:
    for number in range(230):
        wiki.write(f"many/{number:03d}.md", f"# Number {number}\n")
    first, cursor = wiki.service.resources(CALLER, None)
    assert len(first) == 100 and cursor is not None
    assert len(listed(wiki)) == 2 + 2 + 4 + 230
    generation = wiki.call("list_pages")["index"]["generation"]
    for text in (
        f"{generation}:{10**20}",
        f"{generation}:-1",
        f"{generation}:x",
        f"{generation - 1}:5",
        ":",
        "",
    ):
        with pytest.raises(BadArgument, match="cursor expired"):
            wiki.service.resources(CALLER, b64encode(text.encode()).decode() or "=")
    with pytest.raises(BadArgument, match="cursor expired"):
        wiki.service.resources(CALLER, "nonsense \ud800")
    wiki.write("many/000.md", "# Changed\n")
    with pytest.raises(BadArgument, match="cursor expired"):
        wiki.service.resources(CALLER, cursor)


def test_completions_begin_with_what_is_typed_then_hold_it(wiki: LiveWiki) -> None:
    complete = wiki.service.complete
    assert complete("page", "slug", "works/", CALLER) == ["works/mill", "works/pump"]
    assert complete("page", "slug", "MILL", CALLER) == ["works/mill"]
    assert complete("cluster", "name", "works", CALLER) == ["works", "works/pumps"]
    assert complete("x", "tags", "sea,wa", CALLER) == ["sea,Water"]
    assert complete("x", "pins", "index, works/p", CALLER) == ["index,works/pump"]
    assert "Mill" in complete("what_do_we_know_about", "topic", "mi", CALLER)
    assert complete("x", "unknown", "a", CALLER) == []
    assert complete("page", "slug", "\0", CALLER) == []
    assert "sync-conflict" not in str(complete("page", "slug", "", CALLER))
    for number in range(150):
        wiki.write(f"many/{number:03d}.md", "# X\n")
    assert len(complete("page", "slug", "", CALLER)) == 100


def test_prompts_hold_the_ladder_and_need_what_they_say(wiki: LiveWiki) -> None:
    service = wiki.service
    assert [prompt.name for prompt in service.prompts()] == ["ground_this_task", "what_do_we_know_about"]
    text = service.prompt("ground_this_task", {"prompt": "Fix the pump", "pins": "works/pump"}, CALLER)
    assert "Fix the pump" in text and 'as prompt, pins=["works/pump"].' in text and "assemble_bundle" in text
    alone = service.prompt("ground_this_task", {"prompt": "Fix the pump"}, CALLER)
    assert "Call get_briefing once with the task, verbatim, as prompt." in alone
    assert "Never guess." in service.prompt("what_do_we_know_about", {"topic": "pumps"}, CALLER)
    with pytest.raises(BadArgument, match="needs topic"):
        service.prompt("what_do_we_know_about", {"topic": " "}, CALLER)
    with pytest.raises(NotFound, match="ground_this_task"):
        service.prompt("nonsense", {}, CALLER)


def test_the_manifest_says_what_the_wiki_is(wiki: LiveWiki) -> None:
    said = wiki.service.manifest(CALLER)
    assert (said["title"], said["description"], said["pages"]) == ("Mill wiki", "Of mills.", 5)
    assert said["clusters"] == [
        {"name": "works", "pages": 2, "hub": "works/mill"},
        {"name": "works/pumps", "pages": 1},
    ]
    assert said["read_only"] is True and "assemble_bundle" in said["tools"]


def test_status_is_as_of_now_and_counts_what_there_is(wiki: LiveWiki) -> None:
    assert wiki.service.status(CALLER)["files"] == {"indexed": 5, "partial": 0, "skipped": 0}
    wiki.write("new.md", "# New\n")
    (wiki.vault / "bad.md").write_bytes(b"\x00\x01\x02\x89PNG" * 50)
    said = wiki.service.status(CALLER)
    assert said["files"] == {"indexed": 6, "partial": 0, "skipped": 1}
    assert said["index"]["pages"] == 6 and said["index"]["skipped"] == 1
    assert "bad.md" not in str(said)
    assert wiki.service.status(Caller(operator=True))["skipped"][0]["path"] == "bad.md"
