"""Several agents together. What kind of togetherness it is, is data; whose turn it is follows from it."""

import re
from collections.abc import Sequence
from typing import Literal

from remanence.core.frozen import Frozen
from remanence.kit.ids import AgentId, MessageId, OrgId, RunId
from remanence.kit.json import JsonObject

ManagerType = Literal["round_robin", "supervisor", "dynamic", "sleeptime", "voice_sleeptime", "swarm"]

MOST_MEMBERS = 50
MOST_TURNS = 200
"""Of members, in answer to one message."""
DONE = "DONE!"
_TURNS_OF_DYNAMIC = 10
_HELPING: frozenset[ManagerType] = frozenset({"sleeptime", "voice_sleeptime"})


class Group(Frozen):
    id: str
    organization_id: OrgId
    manager_type: ManagerType
    agent_ids: tuple[AgentId, ...] = ()
    shared_block_ids: tuple[str, ...] = ()
    description: str = ""
    manager_agent_id: AgentId | None = None
    termination_token: str | None = None
    max_turns: int | None = None
    sleeptime_agent_frequency: int | None = None
    """A visit every so many turns; None is each turn."""
    turns_counter: int | None = None
    last_processed_message_id: MessageId | None = None
    max_message_buffer_length: int | None = None
    min_message_buffer_length: int | None = None
    project_id: str | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    deployment_id: str | None = None
    hidden: bool | None = None

    @property
    def is_helping(self) -> bool:
        """Its members tend the memory of its manager."""
        return self.manager_type in _HELPING


class Named(Frozen):
    """Somebody in a group, as the others know it."""

    id: AgentId
    name: str
    description: str | None = None


class GroupTurn(Frozen):
    """What the record of a run says of its place in a group's conversation."""

    id: str
    """The group's."""
    round: RunId
    """The run that the round began with."""
    spoken: int = 0
    """Turns of members before this one."""
    is_asked_again: bool = False
    """The manager had named nobody, and is asked for the second time."""

    def told(self) -> JsonObject:
        return {"group": self.model_dump()}


def turn_of(metadata: JsonObject | None) -> GroupTurn | None:
    """Of a run that was started by its group; one that a member started has no turn."""
    told: JsonObject = (metadata or {}).get("group") or {}
    return GroupTurn.model_validate(told) if "round" in told else None


class NextTurn(Frozen):
    speaker: AgentId
    turn: GroupTurn


def first_speaker(group: Group) -> AgentId | None:
    """Who hears a message to the group first; None if nobody is there."""
    if group.manager_type in ("round_robin", "swarm"):
        return group.agent_ids[0] if group.agent_ids else None
    return group.manager_agent_id


def next_turn_in(
    group: Group, turn: GroupTurn, speaker: AgentId, words: str, members: Sequence[Named]
) -> NextTurn | None:
    """Who speaks after this; None where the round is over."""
    if group.manager_type == "dynamic":
        return _after_dynamic(group, turn, speaker, words, members)
    if group.manager_type not in ("round_robin", "swarm"):
        return None
    spoken = turn.spoken + 1
    ids = group.agent_ids
    if not ids or spoken >= min(group.max_turns or len(ids), MOST_TURNS):
        return None
    following = ids[(ids.index(speaker) + 1) % len(ids)] if speaker in ids else ids[spoken % len(ids)]
    return NextTurn(speaker=following, turn=turn.model_copy(update={"spoken": spoken}))


def _after_dynamic(
    group: Group, turn: GroupTurn, speaker: AgentId, words: str, members: Sequence[Named]
) -> NextTurn | None:
    manager = group.manager_agent_id
    if manager is None or not members:
        return None
    if speaker != manager:
        spoken = turn.spoken + 1
        if spoken >= min(group.max_turns or _TURNS_OF_DYNAMIC, MOST_TURNS):
            return None
        return NextTurn(speaker=manager, turn=turn.model_copy(update={"spoken": spoken}))
    if (group.termination_token or DONE) in words:
        return None
    chosen = find_named(words, members)
    if chosen is not None:
        return NextTurn(speaker=chosen.id, turn=turn.model_copy(update={"is_asked_again": False}))
    if turn.is_asked_again:
        return None
    return NextTurn(speaker=manager, turn=turn.model_copy(update={"is_asked_again": True}))


def find_named(words: str, members: Sequence[Named]) -> Named | None:
    """The member that an answer names: the one named last, since what was before is often said first."""
    best: tuple[int, int] = (-1, 0)
    found: Named | None = None
    for member in members:
        for name in (member.name, member.id):
            for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", words, re.IGNORECASE):
                place = (match.end(), len(name))
                if place > best:
                    best, found = place, member
    return found


def render_heard(speaker: Named, words: str) -> str:
    """What a member said, as the others hear it."""
    return f"[{speaker.name} ({speaker.id}) said in the group, not a user:]\n{words}"


def render_members(members: Sequence[Named]) -> str:
    return "\n".join(
        f"- {each.name} ({each.id})" + (f": {each.description}" if each.description else "")
        for each in members
    )
