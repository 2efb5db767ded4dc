"""Groups made, changed and ended by hand. What they share, every member holds."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.agents.groups import repository
from remanence.core.actor import Actor
from remanence.core.group import DONE, Group, ManagerType
from remanence.core.helper import kind_of_manager
from remanence.errors import AlreadyExists, BadArgument, Conflict
from remanence.groups import repository as turns
from remanence.groups.rounds import refuse_while_speaking
from remanence.groups.schemas import GroupCreate, GroupUpdate
from remanence.groups.service import Helpers
from remanence.kit.ids import AgentId, new_id
from remanence.memory import repository as blocks
from remanence.messages import repository as messages
from remanence.runs import repository as runs
from remanence.tools import repository as tools

_DELEGATING = "send_message_to_agent_and_wait_for_reply"


def create_group(connection: Connection, actor: Actor, body: GroupCreate) -> Group:
    """Raises NotFound, BadArgument, Invalid, Conflict; then nothing was made."""
    kind: ManagerType = body.manager_config.manager_type or "round_robin"
    settings = body.manager_config.settings(kind)
    group = Group(
        id=new_id("group"),
        organization_id=actor.organization_id,
        manager_type=kind,
        description=body.description,
        project_id=body.project_id,
        hidden=body.hidden,
        agent_ids=tuple(AgentId(each) for each in dict.fromkeys(body.agent_ids)),
        **_with_defaults(kind, settings),
    )
    _check(connection, actor, group)
    if group.is_helping:
        _begin_helping(connection, actor, group)
    repository.insert_group(connection, group, actor.user_id)
    _furnish(connection, actor, group)
    for block_id in dict.fromkeys(body.shared_block_ids):
        share_block(connection, actor, group.id, block_id)
    return repository.get_group(connection, actor, group.id)


def update_group(connection: Connection, actor: Actor, group_id: str, body: GroupUpdate) -> Group:
    """Raises NotFound, BadArgument, Invalid, Conflict; then nothing has changed."""
    group = repository.get_group(connection, actor, group_id, locks=True)
    changes: dict[str, Any] = {
        name: value for name in ("description", "project_id") if (value := getattr(body, name)) is not None
    }
    if body.manager_config is not None:
        kind = body.manager_config.manager_type or group.manager_type
        if kind != group.manager_type:
            raise BadArgument(f"This is a {group.manager_type} group; that cannot be changed.")
        settings = body.manager_config.settings(kind)
        if settings.get("manager_agent_id") is None:
            settings.pop("manager_agent_id", None)
        elif group.is_helping and settings["manager_agent_id"] != group.manager_agent_id:
            raise BadArgument("The agent that is helped cannot be changed; enable sleeptime there.")
        if "sleeptime_agent_frequency" in settings:
            settings["turns_counter"] = -1
        changes |= settings
    if body.agent_ids is not None:
        changes["agent_ids"] = tuple(AgentId(each) for each in dict.fromkeys(body.agent_ids))
    changed = group.model_copy(update=changes)
    _check(connection, actor, changed)
    if body.agent_ids is not None:
        repository.set_members(connection, group.id, changes.pop("agent_ids"))
    repository.update_group(connection, group.id, changes | {"last_updated_by_id": actor.user_id})
    _furnish(connection, actor, changed)
    if body.shared_block_ids is not None:
        for block_id in set(group.shared_block_ids) - set(body.shared_block_ids):
            unshare_block(connection, actor, group.id, block_id)
        for block_id in dict.fromkeys(body.shared_block_ids):
            share_block(connection, actor, group.id, block_id)
    return repository.get_group(connection, actor, group_id)


def delete_group(connection: Connection, actor: Actor, helpers: Helpers, group_id: str) -> None:
    """A sleep-time group goes with its helpers, and its agent is helped no more. Raises NotFound."""
    group = repository.get_group(connection, actor, group_id, locks=True)
    if group.is_helping:
        helpers.dismiss(connection, actor, group)
        return
    newest = turns.newest_turn(connection, group.id)
    if newest is not None and newest.is_open:
        run = runs.get_run(connection, actor, newest.run_id)
        runs.cancel_run(connection, actor, run.lane, run.id)
    repository.delete_group(connection, group.id)


def share_block(connection: Connection, actor: Actor, group_id: str, block_id: str) -> Group:
    """Gives it to all members. Raises NotFound, and AlreadyExists where one has another of its label."""
    group = repository.get_group(connection, actor, group_id, locks=True)
    for agent_id in _everyone(group):
        blocks.attach_block(connection, actor, agent_id, block_id)
    repository.link_block(connection, group.id, block_id)
    return repository.get_group(connection, actor, group_id)


def unshare_block(connection: Connection, actor: Actor, group_id: str, block_id: str) -> Group:
    """Takes it from all members; the block itself stays. Raises NotFound."""
    group = repository.get_group(connection, actor, group_id, locks=True)
    blocks.get_block(connection, actor, block_id)
    if block_id in group.shared_block_ids:
        for agent in agents.find_agents(connection, actor, _everyone(group)):
            blocks.detach_block(connection, actor, agent.id, block_id)
        repository.unlink_block(connection, group.id, block_id)
    return repository.get_group(connection, actor, group_id)


def reset_messages(connection: Connection, actor: Actor, group_id: str) -> Group:
    """The group begins anew: its members no longer see what was said in it, and it lists nothing.

    The messages stay in the members' own histories. Raises NotFound, and AgentBusy while one is at work.
    """
    group = repository.get_group(connection, actor, group_id, locks=True)
    refuse_while_speaking(connection, group)
    for lane, run_ids in sorted(turns.list_run_ids(connection, group.id).items()):
        if not runs.lock_idle_lane(connection, lane, by_force=False):
            open_runs = runs.list_open_runs(connection, actor, lane)
            raise runs.busy(lane, open_runs[0] if open_runs else None)
        window, _ = messages.load_window(connection, lane)
        kept = [each.id for each in window if each.run_id is None or each.run_id not in run_ids]
        messages.replace_context(connection, lane, kept)
        agents.bump_window(connection, lane)
    turns.unmark_messages(connection, group.id)
    return group


def _with_defaults(kind: ManagerType, settings: dict[str, Any]) -> dict[str, Any]:
    if kind == "dynamic":
        settings["termination_token"] = settings.get("termination_token") or DONE
    helper = kind_of_manager(kind)
    if helper is not None:
        settings = helper.group_settings() | settings
    return settings


def _check(connection: Connection, actor: Actor, group: Group) -> None:
    """Raises NotFound, BadArgument."""
    manager = group.manager_agent_id
    if manager is None and group.manager_type != "round_robin":
        raise BadArgument(f"A {group.manager_type} group has a manager: name it as manager_agent_id.")
    if manager in group.agent_ids:
        raise BadArgument("The manager cannot be a member as well: an agent does not speak to itself.")
    least, most = group.min_message_buffer_length or 0, group.max_message_buffer_length
    if most is not None and least >= most:
        raise BadArgument("min_message_buffer_length must be less than max_message_buffer_length.")
    for agent_id in _everyone(group):
        agents.get_agent(connection, actor, agent_id)


def _begin_helping(connection: Connection, actor: Actor, group: Group) -> None:
    assert group.manager_agent_id is not None
    if repository.helping_group(connection, actor, group.manager_agent_id) is not None:
        raise AlreadyExists(f"{group.manager_agent_id} is helped by a group already; change that one.")
    agent = agents.get_agent(connection, actor, group.manager_agent_id)
    helper = kind_of_manager(group.manager_type)
    if helper is None or not helper.suits(agent):
        raise Conflict(f"A {agent.agent_type} cannot be helped by a {group.manager_type} group.")
    agents.update_agent(connection, agent.id, {"enable_sleeptime": True})


def _furnish(connection: Connection, actor: Actor, group: Group) -> None:
    """Gives its agents what they need for it."""
    for block_id in group.shared_block_ids:
        for agent_id in _everyone(group):
            blocks.attach_block(connection, actor, agent_id, block_id)
    if group.manager_type == "supervisor" and group.manager_agent_id is not None:
        tool = tools.find_by_name(connection, actor, _DELEGATING)
        if tool is not None:
            tools.attach_tool(connection, actor, group.manager_agent_id, tool.id)


def _everyone(group: Group) -> Sequence[AgentId]:
    """Sorted, so that two that change several agents meet in the same order."""
    manager = (group.manager_agent_id,) if group.manager_agent_id is not None else ()
    return sorted({*group.agent_ids, *manager})
