"""Exact match and token F1 by the rules of the official HotpotQA evaluation script, which extend SQuAD's."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from posttrain.errors import DataError

ALL_OR_NOTHING = frozenset({"yes", "no", "noanswer"})
"""Normalized answers for which a part counts nothing: "yes, they were" is no answer to a gold "yes"."""

_DROP_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(a|an|the)\b")


@dataclass(frozen=True)
class TokenOverlap:
    """Tokens that a prediction and one gold answer share, as shares of either in [0, 1], and their harmonic mean."""

    precision: float
    recall: float
    f1: float


_NOTHING_SHARED = TokenOverlap(0.0, 0.0, 0.0)


def normalize(text: str) -> str:
    """Lower case, no ASCII punctuation, no articles, single spaces, in that order.

    The order matters: "A.A. Milne" becomes "aa milne" since the dots go before articles are looked for. Only ASCII
    punctuation goes, and accents stay, because the published scores of others rest on the same rule.
    """
    bare = text.lower().translate(_DROP_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", bare).split())


def token_overlap(prediction: str, answer: str) -> TokenOverlap:
    """Multiset token overlap with one gold answer (F1 of Rajpurkar et al. 2016, with HotpotQA's yes/no rule)."""
    predicted, gold = normalize(prediction), normalize(answer)
    if predicted != gold and not ALL_OR_NOTHING.isdisjoint((predicted, gold)):
        return _NOTHING_SHARED
    predicted_tokens, gold_tokens = predicted.split(), gold.split()
    shared = (Counter(predicted_tokens) & Counter(gold_tokens)).total()
    if shared == 0:
        return _NOTHING_SHARED
    precision, recall = shared / len(predicted_tokens), shared / len(gold_tokens)
    return TokenOverlap(precision, recall, 2 * precision * recall / (precision + recall))


def exact_match(prediction: str, answers: Sequence[str]) -> float:
    """1.0 if the prediction equals any gold answer once both are normalized, else 0.0.

    Raises:
        DataError: `answers` is empty, or one string instead of a list.
    """
    predicted = normalize(prediction)
    return float(any(predicted == normalize(answer) for answer in _checked(answers)))


def f1(prediction: str, answers: Sequence[str]) -> float:
    """Token F1 in [0, 1], the best over the gold answers.

    When both sides normalize to nothing ("the" for a gold "a"), F1 is 0 and exact match 1, as in the official script.

    Raises:
        DataError: `answers` is empty, or one string instead of a list.
    """
    return max(token_overlap(prediction, answer).f1 for answer in _checked(answers))


def _checked(answers: Sequence[str]) -> Sequence[str]:
    if isinstance(answers, str) or not answers:
        raise DataError(f"answers must be a list of at least one string, found {answers!r}; mend the question's row")
    return answers
