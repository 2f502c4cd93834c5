"""Stations that are paid for: each leaves a receipt, and a receipt can stand in for paying again."""

import json
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from posttrain.engine.open import open_engine
from posttrain.engine.settings import EngineSettings, ServiceSettings
from posttrain.ledger.account import account_here, inputs_here
from posttrain.ledger.fingerprint import Inputs
from posttrain.ledger.lock import awaited_lock
from posttrain.ledger.places import samples_path, state_dir
from posttrain.ledger.price import PriceSettings
from posttrain.ledger.receipt import find_receipt, recreate, write_receipt
from posttrain.ledger.store import SampleStore
from posttrain.settings import load
from posttrain.train.checkpoint import FILE, parse_checkpoint

Work = Callable[[], Coroutine[Any, Any, None]]


def paid(work: Work) -> Work:
    """The same work, left undone where a receipt holds its outputs, and by one experiment at a time.

    An experiment that comes second finds the samples of the first in the store. Outside of DVC it is just the work;
    on the local engine, which costs nothing, there are no receipts.
    """

    async def once() -> None:
        stage = os.environ.get("DVC_STAGE", "")
        if not stage:
            return await work()
        inputs = inputs_here(stage)
        why = f"{stage}: another experiment is at the same work; waiting for what it makes"
        async with awaited_lock(state_dir(), f"work-{inputs.data_fingerprint}", why):
            await with_receipt(inputs)

    async def with_receipt(inputs: Inputs) -> None:
        engine = load("engine", EngineSettings)
        if engine.name == "local":
            return await work()
        receipt = find_receipt(inputs)
        if receipt is not None and receipt["kept"] is not None and restored(receipt, engine):
            print(f"{inputs.stage.name}: re-created from its receipt, nothing was spent", file=sys.stderr)
            return None
        await work()
        write_receipt(inputs, _about(engine))

    return once


def restored(receipt: Mapping[str, Any], settings: EngineSettings) -> bool:
    """Re-creates a receipt's outputs if every checkpoint that they point to is still there."""
    pointers = [Path(name) for name in receipt["kept"] if Path(name).name == FILE]
    engine = open_engine(settings, load("service", ServiceSettings, changes_results=False))
    try:
        found = [parse_checkpoint(json.loads(receipt["kept"][str(path)]), path.parent) for path in pointers]
        gone = [each.label for each in found if each.saved and not engine.adopt(each.lineage, each.saved)]
    finally:
        engine.close()
    if gone:
        print(f"{receipt['stage']}: no longer there: {', '.join(gone)}", file=sys.stderr)
        return False
    recreate(receipt)
    return True


def _about(engine: EngineSettings) -> dict[str, Any]:
    account = account_here()
    with SampleStore(samples_path()) as store:
        spending, seconds = store.spend.of_run(account.stage, account.run), store.spend.seconds(account)
    prices = load("prices", PriceSettings, changes_results=False)
    return {
        "engine": engine.name,
        "model": engine.model,
        "usd": round(spending.usd, 6),
        "cache_discount_usd": round(spending.discount, 6),
        "requests": spending.requests,
        "tokens": asdict(spending.tokens),
        "seconds": round(seconds, 1),
        "prices": asdict(prices),
    }
