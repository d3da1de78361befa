"""Progressive loading: the levels that a question gets, within budgets, with sources and gaps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.vaults.dialects import Served, put, served
from tests.verb_runs import Run, verb_runs
from wikimcp.errors import NotFound
from wikimcp.guide.context import BUDGETS, CAPS, Kind, LoadedContext, load_context
from wikimcp.guide.link_map import LinkMap, link_map, map_text
from wikimcp.index.view import PageRecord, Reading
from wikimcp.markdown.tokens import count_tokens
from wikimcp.models import Caller
from wikimcp.tools.contract import ToolContext
from wikimcp.tools.retrieve_context import best_pages

ROOT = Path(__file__).parents[2]
LONG = "".join(
    f"## Part {number}\n\nMany words about sacks of barley and their weight. {'More of them. ' * 12}\n\n"
    for number in range(12)
)
FILES = {
    "hot.md": "---\ntitle: Hot\n---\n# Hot\n\nThe ferry timetable was moved to Monday.\n",
    "index.md": "# Index\n\nAll of it.\n\n"
    + "".join(f"- entry {number} of this index\n" for number in range(200))
    + "- the quern stands here\n",
    "mill/hub.md": "---\ncluster: milling\ntype: hub\n---\n# Milling\n\n[[millstone dressing]] [[sieves]]\n",
    "mill/millstone dressing.md": "---\ncluster: milling\naliases: [stone dressing]\n---\n# Millstone dressing\n\n"
    "The stone is dressed with a mill bill. See [[sieves]].\n\n"
    + LONG
    + "## Furrows\n\nFurrows are recut every fortnight.\n",
    "mill/sieves.md": "---\ncluster: milling\n---\n# Sieves\n\nBran is sieved off. See [[harbour dues]].\n",
    "port/harbour dues.md": "---\ncluster: shipping\n---\n# Harbour dues\n\nDues are paid per tonne at the quay. [[lonely]]\n",
    "port/pilots.md": "---\ncluster: shipping\n---\n# Pilots\n\nPilots board at the buoy.\n",
    "lonely.md": "---\ncluster: rest\n---\n# Lonely\n\nNothing links on from here.\n",
    "secret.md": "---\ndraft: true\ncluster: milling\naliases: [Markername]\n---\n# Secret\n\nMarkerword is sieved. [[sieves]]\n",
}


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(put(tmp_path_factory.mktemp("context") / "v", FILES)) as found:
        yield found


def ranking(reading: Reading, question: str) -> Sequence[PageRecord]:
    return best_pages(reading, question, ToolContext())


def load(wiki: Served, question: str, **asked: Any) -> LoadedContext:
    found: LoadedContext = wiki.service.examine(
        Caller(), lambda reading: load_context(reading, question, ranking=ranking, **asked)
    )
    assert found.tokens == sum(count_tokens(part.text) for part in found.loaded) <= found.budget
    assert all(part.tokens <= CAPS[part.level] for part in found.loaded)
    return found


def around(wiki: Served, name: str, **asked: Any) -> LinkMap:
    found: LinkMap = wiki.service.examine(
        Caller(), lambda reading: link_map(reading, reading.resolve(name), **asked)
    )
    return found


def levels(found: LoadedContext) -> list[str]:
    return [part.level for part in found.loaded]


@pytest.mark.parametrize(
    ("question", "kind", "loaded"),
    [
        ("what changed lately?", Kind.RECENT, ["L0"]),
        ("what are we working on this week", Kind.RECENT, ["L0"]),
        ("how is millstone dressing done?", Kind.NAMED, ["L0", "L3"]),
        ("tools for stone dressing", Kind.NAMED, ["L0", "L3"]),
        ("what did millstone dressing look like lately", Kind.NAMED, ["L0", "L3"]),
        ("an overview of shipping", Kind.DOMAIN, ["L0", "L1", "L2"]),
        ("when do they come aboard near the buoy", Kind.DEPTH, ["L0", "L1", "L2", "L3"]),
        ("costs of milling and of shipping", Kind.SEVERAL, ["L0", "L1", "L2", "L2", "L3", "L3"]),
        ("millstone dressing and harbour dues", Kind.SEVERAL, ["L0", "L1", "L2", "L2", "L3", "L3"]),
        ("what do we know about sieves", Kind.EXPLORE, ["L0", "L1", "graph"]),
        ("How are the pilots related to sieves?", Kind.EXPLORE, ["L0", "L1", "graph"]),
    ],
)
def test_the_form_of_a_question_decides_its_levels_and_budget(
    wiki: Served, question: str, kind: Kind, loaded: list[str]
) -> None:
    found = load(wiki, question)
    assert (found.kind, levels(found)) == (kind, loaded), found.why
    assert found.budget == BUDGETS[kind]


def test_the_budgets_are_those_of_the_contract() -> None:
    assert sorted(set(BUDGETS.values())) == [500, 1_000, 1_100, 1_500, 2_500]


def test_parts_say_where_they_are_from_and_hold_no_frontmatter(wiki: Served) -> None:
    hot, page = load(wiki, "how is millstone dressing done?").loaded
    assert (hot.uri, hot.source, hot.cut) == ("wiki://hot", "hot @ 1", False)
    assert hot.text == "# Hot\n\nThe ferry timetable was moved to Monday.\n"
    assert (
        page.uri == "wiki://page/mill%2Fmillstone%20dressing" and page.source == "mill/millstone dressing @ 1"
    )
    assert "cluster:" not in page.text


def test_of_a_long_page_the_sections_that_hold_the_question_are_loaded(wiki: Served) -> None:
    part = load(wiki, "how often are furrows recut in millstone dressing?").loaded[-1]
    assert part.cut and "recut every fortnight" in part.text and part.text.endswith("…\n")
    assert part.text.index("# Millstone dressing") < part.text.index("## Furrows")


def test_of_a_long_index_the_lines_that_hold_the_question_come_along(wiki: Served) -> None:
    index = next(
        part for part in load(wiki, "a quern in an overview of shipping").loaded if part.level == "L1"
    )
    assert (
        index.cut
        and index.text.startswith("# Index\n\nAll of it.\n")
        and "- the quern stands here" in index.text
    )


def test_loading_stops_when_the_hot_page_holds_the_words(wiki: Served) -> None:
    found = load(wiki, "ferry timetable on Monday")
    assert levels(found) == ["L0"] and found.stopped == "L0" and found.gaps == ()
    assert load(wiki, "when do they come aboard near the buoy").stopped == "L3"
    assert load(wiki, "an overview of shipping").stopped == ""


def test_gaps_tell_what_no_page_and_no_loaded_part_holds(wiki: Served) -> None:
    found = load(wiki, "how do pilots feed a giraffe barley?", kind=Kind.RECENT)
    assert any("no page holds" in gap and "giraffe" in gap for gap in found.gaps)
    assert any(
        "in nothing that was loaded" in gap and "barley" in gap and "giraffe" not in gap for gap in found.gaps
    )


def test_a_small_budget_leaves_levels_out_and_says_so(wiki: Served) -> None:
    found = load(wiki, "costs of milling and of shipping", budget=350)
    assert found.budget == 350 and len(found.loaded) < 6
    assert any(gap.startswith("left out for want of room: L") for gap in found.gaps)


def test_a_vault_without_hub_pages_has_its_levels_made_from_the_catalog(tmp_path: Path) -> None:
    files = {name: text for name, text in FILES.items() if name not in ("hot.md", "index.md")}
    with served(put(tmp_path / "v", files)) as bare:
        found = load(bare, "when do they come aboard near the buoy")
        assert levels(found) == ["L0", "L1", "L2", "L3"]
        assert [part.source for part in found.loaded] == ["catalog", "catalog", "catalog", "port/pilots @ 1"]
        assert {gap[:2] for gap in found.gaps if "made of" in gap} == {"L0", "L1"}


def test_withheld_pages_are_in_no_part_and_name_nothing(wiki: Served) -> None:
    for question in ("what do we know about Markername?", "Markerword sieved", "secret"):
        assert "Marker" not in json.dumps([part.text for part in load(wiki, question).loaded])


def test_the_graph_shows_titles_first_paragraphs_and_links_two_links_far(wiki: Served) -> None:
    found = around(wiki, "hub")
    assert [(node.slug, node.depth) for node in found.nodes] == [
        ("mill/hub", 0), ("mill/millstone dressing", 1), ("mill/sieves", 1), ("port/harbour dues", 2),
    ]  # fmt: skip
    assert found.nodes[1].paragraph == "The stone is dressed with a mill bill. See sieves."
    assert found.nodes[2].links == ("port/harbour dues",) and found.left_out == 0
    assert [node.slug for node in around(wiki, "hub", depth=1).nodes] == [
        "mill/hub",
        "mill/millstone dressing",
        "mill/sieves",
    ]
    few = around(wiki, "hub", most=2)
    assert len(few.nodes) == 2 and few.left_out == 1


def test_a_graph_holds_at_most_fifteen_pages_and_fits_its_tokens(tmp_path: Path) -> None:
    files = {f"p{n}.md": f"# P{n}\n\n{'word ' * 200}\n" for n in range(40)}
    files["start.md"] = "# Start\n\n" + " ".join(f"[[p{n}]]" for n in range(40)) + "\n"
    with served(put(tmp_path / "v", files)) as wide:
        found = around(wide, "start")
        assert len(found.nodes) == 15 and found.left_out == 26
        assert all(len(node.paragraph) <= 241 for node in found.nodes)
        for tokens in (700, 120):
            tight = around(wide, "start", tokens=tokens)
            assert count_tokens(map_text(tight)) <= tokens and tight.nodes[0].slug == "start"
        assert len(tight.nodes) + tight.left_out == 41


def test_the_graph_is_a_resource_too(wiki: Served) -> None:
    text = wiki.service.read_resource("wiki://graph/mill%2Fhub", Caller())
    assert text.startswith("# Around mill/hub") and "  - Sieves (`mill/sieves`): Bran is sieved off." in text
    assert "wiki://graph/{slug}" in [uri for uri, _, _ in wiki.service.resource_templates()]
    with pytest.raises(NotFound, match="no page named"):
        wiki.service.read_resource("wiki://graph/secret", Caller())


def test_on_the_sample_vault_each_kind_stays_within_its_budget(tmp_path: Path) -> None:
    with served(ROOT / "sample_vault", state_dir=str(tmp_path)) as sample:
        for question in (
            "what changed lately?",
            "what do we know about seat holds?",
            "how do I roll back a deploy?",
        ):
            assert load(sample, question).loaded[0].source == "hot @ 1"


# The verb


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    put(tmp_path / "vault", FILES)
    return verb_runs(tmp_path, monkeypatch, capsys)


def test_the_verb_prints_what_was_loaded_with_tokens_sources_and_gaps(run: Run) -> None:
    code, out, err = run("context", "how", "is", "millstone dressing", "done?")
    assert code == 0 and not err
    assert out.startswith("named: it names a page: mill/millstone dressing; L0 + L3 within 1,000 tokens\n")
    assert "--- L0 wiki://hot (" in out and "of 1,000 tokens" in out and "hot @ 1" in out
    told = json.loads(run("context", "what do we know about sieves", "--json")[1])
    assert told["kind"] == "explore" and told["tokens"] <= told["budget"] == 1_500
    assert [part["level"] for part in told["loaded"]] == ["L0", "L1", "graph"]
    assert told["graph"]["nodes"][0]["slug"] == "mill/sieves"
    assert (
        json.loads(run("context", "sieves", "--kind", "recent", "--budget", "200", "--json")[1])["budget"]
        == 200
    )


def test_the_verb_shows_what_lies_around_a_page(run: Run) -> None:
    code, out, _ = run("context", "--graph", "hub", "--depth", "1")
    assert (
        code == 0
        and out.startswith("# Around mill/hub\n")
        and "harbour" not in out.split("\n\n")[1].split("->")[0]
    )
    assert json.loads(run("context", "--graph", "hub", "--json", "--limit", "1")[1])["leftOut"] == 2


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "takes a question, or --graph"),
        (("x", "--graph", "hub"), 2, "takes a question, or --graph"),
        (("x", "--budget", "9"), 2, "--budget is 100 to 24,000 tokens"),
        (("x", "--kind", "odd"), 2, "invalid choice"),
        (("--graph", "hub", "--depth", "5"), 2, "--depth is 1 or 2"),
        (("--graph", "hub", "--limit", "99"), 2, "--limit is 1 to 15"),
        (("--graph", "secret"), 1, "no page named 'secret'"),
    ],
)
def test_wrong_use_is_told(run: Run, words: tuple[str, ...], code: int, said: str) -> None:
    found, out, err = run("context", *words)
    assert (found, out) == (code, "") and said in err
