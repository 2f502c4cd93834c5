"""One episode: sample a reply, let the environment react, stitch the next turn on, until it is over.

Every prompt is the one before plus tokens, so a sampler's cache always fits; nothing sampled is tokenized again.
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from posttrain.chat.format import ChatFormat
from posttrain.errors import EngineError
from posttrain.rollout.environment import Continue, Done, Environment
from posttrain.rollout.episode import End, Episode


@dataclass(frozen=True)
class Sampled:
    """One reply as a sampler returned it.

    Attributes:
        tokens: token ids, with the end-of-turn token if the sampler gives it.
        logprobs: one per token, or None from a sampler that has none.
        stop_reason: "stop" at the end of the turn, "length" at the token limit.
        cached_tokens: prompt tokens that were in the sampler's cache.
    """

    tokens: list[int]
    logprobs: list[float] | None
    stop_reason: Literal["stop", "length"]
    cached_tokens: int = 0


Sample = Callable[[list[int]], Awaitable[Sampled]]


async def run_episode(
    sample: Sample,
    environment: Environment,
    chat: ChatFormat,
    *,
    id: str,
    attempt: int,
    max_prompt_tokens: int | None = None,
) -> Episode:
    """Plays one episode to its end.

    A reply cut off at the sampler's token limit ends it as `length` without being read: an answer followed by
    rambling up to the limit is not one to reward.

    Args:
        sample: draws one reply for a prompt of token ids.
        environment: the task, fresh for this attempt.
        chat: how the policy's family writes turns.
        id: the task's id.
        attempt: number of this attempt.
        max_prompt_tokens: longest prompt that leaves room for a reply; a longer one ends the episode as `length`.

    Raises:
        EngineError: the sampler gave no logprobs, or not one finite logprob per token.
    """
    record = _Record(chat.prompt(*environment.messages()))
    outcome: Continue | Done = Continue("")
    while isinstance(outcome, Continue):
        so_far = record.prompt + record.tokens
        if max_prompt_tokens is not None and len(so_far) > max_prompt_tokens:
            outcome = Done(End.LENGTH)
            break
        reply = await sample(so_far)
        record.sampled_reply(reply, len(so_far))
        if reply.stop_reason == "length":
            outcome = Done(End.LENGTH)
            break
        if not reply.tokens or reply.tokens[-1] != chat.end:
            record.inserted([chat.end])
        outcome = await environment.step(chat.decode_reply(reply.tokens))
        if isinstance(outcome, Continue):
            record.inserted(chat.next_turn(outcome.text))
    return Episode(
        id=id,
        attempt=attempt,
        end=outcome.end,
        answer=outcome.answer,
        generated=sum(record.sampled),
        info=environment.info(),
        **vars(record),
    )


@dataclass
class _Record:
    """The growing half of an `Episode`; fields as there."""

    prompt: list[int]
    tokens: list[int] = field(default_factory=list)
    sampled: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    turns: int = 0
    prefill: int = 0
    cached: int = 0

    def sampled_reply(self, reply: Sampled, prompt_tokens: int) -> None:
        self._add(reply.tokens, 1, _logprobs(reply))
        self.turns += 1
        self.prefill += prompt_tokens
        self.cached += reply.cached_tokens

    def inserted(self, tokens: list[int]) -> None:
        self._add(tokens, 0, [0.0] * len(tokens))

    def _add(self, tokens: list[int], flag: int, logprobs: list[float]) -> None:
        self.tokens.extend(tokens)
        self.sampled.extend([flag] * len(tokens))
        self.logprobs.extend(logprobs)


def _logprobs(reply: Sampled) -> list[float]:
    """The reply's logprobs, checked."""
    if reply.logprobs is None:
        raise EngineError(
            "the sampler returned no logprobs, and training on its tokens would be wrong; set an engine that does"
        )
    if len(reply.logprobs) != len(reply.tokens):
        counts = f"{len(reply.logprobs)} logprobs for {len(reply.tokens)} tokens"
        raise EngineError(f"the sampler returned {counts}; its server does not fit this version, check TINKER_BASE_URL")
    values = [float(value) for value in reply.logprobs]
    if not all(map(math.isfinite, values)):
        raise EngineError(
            "the sampler returned a logprob that is not finite; lower the learning rate or check the weights"
        )
    return values
