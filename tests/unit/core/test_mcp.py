"""What is taken from MCP servers, and what is filled in before they are spoken to."""

from typing import Any

import pytest

from remanence.core.mcp import McpServer, McpTool, fault_of
from remanence.kit.ids import McpServerId, OrgId
from remanence.kit.json import JsonObject


def nested(depth: int) -> JsonObject:
    schema: JsonObject = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


@pytest.mark.parametrize(
    ("tool", "word"),
    [
        (McpTool(name="add", input_schema={"type": "object", "properties": {}}), None),
        (McpTool(name="add", input_schema={}), None),
        (McpTool(name="add", input_schema=nested(8)), None),
        (McpTool(name="", input_schema={}), "name"),
        (McpTool(name="two words", input_schema={}), "name"),
        (McpTool(name="x" * 129, input_schema={}), "name"),
        (McpTool(name="send\nmessage", input_schema={}), "name"),
        (McpTool(name="add", input_schema={"type": "array"}), "not an object"),
        (McpTool(name="add", input_schema=nested(500)), "nested"),
        (McpTool(name="add", input_schema={"enum": ["x" * 64_001]}), "larger"),
        (McpTool(name="add", description="x" * 64_001, input_schema={}), "larger"),
    ],
)
def test_a_tool_is_taken_or_refused_with_the_reason(tool: McpTool, word: str | None) -> None:
    fault = fault_of(tool)
    assert fault is None if word is None else word in (fault or "")


def a_server(**fields: Any) -> McpServer:
    return McpServer(
        id=McpServerId("mcp_server-1"),
        organization_id=OrgId("org-1"),
        server_name="s",
        mcp_server_type="streamable_http",
        **fields,
    )


def test_headers_are_filled_with_values_and_defaults() -> None:
    server = a_server(
        auth_token="Bearer {{ TOKEN }}",
        custom_headers={"X-User": "{{USER | nobody }}", "X-Plain": "{ not one }"},
    )
    assert server.filled({"TOKEN": "abc"}).headers == {
        "Authorization": "Bearer abc",
        "X-User": "nobody",
        "X-Plain": "{ not one }",
    }
    assert (
        server.filled({"TOKEN": "{{ USER }}", "USER": "eve"}).headers["Authorization"] == "Bearer {{ USER }}"
    )
    with pytest.raises(KeyError, match="TOKEN"):
        server.filled({})


def test_a_header_of_another_name_can_carry_the_token() -> None:
    assert a_server(auth_header="X-Key", auth_token="abc").headers == {"X-Key": "abc"}
