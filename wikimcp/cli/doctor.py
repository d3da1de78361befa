"""`wikimcp doctor`: check install, settings, vault, index, models and clients, and say what to do."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wikimcp import __version__
from wikimcp.cli.show import brief, print_json, print_table
from wikimcp.cli.verbs import local_caller, opened, settings_of
from wikimcp.errors import WikimcpError
from wikimcp.settings import Settings
from wikimcp.vault_places import looks_like_vault

DISTRIBUTION = "wikimcp-server"
_OPTIONAL = {
    "fastembed": "transformer embeddings, which find more paraphrases",
    "hnswlib": "faster vector search above 250,000 chunks",
    "onnx": "models pulled from a package index",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: ``state`` is ok, note (nothing is broken) or problem; ``advice`` what to do."""

    state: str
    name: str
    finding: str
    advice: str = ""


def doctor(arguments: argparse.Namespace) -> int:
    """Print every check; 1 when one found a problem."""
    checks = [*_install(), *_service(arguments), *_clients()]
    if getattr(arguments, "json", False):
        print_json([asdict(check) for check in checks])
    else:
        rows = [(check.state, check.name, check.finding, check.advice) for check in checks]
        print_table(["state", "check", "finding", "what to do"], rows)
    return 1 if any(check.state == "problem" for check in checks) else 0


def _install() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("ok", "wikimcp", f"{__version__} on Python {version}")
    missing = [name for name in _required() if _version(name) is None]
    if missing:
        yield Check(
            "problem", "libraries", f"missing: {', '.join(missing)}", f"Install {DISTRIBUTION} again."
        )
    else:
        yield Check("ok", "libraries", "all that is required is installed")
    for name, use in _OPTIONAL.items():
        found = _version(name)
        if found is None:
            extra = {"hnswlib": "hnsw", "onnx": "models"}.get(name, name)
            yield Check(
                "note", name, f"not installed (optional: {use})", f"pip install '{DISTRIBUTION}[{extra}]'"
            )
        else:
            yield Check("ok", name, found)


def _clients() -> Iterator[Check]:
    """Look for clients that are wired up in this folder, the project of whoever asks."""
    from wikimcp.clients.install import client_states
    from wikimcp.clients.project_files import ProjectFolder

    found: dict[str, list[tuple[str, str]]] = {}
    for client, file, state in client_states(ProjectFolder(Path())):
        if state != "absent":
            found.setdefault(client, []).append((file, state))
    for client, files in found.items():
        broken = [state.removeprefix("broken: ") for _, state in files if state.startswith("broken")]
        if broken:
            yield Check("problem", client, "; ".join(broken), "Correct that line.")
            continue
        said = ", ".join(f"{file} ({state})" for file, state in files)
        yield Check("ok", client, said, f"`wikimcp uninstall {client}` takes out what is installed.")
    if not found:
        yield Check(
            "note", "clients", "none is wired up in this folder", "`wikimcp install CLIENT --vault FOLDER`"
        )


def _required() -> list[str]:
    """Name the libraries that the installed distribution requires without any extra."""
    from importlib import metadata

    try:
        wanted = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:  # run from a source tree
        return []
    plain = [line for line in wanted if "extra ==" not in line]
    return ["".join(_leading_name(line)) for line in plain]


def _leading_name(requirement: str) -> Iterator[str]:
    for character in requirement:
        if not (character.isalnum() or character in "-_."):
            return
        yield character


def _version(name: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _service(arguments: argparse.Namespace) -> Iterator[Check]:
    try:
        settings = settings_of(arguments)
    except WikimcpError as error:
        yield Check("problem", "settings", error.message, error.hint)
        return
    yield from _settings(settings)
    try:
        with opened(settings, vectors="none") as service:
            status = service.status(local_caller(settings))
    except WikimcpError as error:
        yield Check("problem", error.code, error.message, error.hint)
        return
    yield from _vault(settings, status)
    yield from _diagnostics(status)
    yield from _index(status)
    yield from _embedder(status)
    yield from _tools(status)


def _settings(settings: Settings) -> Iterator[Check]:
    origins = [f"{key} ({place})" for key, place in settings.origins.items()]
    yield Check("ok", "settings", f"set: {', '.join(origins)}" if origins else "defaults only")
    if settings.http.allow_anonymous and settings.http.host not in ("127.0.0.1", "::1", "localhost"):
        yield Check(
            "note",
            "http",
            f"anyone who reaches {settings.http.host} may read this vault",
            "Bind 127.0.0.1, or unset http.allow_anonymous.",
        )


def _vault(settings: Settings, status: Mapping[str, Any]) -> Iterator[Check]:
    files = status.get("files", {})
    pages = files.get("indexed", 0)
    read_as = f"{pages:,} pages, read as {status.get('adapter', 'unknown')}"
    if not pages:
        yield Check("problem", "vault", read_as, "Name a folder that holds markdown files.")
    else:
        plain = "" if looks_like_vault(settings.vault) else " (no sign of a dialect: plain markdown)"
        yield Check("ok", "vault", read_as + plain)
    for kind, verb in (("skipped", "could not be read"), ("partial", "were read in part")):
        if count := files.get(kind, 0):
            yield Check("note", kind, f"{count:,} files {verb}", "`wikimcp status` names them with reasons.")
    if withheld := files.get("withheld", 0):
        yield Check(
            "note", "withheld", f"{withheld:,} pages are drafts or private", "`wikimcp status` names them."
        )


_LINK_CLASSES = {
    "unresolved_link": "lead to no page",
    "ambiguous_link": "may lead to several pages",
    "missing_heading": "name a heading that is not there",
    "missing_block": "name a block that is not there",
}


def _diagnostics(status: Mapping[str, Any]) -> Iterator[Check]:
    """Tell how many pages and links are odd, by what is odd about them; `status` has the rest."""
    see = "`wikimcp status` names them; `wikimcp page SLUG` tells of one page."
    codes = Counter(str(row["code"]) for row in status.get("diagnostics", ()))
    if codes:
        kinds = ", ".join(f"{count:,} {code}" for code, count in codes.most_common(12))
        more = " and more" if status.get("more_diagnostics") else ""
        yield Check("note", "files", f"odd: {kinds}{more}", see)
    for code, row in status.get("links", {}).items():
        example = row["examples"][0]
        where = f"{example['path']}:{example['line']} {example['target']}"
        finding = (
            f"{row['count']:,} links on {row['pages']:,} pages {_LINK_CLASSES.get(code, code)}, as {where}"
        )
        yield Check("note", code, finding, see)


def _index(status: Mapping[str, Any]) -> Iterator[Check]:
    index = status.get("index", {})
    state = str(index.get("state", "unknown"))
    finding = f"{state}, generation {index.get('generation', 0)}"
    for note in status.get("notes", ()):
        yield Check("problem", "state", str(note), "Choose a folder that can be written with --state-dir.")
    if state == "degraded":
        yield Check("problem", "index", finding, "`wikimcp index --rebuild` makes it anew.")
    else:
        yield Check("ok", "index", finding)


def _embedder(status: Mapping[str, Any]) -> Iterator[Check]:
    embedders = status.get("embedders", {})
    name = str(embedders.get("embedder", "none"))
    better = embedders.get("better_embedder")
    pending = status.get("index", {}).get("pending", 0)
    if name == "none":
        yield Check(
            "note", "embedder", "none: answers are lexical only", "Leave the setting embedder at auto."
        )
    else:
        growing = f", {pending:,} chunks to go" if pending else ""
        takes_over = f"; {better} takes over when its vectors are complete" if better else ""
        yield Check("ok", "embedder", f"{name}{growing}{takes_over}")
    for note in embedders.get("embedder_notes", ()):
        yield Check("note", "embedder", brief(note))


def _tools(status: Mapping[str, Any]) -> Iterator[Check]:
    off = status.get("tools_off", {})
    yield Check("ok", "tools", f"{len(status.get('tools', ())):,} on offer")
    if off:
        yield Check(
            "note", "tools", f"{len(off):,} off: {', '.join(sorted(off))}", "`wikimcp tools` says why."
        )
