"""What a step leaves behind: its messages in the form they are stored, and its record."""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from remanence.core.agent import AgentState, StopReason
from remanence.core.llm import LLMConfig
from remanence.core.message import Approval, Message, Role, ToolReturn, text_parts
from remanence.core.notes import note_of
from remanence.core.packing import pack_alert, pack_heartbeat, pack_pressure_alert, pack_tool_return
from remanence.core.profile import ReplyStyle
from remanence.core.reply import Reply
from remanence.core.rules import Continue, Stop
from remanence.core.run import Step as StepOfRecord
from remanence.errors import AppError, BadReply, ContextOverflow, ProviderCredits, ProviderError
from remanence.kit.clock import later_than
from remanence.kit.ids import MessageId, StepId, new_message_id
from remanence.runs.acting import Acted, Outcome, stored_calls, with_thoughts
from remanence.runs.plan import RunPlan
from remanence.runs.step import Step


class Keeper:
    def __init__(self, run: RunPlan, style: ReplyStyle) -> None:
        self._run = run
        self._style: ReplyStyle = style

    def step_messages(
        self,
        state: AgentState,
        step: Step,
        acted: Acted,
        verdict: Continue | Stop,
        *,
        warns_of: int | None = None,
    ) -> tuple[Message, ...]:
        """The model's message, the returns of its calls, and notices: why it goes on, how little room is left."""
        said = self._message(
            state,
            "assistant",
            step.at,
            step.id,
            id=step.message_id,
            content=self._shown(step).content,
            tool_calls=stored_calls(step.calls, self._style, goes_on=isinstance(verdict, Continue)),
            model=_config_of(step).model,
        )
        messages = [said, *self._after(state, step.id, said.created_at, acted, verdict)]
        if warns_of is not None:
            at = later_than(messages[-1].created_at)
            window = step.request.config.context_window
            alert = pack_pressure_alert(warns_of, window, at=at, timezone=state.agent.timezone)
            messages.append(self._message(state, "user", at, step.id, content=text_parts(alert)))
        return tuple(messages)

    def memory_notes(self, state: AgentState, inputs: Sequence[Message]) -> tuple[Message, ...]:
        """What others did to the agent's memory and files, to be told before what is said to it now."""
        note = note_of(state)
        if note is None:
            return ()
        at = inputs[0].created_at - timedelta(microseconds=1) if inputs else later_than(state.last_message_at)
        text = pack_alert(note, at=at, timezone=state.agent.timezone)
        return (self._message(state, "user", at, None, content=text_parts(text)),)

    def request_messages(self, state: AgentState, step: Step, id: MessageId) -> tuple[Message, ...]:
        """The model's message as a request that waits for an answer."""
        asked = self._message(
            state,
            "approval",
            step.at,
            step.id,
            id=id,
            content=self._shown(step).content,
            tool_calls=stored_calls(step.calls, self._style, goes_on=None),
            model=_config_of(step).model,
        )
        return (asked,)

    def answer_messages(
        self,
        state: AgentState,
        request: Message,
        items: Sequence[Approval | ToolReturn],
        otid: str | None,
        acted: Acted,
        verdict: Continue | Stop,
    ) -> tuple[Message, ...]:
        """The answer itself, and the returns that it led to, as part of the step that asked."""
        at = later_than(state.last_message_at)
        answered = self._message(state, "approval", at, None, approvals=tuple(items), otid=otid)
        assert request.step_id is not None
        return (answered, *self._after(state, request.step_id, at, acted, verdict))

    def step_record(
        self, state: AgentState, step: Step, acted: Acted, stop_reason: StopReason | None
    ) -> StepOfRecord:
        reply = step.reply
        return self._bare(state, step).model_copy(
            update={
                "status": "cancelled" if stop_reason == "cancelled" else "success",
                "stop_reason": stop_reason,
                "usage": reply.usage.plus(step.spent) if reply else None,
                "request_id": reply.request_id if reply else None,
                "llm_request_ns": step.llm_ns,
                "first_token_ns": step.waited_ns,
                "tool_execution_ns": acted.ran_ns,
            }
        )

    def failed_step(self, state: AgentState, step: Step, reason: StopReason, error: AppError) -> StepOfRecord:
        return self._bare(state, step).model_copy(
            update={
                "status": "failed",
                "stop_reason": reason,
                "error_type": type(error).__name__,
                "error_data": {"code": error.code, "message": error.message},
            }
        )

    def _after(
        self,
        state: AgentState,
        step_id: StepId,
        previous: datetime,
        acted: Acted,
        verdict: Continue | Stop,
    ) -> list[Message]:
        zone = state.agent.timezone
        messages: list[Message] = []
        if acted.outcomes:
            previous = later_than(previous)
            returns = tuple(_tool_return(outcome, previous, zone) for outcome in acted.outcomes)
            messages.append(self._message(state, "tool", previous, step_id, tool_returns=returns))
        if isinstance(verdict, Continue) and verdict.reason is not None:
            at = later_than(previous)
            notice = pack_heartbeat(verdict.reason, at=at, timezone=zone)
            messages.append(self._message(state, "user", at, step_id, content=text_parts(notice)))
        return messages

    def _shown(self, step: Step) -> Reply:
        assert step.reply is not None
        return with_thoughts(step.reply, step.calls) if self._style == "heartbeat" else step.reply

    def _message(
        self, state: AgentState, role: Role, at: datetime, step_id: StepId | None, **fields: Any
    ) -> Message:
        # Every value here is of our own making, so nothing needs to be validated again.
        values: dict[str, Any] = {
            "id": new_message_id(),
            "agent_id": state.agent.id,
            "role": role,
            "created_at": at,
            "conversation_id": state.conversation_id,
            "run_id": self._run.run.id,
            "step_id": step_id,
        }
        group_id = self._run.run.group_id
        if group_id is not None and role != "user":  # what others said is marked where it was said
            values |= {"group_id": group_id, "sender_id": state.agent.id}
        return Message.model_construct(None, **values | fields)

    def _bare(self, state: AgentState, step: Step) -> StepOfRecord:
        config = _config_of(step)
        return StepOfRecord(
            id=step.id,
            organization_id=self._run.run.organization_id,
            run_id=self._run.run.id,
            agent_id=state.agent.id,
            created_at=step.at,
            provider_name=config.provider_name or config.model_endpoint_type,
            provider_category=config.provider_category,
            model=config.model,
            model_handle=config.handle,
            model_endpoint=config.model_endpoint,
            context_window_limit=config.context_window,
            project_id=state.agent.project_id,
            step_ns=time.perf_counter_ns() - step.started_ns,
        )


def _config_of(step: "Step") -> LLMConfig:
    """Of the model that answered, which may be one that stepped in."""
    told = step.reply.answered_by if step.reply else None
    tape = step.request.tape  # an answer that was cut short tells nothing
    return told or (tape.answered_by if tape else None) or step.request.config


def _tool_return(outcome: Outcome, at: datetime, zone: str) -> ToolReturn:
    result = outcome.result
    status = "success" if result.succeeded else "error"
    return ToolReturn(
        tool_call_id=outcome.call.id,
        name=outcome.call.name,
        status=status,
        content=result.parts or pack_tool_return(result.text, status=status, at=at, timezone=zone),
        stdout=result.stdout,
        stderr=result.stderr,
    )


def stamped_after(inputs: tuple[Message, ...], moment: datetime) -> tuple[Message, ...]:
    """What is said to the agent once an answer has had its effect, and so stands behind it."""
    stamped: list[Message] = []
    for message in inputs:
        moment = later_than(moment)
        stamped.append(message.model_copy(update={"created_at": moment}))
    return tuple(stamped)


def reason_of(error: ProviderError) -> StopReason:
    match error:
        case ContextOverflow():
            return "context_window_overflow_in_system_prompt"
        case ProviderCredits():
            return "insufficient_credits"
        case BadReply():
            return "invalid_llm_response"
        case _:
            return "llm_api_error"
