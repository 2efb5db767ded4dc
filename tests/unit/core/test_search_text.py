"""What is indexed of a text, what a query asks for, and where a text answers it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from remanence.core.message import (
    ImagePart,
    Message,
    ReasoningPart,
    Role,
    TextPart,
    ToolCall,
    ToolReturn,
    UrlImage,
    text_parts,
)
from remanence.core.packing import (
    pack_alert,
    pack_heartbeat,
    pack_login,
    pack_tool_return,
    pack_user_message,
)
from remanence.core.search_text import (
    MAX_INDEXED_CHARS,
    MAX_TERMS,
    MAX_WORD_CHARS,
    STOP_WORDS,
    cut_snippet,
    find_terms,
    message_words,
    parse_query,
    prepare,
    root,
)
from remanence.kit.ids import new_agent_id, new_message_id

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


def optional(query: str) -> list[str]:
    return [" ".join(term.pieces) for term in parse_query(query).optional]


def required(query: str) -> list[str]:
    return [" ".join(term.pieces) for term in parse_query(query).required]


def places(query: str, text: str) -> list[str]:
    return [text[match.start : match.end] for match in find_terms(parse_query(query).terms, text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, World!", "hello world"),
        ("snake_case-name/path.py", "snake case name path py"),
        ("don't", "don t"),
        ("Málaga ÉTÉ Straße İstanbul", "malaga ete strasse istanbul"),
        ("e\u0301te\u0301", "ete"),
        ("ＡＢＣ１２３ ﬁne", "abc123 fine"),
        ("我叫阿里", "我叫 叫阿 阿里 里"),
        ("好", "好 好"),
        ("iPhone手机", "iphone 手机 机"),
        ("हिन्दी", "हिन्दी"),
        ("soft\u00adhyphen zero\u200bwidth", "softhyphen zerowidth"),
        ("nul\x00 tab\t🎉 ½ \ud800", "nul tab 1 2"),
        ("", ""),
    ],
)
def test_texts_become_plain_words(text: str, words: str) -> None:
    assert prepare(text) == words


def test_words_and_texts_are_cut_to_what_engines_can_hold() -> None:
    assert prepare("x" * 100) == "x" * MAX_WORD_CHARS
    assert len(prepare("ab " * MAX_INDEXED_CHARS)) <= MAX_INDEXED_CHARS


def test_a_query_is_its_telling_words() -> None:
    assert optional("What is the name of my dog?") == ["name", "dog"]


def test_stop_words_are_sought_if_there_is_nothing_else() -> None:
    assert optional("who are you") == ["who", "are", "you"]


def test_forms_of_one_word_are_one_term() -> None:
    assert optional("run running runs") == ["run"]


def test_quoted_words_are_one_required_term() -> None:
    assert required('"green tea" in “the morning”') == ["green tea", "the morning"]
    assert optional('"green tea" in the kitchen') == ["kitchen"]
    assert optional('"green tea" in the') == []


def test_an_unclosed_quote_is_no_quote() -> None:
    assert required('the "green tea') == []
    assert optional('the "green tea') == ["green", "tea"]


def test_relaxed_nothing_is_required() -> None:
    relaxed = parse_query('"the green tea" kitchen').relaxed()
    assert relaxed.required == ()
    assert [term.pieces for term in relaxed.optional] == [("green",), ("tea",), ("kitchen",)]


def test_unspaced_scripts_are_sought_by_pairs_of_letters() -> None:
    assert optional("阿里巴巴") == ["阿里", "里巴", "巴巴"]
    assert parse_query('"阿里巴巴"').required[0].words == ("阿里", "里巴", "巴巴")
    assert optional("我") == ["我"]


@pytest.mark.parametrize("query", ["", "   ", "?!", "🎉", '""', '"?"', "\x00", "\ud800"])
def test_a_query_without_letters_has_no_terms(query: str) -> None:
    assert parse_query(query).terms == ()


def test_long_queries_are_cut() -> None:
    assert len(parse_query(" ".join(f"word{n}" for n in range(500))).terms) == MAX_TERMS
    assert len(parse_query('"a b" ' * 100 + '"x y" z').terms) <= MAX_TERMS
    assert len(parse_query("阿" * 5_000).terms) <= MAX_TERMS


def test_operators_are_only_words() -> None:
    assert optional("tea AND NOT (coffee* OR body:milk) NEAR/3 ^x -y") == [
        "tea",
        "coffee",
        "body",
        "milk",
        "near",
        "3",
        "x",
        "y",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("running", "runs"),
        ("parties", "party"),
        ("hoped", "hoping"),
        ("stopped", "stop"),
        ("quickly", "quick"),
    ],
)
def test_forms_of_a_word_share_a_root(one: str, other: str) -> None:
    assert root(one) == root(other)


@pytest.mark.parametrize(("one", "other"), [("art", "party"), ("bus", "bu"), ("thing", "th"), ("need", "ne")])
def test_other_words_have_other_roots(one: str, other: str) -> None:
    assert root(one) != root(other)


def test_stop_words_name_no_month_and_are_small() -> None:
    assert "may" not in STOP_WORDS
    assert all(word == word.lower() for word in STOP_WORDS)


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("run", "He runs, she was running; a runt.", ["runs", "running"]),
        ("party", "Parties! A party-goer, partying.", ["Parties", "party", "partying"]),
        ("art", "party artful art", ["art"]),
        ("cafe", "Das Café.", ["Café"]),
        ('"green tea"', "tea green, Green   tea", ["Green   tea"]),
        ('"new york"', "New-York and newyork", ["New-York"]),
        ("阿里巴巴", "我叫阿里巴巴", ["阿里", "里巴", "巴巴"]),
        ('"阿里巴巴"', "我叫阿里巴巴吗", ["阿里巴巴"]),
        ('"手机壳"', "iPhone手机壳", ["手机壳"]),
        ('"iphone手机"', "my iPhone 手机壳", ["iPhone 手机壳"]),
        ("iphone", "an iPhone手机", ["iPhone"]),
        ("हिन्दी", "मुझे हिन्दी पसंद है", ["हिन्दी"]),
        ("tea", "", []),
    ],
)
def test_terms_are_found_as_words(query: str, text: str, found: list[str]) -> None:
    assert places(query, text) == found


def test_places_stay_true_beside_letters_that_fold_to_more_than_one() -> None:
    text = "ß½ﷺ🎉İ " * 3 + "tea"
    assert places("tea", text) == ["tea"]


def test_a_short_text_is_its_own_snippet() -> None:
    assert cut_snippet("All of it.", ()) == "All of it."


def test_a_snippet_shows_where_most_of_the_terms_stand() -> None:
    filler = "Nothing much was said about it. " * 30
    text = f"The cello. {filler}A cello for my sister. {filler}My sister."
    snippet = cut_snippet(text, find_terms(parse_query("cello sister").terms, text), 100)
    assert "A cello for my sister." in snippet
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert len(snippet) <= 102


def test_a_snippet_without_matches_is_the_beginning() -> None:
    assert cut_snippet("word " * 100, (), 20) == "word word word word…"


def test_a_snippet_is_cut_where_there_are_no_spaces_too() -> None:
    text = "阿" * 500 + "里巴" + "阿" * 500
    snippet = cut_snippet(text, find_terms(parse_query("里巴").terms, text), 50)
    assert "里巴" in snippet
    assert len(snippet) == 52


def message(role: Role, text: str = "", **fields: Any) -> Message:
    given: dict[str, Any] = {"content": text_parts(text), **fields}
    return Message(id=new_message_id(), agent_id=new_agent_id(), role=role, created_at=NOON, **given)


def test_what_people_and_agents_say_is_indexed() -> None:
    assert message_words(message("user", "I like tea.")) == "I like tea."
    assert message_words(message("assistant", "Noted.")) == "Noted."


def test_a_packed_user_message_is_its_words() -> None:
    packed = pack_user_message("I like tea.", at=NOON, timezone=None)
    assert message_words(message("user", packed)) == "I like tea."


def test_thoughts_and_images_are_not_words() -> None:
    parts = (
        ReasoningPart(is_native=True, reasoning="hmm"),
        TextPart(text="Look:"),
        ImagePart(source=UrlImage(url="https://example.com/tea.png")),
    )
    assert message_words(message("assistant", content=parts)) == "Look:"


def test_what_is_sent_through_the_speaking_tool_is_said() -> None:
    call = ToolCall(id="1", name="send_message", arguments='{"message": "Tea?", "thinking": "x"}')
    other = ToolCall(id="2", name="shop", arguments='{"message": "not said"}')
    assert message_words(message("assistant", content=(), tool_calls=(call, other))) == "Tea?"


@pytest.mark.parametrize("arguments", ["", "[]", "{", '{"message": 3}', '{"text": "x"}'])
def test_a_malformed_speech_says_nothing(arguments: str) -> None:
    call = ToolCall(id="1", name="send_message", arguments=arguments)
    assert message_words(message("assistant", content=(), tool_calls=(call,))) == ""


def test_words_beside_a_gated_call_are_said() -> None:
    call = ToolCall(id="1", name="shop", arguments="{}")
    assert message_words(message("approval", "May I?", tool_calls=(call,))) == "May I?"


def test_tool_returns_are_unpacked() -> None:
    packed = pack_tool_return("sold out", status="success", at=NOON, timezone=None)
    plain = ToolReturn(tool_call_id="2", name="shop", status="success", content=(TextPart(text="plain"),))
    first = ToolReturn(tool_call_id="1", name="shop", status="success", content=packed)
    assert message_words(message("tool", content=(), tool_returns=(first, plain))) == "sold out\nplain"


@pytest.mark.parametrize("name", ["conversation_search", "archival_memory_search", "send_message"])
def test_returns_that_only_repeat_or_confirm_are_not_indexed(name: str) -> None:
    answer = ToolReturn(tool_call_id="1", name=name, status="success", content="tea")
    assert message_words(message("tool", content=(), tool_returns=(answer,))) == ""


@pytest.mark.parametrize("role", ["system", "summary"])
def test_prompts_and_summaries_are_not_indexed(role: Role) -> None:
    assert message_words(message(role, "tea")) == ""


@pytest.mark.parametrize(
    "notice",
    [
        pack_heartbeat("tea", at=NOON, timezone=None),
        pack_login(at=NOON, timezone=None),
        pack_alert("tea", at=NOON, timezone=None),
    ],
)
def test_automatic_notices_are_not_indexed(notice: str) -> None:
    assert message_words(message("user", notice)) == ""


@pytest.mark.parametrize("text", ['{"type": "login"', '{"kind": "login"}', '["login"]', 'My "login" fails'])
def test_what_only_looks_like_a_notice_is_indexed(text: str) -> None:
    assert message_words(message("user", text)) == text
