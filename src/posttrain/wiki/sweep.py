"""A sweep as a table: one row per configuration over its seeds, and whether it differs from the baseline."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from posttrain.errors import DataError, SettingsError
from posttrain.settings import closest
from posttrain.stats.bootstrap import Estimate
from posttrain.stats.paired import holm
from posttrain.stats.seeds import Difference, resample_seeds, student_interval, welch
from posttrain.wiki.ablation_settings import AblationSettings
from posttrain.wiki.sweep_groups import Group, baseline_of, grouped, is_number, label, without_repeats
from posttrain.wiki.sweep_runs import FINISHED, SEED, Experiment

BASELINE, REAL, NOT_SHOWN = "baseline", "real", "not shown"
ONE_SEED = "one seed: not judged across seeds"

Scores = Callable[[Experiment], "dict[str, float] | str"]
"""A score per question id, or why there is none."""


@dataclass(frozen=True)
class Configuration:
    """A row of the table.

    Attributes:
        label: the settings that differ within the sweep, `key=value`; `settings` holds the same.
        seeds: of its experiments, which `experiments` names in the same order.
        mean: of the metric, over seeds. interval: None where one seed is all there is and no score per question.
        difference: to the baseline; None for the baseline, and where it cannot be judged.
        p_holm: of the difference, corrected over the sweep; None unless judged across seeds.
        verdict: "baseline", "real", "not shown", or that one seed is not judged.
    """

    label: str
    settings: dict[str, Any]
    seeds: list[Any]
    experiments: list[str]
    mean: float
    interval: Estimate | None
    difference: Estimate | None
    p_holm: float | None
    verdict: str


@dataclass(frozen=True)
class Sweep:
    """What the command shows: rows with the baseline first, how intervals were made, what was left out, and notes."""

    metric: str
    split: str
    confidence: float
    method: str
    configurations: list[Configuration]
    left_out: list[tuple[str, str]]
    notes: list[str]


def sweep(
    base: Mapping[str, Any],
    experiments: Sequence[Experiment],
    scores: Scores,
    settings: AblationSettings,
    metric: str,
    split: str,
    baseline: str | None,
) -> Sweep:
    """Groups the finished experiments by their settings and holds each group against the baseline.

    The baseline is the group that `baseline` names (`grpo.lr=1e-4`), else the one with the settings of the commit
    that the sweep started from (`base`), else the first.

    Raises:
        DataError: no experiment has finished. SettingsError: there is no such metric or baseline.
    """
    done = [each for each in experiments if each.state == FINISHED]
    if not done:
        counts = Counter(each.state for each in experiments)
        states = ", ".join(f"{count} {state}" for state, count in counts.items()) or "there is none"
        raise DataError(
            f"no experiment of this commit has finished ({states}); queue some with `dvc exp run --queue -S "
            "grpo.lr=1e-4,2e-4 -S run.seed=0,1,2 choose_grpo` and run `dvc queue start`"
        )
    _check_metric(done, metric)
    kept, repeats = without_repeats(done)
    groups = grouped(kept, base)
    first = baseline_of(groups, base, baseline)
    groups = [groups[first], *groups[:first], *groups[first + 1 :]]
    method, rows = _judged(groups, scores, settings, metric)
    left_out = [(_told(each, base), each.state) for each in experiments if each.state != FINISHED]
    left_out += [(_told(each, base), f"has the settings and seed of {other.name}") for each, other in repeats]
    return Sweep(metric, split, settings.confidence, method, rows, left_out, _notes(kept, groups))


def _told(experiment: Experiment, base: Mapping[str, Any]) -> str:
    changed = {key: value for key, value in experiment.params.items() if base.get(key) != value}
    return f"{experiment.name} ({label({**changed, SEED: experiment.seed})})"


def _check_metric(done: Sequence[Experiment], metric: str) -> None:
    for each in done:
        if not is_number(each.metrics.get(metric)):
            known = [key for key, value in each.metrics.items() if is_number(value)]
            near = closest(metric, known)
            hint = f"; did you mean {near}?" if near else f"; there are {', '.join(known)}"
            raise SettingsError(f"{each.name} has no metric {metric}{hint}")


def _judged(
    groups: Sequence[Group], scores: Scores, settings: AblationSettings, metric: str
) -> tuple[str, list[Configuration]]:
    values = [[float(each.metrics[metric]) for each in group.experiments] for group in groups]
    per_question = _matrices(groups, scores)
    intervals: list[Estimate | None]
    differences: list[Difference | None]
    if isinstance(per_question, str):
        method = f"Student's t over seeds, differences unpaired (Welch), because {per_question}"
        intervals = [student_interval(each, settings.confidence) for each in values]
        differences = [None, *(welch(each, values[0], settings.confidence) for each in values[1:])]
    else:
        method = "two-way bootstrap over seeds and questions, differences paired by question"
        drawn = resample_seeds(
            per_question, resamples=settings.resamples, confidence=settings.confidence, seed=settings.seed
        )
        intervals = [each.interval(settings.confidence) for each in drawn]
        differences = [None, *(each.minus(drawn[0], settings.confidence) for each in drawn[1:])]
    rows = [
        _row(group, fmean(each), interval, difference)
        for group, each, interval, difference in zip(groups, values, intervals, differences, strict=True)
    ]
    return method, _with_verdicts(rows, differences, 1 - settings.confidence)


def _matrices(groups: Sequence[Group], scores: Scores) -> list[list[list[float]]] | str:
    """Scores (S, N) of each group with the questions in one order, or why they cannot be had."""
    ids: list[str] | None = None
    found = []
    for group in groups:
        rows = []
        for each in group.experiments:
            by_id = scores(each)
            if isinstance(by_id, str):
                return by_id
            ids = sorted(by_id) if ids is None else ids
            if sorted(by_id) != ids:
                return f"{each.name} was scored on other questions than {groups[0].experiments[0].name}"
            rows.append([by_id[key] for key in ids])
        found.append(rows)
    return found


def _row(group: Group, mean: float, interval: Estimate | None, difference: Difference | None) -> Configuration:
    return Configuration(
        label(group.settings),
        group.settings,
        [each.seed for each in group.experiments],
        [each.name for each in group.experiments],
        mean,
        interval,
        difference.estimate if difference else None,
        None,
        BASELINE,
    )


def _with_verdicts(
    rows: Sequence[Configuration], differences: Sequence[Difference | None], alpha: float
) -> list[Configuration]:
    judged = {
        number: difference.p
        for number, difference in enumerate(differences)
        if difference and min(len(rows[number].seeds), len(rows[0].seeds)) > 1
    }
    corrected = dict(zip(judged, holm(list(judged.values())), strict=True))
    found = [rows[0]]
    for number, row in enumerate(rows[1:], 1):
        p = corrected.get(number)
        verdict = ONE_SEED if p is None else REAL if p <= alpha else NOT_SHOWN
        found.append(replace(row, p_holm=p, verdict=verdict))
    return found


def _notes(kept: Sequence[Experiment], groups: Sequence[Group]) -> list[str]:
    notes = []
    differing = sorted(
        path
        for path in {path for each in kept for path in each.code}
        if len({each.code[path] for each in kept if path in each.code}) > 1
    )
    if differing:
        more = f" and {len(differing) - 3} more" if len(differing) > 3 else ""
        notes.append(f"the experiments ran different code: {', '.join(differing[:3])}{more}")
    if any(len(group.experiments) == 2 for group in groups):
        notes.append("two seeds can give intervals that are too narrow; run three or more")
    return notes
