"""How long an agent has been at work, without the time that its model's provider took."""

import time


class Clock:
    """Counts seconds towards a limit, from the provider's first answer and except while it is waited for.

    Its slowness is not the agent's, and neither is that of a machine on which Pi takes long to start.
    """

    def __init__(self, limit: float) -> None:
        self._limit, self._used, self._since = limit, 0.0, time.monotonic()
        self._running = False

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
