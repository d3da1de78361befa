"""What happens besides answers: a changed tool list is announced, given-up calls wedge nothing."""

import anyio
import anyio.lowlevel
import anyio.to_thread
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.subscriptions import ToolsListChanged

from tests.edges.conftest import MODES, target, tiny_server
from tests.edges.processes import PATIENCE, HttpServer, call, http_server, stdio_server
from tests.edges.tiny_service import TinyService
from wikimcp.edges.workers import OF_ONE_KIND, Workers
from wikimcp.errors import Unavailable
from wikimcp.models import Caller

pytestmark = pytest.mark.anyio


async def in_thread(service: TinyService, tool: str, **arguments: str) -> None:
    await anyio.to_thread.run_sync(service.call, tool, arguments, Caller())


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


async def tool_names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


@pytest.mark.parametrize("transport", ["memory", "stdio", "http"])
async def test_a_modern_client_that_listens_hears_of_changed_tools(transport: str, http: HttpServer) -> None:
    with anyio.fail_after(PATIENCE):
        async with (
            Client(target(transport, http), mode="auto") as client,
            client.listen(tools_list_changed=True) as subscription,
        ):
            before = await tool_names(client)
            await client.call_tool("grow", {})
            assert await anext(subscription) == ToolsListChanged()
            assert await tool_names(client) > before


@pytest.mark.parametrize("transport", ["memory", "stdio"])
async def test_a_handshake_client_is_notified_of_changed_tools(transport: str, http: HttpServer) -> None:
    heard = anyio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            heard.set()

    with anyio.fail_after(PATIENCE):
        async with Client(target(transport, http), mode="legacy", message_handler=hear) as client:
            before = await tool_names(client)
            await client.call_tool("grow", {})
            await heard.wait()
            assert await tool_names(client) > before


async def test_two_clients_of_one_server_both_hear_of_changed_tools() -> None:
    service = TinyService()
    server = tiny_server(service).server
    with anyio.fail_after(PATIENCE):
        async with (
            Client(server, mode="auto") as first,
            Client(server, mode="auto") as second,
            first.listen(tools_list_changed=True) as heard_first,
            second.listen(tools_list_changed=True) as heard_second,
        ):
            await first.call_tool("grow", {})
            assert await anext(heard_first) == await anext(heard_second) == ToolsListChanged()


async def test_a_change_after_all_clients_left_is_no_error() -> None:
    service = TinyService()
    async with Client(tiny_server(service).server) as client:
        await client.call_tool("grow", {})
    await in_thread(service, "grow")


async def test_an_open_event_stream_ends_with_the_server() -> None:
    with http_server() as server, anyio.fail_after(PATIENCE):
        async with Client(server.url, mode="auto") as client, client.listen(tools_list_changed=True) as heard:
            status, _ = await anyio.to_thread.run_sync(server.stop)
            assert status == 0
            assert [event async for event in heard] == []  # a lost stream would raise


@pytest.mark.parametrize("mode", MODES)
async def test_cancelled_calls_leave_room_for_others(mode: str) -> None:
    service = TinyService()
    with anyio.fail_after(PATIENCE):
        async with Client(tiny_server(service).server, mode=mode) as client:
            for rounds in (1, 2, 3):  # of one kind half of the places are for
                async with anyio.create_task_group() as tasks:
                    for _ in range(OF_ONE_KIND):
                        tasks.start_soon(client.call_tool, "wait", {})
                    await in_thread(service, "arrived", count=str(rounds * OF_ONE_KIND))
                    tasks.cancel_scope.cancel()
            assert text_of(await client.call_tool("say", {"text": "room"})) == "room"
            await client.call_tool("release", {})


def test_a_call_cancelled_over_stdio_is_never_answered_and_the_next_one_is() -> None:
    with stdio_server() as server:
        server.send(*(call(number, "wait") for number in range(5)), call(10, "arrived", count="5"))
        assert server.receive()["id"] == 10
        for number in range(5):
            cancelled = {"requestId": number, "reason": "enough"}
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
        server.send(call(11, "say", text="next"))
        assert server.receive()["id"] == 11
        server.send(call(12, "release"))
        assert server.receive()["id"] == 12
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.wait() == 0


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_that_takes_too_long_is_given_up(mode: str) -> None:
    service = TinyService()
    async with Client(tiny_server(service, time_limit=0.05).server, mode=mode) as client:
        result = await client.call_tool("wait", {})
        assert result.is_error
        assert text_of(result).startswith("timeout: the call took over 0.05 seconds and was given up.")
        assert text_of(await client.call_tool("release", {})) == "ok"


async def test_workers_refuse_more_work_while_too_many_abandoned_calls_run() -> None:
    service = TinyService()
    workers = Workers(2, ceiling=4)
    for started in range(1, 5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(workers.run, lambda: service.call("wait", {}, Caller()))
            await in_thread(service, "arrived", count=str(started))
            tasks.cancel_scope.cancel()
    assert workers.running == 4
    with pytest.raises(Unavailable, match="4 earlier calls have not ended"):
        await workers.run(lambda: "never")
    service.call("release", {}, Caller())
    with anyio.fail_after(PATIENCE):
        while workers.running:
            await anyio.lowlevel.checkpoint()
    assert await workers.run(lambda: "again") == "again"
