"""Calls to the service: a bounded number at once, each with a time limit, tried again while a failure may pass."""

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Protocol, TypeVar

from posttrain.engine.hosted.failures import translated
from posttrain.engine.settings import ServiceSettings
from posttrain.errors import EngineError, InfrastructureError, PosttrainError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
LONGEST_PAUSE = 60.0
TOLD_EVERY = 15.0
"""Seconds between two lines about waiting and trying again."""


class Future(Protocol[T_co]):
    """What the SDK's methods return."""

    def coroutine(self) -> Coroutine[Any, Any, T_co]:
        """The result, to be awaited; cancelling it cancels the operation."""
        ...


class Submitted(Awaitable[T]):
    """A call under way. Unlike a coroutine it may be left unawaited, as an optimizer step is whose gradients failed."""

    def __init__(self, wait: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._wait = wait

    def __await__(self) -> Generator[Any, None, T]:
        """The result; raises what `wait` does."""
        return self._wait().__await__()


class Calls:
    """The limits of `service` in params.yaml, for one engine.

    The SDK waits for ever when the service limits requests (429), and an hour when it refuses to bill (402), and tells
    neither. So after a time-out `check` is asked why: it raises what is wrong with key, account or model.
    """

    def __init__(self, service: ServiceSettings, check: Callable[[], None]) -> None:
        self._service, self._check = service, check
        self._places = asyncio.Semaphore(service.in_flight)
        self._asking = asyncio.Lock()
        self._told = -TOLD_EVERY
        self._asked = 0.0
        self._reason: EngineError | None = None

    async def repeatable(self, make: Callable[[], Future[T]], doing: str) -> T:
        """A call that changes nothing on the service: tried again `service.retries` times with growing pauses.

        Raises:
            EngineError: the failure lasts.
            InfrastructureError: it did not pass in time.
        """
        async with self._places:
            for attempt in range(self._service.retries + 1):
                try:
                    async with asyncio.timeout(self._service.timeout_s):
                        return await make().coroutine()
                except Exception as error:
                    failure = await self._explained(error, doing)
                if attempt == self._service.retries or not isinstance(failure, InfrastructureError):
                    raise failure
                pause = min(2.0**attempt, LONGEST_PAUSE) * random.uniform(0.75, 1.25)
                self._tell(f"{failure} (try {attempt + 2} of {self._service.retries + 1} in {pause:.0f} s)")
                await asyncio.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def once(self, make: Callable[[], Future[T]], doing: str) -> Submitted[T]:
        """A call that may have been carried out even if it fails, so it is made now and not again.

        Instead it is waited for as long as all tries of a repeatable call would take: giving up on a training step
        because the service is short of room for a while would cost all steps since the last checkpoint.

        Raises, also when awaited:
            EngineError, InfrastructureError: see `translated`.
        """
        try:
            future = make()
        except Exception as error:
            raise translated(error, doing) from error
        return Submitted(lambda: self._outcome(future, doing))

    async def _outcome(self, future: Future[T], doing: str) -> T:
        result = asyncio.ensure_future(future.coroutine())
        try:
            for attempt in range(self._service.retries + 1):
                done, _ = await asyncio.wait({result}, timeout=self._service.timeout_s)
                if done:
                    break
                failure = await self._explained(TimeoutError(), doing)
                if attempt == self._service.retries or not isinstance(failure, InfrastructureError):
                    raise failure
                waited = (attempt + 1) * self._service.timeout_s
                self._tell(f"{doing}: no answer for {waited:.0f} s; still waiting, as it cannot be asked for twice")
            try:
                return result.result()
            except Exception as error:
                raise await self._explained(error, doing) from error
        finally:
            result.cancel()

    async def _explained(self, error: Exception, doing: str) -> PosttrainError:
        """The project's error for a failure; a time-out is explained by what is found to be wrong, if anything is."""
        failure = translated(error, doing)
        if isinstance(error, TimeoutError):
            noticed = time.monotonic()
            async with self._asking:  # many requests may end at once: one of them asks for all
                if self._asked < noticed:
                    self._reason = await asyncio.to_thread(self._found_wrong)
                    self._asked = time.monotonic()
            if self._reason is not None:
                failure = EngineError(f"{doing}: {self._reason}")
        failure.__cause__ = error
        return failure

    def _found_wrong(self) -> EngineError | None:
        try:
            self._check()
        except EngineError as reason:
            return reason
        except PosttrainError:  # of no more use than the time-out itself
            return None
        return None

    def _tell(self, line: str) -> None:
        if time.monotonic() - self._told >= TOLD_EVERY:
            self._told = time.monotonic()
            print(line, file=sys.stderr, flush=True)
