"""How often one key, or one address without a key, may ask: token buckets, one for each."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

_MOST_BUCKETS = 10_000


class RateLimits:
    """Token buckets by name: ``burst`` requests at once, refilled at ``per_minute`` (0: no limit).

    ``clock`` returns seconds. The buckets that were not used for longest are forgotten first.
    """

    def __init__(self, per_minute: float, *, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / 60
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> float:
        """Take one token and return 0, or return in how many seconds there will be one."""
        if self._rate <= 0:
            return 0.0
        now = self._clock()
        left, at = self._buckets.pop(name, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate
        self._buckets[name] = (left if wait else left - 1, now)
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return wait


def neighbourhood(address: str) -> str:
    """Return what counts as one address: an IPv4 address, or the /64 that one IPv6 host has at will."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 6:
        return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
    return str(found)
