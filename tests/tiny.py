"""Real parts small enough for tests: the tiny random model, a byte-level ChatML tokenizer, a game of several turns."""

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from tinker import Datum, ModelInput, SampleResponse, SamplingParams
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from posttrain.chat.format import ChatFormat
from posttrain.engine.local.engine import LocalEngine
from posttrain.engine.settings import EngineSettings
from posttrain.rollout.environment import Continue, Done
from posttrain.rollout.episode import End
from posttrain.rollout.policy import Drawing
from posttrain.rollout.runner import Task
from tests.families import byte_characters

VOCABULARY = 49152
# The random model would never end a turn by its one token, so here one token in eight does.
STOPS = tuple(range(0, VOCABULARY, 8))
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] | trim }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def settings(**changes: Any) -> EngineSettings:
    values = {"name": "local", "model": "tiny", "device": "cpu", "dtype": "float32"}
    return EngineSettings(**{**values, "threads": 1, "batch_rows": 16, "micro_batch_tokens": 4096, **changes})


def tiny_engine(**changes: Any) -> LocalEngine:
    return LocalEngine(settings(**changes))


def ids(count: int, seed: int = 0) -> list[int]:
    """Random tokens."""
    return random.Random(f"{count}-{seed}").choices(range(VOCABULARY), k=count)


def params(max_tokens: int = 8, temperature: float = 1.0, seed: int = 1, **others: Any) -> SamplingParams:
    return SamplingParams(max_tokens=max_tokens, temperature=temperature, seed=seed, **others)


async def sample(sampler: Any, prompt: Sequence[int], count: int, how: SamplingParams) -> list[tuple[list[int], Any]]:
    """Tokens and logprobs of each row."""
    response: SampleResponse = await sampler.sample(ModelInput.from_ints(list(prompt)), count, how)
    return [(list(s.tokens), list(s.logprobs or [])) for s in response.sequences]


def full_logprobs(causal: Any, prompt: Sequence[int], tokens: Sequence[int]) -> torch.Tensor:
    """Log probabilities of `tokens` after `prompt` by one teacher-forced pass of the whole model (T,)."""
    whole = torch.tensor([[*prompt, *tokens]])
    with torch.no_grad():
        logits = causal(input_ids=whole).logits[0, len(prompt) - 1 : -1].float()
    return torch.log_softmax(logits, -1).gather(1, torch.tensor([list(tokens)]).T)[:, 0]


def datum(tokens: Sequence[int], taught: int, **signal: Sequence[float]) -> Datum:
    """Teaches the last `taught` tokens; `signal` gives loss inputs for these, 0 goes before."""
    before = len(tokens) - 1 - taught
    inputs = {name: [0.0] * before + [float(v) for v in values] for name, values in signal.items()}
    return Datum(
        model_input=ModelInput.from_ints(list(tokens[:-1])),
        loss_fn_inputs={"target_tokens": list(tokens[1:]), **inputs},
    )


@cache
def tiny_chat() -> ChatFormat:
    """ChatML over bytes; ids beyond its 258 tokens decode to nothing."""
    from transformers import PreTrainedTokenizerFast

    vocabulary = {letter: byte for byte, letter in byte_characters().items()}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_tokens([AddedToken(text, special=True) for text in ("<|im_start|>", "<|im_end|>")])
    return ChatFormat.of(
        PreTrainedTokenizerFast(tokenizer_object=backend, chat_template=TEMPLATE, eos_token="<|im_end|>")
    )


class Game:
    """Answers every reply until the last turn."""

    def __init__(self, name: str, turns: int) -> None:
        self.name, self.left = name, turns

    def messages(self) -> tuple[str | None, str]:
        return "Play.", f"Game {self.name}"

    async def step(self, reply: str) -> Continue | Done:
        self.left -= 1
        return Continue(f"{self.left} left") if self.left else Done(End.ANSWER, reply)

    def info(self) -> dict[str, Any]:
        return {"left": self.left}


def games(count: int, start: int = 0) -> list[Task]:
    """Tasks of one to three turns."""

    def task(i: int) -> Task:
        return Task(f"g{i}", lambda: Game(str(i), 1 + i % 3))

    return [task(i) for i in range(start, start + count)]


def drawing(max_tokens: int = 16, temperature: float = 1.0, seed: int = 7) -> Drawing:
    return Drawing(max_tokens, temperature, seed, STOPS)
