"""Counts of requests and the state of the index as Prometheus text.

Label values come from fixed lists: no path, word or name of a caller is ever one of them.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_STATES = ("ready", "building", "reconciling", "degraded")
Sample = tuple[str, Mapping[str, str], float]


class Metrics:
    """What was asked and how long it took, since the process began. Used by the event loop's thread only.

    ``routes`` are the paths that are counted by name, ``prefixes`` those that stand for all below
    them: ``{"/api/pages/": "/api/pages/{slug}"}``.
    """

    def __init__(self, routes: Iterable[str], prefixes: Mapping[str, str] | None = None) -> None:
        self._routes = frozenset(routes)
        self._prefixes = dict(prefixes or {})
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS) + 1))
        self._seconds: Counter[str] = Counter()
        self.in_flight = 0

    def note(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        route = self._route(path)
        self._requests[route, method if method in _METHODS else "other", str(status)] += 1
        self._buckets[route][bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]

    def _route(self, path: str) -> str:
        if path in self._routes:
            return path
        return next((name for start, name in self._prefixes.items() if path.startswith(start)), "other")

    def text(self, *, version: str, ready: bool, running: int, index: Mapping[str, Any]) -> str:
        """Return all samples; ``index`` is the stamp of what everybody may see, empty before there is one."""
        lines: list[str] = []
        for name, kind, help_, samples in self._families(version, ready, running, index):
            lines += [f"# HELP {name} {help_}", f"# TYPE {name} {kind}"]
            lines += [f"{sample}{_labels(labels)} {_number(value)}" for sample, labels, value in samples]
        return "\n".join(lines) + "\n"

    def _families(
        self, version: str, ready: bool, running: int, index: Mapping[str, Any]
    ) -> Iterator[tuple[str, str, str, list[Sample]]]:
        name = "wikimcp_http_requests_total"
        requests: list[Sample] = [
            (name, {"route": route, "method": method, "status": status}, count)
            for (route, method, status), count in sorted(self._requests.items())
        ]
        yield name, "counter", "Requests answered.", requests
        name = "wikimcp_http_request_duration_seconds"
        yield name, "histogram", "Time from a request's head to the end of its answer.", self._durations(name)
        for name, help_, value in (
            ("wikimcp_http_requests_in_flight", "Requests being answered now.", self.in_flight),
            ("wikimcp_calls_running", "Calls running in worker threads, abandoned ones included.", running),
            ("wikimcp_ready", "1 when the first index is in use.", int(ready)),
        ):
            yield name, "gauge", help_, [(name, {}, value)]
        name = "wikimcp_build_info"
        yield name, "gauge", "The version that runs.", [(name, {"version": version}, 1)]
        for key, help_ in (
            ("generation", "Generation of the index."),
            ("pages", "Pages that everybody may see."),
            ("pending", "Chunks of them without a vector."),
            ("skipped", "Files that cannot be served."),
            ("age_seconds", "Seconds since the index was last known to be in line with the disk."),
        ):
            if isinstance(stamped := index.get(key), int | float):
                name = f"wikimcp_index_{key}"
                yield name, "gauge", help_, [(name, {}, stamped)]
        if index.get("state") in _STATES:
            name = "wikimcp_index_state"
            states: list[Sample] = [(name, {"state": s}, int(s == index["state"])) for s in _STATES]
            yield name, "gauge", "1 for the state that the index is in.", states

    def _durations(self, name: str) -> list[Sample]:
        samples: list[Sample] = []
        for route, counts in sorted(self._buckets.items()):
            total = 0
            for bound, count in zip((*map(str, _BOUNDS), "+Inf"), counts, strict=True):
                total += count
                samples.append((f"{name}_bucket", {"route": route, "le": bound}, total))
            samples.append((f"{name}_sum", {"route": route}, self._seconds[route]))
            samples.append((f"{name}_count", {"route": route}, total))
        return samples


class CountRequests:
    """Counts every request that comes in, refused ones too."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and note how it ended; a connection that broke before counts as 499."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 499
        began = time.perf_counter()

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._metrics.in_flight += 1
        try:
            await self._app(scope, receive, watch)
        finally:
            self._metrics.in_flight -= 1
            self._metrics.note(scope["path"], scope["method"], status, time.perf_counter() - began)


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}" if labels else ""


def _number(value: float) -> str:
    return repr(int(value)) if float(value).is_integer() else repr(float(value))
