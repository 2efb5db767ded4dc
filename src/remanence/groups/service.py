"""Helpers that tend an agent's memory between its turns: made and ended with it, visiting every few turns."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.agents.compiling import recompile
from remanence.agents.groups import repository
from remanence.agents.schemas import AgentCreate
from remanence.agents.service import AgentService
from remanence.core.actor import Actor
from remanence.core.agent import Agent, AgentState
from remanence.core.group import Group
from remanence.core.helper import (
    CAPTURE,
    CAPTURE_MARK,
    HelperKind,
    due_of_buffer,
    helper_of,
    kind_of,
    next_turn,
)
from remanence.core.message import Message
from remanence.core.prompts import read_text
from remanence.core.transcript import number_lines, render_transcript
from remanence.errors import NotFound
from remanence.kit.ids import AgentId, new_id
from remanence.memory import repository as blocks
from remanence.memory.schemas import BlockCreate
from remanence.messages import repository as messages
from remanence.messages.sending import SendRequest
from remanence.runs import repository as runs
from remanence.runs.following import FollowUp
from remanence.runs.plan import RunPlan

_CHARS_PER_TOKEN = 2
"""Of a helper's window, for a transcript: about half of it, in most languages."""


class Helpers:
    """Knows which agents have helpers. Part of the life of agents, and a follower of their turns."""

    def __init__(self, service: AgentService) -> None:
        self._agents = service

    # The life of an agent

    def on_change(self, connection: Connection, actor: Actor, agent: Agent) -> None:
        """An agent was made or changed: it has a helper if it wants one, and none if it does not."""
        wanted = helper_of(agent)
        group = repository.helping_group(connection, actor, agent.id)
        has = kind_of(group) if group is not None else None
        if group is not None and has is not None and has != wanted:
            self._end(connection, actor, group)
        if wanted is not None and has != wanted:
            self._make(connection, actor, agent, wanted)

    def on_delete(self, connection: Connection, actor: Actor, agent_id: str) -> None:
        """An agent is gone: with it go its helpers; if it was the last helper, nobody is helped any more.

        A group that it led goes too, and one that it was the last member of.
        """
        for group in repository.list_managed(connection, actor, [AgentId(agent_id)]):
            if group.is_helping:
                self._end(connection, actor, group)
            else:
                repository.delete_group(connection, group.id)
        for group in repository.groups_of_member(connection, actor, agent_id):
            _cancel_runs(connection, actor, AgentId(agent_id))
            left = [member for member in group.agent_ids if member != agent_id]
            repository.set_members(connection, group.id, left)
            if left:
                continue
            if group.is_helping:
                self._forget(connection, actor, group)
            else:
                repository.delete_group(connection, group.id)

    def _make(self, connection: Connection, actor: Actor, agent: Agent, kind: HelperKind) -> None:
        held = blocks.list_agent_blocks(connection, actor, agent.id)
        own = [
            BlockCreate(label=path.removesuffix(".md"), value=read_text(path).format(name=agent.name))
            for path in [kind.persona]
            if path is not None
        ]
        body = AgentCreate(
            name=f"{agent.name}{kind.name_ending}",
            agent_type=kind.agent_type,
            system=read_text(kind.system) if kind.system else None,
            memory_blocks=own,
            block_ids=[block.id for block in held if block.label not in {each.label for each in own}],
            tools=list(kind.tools) if kind.tools is not None else None,
            include_base_tools=kind.tools is None,
            tool_rules=list(kind.rules) if kind.rules is not None else None,
            include_base_tool_rules=None if kind.rules is None else False,
            message_buffer_autoclear=kind.forgets,
            hidden=kind.is_hidden or None,
            timezone=agent.timezone,
            project_id=agent.project_id,
            template_id=agent.template_id,
            base_template_id=agent.base_template_id,
        )
        helper, _, _ = self._agents.insert(connection, actor, body, agent.llm_config, agent.embedding_config)
        group = Group(
            id=new_id("group"),
            organization_id=actor.organization_id,
            manager_type=kind.manager_type,
            agent_ids=(helper.id,),
            manager_agent_id=agent.id,
            project_id=agent.project_id,
            hidden=kind.is_hidden or None,
            **kind.group_settings(),
        )
        repository.insert_group(connection, group, actor.user_id)

    def _end(self, connection: Connection, actor: Actor, group: Group) -> None:
        """The group and its helpers go; what they wrote stays. So do agents that are more than helpers."""
        kind = kind_of(group)
        for helper in agents.find_agents(connection, actor, group.agent_ids):
            if kind is not None and helper.agent_type == kind.agent_type:
                _cancel_runs(connection, actor, helper.id)
                agents.soft_delete_agent(connection, actor, helper.id)
        repository.delete_group(connection, group.id)

    def _forget(self, connection: Connection, actor: Actor, group: Group) -> None:
        repository.delete_group(connection, group.id)
        if group.manager_agent_id is None:
            return
        try:
            agent = agents.get_agent(connection, actor, group.manager_agent_id)
        except NotFound:
            return
        unmarked = {name: value for name, value in (agent.metadata or {}).items() if name != CAPTURE_MARK}
        is_capture = kind_of(group) == CAPTURE
        changes = {"metadata": unmarked} if is_capture else {"enable_sleeptime": False}
        agents.update_agent(connection, agent.id, changes)

    def dismiss(self, connection: Connection, actor: Actor, group: Group) -> None:
        """The helpers go, and their agent is helped no more."""
        self._end(connection, actor, group)
        self._forget(connection, actor, group)

    # The turns of an agent

    def after_turn(
        self, connection: Connection, run: RunPlan, state: AgentState, until: datetime
    ) -> list[FollowUp]:
        agent, actor = state.agent, run.actor
        kind = helper_of(agent)
        if kind is None:
            return []
        # Each turn of an agent that is helped pays for this, so its members are read only when they are due.
        group = repository.lock_helping(connection, actor, agent.id, kind.manager_type)
        if group is None or kind_of(group) != kind:
            return []
        if kind.buffer is None:
            counter, is_due = next_turn(group.turns_counter, group.sleeptime_agent_frequency)
            repository.update_group(connection, group.id, {"turns_counter": counter})
            if not is_due:
                return []
        since = messages.list_since(connection, agent.id, group.last_processed_message_id, until)
        since = since[: due_of_buffer(len(since), kind, group)]
        if not since:
            return []
        repository.update_group(connection, group.id, {"last_processed_message_id": since[-1].id})
        visits = [
            self._visit(connection, actor, agent, each, kind, since)
            for each in repository.list_members(connection, group.id)
        ]
        return [visit for visit in visits if visit is not None]

    def _visit(
        self,
        connection: Connection,
        actor: Actor,
        agent: Agent,
        helper_id: AgentId,
        kind: HelperKind,
        since: Sequence[Message],
    ) -> FollowUp | None:
        try:
            helper = agents.get_agent(connection, actor, helper_id)
        except NotFound:
            return None
        room = helper.llm_config.context_window * _CHARS_PER_TOKEN
        told = render_transcript(since, most_chars=room, timezone=agent.timezone)
        if not told:
            return None
        told = number_lines(told) if kind.numbers_lines else told
        _share_blocks(connection, actor, agent, helper)
        recompile(
            connection, actor, helper.id
        )  # it sees the blocks as they are, and its cache is cold anyway
        return FollowUp(
            agent=helper,
            request=SendRequest(input=read_text(kind.visit).format(name=agent.name, transcript=told)),
            run_type=kind.run_type,
            told={
                "source": {
                    "agent_id": agent.id,
                    "first_message_id": since[0].id,
                    "last_message_id": since[-1].id,
                }
            },
        )


def _share_blocks(connection: Connection, actor: Actor, agent: Agent, helper: Agent) -> None:
    """Gives the helper what the agent has got since it was made."""
    held = blocks.list_agent_blocks(connection, actor, helper.id)
    labels, ids = {block.label for block in held}, {block.id for block in held}
    missing = [
        block
        for block in blocks.list_agent_blocks(connection, actor, agent.id)
        if block.id not in ids and block.label not in labels
    ]
    if missing:
        blocks.link_blocks(connection, helper.id, missing)
        agents.bump_version(connection, helper.id)


def _cancel_runs(connection: Connection, actor: Actor, agent_id: AgentId) -> None:
    """Whoever has them at work notices within a second."""
    for run_id in runs.list_open_runs(connection, actor, agent_id):
        runs.cancel_run(connection, actor, agent_id, run_id)
