"""Lint of any vault: every rule finds what it is for, at its exact place, and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.authoring.plain_lint import PlainLint
from tests.vaults.dialects import DIALECTS, Served, fixture_copy, put, served
from wikimcp import __version__
from wikimcp.authoring.lint import LintOptions, lint_pages
from wikimcp.authoring.lint_report import KEYS, RULES, Finding, LintReport, Measured
from wikimcp.authoring.lint_sarif import sarif
from wikimcp.authoring.lint_score import WEIGHTS, score
from wikimcp.authoring.secrets import _MARKS, _RULES
from wikimcp.models import Caller

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpus" / "wikantik-pages"
TODAY = datetime.now(UTC)
KEY = "AKIA" + "Q7RT2WXNP4LM8HVB"
TITLED = "---\ntitle: {}\ntags: [a]\nupdated: 2999-01-01\n---\n\nSee [[home]].\n"
FILES = {
    "index.md": "# Index\n\n[[home]] [[plan]] [[old]] [[bare]] [[twin-a]] [[twin-b]] [[keys]] [[asks]]\n",
    "home.md": "---\ntitle: Home\ntags: [a]\nupdated: 2999-01-01\nrelated:\n  - '[[plan]]'\n  - '[[Nowhere]]'\n---\n"
    "# Home\n\nA [[Nowhere]] and [[plan#Gone]], `[[code]]`, <!-- [[comment]] -->\n"
    "![](missing.png) [out](https://example.org/) [[plan#The goal]] [[plan#^no]] [[plan#^yes]]\n\n    [[indented]]\n",
    "plan.md": "---\ntitle: Plan\ntags: [a]\nupdated: 2999-01-01\n---\n# Plan\n\n## The goal\n\nReach it. ^yes\n",
    "asks.md": TITLED.format("Asks") + "Also [it](nowhere.md).\n",
    "old.md": "---\ntitle: Old\ntags: [a]\nupdated: 2020-02-02\n---\n[[home]]\n",
    "bare.md": "# Bare\n\n[[home]]\n",
    "twin-a.md": TITLED.format("Twin"),
    "twin-b.md": TITLED.format("'twin '"),
    "keys.md": TITLED.format("Keys") + f"\nThe key is {KEY} for now. Mail ana@mill.org.\n",
    "alone.md": TITLED.format("Alone"),
    **{f"more{number}.md": TITLED.format(f"More {number}") + "[[index]]\n" for number in range(9)},
    "secret.md": "---\ndraft: true\n---\n# Secret\n\n[[Markerword]] [[home]]\n",
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LintReport]:
    files = FILES | {"index.md": FILES["index.md"] + "".join(f"[[more{number}]] " for number in range(9))}
    with served(put(tmp_path_factory.mktemp("lint") / "v", files)) as wiki:
        yield lint(wiki)


def lint(
    wiki: Served, caller: Caller | None = None, *, include_drafts: bool = False, **options: Any
) -> LintReport:
    """Lint what a caller sees of a served vault."""
    asked = LintOptions(sources=wiki.service.options.sources, **options)
    return wiki.service.examine(
        caller or Caller(), lambda reading: lint_pages(reading, asked), include_drafts=include_drafts
    )


def places(report: LintReport, key: str) -> list[tuple[str, str, int, int]]:
    return [(row.rule.code, row.page, row.line, row.column) for row in report.by_key[key]]


def test_broken_links_are_told_with_line_and_column_in_text_and_frontmatter(report: LintReport) -> None:
    assert places(report, "broken_links") == [
        ("W001", "asks.md", 8, 6),
        ("W001", "home.md", 7, 6),
        ("W001", "home.md", 11, 3),
        ("W001", "home.md", 12, 1),
    ]
    assert not report.ok
    messages = [finding.message for finding in report.by_key["broken_links"]]
    assert messages == ["'nowhere.md' leads to no page"] + ["'Nowhere' leads to no page"] * 2 + [
        "'missing.png' leads to no page"
    ]


def test_a_missing_heading_or_block_is_a_class_of_its_own_and_no_failure(
    tmp_path: Path, report: LintReport
) -> None:
    assert places(report, "missing_headings") == [("W003", "home.md", 11, 19), ("W003", "home.md", 12, 64)]
    with served(put(tmp_path / "v", {"a.md": "[[b#Gone]]\n", "b.md": "# B\n\n[[a]]\n"})) as wiki:
        found = lint(wiki)
        assert found.ok and len(found.by_key["missing_headings"]) == 1


def test_a_name_that_several_pages_ask_for_is_one_gap_where_it_is_met_first(report: LintReport) -> None:
    (gap,) = report.by_key["gaps"]
    assert (gap.page, gap.line) == ("asks.md", 8)
    assert gap.message.startswith("2 pages link to 'nowhere.md'") and gap.message.endswith("asks.md, home.md")


def test_orphans_isolated_old_and_repeated_pages_are_told(report: LintReport) -> None:
    assert places(report, "orphans") == [("W004", "alone.md", 1, 0)]
    assert places(report, "isolated") == [("W005", "plan.md", 1, 0)]
    assert places(report, "stale") == [("W007", "old.md", 4, 0)]
    assert places(report, "duplicates") == [("W008", "twin-b.md", 2, 0)]
    assert "twin-a.md" in report.by_key["duplicates"][0].message


def test_fields_that_nearly_all_pages_have_are_missed_on_the_others(report: LintReport) -> None:
    assert places(report, "missing_frontmatter") == [("W009", "bare.md", 1, 0)]
    assert (
        report.by_key["missing_frontmatter"][0].message
        == "there is no frontmatter, so it lacks tags, title, updated"
    )


def test_a_secret_is_told_masked_and_an_address_is_none(report: LintReport) -> None:
    assert places(report, "secrets") == [("W010", "keys.md", 9, 0)]
    told = json.dumps(report.to_json())
    assert KEY not in told and "ana@mill.org" not in told


def test_withheld_pages_are_nowhere_unless_drafts_are_allowed_and_asked_for(tmp_path: Path) -> None:
    files = {
        "a.md": "[[b]] [[secret]]\n",
        "b.md": "[[a]]\n",
        "secret.md": "---\ndraft: true\n---\n[[Markerword]]\n",
    }
    with served(put(tmp_path / "v", files), **{"drafts.allow": True}) as wiki:
        found = lint(wiki)
        assert "Markerword" not in json.dumps(found.to_json())
        assert [row.message for row in found.by_key["broken_links"]] == ["'secret' leads to no page"]
        assert lint(wiki, include_drafts=True) == found
        seen = lint(wiki, Caller(may_see_drafts=True), include_drafts=True)
        assert places(seen, "broken_links") == [("W001", "secret.md", 4, 1)]


def test_required_fields_and_the_age_of_pages_can_be_set(tmp_path: Path) -> None:
    vault = put(
        tmp_path / "v",
        {"a.md": "---\nowner: ana\nupdated: 2020-01-01\n---\n[[b]]\n", "b.md": "---\nx: 1\n---\n[[a]]\n"},
    )
    with served(vault) as wiki:
        found = lint(wiki, required=("owner",), stale_days=0)
        assert places(found, "missing_frontmatter") == [("W009", "b.md", 1, 0)]
        assert places(found, "stale") == []
        assert places(lint(wiki, stale_days=1), "stale") == [("W007", "a.md", 3, 0)]


def test_source_anchors_are_checked_below_the_source_roots_and_counted_without(tmp_path: Path) -> None:
    text = "[a](file:app.py#L1-L2) [b](file:app.py#L9) [c](file:none.py#L1) [d](cite://none/x)\n"
    vault = put(tmp_path / "v", {"a.md": text})
    put(tmp_path / "src", {"app.py": "one\ntwo\n"})
    with served(vault) as wiki:
        found = lint(wiki)
        assert places(found, "dead_anchors") == [] and "3 source anchors were not checked" in found.notes[0]
        assert places(found, "broken_links") == [("W001", "a.md", 1, 65)]
    with served(vault, **{"citations.source_roots": [str(tmp_path / "src")]}) as wiki:
        found = lint(wiki)
        assert places(found, "dead_anchors") == [("W002", "a.md", 1, 24), ("W002", "a.md", 1, 44)]
        assert not found.ok and not found.notes
        (tmp_path / "src" / "app.py").write_text("zero\none\ntwo\n")
        dead = lint(wiki).by_key["dead_anchors"]
        assert dead[0].message == "'file:app.py#L1-L2': moved to lines 2-3"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_linted_and_every_finding_stands_on_a_line_of_its_page(
    dialect: str, tmp_path: Path
) -> None:
    vault = fixture_copy(dialect, tmp_path)
    with served(vault) as wiki:
        found = lint(wiki)
        assert found.measured.pages == len(wiki.view.pages) > 0
        for row in found.findings:
            page = wiki.view.names.paths[row.page]
            lines = wiki.view.adapter.read(page.path).text.splitlines()
            assert 1 <= row.line <= len(lines) and row.column <= len(lines[row.line - 1])
        if dialect == "logseq":
            assert not any("machine" in row.message for row in found.by_key["broken_links"])


def test_a_link_to_a_file_beside_the_folder_of_the_pages_is_whole(tmp_path: Path) -> None:
    text = "---\nsources: ['[[raw/b.pdf]]', '[[raw/gone.pdf]]']\n---\n# C\n\n[1](../../raw/a.md) [2](../../raw/gone.md) "
    text += "[3](../../keep/k.md) [4](../../../out.md) [5](../../raw/) [6](../../away.md)\n"
    files = {
        "wiki/index.md": "# I\n\n[[c]]\n",
        "wiki/concepts/c.md": text,
        "raw/a.md": "# A\n",
        "raw/b.pdf": "B",
    }
    put(tmp_path, {"out.md": "# Out\n"})
    vault = put(tmp_path / "v", {**files, "keep/k.md": "# K\n"})
    (vault / "away.md").symlink_to(tmp_path / "out.md")
    with served(vault, private=["keep/**"]) as wiki:
        broken = lint(wiki).by_key["broken_links"]
    assert [finding.message.split("'")[1] for finding in broken] == [
        "raw/gone.pdf",
        "../../raw/gone.md",
        "../../keep/k.md",
        "../../../out.md",
        "../../away.md",
    ]


def test_files_that_are_not_served_are_counted_in_a_note(tmp_path: Path) -> None:
    vault = put(tmp_path / "v", {"a.md": "[[b]]\n", "b.md": "[[a]]\n"})
    (vault / "image.md").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    with served(vault) as wiki:
        assert [note[:25] for note in lint(wiki).notes] == ["1 files are not served, so"[:25]]


def test_links_in_frontmatter_are_told_where_they_open_each_at_its_own_place(tmp_path: Path) -> None:
    head = "---\ndate: a\nrelated: ['[[a]]', 'see [b](<c d.md>)', '![[a]]']\nmore: \"[x](a) [[zz]]\"\n---\n[[a]]\n"
    with served(put(tmp_path / "v", {"p.md": head})) as wiki:
        found = places(lint(wiki), "broken_links")
    assert found == [
        ("W001", "p.md", line, column)
        for line, column in ((3, 12), (3, 25), (3, 42), (4, 8), (4, 15), (6, 1))
    ]


def test_an_empty_vault_page_and_odd_files_break_nothing(tmp_path: Path) -> None:
    vault = put(
        tmp_path / "v",
        {"a.md": "", "b.md": "---\ntitle: [\n---\n[[a]] [[\x07]]\n", "c.md": "\ufeff[[a#]] [[x]]\r\r[[x]]"},
    )
    (vault / os.fsdecode(b"odd-\xff.md")).write_bytes(b"[[gone]] \xff\n")
    with served(vault) as wiki:
        found = lint(wiki)
        assert ("W001", "c.md", 3, 1) in places(found, "broken_links")
        assert json.loads(json.dumps(sarif(found, version=__version__)))


# The score


def test_the_score_is_what_the_formula_says() -> None:
    assert sum(weight.points for weight in WEIGHTS.values()) == 100 and set(WEIGHTS) == set(KEYS)
    rules = {rule.key: rule for rule in RULES}
    measured = Measured(pages=10, links=200, fragments=4)
    broken = [Finding(rules["broken_links"], "a.md", line, "x") for line in range(4)]
    lonely = [Finding(rules["orphans"], page, 1, "x") for page in ("a.md", "b.md")]
    points, parts = score({"broken_links": broken, "orphans": lonely}, measured)
    lost = {part.key: part.lost for part in parts if part.lost}
    assert lost == {
        "broken_links": pytest.approx(25 * (4 / 200) / 0.10),
        "orphans": pytest.approx(10 * (2 / 10) / 0.5),
    }
    assert points == 91
    assert score({}, Measured())[0] == 100
    everything = {key: [Finding(rules[key], f"{n}.md", 1, "x") for n in range(10)] for key in KEYS}
    assert score(everything, Measured(10, 10, 10, 10, 10))[0] == 0
    pruned = {"pruned_sources": everything["pruned_sources"]}
    assert score(pruned, measured)[0] == 100


def test_pages_count_once_in_the_score_however_much_is_found_on_them() -> None:
    secret = next(rule for rule in RULES if rule.key == "secrets")
    _, parts = score(
        {"secrets": [Finding(secret, "a.md", line, "x") for line in range(9)]}, Measured(pages=100)
    )
    part = next(part for part in parts if part.key == "secrets")
    assert (part.found, part.among) == (1, 100) and part.lost == pytest.approx(1.0)


def test_each_rule_has_a_code_of_its_own_and_each_secret_rule_its_marks() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert {rule.key for rule in RULES if rule.level == "error"} == {"broken_links", "dead_anchors"}
    assert {rule.name for rule in _RULES} - {"phone"} == set(_MARKS)


# SARIF


def test_sarif_holds_every_finding_with_rule_place_and_a_mark_that_outlives_moved_lines(
    report: LintReport,
) -> None:
    log = sarif(report, version=__version__)
    (run,) = log["runs"]
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    driver = run["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == [rule.code for rule in RULES]
    assert len(run["results"]) == len(report.findings)
    for result, finding in zip(run["results"], report.findings, strict=True):
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == finding.rule.code
        assert result["level"] in ("error", "warning", "note") and result["message"]["text"]
        (place,) = result["locations"]
        where = place["physicalLocation"]
        assert where["region"]["startLine"] == finding.line
        assert where["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"]
        assert (
            not where["artifactLocation"]["uri"].startswith("/")
            and " " not in where["artifactLocation"]["uri"]
        )
    marks = [result["partialFingerprints"]["wikimcpLint/v1"] for result in run["results"]]
    assert len(set(marks)) == len(marks)
    moved = [Finding(row.rule, row.page, row.line + 7, row.message, row.column) for row in report.findings]
    later = sarif(LintReport(tuple(moved), report.measured, 0, ()), version=__version__)
    assert [
        result["partialFingerprints"]["wikimcpLint/v1"] for result in later["runs"][0]["results"]
    ] == marks


# Counts and places on whole vaults

VAULTS = {"sample_vault": (ROOT / "sample_vault", ("templates/",)), "corpus": (CORPUS, ())}


@pytest.fixture(scope="module", params=list(VAULTS))
def whole(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, tuple[str, ...], LintReport]]:
    """Lint a whole vault; gives its folder, what of it is left out, and the report."""
    vault, left_out = VAULTS[request.param]
    if not vault.is_dir():
        pytest.skip("the corpus beside the clone is absent")
    with served(vault, state_dir=str(tmp_path_factory.mktemp("state"))) as wiki:
        yield vault, left_out, lint(wiki, stale_days=200)


def test_the_counts_are_those_of_an_independent_script(
    whole: tuple[Path, tuple[str, ...], LintReport],
) -> None:
    vault, left_out, report = whole
    plain = PlainLint(vault, now=TODAY, stale_days=200, left_out=left_out)
    counts = plain.counts()
    assert {key: len(report.by_key[key]) for key in counts} == counts
    assert report.measured.pages == len(plain.pages)
    assert sorted((row.page, row.line) for row in report.by_key["broken_links"]) == sorted(plain.broken)
    assert sorted((row.page, row.line) for row in report.by_key["missing_headings"]) == sorted(
        plain.headings_missing
    )


def test_the_lines_of_a_sample_of_fifty_findings_hold_what_they_tell(
    whole: tuple[Path, tuple[str, ...], LintReport],
) -> None:
    vault, _, report = whole
    found = report.findings
    sample = [found[at * len(found) // 50] for at in range(50)] if len(found) > 50 else found
    assert sample
    for row in sample:
        lines = (vault / row.page).read_text("utf-8").splitlines()
        line = lines[row.line - 1]
        if row.rule.key in ("broken_links", "missing_headings", "gaps"):
            target = row.message.split("'")[1].partition("#")[0]
            assert target in line[row.column - 1 :], row
            assert line[row.column - 1] in "[!", row
        elif row.rule.key == "stale":
            assert line.startswith(("updated", "last_updated", "generated")) or row.line == 1, row
        elif row.rule.key == "duplicates":
            assert "title" in line or line.startswith("#"), row
        elif row.rule.key == "secrets":
            assert row.message.split(": ")[1][:4] in line, row
        else:
            assert row.line == 1, row
