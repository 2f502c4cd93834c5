"""One episode: sample a reply, let the environment react, stitch the next turn on, until it is over.

Every prompt is the one before plus tokens, so a sampler's cache always fits; nothing sampled is tokenized again.
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
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
    prompt = chat.prompt(*environment.messages())
    tokens: list[int] = []
    sampled: list[int] = []
    logprobs: list[float] = []
    turns = prefill = cached = 0

    def insert(ids: list[int]) -> None:
        tokens.extend(ids)
        sampled.extend([0] * len(ids))
        logprobs.extend([0.0] * len(ids))

    outcome: Continue | Done = Continue("")
    while isinstance(outcome, Continue):
        so_far = prompt + tokens
        if max_prompt_tokens is not None and len(so_far) > max_prompt_tokens:
            outcome = Done(End.LENGTH)
            break
        reply = await sample(so_far)
        turns, prefill, cached = turns + 1, prefill + len(so_far), cached + reply.cached_tokens
        logprobs.extend(_logprobs(reply))
        tokens.extend(reply.tokens)
        sampled.extend([1] * len(reply.tokens))
        if reply.stop_reason == "length":
            outcome = Done(End.LENGTH)
            break
        if not reply.tokens or reply.tokens[-1] != chat.end:
            insert([chat.end])
        outcome = await environment.step(chat.decode_reply(reply.tokens))
        if isinstance(outcome, Continue):
            insert(chat.next_turn(outcome.text))
    return Episode(
        id=id,
        attempt=attempt,
        prompt=prompt,
        tokens=tokens,
        sampled=sampled,
        logprobs=logprobs,
        end=outcome.end,
        answer=outcome.answer,
        turns=turns,
        prefill=prefill,
        cached=cached,
        generated=sum(sampled),
        info=environment.info(),
    )


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
