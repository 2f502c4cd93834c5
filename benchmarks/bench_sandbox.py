"""What the sandbox costs: `python3 -c "print(1)"` bare, and in each sandbox that works here.

Run: python benchmarks/bench_sandbox.py, with an image for containers: … bench_sandbox.py NAME@sha256:DIGEST
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from posttrain.euler.sandbox.choose import available, open_sandbox
from posttrain.euler.sandbox.settings import SandboxSettings

PROGRAM = ["/usr/bin/python3", "-c", "print(1)"]
ROUNDS = 40
MOST_RATIO = 5.0
"""Of bubblewrap, on a machine with other work."""


def settings(image: str, engine: tuple[str, ...]) -> SandboxSettings:
    return SandboxSettings(
        kind="auto",
        root="/",
        engine=engine,
        image=image,
        wall_seconds=10.0,
        cpu_seconds=10,
        memory_mib=512,
        pids=64,
        output_kib=64,
        file_mib=16,
        workspace_mib=64,
        workspace_inodes=4096,
    )


def milliseconds(works: dict[str, Callable[[], str]]) -> dict[str, float]:
    """The median of each, taken in turns, so that all meet the same other work."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            started = time.perf_counter()
            said = work()
            times[name].append(time.perf_counter() - started)
            assert said == "1\n", said
    return {name: statistics.median(taken) * 1000 for name, taken in times.items()}


def bare() -> str:
    environment = {"PATH": "/usr/bin:/bin"}
    return subprocess.run(PROGRAM, env=environment, capture_output=True, text=True, check=True).stdout


def measure(one: SandboxSettings) -> float:
    sandbox = open_sandbox(one)

    def fresh() -> str:
        with sandbox.workspace() as workspace:
            return workspace.run(PROGRAM).stdout

    with sandbox.workspace() as opened:
        works = {"bare": bare, "in an open workspace": lambda: opened.run(PROGRAM).stdout, "in a new workspace": fresh}
        found = milliseconds(works)
    print(f"{sandbox.kind}:")
    for name, taken in found.items():
        print(f"  {name:<21} {taken:6.1f} ms  {taken / found['bare']:5.2f} times bare")
    return found["in an open workspace"] / found["bare"]


def main() -> int:
    image, engine = (sys.argv[1:2] or [""])[0], tuple(sys.argv[2:]) or ("docker",)
    one = settings(image, engine)
    ratios = {}
    for kind, fault in available(one).items():
        if fault:
            print(f"{kind}: {fault}")
        else:
            ratios[kind] = measure(SandboxSettings(**{**vars(one), "kind": kind}))
    if "bubblewrap" not in ratios:
        return 0
    print(f"bubblewrap: {ratios['bubblewrap']:.2f} times bare, at most {MOST_RATIO:g}")
    return int(ratios["bubblewrap"] > MOST_RATIO)


if __name__ == "__main__":
    sys.exit(main())
