"""What an episode is played against: it says the first words and reacts to each reply of the policy."""

from dataclasses import dataclass
from typing import Any, Protocol

from posttrain.rollout.episode import End


@dataclass(frozen=True)
class Continue:
    """The episode goes on with a user turn of this text."""

    text: str


@dataclass(frozen=True)
class Done:
    """The episode is over."""

    end: End
    answer: str = ""


class Environment(Protocol):
    """One task being attempted once; holds the state of that attempt."""

    def messages(self) -> tuple[str | None, str]:
        """System text (None leaves it to the chat template) and first user text."""
        ...

    async def step(self, reply: str) -> Continue | Done:
        """Reacts to a finished reply, given as text without its end-of-turn token."""
        ...

    def info(self) -> dict[str, Any]:
        """JSON values to keep with the episode."""
        ...
