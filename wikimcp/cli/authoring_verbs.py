"""The verbs of the compiled wiki, by module: each has ``add``, which describes it, and ``run``.

A module may hold several verbs. One that does not exist yet is said to be missing when it is asked for.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping
from functools import cache
from types import ModuleType

from wikimcp.cli.parsing import Verbs

_MODULES: Mapping[str, str] = {
    "init": "init_verb",
    "refresh": "refresh_verb",
    "lint": "lint_verb",
    "ingest": "ingest_verb",
    "insight": "insight_verb",
    "hot": "hot_verb",
    "retire": "source_verbs",
    "repoint": "source_verbs",
    "okf": "okf_verb",
    "context": "context_verb",
}


@cache
def _load(name: str) -> ModuleType | None:
    module_name = f"{__package__}.{name}"
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        return None


AUTHORING_VERBS = tuple(verb for verb, module in _MODULES.items() if _load(module) is not None)
MISSING_VERBS = tuple(verb for verb in _MODULES if verb not in AUTHORING_VERBS)


def add_authoring(verbs: Verbs) -> None:
    """Describe every verb there is."""
    for name in dict.fromkeys(_MODULES.values()):
        if (module := _load(name)) is not None:
            module.add(verbs)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb that was asked for; returns its exit code."""
    module = _load(_MODULES[arguments.verb])
    assert module is not None, arguments.verb
    code: int = module.run(arguments)
    return code
