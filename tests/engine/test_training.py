import asyncio
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import PeftModel
from tinker import AdamParams, Datum

from posttrain.engine.local.load import load_model
from posttrain.engine.local.trainer import LocalTrainer
from posttrain.errors import EngineError
from tests.tiny import datum, full_logprobs, ids, params, sample, settings, tiny_engine

ADAM = AdamParams(learning_rate=0.01)
LOSSES = ["cross_entropy", "importance_sampling", "ppo", "cispo"]


def group(taught: int = 6) -> list[Datum]:
    """Seven examples: four of a group with a common prompt, one that is a beginning of it, two of their own."""
    prompt, rng = ids(40), np.random.default_rng(0)
    rows = [[*prompt, *ids(10 + i, i)] for i in range(4)] + [prompt[:30], ids(33, 5), ids(9, 6)]
    return [
        datum(
            row,
            taught,
            weights=rng.normal(size=taught),
            logprobs=-8 + rng.normal(size=taught) * 3,
            advantages=rng.normal(size=taught) * 2,
        )
        for row in rows
    ]


def only(data: Sequence[Datum], loss_fn: str) -> list[Datum]:
    """The data with the inputs of one loss."""
    names = {"target_tokens", "weights"} if loss_fn == "cross_entropy" else {"target_tokens", "logprobs", "advantages"}
    return [
        Datum(model_input=d.model_input, loss_fn_inputs={k: v for k, v in d.loss_fn_inputs.items() if k in names})
        for d in data
    ]


def gradients(trainer: LocalTrainer) -> dict[str, torch.Tensor]:
    return {n: torch.zeros_like(p) if p.grad is None else p.grad.clone() for n, p in trainer._parameters.items()}


def weights(trainer: LocalTrainer) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().clone() for name, parameter in trainer._parameters.items()}


def equal(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


async def step(trainer: LocalTrainer, data: Sequence[Datum], adam: AdamParams = ADAM) -> None:
    await trainer.forward_backward(data, "cross_entropy")
    await trainer.optim_step(adam)


async def warm_trainer(**changes: Any) -> LocalTrainer:
    """An adapter that does something: B is no longer 0."""
    trainer = await tiny_engine(**changes).new_trainer(4, 0)
    await step(trainer, only(group(), "cross_entropy"))
    return trainer


def reference(trainer: LocalTrainer, data: Sequence[Datum], loss_fn: str) -> tuple[float, list[np.ndarray], dict]:
    """Loss, logprobs and gradients by the formulas of the hosted service, one unpadded pass per example."""
    total, out = torch.zeros(()), []
    for d in data:
        inputs = {name: value.to_torch() for name, value in d.loss_fn_inputs.items()}
        logits = trainer._peft(input_ids=torch.tensor([d.model_input.to_ints()])).logits[0]
        lp = logits.log_softmax(-1).gather(1, inputs["target_tokens"][:, None])[:, 0]
        out.append(lp.detach().numpy())
        if loss_fn == "cross_entropy":
            total = total - (inputs["weights"] * lp).sum()
            continue
        advantages, r = inputs["advantages"], torch.exp(lp - inputs["logprobs"])
        if loss_fn == "importance_sampling":
            total = total - (r * advantages).sum()
        elif loss_fn == "ppo":
            total = total - torch.min(r * advantages, r.clip(0.8, 1.2) * advantages).sum()
        else:
            total = total - (r.clip(0, 4).detach() * lp * advantages).sum()
    trainer._adam.zero_grad()
    total.backward()
    found = gradients(trainer)
    trainer._adam.zero_grad()
    return total.item(), out, found


def close(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> None:
    for name, value in one.items():
        torch.testing.assert_close(value, two[name], rtol=1e-4, atol=1e-4 * float(value.abs().max()))


@pytest.mark.parametrize("loss_fn", LOSSES)
def test_losses_logprobs_and_gradients_follow_their_formulas(loss_fn: str) -> None:
    async def compute() -> tuple:
        trainer, data = await warm_trainer(), only(group(), loss_fn)
        expected = reference(trainer, data, loss_fn)
        output = await trainer.forward_backward(data, loss_fn)
        return expected, output, gradients(trainer)

    (loss, logprobs, expected), output, found = asyncio.run(compute())
    assert output.metrics["loss:sum"] == pytest.approx(loss, rel=1e-4)
    close(expected, found)
    for ours, theirs in zip(output.loss_fn_outputs, logprobs, strict=True):
        values = ours["logprobs"].to_numpy()
        assert values.dtype == np.float32
        np.testing.assert_allclose(values[-6:], theirs[-6:], atol=1e-4)
        assert not values[:-6].any()


@pytest.mark.parametrize("loss_fn", LOSSES[:3])  # the value of cispo, with its stopped gradient, is no objective
def test_a_step_lowers_the_loss(loss_fn: str) -> None:
    async def compute() -> list[float]:
        trainer, data = await warm_trainer(), group()
        seen = await trainer.forward_backward(only(data, "cross_entropy"), "cross_entropy")
        trainer._adam.zero_grad()
        for each, result in zip(data, seen.loss_fn_outputs, strict=True):
            each.loss_fn_inputs["logprobs"] = result["logprobs"]  # on-policy
        losses = []
        for _ in range(2):
            losses.append((await trainer.forward_backward(only(data, loss_fn), loss_fn)).metrics["loss:sum"])
            await trainer.optim_step(AdamParams(learning_rate=1e-3))
        return losses

    before, after = asyncio.run(compute())
    assert after < before


def test_micro_batches_add_up_to_one_batch() -> None:
    async def compute(limit: int, calls: int) -> tuple:
        trainer, data = await warm_trainer(micro_batch_tokens=limit), only(group(), "importance_sampling")
        share = -(-len(data) // calls)
        parts = [data[i : i + share] for i in range(0, len(data), share)]
        outputs = [await trainer.forward_backward(part, "importance_sampling") for part in parts]
        logprobs = [row["logprobs"].to_numpy() for output in outputs for row in output.loss_fn_outputs]
        return sum(output.metrics["loss:sum"] for output in outputs), logprobs, gradients(trainer)

    loss, logprobs, found = asyncio.run(compute(4096, 1))
    for limit, calls in ((53, 1), (90, 1), (4096, len(group())), (4096, 3)):
        other_loss, other_logprobs, other = asyncio.run(compute(limit, calls))
        assert other_loss == pytest.approx(loss, rel=1e-4)
        close(found, other)
        for one, two in zip(logprobs, other_logprobs, strict=True):
            np.testing.assert_allclose(one, two, atol=1e-4)


@pytest.mark.parametrize(
    "adam", [AdamParams(), AdamParams(learning_rate=3e-3, beta1=0.8, weight_decay=0.1, grad_clip_norm=0.5)]
)
def test_steps_are_those_of_adamw_with_the_services_defaults(adam: AdamParams) -> None:
    async def compute() -> tuple:
        trainer, data = await tiny_engine().new_trainer(4, 0), only(group(), "cross_entropy")
        ours = {n: p.detach().clone().requires_grad_() for n, p in trainer._parameters.items()}
        torch_adam = torch.optim.AdamW(
            ours.values(),
            lr=adam.learning_rate,
            betas=(adam.beta1, adam.beta2),
            eps=adam.eps,
            weight_decay=adam.weight_decay,
        )
        for _ in range(3):
            await trainer.forward_backward(data, "cross_entropy")
            for name, grad in gradients(trainer).items():
                ours[name].grad = grad
            if adam.grad_clip_norm:
                torch.nn.utils.clip_grad_norm_(ours.values(), adam.grad_clip_norm)
            torch_adam.step()
            await trainer.optim_step(adam)
            assert all(not grad.any() for grad in gradients(trainer).values())
        return weights(trainer), {n: p.detach() for n, p in ours.items()}

    if adam == AdamParams():
        assert (adam.learning_rate, adam.beta1, adam.beta2, adam.eps) == (1e-4, 0.9, 0.95, 1e-12)
        assert (adam.weight_decay, adam.grad_clip_norm) == (0.0, 0.0)
    found, expected = asyncio.run(compute())
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-5, atol=1e-7)


def test_a_fresh_adapter_changes_nothing_and_its_seed_decides_its_bits() -> None:
    async def compute() -> None:
        engine = tiny_engine()
        one, same, other = [await engine.new_trainer(4, seed) for seed in (0, 0, 1)]
        assert equal(weights(one), weights(same))
        assert not equal(weights(one), weights(other))
        fresh = await sample(await one.sampler(), ids(20), 2, params())
        assert fresh == await sample(await engine.base_sampler(), ids(20), 2, params())

    asyncio.run(compute())


def test_a_saved_policy_continues_bit_for_bit() -> None:
    async def compute() -> None:
        engine, data = tiny_engine(), only(group(), "cross_entropy")
        trainer = await engine.new_trainer(4, 0)
        nothing = [datum(ids(9), 3, weights=[0.0, 0.0, 0.0])]
        for batch in (data, nothing, data):  # an update that teaches nothing still counts as a step
            await step(trainer, batch)
        saved = await trainer.save("here")
        assert engine.find_saved("here") == saved
        assert engine.find_saved("elsewhere") is None
        loaded = await tiny_engine().load_trainer(saved.state, optimizer=True)
        fresh = await tiny_engine().load_trainer(saved.state, optimizer=False)
        assert equal(weights(trainer), weights(loaded))
        for each in (trainer, loaded, fresh):
            for _ in range(2):
                await step(each, data)
        assert equal(weights(trainer), weights(loaded))
        assert not equal(weights(trainer), weights(fresh))

    asyncio.run(compute())


def test_steps_without_anything_taught_keep_the_count_over_a_save() -> None:
    async def compute() -> None:
        data, nothing = only(group(), "cross_entropy"), [datum(ids(9), 3, weights=[0.0, 0.0, 0.0])]
        trainer = await tiny_engine().new_trainer(4, 0)
        output = await trainer.forward_backward(nothing, "cross_entropy")
        assert output.metrics["loss:sum"] == 0
        assert output.loss_fn_outputs[0]["logprobs"].tolist() == [0.0] * 8
        await trainer.optim_step(ADAM)
        loaded = await tiny_engine().load_trainer((await trainer.save("here")).state, optimizer=True)
        for each in (trainer, loaded):
            await step(each, data)
        assert equal(weights(trainer), weights(loaded))

    asyncio.run(compute())


def test_the_merged_sampler_agrees_with_the_trainer_and_with_peft() -> None:
    async def compute() -> None:
        trainer, prompt = await warm_trainer(), ids(70)
        for _ in range(3):
            await step(trainer, only(group(), "cross_entropy"))
        saved = await trainer.save("here")
        rows = await sample(await trainer.sampler(), prompt, 3, params(12))
        loaded = await sample(await tiny_engine().load_sampler(saved.sampler), prompt, 3, params(12))
        assert rows == loaded
        data = [datum([*prompt, *tokens], 12, weights=[1.0] * 12) for tokens, _ in rows]
        output = await trainer.forward_backward(data, "cross_entropy")
        theirs = PeftModel.from_pretrained(load_model(settings()).causal, saved.sampler)
        for (tokens, logprobs), result in zip(rows, output.loss_fn_outputs, strict=True):
            np.testing.assert_allclose(result["logprobs"].to_numpy()[-12:], logprobs, atol=1e-4)
            np.testing.assert_allclose(full_logprobs(theirs, prompt, tokens), logprobs, atol=1e-4)
        # A sampler is frozen: training on changes nothing in it.
        frozen = await trainer.sampler()
        await step(trainer, data)
        assert await sample(frozen, prompt, 3, params(12)) == rows

    asyncio.run(compute())


def test_published_checkpoints_load_without_the_optimizer(tmp_path: Path) -> None:
    async def compute() -> None:
        engine, trainer = tiny_engine(), await warm_trainer()
        saved = await trainer.save("here")
        (tmp_path / "out").mkdir()
        published = engine.publish(saved, tmp_path / "out")
        sampler = await engine.load_sampler(str(tmp_path / "out" / published.sampler))
        assert await sample(sampler, ids(5), 1, params()) == await sample(await trainer.sampler(), ids(5), 1, params())
        state = str(tmp_path / "out" / published.state)
        assert equal(weights(await engine.load_trainer(state, optimizer=False)), weights(trainer))
        with pytest.raises(EngineError, match="no optimizer state"):
            await engine.load_trainer(state, optimizer=True)

    asyncio.run(compute())


def test_a_save_replaces_an_earlier_one_of_its_name() -> None:
    async def compute() -> None:
        trainer = await warm_trainer()
        first = await trainer.save("here")
        await step(trainer, only(group(), "cross_entropy"))
        assert await trainer.save("here") == first
        folder = Path(first.state).parent
        assert sorted(path.name for path in folder.iterdir()) == ["sampler", "state"]
        loaded = await tiny_engine().load_trainer(first.state, optimizer=True)
        assert equal(weights(loaded), weights(trainer))

    asyncio.run(compute())


def test_checkpoints_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    engine = tiny_engine()

    async def saved() -> Any:
        return await (await warm_trainer()).save("here")

    paths = asyncio.run(saved())

    def refused(path: Path | str, why: str, trainer: bool = True) -> None:
        with pytest.raises(EngineError, match=why):
            asyncio.run(engine.load_trainer(str(path), True) if trainer else engine.load_sampler(str(path)))

    def copy(name: str, kind: str = "state") -> Path:
        return Path(shutil.copytree(getattr(paths, kind), tmp_path / name))

    refused(paths.sampler, "not the state checkpoint but its sampler")
    refused(paths.state, "not the sampler checkpoint but its state", trainer=False)
    refused(tmp_path / "absent", "no checkpoint at")
    refused(tmp_path / "absent", "no checkpoint at", trainer=False)
    about = json.loads((Path(paths.state) / "checkpoint.json").read_text())
    (copy("other model") / "checkpoint.json").write_text(json.dumps({**about, "model": "other"}))
    refused(tmp_path / "other model", "belongs to other, not to engine.model tiny")
    (copy("empty") / "checkpoint.json").write_text("{}")
    refused(tmp_path / "empty", "is damaged")
    for name in ("checkpoint.json", "adapter_model.safetensors", "optimizer.safetensors"):
        for size in (0, 100):
            folder = copy(f"cut {name} {size}")
            content = (folder / name).read_bytes()
            (folder / name).write_bytes(content[: min(size, len(content) - 5)])
            refused(folder, "damaged" if name == "checkpoint.json" else "cannot be read")
        folder = copy(f"no {name}")
        (folder / name).unlink()
        refused(folder, "no checkpoint at|cannot be read|no optimizer state")


@pytest.mark.parametrize(
    ("loss_fn", "signal", "why"),
    [
        ("dro", {"weights": [1.0]}, "loss dro is unknown .* cross_entropy, importance_sampling, ppo, cispo"),
        ("cross_entropy", {"weights": [float("inf")]}, "the cross_entropy loss is .*inf; lower the learning rate"),
        ("cross_entropy", {"weights": [float("nan")]}, "the cross_entropy loss is nan"),
        ("importance_sampling", {"logprobs": [-1e4], "advantages": [1.0]}, "loss is -inf"),
    ],
)
def test_losses_that_cannot_be_computed_are_refused(loss_fn: str, signal: dict, why: str) -> None:
    async def compute() -> None:
        trainer = await tiny_engine().new_trainer(4, 0)
        with pytest.raises(EngineError, match=why):
            await trainer.forward_backward([datum(ids(9), 1, **signal)], loss_fn)

    asyncio.run(compute())


def test_an_example_longer_than_a_micro_batch_is_refused() -> None:
    async def compute() -> None:
        trainer = await tiny_engine(micro_batch_tokens=50).new_trainer(4, 0)
        await trainer.forward_backward([datum(ids(51), 2, weights=[1, 1])], "cross_entropy")
        with pytest.raises(EngineError, match=r"one example has 51 tokens and engine\.micro_batch_tokens is 50"):
            await trainer.forward_backward([datum(ids(52), 2, weights=[1, 1])], "cross_entropy")

    asyncio.run(compute())
