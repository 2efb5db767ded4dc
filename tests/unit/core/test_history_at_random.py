"""Whatever was done to a history, the next message can be sent: thousands of mangled ones, each mended."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from remanence.core.history import is_well_formed, repair_history
from remanence.core.message import Approval, Message, ToolCall, ToolReturn, text_parts
from remanence.kit.ids import AgentId, MessageId

_START = datetime(2026, 1, 2, tzinfo=UTC)
_PER_SEED = 150


def build(number: int, role: str, **fields: object) -> Message:
    return Message.model_validate(
        {
            "id": MessageId(f"message-{number}"),
            "agent_id": AgentId("agent-1"),
            "role": role,
            "created_at": _START + timedelta(seconds=number),
            **fields,
        }
    )


def sound_history(dice: random.Random) -> list[Message]:
    """A history as the loop writes it."""
    history = [build(0, "system", content=text_parts("Be kind."))]
    for turn in range(dice.randint(1, 6)):
        number = 10 * (turn + 1)
        history.append(build(number, "user", content=text_parts("Hi")))
        ids = [f"call-{turn}-{each}" for each in range(dice.randint(0, 3))]
        calls = tuple(ToolCall(id=each, name="f", arguments="{}") for each in ids)
        is_gated = bool(ids) and dice.random() < 0.3
        text = text_parts("So.") if not ids or dice.random() < 0.5 else ()
        role = "approval" if is_gated else "assistant"
        history.append(build(number + 1, role, content=text, tool_calls=calls))
        if is_gated:
            answers = tuple(Approval(tool_call_id=each, approve=True) for each in ids)
            history.append(build(number + 2, "approval", approvals=answers))
        if ids:
            returns = tuple(
                ToolReturn(tool_call_id=each, name="f", status="success", content="ok") for each in ids
            )
            history.append(build(number + 3, "tool", tool_returns=returns))
    return history


def mangle(history: list[Message], dice: random.Random) -> list[Message]:
    """Loses, repeats, moves, swaps and takes apart, as imports, crashes and edited windows might."""
    mangled = list(history)
    for _ in range(dice.randint(1, 5)):
        if not mangled:
            break
        place = dice.randrange(len(mangled))
        match dice.randrange(6):
            case 0:
                mangled.pop(place)
            case 1:
                mangled.insert(dice.randrange(len(mangled) + 1), mangled[place])
            case 2:
                mangled.insert(dice.randrange(len(mangled)), mangled.pop(place))
            case 3:
                other = dice.randrange(len(mangled))
                mangled[place], mangled[other] = mangled[other], mangled[place]
            case 4:
                mangled = mangled[: place + 1]
            case _:
                returns = list(mangled[place].tool_returns)
                dice.shuffle(returns)
                kept = tuple(returns[: dice.randint(0, len(returns))])
                mangled[place] = mangled[place].model_copy(update={"tool_returns": kept})
    return mangled


def find_fault(history: list[Message]) -> str | None:
    """What a provider would refuse, in words of our own: this must not lean on what it checks."""
    due: list[str] = []
    is_request = False
    for message in history:
        if message.role == "tool":
            for each in message.tool_returns:
                if each.tool_call_id not in due:
                    return f"{message.id} returns {each.tool_call_id}, which nobody waits for"
                due.remove(each.tool_call_id)
            continue
        if message.role == "approval" and not message.tool_calls:
            continue  # not shown to the model
        if due:
            return f"{message.id} comes before the returns of {due}"
        due = [call.id for call in message.tool_calls]
        is_request = message.role == "approval"
    if due and not (is_request and history[-1].tool_calls):
        return f"{due} have no returns"
    return None


@pytest.mark.parametrize("seed", range(8))
def test_a_mangled_history_is_made_whole(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(_PER_SEED):
        mangled = mangle(sound_history(dice), dice)
        mended = repair_history(mangled)
        assert find_fault(mended) is None, mangled
        assert is_well_formed(mended)
        assert repair_history(mended) == mended


@pytest.mark.parametrize("seed", range(8))
def test_what_was_said_is_kept_in_its_order(seed: int) -> None:
    dice = random.Random(1000 + seed)
    for _ in range(_PER_SEED):
        mangled = mangle(sound_history(dice), dice)
        spoken = dict.fromkeys(message.id for message in mangled if message.role != "tool")
        mended = [message.id for message in repair_history(mangled) if message.role != "tool"]
        assert mended == list(spoken)


@pytest.mark.parametrize("seed", range(4))
def test_a_sound_history_is_left_alone(seed: int) -> None:
    dice = random.Random(2000 + seed)
    for _ in range(_PER_SEED):
        history = sound_history(dice)
        assert find_fault(history) is None
        assert is_well_formed(history)
        assert repair_history(history) == history


@pytest.mark.parametrize("seed", range(4))
def test_a_return_that_is_somewhere_is_not_replaced_by_one_made_up(seed: int) -> None:
    dice = random.Random(3000 + seed)
    for _ in range(_PER_SEED):
        history = sound_history(dice)
        moved = [message for message in history if message.role == "tool"]
        kept = [message for message in history if message.role != "tool"]
        for message in moved:
            kept.insert(dice.randrange(1, len(kept) + 1), message)
        if kept[-1].role == "approval" and kept[-1].tool_calls:
            continue  # a request at the end is open: whatever lies around, a person is to answer it
        returns = [each for message in repair_history(kept) for each in message.tool_returns]
        assert {each.status for each in returns} <= {"success"}
