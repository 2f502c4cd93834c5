"""The checks of the hosted service against the loopback one, which computes what it answers, and against worse ones."""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from posttrain.doctor.check import Check
from posttrain.doctor.service import answer_check, checkpoints_check, key_check, service_check, tokenizer_check
from posttrain.engine.protocol import SavedPaths
from posttrain.engine.settings import EngineSettings
from posttrain.errors import BudgetError, DataError, EngineError, InfrastructureError, PosttrainError
from posttrain.ledger.places import samples_path
from posttrain.wiki.doctor_hosted import price_check
from tests.engine.hosted import opened, point_to
from tests.loopback.server import Loopback, serving
from tests.project import MODELS, ROOT
from tests.tiny import settings


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def healed(server: Loopback) -> Iterator[None]:
    yield
    server.heal()


@pytest.fixture
def converted(cache: Path) -> None:
    """The tiny model's tokenizer, which is the embedded model's, is not made anew."""
    cache.mkdir()
    (cache / "models").symlink_to(MODELS)


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home without any key."""
    for name in ("TINKER_API_KEY", "TINKER_CREDENTIAL_CMD", "TINKER_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def _stored(home: Path, key: str) -> None:
    (home / ".tinker").mkdir()
    record = {"type": "manual", "key": key, "name": "mine"}
    (home / ".tinker/credentials.json").write_text(json.dumps({"version": 1, "default": "a", "keys": {"a": record}}))


def test_no_key(unset: Path) -> None:
    check = key_check()
    assert (check.status, check.found) == ("FAIL", "there is no key")
    assert "export TINKER_API_KEY" in check.todo
    _stored(unset, "tml-abc")
    assert key_check() == Check("ok", "`tinker auth login` has stored a key")


def test_a_stored_key_of_another_form(unset: Path) -> None:
    _stored(unset, "sk-RecognisableKeyBody")
    check = key_check()
    assert check.status == "FAIL"
    assert "Recognisable" not in check.found + check.todo


@pytest.mark.parametrize("key", ["tml-abc", "eyJhbGciOiJIUzI1NiJ9.e30.c2ln"])
def test_a_key_in_the_environment(unset: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    _stored(unset, "sk-wrong")  # is not looked at
    monkeypatch.setenv("TINKER_API_KEY", key)
    assert key_check() == Check("ok", "TINKER_API_KEY has the form of a key")


@pytest.mark.parametrize("key", ["sk-RecognisableKeyBody", "tml-", '"tml-abc"', "tml-abc def", "tml-abc\n", "tml-é"])
def test_a_key_of_another_form(unset: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("TINKER_API_KEY", key)
    check = key_check()
    assert check.status == "FAIL"
    assert "Recognisable" not in check.found + check.todo
    # As for the SDK: a command makes up for it, and a stored key does not.
    _stored(unset, "tml-abc")
    assert key_check().status == "FAIL"
    monkeypatch.setenv("TINKER_CREDENTIAL_CMD", f"touch {unset}/was-run")
    assert key_check().status == "ok"
    assert not (unset / "was-run").exists()


def test_the_service(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    point_to(monkeypatch, server.url)
    assert service_check("tiny") == Check("ok", f"{server.url} accepts the key and offers tiny")
    with pytest.raises(EngineError, match=r"does not offer big; set engine\.model to one of tiny"):
        service_check("big")


@pytest.mark.usefixtures("converted")
def test_the_tokenizer() -> None:
    assert tokenizer_check("tiny").status == "ok"
    with pytest.raises(DataError, match=r"\./absent is no name that the hub knows"):
        tokenizer_check("./absent")


@pytest.mark.usefixtures("converted")
def test_the_answer_is_a_real_one(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(monkeypatch, server) as engine:
        check = answer_check(engine)
    assert check.status == "ok"
    assert check.found.startswith("8 tokens with log probabilities in ")


@pytest.mark.usefixtures("converted")
@pytest.mark.parametrize(
    ("how", "error"), [(403, EngineError), (404, EngineError), (500, InfrastructureError), ("silence", None)]
)
def test_no_answer(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, how: int | str, error: type[PosttrainError] | None
) -> None:
    with opened(monkeypatch, server, timeout_s=2.0, retries=0) as engine:
        server.fail("/asample", how, 100)
        started = time.monotonic()
        with pytest.raises(error or InfrastructureError, match="sampling: "):
            answer_check(engine)
        assert time.monotonic() - started < 10


def _params(folder: Path, budget: float = 40, **prices: float) -> Path:
    """The full profile with another cap or other prices."""
    params = yaml.safe_load((ROOT / "profiles/full.yaml").read_text())
    params["budget"]["usd"] = budget
    params["prices"] |= prices
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    (folder / "dvc.yaml").write_text("")
    return folder / "params.yaml"


def _full(model: str = "Qwen/Qwen3.5-4B") -> EngineSettings:
    return replace(settings(model=model), name="tinker")


def test_the_price(unset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(unset)
    check = price_check(_full(), _params(unset))
    assert check.status == "ok"
    assert check.found == (
        "USD 0.33 a million prompt tokens, 1.005 sampled, 0.737 trained; 0.00 of budget.usd 40 spent"
    )
    assert check.todo.startswith("set a spending limit in the service's console too")
    assert not samples_path().exists()
    assert price_check(_full(), _params(unset, budget=0)).status == "warn"
    with pytest.raises(BudgetError, match=r"prices in params\.yaml are those of Qwen/Qwen3\.5-4B"):
        price_check(_full("another"), _params(unset))
    free = _params(unset, prefill=0, cached=0, sample=0, train=0)
    assert price_check(_full(), free).todo.startswith("give the four prices")
    monkeypatch.setenv("TINKER_BASE_URL", "http://127.0.0.1:1")  # one's own cluster may be free
    assert price_check(_full(), free).status == "ok"


def _saved(monkeypatch: pytest.MonkeyPatch, server: Loopback, name: str, ttl_days: int | None) -> SavedPaths:
    async def save() -> SavedPaths:
        return await (await engine.new_trainer(4, 0)).save(name * 32)

    with opened(monkeypatch, server, ttl_days=ttl_days) as engine:
        return asyncio.run(save())


def test_checkpoints(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checkpoints_check({}).status == "ok"
    saved = {
        "models/sft": _saved(monkeypatch, server, "a", None),
        "models/coldstart": _saved(monkeypatch, server, "b", 9),
    }
    assert checkpoints_check({"models/sft": saved["models/sft"]}).found == "all 1 that models/ points to are there"
    check = checkpoints_check(saved)
    ends = datetime.now(UTC) + timedelta(days=9)
    assert check.status == "ok"
    assert check.found == f"all 2 that models/ points to are there, the first until {ends:%Y-%m-%d}"
    saved["models/grpo"] = _saved(monkeypatch, server, "c", 1)
    check = checkpoints_check(saved)
    assert check.status == "warn"
    assert "all 3 that models/ points to are there, the first until 2" in check.found
    server.forget(saved["models/grpo"].state)
    check = checkpoints_check(saved)
    assert (check.status, check.found) == (
        "FAIL",
        "those of models/grpo are gone: expired, deleted, or another account's",
    )
    many = {f"models/grpo/step-{n}": saved["models/grpo"] for n in range(5)}
    assert "step-2 and 2 more are gone" in checkpoints_check(many).found
    server.fail("/training_runs", 403, 100)
    with pytest.raises(EngineError, match="403"):
        checkpoints_check(saved)
