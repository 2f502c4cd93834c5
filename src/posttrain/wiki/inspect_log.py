"""A run as a log of Inspect, the evaluation framework of the UK AI Security Institute, which `inspect view` shows."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalPlan,
    EvalPlanStep,
    EvalResults,
    EvalScore,
    EvalSpec,
    EvalStats,
    write_eval_log,
)
from inspect_ai.model import ModelUsage

from posttrain.chat.format import ChatFormat
from posttrain.files import replacing
from posttrain.wiki.cases import Run
from posttrain.wiki.inspect_sample import SCORES, clean, sample_of, usage_of


@dataclass(frozen=True)
class About:
    """What a run's episodes do not say: the model's name, the split with its file and hash, and all settings."""

    model: str
    split: str
    dataset: str
    location: str | None
    sha256: str | None
    params: Mapping[str, Any]


def write_log(run: Run, about: About, chat: ChatFormat, out: Path) -> None:
    """Writes the log, whole or not at all.

    Raises:
        StoreError: the disk is full or not writable.
    """
    log = make_log(run, about, chat)
    with replacing(out) as temporary:
        write_eval_log(log, str(temporary), format="eval")


def make_log(run: Run, about: About, chat: ChatFormat) -> EvalLog:
    """The log as Inspect's own types, one sample per episode."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    samples = [sample_of(case, about.model, chat) for case in run.cases]
    attempts = max((case.episode.attempt for case in run.cases), default=0) + 1
    known = {"split": about.split, "sha256": about.sha256, "params": about.params}
    named = hashlib.sha256(json.dumps([run.name, known, now], default=str).encode()).hexdigest()[:22]
    spec = EvalSpec(
        run_id=named,
        task_id=named,
        created=now,
        task=clean(run.name),
        task_args={"run": clean(run.name)},
        model=about.model,
        solver="research",
        dataset=EvalDataset(
            name=about.dataset,
            location=about.location,
            samples=len({sample.id for sample in samples}),
            sample_ids=list(dict.fromkeys(sample.id for sample in samples)),
        ),
        config=EvalConfig(epochs=attempts),
        tags=[about.split],
        packages={"posttrain": metadata.version("posttrain")},
        metadata=clean(known),
    )
    plan = EvalPlan(name="research", steps=[EvalPlanStep(solver="research", params=dict(about.params["harness"]))])
    stats = EvalStats(started_at=now, completed_at=now, model_usage={about.model: _total(run)})
    return EvalLog(status="success", eval=spec, plan=plan, results=_results(run), stats=stats, samples=samples)


def _total(run: Run) -> ModelUsage:
    total: Counter[str] = Counter()
    for case in run.cases:
        total.update({key: value or 0 for key, value in usage_of(case.episode).model_dump().items()})
    kept = ("input_tokens", "output_tokens", "total_tokens", "input_tokens_cache_read")
    return ModelUsage(**{key: total[key] for key in kept})


def _results(run: Run) -> EvalResults:
    scored = [case.score for case in run.cases if case.score is not None]
    columns = {name: [getattr(score, name) for score in scored] for name in SCORES} if scored else {}
    return EvalResults(
        total_samples=len(run.cases),
        completed_samples=len(run.cases),
        scores=[EvalScore(name=name, scorer=name, metrics=_metrics(values)) for name, values in columns.items()],
    )


def _metrics(values: Sequence[float]) -> dict[str, EvalMetric]:
    error = stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    found = {"mean": fmean(values), "stderr": error}
    return {name: EvalMetric(name=name, value=value) for name, value in found.items()}
