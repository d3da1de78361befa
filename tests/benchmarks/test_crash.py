"""Crash safety in short: kills at chosen and at random moments, a full disk, a newer index, a vault away."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks import harms
from benchmarks.crash import kill_often
from benchmarks.crashing import Fault, StateWatch, Vault, checked, ready_to_fork

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork and inotify")


@dataclass
class Ground:
    """A vault with its index, and a folder to work in."""

    vault: Vault
    state: Path
    work: Path


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    vault, state = Vault.make(tmp_path / "vault", 12), tmp_path / "state"
    state.mkdir()
    ready_to_fork(vault.root, tmp_path / "another-state")
    yield Ground(vault, state, tmp_path)


def test_a_start_after_a_kill_answers_right_and_no_version_goes_back(ground: Ground) -> None:
    counts = kill_often(ground.vault, ground.state, times=5, seed=4)
    assert counts["kills of a build"] == 1
    assert sum(count for name, count in counts.items() if name.startswith("killed ")) == 5
    assert set(ground.vault.told) == set(ground.vault.words())


@pytest.mark.parametrize("scene", harms.SCENES)
def test_an_index_a_disk_or_a_vault_that_is_not_what_it_was_empties_nothing(
    ground: Ground, scene: str
) -> None:
    checked(ground.vault, ground.state)
    assert harms.SCENES[scene](ground.vault, ground.state, ground.work)
    checked(ground.vault, ground.state)


def test_the_check_finds_a_page_that_is_not_served_and_a_version_that_went_back(ground: Ground) -> None:
    checked(ground.vault, ground.state)
    ground.vault.told["notes/page-1.md"] = 2
    with pytest.raises(Fault, match="version 1, not from 2 to 1"):
        checked(ground.vault, ground.state)
    ground.vault.told["notes/page-1.md"] = 1
    page = ground.vault.root / "notes" / "page-5.md"
    page.write_text(f"---\ndraft: true\n---\n{page.read_text(encoding='utf-8')}", encoding="utf-8")
    with pytest.raises(Fault, match=r"not found|are listed"):
        checked(ground.vault, ground.state)


@pytest.mark.parametrize("name", harms.HARMS)
def test_a_harm_changes_a_file_and_the_same_seed_does_the_same(tmp_path: Path, name: str) -> None:
    before = random.Random(1).randbytes(5_000)
    found = []
    for number in range(2):
        file = tmp_path / str(number)
        file.write_bytes(before)
        harms.HARMS[name](file, random.Random(3))
        found.append(file.read_bytes() if file.exists() else None)
    assert found[0] == found[1] != before


def test_files_are_of_one_kind_whatever_is_unique_in_their_names() -> None:
    kinds = {harms.kind_of(Path(name)) for name in ("index-18ecda06191c8dce-3e795a", "index-1f-2")}
    assert kinds == {"index-*"}
    assert harms.kind_of(Path("5e2b0a4b9b8f4e0bb9d37b2c3f0a1d11.term")) == "*.term"
    assert harms.kind_of(Path("catalog.sqlite-wal")) == "catalog.sqlite-wal"


def test_what_is_written_in_a_folder_that_was_made_later_is_seen(tmp_path: Path) -> None:
    watch = StateWatch(tmp_path)
    assert not watch.after(1, 0)
    (tmp_path / "later").mkdir()
    assert watch.after(1, 10)
    (tmp_path / "later" / "file").write_bytes(os.urandom(10))
    assert watch.after(2, 10) and watch.last == "file"
    watch.close()
