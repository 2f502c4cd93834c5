"""What a station that samples has open: engine, store, chat format and, with a corpus, the search."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from posttrain.chat.format import ChatFormat
from posttrain.engine.open import open_engine
from posttrain.engine.protocol import Engine
from posttrain.engine.settings import EngineSettings
from posttrain.ledger.places import samples_path
from posttrain.ledger.store import SampleStore


@dataclass(frozen=True)
class Session:
    """Open until the block of `open_session` ends."""

    engine: Engine
    store: SampleStore
    chat: ChatFormat


@contextmanager
def open_session(settings: EngineSettings) -> Iterator[Session]:
    """Opens engine, sample store and chat format, in the order in which a wrong setting is cheapest to notice.

    Raises:
        EngineError: the model cannot be had.
        TemplateError: its chat template does not fit.
        StoreError: the sample store is damaged.
    """
    engine = open_engine(settings)
    try:
        with SampleStore(samples_path()) as store:
            yield Session(engine, store, ChatFormat.of(engine.tokenizer))
    finally:
        engine.close()


def prompt_text(name: str) -> str:
    """The prompt file `prompts/<name>.md`, stripped."""
    return Path("prompts", f"{name}.md").read_text(encoding="utf-8").strip()
