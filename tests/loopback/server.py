"""The loopback service: the Tinker SDK's wire over HTTP on 127.0.0.1, computed by the local engine.

As far as this project uses it, the SDK cannot tell it from the hosted service; so the hosted engine is tested against
it without a network, and what it computes must equal the local engine's.
"""

import asyncio
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from posttrain.engine.local.engine import LocalEngine
from posttrain.engine.settings import EngineSettings
from tests.loopback.routes import Fault, Faults, How, application
from tests.loopback.shelf import Shelf, parsed
from tests.loopback.state import Service
from tests.tiny import settings

KEY = "tml-loopback"


class Loopback:
    """A running server, from outside its thread."""

    def __init__(self, url: str, faults: Faults, shelf: Shelf) -> None:
        self.url, self._faults, self._shelf = url, faults, shelf

    def counts(self) -> dict[str, int]:
        """Requests so far by their path's template, those that failed too."""
        return dict(self._faults.counts)

    def fail(self, prefix: str, how: How, times: int = 1) -> None:
        """What happens to the next `times` requests whose path (with or without /api/v1) begins with `prefix`.

        how: an HTTP status; "reset" (hung up on before anything is done); "lost" (done, then hung up on); "silence";
        or seconds below 400 by which the answer is late.
        """
        self._faults.waiting.append(Fault(prefix, how, times))

    def heal(self) -> None:
        """Drops the faults still in waiting."""
        self._faults.waiting.clear()

    def forget(self, path: str) -> None:
        """Deletes a checkpoint."""
        self._shelf.remove(parsed(path))

    def expire(self, path: str) -> None:
        """Ends a checkpoint's time to live."""
        self._shelf.keep(parsed(path), 0)


@contextmanager
def serving(
    state: Path | None = None,
    port: int = 0,
    key: str = KEY,
    flags: Mapping[str, Any] | None = None,
    engine: EngineSettings | None = None,
) -> Iterator[Loopback]:
    """A server in a thread of its own, until the block ends.

    state: where checkpoints stay; a temporary folder if None. flags: client-config values that differ from `FLAGS`.
    engine: the settings of the engine that computes, and the name of the one model on offer; the tests' tiny one
    if None.
    """
    chosen = engine or settings()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="loopback", daemon=True)
    thread.start()

    async def start() -> tuple[web.AppRunner, str]:
        runner = web.AppRunner(application(service, faults, key, flags or {}), shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"

    async def stop() -> None:
        faults.ended.set()
        await runner.cleanup()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    with tempfile.TemporaryDirectory() as temporary:
        shelf, faults = Shelf(state or Path(temporary)), Faults()
        service = Service(LocalEngine(chosen), chosen.model, shelf)
        runner, url = asyncio.run_coroutine_threadsafe(start(), loop).result()
        try:
            yield Loopback(url, faults, shelf)
        finally:
            asyncio.run_coroutine_threadsafe(stop(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
