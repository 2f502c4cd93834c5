import asyncio
from pathlib import Path

import pytest
from tinker import AdamParams

from posttrain.engine.metered import MeteredEngine
from posttrain.errors import BudgetError
from posttrain.ledger.account import Account
from posttrain.ledger.price import PriceSettings, Tokens
from posttrain.ledger.purse import Purse
from posttrain.ledger.store import SampleStore
from tests.tiny import datum, ids, params, sample, tiny_engine

ACCOUNT = Account("/project", "", "grpo", "r")
PRICES = PriceSettings("tiny", prefill=1.0, cached=0.1, sample=10.0, train=100.0)


@pytest.fixture
def store(tmp_path: Path) -> SampleStore:
    return SampleStore(tmp_path / "s.sqlite")


def metered(store: SampleStore, cap: float) -> MeteredEngine:
    return MeteredEngine(tiny_engine(), Purse(store, ACCOUNT, "tiny", PRICES, cap))


def test_a_request_is_the_engine_s_own_and_pays_its_prompt_once(store: SampleStore) -> None:
    async def both() -> None:
        prompt, how = ids(20), params(max_tokens=6)
        plain = await sample(await tiny_engine().base_sampler(), prompt, 3, how)
        assert await sample(await metered(store, 1.0).base_sampler(), prompt, 3, how) == plain

    asyncio.run(both())
    spending = store.spend.of_run("grpo", "r")
    assert (spending.requests, spending.tokens.prefill, spending.tokens.sampled) == (1, 20, 18)


def test_a_request_that_could_pass_the_cap_does_not_go_out(store: SampleStore) -> None:
    async def one() -> None:
        sampler = await metered(store, 0.0001).base_sampler()
        await sample(sampler, ids(20), 3, params(max_tokens=6))

    with pytest.raises(BudgetError, match=r"budget\.usd is 0\.0001"):
        asyncio.run(one())
    assert store.spend.of_run("grpo", "r").requests == 0


def test_training_pays_its_tokens_and_stops_before_the_step_that_could_pass(store: SampleStore) -> None:
    data = [datum(ids(11, seed), 4, weights=[1.0] * 4) for seed in range(2)]  # 2 × 10 tokens, 0.002 USD

    async def steps() -> int:
        trainer, done = await metered(store, 0.005).new_trainer(4, 0), 0
        while True:
            output = trainer.forward_backward(data, "cross_entropy")
            stepped = trainer.optim_step(AdamParams(learning_rate=1e-4))
            await output
            await stepped
            done += 1
            assert store.spend.of_run("grpo", "r").tokens == Tokens(trained=20 * done)

    with pytest.raises(BudgetError):
        asyncio.run(steps())
    assert store.spend.spent("/project") == pytest.approx(0.004)


def test_policies_of_a_metered_trainer_are_metered(store: SampleStore, tmp_path: Path) -> None:
    async def run() -> None:
        engine = metered(store, 1.0)
        trainer = await engine.new_trainer(4, 0)
        await sample(await trainer.sampler(), ids(10), 1, params(max_tokens=2))
        saved = await trainer.save("a" * 32)
        assert engine.find_saved("a" * 32) == saved
        await sample(await engine.load_sampler(saved.sampler), ids(10), 1, params(max_tokens=2))
        await (await engine.load_trainer(saved.state, optimizer=True)).sampler()
        published = engine.publish(saved, tmp_path / "out")
        assert (tmp_path / "out" / published.sampler).is_dir()
        engine.close()

    asyncio.run(run())
    assert store.spend.of_run("grpo", "r").requests == 2
