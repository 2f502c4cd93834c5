"""Decoding many rows of different lengths side by side, each with its own random stream."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

from posttrain.engine.local.draw import Stream, draw_tokens
from posttrain.engine.local.load import Model
from posttrain.engine.local.prefill import Prefilled


@dataclass
class Row:
    """One sample in the making."""

    prompt: list[int]
    stream: Stream
    max_tokens: int
    stop: frozenset[int]
    prefilled: Prefilled | None = None
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def stop_reason(self) -> Literal["stop", "length"] | None:
        """Why the row ended, or None while it goes on."""
        if self.tokens and self.tokens[-1] in self.stop:
            return "stop"
        return "length" if len(self.tokens) >= self.max_tokens else None


class _RowLayer(CacheLayerMixin):  # type: ignore[misc]
    """Key/values (B, heads, capacity, dim) with room ahead; row b holds `lengths[b]` tokens, the rest is masked."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, lengths: torch.Tensor) -> None:
        super().__init__()
        self.keys, self.values, self.lengths = keys, values, lengths
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Nothing to do: the buffers exist from the start."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        rows = torch.arange(len(self.lengths), device=self.keys.device)
        self.keys[rows, :, self.lengths] = key_states[:, :, 0]
        self.values[rows, :, self.lengths] = value_states[:, :, 0]
        used = int(self.lengths.max()) + 1
        return self.keys[:, :, :used], self.values[:, :, :used]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def get_seq_length(self) -> int:
        return int(self.lengths.max())

    def get_max_length(self) -> int:
        return self.keys.shape[2]


def _batch(rows: Sequence[Row], prompts: Sequence[Prefilled]) -> tuple[list[_RowLayer], torch.Tensor]:
    """Copies the prompts' key/values into buffers with room for the new tokens; also their lengths (B,)."""
    like = prompts[0].hidden
    lengths = torch.tensor([prompt.length for prompt in prompts], device=like.device)
    # A row that has stopped rides along for as long as the last one goes on.
    capacity = int(lengths.max()) + max(row.max_tokens for row in rows)
    layers = []
    for layer in range(len(prompts[0].layers)):
        buffers = []
        for part in (0, 1):
            _, heads, _, dim = prompts[0].layers[layer][part].shape
            buffer = like.new_zeros(len(rows), heads, capacity, dim)
            for b, prompt in enumerate(prompts):
                buffer[b, :, : prompt.length] = prompt.layers[layer][part][0]
            buffers.append(buffer)
        layers.append(_RowLayer(buffers[0], buffers[1], lengths))
    return layers, lengths


def draw_into(
    model: Model, rows: Sequence[Row], hidden: torch.Tensor, temperature: float, top_k: int, top_p: float
) -> torch.Tensor:
    """Draws the next token of each row from `hidden` (B, width), adds it to the rows that go on, returns all (B,)."""
    streams = [row.stream for row in rows]
    tokens, logprobs = draw_tokens(model.head(hidden).float(), streams, temperature, top_k, top_p)
    for row, token, logprob in zip(rows, tokens.tolist(), logprobs.tolist(), strict=True):
        if row.stop_reason is None:
            row.tokens.append(token)
            row.logprobs.append(logprob)
    return tokens.to(hidden.device)


def decode(model: Model, rows: Sequence[Row], temperature: float, top_k: int, top_p: float) -> None:
    """Extends every row until it stops; fills `tokens` and `logprobs` (natural, of the unscaled distribution).

    Rows that have stopped ride along until a quarter of the batch has, then the buffers are packed anew.
    """
    live = list(rows)
    prompts = [row.prefilled for row in rows if row.prefilled is not None]
    layers, lengths = _batch(live, prompts)
    hidden = torch.cat([prompt.hidden for prompt in prompts])
    while True:
        tokens = draw_into(model, live, hidden, temperature, top_k, top_p)
        going = [i for i, row in enumerate(live) if row.stop_reason is None]
        if not going:
            return
        if len(going) <= len(live) * 3 // 4:
            keep = torch.tensor(going, device=hidden.device)
            live, tokens, lengths = [live[i] for i in going], tokens[keep], lengths[keep]
            layers = [_RowLayer(layer.keys[keep], layer.values[keep], lengths) for layer in layers]
        hidden = _step(model, tokens, layers, lengths)
        lengths += 1


def _step(model: Model, tokens: torch.Tensor, layers: list[_RowLayer], lengths: torch.Tensor) -> torch.Tensor:
    """One token further for every row: tokens (B,) to hidden states (B, width)."""
    mask = torch.arange(int(lengths.max()) + 1, device=tokens.device) <= lengths[:, None]
    output = model.body(
        input_ids=tokens[:, None],
        attention_mask=mask[:, None, None, :],
        position_ids=lengths[:, None],
        cache=Cache(layers=layers),
        use_cache=True,
    )
    hidden: torch.Tensor = output.last_hidden_state[:, 0]
    return hidden
