"""Which tracker the training curves are sent to: the `track` section of params.yaml, which changes no result."""

import re
from dataclasses import dataclass
from typing import Literal

from posttrain.errors import SettingsError

_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class TrackSettings:
    """to: the tracker, each an extra of its own (`posttrain[wandb]`). project: what its runs are filed under.

    Addresses, keys and modes are the trackers' own environment variables, such as MLFLOW_TRACKING_URI or WANDB_MODE.
    """

    to: Literal["none", "tensorboard", "wandb", "mlflow"]
    project: str

    def check(self) -> None:
        """Raises SettingsError on a name that is not a plain word, for it becomes a folder."""
        if not _PROJECT.fullmatch(self.project):
            raise SettingsError(
                f"project: must be up to 100 letters, digits, dots, dashes and underscores, is {self.project!r}"
            )
