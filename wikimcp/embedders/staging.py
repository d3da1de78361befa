"""How a model folder comes into the models directory: filled aside, then moved in at once."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from wikimcp.embedders.model_directory import NOTE
from wikimcp.errors import StateError

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many bytes are done and of how many (0: not known)."""

PREFIX = ".pull-"
ABANDONED_AFTER = 24 * 3600  # seconds


def no_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""


@contextmanager
def staged(models_dir: Path, folder: str) -> Iterator[Path]:
    """Yield an empty folder that becomes ``models_dir/folder`` when the block ends without an error.

    An older model of that name is replaced at once, or kept whole when the block fails. What a
    killed process left behind is removed after a day. Raises StateError when the disk refuses.
    """
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(models_dir)
        with tempfile.TemporaryDirectory(prefix=PREFIX, dir=models_dir) as aside:
            fresh, target, old = Path(aside, folder), models_dir / folder, Path(aside, "old")
            fresh.mkdir()
            yield fresh
            if target.exists():
                os.rename(target, old)
            try:
                os.rename(fresh, target)
            except OSError:
                if old.exists():
                    os.rename(old, target)
                raise
    except OSError as error:
        raise StateError(
            f"the models directory cannot be written ({error.strerror or type(error).__name__})",
            hint="Check its permissions and free space, or name another one (models.dir).",
        ) from error


def write_note(folder: Path, *, source: str, licence: str, query_prompt: str, passage_prompt: str) -> None:
    """Write down where a model is from and how it wants its texts."""
    note = {
        "source": source,
        "licence": licence,
        "query_prompt": query_prompt,
        "passage_prompt": passage_prompt,
    }
    (folder / NOTE).write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")


def _remove_abandoned(models_dir: Path) -> None:
    for path in models_dir.glob(f"{PREFIX}*"):
        if time.time() - path.stat().st_mtime > ABANDONED_AFTER:
            shutil.rmtree(path, ignore_errors=True)
