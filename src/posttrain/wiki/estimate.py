"""What a stage will draw and train, before it runs: from what its like took before, else settings and texts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posttrain.ledger.price import PriceSettings, Tokens
from posttrain.ledger.spend import SpendLog
from posttrain.settings import read_params
from posttrain.wiki.episode_size import closed_book, episode, example

KEPT = 0.6
"""Share of the collected questions that selection is taken to keep, until it has run."""
SECONDS = 1.2
"""Hosted, per episode or example: the recipe gives two to three hours for 6,000 tries and their fine-tuning."""


@dataclass(frozen=True)
class Estimate:
    """units: episodes, or passes over an example. seconds: wall time. measured: from an earlier run of the stage."""

    units: int
    tokens: Tokens
    usd: float
    seconds: float
    measured: bool


def estimate(stage: str, params: Path, spend: SpendLog, model: str, prices: PriceSettings) -> Estimate | None:
    """The whole of a stage, as if nothing of it were stored; None for one that neither samples nor trains."""
    family = stage.split("@")[0]
    work = _work(stage, family, read_params(params), params.parent)
    if work is None:
        return None
    units, one = work
    average = spend.averages(stage, model)
    if average is None and stage != "test@closed_book":  # for which the other arms of test are no measure
        average = spend.averages(family, model)
    if average is None:
        tokens = _times(one, units, 1)
        return Estimate(units, tokens, prices.usd(tokens), units * SECONDS, measured=False)
    tokens = _times(average.tokens, units, average.units)
    return Estimate(units, tokens, prices.usd(tokens), tokens.total * average.seconds, measured=True)


def _work(stage: str, family: str, params: dict[str, Any], root: Path) -> tuple[int, Tokens] | None:
    """How many units the stage has, and what one takes as far as settings and texts tell."""
    collect, sft, grpo, coldstart = (params[section] for section in ("collect", "sft", "grpo", "coldstart"))
    match family:
        case "closed_book":
            return params["data"]["val"], closed_book(root)
        case "base" | "eval_sft" | "eval_grpo":
            return params["data"]["val"], episode(params, root)
        case "test":
            return params["data"]["test"], closed_book(root) if stage == "test@closed_book" else episode(params, root)
        case "collect":
            return collect["questions"] * collect["tries"], episode(params, root, collect["tries"])
        case "coldstart":
            return coldstart["demonstrations"] * coldstart["epochs"], example(params, root)
        case "sft":
            kept = _lines(root / "data" / "sft" / "episodes.jsonl")
            return (round(collect["questions"] * KEPT) if kept is None else kept) * sft["epochs"], example(params, root)
        case "grpo":
            episodes = grpo["steps"] * grpo["questions"] * grpo["group"]
            return episodes, episode(params, root, grpo["group"]) + example(params, root)
    return None


def _lines(path: Path) -> int | None:
    if not path.is_file():
        return None
    with path.open("rb") as lines:
        return sum(1 for _ in lines)


def _times(tokens: Tokens, units: int, of: int) -> Tokens:
    def scaled(count: int) -> int:
        return round(count * units / of)

    return Tokens(scaled(tokens.prefill), scaled(tokens.cached), scaled(tokens.sampled), scaled(tokens.trained))
