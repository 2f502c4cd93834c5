"""A checkpoint of an engine as the agents' model, every sample of it kept, and none paid for past the cap."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posttrain.chat.tool_chat import ToolChat
from posttrain.engine.metered import MeteredEngine
from posttrain.engine.open import open_engine
from posttrain.engine.prices import prices_of
from posttrain.engine.settings import EngineSettings, ServiceSettings
from posttrain.euler.agent.settings import PolicySettings
from posttrain.euler.proxy.engine_completer import EngineCompleter
from posttrain.ledger.account import account_here
from posttrain.ledger.places import samples_path
from posttrain.ledger.price import BudgetSettings, PriceSettings
from posttrain.ledger.purse import Purse
from posttrain.ledger.store import SampleStore
from posttrain.settings import load
from posttrain.train.checkpoint import base_checkpoint, read_checkpoint


@contextmanager
def engine_completer(settings: PolicySettings, engine_settings: EngineSettings) -> Iterator[EngineCompleter]:
    """The checkpoint that `settings` name, until the block ends.

    Raises:
        BudgetError: the model's price is unknown.
        EngineError: the model cannot be had.
        TemplateError: its chat template does not fit, or writes calls in an unknown syntax.
    """
    engine = open_engine(engine_settings, load("service", ServiceSettings, changes_results=False))
    try:
        prices = prices_of(engine_settings, load("prices", PriceSettings, changes_results=False))
        cap = load("budget", BudgetSettings, changes_results=False).usd
        with SampleStore(samples_path()) as store:
            metered = MeteredEngine(engine, Purse(store, account_here(), engine_settings.model, prices, cap))
            folder = settings.checkpoint
            chosen = base_checkpoint(metered) if folder is None else read_checkpoint(Path(folder))
            yield EngineCompleter(
                engine_settings.model,
                chosen.policy(metered, store),
                ToolChat.of(engine.tokenizer),
                settings.temperature,
                settings.max_tokens,
                settings.context_tokens,
                settings.seed,
            )
            store.flush()
    finally:
        engine.close()
