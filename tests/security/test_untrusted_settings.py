"""A config file that comes with a folder says how the folder is read, and widens nobody's trust."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.edges.processes import PATIENCE, environment
from tests.setting_places import empty_places
from wikimcp.errors import SettingsError
from wikimcp.setting_groups import FOLDERS_OWN, NARROWING, Places
from wikimcp.settings import RULES, Settings, load_http, load_models, load_settings

OPERATORS = sorted(set(RULES) - FOLDERS_OWN)
WIDENING = (
    *("drafts.allow", "trusted_links", "state_dir", "models.dir", "urls.file", "citations.source_roots"),
    *("http.allow_anonymous", "http.keys_file", "http.host", "http.allowed_hosts", "http.cors_origins"),
    *("http.rate_per_minute", "http.agent_to_agent", "sparql.seconds", "sparql.memory_mb"),
)
VALUES: Mapping[str, object] = {
    "flag": True,
    "whole": 100,
    "number": 1,
    "text": "x",
    "path": "x",
    "list": ["x"],
}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return empty_places(tmp_path)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def _load(places: Places, cwd: Path, vault: str = "", env: Mapping[str, str] | None = None) -> Settings:
    return load_settings({"vault": vault or None}, env or {}, cwd=cwd, places=places)


def _line(key: str) -> str:
    return f"{key} = {json.dumps(VALUES[RULES[key].kind])}\n"


def test_what_widens_trust_is_not_the_folders_to_set_and_every_key_that_is_exists() -> None:
    assert set(WIDENING) <= set(OPERATORS)
    assert set(RULES) >= FOLDERS_OWN
    assert NARROWING <= FOLDERS_OWN


@pytest.mark.parametrize("name", ["wikimcp.toml", ".wikimcp.yaml"])
@pytest.mark.parametrize("key", OPERATORS)
def test_an_operators_key_is_refused_in_a_vaults_own_file_however_the_vault_is_named(
    places: Places, vault: Path, tmp_path: Path, key: str, name: str
) -> None:
    value = json.dumps(VALUES[RULES[key].kind])
    (vault / name).write_text(
        f"watch{' =' if name.endswith('toml') else ':'} true\n"
        f"{key}{' =' if name.endswith('toml') else ':'} {value}\n"
    )
    for cwd, named in ((vault, ""), (vault, "."), (tmp_path, "notes")):
        with pytest.raises(SettingsError) as caught:
            _load(places, cwd, named)
        assert (
            f"{name} line 2: {key} cannot be set by a file that comes with a folder" in caught.value.message
        )
        assert f"WIKIMCP_{key.replace('.', '_').upper()}" in caught.value.hint
        assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("key", OPERATORS)
def test_the_user_may_set_every_operators_key(places: Places, vault: Path, key: str) -> None:
    (places.config / "config.toml").write_text(_line(key))
    assert _load(places, vault, ".").origins[key] == "the user's config.toml line 1"


def test_a_project_file_above_is_trusted_no_more_than_the_vaults(places: Places, vault: Path) -> None:
    (vault / "wikimcp.toml").write_text("http.host = '0.0.0.0'\n")
    (vault / "deep").mkdir()
    for load in (load_http, load_models):
        with pytest.raises(SettingsError, match=r"http\.host cannot be set"):
            load({}, {}, cwd=vault / "deep", places=places)


def test_a_file_of_a_folder_that_is_not_served_has_no_say_and_no_veto(
    places: Places, vault: Path, tmp_path: Path
) -> None:
    (tmp_path / "wikimcp.toml").write_text("drafts.allow = true\n")
    assert not _load(places, tmp_path, "notes").drafts.allow


def test_a_vaults_file_adds_to_what_its_user_withholds_and_takes_nothing_away(
    places: Places, vault: Path
) -> None:
    (places.config / "config.toml").write_text("private = ['pay/', 'hr/']\nignore = ['old/']\n")
    (vault / "wikimcp.toml").write_text("private = []\nignore = ['new/']\n")
    settings = _load(places, vault)
    assert (settings.private, settings.ignore) == (("pay/", "hr/"), ("old/", "new/"))
    (vault / "wikimcp.toml").write_text("private = ['hr/', 'plans/']\n")
    assert _load(places, vault).private == ("pay/", "hr/", "plans/")
    assert _load(places, vault, env={"WIKIMCP_PRIVATE": "x"}).private == ("x",), (
        "who serves has the last word"
    )


def test_aliases_that_would_fill_the_memory_are_refused(places: Places, vault: Path) -> None:
    bomb = ["a0: &a0 {watch: true}"] + [
        f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 12)}]}}" for n in range(1, 12)
    ]
    (vault / ".wikimcp.yaml").write_text("\n".join(bomb) + "\n")
    with pytest.raises(SettingsError, match=r"\.wikimcp\.yaml line 2 holds an alias"):
        _load(places, vault)


def test_a_config_file_that_is_too_large_is_not_read_to_its_end(places: Places, vault: Path) -> None:
    (vault / "wikimcp.toml").write_text("# " + "x" * 300_000 + "\n")
    with pytest.raises(SettingsError, match="wikimcp.toml is over 262,144 bytes"):
        _load(places, vault)


def test_the_command_serves_no_vault_that_asks_for_more(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "page.md").write_text("# Page\n")
    (vault / "wikimcp.toml").write_text("[http]\nallow_anonymous = true\nhost = '0.0.0.0'\n")
    command = [sys.executable, "-m", "wikimcp", "serve", str(vault), "--http", "127.0.0.1:0"]
    done = subprocess.run(
        command,
        env=environment(HOME=str(tmp_path), WIKIMCP_EMBEDDER="none"),
        cwd=os.sep,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 2
    assert "http.allow_anonymous cannot be set" in done.stderr
    assert "serving" not in done.stderr
