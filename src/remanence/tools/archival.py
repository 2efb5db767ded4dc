"""The tools of archival memory, from their arguments to the text that the model reads."""

from datetime import datetime

from remanence.archives.schemas import PassageCreate
from remanence.archives.service import ArchiveService, Wanted
from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.errors import AppError
from remanence.kit.json import JsonObject
from remanence.tools.builtin.archival import parse_archival_search, parse_tags, render_passages
from remanence.tools.builtin.outcome import ToolFailure, ToolOutcome


class ArchivalMemory:
    def __init__(self, archives: ArchiveService) -> None:
        self._archives = archives

    async def insert(self, args: JsonObject, *, actor: Actor, agent: Agent) -> ToolOutcome:
        """Raises ToolFailure. The note is saved with the step."""
        given = PassageCreate.model_construct(
            text=str(args.get("content") or ""),
            tags=list(parse_tags(args.get("tags"))),
            metadata=None,
            created_at=None,
        )
        try:
            added = await self._archives.prepare(actor, agent.id, given)
        except AppError as error:
            raise ToolFailure(f"Nothing was kept: {error.message}") from None
        return ToolOutcome(f"Kept in your archive as {added.id}.", (added,))

    async def search(self, args: JsonObject, *, actor: Actor, agent: Agent, now: datetime) -> str:
        """Raises ToolFailure for senseless arguments."""
        asked = parse_archival_search(args, agent.timezone)
        wanted = Wanted(
            text=asked.text,
            tags=asked.tags,
            needs_all_tags=asked.needs_all_tags,
            start=asked.start,
            end=asked.end,
            limit=asked.limit,
        )
        hits = await self._archives.find_for_agent(actor, agent.id, wanted)
        return render_passages(hits, timezone=agent.timezone, now=now)
