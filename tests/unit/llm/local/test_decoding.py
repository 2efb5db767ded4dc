"""Answers are read while they are still being written."""

import pytest

from remanence.llm.local.decoding import AnswerDecoder


def feed(decoder: AnswerDecoder, text: str, size: int) -> list[str]:
    return [decoder.feed(text[at : at + size]) for at in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_the_words_of_a_reply_come_out_however_it_is_cut(size: int) -> None:
    decoder = AnswerDecoder()
    pieces = feed(decoder, r'{"reply":"Zo\u00eb said \"hi\"\n\ud83c\udf75 \\o/"}', size)
    assert "".join(pieces) == 'Zoë said "hi"\n🍵 \\o/'
    assert decoder.answer() == ("reply", 'Zoë said "hi"\n🍵 \\o/')


def test_words_are_passed_on_before_the_answer_is_whole() -> None:
    decoder = AnswerDecoder()
    assert [decoder.feed(piece) for piece in ('{"re', 'ply":"Hel', "lo, ", "you")] == [
        "",
        "Hel",
        "lo, ",
        "you",
    ]
    assert decoder.has_words


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_arguments_are_kept_until_they_are_whole(size: int) -> None:
    decoder = AnswerDecoder()
    assert "".join(feed(decoder, '{"remember":{"label":"human","text":"Has a cat, \\"Mia\\"."}}', size)) == ""
    assert decoder.answer() == ("remember", {"label": "human", "text": 'Has a cat, "Mia".'})
    assert not decoder.has_words


@pytest.mark.parametrize(
    "text", ["", '{"reply":"cut o', '{"remember":{"label":"human"', "[1]", '{"a":1,"b":2}']
)
def test_an_answer_that_was_cut_short_is_none(text: str) -> None:
    decoder = AnswerDecoder()
    decoder.feed(text)
    with pytest.raises(ValueError):  # noqa: PT011 - any text of the JSON reader will do
        decoder.answer()
