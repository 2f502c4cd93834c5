"""One container: started, known by its id, and removed."""

import contextlib
import os
import secrets
import select
import time
from dataclasses import dataclass
from pathlib import Path

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox import leftovers
from posttrain.euler.sandbox.child import Child, start
from posttrain.euler.sandbox.engine import Engine, environment
from posttrain.euler.sandbox.protocol import Limits

SECONDS = 30.0
"""What a short command of the engine may take on a busy machine."""
_START_SECONDS = 60.0


@dataclass(frozen=True)
class Container:
    """One that runs. Its keeper is the engine's client: when that ends, so does the container."""

    engine: Engine
    name: str
    id: str
    keeper: Child

    def remove(self) -> None:
        """Ends everything in it."""
        self.engine.call(self.engine.remove(self.name), SECONDS)
        self.keeper.end(SECONDS)


def open_container(engine: Engine, limits: Limits, rules: Path) -> Container:
    """Starts one; `rules` is the file with the system calls that it refuses.

    Raises:
        InfrastructureError: there is no engine, no such image, or it does not start.
    """
    name = f"posttrain-{secrets.token_hex(8)}"
    keeper = start(engine.run(name, leftovers.owner(), limits, rules), environment())
    container = Container(engine, name, "", keeper)
    try:
        _await_echo(keeper)
        said = engine.call(engine.inspect(name), SECONDS).stdout.split()
        if not said:
            raise InfrastructureError(f"{engine.words[0]} does not know the container {name} that it started")
    except BaseException:
        container.remove()
        raise
    return Container(engine, name, said[0], keeper)


def _await_echo(keeper: Child) -> None:
    """The first process repeats what it reads, which shows that it runs."""
    deadline, said = time.monotonic() + _START_SECONDS, b""
    with contextlib.suppress(BrokenPipeError):
        keeper.stdin.write(b"ready\n")
    while b"ready\n" not in said:
        readable, _, _ = select.select([keeper.stdout], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(keeper.stdout.fileno(), 4096) if readable else b""
        if not chunk:
            keeper.process.kill()
            reason = " ".join(keeper.stderr.read().decode(errors="replace").split())
            raise InfrastructureError(f"the container does not start: {reason or 'it is silent'}")
        said += chunk
