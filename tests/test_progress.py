import io
import time

import pytest

from posttrain.errors import SettingsError
from posttrain.progress import Progress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POSTTRAIN_PROGRESS_SECONDS", raising=False)


def run(seconds: list[float], total: int | None) -> list[str]:
    """One advance after each given time since the start."""
    stream, clock = io.StringIO(), Clock()
    with Progress("grpo", total, "episodes", stream, clock) as progress:
        for second in seconds:
            clock.now = 100 + second
            progress.advance(1, cost=second / 100)
    return stream.getvalue().splitlines()


def test_short_work_is_silent() -> None:
    assert run([0.5, 1.0, 1.9], 3) == []


def test_a_log_gets_a_line_now_and_then_and_one_at_the_end() -> None:
    assert run([1, 2, 3, 16.9, 17, 31, 40, 4000], 8) == [
        "grpo: 2/8 episodes, 1 episodes/s, 6.0 s left, cost 0.02",
        "grpo: 5/8 episodes, 0.294 episodes/s, 10 s left, cost 0.17",
        "grpo: 7/8 episodes, 0.175 episodes/s, 5.7 s left, cost 0.4",
        "grpo: 8/8 episodes, done in 1 h 06 min, cost 40",
    ]


def test_an_unknown_total() -> None:
    assert run([2, 70], None) == [
        "grpo: 1 episodes, 0.5 episodes/s, cost 0.02",
        "grpo: 2 episodes, 0.0286 episodes/s, cost 0.7",
        "grpo: 2 episodes, done in 1 min 10 s, cost 0.7",
    ]


def test_work_that_fails_is_not_called_done() -> None:
    stream, clock = io.StringIO(), Clock()

    def fail() -> None:
        with Progress("sft", 10, "steps", stream, clock) as progress:
            clock.now += 90
            progress.advance(10)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert stream.getvalue() == "sft: 10/10 steps, stopped after 1 min 30 s\n"


def test_the_interval_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTTRAIN_PROGRESS_SECONDS", "0")
    assert len(run([1, 2, 3, 4, 5], 9)) == 5
    for wrong in ("soon", "-1", "nan"):
        monkeypatch.setenv("POSTTRAIN_PROGRESS_SECONDS", wrong)
        with pytest.raises(SettingsError, match="POSTTRAIN_PROGRESS_SECONDS must be"):
            run([], 1)


def test_a_terminal_gets_a_bar_after_two_seconds() -> None:
    stream = Terminal()
    with Progress("grpo", 2, "episodes", stream) as progress:
        progress.advance()
        assert stream.getvalue() == ""
        time.sleep(2.1)
        progress.advance(cost=0.123456)
    assert "2/2" in stream.getvalue()
    assert "cost=0.1235" in stream.getvalue()


def test_a_terminal_stays_clean_after_short_work() -> None:
    stream = Terminal()
    with Progress("grpo", 2, "episodes", stream) as progress:
        progress.advance(2)
    assert stream.getvalue().strip() == ""
