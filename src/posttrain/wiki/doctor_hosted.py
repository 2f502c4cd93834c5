"""The checks of `posttrain doctor` for a run that costs money: the service, its price, an answer, its checkpoints."""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

from posttrain.doctor.check import Check, Probe
from posttrain.doctor.service import answer_check, checkpoints_check, key_check, service_check, tokenizer_check
from posttrain.engine.prices import prices_of
from posttrain.engine.settings import EngineSettings, ServiceSettings
from posttrain.ledger.account import account_here
from posttrain.ledger.places import samples_path
from posttrain.ledger.price import BudgetSettings, PriceSettings
from posttrain.ledger.purse import Purse
from posttrain.ledger.store import SampleStore
from posttrain.settings import load

_REMINDER = "set a spending limit in the service's console too: budget.usd binds this project alone"
_PATIENCE = ServiceSettings(in_flight=1, timeout_s=15.0, retries=0, ttl_days=None)
"""For the one answer; those of params.yaml are for a run of hours."""
_SERVICE_SECONDS, _TOKENIZER_SECONDS, _ANSWER_SECONDS = 35.0, 60.0, 60.0
"""Three bounded requests; a download of some megabytes; a session, a sampler and an answer."""


def hosted_probes(engine: EngineSettings, root: Path) -> list[Probe]:
    """In the order in which a failure is cheapest to notice."""
    params = root / "params.yaml"
    return [
        Probe("key", key_check),
        Probe("service", partial(service_check, engine.model), ("key",), _SERVICE_SECONDS),
        Probe("tokenizer", partial(tokenizer_check, engine.model), seconds=_TOKENIZER_SECONDS),
        Probe("price", partial(price_check, engine, params), ("params", "store")),
        Probe("answer", partial(_answer, engine, params), ("service", "tokenizer", "price"), _ANSWER_SECONDS),
        Probe("checkpoints", partial(_checkpoints, root), ("service",), _SERVICE_SECONDS),
    ]


def price_check(engine: EngineSettings, params: Path) -> Check:
    """What tokens cost, what may be spent and what has been.

    Raises:
        BudgetError: the price is unknown.
    """
    prices, budget = prices_of(engine, load("prices", PriceSettings, params)), load("budget", BudgetSettings, params)
    spent = 0.0
    if samples_path().exists():  # a store is not made only to find it empty
        with SampleStore(samples_path()) as store:
            spent = store.spend.spent(account_here().project)
    each = f"{prices.prefill:g} a million prompt tokens, {prices.sample:g} sampled, {prices.train:g} trained"
    found = f"USD {each}; {spent:.2f} of budget.usd {budget.usd:g} spent"
    if spent >= budget.usd:
        return Check("warn", found, "only what is paid for already will run; raise budget.usd for more")
    if not (prices.prefill or prices.sample or prices.train) and not os.environ.get("TINKER_BASE_URL"):
        return Check("warn", found, f"give the four prices, for at 0 budget.usd holds nothing back; {_REMINDER}")
    return Check("ok", found, _REMINDER)


def _answer(engine: EngineSettings, params: Path) -> Check:
    """One real answer, held against the cap and booked as any other."""
    from posttrain.engine.hosted.engine import HostedEngine
    from posttrain.engine.metered import MeteredEngine

    prices, budget = prices_of(engine, load("prices", PriceSettings, params)), load("budget", BudgetSettings, params)
    hosted = HostedEngine(engine.model, _PATIENCE)
    try:
        with SampleStore(samples_path()) as store:
            purse = Purse(store, account_here(), engine.model, prices, budget.usd)
            check = answer_check(MeteredEngine(hosted, purse))
        return replace(check, found=f"{check.found}, for {prices.usd(purse.drawn):.6f} USD")
    finally:
        hosted.close()


def _checkpoints(root: Path) -> Check:
    """Those that folders under models/ point to, as `dvc repro` would use them."""
    from posttrain.train.checkpoint import FILE, read_checkpoint
    from posttrain.wiki.policies import is_hosted

    found = {file.parent: read_checkpoint(file.parent) for file in sorted((root / "models").rglob(FILE))}
    return checkpoints_check(
        {
            str(folder.relative_to(root)): checkpoint.saved
            for folder, checkpoint in found.items()
            if checkpoint.saved is not None and is_hosted(checkpoint)
        }
    )
