"""The `index` section of params.yaml."""

import math
from dataclasses import dataclass

from posttrain.errors import SettingsError


@dataclass(frozen=True)
class IndexSettings:
    """BM25's term-frequency saturation `k1` and length normalization `b`."""

    k1: float
    b: float

    def check(self) -> None:
        """Refuses values outside BM25's ranges.

        Raises:
            SettingsError: k1 is not a finite number of at least 0, or b is not between 0 and 1.
        """
        for name, value, upper in (("k1", self.k1, math.inf), ("b", self.b, 1.0)):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or not 0 <= value <= upper:
                allowed = "of at least 0" if upper == math.inf else "from 0 to 1"
                raise SettingsError(f"{name}: must be a number {allowed}, is {value!r}")
