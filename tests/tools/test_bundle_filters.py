"""Filters work before ranking: what is outside is never seen, what is inside is never starved."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.tools.bundle_wiki import BundleWiki, structured, wiki_of


def page(title: str, text: str, **fields: str) -> str:
    head = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return f"---\n{head}---\n# {title}\n\n{text}\n"


PAGES = {
    **{
        f"many/{number:03}.md": page(
            f"Pump {number}", f"Oil the pump of the mill in March. {number}.", cluster="mill", type="note"
        )
        for number in range(300)
    },
    "ops/rare.md": page(
        "Wheel", "A pump stands here.", cluster="mill/wheel", tags="[oil, rare]", type="runbook"
    ),
    "ops/other.md": page("Yard", "No word, but a pump.", cluster="yard", tags="[oil]", type="Runbook"),
    "far/away.md": page("Ships", "Ships sail at dawn.", tags="[rare]"),
}
QUESTION = "oil the pump of the mill"


@pytest.fixture(scope="module", params=["wordllama", "none"])
def wiki(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleWiki]:
    with wiki_of(tmp_path_factory.mktemp(request.param), PAGES, embedder=request.param) as found:
        yield found


@pytest.mark.parametrize(
    ("filters", "slugs"),
    [
        ({"cluster": "mill/wheel"}, {"ops/rare"}),
        ({"cluster": "Yard"}, {"ops/other"}),
        ({"tags": ["rare", "oil"]}, {"ops/rare"}),
        ({"tags": ["#oil"]}, {"ops/rare", "ops/other"}),
        ({"type": "RUNBOOK"}, {"ops/rare", "ops/other"}),
        ({"path_prefix": "ops/"}, {"ops/rare", "ops/other"}),
        ({"path_prefix": "ops/ra"}, {"ops/rare"}),
        ({"path_prefix": "ops/", "cluster": "mill"}, {"ops/rare"}),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_pages_far_down_the_ranking_are_found_when_the_filter_asks_for_them(
    wiki: BundleWiki, filters: dict[str, object], slugs: set[str], mode: str
) -> None:
    assert set(wiki.slugs(QUESTION, mode=mode, **filters)) == slugs
    data = structured(wiki.call("retrieve_context", query=QUESTION, **filters))
    assert {row["slug"] for row in data["pages"]} == slugs
    assert data["totalMatched"] == len(slugs)


def test_a_cluster_includes_those_below_it(wiki: BundleWiki) -> None:
    found = set(wiki.slugs("wheel pump", cluster="mill", limit=30, token_budget=24_000))
    assert "ops/rare" in found
    assert "ops/other" not in found
    assert any(slug.startswith("many/") for slug in found)


def test_what_has_no_word_of_the_question_is_found_by_meaning_inside_of_a_filter(wiki: BundleWiki) -> None:
    data = wiki.bundle("when do vessels leave", path_prefix="far/")
    if data["mode"] == "hybrid":
        assert [section["slug"] for section in data["sections"]] == ["far/away"]
    else:
        assert data["sections"] == []


@pytest.mark.parametrize(
    ("filters", "note"),
    [
        ({"cluster": "mil"}, "no visible page has cluster 'mil'; nearest: 'mill'"),
        ({"tags": ["oyl"]}, "no visible page has tag 'oyl'; nearest: 'oil'"),
        ({"type": "runbok"}, "no visible page has type 'runbok'; nearest: "),
        ({"path_prefix": "opps/"}, "no visible page has path_prefix 'opps/'; nearest: 'ops/'"),
    ],
)
def test_a_value_that_no_page_has_gives_a_note_with_the_nearest(
    wiki: BundleWiki, filters: dict[str, object], note: str
) -> None:
    data = wiki.bundle(QUESTION, **filters)
    assert data["sections"] == []
    assert data["coverage"]["confidence"] == "weak"
    assert any(found.startswith(note) for found in data["notes"])
    context = structured(wiki.call("retrieve_context", query=QUESTION, **filters))
    assert (context["pages"], context["totalMatched"]) == ([], 0)
    assert any(found.startswith(note) for found in context["notes"])


def test_empty_filters_filter_nothing(wiki: BundleWiki) -> None:
    plain = wiki.bundle(QUESTION)
    assert wiki.bundle(QUESTION, cluster="", tags=[], type="", path_prefix="") == plain
