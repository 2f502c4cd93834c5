"""One GRPO step by TRL's GRPOTrainer, after one to warm up. Runs in the peers' environment: trl_step.py JOB RESULT.

Fp32 on the CPU, no KL term, no clipping in effect (one update per batch), rewards centred and not scaled, all of them
TRL's own options; `min_new_tokens` keeps completions from ending early.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from measure import Clock, Spent, peak_mb, reward
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer


class TimedTrainer(GRPOTrainer):
    """Notes what generation cost: tokenizing, sampling, decoding."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.generated: list[Spent] = []
        self.prompts: list[list[int]] = []
        self.lengths: list[int] = []

    def _generate(self, prompts: list[Any]) -> Any:
        clock = Clock()
        output = super()._generate(prompts)
        self.generated.append(clock.read())
        self.prompts += output[0]
        self.lengths += [len(completion) for completion in output[1]]
        return output


class StepTimes(TrainerCallback):
    """Notes what each optimizer step cost, generation included."""

    def __init__(self) -> None:
        self.steps: list[Spent] = []

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self._clock = Clock()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.steps.append(self._clock.read())


def config(job: dict[str, Any], folder: str) -> GRPOConfig:
    rows = job["groups"] * job["group"]
    return GRPOConfig(
        output_dir=folder,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=job["checkpointing"],
        per_device_train_batch_size=job["micro_batch_rows"],
        gradient_accumulation_steps=rows // job["micro_batch_rows"],
        max_steps=2,
        num_generations=job["group"],
        max_completion_length=job["new"],
        generation_kwargs={"min_new_tokens": job["new"]},
        shuffle_dataset=False,
        beta=0.0,
        loss_type="dr_grpo",
        scale_rewards=False,
        learning_rate=job["lr"],
        lr_scheduler_type="constant",
        logging_strategy="no",
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )


def measure(job: dict[str, Any]) -> dict[str, Any]:
    torch.set_num_threads(job["threads"])
    times = StepTimes()
    with tempfile.TemporaryDirectory() as folder:
        trainer = TimedTrainer(
            model=AutoModelForCausalLM.from_pretrained(job["model"], dtype=torch.float32),
            reward_funcs=lambda completion_ids, **_: [reward(completion) for completion in completion_ids],
            args=config(job, folder),
            train_dataset=Dataset.from_list(
                [{"prompt": [{"role": "user", "content": prompt["text"]}]} for prompt in job["prompts"]]
            ),
            processing_class=AutoTokenizer.from_pretrained(job["model"], padding_side="left"),
            peft_config=LoraConfig(
                r=job["rank"], lora_alpha=32, target_modules="all-linear", lora_dropout=0.0, task_type="CAUSAL_LM"
            ),
            callbacks=[times],
        )
        trainer.train()
    expected = [prompt["ids"] for prompt in job["prompts"] for _ in range(job["group"])]
    if trainer.prompts != expected or set(trainer.lengths) != {job["new"]}:
        sys.exit("TRL did not sample from the prompts, or not the number of tokens, that it was given")
    if torch.get_num_threads() != job["threads"]:
        sys.exit(f"TRL set torch's threads to {torch.get_num_threads()}")
    return {"generate": trainer.generated[-1].row(), "step": times.steps[-1].row(), "peak MB": peak_mb()}


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(measure(json.loads(Path(sys.argv[1]).read_text()))))
