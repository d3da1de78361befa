"""Folders for settings: a user's places and a vault, empty."""

from __future__ import annotations

from pathlib import Path

from wikimcp.setting_groups import Places


def empty_places(folder: Path) -> Places:
    """Make the user's home, config, state and data folders below a folder."""
    folders = [folder / name for name in ("home", "config", "state", "data")]
    for made in folders:
        made.mkdir()
    return Places(*folders)
