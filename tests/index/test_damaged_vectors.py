"""Vectors that are not vectors any more are made again: never an empty answer."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.index.live_wiki import LiveWiki


def _wiki(tmp_path: Path) -> LiveWiki:
    wiki = LiveWiki(tmp_path, embedder="wordllama", watch=False)
    wiki.write("lamp.md", "# Lamp\n\nThe lamp is trimmed at dusk by the keeper.\n")
    wiki.write("pump.md", "# Pump\n\nThe pump runs dry after nine hours of rain.\n")
    return wiki


@pytest.mark.parametrize("harm", ["noise", "nan", "zeros"])
def test_vectors_of_noise_are_made_again(tmp_path: Path, harm: str) -> None:
    wiki = _wiki(tmp_path)
    before = wiki.call("assemble_bundle", query="lamp at dusk")["coverage"]
    wiki.stop()
    [rows] = wiki.state.rglob("rows.f32")
    size = rows.stat().st_size
    rows.write_bytes({"noise": os.urandom(size), "nan": b"\xff" * size, "zeros": bytes(size)}[harm])
    after = wiki.call("assemble_bundle", query="lamp at dusk")
    assert after["sections"][0]["slug"] == "lamp"
    assert after["coverage"] == before
    wiki.stop()


def test_tokens_of_noise_are_made_again(tmp_path: Path) -> None:
    wiki = _wiki(tmp_path)
    before = wiki.call("assemble_bundle", query="lamp at dusk")["sections"]
    wiki.stop()
    [tokens] = wiki.state.rglob("tokens.u16")
    sound = tokens.read_bytes()
    tokens.write_bytes(sound[::-1])
    assert wiki.call("assemble_bundle", query="lamp at dusk")["sections"] == before
    wiki.stop()
    assert tokens.read_bytes() == sound


def test_a_token_that_no_table_has_keeps_no_answer_back(tmp_path: Path) -> None:
    wiki = _wiki(tmp_path)
    assert wiki.found("lamp at dusk")
    wiki.stop()
    [tokens], [ends] = wiki.state.rglob("tokens.u16"), wiki.state.rglob("ends.i64")
    data = bytearray(tokens.read_bytes())
    for end in np.fromfile(ends, np.int64):  # the last of a list: they still ascend
        data[2 * int(end) - 1] |= 0x80
    tokens.write_bytes(data)
    assert wiki.found("lamp at dusk")[0] == "lamp"
    wiki.stop()


def test_a_rebuild_makes_the_vectors_anew(tmp_path: Path) -> None:
    wiki = _wiki(tmp_path)
    wiki.call("assemble_bundle", query="lamp")
    [keys] = wiki.state.rglob("keys.u64")
    inode = keys.stat().st_ino
    wiki.service.rebuild()
    wiki.service.wait_ready("floor")
    assert keys.stat().st_ino != inode
    assert wiki.found("lamp at dusk")[0] == "lamp"
    wiki.stop()
