"""The conversation that the small model sees: short, and stable at its beginning."""

from tests.support.local_talk import MOMENT, called, message, returned, said

from remanence.core.message import Base64Image, ImagePart, Message
from remanence.core.packing import pack_alert, pack_heartbeat, pack_login, pack_user_message
from remanence.llm.local.actions import PastCall
from remanence.llm.local.blocks import MemoryBlock
from remanence.llm.local.transcript import Style, Transcript, clip, read_transcript

STYLE = Style(budget_tokens=100, said_tokens=60, is_json=True)
BLOCKS = (MemoryBlock("human", "Name: Chad"),)


def read(*messages: Message, style: Style = STYLE) -> Transcript:
    return read_transcript(messages, BLOCKS, style)


def texts(*messages: Message, style: Style = STYLE) -> list[str]:
    return [turn.text for turn in read(*messages, style=style).turns]


def test_answers_and_calls_are_told_as_actions() -> None:
    assert texts(
        said("user", "Roll a die."),
        called("roll_dice", sides=6, thinking="hm", request_heartbeat=True),
        returned("roll_dice", "4"),
        called("send_message", message="It's a 4."),
        returned("send_message", "Sent."),
        said("user", "Thanks"),
        said("assistant", "Welcome"),
    ) == [
        "Roll a die.",
        '{"roll_dice":{"sides":6}}',
        "Result: 4",
        '{"reply":"It\'s a 4."}',
        "Thanks",
        '{"reply":"Welcome"}',
    ]


def test_without_tools_answers_are_plain_words() -> None:
    plain = Style(budget_tokens=100, said_tokens=60, is_json=False)
    assert texts(said("user", "Hi"), said("assistant", "Hello"), style=plain) == ["Hi", "Hello"]


def test_notices_are_left_out_and_envelopes_opened() -> None:
    assert texts(
        called("send_message", message="I am awake."),
        said("user", pack_login(at=MOMENT, timezone=None)),
        said("user", pack_user_message("Hello", at=MOMENT, timezone=None)),
        said("user", pack_heartbeat("go on", at=MOMENT, timezone=None)),
        said("user", pack_alert("They spoke of tea.", at=MOMENT, timezone=None)),
        said("user", '{"my": "json"}'),
    ) == ["Hello", "They spoke of tea.", '{"my": "json"}']


def test_images_are_mentioned() -> None:
    image = ImagePart(source=Base64Image(media_type="image/png", data="AA=="))
    assert texts(message("user", content=(image,))) == ["[image]"]


def test_a_memory_edit_has_no_result_but_changes_what_can_be_quoted() -> None:
    transcript = read(
        said("user", "I'm Sarah"),
        called("memory_replace", label="human", old_string="Name: Chad", new_string="Name: Sarah"),
        returned("memory_replace", "1→ Name: Sarah"),
    )
    assert [turn.role for turn in transcript.turns] == ["user", "assistant"]
    assert transcript.blocks == BLOCKS
    assert transcript.blocks_now == (MemoryBlock("human", "Name: Sarah"),)
    arguments = {"label": "human", "old_string": "Name: Chad", "new_string": "Name: Sarah"}
    assert transcript.done == (PastCall("memory_replace", arguments),)


def test_a_failed_edit_is_shown() -> None:
    transcript = read(
        said("user", "I'm Sarah"),
        called("memory_replace", label="human"),
        returned("memory_replace", "No such text", status="error"),
    )
    assert transcript.turns[-1].text == "Result: No such text"
    assert transcript.blocks_now == BLOCKS


def test_calls_of_earlier_turns_do_not_count() -> None:
    assert (
        read(said("user", "a"), called("roll_dice"), returned("roll_dice", "4"), said("user", "b")).done == ()
    )


def test_the_cut_stays_in_place_for_many_turns() -> None:
    roomy = Style(budget_tokens=500, said_tokens=60, is_json=True)
    talk = [said("user" if index % 2 == 0 else "assistant", f"{index:03} {'x' * 30}") for index in range(100)]
    windows = [read(*talk[: end + 1], style=roomy).turns for end in range(0, 100, 2)]
    assert windows[0][0].text.startswith("000")
    assert len({turns[0].text for turns in windows}) < len(windows) / 5
    assert max(sum(turn.tokens for turn in turns) for turns in windows) <= 500


def test_an_edit_before_the_cut_shows_in_memory() -> None:
    talk = [
        said("user", "I'm Sarah"),
        called("memory_insert", label="human"),
        returned("memory_insert", "Name: Sarah"),
    ]
    talk += [said("user", f"{index} {'x' * 60}") for index in range(20)]
    assert read(*talk).blocks == (MemoryBlock("human", "Name: Sarah"),)


def test_the_last_words_stay_even_if_they_alone_are_too_long() -> None:
    tight = Style(budget_tokens=20, said_tokens=60, is_json=True)
    (text,) = texts(said("user", "old"), said("user", "a" * 1000 + "b" * 1000), style=tight)
    assert text.startswith("aaa")
    assert text.endswith("bbb")
    assert " … " in text


def test_short_texts_are_not_clipped() -> None:
    assert clip("short", 10) == "short"
