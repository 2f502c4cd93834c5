"""The loopback proxy: Pi asks it as it would ask OpenAI, and a checkpoint or a script answers.

It listens on 127.0.0.1 alone, in a thread with an event loop of its own. Each rollout has an address with an
unguessable part, so that nothing else on the machine can take part in it.
"""

import asyncio
import contextlib
import secrets
import threading
from collections.abc import Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from aiohttp import web

from posttrain.errors import DataError, PosttrainError
from posttrain.euler.planned import Planned
from posttrain.euler.proxy.completer import Completer, Seat
from posttrain.euler.proxy.wire import parse_request, stream

T = TypeVar("T")
HOST = "127.0.0.1"
_PATIENCE = 1.0
"""Seconds for replies under way when the proxy ends; whoever waits for one has been ended as well."""
_LARGEST_REQUEST = 64_000_000
"""Bytes: the whole conversation goes with each request."""


class Proxy:
    """Serves one completer. `failure` is the first error that asking again would not mend, such as a spent budget."""

    def __init__(self, completer: Completer) -> None:
        self.failure: PosttrainError | None = None
        self.completer = completer
        self._seats: dict[str, Seat] = {}
        self._port = 0

    @contextmanager
    def seat(self, planned: Planned, index: int) -> Iterator[str]:
        """The address for one rollout, good until the block ends."""
        token = secrets.token_urlsafe(16)
        self._seats[token] = Seat(planned, index)
        try:
            yield f"http://{HOST}:{self._port}/{token}/v1"
        finally:
            self._seats.pop(token, None)

    async def start(self) -> web.AppRunner:
        """Listens on a free port until the runner is cleaned up."""
        app = web.Application(client_max_size=_LARGEST_REQUEST)
        app.router.add_post("/{token}/v1/chat/completions", self._answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=_PATIENCE)
        await runner.setup()
        site = web.TCPSite(runner, HOST, 0)
        await site.start()
        self._port = runner.addresses[0][1]
        return runner

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        seat = self._seats.get(request.match_info["token"])
        if seat is None:
            return _refusal(404, "no rollout has this address")
        try:
            completion = await self.completer.complete(seat, parse_request(await request.read()))
        except DataError as error:
            return _refusal(400, str(error))
        except PosttrainError as error:
            self.failure = self.failure or error
            return _refusal(503, str(error))
        seat.turns += 1
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        with contextlib.suppress(ConnectionResetError):  # Pi was ended meanwhile
            for line in stream(completion, self.completer.model):
                await response.write(line)
            await response.write_eof()
        return response


def _refusal(status: int, why: str) -> web.Response:
    return web.json_response({"error": {"message": why, "type": "posttrain"}}, status=status)


@contextmanager
def serving(completer: AbstractContextManager[Completer]) -> Iterator[Proxy]:
    """Opens a completer and serves it, both in a thread of their own, until the block ends."""
    loop = Loop()
    try:
        with loop.inside(completer) as opened:
            proxy = Proxy(opened)
            runner = loop.run(proxy.start())
            try:
                yield proxy
            finally:
                loop.run(runner.cleanup())
    finally:
        loop.close()


class Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Does it on the loop, and waits for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    @contextmanager
    def inside(self, context: AbstractContextManager[T]) -> Iterator[T]:
        """Enters and leaves a context on the loop's thread, to which a sample store must belong."""

        async def leave() -> None:
            context.__exit__(None, None, None)

        async def enter() -> T:
            return context.__enter__()

        opened = self.run(enter())
        try:
            yield opened
        finally:
            self.run(leave())

    def close(self) -> None:
        """Ends the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
