"""The built-in tools that run programs: in several languages, and in Python with the agent's own tools at hand."""

import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace

from remanence.core.block import MemoryEdit, apply_edit
from remanence.core.open_files import apply_file_edit
from remanence.core.rules import needs_approval
from remanence.core.tool import Tool
from remanence.db.database import Database
from remanence.kit.json import JsonObject
from remanence.sandbox.call import Outcome
from remanence.tools import repository
from remanence.tools.builtin.outcome import ToolFailure
from remanence.tools.code import Caller, CodeTools
from remanence.tools.context import ToolContext, ToolResult

Execute = Callable[[Tool, JsonObject, ToolContext], Awaitable[ToolResult]]

_SCRIPTS = {"js": "javascript", "ts": "typescript", "javascript": "javascript", "typescript": "typescript"}
_PROGRAMS: dict[str, tuple[str, list[str], str]] = {
    "r": ("Rscript", ["--vanilla"], "program.R"),
    "java": ("java", [], "Main.java"),
}
WITH_TOOLS = "run_code_with_tools"


class Programs:
    def __init__(self, db: Database, code: CodeTools) -> None:
        self._db = db
        self._code = code

    async def run_code(self, args: JsonObject, context: ToolContext) -> ToolResult:
        """Raises ToolFailure."""
        caller = Caller(context.actor, context.agent, context.blocks)
        code, language = str(args["code"]), str(args["language"]).lower()
        if language == "python":
            return _told(await self._code.run_python(code, caller))
        if language in _SCRIPTS:
            return _told(await self._code.run_script(_SCRIPTS[language], code, caller))
        command, options, file = _PROGRAMS[language]
        path = shutil.which(command)
        if path is None:
            raise ToolFailure(
                f"{command} is not installed on the server; use another language, such as python."
            )
        return _told(await self._code.run_program([path, *options, file], {file: code}, caller))

    async def run_with_tools(self, args: JsonObject, context: ToolContext, execute: Execute) -> ToolResult:
        """What its calls edit in memory is joined, as if the agent had made them. Raises ToolFailure."""
        held = await self._db.read(repository.list_agent_tools, context.actor, context.agent.id)
        tools = {tool.name: tool for tool in held if tool.name != WITH_TOOLS}
        edits: list[MemoryEdit] = []
        seen = context

        async def call(name: str, given: JsonObject) -> tuple[bool, str]:
            nonlocal seen
            tool = tools.get(name)
            if tool is None:
                return False, f"There is no tool {name}."
            if needs_approval(context.agent.tool_rules, name):
                return False, f"{name} needs a person's approval, so it can only be called directly."
            result = await execute(tool, given, seen)
            for edit in result.edits:
                changed = apply_edit(seen.blocks, edit)
                seen = replace(seen, blocks=changed, files=apply_file_edit(seen.files, edit))
            edits.extend(result.edits)
            return result.succeeded, result.text

        caller = Caller(context.actor, context.agent, context.blocks)
        outcome = await self._code.run_python(
            str(args["code"]), caller, tools=[name for name in tools if name.isidentifier()], on_call=call
        )
        return replace(_told(outcome), edits=tuple(edits))


def _told(outcome: Outcome) -> ToolResult:
    """All that a program has to say, as one text."""
    parts = [outcome.stdout.rstrip()]
    if outcome.succeeded and outcome.value is not None and outcome.text != outcome.stdout:
        parts.append(f"Result: {outcome.text}")
    if outcome.stderr.strip():
        parts.append(f"Errors:\n{outcome.stderr.rstrip()}")
    if not outcome.succeeded and outcome.text not in outcome.stderr:
        parts.append(f"It failed: {outcome.text}")
    text = "\n".join(part for part in parts if part) or "It ran, and printed nothing."
    return ToolResult(
        text,
        outcome.succeeded,
        stdout=(outcome.stdout,) if outcome.stdout else (),
        stderr=(outcome.stderr,) if outcome.stderr else (),
        value=outcome.value,
    )
