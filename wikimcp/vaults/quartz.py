"""Quartz sites: ``quartz.config.*`` beside a ``content`` folder, read as the site would publish it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from wikimcp.markdown.publication import fold_key
from wikimcp.markdown.yaml_values import YamlFault, load_yaml
from wikimcp.models import Diagnostic, ParsedPage
from wikimcp.ports import FileContent
from wikimcp.vaults.dialect_files import (
    UnreadableRules,
    inner_folder,
    is_plain_list,
    read_settings,
    script_strings,
    without_script_comments,
)
from wikimcp.vaults.folder import FolderAdapter
from wikimcp.vaults.globs import PathPattern, compile_globs
from wikimcp.vaults.options import VaultOptions

_CONFIGS = ("quartz.config.ts", "quartz.config.js", "quartz.config.yaml", "quartz.config.yml")
_PATTERNS = re.compile(r"""\bignorePatterns["']?\s*:\s*\[([^\]]{0,8000})\]""")
_HIDES = re.compile(r"ignorePatterns|explicit-?publish", re.IGNORECASE)
_EXPLICIT = re.compile(r"\bExplicitPublish\s*\(")


@dataclass(frozen=True, slots=True)
class _Config:
    """What a configuration says about pages: ignored globs, and whether publishing must be asked for."""

    ignore: tuple[str, ...] = ()
    explicit: bool = False
    notes: tuple[Diagnostic, ...] = ()


class QuartzAdapter(FolderAdapter):
    """Every markdown file below ``content`` (else the root) that ``ignorePatterns`` does not leave out."""

    name: ClassVar[str] = "quartz"

    @classmethod
    def detect(cls, root: Path, options: VaultOptions) -> QuartzAdapter | None:
        """Return an adapter when the folder holds a Quartz configuration."""
        return cls(root, options) if any((root / name).is_file() for name in _CONFIGS) else None

    def __init__(self, root: Path, options: VaultOptions | None = None) -> None:
        super().__init__(root, options)
        self._folder = "content" if inner_folder(self.root, "content", self.options.trusted_links) else ""

    @property
    def source_folder(self) -> str:
        """``content`` when there is such a folder."""
        return self._folder

    @property
    def dialect_settings(self) -> str:
        """Whether pages are published only when they say so."""
        return super().dialect_settings or ("explicit" if self.explicit else "")

    @cached_property
    def explicit(self) -> bool:
        """Whether the site publishes only pages with ``publish: true`` (the ExplicitPublish filter)."""
        try:
            return _read_config(self.root).explicit
        except UnreadableRules:
            return False  # every page is withheld, then

    def ignored_by_dialect(self) -> tuple[list[PathPattern], list[Diagnostic]]:
        """Return ``ignorePatterns``: globs from the content folder on."""
        config = _read_config(self.root)
        pattern = compile_globs(f"/{glob.lstrip('/')}" for glob in config.ignore)
        return ([pattern] if pattern else []), list(config.notes)

    def parse(self, content: FileContent) -> ParsedPage:
        """Parse one file; where pages must ask for it to be published, the others are withheld."""
        page = super().parse(content)
        if self.explicit and not page.withheld and not _asks(page.frontmatter):
            return replace(page, withheld="publish: not set, and the site publishes only what says so")
        return page


def _asks(frontmatter: Mapping[str, Any]) -> bool:
    """Say whether a page that nothing withholds bears a ``publish`` key: it is true, then."""
    return any(fold_key(key) == "publish" for key in frontmatter)


def _read_config(root: Path) -> _Config:
    """Read the first configuration there is.

    Raises UnreadableRules when it may hide pages and cannot be read.
    """
    for name in _CONFIGS:
        try:
            text = read_settings(root, name)
        except OSError as error:
            raise UnreadableRules(f"{name} cannot be read") from error
        if text is None:
            continue
        if not name.endswith(("yaml", "yml")):
            return _of_script(text, name)
        try:
            return _of_yaml(text)
        except YamlFault as fault:
            if _HIDES.search(text):
                raise UnreadableRules(f"{name} is no YAML: {fault.reason}") from fault
            note = f"{name} is no YAML; it says nothing of pages to ignore"
            return _Config(notes=(Diagnostic("vault_settings", note),))
    return _Config()


def _of_script(text: str, name: str) -> _Config:
    """Read what stands in plain sight in a script; nothing of it is run."""
    plain = without_script_comments(text)
    lists = _PATTERNS.findall(plain)
    if not all(map(is_plain_list, lists)) or ("ignorePatterns" in plain and not lists):
        raise UnreadableRules(f"ignorePatterns in {name} is no plain list")
    ignore = [glob for inner in lists for glob in script_strings(inner)]
    return _Config(tuple(ignore), bool(_EXPLICIT.search(plain)))


def _of_yaml(text: str) -> _Config:
    root = load_yaml(text).root
    ignore = [glob for value in _values(root, "ignorePatterns") for glob in _texts(value)]
    return _Config(tuple(ignore), _has_explicit(root))


def _values(value: Any, key: str) -> Iterator[Any]:  # noqa: ANN401 - any JSON value
    """Yield the values of a key anywhere in nested mappings."""
    if isinstance(value, dict):
        if key in value:
            yield value[key]
        for item in value.values():
            yield from _values(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _values(item, key)


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))


def _has_explicit(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Say whether a list of plugins names ExplicitPublish and does not switch it off."""
    if isinstance(value, dict):
        named = any(_is_explicit(item) for item in value.values())
        if named and value.get("enabled", True) is not False:
            return True
        return any(_has_explicit(item) for item in value.values())
    return isinstance(value, list) and any(_is_explicit(item) or _has_explicit(item) for item in value)


def _is_explicit(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    if not isinstance(value, str):
        return False
    return value.rpartition("/")[2].replace("-", "").casefold() == "explicitpublish"
