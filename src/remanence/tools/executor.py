"""Runs tool calls. A failure is a result that the model can read, not an exception."""

import logging
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from remanence.core.arguments import check_arguments, coerce_arguments
from remanence.core.context import parameters_of
from remanence.core.tool import Tool, ToolType
from remanence.errors import Invalid, McpUnavailable, NotFound
from remanence.kit.clock import utc_now
from remanence.kit.json import JsonObject
from remanence.sandbox.call import Outcome
from remanence.tools.archival import ArchivalMemory
from remanence.tools.builtin.memory import run_memory_tool
from remanence.tools.builtin.outcome import ToolFailure, ToolOutcome
from remanence.tools.builtin.spelling import canonical_arguments
from remanence.tools.builtin.web import WebTools
from remanence.tools.code import Caller, CodeTools
from remanence.tools.context import ToolContext, ToolResult
from remanence.tools.files import FileTools
from remanence.tools.mcp.service import McpService
from remanence.tools.memory_past import MemoryPast
from remanence.tools.programs import Programs
from remanence.tools.recall import ConversationSearch
from remanence.tools.voice import VoiceMemory

log = logging.getLogger(__name__)

SPEAKING_TOOL = "send_message"
SENT = "Sent."
_FOREIGN: frozenset[ToolType] = frozenset({"custom", "external_mcp"})
_NEVER_CUT = {"conversation_search", "archival_memory_search", "memory_history", "open_files"}
"""They bound their own answers, and half of one is no use."""


class AgentMessenger(Protocol):
    """Speaks to other agents on behalf of one."""

    async def run(self, name: str, args: JsonObject, context: ToolContext) -> str:
        """Raises ToolFailure."""
        ...


class Kit(Protocol):
    """Tools of one kind, which know themselves what to do with each."""

    async def run(self, name: str, args: JsonObject, context: ToolContext) -> ToolOutcome:
        """Raises ToolFailure."""
        ...


class ToolExecutor:
    def __init__(
        self,
        conversation: ConversationSearch,
        archival: ArchivalMemory,
        past: MemoryPast,
        mcp: McpService,
        code: CodeTools,
        programs: Programs,
        web: WebTools,
        files: FileTools,
        voice: VoiceMemory,
    ) -> None:
        self._conversation = conversation
        self._archival = archival
        self._past = past
        self._mcp = mcp
        self.messenger: AgentMessenger | None = None
        """Set by the room that knows how agents are spoken to."""
        self._code = code
        self._programs = programs
        self._web = web
        self._kits: dict[ToolType, Kit] = {
            "letta_files_core": files,
            "letta_voice_sleeptime_core": voice,
        }

    async def execute(self, tool: Tool, args: JsonObject, context: ToolContext) -> ToolResult:
        args = args if tool.tool_type in _FOREIGN else canonical_arguments(tool.name, args)
        parameters = parameters_of(tool)
        args = coerce_arguments(args, parameters)
        fault = check_arguments(args, parameters)
        if fault is not None:
            return ToolResult(fault, succeeded=False)
        try:
            return _cut(tool, await self._run(tool, args, context))
        except ToolFailure as failure:
            return ToolResult(failure.text, succeeded=False)
        except Exception:
            log.exception("tool %s failed", tool.name)
            return ToolResult(f"{tool.name} failed inside the server. Go on without it.", succeeded=False)

    async def run_once(self, tool: Tool, args: JsonObject, caller: Caller) -> ToolResult:
        """A tool that no agent holds."""
        parameters = parameters_of(tool)
        args = coerce_arguments(args, parameters)
        fault = check_arguments(args, parameters)
        if fault is not None:
            return ToolResult(fault, succeeded=False)
        try:
            return _cut(tool, code_result(tool.name, await self._code.run_tool(tool, args, caller)))
        except ToolFailure as failure:
            return ToolResult(failure.text, succeeded=False)

    async def _run(self, tool: Tool, args: JsonObject, context: ToolContext) -> ToolResult:
        if tool.edits_memory:
            outcome = run_memory_tool(
                tool.name, args, context.blocks, context.agent.organization_id, seen=context.seen
            )
            return ToolResult(outcome.text, succeeded=True, edits=outcome.edits, unmerged=outcome.unmerged)
        if tool.tool_type == "external_mcp":
            return await self._call_mcp(tool, args, context)
        if tool.tool_type == "letta_multi_agent_core" and self.messenger is not None:
            return ToolResult(await self.messenger.run(tool.name, args, context), succeeded=True)
        if tool.tool_type in self._kits:
            outcome = await self._kits[tool.tool_type].run(tool.name, args, context)
            return ToolResult(outcome.text, succeeded=True, edits=outcome.edits, unmerged=outcome.unmerged)
        if tool.name == SPEAKING_TOOL:
            return ToolResult(SENT, succeeded=True)
        if tool.name == "conversation_search":
            text = await self._conversation.run(args, actor=context.actor, agent=context.agent, now=utc_now())
            return ToolResult(text, succeeded=True)
        if tool.name == "archival_memory_insert":
            outcome = await self._archival.insert(args, actor=context.actor, agent=context.agent)
            return ToolResult(outcome.text, succeeded=True, edits=outcome.edits)
        if tool.name == "archival_memory_search":
            text = await self._archival.search(args, actor=context.actor, agent=context.agent, now=utc_now())
            return ToolResult(text, succeeded=True)
        if tool.name == "memory_history":
            return ToolResult(await self._past.history(args, context, utc_now()), succeeded=True)
        if tool.name == "memory_undo":
            outcome = await self._past.undo(args, context)
            return ToolResult(outcome.text, succeeded=True, edits=outcome.edits)
        if tool.tool_type == "custom":
            caller = Caller(context.actor, context.agent, context.blocks)
            return code_result(tool.name, await self._code.run_tool(tool, args, caller))
        return await self._run_outside(tool, args, context)

    async def _run_outside(self, tool: Tool, args: JsonObject, context: ToolContext) -> ToolResult:
        match tool.name:
            case "run_code":
                return await self._programs.run_code(args, context)
            case "run_code_with_tools":
                return await self._programs.run_with_tools(args, context, self.execute)
            case "fetch_webpage":
                return ToolResult(await self._web.fetch_page(str(args["url"])), succeeded=True)
            case "web_search":
                variables = await self._code.variables(context.actor, context.agent)
                return ToolResult(await self._web.search(args, variables), succeeded=True)
            case _:
                raise ToolFailure(f"{tool.name} cannot be run on this server.")

    async def _call_mcp(self, tool: Tool, args: JsonObject, context: ToolContext) -> ToolResult:
        try:
            result = await self._mcp.call(context.actor, tool, args, context.agent.id)
        except (McpUnavailable, Invalid, NotFound) as error:
            raise ToolFailure(error.message) from None
        return ToolResult(result.text, succeeded=not result.is_error, parts=result.parts)


def code_result(name: str, outcome: Outcome) -> ToolResult:
    """What came out of the sandbox, for the model and for whoever reads the record."""
    return ToolResult(
        outcome.text if outcome.succeeded else f"{name} failed: {outcome.text}",
        outcome.succeeded,
        stdout=(outcome.stdout,) if outcome.stdout else (),
        stderr=(outcome.stderr,) if outcome.stderr else (),
        value=outcome.value,
    )


def _cut(tool: Tool, result: ToolResult) -> ToolResult:
    excess = len(result.text) - tool.return_char_limit
    if excess <= 0 or tool.name in _NEVER_CUT:
        return result
    note = f"\n[The rest, {excess} characters, was cut off.]"
    return replace(result, text=result.text[: tool.return_char_limit] + note, parts=None)


def run_once_body(name: str | None, result: ToolResult, at: datetime) -> JsonObject:
    """A tool return message that belongs to no call and no agent, as clients know it."""
    returned: JsonObject = {
        "tool_return": result.text,
        "status": "success" if result.succeeded else "error",
        "tool_call_id": "null",
        "stdout": result.stdout,
        "stderr": result.stderr,
    }
    return {
        "id": "null",
        "date": at.replace(microsecond=0).isoformat(),
        "name": name,
        "message_type": "tool_return_message",
        "otid": None,
        "sender_id": None,
        "step_id": None,
        "is_err": None,
        "seq_id": None,
        "run_id": None,
        **returned,
        "tool_returns": [{"type": "tool", **returned}],
    }


def run_body(result: ToolResult) -> JsonObject:
    """The outcome of a tool that was run for an agent, outside of its conversation."""
    told = result.value if result.value is not None else result.text
    return {
        "status": "success" if result.succeeded else "error",
        "func_return": told if result.succeeded else None,
        "agent_state": None,
        "stdout": result.stdout,
        "stderr": result.stderr or (() if result.succeeded else (result.text,)),
        "sandbox_config_fingerprint": None,
    }
