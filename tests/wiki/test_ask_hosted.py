"""`posttrain ask` with a hosted policy: what is sampled is paid for once, and the cap holds for it too."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tinker.lib.internal_client_holder import sessionless_holder_cache

from posttrain.cli import main
from posttrain.engine.hosted.engine import HostedEngine
from posttrain.train.checkpoint import Checkpoint, base_checkpoint, write_checkpoint
from tests.engine.hosted import SERVICE, opened, point_to
from tests.export.place import LINEAGE, link_models, make_place, trained
from tests.loopback.server import Loopback, serving
from tests.tiny import tiny_engine
from tests.wiki.corpora import built

QUESTION = "Which river runs through Vik?"


@pytest.fixture
def server(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """A service, and as the working directory a project whose models are there."""
    link_models(cache)
    # The SDK's REST client keeps to the first address that a process has used, and here others were used before.
    monkeypatch.setattr(sessionless_holder_cache, "_holders", {})
    make_place(tmp_path / "place", tiny_engine())
    built(tmp_path / "place/data", [("Vik", "Vik lies on the river Orla.")])
    monkeypatch.chdir(tmp_path / "place")
    with serving() as running:
        point_to(monkeypatch, running.url)
        hosted = HostedEngine("tiny", SERVICE)
        write_checkpoint(hosted, base_checkpoint(hosted), Path("models/base"))
        with opened(monkeypatch, running) as engine:
            saved = asyncio.run(trained(engine, "made"))
        write_checkpoint(hosted, Checkpoint(LINEAGE, "GRPO step 4", saved), Path("models/grpo_best"))
        change("engine", name="tinker")
        change("prices", model="tiny", prefill=1000.0, cached=100.0, sample=2000.0, train=0.0)
        yield running


def change(section: str, **values: Any) -> None:
    params = yaml.safe_load(Path("params.yaml").read_text())
    params[section].update(values)
    Path("params.yaml").write_text(yaml.safe_dump(params))


@pytest.mark.usefixtures("server")
def test_it_says_what_was_paid_and_a_second_time_costs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["ask", QUESTION])
    first = capsys.readouterr().out.splitlines()
    usd = float(first[-1].split(", ")[-1].removesuffix(" USD"))
    assert usd > 0.1  # a prompt of more than a hundred tokens at 1,000 USD a million
    assert main(["ledger"]) == 0
    booked = capsys.readouterr().out
    assert "by hand" in booked
    assert f"{usd:.4f}" in booked
    assert main(["ask", QUESTION]) == code
    again = capsys.readouterr().out.splitlines()
    assert again[:-1] == first[:-1]
    assert again[-1].endswith("all of it from the sample store, 0 USD")


@pytest.mark.usefixtures("server")
def test_the_cap_and_an_unknown_price_refuse_it(capsys: pytest.CaptureFixture[str]) -> None:
    change("budget", usd=0.01)
    assert main(["ask", QUESTION]) == 1
    assert "raise budget.usd" in capsys.readouterr().err.splitlines()[-1]
    change("prices", model="another")
    assert main(["ask", QUESTION]) == 1
    assert "set prices.model" in capsys.readouterr().err.splitlines()[-1]


def test_a_checkpoint_that_is_gone_is_one_line(server: Loopback, capsys: pytest.CaptureFixture[str]) -> None:
    saved = yaml.safe_load(Path("models/grpo_best/checkpoint.json").read_text())["saved"]
    server.forget(saved["sampler"])
    assert main(["ask", QUESTION]) == 1
    out, errors = capsys.readouterr()
    assert out == ""
    assert f"{saved['sampler']} is not on" in errors.splitlines()[-1]
