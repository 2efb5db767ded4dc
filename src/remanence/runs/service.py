"""Sending a message: who is spoken to, with what, and in whose turn."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.agents.compaction_settings import merge_settings
from remanence.agents.conversations.repository import get_conversation
from remanence.agents.model_settings import apply_model_settings
from remanence.agents.schemas import CompactionInput
from remanence.agents.state import StateStore, load_state
from remanence.core.actor import Actor
from remanence.core.agent import Agent, AgentState, StopReason
from remanence.core.budget import ContextLimits
from remanence.core.conversation import Conversation
from remanence.core.event import Event, RunFinished, RunUsage
from remanence.core.journal import Journal
from remanence.core.llm import LLMConfig
from remanence.core.message import Message
from remanence.core.packing import unpack_tool_return
from remanence.core.profile import profile_of
from remanence.core.rules import CallRecord
from remanence.core.run import Run
from remanence.core.tokenizer import TokenFactors
from remanence.db.database import Database
from remanence.errors import Conflict, Invalid
from remanence.kit.ids import DEFAULT_USER_ID, AgentId, ConversationId, RunId, UserId, new_step_id
from remanence.kit.json import JsonObject
from remanence.kit.worker import this_worker
from remanence.llm.catalogue import Catalogue
from remanence.llm.registry import AdapterRegistry
from remanence.messages import repository as messages
from remanence.messages.images import ImageFetcher
from remanence.messages.schemas import View
from remanence.messages.sending import SendRequest, to_messages
from remanence.runs import repository
from remanence.runs.attempt import LeaseAttempt
from remanence.runs.beginning import new_run
from remanence.runs.checkpoint import Checkpoint
from remanence.runs.compaction import Compacted, compact_now
from remanence.runs.loop import run_agent
from remanence.runs.plan import CompactionRecord, LoopDoors, RunPlan, Saved, StepRecord
from remanence.runs.replay import total_usage
from remanence.runs.spending.service import Spending
from remanence.runs.supervisor import Channel, Supervisor
from remanence.runs.turn import Turn
from remanence.runs.withdrawing import AtWork, withdraw_request
from remanence.tools.executor import ToolExecutor

_LET_GO_S = 2.0
"""How long a cancelled run, perhaps of another process, has to put its tools down."""
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Address:
    """Who is spoken to: an agent, in its own history or in a conversation."""

    agent_id: str
    conversation: Conversation | None = None
    is_patient: bool = True

    @property
    def conversation_id(self) -> ConversationId | None:
        return self.conversation.id if self.conversation else None

    @property
    def lane(self) -> str:
        return self.conversation_id or self.agent_id


@dataclass(frozen=True, slots=True)
class Sent:
    """A run on its way: what it says, and how this client sees it."""

    run: Run
    view: View
    channel: Channel
    task: "asyncio.Task[None]"


@dataclass(frozen=True, slots=True)
class Revived:
    """A run taken over from a dead process."""

    sent: Sent
    request: SendRequest
    actor: Actor
    stored: tuple[Message, ...]
    """What it had saved before."""


class RunService:
    def __init__(
        self,
        db: Database,
        states: StateStore,
        catalogue: Catalogue,
        adapters: AdapterRegistry,
        executor: ToolExecutor,
        checkpoint: Checkpoint,
        supervisor: Supervisor,
        images: ImageFetcher,
        spending: Spending,
        *,
        limits: ContextLimits,
        approval_expiry_s: float | None = None,
    ) -> None:
        self._approval_expiry_s = approval_expiry_s
        self._db = db
        self._states = states
        self._catalogue = catalogue
        self._adapters = adapters
        self._supervisor = supervisor
        self._images = images
        self._spending = spending
        self._executor = executor
        self._checkpoint = checkpoint
        self._limits = limits
        self._factors = TokenFactors()

    async def send(
        self,
        actor: Actor,
        address: Address,
        request: SendRequest,
        *,
        run_type: str,
        senders: tuple[str, ...] = (),
        group_id: str | None = None,
    ) -> Sent:
        """Starts a run as soon as its turn comes. `group_id`: what is said belongs to a group's conversation.

        Raises NotFound, Invalid, BadArgument, and AlreadyStarted for message ids that were sent before.
        """
        agent = self._states.find_agent(actor, address.agent_id) or await self._db.read(
            agents.get_agent, actor, address.agent_id
        )
        told: JsonObject = {"senders": list(senders)} if senders else {}
        told |= {"group": {"id": group_id}} if group_id else {}
        plan = await self._plan(actor, address, agent, request, {"run_type": run_type} | told)
        return await self._launch(plan, agent, request, is_recorded=False)

    async def _plan(
        self,
        actor: Actor,
        address: Address,
        agent: Agent,
        request: SendRequest,
        told: JsonObject,
    ) -> RunPlan:
        inputs = request.inputs()
        answer = request.answer()
        if not inputs and answer is None:
            raise Invalid("`messages` is empty: say something to the agent.")
        override = await self._override(agent, address.conversation, request)
        inputs = await self._images.embed(inputs)
        run = new_run(actor, agent.id, told, request, address.conversation_id)
        step_id = new_step_id()
        return RunPlan(
            actor=actor,
            run=run,
            inputs=to_messages(
                inputs,
                agent_id=agent.id,
                conversation_id=address.conversation_id,
                run_id=run.id,
                step_id=step_id,
                start=run.created_at,
            ),
            first_step_id=step_id,
            max_steps=request.max_steps,
            is_patient=address.is_patient,
            answer=answer,
            client_tools=request.client_specs(),
            override_config=override,
            override_system=request.override_system,
            skills=request.skills(),
            otids=request.otids(),
            approval_expiry_s=self._approval_expiry_s,
            request=request.kept() | {"user_id": actor.user_id} if request.background else None,
        )

    async def carry_on(self, found: repository.HeldRun) -> Revived | None:
        """Takes a run over whose process died, from its last step on.

        One in the foreground has nobody left to talk to: only what it had begun is put on record.
        """
        claim = await self._db.write(repository.claim_run, found, this_worker())
        if claim is None:
            return None
        run = claim.run
        actor, request = who_asked(claim)
        agent, done = await self._db.read(_what_is_done, actor, run)
        answer = request.answer() or (done.journal.answer if done.journal else None)
        plan = RunPlan(
            actor=actor,
            run=run,
            inputs=done.unsaved,
            first_step_id=(done.unsaved[0].step_id if done.unsaved else None) or new_step_id(),
            max_steps=request.max_steps,
            answer=answer if done.usage.step_count == 0 and not done.calls else None,
            client_tools=request.client_specs(),
            override_config=await self._override(agent, done.conversation, request),
            override_system=request.override_system,
            skills=request.skills(),
            earlier_calls=done.calls,
            earlier_steps=done.usage.step_count,
            earlier_usage=done.usage,
            is_resumed=run.status == "running",
            journal=done.journal,
            ended=done.ended,
            is_over=not run.background,
            request=claim.request,
            approval_expiry_s=self._approval_expiry_s,
        )
        sent = await self._launch(plan, agent, request, is_recorded=True)
        return Revived(sent, request, actor, done.messages)

    async def _launch(self, plan: RunPlan, agent: Agent, request: SendRequest, *, is_recorded: bool) -> Sent:
        attempt = LeaseAttempt(self._db, plan, is_recorded=is_recorded)

        def loop() -> AsyncIterator[Event]:
            return run_agent(replace(plan, inputs=attempt.inputs), self._doors(attempt))

        channel, task = await self._supervisor.launch(plan, attempt, loop)
        return Sent(plan.run, view_of(agent, request, plan.run), channel, task)

    async def compact(self, actor: Actor, address: Address, given: CompactionInput | None) -> Compacted:
        """Makes room in a window, in its turn, as a run that does nothing else. Raises what a send raises."""
        agent = await self._db.read(agents.get_agent, actor, address.agent_id)
        run = new_run(actor, agent.id, {"run_type": "compaction"}, conversation_id=address.conversation_id)
        override = await self._other_config(agent, address.conversation, None)
        settings = agent.compaction_settings
        if given is not None:
            settings = merge_settings(settings, given, agent.llm_config)
        plan = RunPlan(actor, run, (), new_step_id(), max_steps=0, override_config=override)
        attempt = LeaseAttempt(self._db, plan)
        done: list[Compacted] = []

        def loop() -> AsyncIterator[Event]:
            return compact_now(plan, self._doors(attempt), settings, done)

        channel, _ = await self._supervisor.launch(plan, attempt, loop)
        while True:
            for event in await channel.next_batch():
                if isinstance(event, RunFinished):
                    if event.error is not None or not done:
                        raise event.error or Conflict("The compaction was cancelled.")
                    return done[0]

    async def preview(self, actor: Actor, address: Address, request: SendRequest) -> JsonObject:
        """The request that the model would receive; nothing is stored and nobody is asked."""
        state = await self._db.read(load_state, actor, AgentId(address.agent_id), address.conversation_id, 0)
        plan = await self._plan(actor, address, state.agent, request, {"run_type": "preview"})
        turn = Turn(plan, self._doors(LeaseAttempt(self._db, plan, is_recorded=False)), state)
        asked = turn.start_step().request
        adapter = await self._adapters.find_adapter(asked.config, actor.organization_id)
        return adapter.payload(asked)

    async def cancel(self, actor: Actor, lane: str, run_ids: Sequence[str] | None) -> dict[str, str]:
        """What became of each run: "cancelled", or "failed" for one that nobody knows.

        Without ids all open runs of this history are meant, and a request that waits for an answer.
        Raises Conflict if there is nothing to cancel.
        """
        asked: Sequence[str] = run_ids or await self._db.read(repository.list_open_runs, actor, lane)
        outcome: dict[str, str] = {}
        for run_id in asked:
            was_open = await self._db.write(repository.cancel_run, actor, lane, run_id)
            outcome[run_id] = "failed" if was_open is None else "cancelled"
            if was_open:
                self._supervisor.cancel(RunId(run_id))
        request = await self._withdraw(actor, lane, run_ids)
        if request is not None and request.run_id is not None:
            outcome.setdefault(request.run_id, "cancelled")
        if not outcome:
            raise Conflict("Nothing is running here that could be cancelled.")
        return outcome

    async def _withdraw(self, actor: Actor, lane: str, run_ids: Sequence[str] | None) -> Message | None:
        """Takes an open request back, once those who were at work have let go or had time to."""
        deadline = time.monotonic() + _LET_GO_S
        while True:
            is_late = time.monotonic() > deadline
            try:
                return await self._db.write(withdraw_request, actor, lane, run_ids, by_force=is_late)
            except AtWork:
                if is_late:
                    return None  # somebody is answering it
            await asyncio.sleep(_LOOK_S)

    async def _override(
        self, agent: Agent, conversation: Conversation | None, request: SendRequest
    ) -> LLMConfig | None:
        """The model where it is not the agent's own: the request's choice, then the conversation's.

        The agent's window and habits are kept, unless the conversation has a limit of its own.
        """
        config = await self._other_config(agent, conversation, request.override_model)
        if not request.return_logprobs and not request.return_token_ids:
            return config
        return (config or agent.llm_config).model_copy(
            update={
                "return_logprobs": request.return_logprobs,
                "top_logprobs": request.top_logprobs,
                "return_token_ids": request.return_token_ids,
            }
        )

    async def _other_config(
        self, agent: Agent, conversation: Conversation | None, asked: str | None
    ) -> LLMConfig | None:
        handle = asked or (conversation.model if conversation else None)
        settings = conversation.model_settings if conversation and not asked else None
        limit = conversation.context_window_limit if conversation else None
        if handle is None and settings is None and limit is None:
            return None
        config = agent.llm_config
        if handle:
            config = await self._catalogue.resolve_llm(handle, agent.organization_id)
        config = config.model_copy(
            update={
                "context_window": limit or agent.llm_config.context_window,
                "put_inner_thoughts_in_kwargs": agent.llm_config.put_inner_thoughts_in_kwargs,
            }
        )
        return apply_model_settings(config, settings) if settings else config

    def _doors(self, attempt: LeaseAttempt) -> LoopDoors:
        organization_id = attempt.organization_id
        may_spend = partial(self._spending.check, organization_id, attempt.agent_id)

        async def load(plan: RunPlan) -> AgentState:
            return await self._states.load(
                plan.actor, plan.run.agent_id, plan.run.conversation_id, attempt.versions
            )

        async def checkpoint(plan: RunPlan, state: AgentState, record: StepRecord) -> Saved:
            return await self._checkpoint.save(plan, state, record, fence=attempt.fence)

        async def journal(plan: RunPlan, entry: Journal) -> None:
            await self._checkpoint.journal(plan, entry, fence=attempt.fence)

        async def compact(plan: RunPlan, state: AgentState, record: CompactionRecord) -> AgentState:
            return await self._checkpoint.compact(plan, state, record, fence=attempt.fence)

        return LoopDoors(
            load=load,
            journal=journal,
            reload=self._checkpoint.reload,
            stream=partial(self._adapters.stream, organization_id=organization_id, may_spend=may_spend),
            execute=self._executor.execute,
            checkpoint=checkpoint,
            fail=self._checkpoint.fail,
            close=self._checkpoint.abandon,
            resolve=self._catalogue.resolve_llm,
            compact=compact,
            limits=self._limits,
            factors=self._factors,
        )


@dataclass(frozen=True, slots=True)
class _Done:
    """How far a run had come when its process died."""

    unsaved: tuple[Message, ...]
    calls: tuple[CallRecord, ...]
    usage: RunUsage
    messages: tuple[Message, ...]
    conversation: Conversation | None
    journal: Journal | None
    ended: StopReason | None


def _what_is_done(connection: Connection, actor: Actor, run: Run) -> tuple[Agent, _Done]:
    agent = agents.get_agent(connection, actor, run.agent_id)
    window = set(messages.context_ids(connection, [run.lane])[run.lane])
    stored = messages.list_run_messages(connection, run.id)
    calls = tuple(
        CallRecord(each.name, unpack_tool_return(each.content) if isinstance(each.content, str) else "")
        for message in stored
        for each in message.tool_returns
    )
    usage = total_usage(connection, run.id)
    # The first step takes the inputs in; what has left the window since then was heard.
    unsaved = () if usage.step_count else tuple(each for each in stored if each.id not in window)
    conversation = get_conversation(connection, actor, run.conversation_id) if run.conversation_id else None
    journal = repository.find_journal(connection, run.id)
    ended = repository.find_last_word(connection, run.id)
    return agent, _Done(unsaved, calls, usage, tuple(stored), conversation, journal, ended)


def who_asked(claim: repository.Claim) -> tuple[Actor, SendRequest]:
    """Of a run taken over: its user, and the request without the messages, which are stored."""
    user_id = UserId(claim.request.get("user_id", DEFAULT_USER_ID))
    actor = Actor(user_id=user_id, organization_id=claim.run.organization_id)
    return actor, SendRequest.model_validate(claim.request or {"messages": []})


def view_of(agent: Agent, request: SendRequest, run: Run) -> View:
    is_in_group = run.group_id is not None
    return View(
        reply=profile_of(agent.agent_type).reply,
        use_assistant_message=request.use_assistant_message,
        speaking_tool=request.assistant_message_tool_name,
        speaking_argument=request.assistant_message_tool_kwarg,
        shows_compaction=request.include_compaction_messages,
        sender_id=agent.id if is_in_group else None,
        sender_name=agent.name if is_in_group else None,
    )
