"""What a client sees is the same in memory, over stdio and over HTTP, in both protocol eras."""

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError

from tests.edges.tiny_service import PAGES, SECRET

pytestmark = pytest.mark.anyio


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


async def test_the_server_tells_its_name_version_and_instructions(client: Client) -> None:
    assert client.server_info is not None
    assert client.server_info.name == "wikimcp"
    assert client.server_info.version == "9.8.7"
    assert client.instructions == "Call echo first."


async def test_tools_are_listed_as_read_only_and_without_title_noise(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    echo = tools["echo"]
    assert echo.annotations is not None
    assert echo.annotations.read_only_hint is True
    assert echo.annotations.idempotent_hint is True
    assert echo.annotations.open_world_hint is False
    assert echo.input_schema == {
        "type": "object",
        "properties": {"title": {"type": "string", "description": "The title."}},
        "additionalProperties": False,
    }
    assert echo.output_schema is not None
    assert set(echo.output_schema["properties"]) == {"title", "caller", "length"}
    assert tools["say"].output_schema is None


async def test_a_data_tool_answers_in_both_channels_in_any_script(client: Client) -> None:
    title = 'Đường — 配置 🗂 \x00 \\ " end'
    result = await client.call_tool("echo", {"title": title})
    assert not result.is_error
    assert text_of(result) == title
    assert result.structured_content is not None
    assert result.structured_content["title"] == title
    assert result.structured_content["length"] == len(title)


async def test_a_text_tool_answers_with_text_only(client: Client) -> None:
    result = await client.call_tool("say", {"text": "# Heading\n"})
    assert text_of(result) == "# Heading\n"
    assert result.structured_content is None


async def test_a_bad_argument_is_an_error_result_with_text_only(client: Client) -> None:
    result = await client.call_tool("echo", {"titel": "x"})
    assert result.is_error
    assert text_of(result) == "bad_argument: unknown argument 'titel'. Did you mean 'title'?"
    assert result.structured_content is None


async def test_an_unknown_tool_is_an_error_result_that_names_the_nearest(client: Client) -> None:
    result = await client.call_tool("ecko", {})
    assert result.is_error
    assert text_of(result).startswith("not_found: there is no tool 'ecko'.")
    assert "echo" in text_of(result)


@pytest.mark.parametrize(
    "how", ["runtime", "timeout", "stop", "exit", "interrupt", "key", "no json", "no text"]
)
async def test_a_fault_of_ours_shows_a_reference_and_no_details(client: Client, how: str) -> None:
    result = await client.call_tool("fail", {"how": how})
    assert result.is_error
    assert text_of(result).startswith("internal: the server failed on this call (reference ")
    assert SECRET not in text_of(result)
    assert "Error" not in text_of(result)
    assert text_of(await client.call_tool("say", {"text": "still here"})) == "still here"


async def test_an_error_text_stays_under_a_thousand_characters(client: Client) -> None:
    assert len(text_of(await client.call_tool("fail", {"how": "long"}))) == 1000


async def test_values_that_no_json_can_hold_do_not_break_the_answer(client: Client) -> None:
    result = await client.call_tool("fail", {"how": "surrogate"})
    assert text_of(result) == "broken ? name"
    assert result.structured_content == {"name": "broken ? name", "score": None}


async def test_a_megabyte_goes_both_ways(client: Client) -> None:
    text = "ж" * 400_000
    assert text_of(await client.call_tool("say", {"text": text})) == text


async def test_resources_come_in_pages_with_their_token_count(client: Client) -> None:
    cursor, found = None, []
    while True:
        page = await client.list_resources(cursor=cursor)
        found += page.resources
        cursor = page.next_cursor
        if cursor is None:
            break
    assert [resource.name for resource in found] == list(PAGES)
    assert found[0].description == "A page (1,200 tokens)"
    assert found[0].mime_type == "text/markdown"


async def test_a_resource_is_read_as_markdown(client: Client) -> None:
    (contents,) = (await client.read_resource("wiki://page/beta")).contents
    assert isinstance(contents, types.TextResourceContents)
    assert (contents.text, contents.mime_type) == ("# beta\n", "text/markdown")


@pytest.mark.parametrize("uri", ["wiki://page/nope", "wiki://page/../../etc/passwd", "file:///etc/passwd"])
async def test_an_unknown_resource_is_refused_with_its_uri(client: Client, uri: str) -> None:
    with pytest.raises(MCPError, match="not_found: no such page. Nearest: alpha.") as caught:
        await client.read_resource(uri)
    assert caught.value.error.code == types.INVALID_PARAMS
    assert caught.value.error.data == {"uri": uri}


async def test_a_fault_while_reading_a_resource_shows_no_details(client: Client) -> None:
    with pytest.raises(MCPError, match="internal: the server failed") as caught:
        await client.read_resource("wiki://page/crash")
    assert caught.value.error.code == types.INTERNAL_ERROR
    assert SECRET not in str(caught.value)


async def test_a_wrong_cursor_is_refused(client: Client) -> None:
    with pytest.raises(MCPError, match="bad_argument: this cursor is not known"):
        await client.list_resources(cursor="nope")
    with pytest.raises(MCPError, match="bad_argument: this list has one page"):
        await client.list_tools(cursor="nope")


async def test_templates_prompts_and_completions_are_served(client: Client) -> None:
    (template,) = (await client.list_resource_templates()).resource_templates
    assert template.uri_template == "wiki://page/{slug}"
    (prompt,) = (await client.list_prompts()).prompts
    assert [(argument.name, argument.required) for argument in prompt.arguments or ()] == [
        ("topic", True),
        ("depth", False),
    ]
    (message,) = (await client.get_prompt("ground", {"topic": "Đường"})).messages
    assert isinstance(message.content, types.TextContent)
    assert message.content.text == "Find out about Đường."
    pages = await client.complete(
        types.ResourceTemplateReference(uri="wiki://page/{slug}"), {"name": "slug", "value": "a"}
    )
    assert pages.completion.values == ["alpha"]
    topics = await client.complete(types.PromptReference(name="ground"), {"name": "topic", "value": ""})
    assert (len(topics.completion.values), topics.completion.total) == (100, 150)
    assert topics.completion.has_more


async def test_a_missing_prompt_argument_and_an_unknown_prompt_are_refused(client: Client) -> None:
    with pytest.raises(MCPError, match="bad_argument: the argument 'topic' is missing"):
        await client.get_prompt("ground", {})
    with pytest.raises(MCPError, match="not_found: no prompt 'grond'. Nearest: ground."):
        await client.get_prompt("grond", {})


async def test_many_calls_at_once_each_get_their_own_answer(client: Client) -> None:
    got: dict[int, str] = {}

    async def ask(number: int) -> None:
        got[number] = text_of(await client.call_tool("say", {"text": str(number)}))

    async with anyio.create_task_group() as tasks:
        for number in range(40):
            tasks.start_soon(ask, number)
    assert got == {number: str(number) for number in range(40)}
