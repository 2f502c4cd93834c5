"""What one check of `posttrain doctor` found, and running it so that it cannot fail, hang or tell a secret."""

import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from posttrain.doctor.secret import hidden
from posttrain.errors import PosttrainError, system_failure
from posttrain.terminal import harmless

SECONDS = 15.0
"""What a check may take, however silent the machine it asks."""
THREAD = "doctor:"
"""What the names of the threads begin with that checks run in."""
_LONGEST = 500

Status = Literal["ok", "warn", "FAIL"]


@dataclass(frozen=True)
class Check:
    """What was found and, unless all is well, what to do."""

    status: Status
    found: str
    todo: str = ""


@dataclass(frozen=True)
class Probe:
    """A check that is still to be made; it is passed over when one that it `needs` failed or was passed over."""

    name: str
    look: Callable[[], Check]
    needs: tuple[str, ...] = ()
    seconds: float = SECONDS


def run_probes(probes: Sequence[Probe], show: Callable[[str], None], secrets: Iterable[str]) -> bool:
    """Makes one check after the other and shows each line as soon as it is known; True if none failed.

    `secrets` are left out of what is shown, whoever put them into a message.
    """
    secrets = tuple(secrets)
    width = max((len(probe.name) for probe in probes), default=0)
    failed: set[str] = set()
    faults: dict[str, list[str]] = {}  # what is to be mended before a check can be made
    for probe in probes:
        missing = list(dict.fromkeys(fault for need in probe.needs for fault in faults.get(need, [])))
        if missing:
            check = Check("warn", "not checked", f"mend {' and '.join(missing)} first")
        elif (check := _bounded(probe)).status == "FAIL":
            failed.add(probe.name)
            missing = [probe.name]
        faults[probe.name] = missing
        show(line(probe.name, check, width, secrets))
    return not failed


def line(name: str, check: Check, width: int, secrets: Iterable[str] = ()) -> str:
    """Status, name and text in columns, on one line whatever the text holds."""
    text = harmless(hidden(f"{check.found}; {check.todo}" if check.todo else check.found, secrets), _LONGEST)
    return f"{check.status:<4}  {name:<{width}}  {text}"


def _bounded(probe: Probe) -> Check:
    """The check made in a thread of its own, which is left behind when it takes too long."""
    done: queue.SimpleQueue[Check] = queue.SimpleQueue()
    work = threading.Thread(target=lambda: done.put(_safely(probe.look)), name=f"{THREAD} {probe.name}", daemon=True)
    work.start()
    try:
        return done.get(timeout=probe.seconds)
    except queue.Empty:
        todo = "see whether the network, the disk or another process holds it up, and run `posttrain doctor` again"
        return Check("FAIL", f"no answer within {probe.seconds:g} s", todo)


def _safely(look: Callable[[], Check]) -> Check:
    try:
        return look()
    except PosttrainError as error:  # its message holds what to do
        return Check("FAIL", str(error))
    except OSError as error:
        return Check("FAIL", system_failure(error))
    except ImportError as error:
        return Check("FAIL", str(error), "mend packages first")
    except Exception as error:
        return Check("FAIL", f"the check itself broke: {type(error).__name__}: {error}", "report this line as a fault")
