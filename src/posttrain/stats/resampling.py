"""The limits of what all resampling shares; apart from the computing, so that checking settings loads no numpy."""

import math

from posttrain.errors import SettingsError


def check_resampling(resamples: int, confidence: float, seed: int) -> None:
    """Checks the settings that all resampling shares.

    Raises:
        SettingsError: one is out of range, or `resamples` leaves less than one resample outside each end.
    """
    if not 0 < confidence < 1:
        raise SettingsError(f"confidence: must be between 0 and 1, such as 0.95, is {confidence}")
    if resamples * (1 - confidence) / 2 < 1 - 1e-9:
        least = math.ceil(2 / (1 - confidence) - 1e-9)
        raise SettingsError(f"resamples: must be at least {least} for confidence {confidence}, is {resamples}")
    if seed < 0:
        raise SettingsError(f"seed: must be at least 0, is {seed}")
