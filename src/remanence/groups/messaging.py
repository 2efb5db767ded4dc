"""Agents that speak to each other: with their names, within bounds, and never in a circle of waiting."""

import asyncio
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.agents.groups import repository as groups
from remanence.agents.queries import AgentQuery
from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.core.event import RunFinished
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.errors import AppError, NotFound
from remanence.kit.json import JsonObject
from remanence.messages.frames import Collected
from remanence.messages.sending import SendRequest
from remanence.runs import repository
from remanence.runs.background import Background
from remanence.runs.service import Address, RunService, Sent
from remanence.tools.builtin.outcome import ToolFailure
from remanence.tools.executor import ToolContext

_MAX_HOPS = 8
"""So often a message may lead to another before somebody else must speak."""
_MAX_FAN_OUT = 25
_AT_ONCE = 5
_PATIENCE_S = 600
_WAITING = "agent_waits"
"""The kind of run that another agent's run waits for."""


class AgentMessenger:
    def __init__(self, db: Database, runs: RunService, background: Background) -> None:
        self._db = db
        self._runs = runs
        self._background = background

    async def run(self, name: str, args: JsonObject, context: ToolContext) -> str:
        """What the tool returns to the agent that called it. Raises ToolFailure."""
        match name:
            case "send_message_to_agent_and_wait_for_reply":
                return str(await self._ask(args["other_agent_id"], args["message"], context))
            case "send_message_to_agent_async":
                return await self._tell(args["other_agent_id"], args["message"], context)
            case "send_message_to_agents_matching_tags":
                found = await self._matching(
                    args.get("match_all") or [], args.get("match_some") or [], context
                )
                return str(await self._ask_all(found, args["message"], context))
            case _:
                raise ToolFailure(f"{name} cannot be run on this server.")

    async def _tell(self, target_id: str, text: str, context: ToolContext) -> str:
        target = await self._target(target_id, context)
        request = _request(text, context.agent).model_copy(update={"background": True})
        sent = await self._send(target, request, context, "agent_message")
        self._background.keep(context.actor, sent, request)
        return f"Your message is on its way to {target.name}. An answer, if there is one, comes as a message."

    async def _ask_all(self, targets: Sequence[Agent], text: str, context: ToolContext) -> list[Any]:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def ask(target: Agent) -> dict[str, Any]:
            async with gate:
                try:
                    return await self._ask(target.id, text, context)
                except ToolFailure as failure:
                    return {"agent_id": target.id, "error": failure.text}

        return await asyncio.gather(*(ask(target) for target in targets))

    async def _ask(self, target_id: str, text: str, context: ToolContext) -> dict[str, Any]:
        target = await self._target(target_id, context)
        if target.id in context.senders:
            raise ToolFailure(f"{target.name} waits for you: answer, and do not ask back.")
        sent = await self._send(target, _request(text, context.agent), context, _WAITING)
        try:
            # Only now, when our own waiting is on record: of two that ask each other at once one sees it.
            if await self._db.read(_closes_circle, context.actor, context.agent.id):
                raise ToolFailure(f"{target.name} is just waiting for you. Ask again later.")
            async with asyncio.timeout(_PATIENCE_S):
                return {"agent_id": target.id, "response": await _answer(sent)}
        except TimeoutError:
            raise ToolFailure(f"{target.name} did not answer within {_PATIENCE_S} seconds.") from None
        finally:
            if not sent.task.done():  # whoever stops waiting stops what was waited for
                await asyncio.shield(self._runs.cancel(context.actor, sent.run.lane, [sent.run.id]))

    async def _send(self, target: Agent, request: SendRequest, context: ToolContext, run_type: str) -> Sent:
        try:
            return await self._runs.send(
                context.actor,
                Address(target.id),
                request,
                run_type=run_type,
                senders=(*context.senders, context.agent.id),
                group_id=await self._shared_group(target, context),
            )
        except AppError as error:
            raise ToolFailure(f"{target.name} cannot be reached: {error.message}") from None

    async def _shared_group(self, target: Agent, context: ToolContext) -> str | None:
        """The group in which the agent speaks, if the other one is in it too."""
        if context.group_id is None:
            return None
        try:
            group = await self._db.read(groups.get_group, context.actor, context.group_id)
        except NotFound:
            return None
        return group.id if target.id in (*group.agent_ids, group.manager_agent_id) else None

    async def _target(self, target_id: str, context: ToolContext) -> Agent:
        if target_id == context.agent.id:
            raise ToolFailure("That is your own id; give another agent's.")
        if len(context.senders) >= _MAX_HOPS:
            raise ToolFailure(
                f"This message has gone through {_MAX_HOPS} agents already. Answer with what you have."
            )
        try:
            return await self._db.read(agents.get_agent, context.actor, target_id)
        except NotFound:
            raise ToolFailure(f"There is no agent {target_id}. Check the id.") from None

    async def _matching(
        self, match_all: Sequence[str], match_some: Sequence[str], context: ToolContext
    ) -> list[Agent]:
        found = await self._db.read(_find_by_tags, context.actor, match_all, match_some)
        others = [agent for agent in found if agent.id != context.agent.id]
        if not others:
            raise ToolFailure("No other agent has these tags.")
        if len(others) > _MAX_FAN_OUT:
            raise ToolFailure(
                f"{len(others)} agents have these tags, and at most {_MAX_FAN_OUT} can be asked at once. "
                "Choose tags that fewer have."
            )
        return others


def _request(text: str, sender: Agent) -> SendRequest:
    words = (
        f"[Message from the agent {sender.name} ({sender.id}), not from a user. "
        f"What you answer goes back to it.]\n{text}"
    )
    return SendRequest.model_validate({"messages": [{"role": "system", "content": words}]})


async def _answer(sent: Sent) -> list[str]:
    """Raises ToolFailure if the run did not end well."""
    collected = Collected(sent.view)
    while collected.finished is None:
        for event in await sent.channel.next_batch():
            collected.add(event)
            if isinstance(event, RunFinished) and event.error is not None:
                raise ToolFailure(f"The other agent could not answer: {event.error.message}")
    spoken = [each["content"] for each in collected.messages if each["message_type"] == "assistant_message"]
    if not spoken:
        raise ToolFailure(f"The other agent said nothing ({collected.finished.stop_reason}).")
    return spoken


def _find_by_tags(
    connection: Connection, actor: Actor, match_all: Sequence[str], match_some: Sequence[str]
) -> list[Agent]:
    page = Page(limit=1000)
    if not match_all and not match_some:
        return []
    every = AgentQuery(tags=tuple(match_all), match_all_tags=True)
    some = AgentQuery(tags=tuple(match_some))
    having_all = agents.list_agents(connection, actor, every, page) if match_all else None
    having_some = agents.list_agents(connection, actor, some, page) if match_some else None
    if having_all is None or having_some is None:
        return having_all or having_some or []
    ids = {agent.id for agent in having_some}
    return [agent for agent in having_all if agent.id in ids]


def _closes_circle(connection: Connection, actor: Actor, agent_id: str) -> bool:
    """Whether those whom this agent waits for wait, in the end, for it."""
    waits: dict[str, set[str]] = {}
    for run in repository.list_open_of_kind(connection, actor, _WAITING):
        senders: list[str] = (run.metadata or {}).get("senders") or []
        if senders:
            waits.setdefault(senders[-1], set()).add(run.agent_id)
    reached: set[str] = set()
    ahead = list(waits.get(agent_id, ()))
    while ahead:
        following = ahead.pop()
        if following == agent_id:
            return True
        if following not in reached:
            reached.add(following)
            ahead += waits.get(following, ())
    return False
