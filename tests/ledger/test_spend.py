import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from posttrain.ledger.account import Account
from posttrain.ledger.price import Tokens
from posttrain.ledger.spend import Charge
from posttrain.ledger.store import Sample, SampleKey, SampleStore

ACCOUNT = Account("/project", "", "eval_sft@1", "r1")
CHARGE = Charge(ACCOUNT, "m", Tokens(prefill=100, cached=40, sampled=10), usd=0.5, discount=0.125)


@pytest.fixture
def store(tmp_path: Path) -> SampleStore:
    return SampleStore(tmp_path / "s.sqlite")


def run(store: SampleStore, account: Account, units: int, tokens: int, seconds: float = 10.0) -> None:
    """One pass of a stage that draws so many tokens."""
    number = store.spend.begin(account, "m", units, 0.0)
    if tokens:
        store.charge(replace(CHARGE, account=account, tokens=Tokens(prefill=tokens)))
    store.spend.finish(number, tokens, seconds)


def test_a_charge_and_the_sample_it_paid_for_are_written_together(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"

    async def answer(store: SampleStore) -> tuple[int, int]:
        store.charge(CHARGE)
        store.put(SampleKey("p", (1,), "{}", 0, 0), Sample([1], [-0.5], "stop"))
        before = counts(path)
        await asyncio.sleep(0)
        assert counts(path) == (1, 1)
        return before

    with SampleStore(path) as store:
        assert asyncio.run(answer(store)) == (0, 0)


def counts(path: Path) -> tuple[int, int]:
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT (SELECT count(*) FROM samples), (SELECT count(*) FROM charges)").fetchone()
    return found[0], found[1]


def test_spending_is_known_before_it_is_written(store: SampleStore) -> None:
    async def three() -> float:
        for _ in range(3):
            store.charge(CHARGE)
        return store.spend.spent("/project")

    assert asyncio.run(three()) == 1.5
    store.flush()
    assert store.spend.spent("/project") == 1.5


def test_booked_by_experiment_and_stage_with_the_first_estimate(store: SampleStore) -> None:
    for estimate in (2.0, 7.0):
        store.spend.begin(ACCOUNT, "m", 10, estimate)
    store.charge(CHARGE)
    store.charge(CHARGE)
    store.charge(replace(CHARGE, account=replace(ACCOUNT, experiment="brave-moth", stage="by hand", run="")))
    store.charge(replace(CHARGE, account=replace(ACCOUNT, project="/other")))
    first, second = store.spend.booked("/project")
    assert (first.experiment, first.stage, first.estimate) == ("", "eval_sft@1", 2.0)
    assert (first.spending.requests, first.spending.usd, first.spending.discount) == (2, 1.0, 0.25)
    assert first.spending.tokens == Tokens(prefill=200, cached=80, sampled=20)
    assert (second.experiment, second.stage, second.estimate) == ("brave-moth", "by hand", None)


def test_the_average_is_the_dearest_of_late_runs_and_of_the_whole_run(store: SampleStore) -> None:
    other = Account("/project", "", "eval_sft@2", "r2")
    run(store, ACCOUNT, units=10, tokens=600)
    run(store, ACCOUNT, units=10, tokens=400, seconds=20.0)  # the same run, continued after a kill
    run(store, other, units=10, tokens=100)  # most of it was found stored
    run(store, replace(other, run="r3"), units=10, tokens=0)  # all of it
    run(store, Account("/project", "", "eval_sftx@1", "r4"), units=1, tokens=9999)
    average = store.spend.averages("eval_sft", "m")
    assert average is not None
    assert (average.tokens.total, average.units) == (1000, 10)
    assert average.seconds == pytest.approx(20 / 400)
    assert store.spend.averages("eval_sft@2", "m") is not None
    assert store.spend.averages("eval_sft", "another model") is None
    assert store.spend.averages("eval_sft@3", "m") is None
    assert store.spend.seconds(ACCOUNT) == pytest.approx(30.0)


def test_a_store_from_before_there_was_a_ledger_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    key, sample = SampleKey("p", (1,), "{}", 0, 0), Sample([1], [-0.5], "stop")
    with SampleStore(path) as store:
        store.put(key, sample)
    with sqlite3.connect(path) as connection:
        connection.executescript("DROP TABLE charges; DROP TABLE passes; PRAGMA user_version=1")
    connection.close()
    with SampleStore(path) as store:
        assert store.get([key]) == [sample]
        store.charge(CHARGE)
    with SampleStore(path) as store:
        assert store.spend.spent("/project") == 0.5
