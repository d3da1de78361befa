"""The fault cases that show in what an agent is answered, each named after its entry in the list."""

from __future__ import annotations

import json
import os
import re
import socket
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.index.live_wiki import LiveWiki
from tests.vaults.dialects import put, served
from wikimcp.errors import NotFound, Unavailable, WikimcpError
from wikimcp.markdown.tokens import span_sha256
from wikimcp.models import Caller

VALVE = "The valve closes at 40 C."


def first_citation(wiki: LiveWiki, query: str) -> dict[str, Any]:
    citation: dict[str, Any] = wiki.call("assemble_bundle", query=query)["sections"][0]["citation"]
    return citation


# Comments


COMMENTS = {
    "percent.md": "# P\n\nThe lantern glows. %% kestrel %% Still.\n\n%%\n## Kestrel\n\nkestrel #kestreltag\n%%\n",
    "html.md": "# H\n\nThe lantern <!-- kestrel --> glows.\n\n<!--\nkestrel\n\n## Kestrel\n-->\n\n  <!-- kestrel -->\nEnd.\n",
    "block.md": "# B\n\n<div>\nlantern <!-- kestrel --> inside\n</div>\n\n> <!-- kestrel\n> more -->\n> quoted lantern\n",
    "kanban.md": "# K\n\n- [ ] lantern\n\n%% kanban:settings\n```\n{\"kestrel\": 1}\n```\n%%\n",
    "definition.md": "# D\n\nlantern\n\n[//]: # (kestrel)\n[comment]: <> (kestrel)\n",
    "lead.md": "<!-- kestrel lantern -->\n\n# L\n\nlantern\n",
    "open.md": "# O\n\nlantern\n\n<!-- kestrel\n",
    "crlf.md": "# C\r\n\r\n<!-- kestrel\r\n-->\r\n\r\nlantern é %%kestrel%%\r\n",
}  # fmt: skip


@pytest.mark.parametrize("name", COMMENTS)
def test_b24_comments_are_neither_found_nor_returned_while_spans_stay_those_of_the_file(
    tmp_path: Path, name: str
) -> None:
    text = COMMENTS[name]
    with served(put(tmp_path / "v", {name: text, "other.md": "# Other\n\nA curlew.\n"})) as wiki:
        assert wiki.found("kestrel") == []
        assert wiki.call("assemble_bundle", query="kestrel")["sections"] == []
        bundle = wiki.call("assemble_bundle", query="lantern")
        (section,) = bundle["sections"]
        first, last = section["citation"]["lines"]
        span = "".join(re.findall(r".*?(?:\r\n|\n|\r|\Z)", text)[first - 1 : last])
        assert section["citation"]["spanSha256"] == span_sha256(span)
        assert "lantern" in section["text"]
        if "kestrel" in span:
            assert any("comments are left out" in note for note in bundle["notes"])
        (page,) = wiki.call("retrieve_context", query="lantern")["pages"]
        slug = name.removesuffix(".md")
        shown = [bundle["sections"], page, wiki.call("list_tags"), wiki.call("get_page", slug=slug)]
        assert "kestrel" not in json.dumps(shown).lower()
        assert wiki.call("read_pages", slugs=[slug])["pages"][0]["content"] == text  # the file, exactly


def test_b24_what_only_looks_like_a_comment_stays(tmp_path: Path) -> None:
    text = "# A\n\nWrite `<!-- kestrel -->` and `%% curlew %%`.\n\n```html\n<!-- dunlin -->\n```\n\n50%% of plovers\n"
    with served(put(tmp_path / "v", {"a.md": text})) as wiki:
        for word in ("kestrel", "curlew", "dunlin", "plovers"):
            (section,) = wiki.call("assemble_bundle", query=word)["sections"]
            assert section["text"] == text.rstrip()


# Sections and citations


def test_b47_a_section_is_read_whole_or_says_where_it_goes_on(tmp_path: Path) -> None:
    long = "## Long\n\n" + "".join(f"Sentence {n} of the long part. " for n in range(600)) + "\n"
    text = f"# Top\n\n{long}\n## Parent\n\nabove\n\n### Kid\n\nbelow\n"
    with served(put(tmp_path / "v", {"a.md": text}), answer_tokens=2_000) as wiki:
        (parent,) = wiki.call("read_pages", slugs=["a"], heading="Parent")["pages"]
        assert parent["content"] == "## Parent\n\nabove\n\n### Kid\n\nbelow\n"
        parts: list[str] = []
        cursor = ""
        while not parts or cursor:
            (page,) = wiki.call("read_pages", slugs=["a"], heading="Long", cursor=cursor)["pages"]
            parts.append(page["content"])
            cursor = page.get("nextCursor", "")
            assert page["truncated"] is bool(cursor)
            if cursor:
                assert page["totalChars"] == len(long)
        assert len(parts) > 1 and "".join(parts) == long


def test_b48_a_citation_is_of_its_span_and_not_of_the_file(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    try:
        file = wiki.write("valve.md", f"---\nid: V1\n---\n# Valve\n\n{VALVE}\n\n# Other\n\nPlovers.\n")
        before = first_citation(wiki, "valve closes")
        os.utime(file, (1, 1))
        assert first_citation(wiki, "valve closes") == before
        wiki.write("valve.md", f"---\nid: V1\n---\n\n\n# Valve\n\n{VALVE}\n\n# Other\n\nPlovers.\n")
        moved = first_citation(wiki, "valve closes")
        assert moved["spanSha256"] == before["spanSha256"]
        assert moved["lines"] == [line + 2 for line in before["lines"]]
        file.rename(wiki.vault / "tap.md")
        renamed = first_citation(wiki, "valve closes")
        assert (renamed["slug"], renamed["canonicalId"]) == ("tap", "V1")
        assert renamed["spanSha256"] == before["spanSha256"]
        wiki.write("tap.md", f"---\nid: V1\n---\n# Valve\n\n{VALVE.replace('40', '45')}\n")
        assert first_citation(wiki, "valve closes")["spanSha256"] != before["spanSha256"]
    finally:
        wiki.stop()


# Search


SEARCHED = {
    "adr.md": "The rule ADR-0042 covers retries.\n",
    "words.md": "deploy/local server.json don't a::b user@x.test C++ path:alpha real-time 10-20\n",
    "weekly.md": "把巡检结果写进周报，然后通知值班\n",
    "ja.md": "設定ファイルを直した\n",
    "ko.md": "배포 절차를 적었다\n",
    "io.md": "pump io note\n",
    "pump.md": "pump note\n",
    "other.md": "# Other\n\nNothing to see.\n",
}


@pytest.mark.parametrize(
    ("query", "slug"),
    [
        *((query, "adr") for query in ("ADR-0042", '"ADR-0042"', "-ADR-0042")),  # B-50
        *(
            (query, "words")
            for query in (
                *("deploy/local", "server.json", "don't", "a::b", "user@x.test", "C++"),  # B-51
                *("path:alpha", "real-time", "10-20"),
            )
        ),
        *((query, "weekly") for query in ("巡检", "周报", "通知")),  # B-55
        ("設定", "ja"),
        ("절차", "ko"),
        *((query, "io") for query in ("io", "pump io")),  # B-57
    ],
)
def test_b50_b51_b55_b57_the_words_as_typed_find_their_page_first(
    tmp_path: Path, query: str, slug: str
) -> None:
    with served(put(tmp_path / "v", SEARCHED)) as wiki:
        assert wiki.found(query)[0] == slug


@pytest.mark.parametrize(
    "query",
    ["*", "**", "AND", "NOT", "(alpha", "NEAR(a b", '"unclosed', '""', "%", "_", "\0", "-x flag", "a " * 10_000],
)  # fmt: skip
def test_b52_b53_any_text_is_a_question_and_an_empty_answer_says_why(tmp_path: Path, query: str) -> None:
    with served(put(tmp_path / "v", SEARCHED)) as wiki:
        for tool in ("assemble_bundle", "retrieve_context"):
            answer = wiki.call(tool, query=query)
            assert answer.get("sections") or answer.get("pages") or answer["notes"]
            assert not re.search(r"sqlite|tantivy|syntax error|fts", json.dumps(answer), re.IGNORECASE)


def test_b52_nothing_at_all_is_a_plain_error(tmp_path: Path) -> None:
    with served(put(tmp_path / "v", SEARCHED)) as wiki:
        for query in ("", "   "):
            with pytest.raises(WikimcpError, match="query"):
                wiki.call("assemble_bundle", query=query)


def test_b59_what_the_vault_does_not_hold_is_never_called_strong(tmp_path: Path) -> None:
    with served(
        put(tmp_path / "v", {f"pump{n}.md": f"# Pump {n}\n\nOil pump {n}.\n" for n in range(5)})
    ) as wiki:
        for query in ("how to knit a scarf", "vrell quontip"):
            coverage = wiki.call("assemble_bundle", query=query)["coverage"]
            assert coverage["confidence"] in ("weak", "unknown")
            assert coverage["topSimilarity"] == -1.0
            assert coverage["missingTerms"]


# Freshness


def test_b60_b63_b64_b66_what_is_on_disk_is_what_is_answered(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    try:
        wiki.write("src.md", "# Src\n\n[[desk/spark]] [[spark]] [[g]]\n")
        wiki.write("desk/spark.md", "# Spark\n\ncurlew\n")
        ghost = wiki.write("g.md", "lanternword5 is here\n")
        same = wiki.write("same.md", "aaa\n")
        assert wiki.found("lanternword5") == ["g"]
        ghost.unlink()
        assert wiki.found("lanternword5") == []
        with pytest.raises(NotFound):
            wiki.call("get_page", slug="g")
        times = same.stat()
        same.write_text("bbb\n")
        os.utime(same, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert wiki.call("read_pages", slugs=["same"])["pages"][0]["content"] == "bbb\n"
        version = wiki.call("get_page", slug="same")["version"]
        os.utime(same)
        assert wiki.call("get_page", slug="same")["version"] == version
        (wiki.vault / "shelf").mkdir()
        (wiki.vault / "desk/spark.md").rename(wiki.vault / "shelf/spark.md")
        assert wiki.found("curlew") == ["shelf/spark"]
        assert wiki.call("get_page", slug="shelf/spark")["backlinkCount"] == 1
        wiki.stop()
        wiki.write("new.md", "plover\n")
        wiki.write("same.md", "dunlin\n")
        (wiki.vault / "shelf/spark.md").unlink()
        assert wiki.slugs() == ["new", "same", "src"]
        assert (wiki.found("dunlin"), wiki.found("curlew")) == (["same"], [])
    finally:
        wiki.stop()


# Bad files


def test_b74_what_is_skipped_or_partial_is_counted_and_told(tmp_path: Path) -> None:
    vault = put(
        tmp_path / "v",
        {"retro.md": "---\ntitle: Retro: week 12\n---\nlamp\n", "d.md": "---\ndraft: 1\n---\n"},
    )
    (vault / "cafe.md").write_bytes(b"# Caf\xe9\nIt\x92s fine\n")
    (vault / "png.md").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x01\x02" * 40)
    with served(vault) as wiki:
        status = wiki.service.status(Caller(operator=True))
        assert status["files"] == {"indexed": 2, "partial": 0, "skipped": 1, "withheld": 1}
        told = {(entry["path"], entry["code"], entry["line"]) for entry in status["diagnostics"]}
        assert told >= {("retro.md", "frontmatter_invalid", 2), ("cafe.md", "legacy_encoding", 0)}
        assert "frontmatter_invalid" in json.dumps(wiki.call("get_page", slug="retro"))
        with pytest.raises(Unavailable, match="is not served"):
            wiki.call("get_page", slug="png.md")
        to_agents = wiki.service.status(Caller())
        assert to_agents["files"] == {"indexed": 2, "partial": 0, "skipped": 1}
        assert not to_agents.keys() & {"skipped", "withheld", "diagnostics"}


# Size


def test_b80_a_word_of_many_pages_stays_within_the_cap_and_names_what_is_left(tmp_path: Path) -> None:
    pages = {f"p{n:04}.md": f"---\ntags: [tag{n}, common]\n---\nkestrel {n}\n" for n in range(600)}
    with served(put(tmp_path / "v", pages), answer_tokens=2_000) as wiki:
        for tool, arguments in (("list_tags", {}), ("list_pages", {"limit": 1_000})):
            answer = wiki.call(tool, **arguments)
            assert len(json.dumps(answer)) < 5 * 2_000
            assert answer["total"] >= 600 > answer["returned"] and answer["nextCursor"]
        assert len(json.dumps(wiki.call("retrieve_context", query="kestrel", max_pages=1_000))) < 5 * 2_000


@pytest.mark.parametrize("cursor", ["0", "-1", str(10**9), "2", "zzz"])
def test_b81_pages_of_a_long_note_join_to_the_file_and_a_made_up_cursor_is_told(
    tmp_path: Path, cursor: str
) -> None:
    text = "# Long\n\n" + "".join(f"Line {n} of a long note, with words.\n" for n in range(2_500))
    with served(put(tmp_path / "v", {"a.md": text})) as wiki:
        parts: list[str] = []
        at = ""
        while not parts or at:
            (page,) = wiki.call("read_pages", slugs=["a"], cursor=at)["pages"]
            parts.append(page["content"])
            at = page.get("nextCursor", "")
        assert "".join(parts) == text
        with pytest.raises(WikimcpError, match="cursor"):
            wiki.call("read_pages", slugs=["a"], cursor=cursor)


def test_b83_one_huge_page_among_twenty_costs_the_others_nothing(tmp_path: Path) -> None:
    pages = {f"n{n:02}.md": f"# N{n}\n\nSmall {n}.\n" for n in range(19)}
    pages["n02.md"] = "# Big\n\n" + "word " * 400_000 + "\n"
    with served(put(tmp_path / "v", pages)) as wiki:
        names = [name.removesuffix(".md") for name in pages]
        answer = wiki.call("read_pages", slugs=[*names, "missing"])["pages"]
        by_slug = {page["slug"]: page for page in answer}
        assert by_slug["n02"]["truncated"] and by_slug["n02"]["nextCursor"]
        assert all(page["content"] == pages[f"{slug}.md"] for slug, page in by_slug.items() if slug in names and slug != "n02")  # fmt: skip
        assert "no page named" in by_slug["missing"]["error"]


# The contract


def test_b90_an_unknown_argument_is_named_with_the_right_one_and_numbers_are_clamped(tmp_path: Path) -> None:
    with served(put(tmp_path / "v", {"a.md": "x"})) as wiki:
        with pytest.raises(WikimcpError, match=r"clustr.*cluster"):
            wiki.call("list_pages", clustr="a")
        assert "500 was used" in str(wiki.call("assemble_bundle", query="x", token_budget=20)["notes"])


# Security and privacy


TRAVERSALS = [
    *(
        "../outside.md",
        "a/../../outside.md",
        "..\\outside.md",
        "%2e%2e%2foutside.md",
        "%252e%252e/outside.md",
    ),
    *("/etc/passwd", "C:\\outside.md", "\\\\host\\share\\outside.md", "n.md\0.txt", "file:///etc/passwd"),
]


@pytest.mark.parametrize("name", TRAVERSALS)
def test_b96_a_name_that_leaves_the_vault_is_missing_like_any_other(tmp_path: Path, name: str) -> None:
    put(tmp_path, {"outside.md": "kestrel"})
    with served(put(tmp_path / "v", {"n.md": "x"})) as wiki:
        said = []
        for asked in (name, name.replace("outside", "nowhere")):
            for uri in (asked, f"wiki://page/{asked}"):
                with pytest.raises(WikimcpError) as caught:
                    if uri.startswith("wiki:"):
                        wiki.service.read_resource(uri, Caller())
                    else:
                        wiki.call("get_page", slug=uri)
                said.append(str(caught.value).replace("nowhere", "outside"))
        assert said[:2] == said[2:]
        assert "kestrel" not in str(said) and str(tmp_path) not in str(said)


def test_b100_nothing_in_a_vault_makes_the_server_call_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_options: object) -> NoReturn:
        raise AssertionError("a socket was asked for")

    text = "---\nembedder: http://127.0.0.1:9/v1\n$ref: http://127.0.0.1:9/s.json\n---\n![x](http://127.0.0.1:9/)\n"
    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    with served(put(tmp_path / "v", {"a.md": text}), embedder="wordllama") as wiki:
        wiki.everything()
        wiki.call("assemble_bundle", query="http://127.0.0.1:9/", exclude=["cite://127.0.0.1:9/x?v=1&h=00"])
        with pytest.raises(WikimcpError):
            wiki.service.read_resource("http://127.0.0.1:9/", Caller())


def test_b103_drafts_need_the_operators_switch_and_asking_without_it_changes_no_count(tmp_path: Path) -> None:
    files = {"a.md": "kestrel", "d.md": "---\ndraft: true\ntags: [kestreltag]\n---\nkestrel"}
    with served(put(tmp_path / "v", files)) as wiki:
        for tool, arguments in (
            ("list_pages", {}),
            ("list_tags", {}),
            ("assemble_bundle", {"query": "kestrel"}),
            ("retrieve_context", {"query": "kestrel"}),
        ):
            plain, asked = wiki.call(tool, **arguments), wiki.call(tool, **arguments, include_drafts=True)
            assert any("include_drafts" in note for note in asked.pop("notes"))
            plain.pop("notes", None)
            for answer in (plain, asked):
                answer["index"].pop("ageSeconds", None)
            assert plain == asked


def test_b105_no_error_holds_a_path_of_the_machine_or_a_trace(tmp_path: Path) -> None:
    with served(put(tmp_path / "v", {"a.md": "x"})) as wiki:
        for tool, arguments in (
            ("get_page", {"slug": "nope"}),
            ("get_page_by_id", {"id": "nope"}),
            ("list_pages", {"cursor": "x"}),
            ("assemble_bundle", {"query": "x", "nope": 1}),
            ("nope", {}),
        ):
            with pytest.raises(WikimcpError) as caught:
                wiki.call(tool, **arguments)
            said = str(caught.value)
            assert str(tmp_path) not in said and "Traceback" not in said and "SELECT" not in said
            assert len(said) < 1_000
