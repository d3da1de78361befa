"""Every citation that a tool returns verifies as current until the text changes; then as what became of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from benchmarks.citations import section_uris
from tests.index.live_wiki import LiveWiki
from tests.tools.bundle_wiki import SAMPLE_VAULT
from tests.vaults.dialects import DIALECTS, Served, fixture_copy, served
from wikimcp.markdown.tokens import normalise_span
from wikimcp.tools.citing import citation_uri

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "wikantik-pages"
Row = dict[str, Any]


def verdicts(wiki: LiveWiki | Served, given: list[str]) -> list[Row]:
    distinct = list(dict.fromkeys(given))  # equal ones are answered once
    found: dict[str, Row] = {}
    for first in range(0, len(distinct), 10):
        part = distinct[first : first + 10]
        rows = wiki.call("list_stale_citations", verify=part)["verified"]
        found.update(zip(part, rows, strict=True))
    return [found[text] for text in given]


def not_current(wiki: LiveWiki | Served, given: list[str]) -> list[Row]:
    return [row for row in verdicts(wiki, given) if row["status"] != "current"]


@pytest.mark.parametrize("dialect", [*DIALECTS, "sample"])
def test_every_section_of_a_vault_is_cited_so_that_it_verifies(dialect: str, tmp_path: Path) -> None:
    vault = SAMPLE_VAULT if dialect == "sample" else fixture_copy(dialect, tmp_path)
    with served(vault, state_dir=str(tmp_path / "state"), answer_tokens=100_000) as wiki:
        uris = [uri for uri, _ in section_uris(wiki.service.keeper.reading())]
        assert uris and not_current(wiki, uris) == []


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus beside the clone is absent")
def test_every_section_of_part_of_the_corpus_verifies(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for file in sorted(CORPUS.rglob("*.md"))[::12]:
        (vault / file.name).write_bytes(file.read_bytes())
    with served(vault, answer_tokens=100_000) as wiki:
        uris = [uri for uri, _ in section_uris(wiki.service.keeper.reading())]
        assert len(uris) > 1_000 and not_current(wiki, uris) == []


def citations_in(value: object) -> Iterator[Row]:
    """Yield every citation object of an answer."""
    if isinstance(value, dict):
        if {"uri", "handle", "spanSha256"} <= value.keys():
            yield value
        for item in value.values():
            yield from citations_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from citations_in(item)


LONG = "# Long\n\n" + "\n\n".join(
    f"Paragraph {n} of the long text says that berth {n} is {n * 7} metres long, and more."
    for n in range(120)
)
GIANT = "# Giant\n\n" + " ".join(f"lamp{n} burns" for n in range(3_000)) + "\n"
TWINS = "---\nversion: 4\n---\nLead.\n\n# Log\n\n## Fixed\n\nA leak.\n\n## Fixed\n\nA leak.\n\n## Fixed\n\nA door.\n"


def test_what_each_tool_cites_verifies_in_every_form(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    for name, text in {"long": LONG, "giant": GIANT, "twins": TWINS}.items():
        wiki.write(f"{name}.md", text)
    try:
        answers = [
            wiki.call("assemble_bundle", query=query, token_budget=budget)
            for query in ("berth 70 metres", "lamp1500 burns", "leak fixed log", "paragraph long lead")
            for budget in (500, 1_500, 6_000)
        ]
        answers.append(wiki.call("retrieve_context", query="berth 70 metres"))
        for slug in ("long", "giant", "twins"):
            cursor = ""
            while True:
                answer = wiki.call("read_pages", slugs=[slug], cursor=cursor)
                answers.append(answer)
                cursor = answer["pages"][0].get("nextCursor", "")
                if not cursor:
                    break
        named = [f"Log > Fixed ({number})" for number in (1, 2, 3)]
        answers += [wiki.call("read_pages", slugs=["twins"], heading=heading) for heading in named]
        cited = list(citations_in(answers))
        assert len(cited) > 20 and sum("&c=" in row["uri"] for row in cited) > 5
        for form in (
            [row["uri"] for row in cited],
            [row["handle"] for row in cited],
            [*map(json.dumps, cited)],
        ):
            assert not_current(wiki, form) == []
    finally:
        wiki.stop()


# Random edits of a page, and what each may do to the citations of its sections

WORDS = ["valve", "pump", "berth", "lamp", "tide", "rope", "oak", "salt"]
sentences = st.lists(st.sampled_from(WORDS), min_size=3, max_size=8).map(" ".join)
parts = st.lists(st.tuples(st.integers(1, 3), st.sampled_from("ABC"), sentences), min_size=2, max_size=5)
edits = st.lists(
    st.sampled_from(["above", "below", "edit", "delete", "duplicate", "swap", "rename heading", "crlf"]),
    min_size=1,
    max_size=3,
)


def page_of(sections: list[tuple[int, str, str]]) -> str:
    return "\n".join(f"{'#' * level} {name}\n\n{text}.\n" for level, name, text in sections)


def edited(sections: list[tuple[int, str, str]], edit: str, at: int) -> list[tuple[int, str, str]]:
    at %= max(len(sections), 1)
    level, name, text = sections[at]
    match edit:
        case "above":
            return [(1, "New", "something new stands here"), *sections]
        case "below":
            return [*sections, (1, "New", "something new stands here")]
        case "edit":
            return [*sections[:at], (level, name, f"{text} changed"), *sections[at + 1 :]]
        case "delete" if len(sections) > 1:
            return [*sections[:at], *sections[at + 1 :]]
        case "duplicate":
            return [*sections, sections[at]]
        case "swap":
            return [*sections[1:], sections[0]]
        case "rename heading":
            return [*sections[:at], (level, f"{name} renamed", text), *sections[at + 1 :]]
    return sections


def expected(text: str, span: str) -> set[str]:
    """Return what a citation of whole lines may be now, by counting their occurrences in the plain text."""
    count = len(re.findall(rf"(?<!\S){re.escape(normalise_span(span))}(?!\S)", normalise_span(text)))
    if count == 0:
        return {"stale"}
    return {"current", "moved"} if count == 1 else {"current", "moved", "ambiguous"}


@pytest.fixture(scope="module")
def edit_wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveWiki]:
    wiki = LiveWiki(tmp_path_factory.mktemp("edits"), watch=False)
    yield wiki
    wiki.stop()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sections=parts, doing=edits, at=st.integers(0, 4))
@example(sections=[(1, "A", "valve valve valve")] * 2, doing=["crlf"], at=0)
def test_after_random_edits_each_citation_gets_the_verdict_that_the_text_gives(
    edit_wiki: LiveWiki, sections: list[tuple[int, str, str]], doing: list[str], at: int
) -> None:
    wiki = edit_wiki
    before = page_of(sections)
    wiki.write("page.md", before)
    wiki.call("list_pages")
    reading = wiki.service.keeper.reading()
    page = reading.resolve("page")
    text = reading.text(page)
    spans = [text[section.own.start : section.own.end] for section in reading.sections(page)]
    uris = [
        citation_uri(reading.cite(page, text, section.own.start, section.own.end, section.heading_path))
        for section in reading.sections(page)
    ]
    assert not_current(wiki, uris) == []
    now = sections
    for edit in doing:
        now = edited(now, edit, at)
    after = page_of(now)
    if "crlf" in doing:
        after = after.replace("\n", "\r\n")
    (wiki.vault / "page.md").write_bytes(after.encode())
    for span, row in zip(spans, verdicts(wiki, uris), strict=True):
        assert row["status"] in expected(after, span), (span, row)
        if row["status"] == "moved":
            [again] = verdicts(wiki, [row["movedTo"]["uri"]])
            assert again["status"] == "current"
        if normalise_span(after) == normalise_span(before):
            assert row["status"] == "current"


BEFORE = "# Pump\n\n## Valve\n\nIt closes at 40.\n\n## Lamp\n\nIt burns.\n\n# Rope\n\nIt holds.\n"
VALVE = "## Valve\n\nIt closes at 40.\n"
DONE: dict[str, tuple[str, str]] = {
    "inserted above": (f"# New\n\nFirst.\n\n{BEFORE}", "current"),
    "edited elsewhere": (BEFORE.replace("burns", "glows"), "current"),
    "moved below another heading": (BEFORE.replace(f"{VALVE}\n", "") + f"\n{VALVE}", "moved"),
    "its heading's parent renamed": (BEFORE.replace("# Pump", "# Engine"), "moved"),
    "edited": (BEFORE.replace("40", "41"), "stale"),
    "deleted": (BEFORE.replace(VALVE, ""), "stale"),
    "its own heading renamed": (BEFORE.replace("## Valve", "## Lid"), "stale"),
    "duplicated under the same heading": (BEFORE.replace(VALVE, f"{VALVE}\n{VALVE}"), "ambiguous"),
    "duplicated under another heading": (f"{BEFORE}\n{VALVE}", "current"),
    "moved and duplicated": (BEFORE.replace(VALVE, "") + f"\n{VALVE}\n# More\n\n{VALVE}", "ambiguous"),
}


@pytest.mark.parametrize("change", DONE)
def test_each_kind_of_change_has_its_verdict(change: str, tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    wiki.write("pump.md", f"---\nid: 01PUMP\n---\n{BEFORE}")
    try:
        [page] = wiki.call("read_pages", slugs=["pump"], heading="Valve")["pages"]
        uri = page["citation"]["uri"]
        assert not_current(wiki, [uri]) == []
        after, status = DONE[change]
        wiki.write("pump.md", f"---\nid: 01PUMP\n---\n{after}")
        [row] = verdicts(wiki, [uri])
        assert (row["status"], row["currentVersion"]) == (status, 2)
        assert ("movedTo" in row) == (status == "moved")
        (wiki.vault / "pump.md").rename(wiki.vault / "elsewhere.md")
        assert verdicts(wiki, [uri])[0]["status"] == status  # its declared id goes with it
        (wiki.vault / "elsewhere.md").unlink()
        assert verdicts(wiki, [uri])[0]["status"] == "target_missing"
    finally:
        wiki.stop()
