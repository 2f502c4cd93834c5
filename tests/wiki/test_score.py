import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.errors import DataError
from posttrain.wiki.score import exact_match, f1, normalize, token_overlap

VECTORS = Path(__file__).resolve().parents[3] / "shared/data/hotpot/score_vectors.jsonl"

words = st.sampled_from(
    ["a", "the", "an", "yes", "no", "noanswer", "Paris", "paris,", "São", "東京", "U.S.", "--", "1,844"]
)
answers_text = st.one_of(st.text(max_size=30), st.lists(words, max_size=6).map(" ".join))


def test_vectors_of_the_official_script() -> None:
    if not VECTORS.exists():
        pytest.skip(f"{VECTORS} is not on this machine; it holds the official script's results")
    vectors = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]
    assert len(vectors) == 56
    for vector in vectors:
        prediction, gold = vector["prediction"], vector["gold"]
        overlap = token_overlap(prediction, gold)
        found = {
            "em": exact_match(prediction, [gold]),
            "f1": f1(prediction, [gold]),
            "precision": overlap.precision,
            "recall": overlap.recall,
            "norm_prediction": normalize(prediction),
            "norm_gold": normalize(gold),
        }
        assert found == {key: vector[key] for key in found}, vector


@given(answers_text, answers_text)
def test_f1_is_symmetric_and_a_share(one: str, other: str) -> None:
    assert f1(one, [other]) == f1(other, [one])
    assert 0.0 <= f1(one, [other]) <= 1.0
    assert exact_match(one, [other]) == exact_match(other, [one])


@given(answers_text, answers_text)
def test_precision_and_recall_change_places_with_the_sides(one: str, other: str) -> None:
    there, back = token_overlap(one, other), token_overlap(other, one)
    assert (there.precision, there.recall) == (back.recall, back.precision)


@given(answers_text, answers_text)
def test_exact_match_means_f1_of_one_unless_nothing_is_left(one: str, other: str) -> None:
    for prediction, gold in ((one, other), (one, one), (one, f"The {one}!")):
        if exact_match(prediction, [gold]):
            assert f1(prediction, [gold]) == (1.0 if normalize(prediction) else 0.0)


@given(answers_text, st.lists(answers_text, min_size=1, max_size=4))
def test_the_best_gold_answer_counts(prediction: str, golds: list[str]) -> None:
    assert f1(prediction, golds) == max(f1(prediction, [gold]) for gold in golds)
    assert exact_match(prediction, golds) == max(exact_match(prediction, [gold]) for gold in golds)


@pytest.mark.parametrize("text", ["The Beatles", "A.A. Milne", " Robert\tZemeckis\n", "July 14, 2009", "the \u200ban"])
def test_normalizing_twice_changes_nothing(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@given(st.text())
def test_normalized_text_has_single_spaces_and_no_ascii_punctuation(text: str) -> None:
    normalized = normalize(text)
    assert normalized == " ".join(normalized.split())
    assert not set(normalized) & set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
    assert not {"a", "an", "the"} & set(normalized.split())


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("İstanbul", "i̇stanbul"),
        ("Beyoncé", "beyoncé"),
        ("Arthur’s", "arthur’s"),
        ("no\u00a0break\u2003space", "no break space"),
        ("zero\u200bwidth", "zero\u200bwidth"),
        ("an\u0301", "\u0301"),
        ("\U0001f600 a \U0001f600", "\U0001f600 \U0001f600"),
        ("Ａ", "ａ"),
        ("\ud800", "\ud800"),
    ],
)
def test_odd_unicode_goes_the_official_way(text: str, normalized: str) -> None:
    assert normalize(text) == normalized


def test_yes_and_no_are_all_or_nothing_whichever_side_holds_them() -> None:
    assert f1("Yes!", ["yes"]) == 1.0
    assert f1("yes it is", ["yes"]) == f1("yes", ["yes it is"]) == f1("no answer", ["noanswer"]) == 0.0
    assert f1("yes it is", ["yes", "yes it was"]) == pytest.approx(2 / 3)


@pytest.mark.parametrize("answers", [[], (), "Paris"])
def test_answers_that_are_no_list_of_answers_are_refused(answers: list[str]) -> None:
    for scorer in (exact_match, f1):
        with pytest.raises(DataError, match="answers must be a list"):
            scorer("Paris", answers)
