"""Progress on stderr: a bar for a person, one line for each finished stage otherwise."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from wikimcp.cli.show import console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class StageProgress:
    """Takes ``(stage, done, total)`` reports, from any one thread; draws nothing before the first.

    ``quiet`` keeps silent when stderr is no terminal. A ``total`` of 0 means that it is not known.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._told: set[str] = set()

    def __enter__(self) -> StageProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` things of a stage are through."""
        if sys.stderr.isatty():
            self._draw(stage, done, total)
        elif not self._quiet and total and done >= total and stage not in self._told:
            self._told.add(stage)
            print(f"{stage}: {done:,}", file=sys.stderr)

    def _draw(self, stage: str, done: int, total: int) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description:<12}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(compact=True),
                console=console(sys.stderr),
                transient=True,
            )
            self._bar.start()
        if stage not in self._tasks:
            self._tasks[stage] = self._bar.add_task(stage, total=total or None)
        self._bar.update(self._tasks[stage], completed=done, total=total or None)
