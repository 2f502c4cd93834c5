"""Scoring stored episodes: a row per episode and the numbers of an arm. Samples nothing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from posttrain.files import Row
from posttrain.ledger.price import PriceSettings, Tokens
from posttrain.stats.bootstrap import mean_intervals
from posttrain.wiki.labels import failure_label
from posttrain.wiki.score import exact_match, f1

RESAMPLES, CONFIDENCE, SEED = 1000, 0.95, 0


def scored_row(episode: Row, question: Row, gold_titles: Sequence[str], prices: PriceSettings, searched: bool) -> Row:
    """Scores one episode: em and f1 (0 unless it ended in an answer), searches, cost in USD, label, what it found.

    `usd` is the upper bound that pays for every prompt token in full; `usd_cached` takes the sampler's cache off.
    """
    answers, answered = question["answers"], episode["end"] == "answer"
    info, prediction = episode["info"], episode["answer"]
    score = f1(prediction, answers) if answered else 0.0
    found = [title for titles in info["retrieved"] for title in titles]
    tokens = Tokens(prefill=episode["prefill"], cached=episode["cached"], sampled=episode["generated"])
    usd = prices.usd(tokens)
    return {
        "id": episode["id"],
        "question": question["question"],
        "answers": answers,
        "prediction": prediction,
        "type": question["type"],
        "level": question["level"],
        "em": exact_match(prediction, answers) if answered else 0.0,
        "f1": score,
        "end": episode["end"],
        "label": failure_label(episode["end"], score, prediction, answers, gold_titles, found if searched else None),
        "searches": len(info["queries"]),
        "queries": info["queries"],
        "retrieved": info["retrieved"],
        "gold_titles": list(gold_titles),
        "recall": len(set(gold_titles) & set(found)) / len(set(gold_titles)) if gold_titles else None,
        "tokens": len(episode["prompt"]) + len(episode["tokens"]),
        "generated": episode["generated"],
        "usd": usd,
        "usd_cached": usd - prices.discount(tokens),
    }


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The numbers of an arm: means over its rows, the 95% bootstrap interval of F1, and label counts."""
    # By id, as the ablation takes them, so that one seed gives one interval.
    ordered = sorted(rows, key=lambda row: str(row["id"]))
    interval = mean_intervals([[row["f1"] for row in ordered]], resamples=RESAMPLES, confidence=CONFIDENCE, seed=SEED)[
        0
    ]
    recalls = [row["recall"] for row in rows if row["recall"] is not None]
    labels = Counter(str(row["label"]) for row in rows if row["label"] is not None)
    return {
        "n": len(rows),
        "f1": interval.mean,
        "f1_ci": [interval.low, interval.high],
        "em": fmean(row["em"] for row in rows),
        "searches": fmean(row["searches"] for row in rows),
        "answered": fmean(row["end"] == "answer" for row in rows),
        "retrieval_recall": fmean(recalls) if recalls else None,
        "tokens": fmean(row["tokens"] for row in rows),
        "usd_per_question": fmean(row["usd"] for row in rows),
        "usd": sum(row["usd"] for row in rows),
        "usd_cached": sum(row["usd_cached"] for row in rows),
        "labels": dict(sorted(labels.items())),
    }
