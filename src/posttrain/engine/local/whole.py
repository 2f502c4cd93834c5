"""Sampling for models that keep more than key/values of the past (linear attention, sliding windows).

Rows that share a prompt have one length, so they are prefilled once and decoded together without padding.
"""

from collections.abc import Sequence
from itertools import groupby

import torch
from transformers import DynamicCache

from posttrain.engine.local.decode import Row, draw_into
from posttrain.engine.local.load import Model


def decode_whole(model: Model, rows: Sequence[Row], temperature: float, top_k: int, top_p: float) -> None:
    """Extends every row until it stops, one prompt after the other."""
    for _, group in groupby(rows, key=lambda row: row.prompt):
        _decode_group(model, list(group), temperature, top_k, top_p)


def _decode_group(model: Model, rows: list[Row], temperature: float, top_k: int, top_p: float) -> None:
    cache = DynamicCache(config=model.causal.config)
    ids = torch.tensor([rows[0].prompt], device=model.device)
    hidden = model.body(input_ids=ids, cache=cache, use_cache=True).last_hidden_state[:, -1].expand(len(rows), -1)
    if len(rows) > 1:
        cache.reorder_cache(torch.zeros(len(rows), dtype=torch.long, device=model.device))
    while True:
        tokens = draw_into(model, rows, hidden, temperature, top_k, top_p)
        if all(row.stop_reason for row in rows):
            return
        hidden = model.body(input_ids=tokens[:, None], cache=cache, use_cache=True).last_hidden_state[:, -1]
