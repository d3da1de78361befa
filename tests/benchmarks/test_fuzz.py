"""A bounded run of the fuzzer with a fixed seed, and the fuzzer itself: it finds, shrinks and replays."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.fuzz.__main__ import main
from benchmarks.fuzz.checks import body_faults
from benchmarks.fuzz.dialects import make_vaults
from benchmarks.fuzz.failures import read_failure, shrunk, write_failure
from benchmarks.fuzz.mutating import FuzzedFile, fuzzed_file
from benchmarks.fuzz.reading import Failure
from benchmarks.fuzz.served import answer_faults
from benchmarks.fuzz.withholding import closed_file
from benchmarks.fuzz.work import Plan, check, leaking, page_of
from wikimcp.models import Chunk
from wikimcp.vaults.detect import DIALECTS

FIXTURES = Path(__file__).parents[1] / "vaults" / "fixtures"


def test_fuzzed_pages_are_read_right_in_every_dialect(tmp_path: Path) -> None:
    vaults = make_vaults(tmp_path)
    plan = Plan(2031, range(120), (FIXTURES,))
    for number in plan.numbers:
        file, line = page_of(plan, number)
        failures = [f for f in check(vaults, file, line)[1] if "reading took" not in f.message]
        assert failures == [], number


def test_no_page_that_withholds_itself_is_public_however_it_is_broken(tmp_path: Path) -> None:
    vaults = [vault for vault in make_vaults(tmp_path) if vault.dialect in ("logseq", "dendron", "generic")]
    sure = 0
    for number in range(250):
        file, line = closed_file(2031, number)
        if line:
            sure += 1
            assert leaking(vaults, file) == [], (number, line)
    assert sure > 220


def test_every_tool_answers_about_fuzzed_pages(tmp_path: Path) -> None:
    files = [fuzzed_file(2031, number, ()) for number in range(60)]
    assert list(answer_faults("obsidian", files)) == []
    assert list(answer_faults("logseq", files[:20])) == []


def test_every_dialect_is_fuzzed(tmp_path: Path) -> None:
    names = [vault.name for vault in make_vaults(tmp_path)]
    assert {name.split()[0] for name in names} == {dialect.name for dialect in DIALECTS}
    assert "logseq org" in names


def test_a_page_is_a_function_of_its_numbers() -> None:
    assert fuzzed_file(5, 77, (b"seed",)) == fuzzed_file(5, 77, (b"seed",))
    assert len({fuzzed_file(5, number, ()).data for number in range(50)}) > 40


def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    vault = next(vault for vault in make_vaults(tmp_path) if vault.name == "generic")
    file = FuzzedFile("p", b"# One\n\nwords [[a]]\n\n# Two\n\nmore\n")
    page = vault.adapter.parse(vault.adapter.read(vault.put(file)))
    text = file.data.decode()
    assert list(body_faults(text, page, dialect="generic")) == []
    section = page.body.sections[0]
    moved = replace(section, own=replace(section.own, end=section.own.end - 2))
    broken = {
        "does not end with its line": replace(page.body, sections=(moved, *page.body.sections[1:])),
        "the chunks of section 0 do not reach": replace(
            page.body, chunks=(Chunk(0, 0, 0, 3), *page.body.chunks[1:])
        ),
        "link 0 says line 9, not 3": replace(page.body, links=(page.body.links[0]._replace(line=9),)),
        "link 0 starts outside": replace(page.body, links=(page.body.links[0]._replace(start=999),)),
        "overlaps or leaves the text": replace(page.body, hidden=((5, 500),)),
    }
    for message, body in broken.items():
        found = list(body_faults(text, replace(page, body=body), dialect="generic"))
        assert any(message in fault for fault in found), (message, found)


def test_a_failure_is_shrunk_written_and_read_again(tmp_path: Path) -> None:
    file = FuzzedFile("100%25", b"# a\n\nsome words here\nbad \xff thing\n" * 30)
    small = shrunk(file, lambda found: b"\xff" in found.data)
    assert small == FuzzedFile("p", b"\xff")
    page = write_failure(tmp_path / "kept", "1-2", small, [Failure("generic", "it is 'odd' at 12")])
    assert read_failure(page) == small
    assert Failure("generic", "it is 'odd' at 12").kind == "it is # at #"


def test_the_command_runs_workers_and_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "kept"
    words = ["--pages", "12", "--seed", "4", "--jobs", "1", "--corpus", str(FIXTURES), "--output", str(out)]
    assert main([*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["pages"], facts["served_vaults"], facts["failures"]) == (12, 1, 0)
    assert not out.exists()
    page = tmp_path / "page.md"
    page.write_bytes(b"---\na: b: c\n---\n[[x]]\n")
    assert main(["--replay", str(page)]) == 0
    assert re.match(r"1 pages, 0 failures", capsys.readouterr().out)
