"""Nothing twice: equal and nearly equal texts, equal files, and all that the agent already has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tools.bundle_wiki import SAMPLE_VAULT, wiki_of
from wikimcp.tools.assemble_bundle import BundleParams, run
from wikimcp.tools.contract import ToolContext
from wikimcp.tools.retrieve_context import ContextParams
from wikimcp.tools.retrieve_context import run as run_context

RULE = (
    "Close the intake valve before the pump is opened, wait for two minutes until the pressure has gone, "
    "then lock the switch with your own key and write the time into the log that hangs beside the door. "
    "Whoever opens it again checks first that nobody stands below, rings the bell twice, turns the wheel "
    "slowly to the left until it clicks, and stays at the gauge for as long as the needle moves at all."
)
LAMPS = "Lamps are trimmed every evening by the keeper who has the watch, and the wicks are cut slanting."
QUESTION = "when is the intake valve closed"


def texts(data: dict[str, Any]) -> str:
    return "\n".join(section["text"] for section in data["sections"])


def test_the_same_text_on_other_pages_comes_once_and_they_are_named(tmp_path: Path) -> None:
    pages = {
        "valves.md": f"# Intake valve\n\n{RULE}\n",
        "pumps.md": f"# Pumps\n\n## Before opening\n\n{RULE}\n",
        "lamps.md": f"# Lamps\n\n{LAMPS}\n",
    }
    with wiki_of(tmp_path, pages) as wiki:
        data = wiki.bundle(QUESTION)
    assert texts(data).count("Close the intake valve") == 1
    assert data["sections"][0]["slug"] == "valves"
    assert data["notes"] == ["section 1 says the same as pumps"]


def test_nearly_the_same_text_comes_once_and_is_named(tmp_path: Path) -> None:
    pages = {
        "valves.md": f"# Intake valve\n\n{RULE}\n",
        "old.md": f"# Old notes\n\n{RULE.replace('two minutes', 'three minutes')}\n",
        "lamps.md": f"# Lamps\n\n{LAMPS}\n",
    }
    with wiki_of(tmp_path, pages) as wiki:
        data = wiki.bundle(QUESTION)
    assert texts(data).count("Close the intake valve") == 1
    assert "minutes" in data["sections"][0]["text"]
    assert len(data["notes"]) == 1
    assert data["notes"][0].startswith("section 1 says the same as ")


def test_nearly_the_same_text_inside_of_a_joined_span_comes_once(tmp_path: Path) -> None:
    pages = {
        "valves.md": f"# Valves\n\nIntake valve and lamps.\n\n## Rule\n\n{RULE}\n\n## Lamps\n\n{LAMPS}\n",
        "old.md": f"# Old\n\n## Rule\n\n{RULE.replace('two minutes', 'three minutes')}\n",
    }
    with wiki_of(tmp_path, pages) as wiki:
        assert texts(wiki.bundle(QUESTION)).count("Close the intake valve") == 1


def test_like_sections_of_one_page_both_come(tmp_path: Path) -> None:
    page = f"# Valves\n\n## March\n\n{RULE}\n\n## May\n\n{RULE.replace('two minutes', 'three minutes')}\n"
    with wiki_of(tmp_path, {"valves.md": page}) as wiki:
        assert texts(wiki.bundle(QUESTION)).count("Close the intake valve") == 2


def test_of_equal_files_one_is_shown_and_the_others_are_named(tmp_path: Path) -> None:
    page = f"# Intake valve\n\n{RULE}\n"
    pages = {f"{name}.md": page for name in ("e", "d", "c", "b", "a")} | {"z.md": f"# Lamps\n\n{LAMPS}\n"}
    with wiki_of(tmp_path, pages) as wiki:
        data = wiki.bundle(QUESTION)
        context = wiki.pages(QUESTION)
    assert data["sections"][0]["slug"] == "a"
    assert texts(data).count("Close the intake valve") == 1
    assert data["notes"] == ["section 1 says the same as b, c, d and 1 more"]
    assert context[0]["slug"] == "a"
    related = {row["slug"]: row["reason"] for row in context[0]["relatedPages"]}
    assert related == dict.fromkeys("bcde", "same text as this page")


def test_a_leftover_of_a_sync_stands_behind_the_page_itself(tmp_path: Path) -> None:
    page = f"# Intake valve\n\n{RULE}\n"
    pages = {"valve (conflicted copy 2031-02-03).md": page, "valve.md": page}
    with wiki_of(tmp_path, pages) as wiki:
        assert wiki.slugs(QUESTION) == wiki.slugs("intake valve conflicted copy") == ["valve"]
        wiki.write("other.md", "# Other\n\nIntake.\n")
        wiki.write("valve.md", f"# Intake valve\n\n{RULE} Now newer.\n")
        data = wiki.bundle("intake valve conflicted copy")
    assert data["sections"][0]["slug"] == "valve"
    assert texts(data).count("Close the intake valve") == 1
    assert data["notes"] == ["section 1 says the same as valve (conflicted copy 2031-02-03)"]


def test_of_equal_files_the_first_by_path_is_shown_however_late_it_came(tmp_path: Path) -> None:
    page = f"# Intake valve\n\n{RULE}\n"
    with wiki_of(tmp_path, {"b.md": page, "z.md": "# Lamps\n\nLamps.\n"}) as wiki:
        wiki.write("a.md", page)
        data = wiki.bundle(QUESTION)
    assert data["sections"][0]["slug"] == "a"
    assert data["notes"] == ["section 1 says the same as b"]


def test_short_sections_that_are_alike_by_chance_are_no_repeats(tmp_path: Path) -> None:
    pages = {f"{name}.md": f"# {name}\n\n## Valve\n\nSee below.\n" for name in ("one", "two", "three")}
    with wiki_of(tmp_path, pages) as wiki:
        data = wiki.bundle("valve")
    assert {section["slug"] for section in data["sections"]} == {"one", "two", "three"}
    assert data["notes"] == []


def test_the_same_text_twice_on_one_page_comes_once(tmp_path: Path) -> None:
    page = f"# Valves\n\n## March\n\n{RULE}\n\n# Pumps\n\n## May\n\n{RULE}\n"
    with wiki_of(tmp_path, {"valves.md": page}) as wiki:
        assert texts(wiki.bundle(QUESTION)).count("Close the intake valve") == 1


def test_every_page_that_an_answer_names_is_checked_before_it_leaves(tmp_path: Path) -> None:
    fence = f"```\n{'valve ' * 4_000}\n```"
    pages = {
        "valves.md": f"# Intake valve\n\n{RULE} See [[lamps]].\n",
        "copy.md": f"# Intake valve\n\n{RULE} See [[lamps]].\n",
        "pumps.md": f"# Pumps\n\n{RULE.replace('bell', 'horn')} See [[lamps]].\n",
        "big.md": f"# When the intake valve is closed\n\n{fence}\n",
        "lamps.md": f"# Lamps\n\n{LAMPS}\n",
    }
    with wiki_of(tmp_path, pages) as wiki:
        reading = wiki.service.keeper.reading()
        bundle = run(reading, BundleParams(query=QUESTION), ToolContext())
        twins = {slug for slug in ("valves", "copy", "pumps") if slug in "".join(bundle.notes)}
        bundle = run(reading, BundleParams(query=QUESTION, limit=1), ToolContext())
        omitted = {row.slug for row in bundle.omitted}
        assert len(twins) == 2
        assert "big" in omitted
        assert {f"{slug}.md" for slug in twins | omitted} <= set(reading.touched)
        reading = wiki.service.keeper.reading()
        context = run_context(reading, ContextParams(query=QUESTION, max_pages=1), ToolContext())
        related = {row.slug for page in context.pages for row in page.related_pages}
        assert "lamps" in related
        assert {f"{slug}.md" for slug in related} <= set(reading.touched)


# What the agent already has


def known(section: dict[str, Any], form: str) -> str:
    citation = section["citation"]
    forms: dict[str, str] = {
        "uri": citation["uri"],
        "hash": citation["spanSha256"],
        "prefix": citation["spanSha256"][:16],
        "capitals": citation["spanSha256"].upper(),
    }
    return forms[form]


def lines(section: dict[str, Any]) -> set[tuple[str, int]]:
    first, last = section["citation"]["lines"]
    return {(section["slug"], line) for line in range(first, last + 1)}


@pytest.mark.parametrize("form", ["uri", "hash", "prefix", "capitals"])
@pytest.mark.parametrize("token_budget", [1_000, 3_000])
def test_what_was_returned_never_comes_again_and_its_room_is_used(
    tmp_path: Path, form: str, token_budget: int
) -> None:
    have: list[str] = []
    seen: set[tuple[str, int]] = set()
    with wiki_of(tmp_path, SAMPLE_VAULT) as wiki:
        for _ in range(8):
            data = wiki.bundle("who is on call at night", token_budget=token_budget, exclude=have)
            assert data["sections"]
            assert all("comments are left out" in note for note in data["notes"])
            for section in data["sections"]:
                assert not lines(section) & seen
                seen |= lines(section)
                have.append(known(section, form))


def test_when_all_is_known_the_answer_says_so(tmp_path: Path) -> None:
    with wiki_of(tmp_path, {"valves.md": f"# Intake valve\n\n{RULE}\n"}) as wiki:
        [section] = wiki.bundle(QUESTION)["sections"]
        data = wiki.bundle(QUESTION, exclude=[section["citation"]["uri"]])
    assert data["sections"] == []
    assert data["notes"] == ["all that matches is excluded"]
    assert data["coverage"]["confidence"] == "weak"


def long_page() -> str:
    days = "\n\n".join(f"Day {day}. {LAMPS} {LAMPS}" for day in range(60))
    return f"# Log\n\n{days}\n\nThe flywheel cracked on the last day.\n"


def test_a_cut_section_that_is_known_does_not_come_again(tmp_path: Path) -> None:
    pages = {"log.md": long_page(), "other.md": "# Other\n\nThe flywheel is oiled.\n"}
    with wiki_of(tmp_path, pages) as wiki:
        sections = wiki.bundle("the cracked flywheel", token_budget=1_000)["sections"]
        [cut] = [section for section in sections if section["truncated"]]
        after = wiki.bundle("the cracked flywheel", exclude=[cut["citation"]["spanSha256"][:16]])
    assert [section["slug"] for section in after["sections"]] == ["other"]


def test_known_text_does_not_come_from_another_page_that_holds_it(tmp_path: Path) -> None:
    pages = {
        "valves.md": f"# Intake valve\n\n{RULE}\n",
        "pumps.md": f"# Pumps\n\n## Before opening\n\n{RULE}\n",
        "folder/copy.md": f"# Intake valve\n\n{RULE}\n",
        "lamps.md": f"# Lamps\n\n{LAMPS}\n",
    }
    with wiki_of(tmp_path, pages) as wiki:
        uri = wiki.bundle(QUESTION)["sections"][0]["citation"]["uri"]
        everywhere = wiki.bundle(QUESTION, exclude=[uri])
        elsewhere = wiki.bundle(QUESTION, exclude=[uri], path_prefix="folder/")
    assert RULE not in texts(everywhere)
    assert elsewhere["sections"] == []


def test_known_text_does_not_come_from_a_page_that_ranks_higher(tmp_path: Path) -> None:
    pages = {
        "valves.md": f"# When the intake valve is closed\n\n{RULE}\n",
        "folder/pumps.md": f"# Pumps\n\n## Before opening\n\n{RULE}\n",
    }
    with wiki_of(tmp_path, pages) as wiki:
        [section] = wiki.bundle(QUESTION, path_prefix="folder/")["sections"]
        assert RULE in section["text"]
        assert wiki.bundle(QUESTION)["sections"][0]["slug"] == "valves"
        assert RULE not in texts(wiki.bundle(QUESTION, exclude=[section["citation"]["uri"]]))


def test_a_cut_section_without_blanks_that_is_known_does_not_come_again(tmp_path: Path) -> None:
    line = "".join(f"第{number}条　巡检结果写进周报，然后通知值班。" for number in range(200)).replace(
        "\u3000", ""
    )
    with wiki_of(tmp_path, {"log.md": f"# 巡检\n\n{line}\n"}) as wiki:
        [cut] = wiki.bundle("巡检结果 周报", token_budget=2_000)["sections"]
        assert cut["truncated"]
        after = wiki.bundle("巡检结果 周报", exclude=[cut["citation"]["uri"]])
    assert after["sections"] == []


def test_known_text_comes_again_once_it_has_changed(tmp_path: Path) -> None:
    with wiki_of(tmp_path, {"valves.md": f"# Intake valve\n\n{RULE}\n"}) as wiki:
        uri = wiki.bundle(QUESTION)["sections"][0]["citation"]["uri"]
        wiki.write("valves.md", f"# Intake valve\n\n{RULE.replace('bell', 'horn')}\n")
        assert "horn" in texts(wiki.bundle(QUESTION, exclude=[uri]))


def test_a_uri_without_a_hash_names_all_below_its_heading(tmp_path: Path) -> None:
    page = f"# Valves\n\nLead of valves.\n\n## Intake\n\n{RULE}\n\n### More\n\nMore valve.\n"
    page += "\n## Out/let?\n\nOut valve.\n"
    with wiki_of(tmp_path, {"valves.md": page}) as wiki:
        identity = wiki.bundle(QUESTION)["sections"][0]["citation"]["canonicalId"]
        without_intake = texts(wiki.bundle("valve", exclude=[f"cite://{identity}/Valves/Intake"]))
        without_outlet = texts(wiki.bundle("valve", exclude=[f"cite://{identity}/Valves/Out%2Flet%3F?v=1"]))
        without_page = wiki.bundle("valve", exclude=[f"cite://{identity}"])
    assert "Lead of" in without_intake
    assert "Out valve" in without_intake
    assert "Close the intake" not in without_intake
    assert "More valve" not in without_intake
    assert "Out valve" not in without_outlet
    assert "More valve" in without_outlet
    assert without_page["sections"] == []


@pytest.mark.parametrize(
    "wrong",
    ["valves @ 1", "abc", "0123456789abcde", "cite://", "cite://x?h=zz", "http://x.test/", "cite://[x"],
)
def test_what_is_no_citation_is_noted_and_excludes_nothing(tmp_path: Path, wrong: str) -> None:
    with wiki_of(tmp_path, {"valves.md": f"# Intake valve\n\n{RULE}\n"}) as wiki:
        data = wiki.bundle(QUESTION, exclude=[wrong])
    assert len(data["sections"]) == 1
    assert data["notes"] == [f"exclude takes citation uris and span hashes; '{wrong}' is neither"]


def test_many_wrong_exclusions_make_one_note(tmp_path: Path) -> None:
    with wiki_of(tmp_path, {"valves.md": f"# Intake valve\n\n{RULE}\n"}) as wiki:
        data = wiki.bundle(QUESTION, exclude=["a", "b", "c"])
    assert data["notes"] == ["exclude takes citation uris and span hashes; 'a' and 2 more are neither"]


def test_a_citation_of_another_wiki_is_no_fault(tmp_path: Path) -> None:
    with wiki_of(tmp_path, {"valves.md": f"# Intake valve\n\n{RULE}\n"}) as wiki:
        data = wiki.bundle(QUESTION, exclude=["cite://01ELSEWHERE/Top?v=3&h=0123456789abcdef", "f" * 64])
    assert len(data["sections"]) == 1
    assert data["notes"] == []


def test_excluding_reaches_pages_behind_the_first_ones(tmp_path: Path) -> None:
    pages = {
        f"valve-{number:02}.md": f"# Valve {number}\n\nThe valve number {number}.\n" for number in range(50)
    }
    seen: set[str] = set()
    have: list[str] = []
    with wiki_of(tmp_path, pages) as wiki:
        for _ in range(3):
            sections = wiki.bundle("valve", limit=20, token_budget=24_000, exclude=have)["sections"]
            assert len(sections) in (10, 20)
            have += [section["citation"]["uri"] for section in sections]
            seen |= {section["slug"] for section in sections}
    assert len(seen) == 50
