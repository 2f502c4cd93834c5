"""The `ablation` section of params.yaml."""

from dataclasses import asdict, dataclass

from posttrain.stats.resampling import check_resampling


@dataclass(frozen=True)
class AblationSettings:
    """The `ablation` block of params.yaml."""

    resamples: int
    confidence: float
    seed: int

    def check(self) -> None:
        """Raises SettingsError, naming the key, when the intervals cannot be computed from these values."""
        check_resampling(**asdict(self))
