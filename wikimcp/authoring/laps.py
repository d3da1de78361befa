"""Where the time of a verb goes: every moment of it belongs to one part."""

from __future__ import annotations

import time
from collections.abc import Mapping


class Laps:
    """Counts seconds by part; what passed since the last lap belongs to the part that is named next."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, part: str) -> None:
        """Close a lap: the time since the last one was spent on ``part``."""
        now = time.perf_counter()
        self._seconds[part] = self._seconds.get(part, 0.0) + now - self._last
        self._last = now

    @property
    def seconds(self) -> Mapping[str, float]:
        """The seconds of each part, in the order in which the parts were first met."""
        return dict(self._seconds)
