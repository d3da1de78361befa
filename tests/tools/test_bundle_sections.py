"""The sections of a bundle: exact slices of files, joined where they read as one, cut at blocks."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.bundle_wiki import SAMPLE_VAULT, BundleWiki, lines_of, wiki_of
from wikimcp.markdown.tokens import count_tokens

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "wikantik-pages"
QUESTIONS = Path(__file__).parents[3] / "shared" / "eval" / "questions.csv"
SAMPLE_QUESTIONS = Path(__file__).parents[1] / "data" / "sample_questions.csv"
FILLER = "Water runs down the mill race and past the sluice, where the old wheel stands still. "


def questions(file: Path) -> list[str]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(dict.fromkeys(row["question"] for row in csv.DictReader(stream)))


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleWiki]:
    with wiki_of(tmp_path_factory.mktemp("sample"), SAMPLE_VAULT) as wiki:
        yield wiki


@pytest.mark.parametrize("token_budget", [500, 2_000, 6_000, 24_000])
def test_every_section_is_the_slice_of_the_file_that_its_citation_names(
    sample: BundleWiki, token_budget: int
) -> None:
    found = 0
    for query in questions(SAMPLE_QUESTIONS)[::3]:
        found += len(sample.bundle(query, token_budget=token_budget, limit=30)["sections"])
    assert found >= 10


def test_the_same_holds_over_the_large_corpus(tmp_path: Path) -> None:
    if not CORPUS.is_dir():
        pytest.skip("the corpus is not here")
    with wiki_of(tmp_path, CORPUS, embedder="none") as wiki:
        for number, query in enumerate(questions(QUESTIONS)[::6]):
            assert wiki.bundle(query, token_budget=(500, 1_200, 3_000, 9_000)[number % 4])["sections"]


PARTS = """\
---
title: Sluice
---
# Sluice

Lead of the sluice page.

## Opening

Turn the sluice wheel left.

### By hand

Use the sluice crank.

## Closing

Turn the sluice wheel right.
"""


def test_neighbours_are_one_section_under_the_heading_that_holds_them(tmp_path: Path) -> None:
    with wiki_of(tmp_path, {"sluice.md": PARTS}) as wiki:
        [section] = wiki.bundle("how is the sluice wheel turned")["sections"]
    assert section["text"] == PARTS.split("---\n")[2].rstrip()
    assert section["headingPath"] == section["citation"]["headingPath"] == ["Sluice"]
    assert section["citation"]["lines"] == [4, 18]
    assert section["truncated"] is False


def test_siblings_cite_the_heading_above_them(tmp_path: Path) -> None:
    siblings = "".join(f"## Valve {name}\n\nThe valve {name} is closed by hand.\n\n" for name in "abc")
    long = f"# Valves\n\n{FILLER * 60}\n\n{siblings}"
    with wiki_of(tmp_path, {"valves.md": long}) as wiki:
        sections = wiki.bundle("which valve is closed by hand", token_budget=1_000)["sections"]
    [joined] = [section for section in sections if "valve a" in section["text"]]
    assert joined["text"] == siblings.rstrip()
    assert joined["citation"]["headingPath"] == ["Valves"]


def test_siblings_of_one_name_cite_the_heading_above_them(tmp_path: Path) -> None:
    page = "# Pumps\n\n## Notes\n\nOil the pump in March.\n\n## Notes\n\nOil the pump in May.\n"
    with wiki_of(tmp_path, {"pumps.md": f"{page}\n## End\n\n{FILLER * 80}\n"}) as wiki:
        data = wiki.bundle("when is the pump oiled", token_budget=700)
    joined = [
        section for section in data["sections"] if "March" in section["text"] and "May" in section["text"]
    ]
    assert joined
    assert joined[0]["citation"]["headingPath"] == ["Pumps"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_stay_as_they_are(tmp_path: Path, end: str) -> None:
    with wiki_of(tmp_path, {"sluice.md": PARTS.replace("\n", end)}) as wiki:
        sections = wiki.bundle("how is the sluice wheel turned")["sections"]
    assert any(f"left.{end}" in section["text"] for section in sections)


def long_page(paragraphs: int, special: int, *, heading: str = "# Log") -> str:
    blocks = [f"Day {number}. {FILLER * 4}".strip() for number in range(paragraphs)]
    blocks[special] = (
        f"Day {special}. The flywheel cracked and was replaced by the smith from Tarn. {FILLER * 3}"
    )
    return f"{heading}\n\n" + "\n\n".join(blocks) + "\n"


@pytest.mark.parametrize("special", [0, 20, 39])
@pytest.mark.parametrize("token_budget", [500, 1_000, 3_000])
def test_a_section_that_is_too_long_is_cut_at_blocks_around_the_hit(
    tmp_path: Path, special: int, token_budget: int
) -> None:
    page = long_page(40, special)
    with wiki_of(tmp_path, {"log.md": page}) as wiki:
        [section] = wiki.bundle("who replaced the cracked flywheel", token_budget=token_budget)["sections"]
    assert section["truncated"] is True
    assert "the smith from Tarn" in section["text"]
    assert section["headingPath"] == ["Log"]
    first, last = section["citation"]["lines"]
    lines = lines_of(page)
    assert section["text"] == "".join(lines[first - 1 : last]).rstrip()
    assert section["text"].startswith(("Day", "# Log"))
    assert lines[first - 2] == "\n" or first == 1
    assert lines[last : last + 1] in (["\n"], [])


def test_a_long_section_is_whole_where_the_budget_allows(tmp_path: Path) -> None:
    page = long_page(9, 4)
    assert 700 < count_tokens(page) < 1_400
    with wiki_of(tmp_path, {"log.md": page}) as wiki:
        [section] = wiki.bundle("who replaced the cracked flywheel")["sections"]
    assert section["truncated"] is False
    assert section["text"] == page.rstrip()


@pytest.mark.parametrize("special", [5, 70, 139])
def test_a_paragraph_of_many_lines_is_cut_between_lines(tmp_path: Path, special: int) -> None:
    lines = [f"Day {number} is over. Nothing new on day {number}, says the log and" for number in range(140)]
    lines[special] = "The flywheel cracked. It was replaced by the smith from Tarn, says the log and"
    page = "# Log\n\n" + "\n".join(lines) + "\n"
    with wiki_of(tmp_path, {"log.md": page}) as wiki:
        [section] = wiki.bundle("who replaced the cracked flywheel", token_budget=1_000)["sections"]
    assert section["truncated"] is True
    assert "the smith from Tarn" in section["text"]
    first, last = section["citation"]["lines"]
    assert section["text"] == "".join(lines_of(page)[first - 1 : last]).rstrip()


def test_one_endless_line_is_cut_at_a_sentence(tmp_path: Path) -> None:
    line = f"{FILLER * 60}The flywheel cracked and was replaced by the smith from Tarn. {FILLER * 60}"
    with wiki_of(tmp_path, {"log.md": f"# Log\n\n{line}\n"}) as wiki:
        [section] = wiki.bundle("who replaced the cracked flywheel", token_budget=1_000)["sections"]
    assert section["truncated"] is True
    assert "the smith from Tarn" in section["text"]
    assert section["text"].startswith(("Water", "The flywheel", "# Log"))
    assert section["text"].endswith(".")


def test_a_fence_is_never_cut(tmp_path: Path) -> None:
    fence = "```py\n" + "".join(f"flywheel_{number} = crack({number})\n" for number in range(60)) + "```"
    page = f"# Code\n\n{FILLER * 40}\n\n{fence}\n\n{FILLER * 40}\n"
    with wiki_of(tmp_path, {"code.md": page}) as wiki:
        for token_budget in (500, 700, 900, 1_100, 1_500, 3_000):
            for section in wiki.bundle("flywheel_7 crack", token_budget=token_budget)["sections"]:
                assert section["text"].count("```") in (0, 2)
        [section] = wiki.bundle("flywheel_7 crack", token_budget=1_500)["sections"]
        assert fence in section["text"]


def test_a_fence_over_the_usual_length_is_whole_and_not_called_cut(tmp_path: Path) -> None:
    page = "# Code\n\n```\n" + "flywheel = crack()\n" * 400 + "```\n"
    assert count_tokens(page) > 1_600
    with wiki_of(tmp_path, {"code.md": page}) as wiki:
        [section] = wiki.bundle("flywheel")["sections"]
    assert section["text"] == page.rstrip()
    assert section["truncated"] is False


@pytest.mark.parametrize("budget", [500, 2_000])
@pytest.mark.parametrize(
    ("opening", "unit", "closing"),
    [
        ("```\n", "x = crack()\n", "```\n"),
        ("```\n", "x = crack() ", "\n```\n"),
        ("| a | b |\n|---|---|\n| ", "x crack ", " | y |\n"),
        ("<table>\n", "<td>crack</td>", "\n</table>\n"),
        ("    ", "x = crack() ", "\n"),
        ("", "crack ", "\n"),
    ],
    ids=["fence", "fence of one line", "row", "html", "indented", "line"],
)
def test_a_block_over_the_budget_is_cut_around_its_hit_and_marked(
    tmp_path: Path, opening: str, unit: str, closing: str, budget: int
) -> None:
    filler = unit * (50_000 // len(unit))
    block = f"{opening}{filler}the flywheel {filler}{closing}"
    with wiki_of(tmp_path, {"code.md": f"# Code\n\n{block}"}, embedder="none") as wiki:
        data = wiki.bundle("flywheel", token_budget=budget)
        [page] = [page for page in wiki.pages("flywheel") if page["slug"] == "code"]
    [section] = [section for section in data["sections"] if section["slug"] == "code"]
    assert section["truncated"] is True
    assert "flywheel" in section["text"]
    assert "flywheel" in page["contributingChunks"][0]["text"]


def test_when_nothing_fits_the_answer_says_so(tmp_path: Path) -> None:
    with wiki_of(tmp_path, {"code.md": f"# {'Flywheel of the mill ' * 25}\n\nA crack.\n"}) as wiki:
        data = wiki.bundle("flywheel", token_budget=500)
    assert data["sections"] == []
    assert "no section fits the budget: raise token_budget" in data["notes"]
    assert [row["slug"] for row in data["omitted"]] == ["code"]


def test_a_page_without_headings_is_cited_as_a_whole(tmp_path: Path) -> None:
    with wiki_of(tmp_path, {"note.md": "\n\nOil the pump in March.\n\nNot in May.\n"}) as wiki:
        [section] = wiki.bundle("when is the pump oiled")["sections"]
    assert section["headingPath"] == []
    assert section["citation"]["lines"] == [3, 5]
    assert section["citation"]["uri"].startswith(f"cite://{section['citation']['canonicalId']}?v=1&h=")


def test_citations_of_withheld_or_edited_pages_are_made_anew(tmp_path: Path) -> None:
    with wiki_of(tmp_path, {"sluice.md": PARTS, "other.md": "# Other\n\nThe sluice wheel again.\n"}) as wiki:
        before = wiki.bundle("how is the sluice wheel turned")["sections"]
        wiki.write("sluice.md", PARTS.replace("left", "westwards"))
        after = wiki.bundle("how is the sluice wheel turned")["sections"]
        wiki.write("sluice.md", PARTS.replace("title: Sluice", "title: Sluice\ndraft: true"))
        gone = wiki.call("assemble_bundle", query="how is the sluice wheel turned")
    assert "westwards" in after[0]["text"]
    assert after[0]["citation"]["version"] == before[0]["citation"]["version"] + 1
    assert "sluice.md" not in gone.text
    assert "Sluice" not in gone.text
    assert [section["slug"] for section in (gone.structured or {})["sections"]] == ["other"]
