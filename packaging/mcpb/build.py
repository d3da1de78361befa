"""Pack the bundle: `python packaging/mcpb/build.py [FILE]` writes dist/wikimcp-VERSION.mcpb."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
MANIFEST = Path(__file__).parent / "manifest.json"
_FILES = ("pyproject.toml", "README.md", "LICENSE", "NOTICE")
_FOLDERS = ("wikimcp", "skills")


def build(target: Path) -> Path:
    """Write the bundle, a zip file with the manifest at its root; uv installs the rest from it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.write(MANIFEST, "manifest.json")
        for name in _FILES:
            bundle.write(ROOT / name, name)
        for folder in _FOLDERS:
            for file in sorted((ROOT / folder).rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    bundle.write(file, file.relative_to(ROOT).as_posix())
    return target


if __name__ == "__main__":
    version = json.loads(MANIFEST.read_text(encoding="utf-8"))["version"]
    chosen = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist" / f"wikimcp-{version}.mcpb"
    sys.stdout.write(f"{build(chosen)}\n")
