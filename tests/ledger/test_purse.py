import asyncio
from pathlib import Path

import pytest

from posttrain.errors import BudgetError
from posttrain.ledger.account import Account
from posttrain.ledger.price import FREE, PriceSettings, Tokens
from posttrain.ledger.purse import Purse
from posttrain.ledger.store import SampleStore

ACCOUNT = Account("/project", "", "collect", "r")
PRICES = PriceSettings("m", prefill=1.0, cached=0.2, sample=10.0, train=2.0)
WORST = Tokens(prefill=1000, sampled=900)  # 0.01 USD
REAL = Tokens(prefill=1000, cached=500, sampled=100)  # 0.002 USD, 0.0004 off


@pytest.fixture
def store(tmp_path: Path) -> SampleStore:
    return SampleStore(tmp_path / "s.sqlite")


def purse(store: SampleStore, cap: float, account: Account = ACCOUNT) -> Purse:
    return Purse(store, account, "m", PRICES, cap)


def test_what_came_back_is_booked_and_the_cache_is_told_apart(store: SampleStore) -> None:
    async def one() -> None:
        async with purse(store, 1.0).reserve(WORST) as book:
            book(REAL)

    asyncio.run(one())
    spending = store.spend.of_run("collect", "r")
    assert (spending.requests, spending.tokens) == (1, REAL)
    assert spending.usd == pytest.approx(0.002)
    assert spending.discount == pytest.approx(0.0004)
    assert store.spend.spent("/project") == pytest.approx(0.002)
    assert store.spend.spent("/other") == 0


@pytest.mark.parametrize("cap", [0.0, 0.009, 0.05, 0.1003])
def test_many_at_once_never_pass_the_cap_and_use_it_up(store: SampleStore, cap: float) -> None:
    """Requests in flight may all turn out as dear as they can; those that wait go on when others settle for less."""
    spender, at_most, done = purse(store, cap), 0.0, 0

    async def request() -> None:
        nonlocal at_most, done
        async with spender.reserve(WORST) as book:
            at_most = max(at_most, cap - spender.left)
            await asyncio.sleep(0)
            book(REAL)
            done += 1

    async def wave() -> list[BaseException | None]:
        return await asyncio.gather(*(request() for _ in range(200)), return_exceptions=True)

    outcomes = asyncio.run(wave())
    refused = [outcome for outcome in outcomes if outcome is not None]
    assert at_most <= cap + 1e-9
    assert all(isinstance(outcome, BudgetError) for outcome in refused)
    assert done == 200 - len(refused)
    spent = store.spend.spent("/project")
    assert spent == pytest.approx(0.002 * done)
    if refused:
        assert cap - spent < 0.01  # not even one more request at its worst


def test_the_refusal_says_what_to_change_and_a_higher_cap_goes_on(store: SampleStore) -> None:
    with purse(store, 0.01).reserve_now(WORST) as book:
        book(WORST)
    with pytest.raises(BudgetError) as caught, purse(store, 0.015).reserve_now(WORST):
        pass
    assert str(caught.value) == (
        "budget.usd is 0.015 and 0.0100 USD are spent, so 0.0100 more could pass it; raise budget.usd in params.yaml "
        "and run `dvc repro` again: it goes on from here, and nothing is paid for twice"
    )
    with purse(store, 0.03).reserve_now(WORST) as book:
        book(WORST)


def test_other_processes_and_experiments_of_the_project_count(store: SampleStore, tmp_path: Path) -> None:
    spender = purse(store, 0.02)
    assert spender.left == pytest.approx(0.02)
    with SampleStore(tmp_path / "s.sqlite") as elsewhere:
        other = purse(elsewhere, 0.02, Account("/project", "brave-moth", "grpo", "x"))
        with other.reserve_now(WORST) as book:
            book(WORST)
        with purse(elsewhere, 0.02, Account("/unrelated", "", "grpo", "x")).reserve_now(WORST) as book:
            book(WORST)
    assert spender.left == pytest.approx(0.01)


def test_a_request_that_failed_frees_what_it_held(store: SampleStore) -> None:
    spender = purse(store, 0.01)
    with pytest.raises(OSError, match="reset"), spender.reserve_now(WORST):
        raise OSError("reset")
    assert spender.left == pytest.approx(0.01)
    assert store.spend.of_run("collect", "r").requests == 0


def test_what_is_free_is_counted_and_never_refused(store: SampleStore) -> None:
    with Purse(store, ACCOUNT, "m", FREE, 0.0).reserve_now(WORST) as book:
        book(REAL)
    assert store.spend.of_run("collect", "r").tokens == REAL
    assert store.spend.spent("/project") == 0
