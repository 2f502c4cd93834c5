"""The proxy through real HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import httpx
import pytest

from posttrain.errors import BudgetError, DataError, EngineError
from posttrain.euler.planned import CANONICAL, Planned
from posttrain.euler.proxy.completer import Completer, Seat
from posttrain.euler.proxy.scripted import ScriptedCompleter, Step
from posttrain.euler.proxy.server import Proxy, serving
from posttrain.euler.proxy.wire import Completion, Request

PLANNED = Planned(1, "python", CANONICAL, "current", 0)
ASKED = {"messages": [{"role": "user", "content": "Hé?"}]}


class Raising:
    """Raises its errors one after the other, then answers."""

    model, revision = "raising", "r"

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.seats: list[tuple[Seat, int]] = []

    async def complete(self, seat: Seat, request: Request) -> Completion:
        del request
        self.seats.append((seat, seat.turns))
        if self.errors:
            raise self.errors.pop(0)
        return Completion("Yes.", (), "stop", 3, 4)


@contextmanager
def seated(completer: Completer) -> Iterator[tuple[Proxy, str]]:
    with serving(nullcontext(completer)) as proxy, proxy.seat(PLANNED, 5) as url:
        yield proxy, url + "/chat/completions"


def post(url: str, **body: object) -> httpx.Response:
    return httpx.post(url, json=body or ASKED, trust_env=False, timeout=10)


def test_a_seat_is_asked_and_answers_in_a_stream() -> None:
    with seated(ScriptedCompleter(lambda _: [Step("A"), Step("B")], "m", "r")) as (proxy, url):
        answers = [post(url) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert [('"A"' in answer.text, '"B"' in answer.text) for answer in answers] == [(True, False)] + [(False, True)] * 2
    assert answers[0].headers["content-type"] == "text/event-stream"
    assert answers[0].text.endswith("data: [DONE]\n\n")
    assert '"prompt_tokens": 4' in answers[0].text
    assert proxy.failure is None


def test_no_other_address_is_served() -> None:
    with serving(nullcontext(Raising())) as proxy:
        with proxy.seat(PLANNED, 0) as url, proxy.seat(PLANNED, 1) as other:
            assert url != other
            assert len(url.split("/")[3]) >= 20
            root = url.rsplit("/", 2)[0]
            assert post(f"{root}/guess/v1/chat/completions").status_code == 404
            assert post(url + "/completions").status_code == 404
            assert httpx.get(url + "/chat/completions", trust_env=False).status_code == 405
        assert post(url + "/chat/completions").status_code == 404


def test_it_listens_on_loopback_alone() -> None:
    with seated(Raising()) as (_, url):
        port = int(url.split(":")[2].split("/")[0])
        rows = [line.split() for name in ("tcp", "tcp6") for line in _rows(Path("/proc/net") / name)]
        listening = {row[1].split(":")[0] for row in rows if row[3] == "0A" and row[1].endswith(f":{port:04X}")}
    assert listening == {"0100007F"}
    with pytest.raises(httpx.ConnectError):
        post(url)


def _rows(path: Path) -> list[str]:
    return path.read_text().splitlines()[1:] if path.exists() else []


def test_what_cannot_be_served_is_the_requests_fault_and_no_failure() -> None:
    with seated(Raising(DataError("foreign call"))) as (proxy, url):
        assert httpx.post(url, content=b"{", trust_env=False).status_code == 400
        answer = post(url)
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, "foreign call")
        assert post(url).status_code == 200
    assert proxy.failure is None


def test_the_first_failure_of_the_engine_is_kept() -> None:
    completer = Raising(BudgetError("spent"), EngineError("gone"))
    with seated(completer) as (proxy, url):
        answers = [post(url) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [503, 503, 200]
    assert answers[0].json()["error"]["message"] == "spent"
    assert isinstance(proxy.failure, BudgetError)
    assert [turns for _, turns in completer.seats] == [0, 0, 0]


def test_an_error_that_nobody_foresaw_ends_one_request() -> None:
    with seated(Raising(ZeroDivisionError("0"))) as (proxy, url):
        assert post(url).status_code == 500
        assert post(url).status_code == 200
    assert proxy.failure is None


def test_the_completer_lives_in_the_proxys_thread_and_is_left_when_the_block_fails() -> None:
    seen: list[str] = []

    @contextmanager
    def opened() -> Iterator[Completer]:
        seen.append(threading.current_thread().name)
        yield Raising()
        seen.append(threading.current_thread().name)

    with pytest.raises(KeyError), serving(opened()):
        raise KeyError
    assert seen == ["proxy", "proxy"]
    assert "proxy" not in [thread.name for thread in threading.enumerate()]


def test_a_completer_that_cannot_be_opened_leaves_no_thread() -> None:
    @contextmanager
    def refused() -> Iterator[Completer]:
        raise EngineError("no such model")
        yield

    with pytest.raises(EngineError, match="no such model"), serving(refused()):
        pass
    assert "proxy" not in [thread.name for thread in threading.enumerate()]
