"""A policy that says what it is told: the tokens of scripted replies, with logprobs that tell them apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from posttrain.chat.format import ChatFormat
from posttrain.rollout.loop import Sampled


class ScriptedPolicy:
    """Samples the given replies in order; keeps the prompts it saw.

    `with_end` gives the end-of-turn token as part of a reply, as Tinker does. `cut` is the number of the reply, from
    0, that stops at the token limit instead.
    """

    def __init__(
        self, chat: ChatFormat, replies: Sequence[str | list[int]], *, with_end: bool = True, cut: int | None = None
    ) -> None:
        self.chat, self.replies, self.with_end, self.cut = chat, list(replies), with_end, cut
        self.prompts: list[list[int]] = []
        self.given: list[list[int]] = []

    async def __call__(self, prompt: list[int]) -> Sampled:
        reply = self.replies[len(self.prompts)]
        tokens = self.chat.encode_content(reply) if isinstance(reply, str) else list(reply)
        length = self.cut == len(self.prompts)
        if self.with_end and not length:
            tokens.append(self.chat.end)
        cached = len(self.prompts[-1]) if self.prompts else 0
        self.prompts.append(list(prompt))
        self.given.append(tokens)
        logprobs = [float(np.float32(-0.1 * (1 + token % 7))) for token in tokens]
        return Sampled(tokens, logprobs, "length" if length else "stop", cached)


class Library:
    """A search over given paragraphs by shared words; keeps the queries it saw."""

    def __init__(self, passages: Sequence[dict[str, Any]]) -> None:
        self.passages, self.queries = list(passages), list[tuple[str, int]]()

    async def __call__(self, query: str, k: int) -> list[dict[str, Any]]:
        self.queries.append((query, k))
        words = set(query.lower().split())
        return [p for p in self.passages if words & set(f"{p['title']} {p['text']}".lower().split())][:k]
