"""Models whose layers keep more than key/values of the whole past."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tinker import AdamParams
from transformers import AutoConfig, AutoModelForCausalLM

from posttrain.engine.local.load import load_model
from tests.tiny import datum, full_logprobs, ids, params, sample, settings, tiny_engine

SHAPE: dict[str, Any] = {
    "vocab_size": 49152,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "max_position_embeddings": 512,
    "tie_word_embeddings": True,
}
LINEAR = {"linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8}
HYBRIDS: dict[str, dict[str, Any]] = {
    "qwen3_5_text": {**SHAPE, **LINEAR, "layer_types": ["linear_attention"] * 3 + ["full_attention"]},
    "gemma3_text": {**SHAPE, "sliding_window": 16, "layer_types": ["sliding_attention"] * 3 + ["full_attention"]},
}


@pytest.fixture(scope="module", params=HYBRIDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small random model on disk, as a downloaded one would be."""
    path: Path = tmp_path_factory.mktemp(request.param)
    try:
        config = AutoConfig.for_model(request.param, **HYBRIDS[request.param])
    except ValueError:
        pytest.skip(f"this transformers has no {request.param}")
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config)
    for weight in model.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, 0, 0.1)
    model.save_pretrained(path)
    return str(path)


def test_logprobs_are_those_of_a_full_pass_whatever_else_is_asked(folder: str) -> None:
    async def draw() -> tuple:
        engine = tiny_engine(model=folder)
        sampler = await engine.base_sampler()
        assert not engine._merged.model.blockwise
        prompts = [ids(n) for n in (1, 7, 40)]
        together = await asyncio.gather(*[sample(sampler, prompt, 3, params(24)) for prompt in prompts])
        alone = [[(await sample(sampler, p, 1, params(24, seed=1 + i)))[0] for i in range(3)] for p in prompts]
        return prompts, together, alone

    prompts, together, alone = asyncio.run(draw())
    causal = load_model(settings(model=folder)).causal
    for prompt, rows, singles in zip(prompts, together, alone, strict=True):
        assert [tokens for tokens, _ in rows] == [tokens for tokens, _ in singles]
        for tokens, logprobs in rows:
            np.testing.assert_allclose(logprobs, full_logprobs(causal, prompt, tokens), atol=1e-4)


def test_it_trains_saves_and_samples_what_it_learned(folder: str) -> None:
    async def learn() -> None:
        engine = tiny_engine(model=folder)
        trainer = await engine.new_trainer(4, 0)
        data = [datum(ids(n), 6, weights=[1.0] * 6) for n in (8, 20, 35)]
        losses = []
        for _ in range(8):
            losses.append((await trainer.forward_backward(data, "cross_entropy")).metrics["loss:sum"])
            await trainer.optim_step(AdamParams(learning_rate=0.01))
        assert losses[-1] < 0.9 * losses[0]
        rows = await sample(await trainer.sampler(), ids(20), 2, params(10))
        saved = await trainer.save("hybrid")
        assert await sample(await engine.load_sampler(saved.sampler), ids(20), 2, params(10)) == rows
        # Padded beside a longer one, each gives the sampler's logprobs.
        taught = [datum([*ids(20), *tokens], 10, weights=[1.0] * 10) for tokens, _ in rows]
        output = await trainer.forward_backward([*taught, data[2]], "cross_entropy")
        for (_, logprobs), result in zip(rows, output.loss_fn_outputs, strict=False):
            np.testing.assert_allclose(result["logprobs"].to_numpy()[-10:], logprobs, atol=1e-4)

    asyncio.run(learn())
