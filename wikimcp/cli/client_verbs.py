"""`wikimcp install` and `wikimcp uninstall`: plan, show, write."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from wikimcp.cli.parsing import UsageError, settings_flags
from wikimcp.cli.show import print_json, print_text
from wikimcp.errors import nearest
from wikimcp.settings import load_settings

if TYPE_CHECKING:
    from wikimcp.clients.install import Plan
    from wikimcp.clients.project_files import Change, ProjectFolder


def install(arguments: argparse.Namespace) -> int:
    """Wire the vault into a client, or take it out with ``--uninstall``."""
    if arguments.uninstall:
        return uninstall(arguments)
    from wikimcp.clients.install import plan_install
    from wikimcp.clients.wiring import Wiring, start_command

    client = _client(arguments.client)
    project = _project(arguments)
    flags = settings_flags(arguments)
    settings = load_settings(flags, cwd=None if "vault" in flags else project.root)
    wiring = Wiring(
        command=start_command(arguments.command),
        vault=str(settings.vault),
        options=_options(flags),
        pins=tuple(arguments.pin or ()),
        clusters=tuple(arguments.cluster or ()),
        extractor=arguments.with_extractor,
    )
    return _carry_out(arguments, client, plan_install(client, project, wiring), done="installed")


def uninstall(arguments: argparse.Namespace) -> int:
    """Take out of a client what was installed."""
    from wikimcp.clients.install import plan_uninstall

    client = _client(arguments.client)
    plan = plan_uninstall(client, _project(arguments))
    return _carry_out(arguments, client, plan, done="uninstalled")


def _options(flags: Mapping[str, object]) -> tuple[str, ...]:
    """Return what else the command line set, for the server and the hook to be started with."""
    words: list[str] = []
    for key, value in flags.items():
        if key != "vault" and value is not None:
            shown = os.path.abspath(str(value)) if key in ("state_dir", "models.dir") else str(value)
            words += ["--set", f"{key}={shown}"]
    return tuple(words)


def _client(name: str) -> str:
    from wikimcp.clients.install import CLIENTS

    if name not in CLIENTS:
        near = nearest(name, list(CLIENTS), limit=1)
        hint = f"Did you mean {near[0]}?" if near else f"The clients are: {', '.join(CLIENTS)}."
        raise UsageError(f"'{name[:80]}' is no client that can be installed into", hint=hint)
    return name


def _project(arguments: argparse.Namespace) -> ProjectFolder:
    from wikimcp.clients.project_files import ProjectFolder

    return ProjectFolder(Path(arguments.project or "."))


def _carry_out(arguments: argparse.Namespace, client: str, plan: Plan, *, done: str) -> int:
    if not arguments.dry_run:
        plan.apply()
    if getattr(arguments, "json", False):
        rows = [{"file": change.file, "change": _kind(change)} for change in plan.changes]
        facts = {
            "client": client,
            "changes": rows,
            "notes": list(plan.notes),
            "written": not arguments.dry_run,
        }
        print_json(facts | ({"diff": plan.diff()} if arguments.dry_run else {}))
        return 0
    if arguments.dry_run and plan.changes:
        print_text(plan.diff())
    lines = [f"{_kind(change)}: {change.file}" for change in plan.changes]
    if not plan.changes:
        lines.append(f"Nothing to change: {client} is {done} already.")
    elif arguments.dry_run:
        lines.append("Nothing was written (--dry-run).")
    else:
        lines.append(f"{client} is {done}. Start it anew in this project.")
        if done == "installed":
            lines.append("Its first start makes the index; `wikimcp index` makes it now.")
    print_text("\n".join([*lines, *plan.notes]))
    return 0


def _kind(change: Change) -> str:
    if change.after is None:
        return "removed"
    return "new" if change.before is None else "changed"
