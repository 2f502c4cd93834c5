import asyncio
from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np
import pytest
from tinker import SampledSequence, SampleResponse

from posttrain.engine.local.batcher import Batcher, Request
from posttrain.errors import EngineError
from tests.tiny import params


def answer(request: Request) -> SampleResponse:
    """Says the prompt back."""
    sequence = SampledSequence(
        stop_reason="stop",
        sequence_id="0",
        tokens_np=np.array(request.prompt),
        logprobs_np=np.zeros(len(request.prompt), np.float32),
    )
    return SampleResponse(sequences=[sequence] * request.num_samples)


class Machine:
    """Runs batches and keeps the prompts of each."""

    def __init__(self) -> None:
        self.batches: list[list[list[int]]] = []
        self.batcher = Batcher(self.run)

    def run(self, batch: Sequence[Request]) -> list[SampleResponse]:
        self.batches.append([request.prompt for request in batch])
        if any(13 in request.prompt for request in batch):
            raise EngineError("thirteen")
        return [answer(request) for request in batch]

    async def ask(self, prompt: list[int], count: int = 1) -> list[int]:
        response = await self.batcher.sample(prompt, count, params())
        assert len(response.sequences) == count
        return list(response.sequences[0].tokens)


async def settle() -> None:
    await asyncio.sleep(0.02)


def test_nothing_runs_before_every_declared_caller_waits() -> None:
    async def play() -> None:
        machine = Machine()
        with ExitStack() as callers:
            for _ in range(4):
                callers.enter_context(machine.batcher.caller())
            first = asyncio.create_task(machine.ask([3, 1]))
            group = asyncio.create_task(machine.ask([2], 2))
            await settle()
            assert machine.batches == []
            last = asyncio.create_task(machine.ask([1, 9, 9]))
            assert await asyncio.gather(first, group, last) == [[3, 1], [2], [1, 9, 9]]
        assert machine.batches == [[[2], [3, 1], [1, 9, 9]]]  # in an order of the requests' own

    asyncio.run(play())


def test_a_caller_that_leaves_is_not_waited_for() -> None:
    async def play() -> None:
        machine = Machine()
        with machine.batcher.caller():
            with machine.batcher.caller():
                waiting = asyncio.create_task(machine.ask([1]))
                await settle()
                assert machine.batches == []
            assert await waiting == [1]

    asyncio.run(play())


def test_without_callers_requests_run_at_once() -> None:
    async def play() -> None:
        machine = Machine()
        assert await machine.ask([1]) == [1]
        assert await asyncio.gather(*[machine.ask([n]) for n in (2, 3)]) == [[2], [3]]

    asyncio.run(play())


def test_batches_follow_from_the_results_and_not_from_timing() -> None:
    async def play(delays: Sequence[float]) -> list[list[list[int]]]:
        machine = Machine()

        async def caller(n: int, turns: int, delay: float) -> None:
            with machine.batcher.caller():
                await started.wait()
                for turn in range(turns):
                    await asyncio.sleep(delay)
                    await machine.ask([n, turn])

        started = asyncio.Event()
        tasks = [asyncio.create_task(caller(n, 1 + n, delay)) for n, delay in enumerate(delays)]
        await asyncio.sleep(0)
        started.set()
        await asyncio.gather(*tasks)
        return machine.batches

    even = asyncio.run(play([0, 0, 0]))
    assert even == asyncio.run(play([0.02, 0, 0.01])) == asyncio.run(play([0, 0.01, 0.02]))
    assert even == [[[0, 0], [1, 0], [2, 0]], [[1, 1], [2, 1]], [[2, 2]]]


def test_an_error_reaches_every_waiting_request_and_the_next_batch_runs() -> None:
    async def play() -> None:
        machine = Machine()
        with machine.batcher.caller(), machine.batcher.caller():
            results = await asyncio.gather(machine.ask([1]), machine.ask([13]), return_exceptions=True)
            assert [str(result) for result in results] == ["thirteen", "thirteen"]
            assert all(isinstance(result, EngineError) for result in results)
            assert await asyncio.gather(machine.ask([1]), machine.ask([2])) == [[1], [2]]

    asyncio.run(play())


def test_a_cancelled_request_is_not_computed_and_not_counted() -> None:
    async def play() -> None:
        machine = Machine()
        with machine.batcher.caller(), machine.batcher.caller():
            given_up = asyncio.create_task(machine.ask([1]))
            await settle()
            given_up.cancel()
            await asyncio.gather(given_up, return_exceptions=True)
            second = asyncio.create_task(machine.ask([2]))
            await settle()
            assert machine.batches == []
            assert await asyncio.gather(second, machine.ask([3])) == [[2], [3]]
        assert machine.batches == [[[2], [3]]]

    asyncio.run(play())


def test_a_request_cancelled_while_it_is_computed_harms_no_other() -> None:
    async def play() -> None:
        machine = Machine()
        with machine.batcher.caller(), machine.batcher.caller():
            given_up, kept = asyncio.create_task(machine.ask([1])), asyncio.create_task(machine.ask([2]))
            while not machine.batches:
                await asyncio.sleep(0)
            given_up.cancel()
            assert await kept == [2]

    asyncio.run(play())


def test_a_batcher_serves_one_event_loop_after_another() -> None:
    machine = Machine()
    for _ in range(2):
        with pytest.raises(EngineError):
            asyncio.run(machine.ask([13]))
        assert asyncio.run(machine.ask([1])) == [1]
