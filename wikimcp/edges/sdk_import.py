"""Loads ``mcp_server`` without the halves of the MCP SDK that a server never uses: a quarter of a start.

``import mcp.server.lowlevel`` runs the inits of ``mcp`` and ``mcp.server`` first, and these import the
client and the decorator API.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wikimcp.edges.mcp_server import McpServer

_MODULE = "wikimcp.edges.mcp_server"


def load_mcp_server() -> type[McpServer]:
    """Return the class McpServer, imported the quick way where that works, else the plain one.

    The many objects of an import live for ever: looking through them for garbage is time wasted, now
    and at every later full collection.
    """
    gc.disable()
    try:
        if "mcp" not in sys.modules:
            _import_lean()
        found: type[McpServer] = importlib.import_module(_MODULE).McpServer
        return found
    finally:
        gc.freeze()
        gc.enable()


def _import_lean() -> None:
    before = set(sys.modules)
    try:
        with _bare_packages("mcp", "mcp.server"):
            importlib.import_module(_MODULE)
    except Exception:  # an SDK that is built otherwise: forget the attempt, the plain import follows
        for name in set(sys.modules) - before:
            if name == _MODULE or name.partition(".")[0] == "mcp":
                del sys.modules[name]


@contextmanager
def _bare_packages(*names: str) -> Iterator[None]:
    """Let packages be found without their inits run; afterwards they are as if never imported."""
    try:
        for name in names:
            spec = importlib.util.find_spec(name)
            if spec is None or spec.submodule_search_locations is None:
                raise ImportError(f"no package {name}")
            package = ModuleType(name)
            package.__spec__ = spec
            package.__path__ = list(spec.submodule_search_locations)
            sys.modules[name] = package
        yield
    finally:
        for name in names:
            sys.modules.pop(name, None)
