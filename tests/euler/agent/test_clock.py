import time

import pytest

from posttrain.euler.agent.clock import Clock


def test_only_running_time_counts_and_the_rest_never_falls_below_zero() -> None:
    clock = Clock(0.5)
    time.sleep(0.1)
    assert (clock.left, clock.running) == (0.5, False)
    clock.resume()
    clock.pause()
    clock.pause()
    left = clock.left
    time.sleep(0.1)
    assert (clock.left, clock.running) == (left, False)
    clock.resume()
    clock.resume()
    time.sleep(0.1)
    assert clock.left == pytest.approx(left - 0.1, abs=0.09)
    time.sleep(0.45)
    assert clock.left == 0.0
    clock.pause()
    assert clock.left == 0.0
