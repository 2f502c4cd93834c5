"""An engine that answers at once from a script and learns nothing: for rehearsing a run at its full size."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from tinker import AdamParams, Datum, ForwardBackwardOutput, ModelInput, SampledSequence, SampleResponse, SamplingParams
from tinker import TensorData as Tensor

from posttrain.chat.format import ChatFormat
from posttrain.engine.protocol import SavedPaths
from posttrain.files import Row
from posttrain.ledger.lineage import base_lineage

SOLVED = 0.6
"""Share of attempts that end in the right answer."""


class Scripted:
    """Sampler, trainer and engine in one: two searches for the question's own words, then an answer, often right."""

    def __init__(self, chat: ChatFormat, rows: Sequence[Row]) -> None:
        self.chat = chat
        self.base_lineage = base_lineage("scripted", "script", "")
        self._rows: Mapping[str, Row] = {row["question"]: row for row in rows}
        self._by_start: dict[tuple[int, ...], Row] = {}
        self.trained = 0

    async def sample(self, prompt: ModelInput, num_samples: int, sampling_params: SamplingParams) -> SampleResponse:
        """Instantly; the turn is counted by the ends of turns in the prompt."""
        tokens = prompt.to_ints()
        turn = tokens.count(self.chat.end) // 2  # system and user, then a reply and a result each
        row, seed = self._row(tokens), sampling_params.seed or 0
        sequences = [self._reply(row, turn, seed + i, len(tokens)) for i in range(num_samples)]
        await asyncio.sleep(0)
        return SampleResponse(sequences=sequences, prompt_cache_hit_tokens=0)

    def _row(self, tokens: list[int]) -> Row:
        ends = [i for i, token in enumerate(tokens) if token == self.chat.end]
        start = tuple(tokens[: ends[1]])
        if start not in self._by_start:
            text = self.chat.decode(tokens[ends[0] : ends[1]])
            self._by_start[start] = next(self._rows[line] for line in text.splitlines() if line in self._rows)
        return self._by_start[start]

    def _reply(self, row: Row, turn: int, seed: int, length: int) -> SampledSequence:
        words = row["question"].split()
        if turn < 3:
            half = words[: len(words) // 2] if turn == 1 else words[len(words) // 2 :]
            text = f"I need to look this up first. <search>{' '.join(half)}</search>"
        else:
            right = random.Random(f"{row['id']}-{seed}-{length}").random() < SOLVED
            text = f"The paragraphs say so. <answer>{row['answers'][0] if right else 'unknown'}</answer>"
        reply = [*self.chat.encode_content(text), self.chat.end]
        return SampledSequence(
            stop_reason="stop",
            sequence_id="0",
            tokens_np=np.array(reply, dtype=np.int64),
            logprobs_np=np.full(len(reply), -0.5, dtype=np.float32),
        )

    def caller(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def forward_backward(self, data: Sequence[Datum], loss_fn: str) -> ForwardBackwardOutput:  # noqa: ARG002
        self.trained += len(data)
        outputs = [
            {"logprobs": Tensor.from_numpy(np.full(datum.model_input.length, -0.5, np.float32))} for datum in data
        ]
        return ForwardBackwardOutput(loss_fn_output_type="ArrayRecord", loss_fn_outputs=outputs, metrics={})

    async def optim_step(self, adam: AdamParams) -> None: ...

    async def save(self, name: str) -> SavedPaths:
        return SavedPaths(f"script://{name}/sampler", f"script://{name}/state")

    async def sampler(self) -> "Scripted":
        return self

    async def base_sampler(self) -> "Scripted":
        return self

    async def load_sampler(self, path: str) -> "Scripted":  # noqa: ARG002
        return self

    async def new_trainer(self, rank: int, seed: int) -> "Scripted":  # noqa: ARG002
        return self

    async def load_trainer(self, path: str, optimizer: bool) -> "Scripted":  # noqa: ARG002
        return self

    def find_saved(self, name: str) -> SavedPaths | None: ...

    def adopt(self, name: str, saved: SavedPaths) -> bool:  # noqa: ARG002
        return True

    def publish(self, saved: SavedPaths, folder: Path) -> SavedPaths:  # noqa: ARG002
        return saved

    def close(self) -> None: ...


def scripted(chat: ChatFormat, rows: Sequence[Row]) -> Any:
    """The engine, typed loosely: it stands in for every part of the protocol."""
    return Scripted(chat, rows)
