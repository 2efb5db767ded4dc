"""Histories made of any turns, for properties that hold for all of them."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from remanence.core.message import Approval, Message, ToolCall, ToolReturn, text_parts
from remanence.core.packing import pack_alert, pack_heartbeat, pack_summary
from remanence.kit.ids import AgentId, MessageId

START = datetime(2026, 1, 2, tzinfo=UTC)
SIZES = st.one_of(st.integers(1, 400), st.integers(1, 20_000))


def text_of(chars: int) -> str:
    return ("plum " * (chars // 5 + 1))[:chars]


class Writer:
    """Numbers and dates messages as they come."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def add(self, role: str, **fields: object) -> None:
        number = len(self.messages)
        self.messages.append(
            Message.model_validate(
                {
                    "id": MessageId(f"message-{number}"),
                    "agent_id": AgentId("agent-1"),
                    "role": role,
                    "created_at": START + timedelta(seconds=number),
                    **fields,
                }
            )
        )

    def exchange(self, number: int, count: int, chars: int, *, is_gated: bool) -> None:
        ids = [f"call-{number}-{each}" for each in range(count)]
        calls = tuple(ToolCall(id=each, name="look", arguments=text_of(chars // 4)) for each in ids)
        self.add("approval" if is_gated else "assistant", tool_calls=calls)
        if is_gated:
            self.add("approval", approvals=tuple(Approval(tool_call_id=each, approve=True) for each in ids))
        self.add(
            "tool",
            tool_returns=tuple(
                ToolReturn(tool_call_id=each, name="look", status="success", content=text_of(chars))
                for each in ids
            ),
        )


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """As the loop writes them: turns of questions, exchanges, notices and answers, perhaps cut off anywhere."""
    writer = Writer()
    if draw(st.integers(0, 9)):
        writer.add("system", content=text_parts(text_of(draw(st.integers(1, 2_000)))))
    if draw(st.booleans()):
        summary = pack_summary(text_of(draw(SIZES)), at=START, timezone=None, stats=None)
        writer.add("summary", content=text_parts(summary))
    for number in range(draw(st.integers(0, 8))):
        writer.add("user", content=text_parts(text_of(draw(SIZES))))
        for each in range(draw(st.integers(0, 3))):
            writer.exchange(
                10 * number + each, draw(st.integers(1, 2)), draw(SIZES), is_gated=draw(st.booleans())
            )
            if draw(st.booleans()):
                notice = pack_heartbeat("Go on.", at=START, timezone=None)
                writer.add("user", content=text_parts(notice))
        if draw(st.integers(0, 4)):
            writer.add("assistant", content=text_parts(text_of(draw(SIZES))))
        if not draw(st.integers(0, 4)):
            writer.add("user", content=text_parts(pack_alert("Mind the room.", at=START, timezone=None)))
    if writer.messages and not draw(st.integers(0, 5)):
        call = ToolCall(id="call-open", name="look", arguments="{}", gate="approval")
        writer.add("approval", tool_calls=(call,))
    return writer.messages
