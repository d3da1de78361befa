"""The load benchmark in short: several clients, one of them with the slowest calls, and not an error."""

from __future__ import annotations

from benchmarks.load import _growth, run
from benchmarks.processes import ROOT


def test_clients_on_two_servers_see_no_error_beside_one_that_sends_the_slowest_calls() -> None:
    found = run(ROOT / "sample_vault", seconds=3, clients=4, slow=4, embedder="none")
    assert found["errors"] == 0, found["first_errors"]
    assert found["calls"]["alone"] > 0
    assert found["calls"]["beside the slowest"] > 0
    assert found["p95_ms"].keys() >= {"alone", "beside the slowest"}
    assert all(part["first"] > 0 and part["last"] > 0 for part in found["memory_mb"].values())


def test_growth_is_told_by_the_ends_and_not_by_a_peak() -> None:
    assert _growth([10, 10, 99, 10, 10, 20, 20, 20]) == {"first": 10, "last": 20}
