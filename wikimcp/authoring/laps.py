"""Where the time of a verb goes: every moment of it belongs to one part."""

from __future__ import annotations

import time
from collections.abc import Mapping


class Laps:
    """Counts seconds by part; what passed since the last lap belongs to the part that is named next.

    Beside the clock the processor time of this process is counted, which says more on a busy machine.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._processor: dict[str, float] = {}
        self._last = time.perf_counter(), time.process_time()

    def lap(self, part: str) -> None:
        """Close a lap: the time since the last one was spent on ``part``."""
        now = time.perf_counter(), time.process_time()
        for counted, here, before in zip((self._seconds, self._processor), now, self._last, strict=True):
            counted[part] = counted.get(part, 0.0) + here - before
        self._last = now

    @property
    def seconds(self) -> Mapping[str, float]:
        """The seconds of each part, in the order in which the parts were first met."""
        return dict(self._seconds)

    @property
    def processor(self) -> Mapping[str, float]:
        """The seconds of processor time of each part."""
        return dict(self._processor)
