"""File names under which synchronising tools keep the losing side of a conflict.

Some names leave no doubt. Others (``note 2``, ``note (1)``) may be anything: those are copies only beside the
file whose name they extend, which is looked for where all pages are known.
"""

from __future__ import annotations

import re

# Syncthing; Dropbox (also in German, French, Spanish), Nextcloud; Seafile; ownCloud; Synology; git mergetool.
_CERTAIN = re.compile(
    r"\.sync-conflict-[^/]*\Z"
    r"|(?:conflicted copy|in konflikt stehende kopie|copie en conflit|copia en conflicto)[^/]*\Z"
    r"|\((?:[^()/]* )?(?:case conflict|selective sync conflict|sfconflict [^()/]*)\)[^/]*\Z"
    r"|_conflict-\d{8}-\d{6}\.\w+\Z"
    r"|_[a-z]{3}-\d\d-\d{6}-\d{4}_conflict\.\w+\Z"
    r"|_(?:backup|base|local|remote)_\d+\.\w+\Z",
    re.IGNORECASE,
)
# Google Drive and browsers; iCloud; OneDrive, which adds the name of the machine; git.
_DOUBTFUL = re.compile(
    r"(?P<mark> ?\(\d{1,2}\)| [2-9]|\.orig"
    r"|-(?:DESKTOP|LAPTOP|WIN|SURFACE)-[A-Z0-9]{3,15}"
    r"|-[\w.]+(?:-s)?-(?:MacBook(?:-Pro|-Air)?|iMac|Mac-mini|PC|Laptop))(?P<suffix>\.\w+)\Z"
)


def is_conflict_copy(path: str) -> bool:
    """Say whether a file name certainly marks the losing side of a synchronisation conflict."""
    return _CERTAIN.search(path) is not None


def original_of(path: str) -> tuple[str, str]:
    """Return the path that a file would be a copy of, and the mark in its name; empty where it is none."""
    found = _DOUBTFUL.search(path)
    if found is None or path[: found.start()].endswith("/") or not found.start():
        return "", ""
    return path[: found.start()] + found["suffix"], found["mark"].strip()
