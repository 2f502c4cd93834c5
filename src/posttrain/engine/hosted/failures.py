"""What the SDK and the network can do to a call, told in the user's terms: lasting or passing, and what mends it."""

import os
import re
from collections.abc import Iterator

import httpx
import pydantic
import tinker
from tinker.types import RequestErrorCategory

from posttrain.engine.hosted.address import shown_url
from posttrain.errors import EngineError, InfrastructureError, PosttrainError
from posttrain.terminal import harmless

TIMEOUTS = (TimeoutError, tinker.APITimeoutError, httpx.TimeoutException)
_LASTING = {
    tinker.AuthenticationError: "the key was not accepted (401); set TINKER_API_KEY to a valid one",
    tinker.BillingError: "the account cannot pay (402); settle its billing in the service's console and run again",
    tinker.PermissionDeniedError: "the key may not do this (403); use a key of the project that owns the checkpoint",
    tinker.BadRequestError: "the request was refused (400)",
    tinker.UnprocessableEntityError: "the request was not understood (422)",
}
_KEY = re.compile(r"\b(?:tml-|eyJ)[\w.~+/=-]+")
_KEY_WORDS = ("api_key", "credential", "jwt")
_FOREIGN_WORDS = ("predates", "deserialization failed", "validation error", "sample_sequence_ids")
"""In what the SDK says of answers that it cannot read."""


def translated(error: BaseException, doing: str) -> PosttrainError:
    """The project's error for what the SDK raised while `doing`.

    An `EngineError` lasts: trying again is of no use. An `InfrastructureError` may pass.
    """
    if isinstance(error, PosttrainError):
        return error
    said = _said(error)
    if isinstance(error, tinker.RequestFailedError):
        failed = f"{doing}: the service gave up on it: {said}"
        if error.category is RequestErrorCategory.User:
            return EngineError(f"{failed}; the request itself is at fault, check params.yaml")
        return InfrastructureError(f"{failed}; wait and run again")
    if isinstance(error, ValueError) and "exceeded 3 retries" in said:
        # A proxy's 400 as well as a cluster's own: one that lasts is found out by trying again.
        return InfrastructureError(f"{doing}: {said}; wait and run again, and if it says the same, check params.yaml")
    for cause in _causes(error):
        if (known := _known(cause, doing)) is not None:
            return known
    if isinstance(error, AssertionError | pydantic.ValidationError) or any(w in said.lower() for w in _FOREIGN_WORDS):
        return EngineError(f"{doing}: the answer cannot be read: {said}{_dialect()}")
    if isinstance(error, tinker.TinkerError) and any(word in said.lower() for word in _KEY_WORDS):
        return EngineError(f"{doing}: {said}; docs/tinker.md says where a key may stand")
    return InfrastructureError(f"{doing}: {said}; run it again")


def is_missing(error: BaseException) -> bool:
    """Whether the service says that something is not there, or no longer."""
    return isinstance(error, tinker.NotFoundError) or getattr(error, "status_code", None) == 410


def _known(error: BaseException, doing: str) -> PosttrainError | None:
    for lasting, advice in _LASTING.items():
        if isinstance(error, lasting):
            said = "" if isinstance(error, tinker.AuthenticationError) else f" ({_said(error)})"
            return EngineError(f"{doing}: {advice}{said}")
    if isinstance(error, tinker.NotFoundError):
        return EngineError(f"{doing}: not found (404): {_said(error)}{_dialect()}")
    if isinstance(error, tinker.APIResponseValidationError):
        return EngineError(f"{doing}: the answer has another shape than SDK {tinker.__version__} expects{_dialect()}")
    if isinstance(error, tinker.RateLimitError):
        return InfrastructureError(f"{doing}: too many requests (429); lower service.in_flight, or wait and run again")
    if isinstance(error, tinker.APIStatusError):
        return InfrastructureError(f"{doing}: the service failed ({error.status_code}); wait and run again")
    if isinstance(error, TIMEOUTS):
        return InfrastructureError(
            f"{doing}: no answer in time; the service is busy (429), failing or silent: lower service.in_flight, "
            "raise service.timeout_s, or wait and run again"
        )
    if isinstance(error, tinker.APIConnectionError | httpx.TransportError | ConnectionError):
        return InfrastructureError(f"{doing}: {shown_url()} cannot be reached; check the network and run again")
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from: the SDK wraps HTTP failures into a ValueError."""
    at: BaseException | None = error
    while at is not None:
        yield at
        at = at.__cause__


def _said(error: BaseException) -> str:
    """One line of what the service said, without anything that looks like a key or that a terminal would obey."""
    return harmless(_KEY.sub("…", str(error)), 300) or type(error).__name__


def _dialect() -> str:
    if not os.environ.get("TINKER_BASE_URL"):
        return "; install the versions of constraints.txt, or see whether the service has moved on"
    return (
        f"; the cluster at TINKER_BASE_URL may speak an older dialect than SDK {tinker.__version__}: "
        "upgrade its server, or unset TINKER_BASE_URL"
    )
