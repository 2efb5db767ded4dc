"""Rules of attaching and opening, each within a transaction of its own or of a larger change.

The agent's row is locked first, so that no two of them, nor a run that opens files, count what is open at once.
"""

from collections.abc import Sequence

from sqlalchemy import Connection

from remanence.agents import repository
from remanence.agents.compiling import recompile
from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.core.file import IN_WORK
from remanence.core.open_files import (
    AgentFile,
    closed,
    make_room,
    one_after_the_other,
    opened,
    render_view,
    replaced,
)
from remanence.core.profile import FILE_TOOLS, limits_of
from remanence.errors import BadArgument, Conflict, NotFound
from remanence.files import repository as files
from remanence.kit.clock import utc_now
from remanence.kit.tokens import estimate_tokens
from remanence.tools import repository as tools


def attach_folder(connection: Connection, actor: Actor, agent_id: str, folder_id: str) -> None:
    """Nothing changes if the agent has it already. Raises NotFound."""
    agent = repository.lock_agent(connection, actor, agent_id)
    files.get_folder(connection, actor, folder_id)
    held = [folder.id for folder in files.folders_of_agents(connection, actor, [agent.id])[agent.id]]
    if set_folders(connection, actor, agent, [*held, folder_id]):
        recompile(connection, actor, agent.id)


def detach_folder(connection: Connection, actor: Actor, agent_id: str, folder_id: str) -> None:
    """Nothing changes if the agent does not have it. Raises NotFound."""
    agent = repository.lock_agent(connection, actor, agent_id)
    files.get_folder(connection, actor, folder_id)
    held = [folder.id for folder in files.folders_of_agents(connection, actor, [agent.id])[agent.id]]
    if set_folders(connection, actor, agent, [id for id in held if id != folder_id]):
        recompile(connection, actor, agent.id)


def set_folders(connection: Connection, actor: Actor, agent: Agent, folder_ids: Sequence[str]) -> bool:
    """Replaces them all, opens what comes, and sees to the tools. Whether anything changed. Raises NotFound."""
    wanted = [files.get_folder(connection, actor, id) for id in dict.fromkeys(folder_ids)]
    held = {folder.id for folder in files.folders_of_agents(connection, actor, [agent.id])[agent.id]}
    gone = held - {folder.id for folder in wanted}
    come = [folder for folder in wanted if folder.id not in held]
    if not gone and not come:
        return False
    files.detach_folders(connection, agent.id, list(gone))
    added = files.attach_folders(connection, actor, agent.id, come)
    _open_first(connection, actor, agent, added)
    files.touch_agent(connection, agent.id)
    if bool(held) != bool(wanted):
        _fit_tools(connection, actor, agent, has_folders=bool(wanted))
    return True


def refit(connection: Connection, actor: Actor, agent: Agent) -> None:
    """Brings what is open within limits that have changed."""
    limits = limits_of(agent)
    shelf = files.load_shelf(connection, actor, agent.id)
    too_many = {file.file_id for file in make_room(shelf.files, limits.max_files_open)}
    changed: list[AgentFile] = []
    for file in shelf.files:
        if file.file_id in too_many:
            changed.append(closed(file))
        elif file.is_open and (text := _text_of(connection, actor, file)) is not None:
            first, last = file.start_line or 1, file.end_line
            count = last - first + 1 if last is not None else None
            view = render_view(text, limits.per_file_view_window_char_limit, first=first, count=count)
            changed.append(opened(file, view, file.last_accessed_at))
    files.save_files(connection, agent.id, changed)


def open_file(connection: Connection, actor: Actor, agent_id: str, file_id: str) -> list[str]:
    """The names of files that were closed to make room. Raises NotFound, Conflict and BadArgument."""
    agent = repository.lock_agent(connection, actor, agent_id)
    limits = limits_of(agent)
    shelf = files.load_shelf(connection, actor, agent.id)
    file = _named(shelf.files, agent_id, file_id)
    if limits.max_files_open < 1:
        raise BadArgument(f"Agent {agent_id} may have no file open; raise its max_files_open first.")
    status, text = files.read_contents(connection, actor, [file_id]).get(file_id, ("error", None))
    if text is None:
        again = "it is being read; try again soon" if status in IN_WORK else "its text could not be read"
        raise Conflict(f"{file.name} cannot be opened: {again}.")
    now_open = opened(file, render_view(text, limits.per_file_view_window_char_limit), utc_now())
    standing = replaced(shelf.files, [now_open])
    evicted = [closed(each) for each in make_room(standing, limits.max_files_open, keep=[file_id])]
    files.save_files(connection, agent.id, [now_open, *evicted])
    files.touch_agent(connection, agent.id)
    return [each.name for each in evicted]


def close_file(connection: Connection, actor: Actor, agent_id: str, file_id: str) -> str:
    """The name of the file. Nothing changes if it is closed. Raises NotFound."""
    agent = repository.lock_agent(connection, actor, agent_id)
    file = _named(files.load_shelf(connection, actor, agent.id).files, agent_id, file_id)
    if file.is_open:
        files.save_files(connection, agent.id, [closed(file)])
        files.touch_agent(connection, agent.id)
    return file.name


def close_all(connection: Connection, actor: Actor, agent_id: str) -> list[str]:
    """The names of the files that were open. Raises NotFound."""
    agent = repository.lock_agent(connection, actor, agent_id)
    standing = [file for file in files.load_shelf(connection, actor, agent.id).files if file.is_open]
    if standing:
        files.save_files(connection, agent.id, [closed(file) for file in standing])
        files.touch_agent(connection, agent.id)
    return [file.name for file in standing]


def _open_first(connection: Connection, actor: Actor, agent: Agent, added: Sequence[AgentFile]) -> None:
    """Opens files that have come, as many as the agent may have open; others make room for them.

    Together they take at most half of its window: nobody chose them one by one.
    """
    limits = limits_of(agent)
    room = agent.llm_config.context_window // 2
    ready: list[AgentFile] = []
    moments = one_after_the_other(utc_now(), limits.max_files_open)
    for file in added:
        if len(ready) == limits.max_files_open:
            break
        if (text := _text_of(connection, actor, file)) is not None:
            view = render_view(text, limits.per_file_view_window_char_limit)
            room -= estimate_tokens(view.text)
            if room < 0:
                break
            ready.append(opened(file, view, moments[len(ready)]))
    if ready:
        standing = replaced(files.load_shelf(connection, actor, agent.id).files, ready)
        keep = [file.file_id for file in ready]
        evicted = [closed(each) for each in make_room(standing, limits.max_files_open, keep=keep)]
        files.save_files(connection, agent.id, [*ready, *evicted])


def _text_of(connection: Connection, actor: Actor, file: AgentFile) -> str | None:
    found = files.read_contents(connection, actor, [file.file_id]).get(file.file_id)
    return found[1] if found else None


def _fit_tools(connection: Connection, actor: Actor, agent: Agent, *, has_folders: bool) -> None:
    for tool in tools.find_by_names(connection, actor, FILE_TOOLS):
        if tool.tool_type == "letta_files_core":
            change = tools.attach_tool if has_folders else tools.detach_tool
            change(connection, actor, agent.id, tool.id)


def _named(found: Sequence[AgentFile], agent_id: str, file_id: str) -> AgentFile:
    file = next((each for each in found if each.file_id == file_id), None)
    if file is None:
        raise NotFound(f"Agent {agent_id} has no file {file_id}; attach its folder first.")
    return file
