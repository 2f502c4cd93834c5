"""What the next `dvc repro` will run, why, and what each stage will cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from posttrain.engine.prices import prices_of
from posttrain.engine.settings import EngineSettings
from posttrain.errors import BudgetError, DataError
from posttrain.ledger.fingerprint import Inputs, stage_inputs
from posttrain.ledger.price import FREE, PriceSettings
from posttrain.ledger.receipt import find_receipt
from posttrain.ledger.store import SampleStore
from posttrain.settings import load
from posttrain.stale import Due
from posttrain.wiki.estimate import Estimate, estimate


@dataclass(frozen=True)
class Planned:
    """A stage that would run; `expected` is None if it neither samples nor trains.

    paid: USD that this very run has cost already, None as long as stages before it may change it.
    receipt: a receipt holds its outputs.
    """

    due: Due
    expected: Estimate | None
    paid: float | None
    receipt: bool

    @property
    def usd(self) -> float:
        """What is still to be paid, at the most."""
        if self.expected is None or self.receipt:
            return 0.0
        return max(self.expected.usd - (self.paid or 0.0), 0.0)


@dataclass(frozen=True)
class Plan:
    """The stages in order, and a warning if their price is not known."""

    stages: list[Planned]
    warning: str | None


def plan(due: Sequence[Due], params: Path, store: SampleStore) -> Plan:
    """Prices what is due.

    Raises:
        SettingsError: the params file has a mistake.
    """
    engine, warning = load("engine", EngineSettings, params), None
    try:
        prices = prices_of(engine, load("prices", PriceSettings, params))
    except BudgetError as error:
        prices, warning = FREE, f"{error}; until then nothing starts, and the prices here are 0"
    stages = []
    for one in due:
        expected = estimate(one.stage, params, store.spend, engine.model, prices)
        inputs = None if expected is None or one.upstream else _inputs(one.stage, params)
        receipt = inputs is not None and _has_receipt(inputs)
        paid = None if inputs is None else store.spend.of_run(one.stage, inputs.data_fingerprint).usd
        stages.append(Planned(one, expected, paid, receipt))
    return Plan(stages, warning)


def _inputs(stage: str, params: Path) -> Inputs | None:
    try:
        return stage_inputs(stage, params)
    except DataError:  # a dep is not there yet
        return None


def _has_receipt(inputs: Inputs) -> bool:
    receipt = find_receipt(inputs)
    return receipt is not None and receipt["kept"] is not None
