"""One GRPO step as the reinforcement station takes it, after one to warm up, and its gradient beside a plain one.

Called by bench_grpo.py: our_step.py JOB RESULT.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from peers.measure import Clock, peak_mb, reward
from peft import PeftModel
from tinker import AdamParams, Datum
from transformers import AutoModelForCausalLM

from posttrain.chat.format import ChatFormat
from posttrain.engine.local.engine import LocalEngine
from posttrain.engine.settings import EngineSettings
from posttrain.ledger.places import samples_path
from posttrain.ledger.store import SampleStore
from posttrain.progress import Progress
from posttrain.rollout.environment import Done
from posttrain.rollout.episode import End, Episode
from posttrain.rollout.policy import Drawing
from posttrain.rollout.runner import Rollouts, Runner, Task
from posttrain.train.advantages import advantages
from posttrain.train.datums import rl_datum
from posttrain.train.learner import Learner

LOSS = "importance_sampling"


class OneReply:
    """An environment that asks once; the reply is cut off at its limit, so it never gets to react."""

    def __init__(self, text: str) -> None:
        self._text = text

    def messages(self) -> tuple[str | None, str]:
        return None, self._text

    async def step(self, _: str) -> Done:
        return Done(End.NO_ACTION)

    def info(self) -> dict[str, Any]:
        return {}


def datums(groups: Sequence[Sequence[Episode]]) -> list[Datum]:
    data = []
    for group in groups:
        values = advantages([reward(episode.tokens) for episode in group], "mean")
        assert values is not None, "every group's rewards differ"
        data += [rl_datum(episode, value) for episode, value in zip(group, values, strict=True)]
    return data


async def measure(job: dict[str, Any]) -> dict[str, Any]:
    engine = LocalEngine(
        EngineSettings("local", job["model"], "cpu", "float32", job["threads"], job["batch_rows"], job["micro_batch"])
    )
    chat = ChatFormat.of(engine.tokenizer)
    no_stop = (engine.tokenizer.vocab_size + len(engine.tokenizer),)  # no token has this id
    rollouts = Rollouts(job["group"], job["groups"] * job["group"], Drawing(job["new"], 1.0, 0, no_stop))
    with SampleStore(samples_path()) as store:
        learner = Learner.new(engine, store, job["rank"], 0)
        for first in (0, job["groups"]):
            prompts = job["prompts"][first : first + job["groups"]]
            tasks = [Task(str(number), lambda p=p: OneReply(p["text"])) for number, p in enumerate(prompts, first)]
            clock = Clock()
            with Progress("rollouts", len(tasks), "episode") as progress:
                groups = await Runner(learner.policy(), chat, rollouts, progress).run(tasks)
            generated = clock.read()
            data = datums(groups)
            await learner.update(data, LOSS, AdamParams(learning_rate=job["lr"]))
            step = clock.read()
        result = {"generate": generated.row(), "step": step.row(), "peak MB": peak_mb()}
        assert torch.get_num_threads() == job["threads"]
        for group, prompt in zip(groups, prompts, strict=True):
            assert all(e.prompt == prompt["ids"] and len(e.tokens) == job["new"] for e in group)
        result["gradient error"] = await gradient_error(engine, learner, data[: 2 * job["group"]], job["model"])
    return result


async def gradient_error(engine: LocalEngine, learner: Learner, data: Sequence[Datum], model: str) -> float:
    """|ours - plain| / |plain| over all LoRA weights, for the same tokens, advantages and trained adapter."""
    state = (await learner.save()).state
    trainer = await engine.load_trainer(state, optimizer=False)
    await trainer.forward_backward(data, LOSS)
    ours = {name: parameter.grad for name, parameter in trainer._parameters.items()}
    plain = plain_gradient(model, state, data)
    assert ours.keys() == plain.keys()
    norm = sum(float(gradient.double().square().sum()) for gradient in plain.values()) ** 0.5
    assert norm > 0, "the gradient is not zero"
    return sum(float((ours[name] - plain[name]).double().square().sum()) for name in plain) ** 0.5 / norm


def plain_gradient(model: str, adapter: str, data: Sequence[Datum]) -> dict[str, torch.Tensor]:
    """The gradient of -sum A exp(lp - q) with transformers and peft alone: whole sequences, one at a time."""
    base = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    policy = PeftModel.from_pretrained(base, adapter, is_trainable=True)
    for datum in data:
        inputs = {name: value.to_torch() for name, value in datum.loss_fn_inputs.items()}
        logits = policy(input_ids=torch.tensor([datum.model_input.to_ints()])).logits[0]
        logprobs = torch.log_softmax(logits, dim=-1).gather(1, inputs["target_tokens"][:, None])[:, 0]
        loss = -(inputs["advantages"] * torch.exp(logprobs - inputs["logprobs"])).sum()
        loss.backward()
    return {name: p.grad for name, p in policy.named_parameters() if p.requires_grad and p.grad is not None}


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(asyncio.run(measure(json.loads(Path(sys.argv[1]).read_text())))))
