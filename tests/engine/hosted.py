"""The hosted engine opened on a loopback service."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from posttrain.engine.hosted.engine import HostedEngine
from posttrain.engine.settings import ServiceSettings
from tests.loopback.server import KEY, Loopback

SERVICE = ServiceSettings(in_flight=8, timeout_s=20.0, retries=2, ttl_days=30)


def point_to(monkeypatch: pytest.MonkeyPatch, url: str, key: str = KEY) -> None:
    """The environment of a user of that service."""
    monkeypatch.setenv("TINKER_BASE_URL", url)
    monkeypatch.setenv("TINKER_API_KEY", key)
    monkeypatch.setenv("TINKER_TELEMETRY", "0")
    monkeypatch.delenv("TINKER_CREDENTIAL_CMD", raising=False)


@contextmanager
def opened(monkeypatch: pytest.MonkeyPatch, server: Loopback, **changes: Any) -> Iterator[HostedEngine]:
    """An engine on the tiny model, closed at the end."""
    point_to(monkeypatch, server.url)
    engine = HostedEngine("tiny", ServiceSettings(**{**vars(SERVICE), **changes}))
    try:
        yield engine
    finally:
        engine.close()


def count(server: Loopback, part: str) -> int:
    """Requests whose path holds `part`."""
    return sum(number for path, number in server.counts().items() if part in path)
