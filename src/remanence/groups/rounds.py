"""A group's conversation: what a message to the group brings about, turn by turn.

Each turn is an ordinary background run of one member, in its own history. The next one is put on record in
the transaction that ends the one before: a crash loses no turn and repeats none, and whoever finds the
runs of a dead process carries the round on. A turn that fails, is cancelled, or waits for a person ends it.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.agents.groups import repository as groups
from remanence.core.actor import Actor
from remanence.core.agent import Agent, AgentState, AgentType
from remanence.core.group import (
    DONE,
    Group,
    GroupTurn,
    Named,
    first_speaker,
    next_turn_in,
    render_heard,
    render_members,
    turn_of,
)
from remanence.core.message import Message
from remanence.core.profile import profile_of
from remanence.core.prompts import read_text
from remanence.db.database import Database
from remanence.errors import AgentBusy, Conflict, Invalid, NotFound
from remanence.groups import repository
from remanence.groups.repository import Heard, Turn
from remanence.kit.ids import AgentId, new_run_id
from remanence.messages import repository as messages
from remanence.messages.images import ImageFetcher
from remanence.messages.schemas import View, typed_messages
from remanence.messages.sending import MessageCreate, SendRequest
from remanence.runs import repository as runs
from remanence.runs.following import FollowUp, record_follow_up
from remanence.runs.plan import RunPlan
from remanence.runs.repository import HeldRun
from remanence.runs.service import RunService
from remanence.runs.supervisor import Supervisor

_RUN_TYPE = "group_turn"
_PROMPTS = {"supervisor": "group_lead.md", "dynamic": "group_choice.md"}
"""What a manager is told; where it is only helped by the others, nothing."""


class Rounds:
    """Begins rounds, ends them, and is a follower of their turns."""

    def __init__(
        self, db: Database, service: RunService, supervisor: Supervisor, images: ImageFetcher
    ) -> None:
        self._db = db
        self._service = service
        self._supervisor = supervisor
        self._images = images

    async def begin(self, actor: Actor, group_id: str, request: SendRequest) -> Turn:
        """Returns once the message is on disk. Raises NotFound, Invalid, and AgentBusy during a round."""
        if request.answer() is not None:
            raise Invalid("A request is answered where it was made: send the answer to the member itself.")
        inputs = await self._images.embed(request.inputs())
        if not inputs:
            raise Invalid("`messages` is empty: say something to the group.")
        turn, held = await self._db.write(_begin, actor, group_id, request, inputs)
        self._supervisor.take_up(held)
        return turn

    async def cancel(self, actor: Actor, group_id: str) -> dict[str, str]:
        """Ends the round that is under way, with all that its turn has brought about. Raises Conflict."""
        outcome: dict[str, str] = {}
        while True:
            lane, turn = await self._db.read(_find_open, actor, group_id)
            if turn is None or turn.run_id in outcome:
                break
            # One that comes to its end at this very moment passes its turn on, so that we look again.
            outcome |= await self._service.cancel(actor, lane, [turn.run_id])
        if not outcome:
            raise Conflict("The group is silent: there is nothing to cancel.")
        return outcome

    def after_turn(
        self, connection: Connection, run: RunPlan, state: AgentState, until: datetime
    ) -> list[FollowUp]:
        turn = turn_of(run.run.metadata)
        if turn is None or runs.list_cancelled(connection, [run.run.id]):
            return []
        try:
            group = groups.get_group(connection, run.actor, turn.id, locks=True)
        except NotFound:  # it was deleted meanwhile
            return []
        members = _members(connection, run.actor, group.agent_ids)
        said = messages.list_run_messages(connection, run.run.id)
        own = [message for message in said if message.sender_id == state.agent.id]
        words = _spoken(own, state.agent.agent_type)
        following = next_turn_in(group, turn, state.agent.id, words, members)
        if following is None:
            return []
        try:
            agent = agents.get_agent(connection, run.actor, following.speaker)
        except NotFound:
            return []
        said = _inputs(connection, run.actor, group, agent, following.turn)
        asked = SendRequest.model_validate((run.request or {}) | {"messages": []})
        request = asked.model_copy(update={"messages": said})
        follow_up = FollowUp(agent, request, _RUN_TYPE, following.turn.told())
        repository.add_turn(connection, group.id, turn.round, follow_up.id)
        return [follow_up]


def _begin(
    connection: Connection,
    actor: Actor,
    group_id: str,
    request: SendRequest,
    inputs: Sequence[MessageCreate],
) -> tuple[Turn, HeldRun]:
    group = groups.get_group(connection, actor, group_id, locks=True)
    refuse_while_speaking(connection, group)
    speaker = first_speaker(group)
    if speaker is None:
        raise Invalid("Nobody is in this group: give it members.")
    agent = agents.get_agent(connection, actor, speaker)
    run_id = new_run_id()
    turn = GroupTurn(id=group.id, round=run_id)
    said = [each.model_copy(update={"group_id": group.id, "sender_id": None}) for each in inputs]
    body = request.model_copy(
        update={
            "input": None,
            "messages": _inputs(connection, actor, group, agent, turn, said),
        }
    )
    held = record_follow_up(connection, actor, FollowUp(agent, body, _RUN_TYPE, turn.told(), run_id))
    number = repository.add_turn(connection, group.id, run_id, run_id)
    return Turn(group.id, number, run_id, run_id, is_open=True), held


def refuse_while_speaking(connection: Connection, group: Group) -> None:
    """Raises AgentBusy during a round. The group is locked."""
    newest = repository.newest_turn(connection, group.id)
    if newest is not None and newest.is_open:
        raise AgentBusy(
            "The group is still talking about an earlier message. Wait for its end, or cancel it.",
            run_id=newest.run_id,
        )


def _find_open(connection: Connection, actor: Actor, group_id: str) -> tuple[str, Turn | None]:
    group = groups.get_group(connection, actor, group_id)
    newest = repository.newest_turn(connection, group.id)
    if newest is None or not newest.is_open:
        return "", None
    return runs.get_run(connection, actor, newest.run_id).lane, newest


def _inputs(
    connection: Connection,
    actor: Actor,
    group: Group,
    agent: Agent,
    turn: GroupTurn,
    said: Sequence[MessageCreate] = (),
) -> list[MessageCreate]:
    """What this member has not heard yet, what is said to the group now, and what is expected of it."""
    heard = [_heard(each) for each in repository.list_heard(connection, group.id, agent.id)]
    prompt = _prompt(connection, actor, group, agent)
    asked = [MessageCreate(role="system", content=prompt)] if prompt else []
    return [*(each for each in heard if each is not None), *said, *asked]


def _heard(heard: Heard) -> MessageCreate | None:
    message = heard.message
    if message.sender_id != message.agent_id:  # the user's own words, as they were
        if message.role not in ("user", "system", "assistant"):
            return None
        return MessageCreate.model_validate(
            {"role": message.role, "content": message.content, "name": message.name}
        )
    words = _spoken([message], heard.agent_type)
    if not words:
        return None
    speaker = Named(id=message.agent_id, name=heard.agent_name)
    text = render_heard(speaker, words)
    return MessageCreate(role="system", content=text, name=speaker.name, sender_id=speaker.id)


def _spoken(said: Sequence[Message], agent_type: AgentType) -> str:
    """The words of an agent, without its thoughts and its calls."""
    view = View(reply=profile_of(agent_type).reply)
    bodies = [body for message in said for body in typed_messages(message, view)]
    return "\n\n".join(body["content"] for body in bodies if body["message_type"] == "assistant_message")


def _prompt(connection: Connection, actor: Actor, group: Group, agent: Agent) -> str | None:
    if group.is_helping:
        return None
    others = _members(connection, actor, [each for each in group.agent_ids if each != agent.id])
    is_manager = agent.id == group.manager_agent_id
    file = _PROMPTS.get(group.manager_type, "group_turn.md") if is_manager else "group_turn.md"
    return read_text(file).format(
        about=f" ({group.description})" if group.description else "",
        members=render_members(others) or "nobody else",
        token=group.termination_token or DONE,
    )


def _members(connection: Connection, actor: Actor, agent_ids: Sequence[AgentId]) -> list[Named]:
    """Those of them that are still there, in their order."""
    found = {agent.id: agent for agent in agents.find_agents(connection, actor, agent_ids)}
    return [
        Named(id=each.id, name=each.name, description=each.description)
        for each in (found[id] for id in agent_ids if id in found)
    ]
