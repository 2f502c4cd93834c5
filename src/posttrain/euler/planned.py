"""A rollout as it is planned: of which problem, in which language, for what."""

from dataclasses import dataclass
from typing import Literal

CANONICAL = "canonical"
"""The strategy of the neutral prompt, the only one that can unlock."""
Role = Literal["current", "regression", "future", "variant", "transfer"]
"""current: at the frontier. regression: mastered lately. future: beyond the frontier and untouched. variant: of
another seed. transfer: of the frozen transfer suite, whose numbers are its own."""


@dataclass(frozen=True)
class Planned:
    """One rollout to be sampled. index: from 0 within problem, language, strategy and role."""

    problem: int
    language: str
    strategy: str
    role: Role
    index: int

    @property
    def key(self) -> str:
        """A name for it that is good for a file."""
        return f"{self.role}-{self.problem}-{self.language}-{self.strategy}-{self.index}"
