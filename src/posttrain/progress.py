"""Progress on standard error: a bar on a terminal, a plain line now and then in a log, nothing for short work."""

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TextIO

from tqdm import tqdm

from posttrain.errors import SettingsError

SHOWN_AFTER_SECONDS = 2.0


class Progress:
    """Counts `unit`s up to `total` (None: unknown) and shows how many, how fast, how long still, and other figures.

    On a terminal a tqdm bar; elsewhere a line at most every 15 seconds ($POSTTRAIN_PROGRESS_SECONDS) and one at the
    end. Nothing is shown during the first two seconds. Use it as a context manager.

    Raises:
        SettingsError: POSTTRAIN_PROGRESS_SECONDS is not a number of seconds.
    """

    def __init__(
        self,
        label: str,
        total: int | None,
        unit: str,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.label, self.total, self.unit = label, total, unit
        self.done = 0
        self._closed = False
        self._stats: dict[str, Any] = {}
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._started = clock()
        self._interval = _interval()
        self._next_line = self._started + SHOWN_AFTER_SECONDS
        self._bar: tqdm[Any] | None = None
        if self._stream.isatty():
            self._bar = tqdm(
                total=total, desc=label, unit=f" {unit}", file=self._stream, delay=SHOWN_AFTER_SECONDS, smoothing=0.1
            )

    def advance(self, n: int = 1, **stats: Any) -> None:
        """Adds `n` to what is done; `stats` (for instance cost="0.12 USD") replace those of the same name."""
        self.done += n
        self._stats.update(stats)
        if self._bar is not None:
            if stats:
                self._bar.set_postfix({name: _text(value) for name, value in self._stats.items()}, refresh=False)
            self._bar.update(n)
            return
        now = self._clock()
        if now >= self._next_line and self.done != self.total:  # the last one is told by the final line
            self._next_line = now + self._interval
            self._print(self._running(now - self._started))

    def note(self, text: str) -> None:
        """Prints a line of its own, above the bar on a terminal."""
        if self._bar is not None:
            self._bar.write(text, file=self._stream)
        else:
            print(text, file=self._stream, flush=True)

    def close(self, failed: bool = False) -> None:
        """Ends the bar, or prints the final line; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        elapsed = self._clock() - self._started
        if self._bar is not None:
            self._bar.close()
        elif elapsed >= SHOWN_AFTER_SECONDS:
            self._print(f"{'stopped after' if failed else 'done in'} {_duration(elapsed)}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(failed=kind is not None)

    def _running(self, elapsed: float) -> str:
        rate = self.done / elapsed if elapsed > 0 else 0.0
        words = f"{rate:.3g} {self.unit}/s"
        if self.total is not None and rate > 0:
            words += f", {_duration(max(self.total - self.done, 0) / rate)} left"
        return words

    def _print(self, words: str) -> None:
        of = "" if self.total is None else f"/{self.total}"
        figures = "".join(f", {name} {_text(value)}" for name, value in self._stats.items())
        print(f"{self.label}: {self.done}{of} {self.unit}, {words}{figures}", file=self._stream, flush=True)


def _interval() -> float:
    text = os.environ.get("POSTTRAIN_PROGRESS_SECONDS", "15")
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise SettingsError(f"POSTTRAIN_PROGRESS_SECONDS must be a number of seconds, is {text!r}; set it to 15")
    return seconds


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
