"""`python -m tests.loopback` prints the address of a loopback service and serves until SIGTERM or SIGINT."""

import argparse
import signal
from pathlib import Path

from tests.loopback.server import KEY, serving
from tests.tiny import settings


def main() -> None:
    """Serves one model to whoever gives the key."""
    parser = argparse.ArgumentParser(prog="python -m tests.loopback", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--state", type=Path, help="where checkpoints stay; a temporary folder if not given")
    parser.add_argument("--key", default=KEY)
    asked = parser.parse_args()
    # Blocked before any thread begins, so that none of them takes the signal in this one's place.
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with serving(asked.state, asked.port, asked.key, engine=settings(model=asked.model)) as server:
        print(server.url, flush=True)
        signal.sigwait(ends)


if __name__ == "__main__":
    main()
