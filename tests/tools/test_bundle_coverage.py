"""Coverage over real pages: off-topic questions weak, what is there partial or strong, counts exact."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.bundle_wiki import SAMPLE_VAULT, BundleWiki, wiki_of

SHARED = Path(__file__).parents[3] / "shared"
PUMPS = {
    f"{name}.md": f"# {name.title()} of the pump\n\nThe {name} of the feed pump: {text}\n"
    for name, text in {
        "oil": "change the oil of the feed pump every two hundred hours.",
        "seal": "replace the shaft seal of the feed pump when it drips.",
        "valve": "open the suction valve before the feed pump is started.",
        "motor": "the motor of the feed pump draws eleven amperes.",
    }.items()
}
ON_TOPIC = "when is the oil of the feed pump changed"
FAR_OFF = [
    "how to knit a scarf",
    "vrell quontip",
    "who won the song contest in 1987",
    "best pizza dough recipe",
]


@pytest.fixture(scope="module")
def pumps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleWiki]:
    with wiki_of(tmp_path_factory.mktemp("pumps"), PUMPS) as wiki:
        yield wiki


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleWiki]:
    with wiki_of(tmp_path_factory.mktemp("sample"), SAMPLE_VAULT) as wiki:
        yield wiki


def test_what_the_wiki_answers_is_strong_and_needs_no_next_step(pumps: BundleWiki) -> None:
    coverage = pumps.bundle(ON_TOPIC)["coverage"]
    assert coverage["confidence"] == "strong"
    assert coverage["sectionCount"] == coverage["distinctPageCount"] == 4
    assert coverage["topSimilarity"] > 0.6
    assert coverage["missingTerms"] == []
    assert "next" not in coverage


def test_a_word_that_no_page_holds_is_missing_and_the_answer_is_not_called_strong(pumps: BundleWiki) -> None:
    coverage = pumps.bundle(f"{ON_TOPIC} on a zorp")["coverage"]
    assert (coverage["confidence"], coverage["missingTerms"]) == ("partial", ["zorp"])
    assert coverage["topSimilarity"] > 0.55


@pytest.mark.parametrize("query", FAR_OFF)
def test_what_it_does_not_is_weak_with_its_raw_similarity(pumps: BundleWiki, query: str) -> None:
    coverage = pumps.bundle(query)["coverage"]
    assert coverage["confidence"] == "weak"
    assert -1.0 < coverage["topSimilarity"] < 0.43
    assert coverage["missingTerms"]


def test_strong_needs_three_sections(pumps: BundleWiki) -> None:
    for limit, confidence in ((1, "partial"), (2, "partial"), (3, "strong")):
        coverage = pumps.bundle(ON_TOPIC, limit=limit)["coverage"]
        assert (coverage["sectionCount"], coverage["confidence"]) == (limit, confidence)


def test_a_vault_of_three_tiny_pages_can_be_strong(tmp_path: Path) -> None:
    pages = {name: PUMPS[name] for name in ("oil.md", "seal.md", "valve.md")}
    with wiki_of(tmp_path, pages) as wiki:
        data = wiki.bundle(ON_TOPIC)
    assert data["sections"][0]["slug"] == "oil"
    assert data["coverage"]["confidence"] == "strong"


def test_strong_is_counted_anew_when_pages_are_withheld(tmp_path: Path) -> None:
    pages = {name: PUMPS[name] for name in ("oil.md", "seal.md", "valve.md")}
    with wiki_of(tmp_path, pages, flags={"watch": False}) as wiki:
        assert wiki.bundle(ON_TOPIC)["coverage"]["confidence"] == "strong"
        wiki.write("seal.md", f"---\ndraft: 'on'\n---\n{PUMPS['seal.md']}")
        coverage = wiki.bundle(ON_TOPIC)["coverage"]
    assert (coverage["sectionCount"], coverage["confidence"]) == (2, "partial")


def test_without_an_embedder_nothing_is_known_of_similarity(tmp_path: Path) -> None:
    with wiki_of(tmp_path, PUMPS, embedder="none") as wiki:
        data = wiki.bundle(ON_TOPIC)
        nothing = wiki.bundle("vrell quontip")
    coverage = data["coverage"]
    assert (coverage["confidence"], coverage["topSimilarity"]) == ("unknown", -1.0)
    assert "liftedBy" not in coverage
    assert "searched by words only: no embedder is on" in data["notes"]
    assert data["mode"] == "lexical"
    assert (nothing["coverage"]["confidence"], nothing["sections"]) == ("weak", [])


def test_lexical_mode_has_no_similarity_either(pumps: BundleWiki) -> None:
    data = pumps.bundle(ON_TOPIC, mode="lexical")
    assert (data["coverage"]["confidence"], data["coverage"]["topSimilarity"]) == ("unknown", -1.0)
    assert data["notes"] == []


@pytest.mark.parametrize(
    ("thresholds", "confidence"),
    [
        ({"coverage.strong_similarity": 0.99}, "partial"),
        ({"coverage.strong_similarity": 0.99, "coverage.partial_similarity": 0.98}, "weak"),
        ({"coverage.strong_similarity": 0.01, "coverage.partial_similarity": 0.0}, "strong"),
    ],
)
def test_the_operator_sets_the_thresholds(
    tmp_path: Path, thresholds: dict[str, float], confidence: str
) -> None:
    flags = {**thresholds, "coverage.lexical_lift": False}
    with wiki_of(tmp_path, PUMPS, flags=flags) as wiki:
        assert wiki.bundle(ON_TOPIC)["coverage"]["confidence"] == confidence


@pytest.mark.parametrize("lift", [True, False])
def test_words_found_together_lift_weak_to_partial_unless_switched_off(tmp_path: Path, lift: bool) -> None:
    flags = {
        "coverage.strong_similarity": 0.99,
        "coverage.partial_similarity": 0.98,
        "coverage.lexical_lift": lift,
    }
    with wiki_of(tmp_path, PUMPS, flags=flags) as wiki:
        coverage = wiki.bundle("replace the shaft seal")["coverage"]
        spread = wiki.bundle("amperes drips")["coverage"]
    if lift:
        assert coverage["confidence"] == "partial"
        assert coverage["liftedBy"] == ("one section holds every distinctive term: replace, shaft, seal")
    else:
        assert coverage["confidence"] == "weak"
        assert "liftedBy" not in coverage
    assert spread["confidence"] == "weak"


def test_names_of_the_page_count_for_the_lift(tmp_path: Path) -> None:
    head = "---\ntitle: Kestrel\ntags: [qotbus]\nsummary: Sledge rail.\naliases: [KX9]\n---\n"
    page = f"{head}# Kestrel\n\nIt stands.\n"
    flags = {"coverage.strong_similarity": 0.99, "coverage.partial_similarity": 0.98}
    pages = {"a.md": page, "b.md": "# Other\n\nNothing.\n", "c.md": "# C\n\nNo.\n"}
    with wiki_of(tmp_path, pages, flags=flags) as wiki:
        for query in ("kestrel qotbus", "KX9", "sledge rail stands"):
            assert wiki.bundle(query)["coverage"]["confidence"] == "partial", query


def test_the_next_step_names_only_tools_that_are_registered(sample: BundleWiki) -> None:
    names = {spec.name for spec in sample.service.tools()}
    every = {"retrieve_context", "read_pages", "traverse", "query_nodes", "sparql_query", "get_briefing"}
    steps = {
        coverage["confidence"]: coverage["next"]
        for coverage in (
            sample.bundle("how to knit a scarf")["coverage"],
            sample.bundle("HBR-4012")["coverage"],
            sample.bundle("seat hold", mode="lexical")["coverage"],
        )
    }
    assert set(steps) == {"weak", "partial", "unknown"}
    for step in steps.values():
        named = {tool for tool in every if tool in step}
        assert "retrieve_context" in named
        assert named <= names


def test_missing_terms_are_those_of_no_page_as_they_were_typed(pumps: BundleWiki) -> None:
    coverage = pumps.bundle("feed pump gasket Schmierung 部品")["coverage"]
    assert coverage["missingTerms"] == ["gasket", "schmierung", "部品"]


def test_far_off_questions_are_weak_over_the_sample_vault(sample: BundleWiki) -> None:
    confident = [q for q in FAR_OFF if sample.bundle(q)["coverage"]["confidence"] not in ("weak", "unknown")]
    assert confident == []


def test_far_off_questions_are_weak_over_the_large_corpus(tmp_path: Path) -> None:
    questions, corpus = SHARED / "eval" / "questions.csv", SHARED / "corpus" / "wikantik-pages"
    if not questions.is_file() or not corpus.is_dir():
        pytest.skip("the corpus is not here")
    with questions.open(encoding="utf-8", newline="") as stream:
        far = [row["question"] for row in csv.DictReader(stream) if row["id"].startswith("nf")]
    assert len(far) >= 10
    with wiki_of(tmp_path, corpus) as wiki:
        weak = [q for q in far if wiki.bundle(q)["coverage"]["confidence"] in ("weak", "unknown")]
    assert len(weak) >= 0.97 * len(far)
