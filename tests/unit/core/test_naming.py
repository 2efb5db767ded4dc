"""Agent names: generated ones and given ones."""

import random

import pytest

from remanence.core.naming import FIRST_WORDS, SECOND_WORDS, check_agent_name, new_agent_name
from remanence.errors import Invalid


def test_there_are_words_enough_and_none_twice():
    for words in (FIRST_WORDS, SECOND_WORDS):
        assert len(words) >= 100
        assert len(set(words)) == len(words)
        assert all(word.isalpha() and word.istitle() for word in words)


def test_a_generated_name_is_two_words_and_valid():
    dice = random.Random(3)
    for _ in range(200):
        name = new_agent_name(dice)
        check_agent_name(name)
        assert sum(char.isupper() for char in name) == 2


@pytest.mark.parametrize(
    "name", ["ada", "Ada Lovelace", "agent_2-b", "O'Brien", "小明", "Ångström", "हिन्दी", "می‌خواهم", "x" * 200]
)
def test_names_of_any_script_are_welcome(name: str):
    check_agent_name(name)


@pytest.mark.parametrize("name", ["", "   ", "a/b", "a<b>", "a\nb", "a.b", "a@b", "😀", "x" * 201, "a\x00"])
def test_other_names_are_refused(name: str):
    with pytest.raises(Invalid):
        check_agent_name(name)
