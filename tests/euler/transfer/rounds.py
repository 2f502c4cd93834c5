"""Transfer rounds with made-up results."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from posttrain.euler.manifest import Manifest
from posttrain.euler.planned import Planned
from posttrain.euler.round_receipt import finish_round
from posttrain.euler.rounds import Round
from posttrain.euler.transfer.manifest import transfer_manifest, transfer_problem
from tests.euler.fake_rounds import FANOUT, SIGNATURE, Qualifies, sample_by

ALL = ["python", "javascript", "julia"]
SPREAD = replace(FANOUT, languages=ALL, rollouts=2)
MODEL = replace(SIGNATURE, languages=tuple(ALL))


def manifest(**changes: Any) -> Manifest:
    made = transfer_manifest(
        changes.pop("signature", MODEL), changes.pop("fanout", SPREAD), changes.pop("trained_on", ())
    )
    return replace(made, **changes)


def first(planned: Planned) -> bool:
    """The first rollout of each cell qualifies."""
    return planned.index == 0


def played(folder: Path, made: Manifest | None = None, qualifies: Qualifies = first) -> Round:
    """A finished transfer round."""
    sample_by(folder, transfer_problem, made or manifest(), qualifies)
    return finish_round(folder)
