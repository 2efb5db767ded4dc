"""How a run comes to be on record: made of what was asked, waiting for its turn."""

from datetime import timedelta

from sqlalchemy import Connection

from remanence.core.actor import Actor
from remanence.core.run import Run
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId, ConversationId, RunId, new_run_id, new_step_id
from remanence.kit.json import JsonObject
from remanence.kit.worker import this_worker
from remanence.messages import repository as messages
from remanence.messages.sending import SendRequest, to_messages
from remanence.runs import repository
from remanence.runs.plan import AlreadyStarted
from remanence.runs.repository import HeldRun


def new_run(
    actor: Actor,
    agent_id: AgentId,
    metadata: JsonObject,
    request: SendRequest | None = None,
    conversation_id: ConversationId | None = None,
) -> Run:
    run = Run(
        id=new_run_id(),
        organization_id=actor.organization_id,
        agent_id=agent_id,
        conversation_id=conversation_id,
        status="created",
        created_at=utc_now(),
        metadata=metadata,
    )
    if request is None:
        return run
    shown = {
        "use_assistant_message": request.use_assistant_message,
        "assistant_message_tool_name": request.assistant_message_tool_name,
        "assistant_message_tool_kwarg": request.assistant_message_tool_kwarg,
        "include_return_message_types": request.include_return_message_types,
    }
    asked = {
        "background": request.background,
        "callback_url": request.callback_url,
        "request_config": shown,
    }
    return run.model_copy(update=asked)


def record_run(
    connection: Connection,
    actor: Actor,
    agent_id: AgentId,
    request: SendRequest,
    metadata: JsonObject,
    *,
    run_id: RunId | None = None,
) -> HeldRun:
    """Puts a background run on record in the transaction that gives rise to it: both happen, or neither.

    The supervisor takes it up afterwards; should this process die first, another does. Images must be in
    the request already. Raises AlreadyStarted for message ids that were sent before.
    """
    request = request.model_copy(update={"background": True})
    run = new_run(actor, agent_id, metadata, request)
    # A moment later, so that it never sorts before the turn that it follows.
    later = {"created_at": run.created_at + timedelta(microseconds=1), "id": run_id or run.id}
    run = run.model_copy(update=later)
    repository.enqueue(connection, run, this_worker(), request.kept() | {"user_id": actor.user_id})
    known = repository.claim_otids(connection, run, request.otids())
    if known is not None:
        raise AlreadyStarted(known)
    inputs = to_messages(
        request.inputs(),
        agent_id=agent_id,
        conversation_id=None,
        run_id=run.id,
        step_id=new_step_id(),
        start=run.created_at,
    )
    messages.insert_messages(connection, actor.organization_id, inputs)
    return HeldRun(
        run.id,
        this_worker(),
        has_lapsed=False,
        is_open=True,
        was_cancelled=False,
        is_background=True,
        is_carried_on=True,
    )
