"""One sentence for each stage: what it added, at what price, and whether that is real."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posttrain.wiki.ablation import ARMS, STEPS


@dataclass(frozen=True)
class Price:
    """What a stage takes when nothing of it is in the sample store: USD, and attempts or tokens in words."""

    usd: float
    work: str


def sentences(ablation: Mapping[str, Any], prices: Mapping[str, Price]) -> list[str]:
    """Plain sentences, one an arm, in the order of the table.

    Args:
        ablation: the result of `wiki.ablation.compare`.
        prices: of the arms that were trained, by arm.
    """
    arms, base = ablation["arms"], ablation["arms"]["base"]
    floor = arms["closed_book"]["f1"]
    found = [
        f"Closed book, without searching, the untrained model reaches F1 {floor:.3f}: the floor.",
        f"Base, the untrained model in the harness, reaches {base['f1']:.3f} with {base['searches']:.2f} searches a "
        "question: the start.",
    ]
    for arm, against in STEPS.items():
        step, title = ablation["steps"][arm], ARMS[arm]
        low, high = step["ci"]
        price = f" for {_priced(prices[arm])}" if arm in prices else ""
        interval = f"{ablation['confidence'] * 100:g}% interval {low:+z.3f} to {high:+z.3f}"
        found.append(
            f"{title} {_changed(step['delta'])} {ARMS[against]}{price}: {_verdict(step)} ({interval}, p "
            f"{step['p_holm']:.3f} after Holm)."
        )
    return found


def _priced(price: Price) -> str:
    return f"{price.usd:.2f} USD ({price.work})"


def _changed(delta: float) -> str:
    if round(delta, 3) == 0:
        return "scores the same F1 as"
    return f"{'adds' if delta > 0 else 'loses'} {abs(delta):.3f} F1 {'to' if delta > 0 else 'against'}"


def _verdict(step: Mapping[str, Any]) -> str:
    low, high = step["ci"]
    if low > 0 or high < 0:
        return "real, its interval excludes 0"
    if low == high == 0:
        return "no question was scored differently"
    return (
        f"not shown to be real, its interval holds 0; a true difference of {step['smallest_detectable']:.3f} would be "
        "found four times in five"
    )
