"""One of an agent's tools run by a person, outside of any conversation."""

from dataclasses import replace

from sqlalchemy import Connection

from remanence.agents import repository
from remanence.agents.compiling import blocks_in
from remanence.archives import repository as archives
from remanence.core.actor import Actor
from remanence.core.block import PassageAdded, block_edits
from remanence.core.open_files import FileSet
from remanence.core.revision import Author
from remanence.core.tool import Tool
from remanence.db.database import Database
from remanence.errors import NotFound
from remanence.files import repository as files
from remanence.kit.json import JsonObject
from remanence.memory import repository as blocks
from remanence.search.ports import SearchIndex
from remanence.tools import repository as tools
from remanence.tools.executor import ToolContext, ToolExecutor, ToolResult


class AgentToolRuns:
    def __init__(self, db: Database, executor: ToolExecutor, index: SearchIndex) -> None:
        self._db = db
        self._executor = executor
        self._index = index

    async def run(self, actor: Actor, agent_id: str, name: str, args: JsonObject) -> ToolResult:
        """What it edits in memory is saved. Raises NotFound for a tool that the agent does not hold."""

        def read(connection: Connection) -> tuple[Tool, ToolContext]:
            agent = repository.get_agent(connection, actor, agent_id)
            tool = tools.find_agent_tool(connection, actor, agent_id, name)
            if tool is None:
                raise NotFound(f"Agent {agent_id} has no tool {name!r}.")
            held = blocks_in(connection, actor, agent_id, None)
            shelf = files.load_shelf(connection, actor, agent.id)
            return tool, ToolContext(actor, agent, held, None, files=shelf.files)

        tool, context = await self._db.read(read)
        result = await self._executor.execute(tool, args, context)
        try:
            if result.edits:
                await self._db.write(self._save, context, result)
        except blocks.EditRefused as refusal:
            return replace(result, text=f"Nothing was changed: {refusal.reason}", succeeded=False, edits=())
        return result

    def _save(self, connection: Connection, context: ToolContext, result: ToolResult) -> None:
        author = Author(kind="tool", id=context.actor.user_id)
        blocks.apply_edits(connection, context.actor, context.agent.id, block_edits(result.edits), author)
        opened = [edit.file for edit in result.edits if isinstance(edit, FileSet)]
        files.save_files(connection, context.agent.id, opened)
        if opened:
            files.touch_agent(connection, context.agent.id)
        for edit in result.edits:
            if isinstance(edit, PassageAdded):
                archives.add_for_agent(connection, self._index, context.actor, context.agent.id, edit)
