"""The facts of the machine that a reader needs to judge the figures. Names no host, user or path."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    *("mcp", "pydantic", "tantivy", "numpy", "wordllama", "tokenizers", "pyromark", "markdown-it-py"),
    *("watchfiles", "anyio", "hnswlib", "fastembed"),
)


def machine_facts() -> dict[str, Any]:
    """Return CPU, cores, memory, system, Python and package versions; empty strings are unknown."""
    from wikimcp import __version__

    return {
        "cpu": cpu_model(),
        "cores": usable_cores(),
        "memory_gb": memory_gb(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}".strip(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "wikimcp": __version__,
        "packages": {name: found for name in PACKAGES if (found := installed(name))},
    }


def cpu_model() -> str:
    """Return the name of the CPU."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def usable_cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def memory_gb() -> float:
    """Return the physical memory in gigabytes, 0 when the system does not tell."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, OSError, ValueError):
        return 0.0


def installed(name: str) -> str:
    """Return the version of a package; empty when it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def load_average() -> float:
    """Return the load average over one minute, 0 when the system does not tell."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return 0.0
