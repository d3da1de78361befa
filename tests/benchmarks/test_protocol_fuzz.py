"""The protocol fuzz in short: a few hundred odd messages, every goodbye, both eras, both transports."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.figures import BenchError
from benchmarks.fuzzed_messages import Fuzz, check_line
from benchmarks.processes import ROOT
from benchmarks.protocol_fuzz import GOODBYES, PATIENCE, fuzz_http, fuzz_stdio
from benchmarks.stdio_client import ERAS, Era

VAULT = ROOT / "sample_vault"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize(("goodbye", "era"), [(word, ERAS[at % 2]) for at, word in enumerate(GOODBYES)])
def test_a_stdio_server_answers_what_it_can_and_ends_well(folder: Path, goodbye: str, era: Era) -> None:
    fuzz_stdio(VAULT, folder, era=era, messages=80, seed=11, goodbye=goodbye, within=PATIENCE)


@pytest.mark.parametrize("era", ERAS)
def test_an_http_server_answers_what_it_can_and_ends_well(folder: Path, era: Era) -> None:
    fuzz_http(VAULT, folder, era=era, messages=80, seed=12, clients=4, within=PATIENCE)


def test_one_seed_makes_the_same_messages_and_another_makes_others() -> None:
    first, again, other = (list(Fuzz(seed, "legacy").messages(300)) for seed in (3, 3, 4))
    assert first == again != other
    assert sum(sent.id is not None for sent in first) > 50
    assert all(b"\n" not in sent.data for sent in first)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"noise",
        b"[]",
        b'{"jsonrpc":"1.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}',
        b'{"jsonrpc":"2.0","id":null,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"score":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"x"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"result":"\xff"}',
    ],
)
def test_a_line_that_is_no_message_is_found(line: bytes) -> None:
    with pytest.raises(BenchError):
        check_line(line)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":"a","result":{}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
        b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
    ],
)
def test_a_line_that_is_one_is_taken(line: bytes) -> None:
    assert check_line(line)["jsonrpc"] == "2.0"
