"""How what was found is put in order."""

from datetime import UTC, datetime, timedelta

import pytest

from remanence.core.ranking import (
    bm25,
    choose_candidates,
    fuse,
    length_prior,
    positions,
    rank,
    rarities,
    share_of_next,
    share_of_previous,
)

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


def test_rarer_words_say_more() -> None:
    rare, frequent, absent = rarities([2, 200, 0])
    assert rare > frequent > absent == 0


def test_no_words_have_no_rarity() -> None:
    assert rarities([]) == []


def test_candidates_are_those_whose_words_say_most_then_the_latest() -> None:
    masks = {1: 0b01, 2: 0b11, 3: 0b10, 4: 0b01, 5: 0b01}
    assert choose_candidates(masks, [1.0, 2.0], 4) == {2: 0b11, 3: 0b10, 5: 0b01, 4: 0b01}
    assert choose_candidates(masks, [1.0, 2.0], 0) == {}


def test_more_and_rarer_words_score_higher() -> None:
    counts = {"rare": [1, 0], "frequent": [0, 1], "both": [1, 1], "often": [0, 3]}
    scores = bm25(counts, dict.fromkeys(counts, 100), [3.0, 1.0])
    assert scores["both"] > scores["rare"] > scores["often"] > scores["frequent"] > 0


def test_a_word_weighs_more_in_a_short_text() -> None:
    scores = bm25({"long": [1], "short": [1]}, {"long": 1000, "short": 20}, [1.0])
    assert scores["short"] > scores["long"]


def test_texts_without_length_do_no_harm() -> None:
    assert bm25({"empty": [1]}, {"empty": 0}, [1.0])["empty"] > 0
    assert bm25({}, {}, [1.0]) == {}


def test_words_and_meaning_are_summed() -> None:
    scores = fuse({"words": 4.0, "both": 4.0}, {"meaning": 0.5, "both": 0.5}, ideal=4.0)
    assert scores["both"] == pytest.approx(scores["words"] + scores["meaning"])
    assert 0 < scores["meaning"] <= scores["words"] < scores["both"] <= 1


def test_one_word_of_many_does_not_outweigh_what_is_meant() -> None:
    scores = fuse({"a word": 1.0}, {"meant": 0.4}, ideal=5.0)
    assert scores["meant"] > scores["a word"]


def test_without_vectors_words_decide_and_without_words_vectors() -> None:
    assert fuse({"a": 2.0}, {}, ideal=2.0) == {"a": 1.0}
    assert fuse({}, {"a": 0.8}, ideal=0.0) == {"a": 1.0}
    assert fuse({}, {}, ideal=0.0) == {}


def test_a_weak_likeness_is_weak_even_if_it_is_the_best() -> None:
    assert fuse({}, {"a": 0.11}, ideal=0.0)["a"] < 0.25


def test_a_question_speaks_for_a_short_answer() -> None:
    asked, told = "Where did you grow up?", "I grew up somewhere."
    assert share_of_previous(asked, "In Lisbon.") > share_of_previous(told, "In Lisbon.")
    assert share_of_previous(asked, "In Lisbon.") > 3 * share_of_previous(asked, "word " * 200)
    assert share_of_next("Short.") > share_of_next("word " * 200) > 0


def test_a_word_or_two_seldom_answer_anything() -> None:
    assert length_prior("Ok.") < length_prior("The owl nests in the barn.") < length_prior("w " * 50) == 1.0


def test_of_equals_the_newer_goes_first_then_the_smaller_id() -> None:
    moments = {"a": NOON, "b": NOON, "c": NOON + timedelta(seconds=1)}
    for ids in ("abc", "cba"):
        assert [each.id for each in rank(dict.fromkeys(ids, 1.0), moments)] == ["c", "a", "b"]


def test_noise_in_the_scores_does_not_beat_recency() -> None:
    moments = {"old": NOON, "new": NOON + timedelta(days=1)}
    assert [each.id for each in rank({"old": 0.9, "new": 0.9 - 1e-12}, moments)] == ["new", "old"]


def test_scores_stay_between_0_and_1_and_keep_their_order() -> None:
    ranked = rank({"a": 1.2, "b": 1.4, "c": -0.1}, dict.fromkeys("abc", NOON))
    assert [(each.id, each.score) for each in ranked] == [("b", 1.0), ("a", 1.0), ("c", 0.0)]


def test_equal_scores_share_a_place() -> None:
    assert positions({"a": 2.0, "b": 3.0, "c": 2.0, "d": 1.0}) == {"b": 1, "a": 2, "c": 2, "d": 4}
