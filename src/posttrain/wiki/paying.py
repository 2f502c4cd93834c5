"""What a station may spend: its estimate held against what is left before it starts, its purse while it runs."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posttrain.engine.prices import prices_of
from posttrain.engine.settings import EngineSettings
from posttrain.errors import BudgetError
from posttrain.ledger.account import account_here
from posttrain.ledger.price import BudgetSettings, PriceSettings
from posttrain.ledger.purse import Purse
from posttrain.ledger.store import SampleStore
from posttrain.settings import load
from posttrain.wiki.estimate import estimate

PARAMS = Path("params.yaml")


@contextmanager
def open_purse(store: SampleStore, engine: EngineSettings) -> Iterator[Purse]:
    """The purse of this process, for the account of the running stage or of a command given by hand.

    Raises:
        BudgetError: the model's price is unknown, or the stage's estimate passes what is left.
    """
    prices = prices_of(engine, load("prices", PriceSettings, changes_results=False))
    budget = load("budget", BudgetSettings, changes_results=False)
    account = account_here()
    purse = Purse(store, account, engine.model, prices, budget.usd)
    expected = estimate(account.stage, PARAMS, store.spend, engine.model, prices)
    if expected is None:
        yield purse
        return
    owed = expected.usd - store.spend.of_run(account.stage, account.run).usd
    if budget.check_estimate and owed > max(purse.left, 0.0):
        raise BudgetError(
            f"it is estimated to cost {owed:.2f} USD more and {max(purse.left, 0.0):.2f} of budget.usd {budget.usd:g} "
            "are left; raise budget.usd, or set budget.check_estimate to false to start and stop at the cap"
        )
    started = time.monotonic()
    number = store.spend.begin(account, engine.model, expected.units, expected.usd)
    yield purse
    store.flush()
    store.spend.finish(number, purse.drawn.total, time.monotonic() - started)
