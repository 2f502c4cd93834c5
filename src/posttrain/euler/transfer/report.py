"""What one transfer round found, by task and language."""

from collections.abc import Sequence
from typing import Any

from posttrain.errors import DataError
from posttrain.euler.claims import Seen, shares
from posttrain.euler.measures import measures
from posttrain.euler.rounds import Round
from posttrain.euler.transfer.frozen import FROZEN_SHA256, SUITE, check_frozen
from posttrain.euler.transfer.tasks import NAMES

GROUPINGS: dict[str, tuple[str, ...]] = {
    "tasks": ("problem",),
    "languages": ("language",),
    "cells": ("problem", "language"),
}
"""Tables by the fields of `Planned` that make their rows."""


def transfer_report(finished: Round, confidence: float) -> dict[str, Any]:
    """Counts with Wilson's intervals and `measures`: `total`, and a row for each task, language and both together.

    A row has the completed rollouts only; `lost` says how many are missing. total: None if all of them are.

    Raises:
        DataError: the round is not of the frozen suite.
        SettingsError: `confidence` is not between 0 and 1.
    """
    check_suite(finished)
    seen = completed(finished)
    total = _rows(seen, confidence, ())
    tables = {name: _rows(seen, confidence, fields) for name, fields in GROUPINGS.items()}
    return {**about(finished), "confidence": confidence, "total": total[0] if total else None, **tables}


def check_suite(finished: Round) -> None:
    """Raises DataError if a round is not of the suite as it is now, or the suite not the frozen one."""
    check_frozen()
    manifest = finished.manifest
    if manifest.kind.mode != "transfer" or (manifest.problem_set, manifest.problems_sha256) != (SUITE, FROZEN_SHA256):
        raise DataError(
            f"round {finished.id[:12]} is in {manifest.kind.mode} mode, of {manifest.problem_set} "
            f"{manifest.problems_sha256[:16]}, and not of {SUITE} {FROZEN_SHA256[:16]}; sample a transfer round"
        )


def about(finished: Round) -> dict[str, Any]:
    """Which round it is, of which model."""
    manifest, signature = finished.manifest, finished.manifest.signature
    return {
        "suite": manifest.problem_set,
        "suite_sha256": manifest.problems_sha256,
        "round": finished.id[:12],
        "origin": manifest.kind.origin,
        "started": manifest.started,
        "model": signature.model,
        "revision": signature.revision,
        "signature": signature.digest,
        "trained_on": list(manifest.trained_on),
        "rollouts": len(finished.rollouts),
        "lost": len(finished.rollouts) - len(completed(finished)),
    }


def completed(finished: Round) -> list[Seen]:
    """The rollouts that the infrastructure did not lose, also of a replay."""
    return [Seen(finished, rollout) for rollout in finished.rollouts if rollout.failure is None]


def named(row: dict[str, Any]) -> dict[str, Any]:
    """The row with `task` and its `name` in place of `problem`, if that is there."""
    number = row.get("problem")
    task = {} if number is None else {"task": number, "name": NAMES[number]}
    return task | {key: value for key, value in row.items() if key != "problem"}


def _rows(seen: Sequence[Seen], confidence: float, fields: tuple[str, ...]) -> list[dict[str, Any]]:
    groups: dict[tuple[Any, ...], list[Seen]] = {}
    for each in seen:
        groups.setdefault(tuple(getattr(each.rollout.planned, field) for field in fields), []).append(each)
    rows = [
        shares(members, confidence, *fields)[0] | measures([each.rollout for each in members])
        for members in groups.values()
    ]
    return [named(row) for row in rows]
