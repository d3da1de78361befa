"""Mapping safetensors files, and fingerprints that tell one file from another."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wikimcp.embedders.weights import fingerprint, let_go, map_tensors


def packed(header: object, data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype: str, shape: list[int], first: int, last: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [first, last]}


def test_tensors_equal_what_the_reference_library_wrote(tmp_path: Path) -> None:
    numpy_files: Any = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    rng = np.random.default_rng(1)
    tensors: dict[str, NDArray[Any]] = {
        "half": rng.normal(size=(5, 3)).astype(np.float16),
        "single": rng.normal(size=(2, 2, 2)).astype(np.float32),
        "whole": np.arange(7, dtype=np.int64),
        "empty": np.zeros((0, 4), dtype=np.float32),
    }
    numpy_files.save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "np"})
    mapped = map_tensors(tmp_path / "model.safetensors")
    assert set(mapped) == set(tensors)
    for name, tensor in tensors.items():
        assert mapped[name].dtype == tensor.dtype
        assert np.array_equal(mapped[name], tensor)
        assert not mapped[name].flags.writeable


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        b"\xff" * 64,
        packed({})[:-1],
        packed([1, 2]),
        packed({"a": entry("F32", [2], 0, 8)}, b"1234"),
        packed({"a": entry("F32", [3], 0, 8)}, b"12345678"),
        packed({"a": entry("F32", [2], 8, 0)}, b"12345678"),
        packed({"a": entry("F32", [2], -8, 0)}, b"12345678"),
        packed({"a": entry("BF16", [4], 0, 8)}, b"12345678"),
        packed({"a": {"dtype": "F32"}}, b"12345678"),
        packed({"a": 5}, b"12345678"),
    ],
)
def test_files_of_another_form_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError):
        map_tensors(tmp_path / "file")


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        map_tensors(tmp_path / "missing")
    with pytest.raises(OSError):
        fingerprint([tmp_path / "missing"])


def test_fingerprints_tell_size_content_order_and_use_apart(tmp_path: Path) -> None:
    base = np.random.default_rng(2).bytes(200_000)
    variants = {"same": base, "longer": base + b"x", "head": b"y" + base[1:], "tail": base[:-1] + b"z"}
    variants["middle"] = bytes(len(base)) if base else b""
    variants["small"] = b"abc"
    variants["empty"] = b""
    for name, content in variants.items():
        (tmp_path / name).write_bytes(content)
    prints = [fingerprint([tmp_path / name]) for name in variants]
    prints.append(fingerprint([tmp_path / "same"], also="mean"))
    prints.append(fingerprint([tmp_path / "same", tmp_path / "small"]))
    prints.append(fingerprint([tmp_path / "small", tmp_path / "same"]))
    assert len(set(prints)) == len(prints)
    (tmp_path / "copy").write_bytes(base)
    assert fingerprint([tmp_path / "copy"]) == prints[0]
    assert all(len(value) == 8 for value in prints)


@pytest.mark.skipif(sys.platform != "linux", reason="the resident part of one mapping is told by Linux alone")
def test_a_file_that_was_let_go_of_is_out_of_memory_and_reads_the_same(tmp_path: Path) -> None:
    written = np.arange(1 << 20, dtype=np.int64)
    file = tmp_path / "model.safetensors"
    file.write_bytes(packed({"rows": entry("I64", [1 << 20], 0, 8 << 20)}, written.tobytes()))
    mapped = map_tensors(file)["rows"]
    assert np.array_equal(mapped, written)
    assert resident(file) >= 8 << 20
    let_go(mapped)
    assert resident(file) == 0
    assert np.array_equal(mapped, written)
    let_go(written)  # what is not mapped stays


def resident(file: Path) -> int:
    """Return how many bytes of a mapped file this process has in memory."""
    mappings = Path("/proc/self/smaps").read_text().partition(str(file))[2]
    return 1024 * int(mappings.partition("Rss:")[2].split()[0])
