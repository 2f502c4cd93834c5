"""The sections of params.yaml that only this recipe has, but for `data`, `index` and `harness`."""

from dataclasses import dataclass

from posttrain.errors import SettingsError


def _at_least(settings: object, low: int, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        if value < low:
            raise SettingsError(f"{name}: must be at least {low}, is {value}")


@dataclass(frozen=True)
class RunSettings:
    """seed: of adapters, sampling and the order of training data; the data's own seed is data.seed."""

    seed: int

    def check(self) -> None:
        """Raises SettingsError on a negative seed."""
        _at_least(self, 0, "seed")


@dataclass(frozen=True)
class EvaluateSettings:
    """concurrency: episodes at a time. temperature: 0 for measurements that repeat."""

    concurrency: int
    temperature: float

    def check(self) -> None:
        """Raises SettingsError on values out of range."""
        _at_least(self, 1, "concurrency")
        _at_least(self, 0, "temperature")


@dataclass(frozen=True)
class ColdstartSettings:
    """demonstrations: scripted episodes on train questions (0 hands the base model on); then as in `sft`."""

    demonstrations: int
    offset: int
    epochs: int
    batch: int
    lr: float

    def check(self) -> None:
        """Raises SettingsError on values out of range."""
        _at_least(self, 0, "demonstrations", "offset", "lr")
        _at_least(self, 1, "epochs", "batch")


@dataclass(frozen=True)
class CollectSettings:
    """questions: the first train questions. tries: attempts at each. temperature, concurrency: of sampling."""

    questions: int
    tries: int
    temperature: float
    concurrency: int

    def check(self) -> None:
        """Raises SettingsError on values out of range."""
        _at_least(self, 1, "questions", "tries", "concurrency")
        _at_least(self, 0, "temperature")


@dataclass(frozen=True)
class SelectSettings:
    """Which attempts are learned from: F1 of at least `min_f1`.

    Fewer than `few` kept questions, or more than the share `many`, are flagged.
    """

    min_f1: float
    few: int
    many: float

    def check(self) -> None:
        """Raises SettingsError on values out of range."""
        if not 0 <= self.min_f1 <= 1:
            raise SettingsError(f"min_f1: must be from 0 to 1, is {self.min_f1}")
        _at_least(self, 0, "few", "many")
