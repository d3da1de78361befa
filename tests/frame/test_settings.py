"""Settings: which source wins, what a wrong one is told, and how the vault is found."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.setting_places import empty_places
from wikimcp.errors import SettingsError, VaultError, WikimcpError
from wikimcp.setting_groups import Models, Places
from wikimcp.settings import Settings, debug_wanted, load_http, load_models, load_settings


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return empty_places(tmp_path)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def _load(
    places: Places, cwd: Path, flags: Mapping[str, object] | None = None, env: Mapping[str, str] | None = None
) -> Settings:
    return load_settings(flags or {}, env or {}, cwd=cwd, places=places)


def _refusal(
    places: Places, cwd: Path, flags: Mapping[str, object] | None = None, env: Mapping[str, str] | None = None
) -> WikimcpError:
    with pytest.raises((SettingsError, VaultError)) as caught:
        _load(places, cwd, flags, env)
    assert str(cwd) not in str(caught.value), "no message holds a path of the machine"
    return caught.value


def test_every_key_has_its_default(places: Places, vault: Path) -> None:
    settings = _load(places, vault, {"vault": "."})
    assert settings.vault == vault
    assert settings.models.dir == places.data / "models"
    assert (settings.answer_tokens, settings.embedder, settings.start.wait_seconds) == (8000, "auto", 2.0)
    assert (settings.coverage.strong_similarity, settings.coverage.lexical_lift) == (None, True)
    assert not (settings.drafts.allow or settings.urls.file or settings.http.allow_anonymous)
    assert settings.watch and settings.graph.enabled and settings.dense.hnsw_threshold == 250_000
    assert settings.origins == {"vault": "the command line"}


def test_settings_can_be_made_by_hand_and_load_equals_them(places: Places, vault: Path) -> None:
    loaded = _load(places, vault, {"vault": ".", "models.dir": "/models"})
    by_hand = Settings(
        vault=vault,
        state_dir=loaded.state_dir,
        models=type(loaded.models)(dir=Path("/models")),
        http=type(loaded.http)(keys_file=places.config / "keys.json"),
    )
    assert loaded == by_hand


def test_the_http_settings_are_loaded_without_a_vault(places: Places, tmp_path: Path) -> None:
    (places.config / "config.toml").write_text("[http]\nrate_burst = 7\ncors_origins = 'https://a.example'\n")
    http = load_http({}, {"WIKIMCP_HTTP_RATE_PER_MINUTE": "0"}, cwd=tmp_path, places=places)
    assert http.keys_file == places.config / "keys.json"
    assert (http.rate_burst, http.rate_per_minute, http.cors_origins) == (7, 0, ("https://a.example",))


def test_a_file_of_keys_inside_the_vault_is_refused(places: Places, vault: Path) -> None:
    error = _refusal(places, vault, {"vault": ".", "http.keys_file": "keys.json"})
    assert "http.keys_file lies inside the vault" in error.message


def test_flags_win_over_environment_over_the_vaults_file_over_the_users_file(
    places: Places, vault: Path
) -> None:
    (places.config / "config.toml").write_text(
        "answer_tokens = 1001\nembedder = 'none'\nwatch = false\nadapter = 'foam'\nlog_level = 'debug'\n"
    )
    (vault / ".wikimcp.yaml").write_text(
        "answer_tokens: 1002\nembedder: wordllama\nwatch: yes\nadapter: quartz\n"
    )
    (vault / "wikimcp.toml").write_text("answer_tokens = 1003\nembedder = 'auto'\nwatch = false\n")
    env = {"WIKIMCP_ANSWER_TOKENS": "1004", "WIKIMCP_EMBEDDER": "fastembed"}
    settings = _load(places, vault, {"vault": str(vault), "answer_tokens": 1005}, env)
    assert settings.answer_tokens == 1005
    assert settings.embedder == "fastembed"
    assert settings.watch is False
    assert settings.adapter == "quartz"
    assert settings.log_level == "debug"
    assert settings.origins == {
        "vault": "the command line",
        "answer_tokens": "the command line",
        "embedder": "WIKIMCP_EMBEDDER",
        "watch": "wikimcp.toml line 3",
        "adapter": ".wikimcp.yaml line 4",
        "log_level": "the user's config.toml line 5",
    }


def test_toml_tables_yaml_maps_and_dotted_keys_say_the_same(places: Places, vault: Path) -> None:
    texts = {
        "wikimcp.toml": [
            "ignore = ['a', 'b']\n[dense]\nhnsw-threshold = 9000\n[models]\nname = 'm'\n[graph]\nenabled = false\n",
            "ignore = ['a', 'b']\ndense.hnsw_threshold = 9000\nmodels.name = 'm'\ngraph.enabled = false\n",
        ],
        ".wikimcp.yaml": [
            "ignore:\n  - a\n  - b\ndense:\n  hnsw-threshold: 9000\nmodels: {name: m}\ngraph: {enabled: off}\n",
            '\ufeffignore: "a, b"\n"dense.hnsw_threshold": "9000"\nmodels.name: m\ngraph.enabled: "no"\n',
        ],
    }
    seen = []
    for name, variants in texts.items():
        for text in variants:
            (vault / name).write_text(text, encoding="utf-8")
            seen.append(_load(places, vault, {"vault": "."}))
        (vault / name).unlink()
    assert len(set(map(repr, seen))) == 1
    assert seen[0].ignore == ("a", "b")
    assert (seen[0].dense.hnsw_threshold, seen[0].models.name, seen[0].graph.enabled) == (9000, "m", False)


def test_lists_come_from_the_environment_by_commas_or_as_json(places: Places, vault: Path) -> None:
    env = {"WIKIMCP_IGNORE": "a/**, b ,", "WIKIMCP_PRIVATE": '["x, y", "z"]', "WIKIMCP_TRUSTED_LINKS": ""}
    settings = _load(places, vault, {"vault": "."}, env)
    assert settings.ignore == ("a/**", "b")
    assert settings.private == ("x, y", "z")
    assert settings.trusted_links == ()


def test_paths_are_relative_to_where_they_are_written(places: Places, vault: Path, tmp_path: Path) -> None:
    (places.config / "config.toml").write_text("[models]\ndir = '../weights'\n")
    assert _load(places, tmp_path, {"vault": "notes"}).models.dir == places.config.parent / "weights"
    settings = _load(places, tmp_path, {"vault": "notes", "state_dir": "s"}, {"WIKIMCP_MODELS_DIR": "w"})
    assert settings.models.dir == tmp_path / "w"
    assert settings.state_dir.parent == tmp_path / "s"


@pytest.mark.parametrize(
    ("name", "text", "message", "hint"),
    [
        (
            "wikimcp.toml",
            "watch = true\nembeder = 'none'\n",
            "line 2: 'embeder' is no setting",
            "mean embedder",
        ),
        ("wikimcp.toml", "[http]\n\nprot = 1\n", "line 3: 'http.prot' is no setting", "mean http.port"),
        ("wikimcp.toml", "[htp]\nport = 1\n", "line 1: 'htp' is no setting", "mean http.port"),
        (
            "wikimcp.toml",
            "allow_anonymous = true\n",
            "'allow_anonymous' is no setting",
            "http.allow_anonymous",
        ),
        (
            "wikimcp.toml",
            "[coverage]\nlexical_lift = 'maybe'\n",
            "line 2: coverage.lexical_lift takes true",
            "",
        ),
        ("wikimcp.toml", "answer_tokens = 8.5\n", "answer_tokens takes a whole number, not 8.5", ""),
        ("wikimcp.toml", "answer_tokens = true\n", "answer_tokens takes a whole number, not True", ""),
        ("wikimcp.toml", "answer_tokens = 3\n", "line 1: answer_tokens is 3, outside of 500 to 100,000", ""),
        ("wikimcp.toml", "coverage.strong_similarity = nan\n", "outside of -1 to 1", ""),
        ("wikimcp.toml", "ignore = [1, 2]\n", "ignore takes a list of texts, not a list", ""),
        ("wikimcp.toml", "ignore = {a = 1}\n", "ignore takes a list of texts, not a dict", ""),
        ("wikimcp.toml", "models = 'minilm'\n", "models is a group of keys", "models.dir, models.name"),
        ("wikimcp.toml", "embedder = 'wordlama'\n", "cannot be 'wordlama'", "Did you mean wordllama?"),
        ("wikimcp.toml", "adapter = 'zzz'\n", "cannot be 'zzz'", "One of: auto, obsidian"),
        ("wikimcp.toml", "a = 1\nb = = 2\n", "wikimcp.toml line 2 is not TOML", ""),
        ("wikimcp.toml", "a = 1\na = 2\n", "is not TOML", ""),
        (".wikimcp.yaml", "watch: true\nignore: *.md\n", ".wikimcp.yaml line 2 is not YAML", ""),
        (
            ".wikimcp.yaml",
            "watch: true\nhttp:\n  prot: 1\n",
            "line 3: 'http.prot' is no setting",
            "http.port",
        ),
        (".wikimcp.yaml", "- a\n- b\n", "holds no keys", ""),
        (".wikimcp.yaml", "vault: [x]\n", "line 1: vault takes a path, not a list", ""),
        (".wikimcp.yaml", "log_level: off\n", "log_level takes text, not False", ""),
        (".wikimcp.yaml", "[" * 5000, "is not YAML", ""),
    ],
)
def test_a_wrong_config_file_is_named_with_line_and_nearest_key(
    places: Places, vault: Path, name: str, text: str, message: str, hint: str
) -> None:
    (vault / name).write_text(text)
    error = _refusal(places, vault)
    assert message in error.message
    assert hint in error.hint
    assert error.message.startswith(name)


def test_a_config_file_that_is_no_text_or_no_file_is_told_apart(places: Places, vault: Path) -> None:
    (vault / "wikimcp.toml").write_bytes(b"a = '\xff\xfe'\n")
    assert "is not UTF-8" in _refusal(places, vault).message
    (vault / "wikimcp.toml").unlink()
    os.mkfifo(vault / "wikimcp.toml")
    assert _load(places, vault, {"vault": "."}).vault == vault


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_config_file_without_read_rights_is_named(places: Places, vault: Path) -> None:
    (vault / "wikimcp.toml").write_text("watch = true\n")
    (vault / "wikimcp.toml").chmod(stat.S_IWUSR)
    assert "cannot be read" in _refusal(places, vault).message


@pytest.mark.parametrize(
    ("env", "message", "hint"),
    [
        ({"WIKIMCP_VALUT": "x"}, "'WIKIMCP_VALUT' is no setting", "WIKIMCP_VAULT"),
        (
            {"WIKIMCP_HTTP_PORT": "eighty"},
            "WIKIMCP_HTTP_PORT: http.port takes a whole number, not 'eighty'",
            "",
        ),
        ({"WIKIMCP_HTTP_PORT": "70000"}, "http.port is 70000, outside of 0 to 65,535", ""),
        ({"WIKIMCP_IGNORE": "[1"}, "ignore takes a list of texts", ""),
        ({"WIKIMCP_VAULT": "a\0b"}, "vault takes a path", ""),
    ],
)
def test_a_wrong_variable_is_named(
    places: Places, vault: Path, env: Mapping[str, str], message: str, hint: str
) -> None:
    error = _refusal(places, vault, None if "VAULT" in str(env) else {"vault": "."}, env)
    assert message in error.message
    assert hint in error.hint


def test_variables_of_session_hooks_and_of_others_are_left_alone(places: Places, vault: Path) -> None:
    env = {
        "WIKIMCP_BRIEFING_PINS": "a",
        "WIKIMCP_DEBUG": "1",
        "WIKIMCP_API_KEY": "k",
        "PATH": "x",
        "WIKI": "y",
    }
    assert _load(places, vault, {"vault": "."}, env).origins == {"vault": "the command line"}


def test_a_wrong_value_in_a_weaker_source_is_an_error_even_when_overruled(
    places: Places, vault: Path
) -> None:
    (places.config / "config.toml").write_text("embedder = 'gpt'\n")
    assert (
        "the user's config.toml line 1" in _refusal(places, vault, {"vault": ".", "embedder": "none"}).message
    )


def test_partial_above_strong_is_refused(places: Places, vault: Path) -> None:
    flags = {"vault": ".", "coverage.strong_similarity": 0.3, "coverage.partial_similarity": 0.4}
    assert "is above coverage.strong_similarity" in _refusal(places, vault, flags).message


def test_an_unknown_flag_is_an_error(places: Places, vault: Path) -> None:
    assert "Did you mean log_level?" in _refusal(places, vault, {"vault": ".", "log_levl": "debug"}).hint


def test_the_vault_is_found_in_the_stated_order(places: Places, tmp_path: Path) -> None:
    here = tmp_path / "project" / "src"
    by_flag, by_variable, by_user, second = (tmp_path / n for n in ("flag", "variable", "user", "second"))
    for folder in (here, by_flag, by_variable, by_user, second, tmp_path / "project" / "docs"):
        folder.mkdir(parents=True)
    assert "no vault is named" in _refusal(places, here).message

    settings_json = places.home / ".productionos" / "config" / "settings.json"
    settings_json.parent.mkdir(parents=True)
    settings_json.write_text(json.dumps({"secondbrain_path": str(second)}))
    assert _load(places, here).vault == second

    (tmp_path / "project" / ".obsidian").mkdir()
    assert _load(places, here).vault == tmp_path / "project"

    (places.config / "config.toml").write_text(f"vault = '{by_user}'\n")
    assert _load(places, here).vault == by_user

    config = tmp_path / "project" / "wikimcp.toml"
    config.write_text("answer_tokens = 900\n")
    found = _load(places, here)
    assert (found.vault, found.answer_tokens) == (tmp_path / "project", 900)

    config.write_text("vault = 'docs'\nanswer_tokens = 900\n")
    (tmp_path / "project" / "docs" / "wikimcp.toml").write_text("log_level = 'debug'\n")
    found = _load(places, here)
    assert (found.vault, found.answer_tokens, found.log_level) == (
        tmp_path / "project" / "docs",
        900,
        "debug",
    )
    assert found.origins["vault"] == "wikimcp.toml line 1"

    env = {"WIKIMCP_VAULT": str(by_variable)}
    assert _load(places, here, env=env).vault == by_variable
    found = _load(places, here, {"vault": "../../flag"}, env)
    assert (found.vault, found.answer_tokens) == (by_flag, 8000), "another vault's project file has no say"


@pytest.mark.parametrize(
    "signal",
    [".obsidian/app.json", "logseq/config.edn", "dendron.yml", ".foam", ".wiki-compiler.json"]
    + ["quartz.config.ts", "wiki/index.md", "openwiki/overview.md", ".wikimcp.yaml"],
)
def test_a_folder_upwards_with_a_clear_signal_is_the_vault(places: Places, vault: Path, signal: str) -> None:
    (vault / signal).parent.mkdir(parents=True, exist_ok=True)
    (vault / signal).write_text("")
    deep = vault / "a" / "b"
    deep.mkdir(parents=True)
    assert _load(places, deep).vault == vault


def test_mere_markdown_upwards_is_no_vault(places: Places, vault: Path) -> None:
    (vault / "README.md").write_text("# Hello\n")
    (vault / "docs").mkdir()
    (vault / "docs" / "guide.md").write_text("# Guide\n")
    error = _refusal(places, vault)
    assert "no vault is named" in error.message
    assert "wikimcp serve path/to/notes" in error.hint


@pytest.mark.parametrize("text", ["not json", "[]", '"x"'])
def test_a_broken_second_brain_file_is_named(places: Places, vault: Path, text: str) -> None:
    file = places.home / ".productionos" / "config" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert "settings.json of .productionos" in _refusal(places, vault).message


def test_a_missing_vault_and_a_file_as_vault_are_told_with_their_origin(places: Places, vault: Path) -> None:
    (vault / "page.md").write_text("x")
    missing = _refusal(places, vault, {"vault": "gone"})
    assert (missing.code, missing.message) == ("vault", "the vault 'gone' does not exist (the command line)")
    assert (
        "is not a folder (WIKIMCP_VAULT)" in _refusal(places, vault, env={"WIKIMCP_VAULT": "page.md"}).message
    )


def test_each_vault_has_its_own_state_folder_outside_of_it(places: Places, tmp_path: Path) -> None:
    folders = [tmp_path / "a" / "my notes", tmp_path / "b" / "my notes", tmp_path / "日本語"]
    for folder in folders:
        folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(folders[0])
    states = [_load(places, tmp_path, {"vault": str(folder)}).state_dir for folder in folders]
    assert len(set(states)) == 3
    assert all(state.parent == places.state for state in states)
    assert states[0].name.startswith("my-notes-")
    assert states[2].name.startswith("vault-")
    assert (
        _load(places, tmp_path, {"vault": "link"}).state_dir.name.rpartition("-")[2]
        == (states[0].name.rpartition("-")[2])
    )


def test_a_state_folder_inside_the_vault_is_refused(places: Places, vault: Path) -> None:
    for inside in (".", "x/../y"):
        error = _refusal(places, vault, {"vault": ".", "state_dir": inside})
        assert "inside the vault" in error.message


def test_a_vault_that_holds_the_default_state_folder_is_served(places: Places, tmp_path: Path) -> None:
    assert _load(places, tmp_path, {"vault": "."}).state_dir.parent == places.state


def test_the_settings_of_models_need_no_vault(places: Places, tmp_path: Path) -> None:
    assert load_models({}, {}, cwd=tmp_path, places=places) == Models(dir=places.data / "models", name="")
    (tmp_path / "wikimcp.toml").write_text("vault = 'gone'\n[models]\nname = 'x'\n")
    assert load_models({}, {}, cwd=tmp_path, places=places) == Models(dir=places.data / "models", name="x")
    env = {"WIKIMCP_MODELS_NAME": "y"}
    assert load_models({}, env, cwd=tmp_path, places=places) == Models(dir=places.data / "models", name="y")
    with pytest.raises(SettingsError, match="models.dir takes a path"):
        load_models({"models.dir": ""}, {}, cwd=tmp_path, places=places)


@pytest.mark.parametrize(
    ("value", "wanted"), [("1", True), ("yes", True), ("", False), ("0", False), ("off", False)]
)
def test_debug_is_a_switch(value: str, wanted: bool) -> None:
    assert debug_wanted({"WIKIMCP_DEBUG": value}) is wanted
    assert debug_wanted({}) is False
