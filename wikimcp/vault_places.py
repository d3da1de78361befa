"""Where a vault is and where its state goes: folders told apart by their signs, checked, and named."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

from wikimcp.config_text import Given, Rule, read_value
from wikimcp.errors import SettingsError, VaultError

_VAULT_SIGNALS = (
    *(".obsidian", "logseq/config.edn", "dendron.yml", ".foam", ".wiki-compiler.json"),
    *(f"quartz.config.{suffix}" for suffix in ("ts", "js", "yaml", "yml")),
    *(f"{folder}/{hub}.md" for folder in ("wiki", "openwiki") for hub in ("index", "hot", "overview")),
)


def looks_like_vault(folder: Path) -> bool:
    """Tell whether a folder shows a clear sign of a vault: a dialect's own file, not mere markdown."""
    return any((folder / signal).exists() for signal in _VAULT_SIGNALS)


def state_dir(vault: Path, *, wanted: Path | None, default: Path) -> Path:
    """Name the vault's own folder below the wanted or default one; two vaults never share one.

    The default may lie inside a vault that is the user's whole home; what is chosen may not.
    """
    real = vault.resolve()
    if wanted is not None and wanted.resolve().is_relative_to(real):
        raise SettingsError(
            "state_dir lies inside the vault",
            hint="The vault is never written to: choose a folder outside of it with --state-dir.",
        )
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", real.name).strip("-.")[:40] or "vault"
    return (wanted or default) / f"{name}-{hashlib.sha256(os.fsencode(real)).hexdigest()[:12]}"


def checked_vault(named: Given, rule: Rule) -> tuple[Path, str]:
    """Return the folder that a source names, and that source. Raises VaultError or SettingsError."""
    vault: Path = read_value("vault", named, rule=rule)
    shown = vault.name or str(vault)
    if not vault.exists():
        raise VaultError(f"the vault '{shown}' does not exist ({named.place})", hint="Check the path.")
    if not vault.is_dir():
        raise VaultError(
            f"the vault '{shown}' is not a folder ({named.place})",
            hint="Name the folder that holds the markdown.",
        )
    return vault, named.place


def discover_vault(cwd: Path, home: Path) -> Given:
    """Return the vault that nobody named: the nearest upwards, or the second brain. Raises SettingsError."""
    for folder in (cwd, *cwd.parents):
        if looks_like_vault(folder):
            return Given(folder, "the nearest folder upwards that is a vault", folder)
    second_brain = home / ".productionos" / "config" / "settings.json"
    if second_brain.is_file():
        try:
            path = json.loads(second_brain.read_text("utf-8-sig")).get("secondbrain_path")
        except (OSError, ValueError, AttributeError) as error:
            raise SettingsError(
                "no vault is named, and settings.json of .productionos is not a JSON object",
                hint="Correct that file, or name the vault with --vault.",
            ) from error
        if path:
            return Given(path, "secondbrain_path in settings.json of .productionos", home)
    raise SettingsError(
        "no vault is named, and no folder from here upwards is one",
        hint="Name the folder of markdown: `wikimcp serve path/to/notes`, or --vault, or the variable "
        "WIKIMCP_VAULT, or the key vault in config.toml of your config folder.",
    )
