"""What both sides of a comparison share: clocks, peak memory, a reward. Standard library only, for any environment."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

TICKS = 100  # USER_HZ: a second of /proc/stat


@dataclass(frozen=True)
class Spent:
    """Wall seconds, CPU seconds of this process (all threads), and CPU seconds of everything else on the machine."""

    wall: float
    cpu: float
    others: float

    def row(self) -> dict[str, float]:
        """As JSON values."""
        return asdict(self)


class Clock:
    """Running since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu, self._busy = time.perf_counter(), time.process_time(), _busy()

    def read(self) -> Spent:
        """What was spent so far."""
        cpu = time.process_time() - self._cpu
        return Spent(time.perf_counter() - self._wall, cpu, max(0.0, _busy() - self._busy - cpu))


def _busy() -> float:
    """CPU seconds that the machine has worked since it started, or had taken from it by its host."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


def peak_mb() -> float:
    """The most memory that this process held, in MB; unlike getrusage's, without what its parent held."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return int(lines["VmHWM"].split()[0]) * 1024 / 1e6


def reward(completion: Sequence[int]) -> float:
    """In [0, 1), a function of the tokens that all but never is the same for two completions."""
    value = 0
    for token in completion:
        value = (value * 31 + token + 1) % 10_007
    return value / 10_007
