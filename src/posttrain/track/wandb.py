"""Weights & Biases: its service, or with WANDB_MODE=offline files under .posttrain/track/wandb for `wandb sync`.

Offline there is nothing to go on with: a stage that starts again leaves a second folder of the same run id. As it
replays its steps from the first on, the later folder holds all of them, and is the one to sync.
"""

import os
from pathlib import Path

import wandb

from posttrain.track.run import Run


class WandbRun:
    """A run with our id, so that the service goes on with it."""

    def __init__(self, run: Run) -> None:
        folder = os.environ.get("WANDB_DIR", run.folder)
        Path(folder).mkdir(parents=True, exist_ok=True)
        self._run = wandb.init(
            project=run.project,
            id=run.id,
            name=run.name,
            dir=folder,
            config=run.config,
            resume="allow",
            settings=wandb.Settings(console="off", silent=True),
        )
        # What the service calls the starting step of a run that goes on is the one after its last.
        self.last_step = max(0, self._run.starting_step - 1)

    def log(self, step: int, numbers: dict[str, float]) -> None:
        """See `Tracker.log`."""
        self._run.log(numbers, step=step, commit=True)

    def close(self, finished: bool) -> None:
        """See `Tracker.close`."""
        self._run.finish(exit_code=0 if finished else 1)


def open_run(run: Run) -> WandbRun:
    """Goes on with the run of this id, or begins it."""
    return WandbRun(run)
