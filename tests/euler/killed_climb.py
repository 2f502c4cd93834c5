"""Applies rounds to a climb in forks that kill themselves at each step which touches a file; run by the test.

Arguments: the state, then the rounds' folders. Prints one JSON line: how often it was killed, and what was wrong.
"""

import json
import os
import signal
import sys
from itertools import count
from pathlib import Path

from posttrain.euler.curriculum_file import apply_round, read_state

TOUCHES = ("open", "os.", "shutil.", "tempfile.", "fcntl.")


def main(path: Path, folders: list[Path]) -> None:
    kills = 0
    wrong: list[str] = []
    for done, folder in enumerate(folders):
        for moment in count(1):
            status = _killed(path, folder, moment)
            state = read_state(path)  # refuses one that is half written or contradicts itself
            applied = len(state.applied) if state is not None else 0
            if applied not in (done, done + 1):
                wrong.append(f"{applied} rounds applied after a kill in round {done}")
            if os.WIFEXITED(status):
                wrong += [f"exit {status}"] if status else []
                break
            kills += 1
        apply_round(path, folder)
    print(json.dumps({"kills": kills, "wrong": wrong}))


def _killed(path: Path, folder: Path, moment: int) -> int:
    """Applies the round in a fork that dies at its `moment`-th touch of a file; the status that wait gives."""
    pid = os.fork()
    if pid == 0:
        touches = 0

        def touched(event: str, _: object) -> None:
            nonlocal touches
            if event.startswith(TOUCHES):
                touches += 1
                if touches == moment:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(touched)
        apply_round(path, folder)
        os._exit(0)
    return os.waitpid(pid, 0)[1]


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(folder) for folder in sys.argv[2:]])
