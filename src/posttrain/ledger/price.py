"""What tokens cost, and how much may be spent: the `prices` and `budget` sections of params.yaml."""

from dataclasses import dataclass

from posttrain.errors import SettingsError


@dataclass(frozen=True)
class Tokens:
    """What a request or a training step is billed for; `cached` counts those of `prefill` that came from a cache."""

    prefill: int = 0
    cached: int = 0
    sampled: int = 0
    trained: int = 0

    @property
    def total(self) -> int:
        """All that went through the model."""
        return self.prefill + self.sampled + self.trained

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.prefill + other.prefill,
            self.cached + other.cached,
            self.sampled + other.sampled,
            self.trained + other.trained,
        )


@dataclass(frozen=True)
class PriceSettings:
    """USD per million tokens of `model`; `model` is null and all are 0 where it runs on the user's own machine."""

    model: str | None
    prefill: float
    cached: float
    sample: float
    train: float

    def check(self) -> None:
        """Raises SettingsError on a negative price."""
        for name in ("prefill", "cached", "sample", "train"):
            if getattr(self, name) < 0:
                raise SettingsError(f"{name}: must be at least 0, is {getattr(self, name)}")
        if self.cached > self.prefill:
            raise SettingsError(f"cached: must be at most prefill ({self.prefill}), is {self.cached}")

    def usd(self, tokens: Tokens) -> float:
        """The upper bound, which pays for every prompt token in full."""
        return (tokens.prefill * self.prefill + tokens.sampled * self.sample + tokens.trained * self.train) / 1e6

    def discount(self, tokens: Tokens) -> float:
        """What the sampler's cache takes off `usd`."""
        return tokens.cached * (self.prefill - self.cached) / 1e6


FREE = PriceSettings(None, 0.0, 0.0, 0.0, 0.0)
"""The user's own machine."""


@dataclass(frozen=True)
class BudgetSettings:
    """usd: what this project's folder may spend in all, experiments included; 0 spends nothing.

    check_estimate: a stage whose estimate passes what is left does not start; false starts it and stops at the cap.
    """

    usd: float
    check_estimate: bool

    def check(self) -> None:
        """Raises SettingsError on a negative cap."""
        if self.usd < 0:
            raise SettingsError(f"usd: must be at least 0, is {self.usd}")
