"""Whether the index on disk is sound: why it must be made anew, and when making it anew has not helped."""

from __future__ import annotations

import logging
import time
from collections import deque
from pathlib import Path

log = logging.getLogger("wikimcp.index")

_MOST_SUSPICIONS = 3  # within the time below; one more failure is a fault of ours, and no build helps
_SUSPICION_SECONDS = 600.0


class IndexHealth:
    """``reason`` says why the index in ``folder`` must be made anew; empty when it is sound."""

    def __init__(self) -> None:
        self.reason = ""
        self.folder: Path | None = None
        self._suspected: deque[float] = deque(maxlen=_MOST_SUSPICIONS)

    def condemn(self, reason: str, folder: Path | None) -> None:
        """Take note that an index is no good."""
        self.reason, self.folder = reason, folder
        log.warning("the index cannot be used and is made anew: %s", reason)

    def suspect(self, reason: str, folder: Path | None) -> None:
        """Condemn an index that could not be read, unless that was so after several new ones too."""
        now = time.monotonic()
        if len(self._suspected) == _MOST_SUSPICIONS and now - self._suspected[0] < _SUSPICION_SECONDS:
            log.error("the index cannot be read although it was made anew: %s", reason)
            return
        self._suspected.append(now)
        self.condemn(reason, folder)

    def heal(self) -> None:
        """Take note that there is a sound index."""
        self.reason, self.folder = "", None
