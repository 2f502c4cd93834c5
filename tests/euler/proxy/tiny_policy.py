"""A policy over bytes that says what it is told, behind the chat template of a model that calls tools."""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np
from tinker import ModelInput, SampledSequence, SampleResponse, SamplingParams
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from posttrain.chat.tool_chat import ToolChat
from posttrain.ledger.store import SampleStore
from posttrain.rollout.policy import Policy
from tests.chat.tool_templates import JSON_CALL, chatml
from tests.families import byte_characters

PAIR, PAIR_TOKEN = "42", 256
"""The one token of two letters: text that holds them can be spelled in two ways."""


@cache
def byte_tokenizer() -> Any:
    from transformers import PreTrainedTokenizerFast

    vocabulary = {letter: byte for byte, letter in byte_characters().items()}
    vocabulary[PAIR] = PAIR_TOKEN
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[(PAIR[0], PAIR[1])]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_tokens([AddedToken(text, special=True) for text in ("<|im_start|>", "<|im_end|>")])
    template = chatml(JSON_CALL)
    return PreTrainedTokenizerFast(tokenizer_object=backend, chat_template=template, eos_token="<|im_end|>")


@cache
def byte_chat() -> ToolChat:
    return ToolChat.of(byte_tokenizer())


def spelled(text: str, chat: ToolChat, *, end: bool = True) -> list[int]:
    """As bytes one by one, which is not how the tokenizer would write it."""
    return [*text.encode(), *([chat.end] if end else [])]


def called(name: str, **arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


class Telling:
    """A sampler that gives its replies in order; keeps prompts and parameters."""

    def __init__(self, *replies: Sequence[int], stop: str = "stop") -> None:
        self.replies, self.stop = list(replies), stop
        self.prompts: list[list[int]] = []
        self.how: list[SamplingParams] = []

    def caller(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def sample(self, prompt: ModelInput, num_samples: int, sampling_params: SamplingParams) -> SampleResponse:
        assert num_samples == 1
        tokens = self.replies[len(self.prompts)]
        self.prompts.append(prompt.to_ints())
        self.how.append(sampling_params)
        sequence = SampledSequence(
            stop_reason=self.stop,
            sequence_id="0",
            tokens_np=np.array(tokens),
            logprobs_np=np.full(len(tokens), -0.5, np.float32),
        )
        return SampleResponse(sequences=[sequence])


def policy_of(store: SampleStore, sampler: Telling) -> Policy:
    async def opened() -> Telling:
        return sampler

    return Policy("lineage", store, opened)
