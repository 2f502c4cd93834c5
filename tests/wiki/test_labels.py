import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.errors import DataError
from posttrain.wiki.labels import FailureLabel, failure_label
from posttrain.wiki.score import f1

GOLD = ("Forrest Gump", "Robert Zemeckis")
ANSWER = "Robert Zemeckis"
BURIED = "a film directed by Robert Zemeckis starring Tom Hanks and Helen Hunt"


def label(
    prediction: str,
    retrieved: list[str] | None,
    *,
    answers: tuple[str, ...] = (ANSWER,),
    gold: tuple[str, ...] = GOLD,
    end: str = "answer",
) -> str | None:
    return failure_label(end, f1(prediction, answers), prediction, answers, gold, retrieved)


@pytest.mark.parametrize("end", ["no_action", "length", "budget"])
def test_an_episode_without_an_answer_fails_by_its_end(end: str) -> None:
    assert label("", [], end=end) == end
    assert label(ANSWER, list(GOLD), end=end) == end
    assert label("", None, end=end) == end


@pytest.mark.parametrize("retrieved", [None, [], ["Cast Away"], list(GOLD)])
def test_success_has_no_label(retrieved: list[str] | None) -> None:
    assert label(ANSWER, retrieved) is None
    assert label("Robert Lee Zemeckis Junior", retrieved) is None


def test_f1_of_one_half_is_a_success() -> None:
    assert f1("16", ["16 July 1966"]) == 0.5
    assert label("16", [], answers=("16 July 1966",)) is None


@pytest.mark.parametrize(
    ("retrieved", "expected"),
    [
        ([], "bad_query"),
        (["Cast Away", "Tom Hanks"], "bad_query"),
        (["Cast Away", GOLD[0]], "stopped_early"),
        ([GOLD[1], GOLD[1]], "stopped_early"),
        ([GOLD[1], "Cast Away", GOLD[0]], "misread"),
    ],
)
def test_wrong_answers_by_what_was_retrieved(retrieved: list[str], expected: str) -> None:
    assert label("Tom Hanks", retrieved) == expected
    assert label("", retrieved) == expected


@pytest.mark.parametrize("retrieved", [None, [], [GOLD[0]], list(GOLD)])
def test_a_buried_answer_is_too_long_whatever_was_retrieved(retrieved: list[str] | None) -> None:
    assert label(BURIED, retrieved) == "too_long"


def test_any_gold_answer_may_be_the_buried_one() -> None:
    assert label(BURIED, list(GOLD), answers=("Steven Spielberg and many others", ANSWER)) == "too_long"


def test_buried_means_whole_tokens_in_their_order() -> None:
    padding = "one two three four five six seven"
    assert label(f"Zemeckis Robert {padding}", list(GOLD)) == "misread"
    assert label(f"Roberto Zemeckis {padding}", list(GOLD)) == "misread"
    assert label(f"{padding}: «robert zemeckis»", list(GOLD)) == "misread"
    assert label(f"{padding}: ROBERT the Zemeckis!", list(GOLD)) == "too_long"


def test_yes_and_no_have_to_come_first() -> None:
    assert label("Yes, both are American", list(GOLD), answers=("yes",)) == "too_long"
    assert label("There is no record of it", list(GOLD), answers=("no",)) == "misread"
    assert label("nothing", list(GOLD), answers=("no",)) == "misread"


def test_an_answer_that_normalizes_to_nothing_is_contained_nowhere() -> None:
    assert label("some words", list(GOLD), answers=("the",)) == "misread"


def test_closed_book_and_unknown_gold_titles_say_nothing_about_retrieval() -> None:
    assert label("Tom Hanks", None) == "wrong"
    assert label("Tom Hanks", ["Cast Away"], gold=()) == "wrong"


def test_titles_are_compared_in_one_unicode_form() -> None:
    assert label("Tom Hanks", ["Beyonce\u0301"], gold=("Beyonc\u00e9",)) == "misread"


def test_an_unknown_end_is_refused() -> None:
    with pytest.raises(DataError, match="'crashed'"):
        label("", [], end="crashed")


@given(
    st.sampled_from(["answer", "no_action", "length", "budget"]),
    st.lists(st.sampled_from(["yes", "Robert", "Zemeckis", "the", "film"]), max_size=9).map(" ".join),
    st.lists(st.sampled_from([*GOLD, "Cast Away"])) | st.none(),
)
def test_every_failure_has_a_label_and_no_success_has_one(
    end: str, prediction: str, retrieved: list[str] | None
) -> None:
    found = label(prediction, retrieved, end=end)
    assert (found is None) == (end == "answer" and f1(prediction, [ANSWER]) >= 0.5)
    assert found is None or found in list(FailureLabel)
