"""Many episodes at once: groups of attempts at the same task, a bounded number of them at a time."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

from posttrain.chat.format import ChatFormat
from posttrain.ledger.store import Sample
from posttrain.progress import Progress
from posttrain.rollout.environment import Environment
from posttrain.rollout.episode import Episode
from posttrain.rollout.loop import Sample as SampleReply
from posttrain.rollout.loop import Sampled, run_episode
from posttrain.rollout.policy import Drawing, Policy


@dataclass(frozen=True)
class Task:
    """What is attempted: an id and a fresh environment per attempt."""

    id: str
    environment: Callable[[], Environment]


@dataclass(frozen=True)
class Rollouts:
    """How a set of tasks is run: attempts per task, episodes at a time, and how tokens are drawn."""

    attempts: int
    concurrency: int
    drawing: Drawing


class Runner:
    """Plays tasks with one policy."""

    def __init__(self, policy: Policy, chat: ChatFormat, rollouts: Rollouts, progress: Progress) -> None:
        self._policy, self._chat, self._rollouts, self._progress = policy, chat, rollouts, progress

    async def run(self, tasks: Sequence[Task]) -> list[list[Episode]]:
        """Runs every task's attempts; the result has the order of `tasks`, each a group in the order of its attempts.

        Which episodes are under way at any time follows from the results so far, not from timing: a slot goes on to
        the next task without a moment in which a batching engine could count it out.
        """
        groups: list[list[Episode]] = [[] for _ in tasks]
        waiting = iter(enumerate(tasks))
        slots = min(len(tasks), max(1, self._rollouts.concurrency // self._rollouts.attempts))
        try:
            with ExitStack() as declared:  # a run that fails leaves no caller behind
                async with asyncio.TaskGroup() as workers:
                    for _ in range(slots):
                        workers.create_task(self._work(waiting, groups, declared))
        except BaseExceptionGroup as failures:  # one message is enough; the others follow from it
            raise _first(failures) from None
        return groups

    async def _work(
        self, waiting: Iterator[tuple[int, Task]], groups: list[list[Episode]], declared: ExitStack
    ) -> None:
        """One slot: takes one task after the other until none is left."""
        held = ExitStack()
        for position, task in waiting:
            callers = [declared.enter_context(self._declared()) for _ in range(self._rollouts.attempts)]
            held.close()
            first_turn: list[asyncio.Task[list[Sample]]] = []
            async with asyncio.TaskGroup() as group:
                attempts = [
                    group.create_task(self._attempt(task, number, first_turn, callers))
                    for number in range(self._rollouts.attempts)
                ]
            groups[position] = [attempt.result() for attempt in attempts]
            held = callers[0]
        held.close()

    def _declared(self) -> ExitStack:
        stack = ExitStack()
        stack.enter_context(self._policy.caller())
        return stack

    async def _attempt(
        self, task: Task, number: int, first_turn: list[asyncio.Task[list[Sample]]], callers: list[ExitStack]
    ) -> Episode:
        sample = self._sampling(number, first_turn)
        episode = await run_episode(sample, task.environment(), self._chat, id=task.id, attempt=number)
        if len(callers) > 1:  # the group's last one stays declared until the next group's are
            callers.pop().close()
        self._progress.advance()
        return episode

    def _sampling(self, number: int, first_turn: list[asyncio.Task[list[Sample]]]) -> SampleReply:
        """Draws replies of one attempt; all attempts begin with one prompt, so their first turns are one request.

        An attempt whose first turn is stored goes on alone: a batching engine waits for its next request.
        """
        policy, rollouts, turn = self._policy, self._rollouts, 0

        async def sample(prompt: list[int]) -> Sampled:
            nonlocal turn
            turn += 1
            [reply] = policy.stored(prompt, [number], rollouts.drawing)
            if reply is None and turn == 1:
                if not first_turn:
                    request = policy.draw(prompt, range(rollouts.attempts), rollouts.drawing)
                    first_turn.append(asyncio.create_task(request))
                reply = (await first_turn[0])[number]
            elif reply is None:
                [reply] = await policy.draw(prompt, [number], rollouts.drawing)
            ended: Literal["stop", "length"] = "stop" if reply.stop_reason == "stop" else "length"
            return Sampled(list(reply.tokens), list(reply.logprobs), ended, reply.cached_tokens)

        return sample


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
