"""What the pipeline has measured of a policy, found by the policy's lineage."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose, nan
from pathlib import Path
from typing import Any

from posttrain.files import read_json
from posttrain.ledger.fingerprint import sha256_path
from posttrain.ledger.receipt import read_receipt, receipt_path
from posttrain.pipeline import read_stage
from posttrain.settings import load
from posttrain.stats.bootstrap import Estimate
from posttrain.stats.proportions import wilson
from posttrain.train.checkpoint import FILE, read_checkpoint
from posttrain.train.grpo_settings import GrpoSettings
from posttrain.train.sft_settings import SftSettings
from posttrain.wiki.ablation import ARMS
from posttrain.wiki.summary import CONFIDENCE

PARAMS, ABLATION = Path("params.yaml"), Path("metrics/ablation.json")


@dataclass(frozen=True)
class Measured:
    """A measurement: which arm, on which split, of which policy, and the numbers that its metrics file holds."""

    name: str
    split: str
    lineage: str
    numbers: dict[str, Any]

    @property
    def f1(self) -> Estimate:
        """With the bootstrap interval that `score` made."""
        low, high = self.numbers["f1_ci"]
        return Estimate(self.numbers["f1"], low, high)

    @property
    def exact_match(self) -> Estimate:
        """A share of n questions, with its score interval."""
        n = self.numbers["n"]
        return wilson(round(self.numbers["em"] * n), n, confidence=CONFIDENCE)


def measured(split: str) -> list[Measured]:
    """Every measurement on a split whose metrics are there, and were made with the policy that is there.

    Raises:
        SettingsError: dvc.yaml or params.yaml cannot be read.
        DataError: a metrics file, a receipt or a checkpoint is damaged.
    """
    found = []
    for sampling, scoring, name in _stages(split):
        command = read_stage(sampling, PARAMS).cmd.split()
        policy = Path(command[command.index("--policy") + 1])
        metrics = next(Path(out) for out in read_stage(scoring, PARAMS).outs if out.startswith("metrics/"))
        if (policy / FILE).exists() and metrics.exists() and _made_with(sampling, policy):
            numbers = _as_compared(metrics.stem, read_json(metrics)) if split == "test" else read_json(metrics)
            found.append(Measured(name, split, read_checkpoint(policy).lineage, numbers))
    return found


def _as_compared(arm: str, numbers: dict[str, Any]) -> dict[str, Any]:
    """The arm's numbers with the interval that the ablation's table has, so that all tables say the same."""
    if not ABLATION.exists():
        return numbers
    compared = read_json(ABLATION)["arms"].get(arm, {})
    same = all(isclose(compared.get(key, nan), numbers[key], abs_tol=1e-6) for key in ("n", "f1", "em"))
    return {**numbers, "f1_ci": compared["f1_ci"]} if same else numbers


def _stages(split: str) -> Iterator[tuple[str, str, str]]:
    """The stage that samples, the one that scores, and what to call the measurement."""
    if split == "test":
        yield from ((f"test@{arm}", f"score_test@{arm}", title) for arm, title in ARMS.items())
        return
    yield "base", "score_base", "Base"
    yield from (
        (f"eval_sft@{epoch}", f"score_sft@{epoch}", f"SFT epoch {epoch}") for epoch in load("sft", SftSettings).evaluate
    )
    yield from (
        (f"eval_grpo@{step}", f"score_grpo@{step}", f"GRPO step {step}") for step in load("grpo", GrpoSettings).evaluate
    )


def _made_with(sampling: str, policy: Path) -> bool:
    """Whether the receipt, if there is one, says that just this policy was measured."""
    path = receipt_path(sampling)
    return not path.exists() or read_receipt(path)["inputs"].get(str(policy)) == sha256_path(policy)
