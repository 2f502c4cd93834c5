"""Rounds of scripted agents, sampled here or in a process that can be killed.

As a program: takes the round's folder, and lets all but the first two rollouts run a program that does not end.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from posttrain.euler.agent.fanout import Fanout, sample_round
from posttrain.euler.agent.process import Provider, loopback_provider
from posttrain.euler.agent.rollout import Assignment
from posttrain.euler.planned import Planned
from posttrain.euler.proxy.completer import Completer
from posttrain.euler.proxy.scripted import Script, ScriptedCompleter, Step
from posttrain.euler.proxy.server import serving
from posttrain.euler.sandbox.protocol import Sandbox
from tests.euler.agent.pi import PROMPT, SYSTEM, bash, need_pi, planned, said, write
from tests.euler.sandboxes import need_bubblewrap

QUICK = 2
"""Rollouts that end also where the others hang."""


def telling(mark: str, *, hanging: bool = False) -> ScriptedCompleter:
    """Each agent writes a program that prints its number behind `mark`, runs it, and says what it printed."""

    def script(one: Planned) -> Script:
        wait = "import time; time.sleep(600)\n" if hanging and one.index >= QUICK else ""
        return [
            write("main.py", f"{wait}print('{mark}', {one.index})\n"),
            bash("python3 main.py"),
            lambda messages: Step(said(messages)),
        ]

    return ScriptedCompleter(script, "script", "r")


def sample(folder: Path, sandbox: Sandbox, completer: Completer, count: int, *, tries: int = 1) -> None:
    """Samples what is owed of a round of so many rollouts, two side by side."""
    with serving(nullcontext(completer)) as proxy:

        @contextmanager
        def provider(one: Planned) -> Iterator[Provider]:
            with proxy.seat(one, one.index) as url:
                yield loopback_provider(url, 100_000, 4096)

        def assignment(_: Planned) -> Assignment:
            return Assignment(SYSTEM, PROMPT, {}, 9, 60.0)

        made = Fanout(sandbox, need_pi(), provider, assignment, lambda: proxy.failure, 2, tries)
        sample_round(folder, list(map(planned, range(count))), made)


if __name__ == "__main__":
    sample(Path(sys.argv[1]), need_bubblewrap(wall_seconds=900.0), telling("first", hanging=True), 6)
