"""How much of the evidence the raw question finds: the index stage's metric, before any model is involved."""

from collections.abc import Sequence

from posttrain.errors import DataError, SettingsError
from posttrain.wiki.search import Searcher


def recall_at_k(
    searcher: Searcher, questions: Sequence[str], gold_titles: Sequence[Sequence[str]], ks: Sequence[int]
) -> dict[str, float]:
    """`{"recall@k": ...}`: the share of a question's gold titles among its top k, averaged over questions.

    Raises:
        SettingsError: ks is empty or holds a number below 1.
        DataError: there are no questions, or one has no gold titles, or the two do not pair up.
    """
    if not ks or min(ks) < 1:
        raise SettingsError(f"recall is measured at cut-offs of 1 or more, found {list(ks)}; set index.recall_at")
    if not questions or len(questions) != len(gold_titles):
        raise DataError(f"{len(questions)} questions, {len(gold_titles)} lists of gold titles; run `dvc repro prep`")
    found = dict.fromkeys(ks, 0.0)
    for question, titles in zip(questions, gold_titles, strict=True):
        gold = set(titles)
        if not gold:
            raise DataError(f"no gold titles for the question {question!r}; run `dvc repro prep`")
        ranked = [hit["title"] for hit in searcher.search(question, max(ks))]
        for k in found:
            found[k] += len(gold.intersection(ranked[:k])) / len(gold)
    return {f"recall@{k}": total / len(questions) for k, total in found.items()}
