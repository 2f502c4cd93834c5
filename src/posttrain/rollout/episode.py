"""What one rollout leaves behind: tokens with flags and logprobs, how it ended, and what the environment noted."""

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import groupby
from typing import Any

from posttrain.chat.format import ChatFormat
from posttrain.files import Row


class End(StrEnum):
    """Why an episode ended."""

    ANSWER = "answer"
    """The policy gave its final answer; only this end can earn a reward."""
    NO_ACTION = "no_action"
    """A finished reply held no action that the environment knows."""
    LENGTH = "length"
    """A reply reached the token limit of a turn, or the next prompt would not fit the context."""
    BUDGET = "budget"
    """The policy asked for more actions than it is allowed."""


@dataclass(frozen=True)
class Episode:
    """One attempt at one task; token in, token out.

    Attributes:
        id: the task's id.
        attempt: number of the attempt at this task, from 0.
        prompt: token ids of the first prompt.
        tokens: token ids after it, both the policy's and the harness's (T).
        sampled: per token 1 if the policy sampled it, 0 if the harness put it in (T).
        logprobs: per token the sampler's logprob, 0.0 for harness tokens (T).
        end: why it ended.
        answer: the environment's final text; "" unless it ended in an answer.
        turns: replies sampled.
        prefill: prompt tokens of all turns together, cached ones included.
        cached: those of them that the sampler had in its cache.
        generated: tokens sampled.
        info: what the environment noted, as JSON values.
    """

    id: str
    attempt: int
    prompt: list[int]
    tokens: list[int]
    sampled: list[int]
    logprobs: list[float]
    end: End
    answer: str
    turns: int
    prefill: int
    cached: int
    generated: int
    info: dict[str, Any] = field(default_factory=dict)

    def to_row(self) -> Row:
        """The episode as one JSON object; floats keep every bit."""
        return asdict(self)

    @staticmethod
    def from_row(row: Row) -> "Episode":
        """The episode of a row that `to_row` made."""
        return Episode(**{**row, "end": End(row["end"])})

    def spans(self, chat: ChatFormat) -> list[tuple[bool, str]]:
        """Text of `tokens` as runs of (sampled by the policy, text), control tokens written out."""
        pairs = zip(self.sampled, self.tokens, strict=True)
        return [
            (bool(flag), chat.decode([token for _, token in run])) for flag, run in groupby(pairs, lambda pair: pair[0])
        ]

    def trace(self, chat: ChatFormat) -> str:
        """Text of the whole episode, prompt first, control tokens written out."""
        return chat.decode(self.prompt + self.tokens)
