"""What a station that samples has open: engine, store, chat format and, with a corpus, the search."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from posttrain.chat.format import ChatFormat
from posttrain.engine.metered import MeteredEngine
from posttrain.engine.open import open_engine
from posttrain.engine.protocol import Engine
from posttrain.engine.settings import EngineSettings, ServiceSettings
from posttrain.ledger.places import samples_path
from posttrain.ledger.purse import Purse
from posttrain.ledger.store import SampleStore
from posttrain.settings import load
from posttrain.wiki.paying import open_purse


@dataclass(frozen=True)
class Session:
    """Open until the block of `open_session` ends."""

    engine: Engine
    store: SampleStore
    chat: ChatFormat
    purse: Purse


@contextmanager
def open_session(settings: EngineSettings) -> Iterator[Session]:
    """Opens engine, sample store and chat format, in the order in which a wrong setting is cheapest to notice.

    Raises:
        BudgetError: the model's price is unknown, or the stage's estimate passes what is left of the budget.
        EngineError: the model cannot be had.
        TemplateError: its chat template does not fit.
        StoreError: the sample store is damaged.
    """
    engine = open_engine(settings, load("service", ServiceSettings, changes_results=False))
    try:
        with SampleStore(samples_path()) as store, open_purse(store, settings) as purse:
            yield Session(MeteredEngine(engine, purse), store, ChatFormat.of(engine.tokenizer), purse)
    finally:
        engine.close()


def prompt_text(name: str) -> str:
    """The prompt file `prompts/<name>.md`, stripped."""
    return Path("prompts", f"{name}.md").read_text(encoding="utf-8").strip()
