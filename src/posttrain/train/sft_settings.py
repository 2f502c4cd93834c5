"""The `sft` section of params.yaml."""

from dataclasses import dataclass

from posttrain.errors import SettingsError


@dataclass(frozen=True)
class SftSettings:
    """Supervised fine-tuning: passes over the data, examples per step, peak learning rate, epochs to evaluate."""

    epochs: int
    batch: int
    lr: float
    evaluate: list[int]

    def check(self) -> None:
        """Raises SettingsError on empty work or on epochs that will not exist."""
        for key in ("epochs", "batch"):
            if getattr(self, key) < 1:
                raise SettingsError(f"{key}: must be at least 1, is {getattr(self, key)}")
        if self.lr <= 0:
            raise SettingsError(f"lr: must be above 0, is {self.lr}")
        check_saves("evaluate", self.evaluate, list(range(1, self.epochs + 1)), "epoch")


def check_saves(key: str, chosen: list[int], existing: list[int], what: str) -> None:
    """Raises SettingsError unless `chosen` is a non-empty rising selection of the checkpoints that will exist."""
    if not chosen or chosen != sorted(set(chosen)):
        raise SettingsError(f"{key}: must list each {what} once, in rising order, is {chosen}")
    absent = [number for number in chosen if number not in existing]
    if absent:
        raise SettingsError(f"{key}: {what} {absent[0]} is never saved; the saved ones are {existing}")
