"""What supervisors and monitors ask: is it alive, is it ready, how does it do."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from wikimcp.edges.http_guards import error_response
from wikimcp.edges.metrics import CONTENT_TYPE, Metrics
from wikimcp.edges.rest_answers import Calls
from wikimcp.models import Caller
from wikimcp.service import WikiService

_FRESH = {"Cache-Control": "no-store"}
_EVERYBODY = Caller(name="monitor")


def health_routes(service: WikiService, *, calls: Calls, metrics: Metrics) -> list[BaseRoute]:
    """Return /healthz, /readyz and /metrics, which tell only what everybody may see."""

    async def healthz(_request: Request) -> Response:
        told = {"status": "ok", "name": service.name, "version": service.version}
        return JSONResponse(told, headers=_FRESH)

    async def readyz(_request: Request) -> Response:
        if service.ready():
            return JSONResponse({"status": "ready"}, headers=_FRESH)
        message = "The first index is being built; calls answer from what there is."
        return error_response(503, "starting", message, headers={"Retry-After": "1", **_FRESH})

    async def measured(_request: Request) -> Response:
        status = await calls.run("the metrics", lambda: service.status(_EVERYBODY))
        text = metrics.text(
            version=service.version,
            ready=service.ready(),
            running=calls.workers.running,
            index=status.get("index", {}),
        )
        return Response(text, media_type=CONTENT_TYPE, headers=_FRESH)

    return [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", measured)]
