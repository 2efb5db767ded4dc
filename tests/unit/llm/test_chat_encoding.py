"""Stored messages as Chat Completions wants them."""

from typing import Any

import pytest
from tests.support.requests import message

from remanence.core.llm import InContext
from remanence.core.message import (
    Approval,
    Base64Image,
    ImagePart,
    OmittedReasoningPart,
    ReasoningPart,
    RedactedReasoningPart,
    StoredImage,
    TextPart,
    ToolCall,
    ToolReturn,
    UrlImage,
)
from remanence.kit import json
from remanence.llm.chat_encoding import (
    encode_message,
    encode_messages,
    provider_call_id,
    style_of,
)
from remanence.llm.encoding import with_first_argument
from remanence.llm.vendors import Quirks

PLAIN = Quirks()
IMAGE = ImagePart(source=Base64Image(media_type="image/jpeg", data="QUJD"))
CALL = ToolCall(id="call_1", name="look", arguments='{"at": 1}')
SENT_CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}


def encode(given: Any, quirks: Quirks = PLAIN, *, thoughts: bool = False) -> list[Any]:
    return [
        json.decode(text) for text in encode_message(given, style_of(quirks, thoughts_in_arguments=thoughts))
    ]


def arguments(given: Any, quirks: Quirks = PLAIN, *, thoughts: bool = False) -> str:
    return encode(given, quirks, thoughts=thoughts)[0]["tool_calls"][0]["function"]["arguments"]


def test_system_and_summary_messages() -> None:
    assert encode(message("system", "Be kind.")) == [{"role": "system", "content": "Be kind."}]
    assert encode(message("summary", "Earlier: tea.")) == [{"role": "user", "content": "Earlier: tea."}]


def test_a_user_message_of_text_is_a_plain_string() -> None:
    assert encode(message("user", "Hello")) == [{"role": "user", "content": "Hello"}]
    two = message("user", content=(TextPart(text="one"), TextPart(text="two")))
    assert encode(two) == [{"role": "user", "content": "one\ntwo"}]


def test_images_go_as_parts() -> None:
    parts = (
        TextPart(text="What is this?"),
        IMAGE,
        ImagePart(source=UrlImage(url="https://example.org/cat.png")),
        ImagePart(source=Base64Image(media_type="image/png", data="QUJD", detail="low")),
        ImagePart(source=StoredImage(file_id="file-1")),
    )
    assert encode(message("user", content=parts)) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,QUJD"}},
                {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD", "detail": "low"}},
                {"type": "text", "text": "[an image that is no longer available]"},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("Ada", "Ada"),
        ("Ada Lovelace", "Ada_Lovelace"),
        ("a.b@c", "a_b_c"),
        ("x" * 99, "x" * 64),
        ("李", None),
    ],
)
def test_names_keep_to_the_letters_allowed(name: str, sent: str | None) -> None:
    assert encode(message("user", "Hi", name=name))[0].get("name") == sent


def test_names_are_left_out_where_the_vendor_refuses_them() -> None:
    assert "name" not in encode(message("user", "Hi", name="Ada"), Quirks(takes_names=False))[0]


def test_an_assistant_message_carries_text_and_calls_but_no_reasoning() -> None:
    content = (ReasoningPart(is_native=True, reasoning="Hm"), TextPart(text="Let me look."))
    assert encode(message("assistant", content=content, tool_calls=(CALL,))) == [
        {"role": "assistant", "content": "Let me look.", "tool_calls": [SENT_CALL]}
    ]
    assert encode(message("assistant", tool_calls=(CALL,))) == [
        {"role": "assistant", "content": None, "tool_calls": [SENT_CALL]}
    ]


def test_an_assistant_message_of_nothing_is_not_sent() -> None:
    hidden = (
        ReasoningPart(is_native=True, reasoning="Hm"),
        RedactedReasoningPart(data="x"),
        OmittedReasoningPart(),
    )
    assert encode(message("assistant", content=hidden)) == []
    assert encode(message("assistant")) == []


def test_reasoning_goes_back_where_the_vendor_wants_it() -> None:
    quirks = Quirks(sends_reasoning_back=True)
    thinking = (
        ReasoningPart(is_native=True, reasoning="Hm"),
        ReasoningPart(is_native=False, reasoning="inner"),
    )
    sent = encode(message("assistant", content=thinking, tool_calls=(CALL,)), quirks)[0]
    assert sent["reasoning_content"] == "Hm"
    # Refused when it is missing, so a turn of another model gets an empty one.
    assert encode(message("assistant", tool_calls=(CALL,)), quirks)[0]["reasoning_content"] == ""


def test_inner_thoughts_go_back_as_the_first_argument_of_the_first_call() -> None:
    thinking = (ReasoningPart(is_native=False, reasoning='I "look"'),)
    given = message("assistant", content=thinking, tool_calls=(CALL, CALL))
    sent = encode(given, thoughts=True)[0]["tool_calls"]
    assert sent[0]["function"]["arguments"] == '{"thinking": "I \\"look\\"", "at": 1}'
    assert sent[1]["function"]["arguments"] == '{"at": 1}'
    assert arguments(given) == '{"at": 1}'


def test_native_reasoning_is_no_inner_thought() -> None:
    given = message("assistant", content=(ReasoningPart(is_native=True, reasoning="Hm"),), tool_calls=(CALL,))
    assert arguments(given, thoughts=True) == '{"at": 1}'


@pytest.mark.parametrize("empty", ["{}", "{ }", "  {\n}"])
def test_thoughts_fit_into_empty_arguments(empty: str) -> None:
    assert json.decode(with_first_argument(empty, "thinking", "Hm")) == {"thinking": "Hm"}


@pytest.mark.parametrize("broken", ['{"at": ', "[1]", "text", '"text"', "null"])
def test_arguments_that_are_no_object_are_wrapped_so_that_no_server_chokes(broken: str) -> None:
    call = ToolCall(id="c", name="look", arguments=broken)
    assert json.decode(arguments(message("assistant", tool_calls=(call,)))) == {"invalid_arguments": broken}


def test_missing_arguments_are_an_empty_object() -> None:
    assert arguments(message("assistant", tool_calls=(ToolCall(id="c", name="look", arguments=""),))) == "{}"


def test_a_made_up_tool_name_keeps_to_the_letters_allowed() -> None:
    call = ToolCall(id="c", name="files.read now", arguments="{}")
    sent = encode(message("assistant", tool_calls=(call,)))[0]
    assert sent["tool_calls"][0]["function"]["name"] == "files_read_now"


def test_each_tool_return_is_a_message() -> None:
    returns = tuple(
        ToolReturn(tool_call_id=f"call_{number}", name="look", status="success", content=f"saw {number}")
        for number in (1, 2)
    )
    assert encode(message("tool", tool_returns=returns)) == [
        {"role": "tool", "tool_call_id": "call_1", "content": "saw 1"},
        {"role": "tool", "tool_call_id": "call_2", "content": "saw 2"},
    ]


def test_images_in_returns_follow_all_returns_in_a_user_message() -> None:
    returns = (
        ToolReturn(tool_call_id="1", name="snap", status="success", content=(TextPart(text="Taken"), IMAGE)),
        ToolReturn(tool_call_id="2", name="snap", status="success", content=(IMAGE,)),
        ToolReturn(tool_call_id="3", name="look", status="success", content="nothing"),
    )
    url = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,QUJD"}}
    said = {"type": "text", "text": "What snap returned:"}
    assert encode(message("tool", tool_returns=returns)) == [
        {"role": "tool", "tool_call_id": "1", "content": "Taken"},
        {"role": "tool", "tool_call_id": "2", "content": "The image follows."},
        {"role": "tool", "tool_call_id": "3", "content": "nothing"},
        {"role": "user", "content": [said, url, said, url]},
    ]


def test_an_approval_request_is_an_assistant_message_and_its_answer_is_none() -> None:
    assert encode(message("approval", "May I?", tool_calls=(CALL,))) == [
        {"role": "assistant", "content": "May I?", "tool_calls": [SENT_CALL]}
    ]
    assert encode(message("approval", approvals=(Approval(tool_call_id="call_1", approve=True),))) == []


def test_call_ids_of_other_providers_are_made_to_fit_on_both_sides() -> None:
    long_id = "toolu_" + "x" * 60
    quirks = Quirks(call_id_chars=9)
    sent = encode(message("assistant", tool_calls=(ToolCall(id=long_id, name="a", arguments="{}"),)), quirks)
    answer = ToolReturn(tool_call_id=long_id, name="a", status="success", content="ok")
    returned = encode(message("tool", tool_returns=(answer,)), quirks)
    short_id = returned[0]["tool_call_id"]
    assert sent[0]["tool_calls"][0]["id"] == short_id
    assert len(short_id) == 9
    assert short_id.isalnum()


def test_call_ids_that_fit_are_kept() -> None:
    assert provider_call_id("call_1", 40) == "call_1"
    assert provider_call_id("AbC123xyz", 9) == "AbC123xyz"
    assert len(provider_call_id("x" * 41, 40)) <= 40


def test_an_encoding_is_kept_with_its_message_until_the_style_changes() -> None:
    style = style_of(PLAIN, thoughts_in_arguments=False)
    window = [
        InContext(message("user", "Hi")),
        InContext(message("assistant")),
        InContext(message("user", "Yo")),
    ]
    text = encode_messages(window, style, style.key)
    assert text == b'[{"role":"user","content":"Hi"},{"role":"user","content":"Yo"}]'
    kept = [each.encoded for each in window]
    assert encode_messages(window, style, style.key) == text
    assert all(each.encoded is before for each, before in zip(window, kept, strict=True))
    other = style_of(Quirks(takes_names=False), thoughts_in_arguments=False)
    encode_messages(window, other, other.key)
    assert window[0].encoded_as == other.key != style.key


def test_styles_that_encode_differently_have_different_keys() -> None:
    styles = [
        style_of(quirks, thoughts_in_arguments=thoughts)
        for quirks in (
            PLAIN,
            Quirks(takes_names=False),
            Quirks(sends_reasoning_back=True),
            Quirks(call_id_chars=9),
        )
        for thoughts in (False, True)
    ]
    assert len({style.key for style in styles}) == len(styles)


def test_the_details_of_thoughts_go_back_to_the_model_that_gave_them() -> None:
    details = [{"type": "reasoning.text", "text": "Hm.", "signature": "s", "index": 0}]
    thought = ReasoningPart(is_native=True, reasoning="Hm.", signature=json.encode_text(details))
    given = message("assistant", content=(thought, TextPart(text="Four.")), model="anthropic/claude")
    for model, expected in (("anthropic/claude", details), ("openai/o3", None)):
        style = style_of(Quirks(keeps_details=True), model=model, thoughts_in_arguments=False)
        [sent] = encode_message(given, style)
        assert json.decode(sent).get("reasoning_details") == expected
    assert "reasoning_details" not in encode(given)[0]
