import json
import shutil
from pathlib import Path

import pytest
import yaml

from posttrain.engine.settings import EngineSettings
from posttrain.errors import BudgetError
from posttrain.ledger.account import Account
from posttrain.ledger.price import FREE, PriceSettings, Tokens
from posttrain.ledger.spend import Charge
from posttrain.ledger.store import SampleStore
from posttrain.wiki.estimate import estimate
from posttrain.wiki.paying import prices_of
from tests.project import ROOT
from tests.tiny import settings

FULL = ROOT / "profiles/full.yaml"
PRICES = PriceSettings(**yaml.safe_load(FULL.read_text())["prices"])


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """The full recipe's params.yaml beside the prompts, before anything has run."""
    shutil.copytree(ROOT / "prompts", tmp_path / "prompts")
    return Path(shutil.copy(FULL, tmp_path / "params.yaml"))


@pytest.fixture
def store(tmp_path: Path) -> SampleStore:
    return SampleStore(tmp_path / "s.sqlite")


def usd(store: SampleStore, stage: str, params: Path) -> float:
    expected = estimate(stage, params, store.spend, "Qwen/Qwen3.5-4B", PRICES)
    assert expected is not None
    assert not expected.measured
    return expected.usd


def test_the_recipe_at_full_size_costs_what_its_author_says(store: SampleStore, full: Path) -> None:
    """About 0.0007 USD an episode, and about 22 in all, with a prompt that is longer than ours."""
    assert usd(store, "base", full) == pytest.approx(200 * 0.0007, rel=0.2)
    evaluations = [f"eval_sft@{n}" for n in (1, 2, 3)] + [f"eval_grpo@{n}" for n in (10, 20, 30)]
    tests = [f"test@{arm}" for arm in ("closed_book", "base", "sft", "grpo", "grpo_top1", "grpo_budget2")]
    stages = ["closed_book", "base", "coldstart", "collect", "sft", *evaluations, "grpo", *tests]
    assert sum(usd(store, stage, full) for stage in stages) == pytest.approx(22, rel=0.25)


def test_stages_that_draw_nothing_have_no_estimate(store: SampleStore) -> None:
    for stage in ("prep", "index", "model", "select_traces", "score_base", "choose_sft", "ablation", "by hand"):
        assert estimate(stage, FULL, store.spend, "m", PRICES) is None


def test_what_the_stage_took_before_counts_more_than_constants(store: SampleStore) -> None:
    account = Account("/p", "", "eval_sft@1", "r")
    number = store.spend.begin(account, "m", 10, 0.0)
    store.charge(Charge(account, "m", Tokens(prefill=9000, sampled=1000), 0.0, 0.0))
    store.spend.finish(number, 10_000, 20.0)
    expected = estimate("eval_sft@3", FULL, store.spend, "m", PRICES)  # 200 questions, twenty times as many
    assert expected is not None
    assert expected.measured
    assert expected.tokens == Tokens(prefill=180_000, sampled=20_000)
    assert expected.seconds == pytest.approx(400.0)
    assert estimate("eval_sft@3", FULL, store.spend, "another", PRICES).measured is False  # type: ignore[union-attr]


def test_the_other_arms_are_no_measure_for_a_closed_book(store: SampleStore) -> None:
    account = Account("/p", "", "test@base", "r")
    number = store.spend.begin(account, "m", 1, 0.0)
    store.charge(Charge(account, "m", Tokens(prefill=9000), 0.0, 0.0))
    store.spend.finish(number, 9000, 1.0)
    assert estimate("test@sft", FULL, store.spend, "m", PRICES).measured  # type: ignore[union-attr]
    assert not estimate("test@closed_book", FULL, store.spend, "m", PRICES).measured  # type: ignore[union-attr]


def test_kept_traces_are_counted_once_selection_has_run(store: SampleStore, tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(FULL.read_text())
    before = estimate("sft", tmp_path / "params.yaml", store.spend, "m", PRICES)
    (tmp_path / "data/sft").mkdir(parents=True)
    (tmp_path / "data/sft/episodes.jsonl").write_text("{}\n" * 7)
    after = estimate("sft", tmp_path / "params.yaml", store.spend, "m", PRICES)
    assert before is not None
    assert after is not None
    assert (before.units, after.units) == (900 * 3, 7 * 3)


def test_longer_prompts_paragraphs_and_result_lists_cost_more(store: SampleStore, tmp_path: Path) -> None:
    def prefill() -> int:
        found = estimate("collect", tmp_path / "params.yaml", store.spend, "m", PRICES)
        assert found is not None
        return found.tokens.prefill // 6000

    params = yaml.safe_load(FULL.read_text())
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    plain = prefill()
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/research.md").write_text("long " * 828)  # 1,000 tokens, read 2 1/4 times an episode
    prompted = prefill()
    assert prompted - plain == pytest.approx(2250, abs=2)
    params["harness"]["top_k"] = 6  # 3 more after the first search and twice 3 after the second
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    assert prefill() - prompted == pytest.approx(9 * 115, abs=2)
    (tmp_path / "data/prep").mkdir(parents=True)
    (tmp_path / "data/prep/corpus.jsonl").write_text(json.dumps({"title": "T" * 10, "text": "t" * 400}) + "\n")
    assert prefill() - prompted == pytest.approx(18 * 81 - 9 * 115, abs=2)


def test_an_unknown_price_refuses_to_spend() -> None:
    hosted = EngineSettings(**{**vars(settings()), "name": "tinker", "model": "Qwen/Qwen3.5-8B"})
    with pytest.raises(
        BudgetError, match=r"those of Qwen/Qwen3\.5-4B and engine\.model is Qwen/Qwen3\.5-8B; set prices"
    ):
        prices_of(hosted, PRICES)
    with pytest.raises(BudgetError, match=r"are no model's and engine\.model is"):
        prices_of(hosted, FREE)
    assert prices_of(settings(), PRICES) == FREE
