"""What the settings say about reading a vault."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_FILE_CAP = 8 * 2**20


@dataclass(frozen=True, slots=True)
class VaultOptions:
    """How to read one vault.

    ``ignore`` and ``private`` are globs relative to the vault: what matches the first is not there,
    pages that match the second are withheld. ``trusted_links`` are folders outside of the vault that
    symbolic links may lead to. ``adapter`` names a dialect; ``auto`` detects it.
    """

    adapter: str = "auto"
    ignore: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    file_cap_bytes: int = DEFAULT_FILE_CAP
    trusted_links: tuple[str, ...] = ()
