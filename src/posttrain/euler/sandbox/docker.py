"""Programs in containers: one container for each workspace, one `exec` for each program."""

import json
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox import leftovers, transfer
from posttrain.euler.sandbox.child import Child, start
from posttrain.euler.sandbox.container import SECONDS, open_container
from posttrain.euler.sandbox.engine import Engine, environment
from posttrain.euler.sandbox.judge import result
from posttrain.euler.sandbox.protocol import Files, Kind, Limits, Receipt, Result, wall_limit
from posttrain.euler.sandbox.pump import FLOOD, Pumped, Stream, pump
from posttrain.euler.sandbox.seccomp import profile


@dataclass(frozen=True)
class Docker:
    """Containers of one image."""

    engine: Engine
    limits: Limits

    @property
    def kind(self) -> Kind:
        return "docker"

    @contextmanager
    def workspace(self) -> Iterator["DockerWorkspace"]:
        with tempfile.TemporaryDirectory(prefix="posttrain-") as folder:
            rules = Path(folder, "seccomp.json")
            rules.write_text(json.dumps(profile()))
            workspace = DockerWorkspace(self, rules)
            try:
                yield workspace
            finally:
                workspace.container.remove()

    def receipt(self, container: str) -> Receipt:
        podman = self.engine.is_podman
        enforced_by = {
            "wall_seconds": "SIGKILL to all processes of the program's user, or to the container",
            "cpu_seconds": "RLIMIT_CPU for each process",
            "memory_bytes": "control group, the workspace included",
            "pids": "control group",
            "output_bytes": "reading no more",
            "file_bytes": "RLIMIT_FSIZE",
            "workspace_bytes": "size of each tmpfs",
            "workspace_inodes": "control group, by their memory" if podman else "nr_inodes of each tmpfs",
            "network": "network namespace, seccomp",
            "syscalls": "seccomp",
        }
        return Receipt("docker", enforced_by, self.engine.image, container)


class DockerWorkspace:
    """One of them: see `Workspace`."""

    def __init__(self, sandbox: Docker, rules: Path) -> None:
        self._sandbox, self._rules, self._lock = sandbox, rules, threading.Lock()
        self.container = open_container(sandbox.engine, sandbox.limits, rules)
        self._kills, self._lost = 0, False

    def run(self, argv: Sequence[str], stdin: bytes = b"", wall_seconds: float | None = None) -> Result:
        limits = self._sandbox.limits
        wall = wall_limit(limits, wall_seconds)
        with self._lock:
            receipt = self._sandbox.receipt(self.container.id)
            streams = (Stream(limits.output_bytes, FLOOD), Stream(limits.output_bytes, FLOOD))
            code, pumped, out_of_memory = self._execute(argv, stdin, streams, wall, self._end_all)
            return result(pumped, code, out_of_memory, receipt, workspace_lost=self._lost)

    def write(self, path: str, content: bytes) -> None:
        transfer.write(self._trusted, path, content)

    def read(self, path: str) -> bytes:
        return transfer.read(self._trusted, path, self._sandbox.limits)

    def files(self) -> Files:
        return transfer.read_all(self._trusted, self._sandbox.limits)

    def _trusted(self, argv: Sequence[str], stdin: bytes, output_bytes: int) -> tuple[int, Pumped]:
        streams = (Stream(output_bytes, 1), Stream(self._sandbox.limits.output_bytes, 1))

        def end(child: Child) -> None:
            if child.process.poll() is None:  # only a program of the model's leaves others behind
                self._end_all(child)

        with self._lock:
            code, pumped, _ = self._execute(argv, stdin, streams, transfer.SECONDS, end)
            if pumped.killed_by == "wall_seconds" or self._lost:
                raise InfrastructureError(f"{argv[0]} in the container did not end; is the machine overloaded?")
        return code, pumped

    def _execute(
        self,
        argv: Sequence[str],
        stdin: bytes,
        streams: tuple[Stream, Stream],
        wall_seconds: float,
        end: Callable[[Child], None],
    ) -> tuple[int, Pumped, bool]:
        """The program's exit code, what it said, and whether the kernel ended something for its memory."""
        mark, kills = secrets.token_hex(8), self._kills
        streams[1].mark = mark.encode()
        child = start(self._sandbox.engine.execute(self.container.name, argv, mark), environment())
        self._lost = False
        try:
            pumped = pump(child, stdin, streams, wall_seconds, lambda: None, lambda: end(child))
        finally:
            child.end(SECONDS)
        return child.process.returncode, pumped, self._kills > kills

    def _end_all(self, child: Child) -> None:
        """Ends all that the program started; if that fails, the container with it, and a new one takes its place."""
        engine, container = self._sandbox.engine, self.container
        child.process.kill()  # the engine's client, which may be waiting for us to read
        counts = [line.split() for line in engine.call(engine.end_all(container.name), SECONDS).stdout.splitlines()]
        if ["over"] in counts:
            self._kills = sum(int(words[1]) for words in counts if words[0] == "oom_kill")
            return
        self._lost = True
        self._kills += "true" in engine.call(engine.was_out_of_memory(container.name), SECONDS).stdout
        container.remove()
        leftovers.clean(engine)
        self.container = open_container(engine, self._sandbox.limits, self._rules)
