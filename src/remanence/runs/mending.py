"""Going back in a history, and mending one: what changes a window from outside of a run."""

from datetime import timedelta

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.agents.compiling import recompile
from remanence.core.actor import Actor
from remanence.core.block import Block
from remanence.core.history import Finding, mend_history
from remanence.core.message import Message
from remanence.core.revision import user_author
from remanence.errors import NotFound
from remanence.kit.ids import MessageId, OrgId, new_message_id
from remanence.memory import repository as blocks
from remanence.memory.schemas import RevisionFilter
from remanence.messages import repository as messages
from remanence.runs import repository
from remanence.runs.service import Address


def rewind(
    connection: Connection, actor: Actor, address: Address, message_id: str, *, restores_blocks: bool = False
) -> tuple[list[MessageId], list[Block]]:
    """Lets the window end with this message, or before it where its calls would lack their returns.

    What is beyond stays in the database; what it wrote to memory is taken back if that is wished, and what
    others wrote stays. Returns the window, and the blocks that changed. Raises NotFound, AgentBusy while a
    run is at work, and EditConflict if somebody has changed the same lines since.
    """
    _hold(connection, actor, address.lane)
    window, _ = messages.load_window(connection, address.lane)
    kept = messages.window_until(connection, actor, address.agent_id, address.conversation_id, message_id)
    if kept is None:
        raise NotFound(f"Message {message_id} is not in the history of {address.lane}.")
    ids = [message.id for message in kept]
    beyond = [message for message in window if message.id not in ids]
    changed = _take_back(connection, actor, beyond) if restores_blocks else []
    messages.replace_context(connection, address.lane, ids)
    agents.bump_window(connection, address.lane)
    return ids, changed


def _take_back(connection: Connection, actor: Actor, beyond: list[Message]) -> list[Block]:
    """Undoes what these messages wrote to memory."""
    ids = {message.id for message in beyond}
    written = [
        revision
        for run_id in dict.fromkeys(message.run_id for message in beyond if message.run_id)
        for revision in blocks.find_revisions(connection, actor, RevisionFilter(run_id=run_id))
        if revision.author.message_id in ids
    ]
    standing = blocks.still_standing(connection, written)
    return blocks.undo_writes(connection, actor, standing, user_author(actor))


def examine(connection: Connection, address: Address) -> list[Finding]:
    """What a repair would mend."""
    window, _ = messages.load_window(connection, address.lane)
    return _missing_head(window) + mend_history(window).findings


def repair(connection: Connection, actor: Actor, address: Address) -> list[Finding]:
    """Stores the window as it is read: returns that were lost become messages of their own.

    Raises AgentBusy while a run is at work.
    """
    _hold(connection, actor, address.lane)
    window, _ = messages.load_window(connection, address.lane)
    mended = mend_history(window)
    if mended.findings:
        agent = agents.get_agent(connection, actor, address.agent_id)
        stored = _store_new(connection, agent.organization_id, address, window, mended.messages)
        messages.replace_context(connection, address.lane, [message.id for message in stored])
        agents.bump_window(connection, address.lane)
    headless = _missing_head(window)
    if headless:
        recompile(connection, actor, address.agent_id, address.conversation)
    return headless + mended.findings


def _missing_head(window: list[Message]) -> list[Finding]:
    if window and window[0].role == "system":
        return []
    return [Finding(None, "no_system_message", "compiled_anew")]


def _hold(connection: Connection, actor: Actor, lane: str) -> None:
    """Keeps runs from this history until the transaction is over."""
    if not repository.lock_idle_lane(connection, lane, by_force=False):
        open_runs = repository.list_open_runs(connection, actor, lane)
        raise repository.busy(lane, open_runs[0] if open_runs else None)


def _store_new(
    connection: Connection,
    organization_id: OrgId,
    address: Address,
    window: list[Message],
    mended: list[Message],
) -> list[Message]:
    """Gives what is not as it was an id of its own: rows may be shared with other conversations."""
    known = {id(message) for message in window}
    stored: list[Message] = []
    for message in mended:
        if id(message) in known:
            stored.append(message)
            continue
        before = stored[-1].created_at if stored else message.created_at
        fresh = {
            "id": new_message_id(),
            "created_at": before + timedelta(microseconds=1),
            "conversation_id": address.conversation_id,
        }
        stored.append(message.model_copy(update=fresh))
    added = [message for message in stored if id(message) not in known]
    messages.insert_messages(connection, organization_id, added)
    return stored
