"""Which experiments of a sweep are one configuration: those with the same settings but for the seed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from posttrain.errors import SettingsError
from posttrain.wiki.sweep_runs import Experiment, as_number


@dataclass(frozen=True)
class Group:
    """Experiments with the same settings but for the seed."""

    settings: dict[str, Any]
    experiments: list[Experiment]


def _key(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True, default=str)


def without_repeats(done: Sequence[Experiment]) -> tuple[list[Experiment], list[tuple[Experiment, Experiment]]]:
    """The latest of those with the same settings and seed, as a seed that counted twice would look like two.

    Returns:
        Those, and each of the others with the one that stands for it.
    """
    latest = {(_key(each.params), str(each.seed)): each for each in done}
    repeats = [(each, kept) for each in done if (kept := latest[_key(each.params), str(each.seed)]) is not each]
    return [each for each in done if each in latest.values()], repeats


def grouped(kept: Sequence[Experiment], base: Mapping[str, Any]) -> list[Group]:
    """Groups in the order of their settings, which are those that differ among them or from the commit's (`base`)."""
    every = [each.params for each in kept] + ([dict(base)] if base else [])
    keys = sorted({key for params in every for key in params})
    changed = [key for key in keys if len({_key({"": params.get(key)}) for params in every}) > 1]
    groups: dict[str, Group] = {}
    for each in kept:
        settings = {key: each.params.get(key) for key in changed}
        groups.setdefault(_key(settings), Group(settings, [])).experiments.append(each)
    for group in groups.values():
        group.experiments.sort(key=lambda each: (str(type(each.seed)), each.seed))
    return sorted(groups.values(), key=lambda group: [_order(value) for value in group.settings.values()])


def _order(value: Any) -> tuple[int, float, str]:
    return (0, float(value), "") if is_number(value) else (1, 0.0, json.dumps(value, default=str))


def baseline_of(groups: Sequence[Group], base: Mapping[str, Any], wanted: str | None) -> int:
    """Number of the group that `wanted` names, else of the one with the commit's settings, else of the first.

    Raises:
        SettingsError: none has that name.
    """
    labels = [label(group.settings) for group in groups]
    if wanted is not None:
        pairs = sorted(part.partition("=") for part in wanted.replace(",", " ").split())
        given = wanted if wanted in labels else label({key: as_number(value) for key, _, value in pairs})
        if given not in labels:
            raise SettingsError(f"--baseline: no configuration {given}; there are {'; '.join(labels)}")
        return labels.index(given)
    same = [all(base.get(key) == value for key, value in group.settings.items()) for group in groups]
    return same.index(True) if True in same else 0


def label(settings: Mapping[str, Any]) -> str:
    """Settings as `key=value`, numbers in their shortest form."""
    shown = {key: f"{value:.12g}" if isinstance(value, float) else value for key, value in settings.items()}
    return " ".join(f"{key}={value}" for key, value in shown.items()) or "(all alike)"


def is_number(value: Any) -> bool:
    """Whether it can be averaged; true is no number."""
    return isinstance(value, int | float) and not isinstance(value, bool)
