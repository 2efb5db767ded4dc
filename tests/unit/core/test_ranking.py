"""How what was found is put in order."""

from datetime import UTC, datetime, timedelta

import pytest

from remanence.core.ranking import (
    COVERAGE_WEIGHT,
    Candidate,
    ScoreList,
    bm25,
    choose_candidates,
    merge,
    normalise,
    positions,
    rank,
    rarities,
)

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


def order(candidates: list[Candidate], *lists: ScoreList) -> list[str]:
    return [each.id for each in rank(candidates, lists)]


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


def test_scores_are_normalised_from_the_least_possible_to_the_best() -> None:
    assert normalise(ScoreList({"a": 4.0, "b": 1.0})) == {"a": 1.0, "b": 0.25}
    assert normalise(ScoreList({"a": 0.0, "b": -1.0}, floor=-1.0)) == {"a": 1.0, "b": 0.0}


def test_a_list_of_zeros_stays_at_zero() -> None:
    assert normalise(ScoreList({"a": 0.0})) == {"a": 0.0}
    assert normalise(ScoreList({})) == {}


def test_lists_are_summed_by_weight() -> None:
    words = ScoreList({"a": 2.0, "b": 1.0}, weight=1.0)
    meaning = ScoreList({"b": 1.0, "c": 0.0}, weight=3.0, floor=-1.0)
    assert merge([words, meaning]) == {"a": 0.25, "b": 0.125 + 0.75, "c": 0.375}


def test_a_list_that_found_nothing_has_no_vote() -> None:
    assert merge([ScoreList({"a": 2.0}), ScoreList({}, weight=5.0)]) == {"a": 1.0}
    assert merge([]) == {}


def test_a_hit_with_more_of_the_words_goes_before_an_equal_one() -> None:
    candidates = [Candidate("half", NOON, 0.5), Candidate("whole", NOON, 1.0)]
    ranked = rank(candidates, [ScoreList({"half": 1.0, "whole": 1.0})])
    assert [each.id for each in ranked] == ["whole", "half"]
    assert ranked[0].score == 1.0
    assert ranked[1].score == pytest.approx(1 - COVERAGE_WEIGHT / 2)


def test_of_equals_the_newer_goes_first_then_the_smaller_id() -> None:
    newer = NOON + timedelta(seconds=1)
    candidates = [Candidate("b", NOON), Candidate("a", NOON), Candidate("c", newer)]
    assert order(candidates, ScoreList(dict.fromkeys("abc", 1.0))) == ["c", "a", "b"]
    assert order(candidates[::-1], ScoreList(dict.fromkeys("abc", 1.0))) == ["c", "a", "b"]


def test_noise_in_the_scores_does_not_beat_recency() -> None:
    candidates = [Candidate("old", NOON), Candidate("new", NOON + timedelta(days=1))]
    assert order(candidates, ScoreList({"old": 1.0, "new": 1.0 - 1e-12})) == ["new", "old"]


def test_what_no_list_knows_is_left_out() -> None:
    assert order([Candidate("a", NOON), Candidate("b", NOON)], ScoreList({"a": 1.0})) == ["a"]


def test_equal_scores_share_a_place() -> None:
    assert positions({"a": 2.0, "b": 3.0, "c": 2.0, "d": 1.0}) == {"b": 1, "a": 2, "c": 2, "d": 4}
