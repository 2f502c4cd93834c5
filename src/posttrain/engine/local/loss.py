"""Losses over sampled tokens: sums, never means, as on Tinker.

With lp the trainer's log probability of a target token, q the sampler's, A its advantage, w its weight and
r = exp(lp - q):
    cross_entropy         -sum w lp
    importance_sampling   -sum r A
    ppo                   -sum min(r A, clip(r, 0.8, 1.2) A)          Schulman et al. 2017, equation 7
    cispo                 -sum stop_gradient(clip(r, 0, 4)) lp A      MiniMax-M1 2025, equation 4
"""

from collections.abc import Mapping

import torch

from posttrain.errors import EngineError

PPO_CLIP = (0.8, 1.2)
CISPO_CLIP = (0.0, 4.0)
INPUTS = {
    "cross_entropy": ("weights",),
    "importance_sampling": ("logprobs", "advantages"),
    "ppo": ("logprobs", "advantages"),
    "cispo": ("logprobs", "advantages"),
}


def check_loss(name: str) -> None:
    """Raises EngineError on a loss that the local engine lacks."""
    if name not in INPUTS:
        raise EngineError(f"loss {name} is unknown to the local engine; it has {', '.join(INPUTS)}")


def signal(name: str) -> str:
    """The input whose zeros mark tokens that teach nothing."""
    return INPUTS[name][-1]


def token_loss(name: str, logprobs: torch.Tensor, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The summed loss over tokens, all tensors (N,)."""
    if name == "cross_entropy":
        return -(inputs["weights"] * logprobs).sum()
    advantages = inputs["advantages"]
    ratio = torch.exp(logprobs - inputs["logprobs"])
    if name == "importance_sampling":
        return -(ratio * advantages).sum()
    if name == "ppo":
        return -torch.minimum(ratio * advantages, ratio.clamp(*PPO_CLIP) * advantages).sum()
    return -(ratio.clamp(*CISPO_CLIP).detach() * logprobs * advantages).sum()
