"""Rejection sampling: which of the collected attempts are learned from."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from posttrain.files import Row
from posttrain.ledger.price import PriceSettings, Tokens
from posttrain.wiki.score import f1
from posttrain.wiki.settings import SelectSettings


def select(
    episodes: Sequence[Row], answers: Mapping[str, Sequence[str]], settings: SelectSettings, prices: PriceSettings
) -> tuple[list[Row], dict[str, Any]]:
    """Keeps per question the shortest attempt that searched and reached `min_f1`; ties go to the earlier attempt.

    Returns:
        The kept episodes, in the order of their questions, and metrics with `advice`, None when the yield is healthy.
    """
    groups: dict[str, list[Row]] = {}
    for episode in episodes:
        groups.setdefault(episode["id"], []).append(episode)
    kept, solved = [], 0
    for id, group in groups.items():
        good = [
            episode
            for episode in group
            if episode["end"] == "answer" and f1(episode["answer"], answers[id]) >= settings.min_f1
        ]
        solved += bool(good)
        searched = [episode for episode in good if episode["info"]["queries"]]
        if searched:
            kept.append(min(searched, key=lambda episode: len(episode["tokens"])))
    tokens = Tokens(prefill=sum(row["prefill"] for row in episodes), sampled=sum(row["generated"] for row in episodes))
    metrics = {
        "questions": len(groups),
        "attempts": len(episodes),
        "kept": len(kept),
        "solved_at_k": solved / len(groups),
        "searches": fmean(len(episode["info"]["queries"]) for episode in kept) if kept else 0.0,
        "usd": prices.usd(tokens),
        "advice": _advice(len(kept), len(groups), settings),
    }
    return kept, metrics


def _advice(kept: int, questions: int, settings: SelectSettings) -> str | None:
    if kept < settings.few:
        return (
            f"only {kept} questions kept, fewer than {settings.few}: raise collect.questions or collect.tries, "
            "or lower select.min_f1"
        )
    if kept > settings.many * questions:
        return f"{kept} of {questions} questions kept: too easy to teach much, use harder questions (data.levels)"
    return None
