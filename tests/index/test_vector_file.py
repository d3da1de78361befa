"""Vectors on disk: what is whole is read, what is torn is written again, nothing else is lost."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from wikimcp.index.vectors import StoredVectors, VectorFile

DIMENSION = 4
FILES = ("keys.u64", "rows.f32", "tokens.u16", "ends.i64")


def vectors_of(*numbers: int) -> tuple[NDArray[np.uint64], NDArray[np.float32], list[NDArray[np.uint16]]]:
    keys = np.array(numbers, np.uint64)
    rows = np.array([[n, 0, 0, 1] for n in numbers], np.float32)
    tokens = [np.arange(n % 5, dtype=np.uint16) + n for n in numbers]
    return keys, rows, tokens


def file_with(folder: Path, *numbers: int, tokens: bool = True) -> VectorFile:
    made = VectorFile(folder, dimension=DIMENSION, with_tokens=tokens)
    keys, rows, lists = vectors_of(*numbers)
    made.append(keys, rows, lists if tokens else None)
    return made


def check(stored: StoredVectors, *numbers: int) -> None:
    keys, rows, lists = vectors_of(*numbers)
    assert stored.keys.tolist() == keys.tolist()
    assert stored.rows.tolist() == rows.tolist()
    if stored.tokens is not None:
        starts, ends = stored.tokens.bounds(np.arange(len(numbers)))
        found = [stored.tokens.flat[a:b].tolist() for a, b in zip(starts, ends, strict=True)]
        assert found == [ids.tolist() for ids in lists]


@pytest.mark.parametrize("tokens", [True, False])
def test_what_is_appended_is_read(tmp_path: Path, tokens: bool) -> None:
    file = file_with(tmp_path / "v", 1, 2, 3, tokens=tokens)
    check(file.read(), 1, 2, 3)
    file_with(tmp_path / "v", 7, 5, tokens=tokens)
    check(file.read(), 1, 2, 3, 7, 5)
    assert file.count() == 5


def test_a_file_that_is_not_there_is_empty(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "none", dimension=DIMENSION, with_tokens=True)
    assert file.count() == 0
    check(file.read())


def test_rows_and_tokens_must_fit_their_keys(tmp_path: Path) -> None:
    file = VectorFile(tmp_path, dimension=DIMENSION, with_tokens=True)
    keys, rows, lists = vectors_of(1, 2)
    for bad in (
        (keys, rows[:1], lists),
        (keys, rows[:, :3], lists),
        (keys, rows, lists[:1]),
        (keys, rows, None),
    ):
        with pytest.raises(ValueError, match="expected rows|token lists"):
            file.append(*bad)
    assert file.count() == 0


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("cut", [1, 3, 9, 40, 10_000])
def test_a_torn_file_is_read_up_to_the_tear_and_mended_by_the_next_append(
    tmp_path: Path, name: str, cut: int
) -> None:
    numbers = (1, 2, 3, 4, 6, 7, 8, 9)
    file = file_with(tmp_path, *numbers)
    torn = tmp_path / name
    os.truncate(torn, max(0, torn.stat().st_size - cut))
    left = len(file.read().keys)
    assert left < len(numbers)
    check(file.read(), *numbers[:left])
    file_with(tmp_path, *numbers[left:])
    check(file.read(), *numbers)
    assert file.count() == len(numbers)
    assert not list(tmp_path.glob(".*"))


def test_rows_without_keys_are_overwritten(tmp_path: Path) -> None:
    file = file_with(tmp_path, 1, 2, 3)
    os.truncate(tmp_path / "keys.u64", 8)
    with (tmp_path / "rows.f32").open("ab") as rows:
        rows.write(b"half a row")
    check(file.read(), 1)
    file_with(tmp_path, 8)
    check(file.read(), 1, 8)


@pytest.mark.parametrize("garbage", [b"\xff" * 8, b"\x00" * 8])
def test_ends_that_were_never_written_are_not_believed(tmp_path: Path, garbage: bytes) -> None:
    file = file_with(tmp_path, 4, 3, 2, 1)
    ends = bytearray((tmp_path / "ends.i64").read_bytes())
    ends[8:16] = garbage
    (tmp_path / "ends.i64").write_bytes(bytes(ends))
    check(file.read(), 4)
    file_with(tmp_path, 3)
    check(file.read(), 4, 3)


def test_a_reader_keeps_what_it_has_mapped_while_a_torn_file_is_mended(tmp_path: Path) -> None:
    file = file_with(tmp_path, *range(1, 2_000))
    held = file.read()
    os.truncate(tmp_path / "keys.u64", 8)
    file_with(tmp_path, 5)
    assert held.rows[-1].tolist() == [1_999, 0, 0, 1]
    check(file.read(), 1, 5)
