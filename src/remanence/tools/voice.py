"""The tools of voice agents and of their helpers: looking things up in one go, and keeping what was said."""

from datetime import datetime

from remanence.archives.service import ArchiveService, Wanted
from remanence.kit import json
from remanence.kit.clock import utc_now
from remanence.kit.json import JsonObject
from remanence.search.ports import SearchQuery
from remanence.search.service import Search
from remanence.tools.builtin.archival import render_passages
from remanence.tools.builtin.conversation import render_hits
from remanence.tools.builtin.outcome import ToolFailure, ToolOutcome
from remanence.tools.builtin.voice import parse_minutes, rethink_user_memory, store_memories
from remanence.tools.context import ToolContext

_LIMIT = 5
"""Of each kind: what is found is to be spoken of."""


class VoiceMemory:
    def __init__(self, search: Search, archives: ArchiveService) -> None:
        self._search = search
        self._archives = archives

    async def run(self, name: str, args: JsonObject, context: ToolContext) -> ToolOutcome:
        """Raises ToolFailure. What is to be kept is saved with the step."""
        match name:
            case "search_memory":
                return ToolOutcome(await self._find(args, context, utc_now()))
            case "store_memories":
                return store_memories(args["chunks"], context.told)
            case "rethink_user_memory":
                return rethink_user_memory(str(args["new_memory"]), context)
            case "finish_rethinking_memory":
                return ToolOutcome("Done.")
            case _:
                raise ToolFailure(f"{name} cannot be run on this server.")

    async def _find(self, args: JsonObject, context: ToolContext, now: datetime) -> str:
        words = " ".join(str(each) for each in args.get("convo_keyword_queries") or ()).strip()
        start, end = parse_minutes(args, now)
        if not words and start is None and end is None:
            raise ToolFailure("Say what to look for: give convo_keyword_queries, or a time, or both.")
        agent, actor = context.agent, context.actor
        query = SearchQuery(
            organization_id=actor.organization_id,
            text=words,
            owner_ids=[agent.id],
            roles=("user", "assistant"),
            start=start,
            end=end,
            shows_neighbours=True,
            limit=_LIMIT,
        )
        said = render_hits(await self._search.find(query), timezone=agent.timezone, now=now)
        wanted = Wanted(text=words, tags=(), needs_all_tags=False, start=start, end=end, limit=_LIMIT)
        found = await self._archives.find_for_agent(actor, agent.id, wanted)
        kept = render_passages(found, timezone=agent.timezone, now=now)
        return json.readable({"said": json.decode(said), "kept": json.decode(kept)})
