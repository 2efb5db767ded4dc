"""Tools that a model writes from a description. What it wrote is checked as any source is, and kept nowhere."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field, StringConstraints

from remanence.accounts.auth import ActingUser
from remanence.core.actor import Actor
from remanence.core.conform import as_object
from remanence.core.llm import InContext, ModelRequest, ToolSpec
from remanence.core.reply import Reply
from remanence.core.tool import Tool
from remanence.edge.fields import StoredText
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.errors import BadArgument, Invalid
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.asking import said, whole_reply, words_of
from remanence.llm.catalogue import Catalogue
from remanence.llm.registry import AdapterRegistry
from remanence.tools.schemas import ToolRun, tool_body
from remanence.tools.service import unsaved_tool

_TRIES = 3

_SYSTEM = """You write tools for AI agents. A tool is one Python function that an agent can call.

What makes a good one:
- It stands alone: every import is inside the function, and it uses nothing defined elsewhere.
- Every parameter has a type annotation, and so has the return value.
- Its docstring begins with one sentence that tells the agent what the tool does and when to use it. A section
  `Args:` then describes each parameter on a line of its own, and `Returns:` says what comes back.
- It returns something the agent can read: a text, a number, or plain lists and dictionaries of those.
- What goes wrong is raised as an exception whose message says what the agent could do instead.
- Keys and passwords are read from os.environ; they are never written into the source.

Answer by calling write_tool once."""

_WRITE = ToolSpec(
    name="write_tool",
    description="Hands in the finished tool.",
    parameters={
        "type": "object",
        "properties": {
            "source_code": {
                "type": "string",
                "description": "The whole Python source: the function, with its docstring.",
            },
            "sample_args_json": {
                "type": "string",
                "description": "Arguments that make a good first trial, as the text of a JSON object.",
            },
            "explanation": {
                "type": "string",
                "description": "In one or two sentences, what the tool does and what it needs.",
            },
        },
        "required": ["source_code", "sample_args_json", "explanation"],
    },
)


class ToolWish(BaseModel):
    tool_name: Annotated[StoredText, StringConstraints(min_length=1, max_length=64)]
    prompt: Annotated[StoredText, StringConstraints(min_length=1)]
    handle: str | None = None
    starter_code: StoredText | None = None
    validation_errors: list[StoredText] = Field(default_factory=list[str])


class ToolWriter:
    def __init__(
        self, catalogue: Catalogue, adapters: AdapterRegistry, default_model: Callable[[], str | None]
    ) -> None:
        self._catalogue = catalogue
        self._adapters = adapters
        self._default_model = default_model

    async def write(self, actor: Actor, wish: ToolWish) -> tuple[Tool, JsonObject, str]:
        """The tool, arguments to try it with, and what the model says about it.

        Raises BadArgument, also where nothing it wrote could be a tool, NotFound and ProviderError.
        """
        handle = wish.handle or self._default_model()
        if handle is None:
            raise BadArgument(
                "Say which model is to write the tool: set `handle`, as GET /v1/models/ lists it."
            )
        config = await self._catalogue.resolve_llm(handle, actor.organization_id)
        messages = [said("system", _SYSTEM), said("user", _render(wish))]
        fault = ""
        for _ in range(_TRIES):
            request = ModelRequest(
                config=config,
                messages=messages,
                tools=[_WRITE],
                tool_choice="required",
                forced_tool=_WRITE.name,
            )
            reply = await whole_reply(self._adapters.stream(request, actor.organization_id))
            try:
                return _read(actor, wish, reply)
            except (BadArgument, Invalid) as error:
                fault = error.message.rstrip(".")
                messages = [*messages, *_told(reply, fault)]
        raise BadArgument(
            f"{handle} wrote nothing that could be a tool: {fault}. Say it in other words, or ask another model."
        )


def router(writer: ToolWriter) -> APIRouter:
    routes = make_routes("tools")

    @routes.post("/tools/generate-tool", operation_id="generate_tool")
    async def generate_tool(actor: ActingUser, body: ToolWish) -> JsonBytes:
        tool, sample, explanation = await writer.write(actor, body)
        return JsonBytes({"tool": tool_body(tool), "sample_args": sample, "response": explanation})

    return routes


def _render(wish: ToolWish) -> str:
    parts = [f"Write the tool `{wish.tool_name}`. What it is to do:\n\n{wish.prompt}"]
    if wish.starter_code:
        parts.append(f"Begin from this source:\n\n```python\n{wish.starter_code}\n```")
    if wish.validation_errors:
        faults = "\n".join(f"- {each}" for each in wish.validation_errors)
        parts.append(f"It has these faults, which must be mended:\n{faults}")
    return "\n\n".join(parts)


def _read(actor: Actor, wish: ToolWish, reply: Reply) -> tuple[Tool, JsonObject, str]:
    """Raises BadArgument and Invalid for what is no tool."""
    if not reply.calls:
        raise BadArgument("write_tool was not called")
    try:
        given = as_object(json.decode(reply.calls[0].arguments))
        sample = as_object(json.decode(str(given.get("sample_args_json") or "{}")))
    except ValueError:
        raise BadArgument("the arguments of write_tool are not JSON") from None
    source: Any = given.get("source_code")
    if not isinstance(source, str) or not source.strip():
        raise BadArgument("there is no source_code")
    try:
        draft = ToolRun(source_code=source, args={})
    except ValueError:
        raise BadArgument("the source_code is too long, or has characters that cannot be stored") from None
    tool = unsaved_tool(actor, draft)
    if tool.name != wish.tool_name:
        raise BadArgument(f"the function is named {tool.name}, and must be named {wish.tool_name}")
    unknown = sample.keys() - tool.json_schema["parameters"]["properties"].keys()
    if unknown:
        raise BadArgument(
            f"sample_args_json has {', '.join(sorted(unknown))}, which the function does not take"
        )
    tool = tool.model_copy(update={"description": tool.json_schema.get("description")})
    return tool, sample, str(given.get("explanation") or words_of(reply))


def _told(reply: Reply, fault: str) -> list[InContext]:
    wrote = reply.calls[0].arguments if reply.calls else words_of(reply)
    return [
        said("assistant", wrote or "(nothing)"),
        said("user", f"That cannot be used: {fault}. Mend it and call write_tool again."),
    ]
