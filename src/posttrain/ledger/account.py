"""On whose behalf something is paid for: project, experiment, stage, and the run of that stage."""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from posttrain.ledger.fingerprint import Inputs, stage_inputs
from posttrain.ledger.places import project_root

BY_HAND = "by hand"


@dataclass(frozen=True)
class Account:
    """Where a charge is booked.

    project: the project's folder; `budget.usd` is what it may spend in all, copies made for experiments included.
    experiment: the name DVC gave it, empty in the workspace. stage: as DVC names it, or "by hand".
    run: fingerprint of the stage's data and params, so that a killed stage's spending is found again.
    """

    project: str
    experiment: str
    stage: str
    run: str


@cache
def inputs_here(stage: str) -> Inputs:
    """What the running stage depends on, hashed once a process."""
    return stage_inputs(stage, Path("params.yaml"))


def account_here() -> Account:
    """The account of this process."""
    stage = os.environ.get("DVC_STAGE", "")
    run = inputs_here(stage).data_fingerprint if stage else ""
    experiment = os.environ.get("DVC_EXP_NAME", "")
    return Account(str(project_root().resolve()), experiment, stage.rsplit(":", 1)[-1] or BY_HAND, run)
