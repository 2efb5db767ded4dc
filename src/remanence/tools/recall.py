"""The conversation search tool, from its arguments to the text that the model reads."""

from datetime import datetime

from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.db.database import Database
from remanence.kit.ids import ConversationId
from remanence.kit.json import JsonObject
from remanence.search.ports import SearchIndex


class ConversationSearch:
    def __init__(self, db: Database, index: SearchIndex) -> None:
        self._db = db
        self._index = index

    async def run(
        self,
        args: JsonObject,
        *,
        actor: Actor,
        agent: Agent,
        conversation_id: ConversationId | None,
        now: datetime,
    ) -> str:
        """Raises ToolFailure for arguments that make no sense."""
        from remanence.tools.builtin.conversation import parse_conversation_search, render_hits
        query = parse_conversation_search(args)
        hits = await self._db.read(self._index.query, query)
        return render_hits(hits)
