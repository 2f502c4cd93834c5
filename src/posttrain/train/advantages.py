"""From the rewards of a group to advantages."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Literal

AdvantageName = Literal["mean", "std", "leave_one_out"]
TIE = 1e-6  # rewards that differ by less teach nothing


def advantages(rewards_G: Sequence[float], kind: AdvantageName) -> list[float] | None:
    """One advantage per episode of a group, or None when all rewards agree.

    mean: r - mean(r), as in Dr. GRPO (Liu et al. 2025, equation 3).
    std: the same over the group's standard deviation, as in GRPO (Shao et al. 2024, section 4.1.2).
    leave_one_out: r minus the mean of the others (Ahmadian et al. 2024, RLOO, equation 8).
    """
    if max(rewards_G) - min(rewards_G) < TIE:
        return None
    mean = fmean(rewards_G)
    centred = [reward - mean for reward in rewards_G]
    if kind == "std":
        spread = stdev(rewards_G)
        return [value / spread for value in centred]
    if kind == "leave_one_out":
        size = len(rewards_G)
        return [value * size / (size - 1) for value in centred]
    return centred
