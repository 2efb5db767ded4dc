"""Making room in a window: any history and any window end in a plan that keeps its promises."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.histories import START, Writer, histories, text_of

from remanence.core.agent import CompactionMode
from remanence.core.budget import tokens_of
from remanence.core.compaction import (
    ENVELOPE_TOKENS,
    CompactionPlan,
    CompactionStats,
    Fullness,
    plan_compaction,
)
from remanence.core.history import is_well_formed
from remanence.core.llm import InContext
from remanence.core.message import Message, pending_request, text_parts
from remanence.core.packing import is_notice, pack_summary, unpack_summary
from remanence.core.transcript import extract_summary, render_transcript
from remanence.kit.tokens import estimate_tokens

MODES: list[CompactionMode] = ["sliding_window", "all", "self_compact_sliding_window", "self_compact_all"]
modes = st.sampled_from(MODES)


def sizes_of(messages: Sequence[Message]) -> list[int]:
    return [tokens_of(InContext(message)) for message in messages]


def fullness(messages: Sequence[Message], window: int, other: int = 0) -> Fullness:
    return Fullness(sizes_of(messages), other=other, window=window, full=int(window * 0.9))


def plan(messages: Sequence[Message], window: int, **options: Any) -> CompactionPlan | None:
    given: dict[str, Any] = {"mode": "sliding_window", "share": 0.3, "is_answering": False} | options
    return plan_compaction(messages, fullness(messages, window, given.pop("other", 0)), **given)


def questions(messages: Sequence[Message]) -> list[int]:
    return [place for place, each in enumerate(messages) if each.role == "user" and not is_notice(each.text)]


@settings(max_examples=300, deadline=None)
@given(
    histories(),
    st.integers(10, 200_000),
    st.integers(0, 5_000),
    modes,
    st.floats(0.01, 0.99),
    st.booleans(),
)
def test_any_window_is_relieved_of_whole_exchanges_and_keeps_what_is_being_answered(
    messages: list[Message], window: int, other: int, mode: CompactionMode, share: float, is_answering: bool
) -> None:
    made = plan(messages, window, mode=mode, share=share, other=other, is_answering=is_answering)
    head = int(bool(messages) and messages[0].role == "system")
    if made is None:
        assert _cannot_be_relieved(messages, head, is_answering=is_answering)
        return
    assert sorted(made.kept + made.evicted) == list(range(len(messages)))
    assert made.evicted, "each round takes something"
    assert list(made.kept[:head]) == list(range(head)), "the system message stays first"
    sizes = sizes_of(messages)
    gone = sum(sizes[place] for place in made.evicted)
    assert made.summary_tokens == 0 or made.summary_tokens + ENVELOPE_TOKENS < gone, "it gets smaller"
    kept = [messages[place] for place in made.kept]
    assert is_well_formed(kept), "calls keep their returns"
    if pending_request(messages) is not None:
        assert kept[-1] is messages[-1], "what waits for an answer stays"
    if is_answering and questions(messages):
        assert questions(messages)[-1] in made.kept
    needed = other + sum(sizes[place] for place in (*range(head), *_indispensable(messages, is_answering)))
    after = other + sum(sizes[place] for place in made.kept)
    assert after <= max(int(window * 0.9), needed), "it fits, if what must stay fits"
    if made.summary_tokens:
        assert after + made.summary_tokens + ENVELOPE_TOKENS <= window, "and so does the summary"


def _indispensable(messages: Sequence[Message], is_answering: bool) -> set[int]:
    places = {len(messages) - 1} if pending_request(messages) is not None else set[int]()
    return places | set(questions(messages)[-1:]) if is_answering else places


def _cannot_be_relieved(messages: Sequence[Message], head: int, *, is_answering: bool) -> bool:
    stays = _indispensable(messages, is_answering)
    rest = [each for place, each in enumerate(messages) if place >= head and place not in stays]
    return all(each.role == "summary" for each in rest)


@settings(max_examples=100, deadline=None)
@given(histories(), st.integers(50, 50_000), modes)
def test_compacting_again_and_again_comes_to_an_end(
    messages: list[Message], window: int, mode: CompactionMode
) -> None:
    rounds = 0
    while (made := plan(messages, window, mode=mode, is_answering=True)) is not None:
        rounds += 1
        assert rounds <= 2 * len(messages) + 2
        before = sum(sizes_of(messages))
        messages = apply(messages, made, "So it went. " * 50_000)
        assert sum(sizes_of(messages)) < before


def apply(messages: list[Message], made: CompactionPlan, written: str) -> list[Message]:
    kept = [messages[place] for place in made.kept]
    if not made.summary_tokens:
        return kept
    packed = pack_summary(written[: made.summary_tokens * 4], at=START, timezone=None, stats=None)
    fields = {"role": "summary", "content": text_parts(packed), "tool_calls": (), "tool_returns": ()}
    summary = messages[made.evicted[0]].model_copy(update=fields)
    head = int(bool(kept) and kept[0].role == "system")
    return [*kept[:head], summary, *kept[head:]]


def chat(turns: int, chars: int = 400) -> list[Message]:
    writer = Writer()
    writer.add("system", content=text_parts("Be kind."))
    for _ in range(turns):
        writer.add("user", content=text_parts(text_of(chars)))
        writer.add("assistant", content=text_parts(text_of(chars)))
    return writer.messages


def test_a_sliding_window_keeps_the_newer_part_from_a_word_of_the_agent_on() -> None:
    messages = chat(20)
    made = plan(messages, 4_000)
    assert made is not None
    assert made.kept[0] == 0
    tail = made.kept[1:]
    assert tail == tuple(range(tail[0], len(messages)))
    assert messages[tail[0]].role == "assistant"
    assert 0.4 <= len(made.evicted) / 40 < 0.5


def test_the_share_decides_how_much_goes() -> None:
    gone = [len(made.evicted) for share in (0.1, 0.3, 0.6) if (made := plan(chat(20), 100_000, share=share))]
    assert gone == sorted(set(gone))


def test_in_mode_all_only_the_system_message_stays_when_nothing_is_being_answered() -> None:
    made = plan(chat(20), 100_000, mode="all")
    assert made is not None
    assert made.kept == (0,)


def test_a_long_turn_keeps_its_question_and_its_newest_exchanges() -> None:
    writer = Writer()
    writer.add("system", content=text_parts("Be kind."))
    writer.add("user", content=text_parts("Look everywhere."))
    for number in range(30):
        writer.exchange(number, 1, 400, is_gated=False)
    for mode in MODES:
        made = plan(writer.messages, 3_000, mode=mode, is_answering=True)
        assert made is not None
        assert made.kept[:2] == (0, 1)
        assert made.kept[-2:] == (60, 61)


def test_the_newest_exchange_goes_too_if_it_alone_is_too_much() -> None:
    writer = Writer()
    writer.add("system", content=text_parts("Be kind."))
    writer.add("user", content=text_parts("Look."))
    writer.exchange(1, 1, 40_000, is_gated=False)
    made = plan(writer.messages, 4_000, is_answering=True)
    assert made is not None
    assert made.kept == (0, 1)


def test_a_summary_for_a_window_that_shrank_is_written_anew() -> None:
    writer = Writer()
    writer.add("system", content=text_parts("Be kind."))
    long = pack_summary(text_of(40_000), at=START, timezone=None, stats=None)
    writer.add("summary", content=text_parts(long))
    assert plan(writer.messages, 200_000) is None
    assert plan(writer.messages, 4_000) is not None


def test_what_stands_around_a_summary_takes_less_than_what_is_set_aside_for_it() -> None:
    stats = CompactionStats("post_step_context_check", 99_999, 99_999, 200_000, 9_999, 9_999)
    packed = pack_summary("", at=START, timezone=None, stats=stats.fields())
    assert estimate_tokens(packed) < ENVELOPE_TOKENS


def test_a_packed_summary_is_found_again() -> None:
    packed = pack_summary("One.\n\nTwo.", at=START, timezone=None, stats={"trigger": "requested"})
    assert unpack_summary(packed) == ("One.\n\nTwo.", {"trigger": "requested"})


@settings(max_examples=150, deadline=None)
@given(histories(), st.integers(0, 20_000))
def test_texts_made_of_a_history_keep_to_their_length(messages: list[Message], most_chars: int) -> None:
    assert len(extract_summary(messages, most_chars=most_chars, timezone=None)) <= most_chars
    if most_chars > 300:
        # The last message is told even if it alone is longer than all there is room for.
        told = render_transcript(messages, most_chars=most_chars, timezone=None)
        assert len(told) <= most_chars + 9_000


def test_an_excerpt_prefers_what_people_said_and_the_newest() -> None:
    writer = Writer()
    writer.add("summary", content=text_parts(pack_summary("Eve is 9.", at=START, timezone=None, stats=None)))
    for number in range(40):
        writer.add("user", content=text_parts(f"I like fig number {number}."))
        writer.add("assistant", content=text_parts("How nice." * 10))
    told = extract_summary(writer.messages, most_chars=900, timezone=None)
    assert "Eve is 9." in told
    assert "fig number 39" in told
    assert "fig number 0." not in told
    assert told.index("fig number 38") < told.index("fig number 39")
