"""Tools for models that cannot call any: described in the prompt, called in writing.

The calls come back as text and are read by `printed_calls.py`; the history shows earlier ones in the
same writing, so that the model sees how it is done. A call that must be made can be held to its schema.
"""

from collections.abc import Sequence

from remanence.core.llm import InContext, ModelRequest, ToolSpec
from remanence.core.message import Message
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.encoding import call_arguments, encode_each, split_return, thoughts_of

_HOW = """

# Tools

You can call the tools below. To call one, answer with nothing but the call, in this form:

<tool_call>
{"name": "the tool's name", "arguments": {"the argument's name": "its value"}}
</tool_call>

What the tool returns is then shown to you. When you need no tool, answer in plain words.

"""
_MUST = "Answer now with a call of one of the tools, and nothing else."
_MUST_NAMED = "Answer now with a call of the tool {name}, and nothing else."


def encode_prompted(request: ModelRequest) -> bytes:
    """The messages as a JSON array, with the tools in them."""
    messages: Sequence[InContext] = request.messages
    pieces: list[bytes] = []
    system = ""
    if messages and messages[0].message.role == "system":
        system = messages[0].message.text
        messages = messages[1:]
    if request.tools and request.tool_choice != "none":
        system += _HOW + "\n".join(map(_described, request.tools))
    if system:
        pieces.append(json.encode({"role": "system", "content": system.strip()}))
    thinks = request.thoughts_in_arguments
    pieces += encode_each(messages, f"prompted:{thinks:d}", lambda message: _encode(message, thinks=thinks))
    if request.tools and request.tool_choice == "required":
        must = _MUST_NAMED.format(name=request.forced_tool) if request.forced_tool else _MUST
        pieces.append(json.encode({"role": "user", "content": must}))
    return b"[" + b",".join(pieces) + b"]"


def call_schema(request: ModelRequest) -> JsonObject:
    """What any call of the tools that may be called looks like, for servers that can hold an answer to a schema."""
    named = [tool for tool in request.tools if request.forced_tool in (None, tool.name)]
    forms = [
        {
            "type": "object",
            "properties": {"name": {"const": tool.name}, "arguments": {"type": "object"} | tool.parameters},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in named or request.tools
    ]
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def _described(tool: ToolSpec) -> str:
    return json.readable({"name": tool.name, "description": tool.description, "parameters": tool.parameters})


def _encode(message: Message, *, thinks: bool) -> tuple[bytes, ...]:
    match message.role:
        case "system":
            role, text = "system", message.text
        case "user" | "summary":
            role, text = "user", message.text
        case "assistant" | "approval":
            thoughts = thoughts_of(message, is_native=False) if thinks else ""
            calls = [
                f'<tool_call>\n{{"name": {json.encode_text(call.name)}, '
                f'"arguments": {call_arguments(call, thoughts if index == 0 else "")}}}\n</tool_call>'
                for index, call in enumerate(message.tool_calls)
            ]
            role, text = "assistant", "\n".join([message.text, *calls] if message.text else calls)
        case "tool":
            returns = [split_return(each.content)[0] for each in message.tool_returns]
            role = "user"
            text = "\n".join(f"<tool_response>\n{each}\n</tool_response>" for each in returns)
    return (json.encode({"role": role, "content": text}),) if text else ()
