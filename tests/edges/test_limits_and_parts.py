"""Parts of the HTTP edge on their own: token buckets, counts, and routes over methods that come later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from tests.edges.tiny_service import TinyService
from wikimcp.edges.http import http_app
from wikimcp.edges.metrics import Metrics
from wikimcp.edges.rate_limits import RateLimits, neighbourhood
from wikimcp.edges.workers import Workers
from wikimcp.errors import NotFound
from wikimcp.models import Caller
from wikimcp.service import BriefingAnswer

pytestmark = pytest.mark.anyio


async def test_a_bucket_empties_and_fills_with_time() -> None:
    now = 100.0
    limits = RateLimits(60, burst=2, clock=lambda: now)
    assert [limits.take("a"), limits.take("a")] == [0, 0]
    assert limits.take("a") == pytest.approx(1.0)
    assert limits.take("b") == 0, "each has its own"
    now += 0.5
    assert limits.take("a") == pytest.approx(0.5)
    now += 0.5
    assert limits.take("a") == 0
    now += 1_000
    assert [limits.take("a") > 0 for _ in range(3)] == [False, False, True], "never more than the burst"


async def test_no_limit_is_no_limit_and_names_do_not_pile_up() -> None:
    assert {RateLimits(0, burst=1).take("a") for _ in range(100)} == {0.0}
    limits = RateLimits(1, burst=1, clock=lambda: 0.0)
    for number in range(10_100):
        limits.take(str(number))
    assert len(limits._buckets) == 10_000


async def test_addresses_of_one_host_count_as_one() -> None:
    assert neighbourhood("192.0.2.7") == "192.0.2.7"
    assert neighbourhood("2001:db8:1:2:3::9") == neighbourhood("2001:db8:1:2::ffff") == "2001:db8:1:2::/64"
    assert neighbourhood("testclient") == "testclient"


async def test_counts_fall_into_the_bucket_of_their_time() -> None:
    metrics = Metrics(["/a"], {"/p/": "/p/{x}"})
    for path, seconds in (("/a", 0.005), ("/a", 0.3), ("/a", 99.0), ("/p/secret", 0.1), ('/"\n', 0.1)):
        metrics.note(path, "GET", 200, seconds)
    metrics.note("/a", "BREW", 405, 0.1)
    text = metrics.text(version="1", ready=False, running=2, index={"pages": 3, "state": "building"})
    for line in (
        'wikimcp_http_requests_total{route="/a",method="GET",status="200"} 3',
        'wikimcp_http_requests_total{route="/a",method="other",status="405"} 1',
        'wikimcp_http_requests_total{route="/p/{x}",method="GET",status="200"} 1',
        'wikimcp_http_requests_total{route="other",method="GET",status="200"} 1',
        'wikimcp_http_request_duration_seconds_bucket{route="/a",le="0.005"} 1',
        'wikimcp_http_request_duration_seconds_bucket{route="/a",le="0.5"} 3',
        'wikimcp_http_request_duration_seconds_bucket{route="/a",le="+Inf"} 4',
        'wikimcp_http_request_duration_seconds_count{route="/a"} 4',
        "wikimcp_index_pages 3",
        'wikimcp_index_state{state="building"} 1',
        "wikimcp_calls_running 2",
        "wikimcp_ready 0",
    ):
        assert f"{line}\n" in text
    assert "secret" not in text


class LaterService(TinyService):
    """A service with a briefing and a graph."""

    def briefing(self, arguments: Mapping[str, Any], caller: Caller) -> BriefingAnswer:
        return BriefingAnswer(f"# {arguments['prompt']}", {})

    def briefing_data(self, arguments: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        return {"arguments": dict(arguments), "caller": caller.name}

    def graph(self, caller: Caller) -> dict[str, Any]:
        return {"nodes": [], "edges": [], "caller": caller.name}

    def neighborhood(self, node: str, caller: Caller, *, depth: int = 1, limit: int = 200) -> dict[str, Any]:
        if node == "nowhere":
            raise NotFound("no node named 'nowhere'")
        return {"start": node, "depth": depth, "limit": limit}


async def test_a_briefing_is_markdown_or_json_by_get_or_post() -> None:
    async with client_of(LaterService()) as client:
        reply = await client.get("/api/briefing?prompt=hi")
        assert (reply.text, reply.headers["content-type"]) == ("# hi", "text/markdown; charset=utf-8")
        asked = {"prompt": "hi", "pins": ["a", "b"], "format": "json"}
        by_post = await client.post("/api/briefing", json=asked)
        by_get = await client.get("/api/briefing?prompt=hi&pins=a&pins=b&format=json")
        assert by_post.json() == by_get.json()
        assert by_post.json() == {"arguments": {"prompt": "hi", "pins": ["a", "b"]}, "caller": "t"}
        assert by_post.headers["Cache-Control"] == "no-store"
        assert (await client.get("/api/briefing?prompt=hi&format=html")).status_code == 422


async def test_the_graph_is_whole_or_around_a_node() -> None:
    async with client_of(LaterService()) as client:
        assert (await client.get("/api/graph")).json()["caller"] == "t"
        assert (await client.get("/api/graph?x=1")).status_code == 422
        around = await client.get("/api/graph/neighborhood?node=page:a&depth=2&limit=9")
        assert around.json() == {"start": "page:a", "depth": 2, "limit": 9}
        assert (await client.get("/api/graph/neighborhood?node=nowhere")).status_code == 404
        for wrong in (
            "",
            "?node=",
            "?node=a&node=b",
            "?node=a&depth=5",
            "?node=a&depth=-1",
            "?node=a&deep=1",
        ):
            assert (await client.get(f"/api/graph/neighborhood{wrong}")).status_code == 422, wrong


async def test_a_route_that_crashes_shows_no_details() -> None:
    class Broken(LaterService):
        def graph(self, caller: Caller) -> dict[str, Any]:
            raise RuntimeError("/srv/private")

    async with client_of(Broken()) as client:
        reply = await client.get("/api/graph")
        assert (reply.status_code, reply.json()["error"]["code"]) == (500, "internal")
        assert "/srv" not in reply.text and "reference" in reply.text


def client_of(service: TinyService) -> httpx.AsyncClient:
    app = http_app(service, caller=Caller(name="t"), workers=Workers())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")
