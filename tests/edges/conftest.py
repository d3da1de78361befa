"""Clients of the official SDK over every transport, in both protocol eras."""

import sys
from collections.abc import AsyncIterator, Iterator

import pytest
from mcp import Client, StdioServerParameters
from mcp.server import Server

from tests.edges.processes import HERE, HttpServer, environment, http_server
from tests.edges.tiny_service import TinyService
from wikimcp.edges.mcp_server import Announcer, McpServer
from wikimcp.edges.workers import Workers
from wikimcp.models import Caller

MODES = ("auto", "legacy")
CONNECTIONS = [f"{kind} {mode}" for kind in ("memory", "stdio", "http") for mode in MODES]


def tiny_server(service: TinyService, *, time_limit: float = 20.0) -> McpServer:
    return McpServer(service, workers=Workers(), caller=Caller(), time_limit=time_limit)


def target(kind: str, http: HttpServer) -> Server[Announcer] | StdioServerParameters | str:
    """Return what a Client connects to for one kind of transport."""
    if kind == "memory":
        return tiny_server(TinyService()).server
    if kind == "stdio":
        script = str(HERE / "stdio_main.py")
        return StdioServerParameters(command=sys.executable, args=[script], env=environment())
    return http.url


@pytest.fixture(scope="session")
def http() -> Iterator[HttpServer]:
    with http_server() as server:
        yield server


@pytest.fixture(params=MODES)
async def memory_client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    async with Client(tiny_server(TinyService()).server, mode=request.param) as client:
        yield client


@pytest.fixture(scope="module", params=CONNECTIONS)
async def client(request: pytest.FixtureRequest, http: HttpServer) -> AsyncIterator[Client]:
    kind, mode = request.param.split()
    async with Client(target(kind, http), mode=mode) as connected:
        yield connected
