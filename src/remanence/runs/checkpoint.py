"""Saves a step: all of it in one transaction, provided the lease is still ours."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from remanence.agents.compiling import compile_for
from remanence.agents.conversations.repository import get_conversation, note_told
from remanence.agents.groups.repository import groups_of_member
from remanence.agents.state import StateStore, Versions
from remanence.archives import repository as archives
from remanence.core.agent import Agent, AgentState, StopReason
from remanence.core.block import apply_edit, block_edits
from remanence.core.helper import CAPTURE_MARK
from remanence.core.history import is_well_formed
from remanence.core.journal import Journal
from remanence.core.llm import InContext, Tape
from remanence.core.message import Message, pending_request, text_parts
from remanence.core.open_files import FileSet, apply_file_edit
from remanence.core.passage import PassageAdded
from remanence.core.profile import profile_of
from remanence.core.revision import Author, AuthorKind
from remanence.core.run import Step, is_turn_over
from remanence.db.database import Database
from remanence.errors import AppError, LeaseLost
from remanence.files import repository as files
from remanence.kit.worker import this_worker
from remanence.memory import repository as blocks
from remanence.messages import repository as messages
from remanence.runs import repository
from remanence.runs.following import Followers, record_follow_up
from remanence.runs.plan import (
    CompactionRecord,
    RunCancelled,
    RunPlan,
    Saved,
    StaleMemory,
    StaleWindow,
    StepRecord,
)
from remanence.runs.repository import HeldRun
from remanence.runs.traces import TraceMode
from remanence.search.messages import message_documents
from remanence.search.ports import SearchIndex
from remanence.tools.executor import ToolResult


class Checkpoint:
    def __init__(
        self, db: Database, states: StateStore, index: SearchIndex, *, traces: TraceMode = "errors"
    ) -> None:
        self._traces = traces
        self._db = db
        self._states = states
        self._index = index
        self.followers: Sequence[Followers] = ()
        """Set by whoever knows what the turns of agents bring about."""
        self.take_up: Callable[[HeldRun], None] | None = None
        """Set by the one who begins it."""

    async def save(self, run: RunPlan, state: AgentState, record: StepRecord, *, fence: int) -> Saved:
        """The state after the step. Raises LeaseLost and RunCancelled, and then nothing was saved."""
        added = (*record.notes, *record.inputs, *record.messages)
        asked = pending_request([each.message for each in state.window[-1:]])
        whole = (asked, *added) if asked is not None else added
        assert is_well_formed(whole), "a step must leave each tool call with its return"
        began_ns = time.perf_counter_ns()
        window_version, agent_version, followed_by = await self._db.write(
            self._write, run, state, record, fence, began_ns
        )
        for found in followed_by:
            if self.take_up is not None:
                self.take_up(found)
        after = state.with_messages(*added)
        for edit in record.edits:
            shelf = replace(after.shelf, files=apply_file_edit(after.shelf.files, edit))
            after = replace(after, blocks=apply_edit(after.blocks, edit), shelf=shelf)
        is_changed = any(not isinstance(edit, PassageAdded) for edit in record.edits)
        expected = state.agent_version + (1 if is_changed else 0)
        after = replace(after, agent_version=agent_version or expected, window_version=window_version)
        is_untold = bool(state.changes or state.file_changes) and not record.notes
        after = replace(after, changes=(), file_changes=())
        if agent_version != expected or window_version != state.window_version + 1 or is_untold:
            # Somebody changed the agent or its window meanwhile: the next step must see that.
            self._states.forget(state.lane)
            if record.stop_reason is None or record.makes_room:
                versions = Versions(after.agent_version, after.window_version)
                after = await self._states.load(run.actor, state.agent.id, state.conversation_id, versions)
        else:
            self._states.keep(after)
        return Saved(after, tuple(found.id for found in followed_by))

    def _write(
        self,
        connection: Connection,
        run: RunPlan,
        state: AgentState,
        record: StepRecord,
        fence: int,
        began_ns: int,
    ) -> tuple[int, int | None, list[HeldRun]]:
        is_last = record.stop_reason is not None and not record.makes_room
        is_changed = any(not isinstance(edit, PassageAdded) for edit in record.edits)
        if (
            is_changed
            and repository.agent_version(connection, state.agent.id, locks=True) != state.agent_version
        ):
            raise StaleMemory
        version = repository.advance_lease(connection, state.lane, run.run.id, fence, is_last=is_last)
        if version is None:
            raise LeaseLost("Another process took this conversation over; nothing of this step was saved.")
        # Whoever cancels withdraws an open request, and must not miss this one by a moment.
        if record.stop_reason == "requires_approval" and repository.list_cancelled(connection, [run.run.id]):
            raise RunCancelled
        organization_id = run.run.organization_id
        messages.insert_messages(connection, organization_id, (*record.notes, *record.messages))
        added = (*record.notes, *record.inputs, *record.messages)
        position = state.next_position
        if record.replaces_window:
            messages.replace_context(connection, state.lane, [each.message.id for each in state.window])
            position = len(state.window)
        elif version != state.window_version + 1:
            position = messages.next_position(connection, state.lane)
        messages.append_context(connection, state.lane, position, [message.id for message in added])
        self._index.index(connection, message_documents(added, organization_id))
        agent_version: int | None = None
        if record.edits or record.told is not None:
            self._save_memory(connection, run, state, record)
        if record.step is not None:
            # All but the commit itself, which nobody can write down before it is over.
            spent_ns = time.perf_counter_ns() - began_ns
            repository.insert_step(connection, record.step, database_ns=spent_ns)
            if record.tape is not None and self._traces == "all":
                repository.insert_trace(connection, record.step, record.tape)
        if record.strikes_journal:
            repository.strike_journal(connection, run.run.id)
        messages.restamp(connection, record.postponed)
        if record.postponed and is_last:
            messages.mark_failed(connection, run.run.id)
        if record.stop_reason is not None and is_last:
            agent_version = repository.finish_run(
                connection,
                run.run,
                record.stop_reason,
                ttft_ns=record.ttft_ns,
                duration_ns=record.duration_ns,
                tools_used=record.tools_used,
            )
        else:
            agent_version = repository.agent_version(connection, state.agent.id)
        return version, agent_version, self._follow(connection, run, state, record)

    async def compact(
        self, run: RunPlan, state: AgentState, record: CompactionRecord, *, fence: int
    ) -> AgentState:
        """The state with its new window. Raises LeaseLost and StaleWindow, and then nothing was saved."""
        window_version, agent_version, head = await self._db.write(
            self._write_compaction, run, state, record, fence
        )
        window = (InContext(head), *record.window[1:]) if head is not None else record.window
        after = replace(
            state,
            window=window,
            next_position=len(window),
            window_version=window_version,
            changes=(),
            file_changes=(),
            last_message_at=record.summary.created_at if record.summary else state.last_message_at,
        )
        if agent_version == state.agent_version:
            self._states.keep(after)
            return after
        self._states.forget(state.lane)
        if record.ending is not None or agent_version is None:
            return after
        versions = Versions(agent_version, window_version)
        fresh = await self._states.load(run.actor, state.agent.id, state.conversation_id, versions)
        return replace(fresh, token_ratio=state.token_ratio)

    def _write_compaction(
        self, connection: Connection, run: RunPlan, state: AgentState, record: CompactionRecord, fence: int
    ) -> tuple[int, int | None, Message | None]:
        ending = record.ending
        version = repository.advance_lease(
            connection, state.lane, run.run.id, fence, is_last=ending is not None
        )
        if version is None:
            raise LeaseLost("Another process took this conversation over; its window was left as it is.")
        if version != state.window_version + 1:
            raise StaleWindow
        if record.summary is not None:
            messages.insert_messages(connection, run.run.organization_id, [record.summary])
        messages.replace_context(connection, state.lane, [each.message.id for each in record.window])
        head = record.window[0].message if record.window else None
        if head is not None and head.role == "system":
            conversation = None
            if state.conversation_id is not None:
                conversation = get_conversation(connection, run.actor, state.conversation_id)
            text = compile_for(connection, run.actor, state.agent.id, conversation)
            messages.set_text(connection, head.id, text)
            note_told(connection, state.lane, None)
            head = head.model_copy(update={"content": text_parts(text)})
        if record.step is not None:
            repository.insert_step(connection, record.step)
        if record.paid_by is not None:
            repository.add_usage(connection, record.paid_by, record.usage)
        if ending is None:
            return version, repository.agent_version(connection, state.agent.id), head
        agent_version = repository.finish_run(
            connection,
            run.run,
            ending.stop_reason,
            ttft_ns=ending.ttft_ns,
            duration_ns=ending.duration_ns,
            tools_used=ending.tools_used,
        )
        return version, agent_version, head

    async def journal(self, run: RunPlan, journal: Journal, *, fence: int) -> None:
        """Raises LeaseLost: then somebody else has the run, and may be doing the same."""

        def write(connection: Connection) -> None:
            if not repository.holds_lease(connection, run.run.lane, run.run.id, fence):
                raise LeaseLost("Another process took this conversation over; the call was not made.")
            repository.put_journal(connection, run.run.id, journal)

        await self._db.write(write)

    def _follow(
        self, connection: Connection, run: RunPlan, state: AgentState, record: StepRecord
    ) -> list[HeldRun]:
        """Puts on record what the end of a turn brings about."""
        if record.stop_reason is None or not is_turn_over(record.stop_reason):
            return []
        until = record.messages[-1].created_at
        found = [
            each for follower in self.followers for each in follower.after_turn(connection, run, state, until)
        ]
        return [record_follow_up(connection, run.actor, each) for each in found]

    def _save_memory(
        self, connection: Connection, run: RunPlan, state: AgentState, record: StepRecord
    ) -> None:
        """Raises StaleMemory if an edit cannot be saved."""
        if record.told is not None:
            note_told(connection, state.lane, record.told)
        calling = [message for message in record.messages if message.tool_calls]
        calling = calling or [each.message for each in state.window[-1:]]  # an answer: it was asked before
        author = Author(
            kind=_author_kind(state.agent),
            id=state.agent.id,
            run_id=run.run.id,
            message_id=calling[0].id if calling else None,
        )
        try:
            blocks.apply_edits(
                connection,
                run.actor,
                state.agent.id,
                block_edits(record.edits),
                author,
                state.conversation_id,
            )
        except blocks.EditRefused as refusal:
            failed = ToolResult(f"Nothing was changed: {refusal.reason}", succeeded=False)
            raise StaleMemory({refusal.edit.call_id or "": failed}) from None
        opened = [edit.file for edit in record.edits if isinstance(edit, FileSet)]
        if opened:
            files.save_files(connection, state.agent.id, opened)
            if not block_edits(record.edits):
                files.touch_agent(connection, state.agent.id)
        owner = state.agent.id
        keeps_for_another = profile_of(state.agent.agent_type).archives_for_manager
        if author.kind == "capture" or keeps_for_another:
            found = groups_of_member(connection, run.actor, owner)
            owner = next((group.manager_agent_id for group in found if group.manager_agent_id), owner)
        for edit in record.edits:
            if isinstance(edit, PassageAdded):
                by = author.model_copy(update={"tool": edit.tool})
                archives.add_for_agent(connection, self._index, run.actor, owner, edit, by)

    async def reload(self, run: RunPlan, state: AgentState) -> AgentState:
        """The state as it is now, for a run that holds the lease."""
        self._states.forget(state.lane)
        versions = Versions(state.agent_version, state.window_version)
        fresh = await self._states.load(run.actor, state.agent.id, state.conversation_id, versions)
        fresh = replace(fresh, token_ratio=state.token_ratio)
        return fresh if not state.agent.message_buffer_autoclear else replace(fresh, window=state.window)

    async def fail(
        self, run: RunPlan, step: Step, reason: StopReason, error: AppError, tape: Tape | None
    ) -> None:
        """Ends the run without a reply. An input that was never answered is kept, but set aside."""

        def write(connection: Connection) -> None:
            if not repository.is_in_hands_of(connection, run.run.id, this_worker()):
                raise LeaseLost("Another process took this run over; it goes on there.")
            repository.insert_step(connection, step)
            if tape is not None and self._traces != "off":
                repository.insert_trace(connection, step, tape)
            self._close(connection, run, reason, f"{error.code}: {error.message}", step.step_ns or 0)

        await self._db.write(write)

    async def abandon(self, run: RunPlan, reason: StopReason, error: str | None, duration_ns: int) -> None:
        """Ends a run that could not end by itself: cancelled, or broken by an unforeseen error."""
        await self._db.write(self._close, run, reason, error, duration_ns)

    def _close(
        self, connection: Connection, run: RunPlan, reason: StopReason, error: str | None, duration_ns: int
    ) -> None:
        if not repository.is_in_hands_of(connection, run.run.id, this_worker()):
            return  # it goes on elsewhere
        messages.mark_failed(connection, run.run.id)
        repository.finish_run(
            connection, run.run, reason, error=error, ttft_ns=None, duration_ns=duration_ns, tools_used=()
        )
        repository.release_lease(connection, run.run.id)


def _author_kind(agent: Agent) -> AuthorKind:
    """A helper that takes facts down is known by the one tool rule that makes it."""
    if "sleeptime" not in agent.agent_type:
        return "agent"
    is_capture = any(rule.tool_name == CAPTURE_MARK for rule in agent.tool_rules)
    return "capture" if is_capture else "sleeptime"
