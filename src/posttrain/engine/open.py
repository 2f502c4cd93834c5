"""Opens the engine that the settings name."""

from posttrain.engine.hosted.engine import HostedEngine
from posttrain.engine.local.engine import LocalEngine
from posttrain.engine.protocol import Engine
from posttrain.engine.settings import EngineSettings, ServiceSettings


def open_engine(settings: EngineSettings, service: ServiceSettings) -> Engine:
    """The engine for `settings`; the model is loaded, and the service called, when it is first needed.

    Raises:
        EngineError: the model is unknown, missing or unsupported.
    """
    if settings.name == "tinker":
        return HostedEngine(settings.model, service)
    return LocalEngine(settings)
