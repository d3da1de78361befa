"""Settings: flags over environment over the vault's config file over the user's file.

The only reader of the environment and of config files. Every key is declared once, as a field of
`Settings` or of one of its groups, with its kind and bounds; loading, checking and the names in
error messages follow from that. What a value means is left to the part that uses it. A vault's own
file is trusted with less: `setting_groups.FOLDERS_OWN` says with what.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from wikimcp.config_text import MOST_CONFIG, Given, Rule, operators_key, parse_config, read_value, unknown_key
from wikimcp.errors import SettingsError
from wikimcp.setting_groups import (
    FOLDERS_OWN,
    GROUPS,
    NARROWING,
    Authoring,
    Briefing,
    Citations,
    Coverage,
    Dense,
    Drafts,
    Graph,
    Http,
    Models,
    Places,
    Sparql,
    Start,
    Urls,
    declared,
)
from wikimcp.vault_places import checked_vault, discover_vault, state_dir

PREFIX = "WIKIMCP_"
_M_ARENA_MAX = -8  # of mallopt(3), malloc.h
VAULT_FILES = ("wikimcp.toml", ".wikimcp.yaml")
USER_FILE = "config.toml"
ADAPTERS = ("auto", "obsidian", "logseq", "dendron", "foam", "quartz", "llmwiki", "generic")

_NO_SETTINGS = frozenset(
    {"DEBUG", "BASE_URL", "BASIC_AUTH", "API_KEY"}
    | {"BRIEFING_PINS", "BRIEFING_CLUSTERS", "BRIEFING_BUDGET", "BRIEFING_SCOPE_MODE"}
)
"""Variables with our prefix that are no settings: the debug switch and what session hooks read."""

_OLD_PREFIX = "WIKANTIK_"  # session hooks take their variables by this prefix too, where ours is not set

Layer = Mapping[str, Given]
"""One source of settings: what it gives, by dotted key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set, checked. ``state_dir`` is this vault's own folder, not its parent.

    ``origins`` says for each key that was set where its value came from (``the command line``,
    ``WIKIMCP_VAULT``, ``wikimcp.toml line 3``).
    """

    vault: Path = field(metadata={"rule": Rule("path")})
    state_dir: Path = field(metadata={"rule": Rule("path")})
    adapter: str = declared("text", "auto", *ADAPTERS)
    ignore: tuple[str, ...] = declared("list", ())
    private: tuple[str, ...] = declared("list", ())
    trusted_links: tuple[str, ...] = declared("list", ())
    file_cap_bytes: int = declared("whole", 8 * 2**20, between=(1024, 2**30))
    embedder: str = declared("text", "auto", "auto", "wordllama", "fastembed", "none")
    answer_tokens: int = declared("whole", 8_000, between=(500, 100_000))
    watch: bool = declared("flag", True)
    log_level: str = declared("text", "info", "debug", "info", "warning", "error")
    drafts: Drafts = field(default_factory=Drafts)
    models: Models = field(default_factory=Models)
    coverage: Coverage = field(default_factory=Coverage)
    dense: Dense = field(default_factory=Dense)
    urls: Urls = field(default_factory=Urls)
    start: Start = field(default_factory=Start)
    http: Http = field(default_factory=Http)
    graph: Graph = field(default_factory=Graph)
    sparql: Sparql = field(default_factory=Sparql)
    briefing: Briefing = field(default_factory=Briefing)
    citations: Citations = field(default_factory=Citations)
    authoring: Authoring = field(default_factory=Authoring)
    origins: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """What session hooks read from the environment; empty texts are unset. ``budget`` in tokens.

    ``notes`` say what was wrong with a value, in whose place the default stands.
    """

    base_url: str
    api_key: str
    basic_auth: str
    vault: str
    pins: tuple[str, ...]
    clusters: tuple[str, ...]
    budget: int
    scope_mode: str
    state_folder: Path
    notes: tuple[str, ...] = ()


RULES: Mapping[str, Rule] = {
    **{item.name: item.metadata["rule"] for item in fields(Settings) if "rule" in item.metadata},
    **{
        f"{name}.{item.name}": item.metadata["rule"]
        for name, group in GROUPS.items()
        for item in fields(group)
    },
}
"""Every key by its dotted name."""


# Loading


def load_settings(
    flags: Mapping[str, object],
    env: Mapping[str, str] | None = None,
    *,
    cwd: Path | None = None,
    places: Places | None = None,
    unnamed: Path | None = None,
) -> Settings:
    """Load and check all settings; ``flags`` holds dotted keys (None: not given).

    ``unnamed`` is the vault where none is named; without it one is looked for. Raises SettingsError for a
    wrong key, value or file, named with its nearest right one and its line, and when no vault is named or
    found; VaultError when the vault is no folder.
    """
    cwd = Path.cwd() if cwd is None else cwd
    places = Places.of_user() if places is None else places
    explicit, project, user = _sources(flags, env, cwd=cwd, places=places)
    named = _first("vault", explicit)
    if named is None:
        named = _first("vault", project.layers) or project.as_vault() or _first("vault", [user])
    else:
        project = _Project(None)  # another vault's config file has no say
    if named is None and unnamed is not None:
        named = Given(unnamed, "the compiled wiki of the workspace", cwd)
    vault, origin = checked_vault(named or discover_vault(cwd, places.home), RULES["vault"])
    own = [] if vault == project.folder else _folder_layers(vault)
    values, origins = _merge(explicit, [*own, *project.layers], user, places=places)
    values["vault"], origins["vault"] = vault, origin
    values["state_dir"] = state_dir(vault, wanted=values.get("state_dir"), default=places.state)
    top = {key: value for key, value in values.items() if "." not in key}
    groups = {name: _group(name, values) for name in GROUPS}
    return _consistent(Settings(**top, **groups, origins=origins))


def load_models(
    flags: Mapping[str, object],
    env: Mapping[str, str] | None = None,
    *,
    cwd: Path | None = None,
    places: Places | None = None,
) -> Models:
    """Load the settings of embedding models alone: no vault is needed. Raises SettingsError."""
    models: Models = _load_group("models", flags, env, cwd=cwd, places=places)
    return models


def load_http(
    flags: Mapping[str, object],
    env: Mapping[str, str] | None = None,
    *,
    cwd: Path | None = None,
    places: Places | None = None,
) -> Http:
    """Load the settings of the HTTP edge alone: no vault is needed. Raises SettingsError."""
    http: Http = _load_group("http", flags, env, cwd=cwd, places=places)
    return http


def load_authoring(
    flags: Mapping[str, object],
    env: Mapping[str, str] | None = None,
    *,
    cwd: Path | None = None,
    places: Places | None = None,
) -> Authoring:
    """Load the settings of the compiled wiki alone: no vault is needed. Raises SettingsError."""
    authoring: Authoring = _load_group("authoring", flags, env, cwd=cwd, places=places)
    return authoring


def _load_group(
    name: str,
    flags: Mapping[str, object],
    env: Mapping[str, str] | None,
    *,
    cwd: Path | None,
    places: Places | None,
) -> Any:  # noqa: ANN401 - the group's own class
    cwd = Path.cwd() if cwd is None else cwd
    places = Places.of_user() if places is None else places
    explicit, project, user = _sources(flags, env, cwd=cwd, places=places)
    values, _ = _merge(explicit, project.layers, user, places=places)
    return _group(name, values)


def load_hook_settings(env: Mapping[str, str] | None = None) -> HookSettings:
    """Read the variables of session hooks: ours, else those of the older prefix. Raises nothing."""
    env = os.environ if env is None else env
    notes: list[str] = []

    def text(name: str) -> str:
        return (env.get(PREFIX + name) or env.get(_OLD_PREFIX + name) or "").strip()

    def checked(name: str, rule: Rule, default: Any) -> Any:  # noqa: ANN401 - the type its rule names
        if not text(name):
            return default
        try:
            return read_value(name, Given(text(name), "the environment", Path()), rule=rule)
        except SettingsError as error:
            notes.append(str(error))
            return default

    cache = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME") or Path.home()) / ".cache")
    return HookSettings(
        base_url=text("BASE_URL"),
        api_key=text("API_KEY"),
        basic_auth=text("BASIC_AUTH"),
        vault=text("VAULT"),
        pins=checked("BRIEFING_PINS", Rule("list"), ()),
        clusters=checked("BRIEFING_CLUSTERS", Rule("list"), ()),
        budget=checked("BRIEFING_BUDGET", Rule("whole", 200, 24_000), 6_000),
        scope_mode=checked("BRIEFING_SCOPE_MODE", Rule("text", choices=("prefer", "strict")), "prefer"),
        state_folder=Path(cache) / "wikimcp-briefing",
        notes=tuple(notes),
    )


def one_blas_thread() -> None:
    """Have numpy's BLAS work in the calling thread. Call before numpy is imported.

    The products here are small: handing them to other threads takes longer than making them.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def no_pydantic_plugins() -> None:
    """Have pydantic not look through all that is installed for plugins, which takes it 50 ms.

    Call before pydantic is used. Whoever wants one sets the variable.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def few_malloc_arenas() -> None:
    """Keep the C library from holding freed memory in an arena for each thread that ever ran.

    Without it a server grows with every edit, as the threads of each commit leave theirs behind.
    Nothing to do where the C library is not glibc.
    """
    import ctypes

    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def child_environment() -> Mapping[str, str]:
    """Return the environment for a program that is started by this one."""
    return dict(os.environ)


def debug_wanted(env: Mapping[str, str] | None = None) -> bool:
    """Tell whether ``WIKIMCP_DEBUG`` asks for tracebacks."""
    value = (os.environ if env is None else env).get(f"{PREFIX}DEBUG", "")
    return value.strip().casefold() not in {"", "0", "false", "no", "off"}


def _merge(
    explicit: Sequence[Layer], folders: Sequence[Layer], user: Layer, *, places: Places
) -> tuple[dict[str, Any], dict[str, str]]:
    """Take each key from the strongest layer that has it; the values of every layer are checked.

    What a folder's file withholds or ignores comes on top of what the user's file does.
    """
    values: dict[str, Any] = {
        "models.dir": places.data / "models",
        "http.keys_file": places.config / "keys.json",
    }
    origins: dict[str, str] = {}
    for layer in (user, *reversed(folders), *reversed(explicit)):
        for key, given in layer.items():
            value = read_value(key, given, rule=RULES[key])
            if key in NARROWING and layer in folders:
                value = tuple(dict.fromkeys((*values.get(key, ()), *value)))
            values[key] = value
            origins[key] = given.place
    return values, origins


def _group(name: str, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the group's own class
    prefix = f"{name}."
    return GROUPS[name](**{k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)})


def _consistent(settings: Settings) -> Settings:
    strong, partial = settings.coverage.strong_similarity, settings.coverage.partial_similarity
    if strong is not None and partial is not None and partial > strong:
        raise SettingsError(
            f"coverage.partial_similarity ({partial:g}) is above coverage.strong_similarity ({strong:g})",
            hint="Partial evidence is the weaker one: swap the two or leave both unset.",
        )
    chosen = "http.keys_file" in settings.origins  # the default may lie in a vault that is one's home
    if chosen and settings.http.keys_file.resolve().is_relative_to(settings.vault.resolve()):
        raise SettingsError(
            "http.keys_file lies inside the vault",
            hint="The vault is never written to: keep the keys in your config folder.",
        )
    return settings


# The layers


@dataclass(frozen=True, slots=True)
class _Project:
    """The nearest folder upwards with config files; None: there is none."""

    folder: Path | None

    @property
    def layers(self) -> Sequence[Layer]:
        """What its files give. Raises SettingsError."""
        return [] if self.folder is None else _folder_layers(self.folder)

    def as_vault(self) -> Given | None:
        """Return the folder itself as the vault, for config files that name no other."""
        return (
            None if self.folder is None else Given(self.folder, "the config file found upwards", self.folder)
        )


def _sources(
    flags: Mapping[str, object], env: Mapping[str, str] | None, *, cwd: Path, places: Places
) -> tuple[list[Layer], _Project, Layer]:
    """Read what can be read before the vault is known: flags and environment, project, user."""
    explicit = [_flag_layer(flags, cwd), _environment_layer(os.environ if env is None else env, cwd)]
    user = _file_layer(places.config / USER_FILE, f"the user's {USER_FILE}")
    for folder in (cwd, *cwd.parents):
        if any((folder / name).is_file() for name in VAULT_FILES):
            return explicit, _Project(folder), user
    return explicit, _Project(None), user


def _first(key: str, layers: Sequence[Layer]) -> Given | None:
    return next((layer[key] for layer in layers if key in layer), None)


def _flag_layer(flags: Mapping[str, object], cwd: Path) -> Layer:
    layer: dict[str, Given] = {}
    for key, value in flags.items():
        if key not in RULES:
            raise unknown_key(key, "the command line", list(RULES))
        if value is not None:
            layer[key] = Given(value, "the command line", cwd)
    return layer


def _environment_layer(env: Mapping[str, str], cwd: Path) -> Layer:
    by_name = {_variable(key).removeprefix(PREFIX): key for key in RULES}
    layer: dict[str, Given] = {}
    for variable, value in env.items():
        name = variable.removeprefix(PREFIX)
        if name == variable or name in _NO_SETTINGS:
            continue
        if name not in by_name:
            raise unknown_key(variable, "the environment", [PREFIX + known for known in by_name])
        if value != "":
            layer[by_name[name]] = Given(value, variable, cwd)
    return layer


def _folder_layers(folder: Path) -> list[Layer]:
    """Read a folder's config files. Raises SettingsError for a key that is for whoever runs the server."""
    layers = [_file_layer(folder / name, name) for name in VAULT_FILES if (folder / name).is_file()]
    for key, given in ((key, given) for layer in layers for key, given in layer.items()):
        if key not in FOLDERS_OWN:
            raise operators_key(key, given.place, f"your own {USER_FILE}", _variable(key))
    return layers


def _variable(key: str) -> str:
    return PREFIX + key.replace(".", "_").upper()


def _file_layer(file: Path, label: str) -> Layer:
    """Read one config file (TOML or YAML by its suffix); a missing one gives nothing."""
    if not file.is_file():
        return {}
    try:
        with file.open("rb") as stream:
            data = stream.read(MOST_CONFIG + 1)
    except OSError as error:
        raise SettingsError(f"{label} cannot be read ({error.strerror})", hint="Check its rights.") from error
    found = parse_config(data, label, toml=file.suffix == ".toml", rules=RULES)
    return {key: Given(value, place, file.parent) for key, (value, place) in found.items()}
