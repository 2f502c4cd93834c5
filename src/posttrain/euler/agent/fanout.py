"""Samples the rollouts of a round that are owed, several agents side by side, each as often as it takes."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from posttrain.errors import DataError, InfrastructureError, PosttrainError
from posttrain.euler.agent.install import Pi
from posttrain.euler.agent.process import Provider, remove_leftovers
from posttrain.euler.agent.rollout import Assignment, Logs, run_rollout
from posttrain.euler.event_log import read_events
from posttrain.euler.events import End, Event
from posttrain.euler.manifest_file import log_path
from posttrain.euler.planned import Planned
from posttrain.euler.sandbox.protocol import Sandbox
from posttrain.progress import Progress

PI_LOGS = "pi"


@dataclass(frozen=True)
class Fanout:
    """What all agents of a round have in common.

    provider: opens the place from which one rollout's replies come. failure: the first error of it after which
    nothing more should be asked for, such as a spent budget.
    """

    sandbox: Sandbox
    pi: Pi
    provider: Callable[[Planned], AbstractContextManager[Provider]]
    assignment: Callable[[Planned], Assignment]
    failure: Callable[[], PosttrainError | None]
    concurrency: int
    tries: int


def logs_of(folder: Path, planned: Planned) -> Logs:
    """Where a rollout of the round in `folder` is written to."""
    others = folder / PI_LOGS
    return Logs(log_path(folder, planned), others / f"{planned.key}.jsonl", others / f"{planned.key}.stderr.txt")


def unfinished(folder: Path, plan: Sequence[Planned]) -> list[Planned]:
    """Rollouts whose events do not end with the agent's own end: never sampled, torn, or lost."""
    return [planned for planned in plan if not _finished(folder, planned)]


def sample_round(folder: Path, plan: Sequence[Planned], fanout: Fanout) -> None:
    """Samples what is unfinished of the round in `folder`; what is finished stays, however this ends.

    Raises:
        InfrastructureError: rollouts were lost, each as often as `tries` says.
        PosttrainError: whatever `failure` says.
    """
    remove_leftovers()
    owed = unfinished(folder, plan)
    stop = threading.Event()
    lost: list[str] = []
    counting = threading.Lock()
    with Progress("agents", len(plan), "rollout") as progress, _pool(fanout.concurrency, stop) as pool:
        progress.advance(len(plan) - len(owed))

        def work(planned: Planned) -> None:
            why = _sample(folder, planned, fanout, stop)
            if why is None:
                with counting:
                    progress.advance()
            elif not stop.is_set():
                lost.append(f"{planned.key}: {why}")

        waiting = [pool.submit(work, planned) for planned in owed]
        done, _ = wait(waiting, return_when=FIRST_EXCEPTION)
        if any(each.exception() for each in done):
            stop.set()
        for each in waiting:
            if not each.cancelled():
                each.result()
    if (failure := fanout.failure()) is not None:
        raise failure
    if lost:
        raise InfrastructureError(
            f"{len(lost)} of {len(plan)} rollouts were lost, the first {lost[0]}; run again: the others are kept"
        )


def _sample(folder: Path, planned: Planned, fanout: Fanout, stop: threading.Event) -> str | None:
    """Why the rollout is lost; None if it is not."""
    why = "stopped"
    for _ in range(fanout.tries):
        if stop.is_set() or fanout.failure() is not None:
            return why
        with fanout.provider(planned) as provider:
            task = fanout.assignment(planned)
            last = run_rollout(fanout.sandbox, fanout.pi, provider, task, logs_of(folder, planned))[-1]
        if isinstance(last, End):
            return None
        why = _said(last)
    return why


def _said(last: Event) -> str:
    return f"the {getattr(last, 'boundary', '')} failed: {getattr(last, 'what', '')}"


def _finished(folder: Path, planned: Planned) -> bool:
    try:
        return isinstance(read_events(log_path(folder, planned))[-1], End)
    except DataError:
        return False


@contextmanager
def _pool(workers: int, stop: threading.Event) -> Iterator[ThreadPoolExecutor]:
    """Threads that begin nothing new once the block is left by an exception, such as Ctrl-C."""
    pool = ThreadPoolExecutor(workers, thread_name_prefix="agent")
    try:
        yield pool
    except BaseException:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    else:
        pool.shutdown()
