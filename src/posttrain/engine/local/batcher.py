"""Gathers the requests of many concurrent episodes and runs them as one batch."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tinker import SampleResponse, SamplingParams

from posttrain.engine.local.worker import compute


@dataclass
class Request:
    """One waiting call to `sample`."""

    prompt: list[int]
    num_samples: int
    params: SamplingParams
    result: asyncio.Future[SampleResponse]


class Batcher:
    """Runs a batch when every declared caller waits for one; a request for n samples is that of n callers.

    So what is in a batch follows from the results so far and not from timing: with the same stored results, a rerun
    puts together the same batches and computes the same bits.
    """

    def __init__(self, run: Callable[[Sequence[Request]], list[SampleResponse]]) -> None:
        self._run = run
        self._callers = 0
        self._waiting: list[Request] = []
        self._busy = False

    @contextmanager
    def caller(self) -> Iterator[None]:
        """One more caller, until the block ends."""
        self._callers += 1
        try:
            yield
        finally:
            self._callers -= 1
            self._schedule()

    async def sample(self, prompt: list[int], num_samples: int, params: SamplingParams) -> SampleResponse:
        """Waits for the batch that answers this request."""
        request = Request(prompt, num_samples, params, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        self._schedule()
        return await request.result

    def _schedule(self) -> None:
        self._waiting = [request for request in self._waiting if not request.result.done()]  # drops the cancelled
        waiting = sum(request.num_samples for request in self._waiting)
        if waiting and not self._busy and waiting >= self._callers:
            self._busy = True
            self._task = asyncio.get_running_loop().create_task(self._run_batch())

    async def _run_batch(self) -> None:
        batch = sorted(self._waiting, key=lambda r: (len(r.prompt), r.prompt, r.params.seed or 0))
        self._waiting = []
        try:
            responses = await compute(self._run, batch)
            for request, response in zip(batch, responses, strict=True):
                if not request.result.done():
                    request.result.set_result(response)
        except Exception as error:
            for request in batch:
                if not request.result.done():
                    request.result.set_exception(error)
        finally:
            self._busy = False
            self._schedule()
