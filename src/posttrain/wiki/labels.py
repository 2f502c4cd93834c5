"""Why an episode failed, in one word, from how it ended, its answer and which gold paragraphs it saw."""

from collections.abc import Collection, Sequence
from enum import StrEnum
from unicodedata import normalize as unicode_form

from posttrain.errors import DataError
from posttrain.wiki.score import ALL_OR_NOTHING, normalize

SUCCESS_F1 = 0.5
"""An answered episode is a failure when its F1 is below this."""

ANSWERED = "answer"


class FailureLabel(StrEnum):
    """The labels in their order of precedence: the first that holds is the episode's."""

    NO_ACTION = "no_action"
    """A reply held neither a search nor an answer."""
    LENGTH = "length"
    """A turn ran out of tokens."""
    BUDGET = "budget"
    """It searched again after the last allowed search."""
    TOO_LONG = "too_long"
    """A gold answer stands whole in the prediction, buried in so many other words that F1 fails."""
    WRONG = "wrong"
    """Retrieval cannot be judged: closed book, or a question whose gold titles are not known."""
    BAD_QUERY = "bad_query"
    """No gold paragraph was retrieved, be it that no query found one or that none was sent."""
    STOPPED_EARLY = "stopped_early"
    """Some gold paragraphs were retrieved, and it answered without the others."""
    MISREAD = "misread"
    """Every gold paragraph was retrieved and the answer is still wrong."""


_UNANSWERED = frozenset({FailureLabel.NO_ACTION, FailureLabel.LENGTH, FailureLabel.BUDGET})


def failure_label(
    end: str,
    f1: float,
    prediction: str,
    answers: Sequence[str],
    gold_titles: Collection[str],
    retrieved_titles: Collection[str] | None,
) -> FailureLabel | None:
    """The label of a failed episode; None when it ended in an answer with F1 of at least 0.5.

    Args:
        end: how the episode ended: answer, no_action, length or budget. Any end but answer is a failure.
        f1: best F1 over `answers`.
        prediction: the answer given; not looked at unless `end` is answer.
        answers: the gold answers.
        gold_titles: titles of the paragraphs that hold the answer; empty when the data names none.
        retrieved_titles: titles of all paragraphs shown; None for closed book, where there was no search to judge.
            An episode that could have searched and did not passes an empty collection.

    Raises:
        DataError: `end` is none of the four.
    """
    if end != ANSWERED:
        if end not in _UNANSWERED:
            raise DataError(
                f"episode end {end!r} is not one of answer, {', '.join(sorted(_UNANSWERED))}; sample it again"
            )
        return FailureLabel(end)
    if f1 >= SUCCESS_F1:
        return None
    if any(_stands_in(answer, prediction) for answer in answers):
        return FailureLabel.TOO_LONG
    if retrieved_titles is None or not gold_titles:
        return FailureLabel.WRONG
    gold, retrieved = _composed(gold_titles), _composed(retrieved_titles)
    if gold.isdisjoint(retrieved):
        return FailureLabel.BAD_QUERY
    return FailureLabel.MISREAD if gold <= retrieved else FailureLabel.STOPPED_EARLY


def _stands_in(answer: str, prediction: str) -> bool:
    """Whether the normalized gold answer is a run of whole tokens of the prediction.

    Recall is then 1, so F1 below 0.5 says that precision is below 1/3, and no threshold of its own is needed. A gold
    yes, no or noanswer fails by the all-or-nothing rule at any precision; it has to come first, for "there is no
    record of it" holds the word and does not answer "no".
    """
    gold, predicted = normalize(answer), normalize(prediction)
    if not gold:
        return False
    if gold in ALL_OR_NOTHING:
        return predicted.startswith(f"{gold} ")
    return f" {gold} " in f" {predicted} "


def _composed(titles: Collection[str]) -> set[str]:
    """Titles in NFC, the form the index keeps its text in."""
    return {unicode_form("NFC", title) for title in titles}
