"""Opens the engine that the settings name."""

from posttrain.engine.local.engine import LocalEngine
from posttrain.engine.protocol import Engine
from posttrain.engine.settings import EngineSettings


def open_engine(settings: EngineSettings) -> Engine:
    """The engine for `settings`; the model is loaded when it is first needed.

    Raises:
        EngineError: the model is unknown, missing or unsupported.
    """
    return LocalEngine(settings)
