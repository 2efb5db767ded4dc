"""The conversation search tool, from its arguments to the text that the model reads."""

from datetime import datetime

from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.kit.json import JsonObject
from remanence.search.ports import SearchQuery
from remanence.search.service import Search
from remanence.tools.builtin.conversation import parse_conversation_search, render_hits


class ConversationSearch:
    def __init__(self, search: Search) -> None:
        self._search = search

    async def run(self, args: JsonObject, *, actor: Actor, agent: Agent, now: datetime) -> str:
        """Searches all that was ever said with this agent. Raises ToolFailure for senseless arguments."""
        asked = parse_conversation_search(args, agent.timezone)
        query = SearchQuery(
            organization_id=actor.organization_id,
            text=asked.text,
            owner_ids=[agent.id],
            roles=asked.roles,
            start=asked.start,
            end=asked.end,
            shows_neighbours=True,
            limit=asked.limit,
        )
        hits = await self._search.find(query)
        return render_hits(hits, timezone=agent.timezone, now=now)
