"""Many servers on one vault in short: killed, started again and compared with a fresh one while pages change."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from benchmarks.answering import differences
from benchmarks.corpus import build_vault
from benchmarks.editor import Desk, Editor, own_word
from benchmarks.many_processes import run
from benchmarks.processes import ROOT

pytestmark = pytest.mark.skipif(not Path("/proc/locks").is_file(), reason="the leader is told by /proc/locks")


def test_servers_that_are_killed_while_pages_change_answer_as_a_fresh_one_does(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    build_vault(ROOT / "sample_vault", vault)
    counts = run(vault, tmp_path, seconds=4, servers=3, seed=2)
    assert counts.faults == []
    assert counts.builds_first == 1
    assert counts.checkpoints == 2 and counts.compared > 6 * 20
    assert counts.killed + counts.terminated == counts.starts - 3
    assert sum(counts.edits.values()) > 0
    assert not list(tmp_path.glob("fresh-*"))


def test_an_editor_does_the_same_twice_and_tells_where_its_words_are(tmp_path: Path) -> None:
    for name in ("one", "two"):
        build_vault(ROOT / "sample_vault", tmp_path / name)
    desks = [Desk(tmp_path / name, 7) for name in ("one", "two")]
    for _ in range(150):
        for desk in desks:
            desk.change()
    first, second = (
        {file.relative_to(tmp_path / name): file.read_bytes() for file in (tmp_path / name).rglob("*.md")}
        for name in ("one", "two")
    )
    assert first == second
    assert sum("templates" not in path.parts for path in first) == desks[0].told()["pages"]
    assert set(desks[0].done) == {"added", "deleted", "edited", "hidden", "renamed", "replaced"}
    for path, word in desks[0].told()["words"].items():
        assert word.encode() in first[Path(path)]
        assert sum(word.encode() in text for text in first.values()) == 1


def test_an_editor_rests_when_it_is_told_to(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    build_vault(ROOT / "sample_vault", vault)
    with Editor(vault, 1) as editor:
        assert editor.order("pause")["done"] == {}
        editor.order("go")
        while not (told := editor.order("pause"))["done"]:
            editor.order("go")
        files = {file: file.read_bytes() for file in vault.rglob("*.md")}
        assert editor.order("pause") == told
        assert files == {file: file.read_bytes() for file in vault.rglob("*.md")}


def test_a_word_for_a_number_is_letters_alone_and_nobody_elses() -> None:
    words = [own_word(number) for number in range(2_000)]
    assert len(set(words)) == 2_000 and all(word.isalpha() for word in words)


def section(slug: str, score: float, text: str = "some text") -> dict[str, Any]:
    return {"slug": slug, "title": slug, "text": text, "score": score, "citation": {"uri": f"cite://{slug}"}}


RIGHT: dict[str, Any] = {
    "list_tags {}": {"tags": [{"tag": "a", "pages": 2}]},
    "assemble_bundle {'query': 'x'}": {
        "query": "x",
        "sections": [section("a", 0.9), section("b", 0.5), section("c", 0.2)],
    },
}


@pytest.mark.parametrize(
    ("row", "value", "told"),
    [
        (0, section("a", 0.9, "other text"), "other text"),
        (0, section("a", 0.8), "score"),
        (0, section("d", 0.9), "in one answer alone"),
        (2, section("c", 0.23), ""),
        (2, section("d", 0.21), ""),
    ],
)
def test_ranked_answers_may_differ_by_little_scores_alone(row: int, value: dict[str, Any], told: str) -> None:
    found = deepcopy(RIGHT)
    found["assemble_bundle {'query': 'x'}"]["sections"][row] = value
    text = "; ".join(differences(RIGHT, found))
    assert told in text and bool(told) == bool(text)


@pytest.mark.parametrize(
    ("score", "text", "told"),
    [
        (0.9, "Before it.\n\nsome text", ""),
        (0.9, "text", ""),
        (0.8, "text", "alone"),
        (0.9, "other text", "alone"),
    ],
)
def test_a_passage_may_be_cut_otherwise_where_its_score_is_about_the_same(
    score: float, text: str, told: str
) -> None:
    found = deepcopy(RIGHT)
    cut = section("a", score, text) | {"citation": {"uri": "cite://a?h=of-another-span"}}
    found["assemble_bundle {'query': 'x'}"]["sections"][0] = cut
    said = "; ".join(differences(RIGHT, found))
    assert told in said and bool(told) == bool(said)


def test_other_answers_must_be_equal() -> None:
    assert differences(RIGHT, deepcopy(RIGHT)) == []
    found = deepcopy(RIGHT)
    found["list_tags {}"]["tags"][0]["pages"] = 3
    assert differences(RIGHT, found) == ["list_tags {}: .tags[0].pages: 2 and 3"]
    assert len(differences(RIGHT, {})) == 2
