"""The `grpo` section of params.yaml."""

from dataclasses import dataclass
from typing import Literal

from posttrain.errors import SettingsError
from posttrain.train.sft_settings import check_saves


@dataclass(frozen=True)
class GrpoSettings:
    """Online reinforcement learning on groups of attempts at the same question.

    Attributes:
        steps: optimizer steps. questions: fresh questions a step. group: attempts at each.
        offset: train questions passed over, because earlier stations used them.
        lr: constant learning rate. temperature: of sampling.
        save_every: steps between checkpoints (the last step always is one). evaluate: steps measured on val.
        loss, advantages: see engine/local/loss.py and train/advantages.py.
        overlap: sample a step while the update before it is still being made (one step off-policy).
        concurrency: episodes at a time.
    """

    steps: int
    questions: int
    group: int
    offset: int
    lr: float
    temperature: float
    save_every: int
    evaluate: list[int]
    loss: Literal["importance_sampling", "ppo", "cispo"]
    advantages: Literal["mean", "std", "leave_one_out"]
    overlap: bool
    concurrency: int

    def check(self) -> None:
        """Raises SettingsError on empty work, on a group that teaches nothing, or on steps that are never saved."""
        for key in ("steps", "questions", "save_every", "concurrency"):
            if getattr(self, key) < 1:
                raise SettingsError(f"{key}: must be at least 1, is {getattr(self, key)}")
        if self.group < 2:
            raise SettingsError(f"group: must be at least 2, is {self.group}; one attempt has nothing to compare with")
        if self.offset < 0:
            raise SettingsError(f"offset: must be at least 0, is {self.offset}")
        for key in ("lr", "temperature"):
            if getattr(self, key) <= 0:
                raise SettingsError(f"{key}: must be above 0, is {getattr(self, key)}")
        check_saves("evaluate", self.evaluate, self.saved_steps(), "step")

    def saved_steps(self) -> list[int]:
        """The steps after which there is a checkpoint."""
        return [step for step in range(1, self.steps + 1) if step % self.save_every == 0 or step == self.steps]
