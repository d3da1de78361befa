"""What every lexical index must do. Members are found by themselves: a new file is tested at once."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wikimcp.lexical
from tests.lexical.few_pages import FromPages, chunks_found, page, pages_found, pages_with, texts
from wikimcp.errors import StateError
from wikimcp.ports import LexicalIndex, LexicalSearcher

Open = Callable[[Path], FromPages]
NOT_MEMBERS = {
    "documents",
    "identifiers",
    "segments",
    "statistics",
    "terms",
    "vocabulary",
    "words",
    "writers",
}
OPENERS = {"tantivy": "TantivyIndex"}


def members() -> list[str]:
    return sorted({module.name for module in iter_modules(wikimcp.lexical.__path__)} - NOT_MEMBERS)


@pytest.fixture(params=members(), scope="module")
def open_index(request: pytest.FixtureRequest) -> Open:
    member: str = request.param
    opener: Callable[[Path], LexicalIndex] = getattr(
        import_module(f"wikimcp.lexical.{member}"), OPENERS[member]
    )
    return lambda folder: FromPages(opener(folder))


@pytest.fixture
def index(open_index: Open, tmp_path: Path) -> Iterator[FromPages]:
    made = open_index(tmp_path / "lexical")
    yield made
    made.close()


def of(index: FromPages, *lines: str) -> LexicalSearcher:
    index.write(generation=1, removed=(), added=texts(*lines), fresh=True)
    return index.searcher()


def test_every_member_file_has_an_opener_here() -> None:
    assert set(members()) == set(OPENERS)


# Queries

IDENTIFIERS = "The rule ADR-0042 covers retries in C++ of camelCase, snake_case and a.b.c since v3.1."
NOISE = (
    "Rules of the road.",
    "Retries and cases.",
    "The number 42 is even.",
    "A cover. B sides.",
    "camel and snake",
)


@pytest.mark.parametrize(
    "query",
    [
        "ADR-0042", '"ADR-0042"', "adr-0042", "ADR 0042", "what does ADR-0042 say", "(ADR-0042)", "ADR-0042?",
        "camelCase", "snake_case", "a.b.c", "C++", "v3.1", "`snake_case`",
    ],
)  # fmt: skip
def test_an_identifier_finds_its_page_at_rank_one(index: FromPages, query: str) -> None:
    searcher = of(index, *NOISE[:3], IDENTIFIERS, *NOISE[3:])
    assert chunks_found(searcher, query)[0] == (4, 0)
    assert pages_found(searcher, query)[0] == 4 or query == "C++"


WORDS = {
    "deploy/local": "We deploy/local first.",
    "server.json": "It reads server.json at start.",
    "don't": "They don't know the valve.",
    "a::b": "Call a::b for that.",
    "user@x.test": "Write to user@x.test about it.",
    "C++": "Parts are written in C++ code.",
    "path:alpha": "The path:alpha of it.",
    "real-time": "A real-time display.",
    "-x flag": "Use the -x flag.",
    "10-20": "Between 10-20 litres.",
    "naïve café": "A naive cafe by the sea.",
    "STRASSE": "Die Straße am Hafen.",
}


@pytest.mark.parametrize("query", WORDS)
def test_punctuation_is_text_and_the_literal_words_are_found_first(index: FromPages, query: str) -> None:
    others = [text for key, text in WORDS.items() if key != query]
    searcher = of(index, *others[:5], WORDS[query], *others[5:], "alpha beta gamma")
    assert chunks_found(searcher, query)[0] == (6, 0)


@pytest.mark.parametrize(
    "query",
    [
        "*", "**", "AND", "OR", "NOT", "NOT alpha", "alpha AND", "(alpha", "alpha)", "NEAR(a b", '"unclosed', '""', "",
        " ", "\t\n", "%", "_", "\0", "al\0pha", "alpha^2", "title:alpha", "[a TO b]", "{a}", "alpha~", "+alpha -beta",
        "\\", "\\\\", "'", "a'b", "💥", "\ud800", "é" * 300, "alpha " * 3_334, "x" * 20_000, "?", "!!", "^", "~1", "&&",
        "||", "/", "//", "\u200b", "\u202e", "ﬁ", "İ", "ß", "\u0301", "0", "00", "-1", "1e9", ".", "..", "a..b", "🦊🦊",
    ],
)  # fmt: skip
def test_any_string_is_a_query_and_operators_are_words(index: FromPages, query: str) -> None:
    searcher = of(index, "alpha one", "beta two and not three", "gamma")
    hits = searcher.search(query, limit=10)
    assert len(hits.chunk_ids) == len(hits.chunk_scores) <= 3
    assert len(hits.page_revs) == len(hits.page_scores) <= 3
    assert np.isfinite(hits.chunk_scores).all() and np.isfinite(hits.page_scores).all()
    assert (hits.chunk_scores > 0).all()
    found = searcher.count_pages(query)
    assert found == len(pages_found(searcher, query))
    if "alpha" in query.replace("\0", " ").split():
        assert 1 in pages_found(searcher, query)
    assert searcher.count_pages(query, allowed=[]) == 0


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=60))
def test_no_query_fails(shared: LexicalSearcher, query: str) -> None:
    hits = shared.search(query, limit=5)
    assert shared.count_pages(query) >= len(set(map(int, hits.page_revs)) - {0})
    assert 0 not in [int(rev) for rev in hits.page_revs]
    shared.analyze(query)


@pytest.fixture(scope="module")
def shared(open_index: Open, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LexicalSearcher]:
    index = open_index(tmp_path_factory.mktemp("shared") / "lexical")
    index.write(
        generation=1, removed=(), added=texts(*WORDS.values(), IDENTIFIERS, *CJK.values()), fresh=True
    )
    yield index.searcher()
    index.close()


def test_lower_case_operators_are_stop_words_that_find_what_stands_alone(index: FromPages) -> None:
    searcher = of(index, "not here", "pumps and valves", "other")
    assert pages_found(searcher, "not") == [1]
    assert pages_found(searcher, "and") == [2]
    assert pages_found(searcher, "valves and pumps") == [2]


# Scripts

CJK = {
    "巡检": "把巡检结果写进周报，然后通知值班",
    "周报": "把巡检结果写进周报，然后通知值班",
    "通知": "把巡检结果写进周报，然后通知值班",
    "設定": "設定ファイルを直した",
    "ファイル": "設定ファイルを直した",
    "절차": "배포 절차를 적었다",
    "배포 절차": "배포 절차를 적었다",
    "川": "川の水位を測る",
    "Đường": "Đường dây nóng",
    "сад": "Вишнёвый сад у дома",
    "САД": "Вишнёвый сад у дома",
}
OTHERS = ("把结果写好", "検査の結", "지난 배 주", "水が多い", "English words only", "결과 보고", "检查日报")


@pytest.mark.parametrize("query", CJK)
def test_words_of_other_scripts_are_found_first(index: FromPages, query: str) -> None:
    searcher = of(index, *OTHERS[:4], CJK[query], *OTHERS[4:])
    assert chunks_found(searcher, query)[0] == (5, 0)
    assert pages_found(searcher, query)[0] == 5


def test_a_word_of_two_characters_is_not_swamped_by_each_of_them(index: FromPages) -> None:
    searcher = of(index, "检巡", "巡 检", "检 检 检 检 巡 巡", "今天巡检了")
    assert pages_found(searcher, "巡检") == [4]


def test_one_character_alone_is_a_query(index: FromPages) -> None:
    searcher = of(index, "川の水位", "河の水位", "山川を行く")
    assert sorted(pages_found(searcher, "川")) == [1, 3]


# Short words


def test_short_words_count(index: FromPages) -> None:
    searcher = of(index, "pump io note", "pump note", "written in Go", "the R language", "plain")
    assert pages_found(searcher, "io") == [1]
    assert pages_found(searcher, "pump io")[0] == 1
    assert chunks_found(searcher, "pump io")[0] == (1, 0)
    assert pages_found(searcher, "Go")[0] == 3
    assert pages_found(searcher, "R") == [4]


def test_a_word_that_nothing_holds_never_matches_everything(index: FromPages) -> None:
    searcher = of(index, "pump io note", "pump note")
    for query in ("zz", "q", "vrell quontip", "::", "@"):
        assert pages_found(searcher, query) == [] and chunks_found(searcher, query) == []
        assert searcher.count_pages(query) == 0


# What is found of a page


def test_title_headings_summary_tags_aliases_path_cluster_and_text_find_a_page(index: FromPages) -> None:
    filled = page(
        1,
        ["Body of oats.", "More of rye."],
        path="ops/harbour-gate.md",
        title="Lantern room",
        summary="About quinces.",
        tags=("tidal",),
        aliases=("Old mill",),
        headings=("Ferry", "Slipway"),
        cluster="waterworks",
    )
    index.write(generation=1, removed=(), added=[filled, page(2, "other")], fresh=True)
    searcher = index.searcher()
    for word in ("lantern", "quinces", "tidal", "mill", "oats", "rye", "waterworks", "harbour", "gate"):
        assert pages_found(searcher, word) == [1], word
    assert chunks_found(searcher, "ferry") == [(1, 0)]
    assert chunks_found(searcher, "slipway") == [(1, 1)]
    assert chunks_found(searcher, "rye")[0] == (1, 1)
    assert {chunk for chunk, _ in chunks_found(searcher, "lantern")} == {1}


def test_words_are_found_in_other_forms_and_the_form_asked_for_comes_first(index: FromPages) -> None:
    searcher = of(index, "He grinds corn.", "Grinding is loud.", "They grind flour.", "Nothing here.")
    assert sorted(pages_found(searcher, "grinding")) == [1, 2, 3]
    assert chunks_found(searcher, "grinding")[0] == (2, 0)


def test_more_of_the_words_asked_for_come_before_more_of_one(index: FromPages) -> None:
    searcher = of(index, "valve " * 30, "valve pressure relief", "pressure", "relief map")
    assert chunks_found(searcher, "valve pressure relief")[0] == (2, 0)


def test_terms_tell_what_they_are_and_how_many_pages_hold_them(index: FromPages) -> None:
    searcher = of(index, "barley and oats", "barley mill", "barley fields", "barley 川", "rye")
    hits = searcher.search("Where is the Barley mill, quern 川?", limit=5)
    terms = {term.surface: term for term in hits.terms}
    assert set(terms) == {"barley", "mill", "quern", "川"}
    assert (terms["barley"].pages, terms["mill"].pages, terms["quern"].pages, terms["川"].pages) == (
        4,
        1,
        0,
        1,
    )
    assert terms["barley"].weight < terms["mill"].weight < terms["quern"].weight
    assert not terms["barley"].distinctive and terms["mill"].distinctive
    assert all(word in hits.interpreted_as for word in terms)
    assert searcher.analyze("The mills, grinding") == ["the", "mill", "grind"]


def test_a_query_of_twenty_thousand_characters_is_cut_to_its_rarest_words(index: FromPages) -> None:
    searcher = of(index, *(f"common words here and number{n}" for n in range(30)), "a lone kestrel")
    query = "kestrel " + "common words " * 2_000
    assert len(query) > 20_000
    assert chunks_found(searcher, query)[0] == (31, 0)


# Filters


def test_only_allowed_pages_are_found_and_none_of_them_is_starved(index: FromPages) -> None:
    pages = [page(rev, ["valve " * (1 + rev % 7), "seal"]) for rev in range(1, 4_001)]
    index.write(generation=1, removed=(), added=pages, fresh=True)
    searcher = index.searcher()
    weakest = {rev for rev in range(1, 4_001) if rev % 7 == 0}
    chance = random.Random(3)
    few, many = set(chance.sample(sorted(weakest), 5)), set(range(1, 4_001)) - {7, 14, 21}
    for allowed in (few, weakest, many, set(range(2, 4_001, 2))):
        limit = min(len(allowed), 300)
        assert set(pages_found(searcher, "valve", limit=limit, allowed=allowed)) <= allowed
        assert len(pages_found(searcher, "valve", limit=limit, allowed=allowed)) == limit
        found = chunks_found(searcher, "valve", limit=limit, allowed=allowed)
        assert len(found) == limit and {rev for rev, _ in found} <= allowed
        assert searcher.count_pages("valve", allowed=allowed) == len(allowed)
    assert set(pages_found(searcher, "valve", limit=5_000, allowed=many)) == many
    assert pages_found(searcher, "valve", allowed=[9_999]) == []
    assert pages_found(searcher, "valve", allowed=[]) == []
    assert searcher.count_pages("valve") == 4_000


def test_a_filter_changes_no_score(index: FromPages) -> None:
    searcher = of(index, "valve", "valve seal", "valve valve", "other")
    free = searcher.search("valve seal", limit=9)
    kept = searcher.search("valve seal", limit=9, allowed=[1, 2, 3])
    assert kept.chunk_ids.tolist() == free.chunk_ids.tolist()
    assert kept.chunk_scores.tolist() == pytest.approx(free.chunk_scores.tolist(), abs=1e-5)


# Changes


def test_a_searcher_stays_at_its_moment_and_a_new_one_sees_the_commit(index: FromPages) -> None:
    before = of(index, "valve", "seal")
    index.write(generation=2, removed=[1], added=[page(3, "valve anew"), page(4, "kestrel")])
    after = index.searcher()
    assert (before.generation, after.generation) == (1, 2)
    assert pages_found(before, "valve") == [1] and pages_found(before, "kestrel") == []
    assert pages_found(after, "valve") == [3] and pages_found(after, "kestrel") == [4]


def test_a_new_index_is_empty_and_of_generation_zero(index: FromPages) -> None:
    searcher = index.searcher()
    assert searcher.generation == 0
    assert pages_found(searcher, "anything") == [] and searcher.count_pages("anything") == 0


def test_a_deleted_page_leaves_no_trace(index: FromPages, open_index: Open, tmp_path: Path) -> None:
    lines = [f"valve number{n} seal" for n in range(20)]
    of(index, *lines, "valve secret quillhaven", "quillhaven twice quillhaven")
    index.write(generation=2, removed=[21, 22], added=())
    searcher = index.searcher()
    other = open_index(tmp_path / "never")
    other.write(generation=1, removed=(), added=texts(*lines), fresh=True)
    never = other.searcher()
    for query in ("quillhaven", "secret valve", "valve", "seal quillhaven", "twice"):
        mine, theirs = searcher.search(query, limit=50), never.search(query, limit=50)
        assert mine.terms == theirs.terms
        assert searcher.count_pages(query) == never.count_pages(query)
        assert sorted(mine.chunk_ids.tolist()) == sorted(theirs.chunk_ids.tolist())
    assert pages_with(searcher, "quillhaven valve") == {"quillhaven": 0, "valve": 20}
    other.close()


def test_texts_that_were_replaced_do_not_count_in_the_scores(
    index: FromPages, open_index: Open, tmp_path: Path
) -> None:
    lines = ("valve one two three", "plain text of words", "plain words of text")
    of(index, *lines)
    text = "valve ADR-0042 巡检 plain and simple"
    for generation in range(2, 7):  # few enough that nothing is merged yet
        gone = [1] if generation == 2 else [98 + generation]
        index.write(
            generation=generation, removed=gone, added=[page(99 + generation, text, path="p.md", title="P")]
        )
    other = open_index(tmp_path / "fresh")
    other.write(
        generation=1, removed=(), added=[*texts(*lines[1:], first=2), page(105, text, path="p.md", title="P")],
        fresh=True,
    )  # fmt: skip
    for query in ("valve", "plain", "ADR-0042", "巡检", "valve plain", "plain and simple"):
        mine, theirs = index.searcher().search(query, limit=9), other.searcher().search(query, limit=9)
        assert mine.chunk_ids.tolist() == theirs.chunk_ids.tolist()
        assert mine.chunk_scores.tolist() == pytest.approx(theirs.chunk_scores.tolist(), rel=0.1)
        assert mine.page_scores.tolist() == pytest.approx(theirs.page_scores.tolist(), rel=0.35)
    other.close()


def test_many_edits_of_one_page_do_not_wear_its_words_out(index: FromPages) -> None:
    of(index, "valve one", "plain text", "plain words")
    for generation in range(2, 30):
        index.write(
            generation=generation, removed=[generation + 98 if generation > 2 else 1],
            added=[page(generation + 99, "valve ADR-0042 巡检 plain and simple")],
        )  # fmt: skip
    searcher = index.searcher()
    assert pages_with(searcher, "valve plain") == {"valve": 1, "plain": 3}
    for query in ("valve", "ADR-0042", "巡检", "valve plain", "simple plain"):
        hits = searcher.search(query, limit=9)
        assert int(hits.page_revs[0]) == 128 and int(hits.chunk_ids[0]) >> 16 == 128, query
        assert (hits.chunk_scores > 0).all() and (hits.page_scores > 0).all()


def test_a_fresh_write_starts_from_nothing(index: FromPages) -> None:
    of(index, "valve", "seal")
    index.write(generation=1, removed=(), added=texts("kestrel", first=1), fresh=True)
    searcher = index.searcher()
    assert pages_found(searcher, "valve") == [] and pages_found(searcher, "kestrel") == [1]


def test_a_write_takes_lazy_pages_and_reads_the_removals_after_them(index: FromPages) -> None:
    of(index, "valve", "seal")
    removed: list[int] = []

    def pages() -> Iterator[object]:
        yield page(3, "kestrel")
        removed.append(2)

    index.write(generation=2, removed=iter_later(removed), added=pages())  # type: ignore[arg-type]
    searcher = index.searcher()
    assert pages_found(searcher, "seal") == [] and pages_found(searcher, "kestrel") == [3]


def iter_later(values: list[int]) -> Iterator[int]:
    yield from values


def test_a_write_that_fails_changes_nothing_and_the_next_one_works(index: FromPages) -> None:
    of(index, "valve")

    def broken() -> Iterator[object]:
        yield page(2, "kestrel")
        raise KeyError("a fault of the one who reads the pages")

    with pytest.raises((KeyError, StateError)):
        index.write(generation=2, removed=[1], added=broken())  # type: ignore[arg-type]
    assert pages_found(index.searcher(), "valve") == [1]
    assert index.searcher().generation == 1
    index.write(generation=2, removed=[1], added=[page(3, "osprey")])
    assert pages_found(index.searcher(), "kestrel valve osprey") == [3]


def test_an_index_is_read_again_after_it_was_closed(
    index: FromPages, open_index: Open, tmp_path: Path
) -> None:
    of(index, "valve 巡检 ADR-0042")
    index.close()
    again = open_index(tmp_path / "lexical")
    searcher = again.searcher()
    assert searcher.generation == 1
    for query in ("valve", "巡检", "ADR-0042"):
        assert pages_found(searcher, query) == [1] or chunks_found(searcher, query) == [(1, 0)]
    again.write(generation=2, removed=[1], added=[page(2, "kestrel")])
    assert pages_found(again.searcher(), "kestrel valve") == [2]
    again.close()


def test_two_writers_of_one_folder_take_turns_and_readers_are_free(
    index: FromPages, open_index: Open, tmp_path: Path
) -> None:
    of(index, *(f"valve {n}" for n in range(50)))
    other = open_index(tmp_path / "lexical")
    for turn in range(6):
        for number, writer in enumerate((index, other)):
            generation = 2 + 2 * turn + number
            writer.write(generation=generation, removed=(), added=[page(100 + generation, "kestrel")])
            for reader in (index, other):
                searcher = reader.searcher()
                assert searcher.generation == generation
                assert len(pages_found(searcher, "kestrel")) == generation - 1
    other.close()


def test_the_weight_of_a_term_is_its_idf_among_the_pages_that_are_there(index: FromPages) -> None:
    of(index, "valve", "valve seal", "other", "more", "again")
    index.write(generation=2, removed=[4, 5], added=())
    (term,) = index.searcher().search("valve", limit=1).terms
    assert term.weight == pytest.approx(math.log(1 + (3 - 2 + 0.5) / (2 + 0.5)))


@pytest.mark.parametrize("file", ["meta.json", "segments", "everything"])
def test_a_damaged_index_is_an_error_of_state_and_never_an_empty_answer(
    index: FromPages, open_index: Open, tmp_path: Path, file: str
) -> None:
    of(index, *(f"valve {n}" for n in range(50)))
    index.close()
    for path in sorted((tmp_path / "lexical").rglob("*")):
        if path.is_file() and (
            path.name == file or file == "everything" or (file == "segments" and "meta" not in path.name)
        ):
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    with pytest.raises(StateError):
        searcher = open_index(tmp_path / "lexical").searcher()
        assert searcher.generation == 1
        searcher.search("valve", limit=5)
