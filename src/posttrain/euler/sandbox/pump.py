"""Feeding a started program, keeping a bounded part of what it prints, and ending it when a limit is passed."""

import contextlib
import os
import selectors
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox.child import Child
from posttrain.euler.sandbox.protocol import LimitName

TICK = 0.05
"""Seconds between two looks at what the program uses."""
_CHUNK = 65536
FLOOD = 256
"""Times what is kept of a stream: so much in all, and a program is ended instead of being read on."""
_START_SECONDS = 60.0
"""What a sandbox may take to start on a busy machine, before the program's own time begins."""
_LAST_WORDS = 5.0
"""Seconds for the pipes to close once everything is dead."""


@dataclass
class Stream:
    """What is kept of stdout or stderr."""

    longest: int
    patience: int
    mark: bytes = b""
    """What the sandbox itself says first, when the program is about to start."""
    kept: bytearray = field(default_factory=bytearray)
    seen: int = 0

    def take(self, chunk: bytes) -> None:
        if self.mark:
            self.kept += chunk
            if not self.kept.startswith(self.mark):
                return
            chunk = bytes(self.kept.removeprefix(self.mark))
            self.kept, self.mark = bytearray(), b""
        self.seen += len(chunk)
        self.kept += chunk[: max(0, self.longest - len(self.kept))]

    @property
    def text(self) -> str:
        return self.kept.decode(errors="replace")

    @property
    def cut(self) -> bool:
        return self.seen > self.longest

    @property
    def is_flood(self) -> bool:
        return self.seen > self.patience * self.longest


@dataclass(frozen=True)
class Pumped:
    """How it went. `killed_by` is what was done to the program; its exit code is the caller's to find out."""

    stdout: Stream
    stderr: Stream
    killed_by: LimitName | None
    wall_seconds: float
    """Since the program was started."""


def pump(
    child: Child,
    stdin: bytes,
    streams: tuple[Stream, Stream],
    wall_seconds: float,
    watch: Callable[[], LimitName | None],
    end: Callable[[], None],
) -> Pumped:
    """Talks to `child` until it is over and reaped.

    `streams` take stdout and stderr. `watch` is asked every `TICK` whether a limit is passed. `end` is
    called once, when the child is over or has to be, and ends all that it left, so that the pipes close. If stderr has
    a mark, the time begins when that is seen.

    Raises:
        InfrastructureError: it does not start, or the pipes do not close although everything is said to be dead.
    """
    exited = os.pidfd_open(child.process.pid)
    out, errors = streams
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(exited, selectors.EVENT_READ)
            talk = _Talk(selector, child, {child.stdout: out, child.stderr: errors}, memoryview(stdin))
            begun = time.monotonic()
            while errors.mark and not talk.serve(TICK) and time.monotonic() < begun + _START_SECONDS:
                pass
            started = time.monotonic()
            killed_by = None if errors.mark else talk.until_over(started + wall_seconds, watch)
            seconds = time.monotonic() - started
            end()
            child.process.wait(_LAST_WORDS)
            selector.unregister(exited)
            talk.drain(time.monotonic() + _LAST_WORDS)
            if errors.mark:
                raise InfrastructureError(f"the sandbox did not start: {errors.text.strip() or 'it is silent'}")
        except subprocess.TimeoutExpired as error:
            raise InfrastructureError(f"process {child.process.pid} of the sandbox could not be ended") from error
        finally:
            os.close(exited)
            child.close_pipes()
    return Pumped(out, errors, killed_by, seconds)


class _Talk:
    """The pipes of one child, none of which is ever waited for alone."""

    def __init__(
        self, selector: selectors.BaseSelector, child: Child, streams: dict[IO[bytes], Stream], left: memoryview
    ) -> None:
        self._selector, self._stdin, self._left = selector, child.stdin, left
        self._streams = streams
        self._open = set(streams)
        for pipe in (child.stdin, *streams):
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ if pipe in streams else selectors.EVENT_WRITE)

    def until_over(self, deadline: float, watch: Callable[[], LimitName | None]) -> LimitName | None:
        """Until the process is over, or a limit is passed, which is returned."""
        next_look = time.monotonic() + TICK
        while True:
            now = time.monotonic()
            if now >= deadline:
                return "wall_seconds"
            if now >= next_look:
                if (limit := watch()) is not None:
                    return limit
                next_look = time.monotonic() + TICK
            if self.serve(min(deadline, next_look) - now):
                return None
            if any(stream.is_flood for stream in self._streams.values()):
                return "output_bytes"

    def drain(self, deadline: float) -> None:
        """What is still in the pipes of a process that is over."""
        while self._open:
            if time.monotonic() > deadline:
                raise InfrastructureError("something of the sandbox still holds its output open; see `ps -ef`")
            self.serve(TICK)

    def serve(self, seconds: float) -> bool:
        """Whatever comes within this time; whether the process is over."""
        over = False
        for key, _ in self._selector.select(max(0.0, seconds)):
            if key.fileobj is self._stdin:
                self._feed()
            elif isinstance(key.fileobj, int):
                over = True
            else:
                self._read(next(pipe for pipe in self._streams if pipe is key.fileobj))
        return over

    def _feed(self) -> None:
        try:
            if self._left:
                self._left = self._left[os.write(self._stdin.fileno(), self._left[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # the program does not read it
            self._left = self._left[:0]
        if not self._left:
            self._selector.unregister(self._stdin)
            with contextlib.suppress(BrokenPipeError):
                self._stdin.close()

    def _read(self, pipe: IO[bytes]) -> None:
        try:
            chunk = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return
        if chunk:
            self._streams[pipe].take(chunk)
        else:
            self._selector.unregister(pipe)
            self._open.discard(pipe)
