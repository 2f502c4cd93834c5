"""What goes wrong on a service, each told in one line that says what to do, in bounded time."""

import asyncio
import gc
import re
import socket
import time
from collections.abc import Iterator

import httpx
import pytest
import tinker
from tinker import AdamParams
from tinker.types import RequestErrorCategory

from posttrain.engine.hosted.engine import HostedEngine
from posttrain.engine.hosted.failures import translated
from posttrain.engine.hosted.preflight import preflight
from posttrain.errors import EngineError, InfrastructureError, PosttrainError
from tests.engine.hosted import count, opened, point_to
from tests.engine.test_hosted_engine import DATA, one_sample, save
from tests.loopback.routes import How
from tests.loopback.server import KEY, Loopback, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def healed(server: Loopback) -> Iterator[None]:
    yield
    server.heal()


def test_a_wrong_key_is_told_and_never_shown(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "tml-not-this-one-123456"
    point_to(monkeypatch, server.url, secret)
    with pytest.raises(EngineError, match=r"the key was not accepted \(401\); set TINKER_API_KEY") as caught:
        preflight("tiny")
    assert secret not in str(caught.value)


@pytest.mark.parametrize("key", ["", "sk-of-another-service"])
def test_no_key_and_a_key_of_another_service(server: Loopback, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    point_to(monkeypatch, server.url, key)
    monkeypatch.setenv("HOME", "/nonexistent")
    with pytest.raises(EngineError) as caught:
        preflight("tiny")
    assert "\n" not in str(caught.value)
    assert "sk-of" not in str(caught.value)
    assert "docs/tinker.md" in str(caught.value)


def test_a_model_that_is_not_offered_names_those_that_are(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    point_to(monkeypatch, server.url)
    with pytest.raises(EngineError, match=r"does not offer tinny; set engine\.model to one of tiny"):
        preflight("tinny")


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    point_to(monkeypatch, f"http://127.0.0.1:{port}")
    started = time.monotonic()
    with pytest.raises(InfrastructureError, match="cannot be reached; check the network"):
        preflight("tiny", seconds=3.0)
    assert time.monotonic() - started < 5


def test_someone_listens_and_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        point_to(monkeypatch, f"http://127.0.0.1:{silent.getsockname()[1]}")
        started = time.monotonic()
        with pytest.raises(InfrastructureError, match=r"no answer from http://127.0.0.1:\d+ in 1 s"):
            preflight("tiny", seconds=1.0)
        assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (402, EngineError, r"cannot pay \(402\)"),
        (403, EngineError, r"may not do this \(403\)"),
        (404, EngineError, r"not found \(404\).*older dialect than SDK"),
        (429, InfrastructureError, "429|no answer"),
        (500, InfrastructureError, "500|no answer"),
    ],
)
def test_a_preflight_that_fails(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, status: int, kind: type[PosttrainError], message: str
) -> None:
    point_to(monkeypatch, server.url)
    server.fail("/get_server_capabilities", status, 100)
    started = time.monotonic()
    with pytest.raises(kind, match=message) as caught:
        preflight("tiny", seconds=3.0)
    assert time.monotonic() - started < 10
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("how", [500, 429, "reset", "silence"])
def test_a_passing_failure_is_waited_out(server: Loopback, monkeypatch: pytest.MonkeyPatch, how: How) -> None:
    with opened(monkeypatch, server, timeout_s=3.0) as engine:
        server.fail("/asample", how, 1)
        asyncio.run(one_sample(engine))


@pytest.mark.parametrize("how", [500, "silence", 429])
def test_a_lasting_failure_ends_in_bounded_time_and_is_seen(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], how: How
) -> None:
    with opened(monkeypatch, server, timeout_s=2.0, retries=1) as engine:
        server.fail("/asample", how, 1000)
        started = time.monotonic()
        with pytest.raises(InfrastructureError, match="sampling: "):
            asyncio.run(one_sample(engine))
        assert time.monotonic() - started < 15
    assert "try 2 of 2 in" in capsys.readouterr().err


def test_what_cannot_get_better_is_not_tried_again(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(monkeypatch, server) as engine:
        server.fail("/asample", 400, 1000)
        before = count(server, "asample")
        with pytest.raises(EngineError, match=r"sampling: the request was refused \(400\)"):
            asyncio.run(one_sample(engine))
        assert count(server, "asample") == before + 1


def test_no_more_requests_than_allowed_are_under_way(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    async def many(engine: HostedEngine) -> float:
        started = time.monotonic()
        await asyncio.gather(*(one_sample(engine) for _ in range(6)))
        return time.monotonic() - started

    with opened(monkeypatch, server, in_flight=2) as engine:
        asyncio.run(one_sample(engine))  # opened and warm
        server.fail("/asample", 0.5, 6)
        assert asyncio.run(many(engine)) >= 1.5  # three waves of two, each half a second late


def test_a_service_that_stops_billing_is_found_out(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK itself would wait an hour and say nothing."""
    with opened(monkeypatch, server, timeout_s=3.0) as engine:
        asyncio.run(one_sample(engine))
        server.fail("/asample", 402, 1000)
        server.fail("/get_server_capabilities", 402, 1000)
        started = time.monotonic()
        with pytest.raises(EngineError, match=r"the account cannot pay \(402\)"):
            asyncio.run(one_sample(engine))
        assert time.monotonic() - started < 10


def test_a_training_step_that_failed_is_not_made_twice(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    async def train(engine: HostedEngine) -> None:
        trainer = await engine.new_trainer(4, 0)
        server.fail("/forward_backward", 400, 1000)
        await trainer.forward_backward(DATA, "cross_entropy")

    with opened(monkeypatch, server) as engine:
        before = count(server, "forward_backward")
        with pytest.raises(EngineError, match="training: "):
            asyncio.run(train(engine))
        assert count(server, "forward_backward") == before + 1


async def step(engine: HostedEngine) -> list[float]:
    """What the second of two equal steps sees, so that it tells how often the first was made."""
    trainer = await engine.new_trainer(4, 0)
    for _ in range(2):
        gradients = trainer.forward_backward(DATA, "cross_entropy")
        stepped = trainer.optim_step(AdamParams(learning_rate=1e-2))
        output = await gradients
        await stepped
    return [row["logprobs"].tolist() for row in output.loss_fn_outputs]


@pytest.mark.parametrize("path", ["/forward_backward", "/optim_step", "/retrieve_future"])
@pytest.mark.parametrize("how", ["lost", "reset", 500, 3.0])
def test_training_goes_through_a_bad_connection_once(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], path: str, how: How
) -> None:
    with opened(monkeypatch, server, timeout_s=2.0, retries=8) as engine:
        server.fail(path, how, 1)
        disturbed = asyncio.run(step(engine))
    with opened(monkeypatch, server) as engine:
        assert asyncio.run(step(engine)) == disturbed
    assert ("no answer for 2 s; still waiting" in capsys.readouterr().err) or how != 3.0


def test_a_step_whose_gradients_failed_may_be_left(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    with opened(monkeypatch, server) as engine:
        server.fail("/forward_backward", 400, 1)
        with pytest.raises(EngineError, match="training: "):
            asyncio.run(step(engine))
    gc.collect()
    assert [str(one.message) for one in recwarn if "never awaited" in str(one.message)] == []


def test_a_failed_save_leaves_no_pointer(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(monkeypatch, server) as engine:
        server.fail("/save_weights_for_sampler", 400, 1000)
        with pytest.raises(EngineError, match="saving a checkpoint"):
            asyncio.run(save(engine, "b" * 32))
    server.heal()
    with opened(monkeypatch, server) as engine:
        assert engine.find_saved("b" * 32) is None


def request_failed(category: RequestErrorCategory) -> tinker.RequestFailedError:
    return tinker.RequestFailedError("prompt too long", "r", category)


def caused_by(status: int, error: Exception) -> Exception:
    request = httpx.Request("POST", "http://x")
    classes = {401: tinker.AuthenticationError, 402: tinker.BillingError, 400: tinker.BadRequestError}
    error.__cause__ = classes[status](f"said {KEY}", response=httpx.Response(status, request=request), body=None)
    return error


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (request_failed(RequestErrorCategory.User), EngineError, "request itself is at fault"),
        (request_failed(RequestErrorCategory.Server), InfrastructureError, "the service gave up on it"),
        (caused_by(400, ValueError("x (status 400) — exceeded 3 retries")), InfrastructureError, "exceeded 3 retries"),
        (caused_by(401, ValueError("Error retrieving result")), EngineError, "the key was not accepted"),
        (caused_by(402, RuntimeError("poisoned")), EngineError, "cannot pay"),
        (ValueError("The server predates proto response serialization"), EngineError, "cannot be read.*constraints"),
        (AssertionError("asample promises always carry sample_sequence_ids"), EngineError, "cannot be read"),
        (tinker.TinkerError("retrieve_futures polling failed"), InfrastructureError, "polling failed; run it again"),
        (tinker.TinkerError("TINKER_CREDENTIAL_CMD returned an empty credential."), EngineError, r"docs/tinker\.md"),
        (RuntimeError("\x1b[31mred\n" + KEY), InfrastructureError, r"doing: \S\[31mred …"),
    ],
)
def test_what_the_sdk_raises_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[PosttrainError], message: str
) -> None:
    monkeypatch.delenv("TINKER_BASE_URL", raising=False)
    told = translated(error, "doing")
    assert isinstance(told, kind)
    assert re.search(message, str(told))
    assert str(told).isprintable()
    assert KEY not in str(told)


def test_an_older_cluster_is_named(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    point_to(monkeypatch, server.url.replace("//", "//user:secret@"))
    told = translated(ValueError("The server predates proto response serialization"), "sampling")
    assert "may speak an older dialect than SDK" in str(told)
    assert "secret" not in str(translated(ConnectionResetError(), "sampling"))
