"""`wikimcp graph --html`: writes the graph as a page, never into the vault or over a file of another kind."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from wikimcp.cli.parsing import UsageError
from wikimcp.cli.show import print_facts, print_json
from wikimcp.cli.verbs import opened
from wikimcp.models import Caller
from wikimcp.settings import Settings

_ENOUGH = 1_024


def write_picture(arguments: argparse.Namespace, settings: Settings, caller: Caller) -> int:
    """Write the page and tell how much it holds; with ``-`` print the page itself."""
    if arguments.action != "show":
        raise UsageError(
            "--html goes with the whole graph alone", hint="As in `wikimcp graph --html wiki.html`."
        )
    to_stdout = arguments.html == "-"
    file = None if to_stdout else _place(arguments.html, settings.vault, force=arguments.force)
    with opened(settings, vectors="none") as service:
        picture = service.picture(caller)
    if file is None:
        print(picture.html, end="")
        return 0
    page = picture.html.encode()
    _write(file, page, shown=arguments.html)
    facts = {"file": arguments.html, "bytes": len(page), "nodes": picture.nodes, "edges": picture.edges}
    if getattr(arguments, "json", False):
        print_json(facts)
    else:
        print_facts(facts)
    return 0


def _place(name: str, vault: Path, *, force: bool) -> Path:
    """Return where to write, links followed. Raises UsageError for a place that may not or cannot be used."""
    shown = name[:120]
    try:
        file = Path(name).resolve()
        taken, special = file.exists(), file.exists() and not file.is_file()
        inside = any(above.exists() and above.samefile(vault) for above in file.parents)
        ready = file.parent.is_dir()
    except (OSError, ValueError, RuntimeError) as error:  # a NUL, a name too long, links in a circle
        raise UsageError(f"--html: {shown!r} is no place for a file") from error
    if not name or special:
        raise UsageError("--html takes the name of a file", hint="As in --html wiki.html.")
    if inside:
        raise UsageError(
            "--html: the file would lie inside the vault",
            hint="The vault is never written to: choose a place outside of it.",
        )
    if not ready:
        raise UsageError(f"--html: the folder of {shown} does not exist", hint="Make it first.")
    if taken and not force and not _is_ours(file):
        hint = "Add --force to replace it, or choose another name."
        raise UsageError(f"--html: {shown} exists and is no page of this command", hint=hint)
    return file


def _is_ours(file: Path) -> bool:
    from wikimcp.graph.picture import is_picture

    if not file.is_file():
        return False
    try:
        with file.open("rb") as stream:
            return is_picture(stream.read(_ENOUGH))
    except OSError:
        return False


def _write(file: Path, page: bytes, *, shown: str) -> None:
    """Write the page beside its place and put it there whole, so that a failure leaves the old one."""
    import tempfile

    beside: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=".wikimcp-", suffix=".part")
        beside = Path(name)
        with os.fdopen(handle, "wb") as stream:
            stream.write(page)
        beside.chmod(0o666 & ~_umask())
        beside.replace(file)
    except OSError as error:
        reason = error.strerror or "no reason given"
        raise UsageError(f"--html: {shown[:120]} cannot be written: {reason}") from error
    finally:
        if beside is not None:
            beside.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
