"""Whether the service can be used at all, found out in seconds: the SDK alone would try for minutes."""

import threading
from collections.abc import Callable
from typing import TypeVar

import httpx
import tinker

from posttrain.engine.hosted.address import base_url, rest_client, shown_url
from posttrain.engine.hosted.failures import TIMEOUTS, translated
from posttrain.errors import EngineError, InfrastructureError

T = TypeVar("T")
SECONDS = 10.0


def preflight(model: str, seconds: float = SECONDS) -> None:
    """Returns if the service is reachable, accepts the key, can bill the account and offers the model.

    Each of the steps takes at most `seconds`.

    Raises:
        EngineError: one of these fails and will go on failing; the message says what to do.
        InfrastructureError: the service does not answer now.
    """
    _reach(seconds)
    client = tinker.ServiceClient(base_url=base_url())
    # The SDK's own check: one request, while its public calls try again for minutes.
    bounded(lambda: client._check_accessible(), seconds, "asking the service")
    capabilities = bounded(
        lambda: rest_client().get_server_capabilities().result(seconds), seconds, "asking for models"
    )
    client.close("success")  # no session was begun; it lets go of its connections
    offered = sorted(str(one.model_name) for one in capabilities.supported_models)
    if model not in offered:
        near = [name for name in offered if name.split("/")[-1].split("-")[0] == model.split("/")[-1].split("-")[0]]
        raise EngineError(
            f"{shown_url()} does not offer {model}; set engine.model to one of {', '.join(near or offered) or 'none'}"
        )


def bounded(work: Callable[[], T], seconds: float, doing: str) -> T:
    """Runs blocking `work` in a thread that is left behind if it takes longer.

    Raises:
        EngineError, InfrastructureError: it failed, or took too long.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, name="preflight", daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        raise translated(failure[0], doing) from failure[0]
    if not outcome:
        raise InfrastructureError(f"{doing}: no answer from {shown_url()} in {seconds:.0f} s; wait and run again")
    return outcome[0]


def _reach(seconds: float) -> None:
    try:
        status = httpx.get(f"{base_url()}/api/v1/healthz", timeout=seconds).status_code
    except TIMEOUTS as error:
        raise InfrastructureError(f"no answer from {shown_url()} in {seconds:.0f} s; wait and run again") from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise EngineError(f"TINKER_BASE_URL {shown_url()!r} is no address; set it to https://…, or unset it") from error
    except httpx.TransportError as error:
        raise translated(error, "reaching the service") from error
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        raise InfrastructureError(f"{shown_url()} is not ready ({status}); wait and run again")
