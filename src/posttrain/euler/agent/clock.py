"""How long an agent has been at work, without the time that its model's provider took."""

import time


class Clock:
    """Counts seconds towards a limit, except while the provider is waited for: its slowness is not the agent's."""

    def __init__(self, limit: float) -> None:
        self._limit, self._used, self._since = limit, 0.0, time.monotonic()
        self._running = True

    def pause(self) -> None:
        """The provider has been asked."""
        if self._running:
            self._used += time.monotonic() - self._since
            self._running = False

    def resume(self) -> None:
        """The provider has answered."""
        if not self._running:
            self._since, self._running = time.monotonic(), True

    @property
    def left(self) -> float:
        """Seconds until the limit; 0 when it is over."""
        running = time.monotonic() - self._since if self._running else 0.0
        return max(0.0, self._limit - self._used - running)

    @property
    def running(self) -> bool:
        """Whether the limit comes nearer."""
        return self._running
