"""The loopback service under the SDK's own client: what it computes is what the local engine computes."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
import tinker
from tinker import AdamParams, Datum, ModelInput, types
from tinker.proto.request_conv import forward_backward_request_to_proto

from tests.loopback.server import KEY, Loopback, serving
from tests.tiny import datum, ids, params, tiny_engine
from tests.tiny import sample as sample_locally

ADAM = AdamParams(learning_rate=0.01)
PROMPT = ModelInput.from_ints(ids(40))
DATA = [datum(ids(20 + i, i), 6, weights=[1, -1, 0, 2, 1, 1]) for i in range(3)]
HEADERS = {"X-API-Key": KEY}


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TINKER_TELEMETRY", "0")
        yield


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Loopback) -> Iterator[tinker.ServiceClient]:
    made = tinker.ServiceClient(base_url=server.url, api_key=KEY)
    yield made
    made.close("success").result()


@pytest.fixture(autouse=True)
def healed(server: Loopback) -> Iterator[None]:
    yield
    server.heal()


def sample(sampler: tinker.SamplingClient, count: int = 1) -> list[tuple[list[int], Any]]:
    response = sampler.sample(PROMPT, count, params()).result()
    return [(list(s.tokens), list(s.logprobs or [])) for s in response.sequences]


def trained_locally(steps: int, seed: int = 3, data: Sequence[Datum] = DATA) -> list[tuple[list[int], Any]]:
    """What the local engine's policy says after some steps."""

    async def run() -> list[tuple[list[int], Any]]:
        trainer = await tiny_engine().new_trainer(4, seed)
        for _ in range(steps):
            await trainer.forward_backward(data, "cross_entropy")
            await trainer.optim_step(ADAM)
        return await sample_locally(await trainer.sampler(), ids(40), 1, params())

    return asyncio.run(run())


def step(trainer: tinker.TrainingClient) -> tuple[types.ForwardBackwardOutput, types.OptimStepResponse]:
    gradient, update = trainer.forward_backward(DATA, "cross_entropy"), trainer.optim_step(ADAM)
    return gradient.result(), update.result()


def test_samples_equal_the_local_engines(server: Loopback, client: tinker.ServiceClient) -> None:
    sampler = client.create_sampling_client(base_model="tiny").result()
    before = server.counts().get("/api/v1/asample", 0)
    first = sampler.sample(PROMPT, 3, params()).result()
    again = sampler.sample(PROMPT, 3, params()).result()
    assert server.counts()["/api/v1/asample"] == before + 2
    expected = asyncio.run(sample_locally(asyncio.run(tiny_engine().base_sampler()), ids(40), 3, params()))
    assert [(s.tokens, s.logprobs) for s in first.sequences] == expected
    assert [(s.tokens, s.logprobs) for s in again.sequences] == expected
    assert (first.prompt_cache_hit_tokens, again.prompt_cache_hit_tokens) == (0, 32)
    ended = sampler.sample(PROMPT, 1, params(stop=[expected[0][0][2]])).result().sequences[0]
    assert (ended.tokens, ended.stop_reason) == (expected[0][0][:3], "stop")
    assert first.sequences[0].stop_reason == "length"


def test_training_saving_and_loading_equal_the_local_engines(client: tinker.ServiceClient) -> None:
    trainer = client.create_lora_training_client("tiny", rank=4, seed=3).result()
    assert trainer.get_info().lora_rank == 4
    gradient, update = step(trainer)

    async def run() -> tuple[Any, Any]:
        local = await tiny_engine().new_trainer(4, 3)
        return await local.forward_backward(DATA, "cross_entropy"), await local.optim_step(ADAM)

    expected, expected_update = asyncio.run(run())
    assert [row["logprobs"].tolist() for row in gradient.loss_fn_outputs] == [
        row["logprobs"].tolist() for row in expected.loss_fn_outputs
    ]
    assert gradient.metrics == expected.metrics
    assert update.metrics == expected_update.metrics

    once, twice = trained_locally(1), trained_locally(2)
    assert once != twice
    assert sample(trainer.save_weights_and_get_sampling_client().result()) == once
    state = trainer.save_state("one", ttl_seconds=3600).result().path
    saved = trainer.save_weights_for_sampler("one").result().path
    assert sample(client.create_sampling_client(model_path=saved).result()) == once
    for optimizer in (True, False):
        resumed = (
            client.create_training_client_from_state_with_optimizer(state)
            if optimizer
            else client.create_training_client_from_state(state)
        ).result()
        step(resumed)
        assert (sample(resumed.save_weights_and_get_sampling_client().result()) == twice) is optimizer


def test_checkpoints_are_listed_kept_and_gone(server: Loopback, client: tinker.ServiceClient) -> None:
    trainer = client.create_lora_training_client("tiny", rank=4, seed=3).result()
    state = trainer.save_state("kept").result().path
    saved = trainer.save_weights_for_sampler("kept").result().path
    rest = tinker.RestClient(base_url=server.url, api_key=KEY)
    listed = rest.list_checkpoints(trainer.model_id).result().checkpoints
    assert {c.tinker_path: c.checkpoint_type for c in listed} == {state: "training", saved: "sampler"}
    assert rest.get_weights_info_by_tinker_path(saved).result().lora_rank == 4
    with pytest.raises(tinker.RequestFailedError, match="exists already"):
        trainer.save_state("kept").result()
    with pytest.raises(tinker.BadRequestError, match="wrong kind"):
        client.create_sampling_client(model_path=state).result()

    rest.set_checkpoint_ttl_from_tinker_path(saved, 3600).result()
    assert [c.expires_at is not None for c in rest.list_checkpoints(trainer.model_id).result().checkpoints] == [
        c.tinker_path == saved for c in rest.list_checkpoints(trainer.model_id).result().checkpoints
    ]
    server.expire(saved)
    with pytest.raises(tinker.NotFoundError):
        client.create_sampling_client(model_path=saved).result()
    server.forget(state)
    with pytest.raises(tinker.NotFoundError):
        rest.get_weights_info_by_tinker_path(state).result()
    with pytest.raises(tinker.NotFoundError):
        client.create_training_client_from_state(state).result()


@pytest.mark.parametrize("how", [429, 500, 408, "reset", "lost", 0.2])
def test_a_sample_outlives_a_passing_fault(server: Loopback, client: tinker.ServiceClient, how: int | str) -> None:
    sampler = client.create_sampling_client(base_model="tiny").result()
    expected = sample(sampler)
    before = server.counts()["/api/v1/asample"]
    server.fail("/asample", how)
    started = time.monotonic()
    assert sample(sampler) == expected
    assert server.counts()["/api/v1/asample"] - before == (1 if how == 0.2 else 2)
    assert time.monotonic() - started >= 0.2


def test_an_operation_whose_answer_is_lost_is_carried_out_once(server: Loopback, client: tinker.ServiceClient) -> None:
    trainer = client.create_lora_training_client("tiny", rank=4, seed=3).result()
    server.fail("/api/v1/forward_backward", "lost")
    server.fail("/api/v1/optim_step", "lost")
    step(trainer)
    assert sample(trainer.save_weights_and_get_sampling_client().result()) == trained_locally(1)


@pytest.mark.parametrize(
    ("how", "error"),
    [(401, tinker.AuthenticationError), (402, tinker.BillingError), (403, tinker.PermissionDeniedError)],
)
def test_lasting_faults_have_their_class(server: Loopback, how: int, error: type[Exception]) -> None:
    server.fail("/get_server_capabilities", how, times=100)
    with pytest.raises(error):
        tinker.ServiceClient(base_url=server.url, api_key=KEY)._check_accessible()


def test_a_wrong_key_is_refused(server: Loopback) -> None:
    with pytest.raises(tinker.AuthenticationError):
        tinker.ServiceClient(base_url=server.url, api_key="tml-other").create_sampling_client(base_model="tiny")


def test_silence_is_no_answer(server: Loopback) -> None:
    server.fail("/healthz", "silence")
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(f"{server.url}/api/v1/healthz", timeout=0.3)
    assert httpx.get(f"{server.url}/api/v1/healthz", timeout=5).json() == {"status": "ok"}


def test_operations_take_effect_in_the_order_of_their_numbers(server: Loopback) -> None:
    with httpx.Client(base_url=f"{server.url}/api/v1", headers=HEADERS, timeout=30) as http:

        def post(path: str, **body: Any) -> dict[str, Any]:
            answer: dict[str, Any] = http.post(path, json=body).raise_for_status().json()
            return answer

        session = post("/create_session", tags=[], user_metadata={}, sdk_version=tinker.__version__)["session_id"]
        lora = {"rank": 4, "seed": 3}
        made = post("/create_model", session_id=session, model_seq_id=0, base_model="tiny", lora_config=lora)
        name = post("/retrieve_future", request_id=made["request_id"])["model_id"]
        update = post("/optim_step", model_id=name, seq_id=2, adam_params=ADAM.model_dump())
        asked = types.ForwardBackwardRequest(types.ForwardBackwardInput(DATA, "cross_entropy"), name, 1)
        http.post("/forward_backward", content=forward_backward_request_to_proto(asked).SerializeToString())
        metrics = post("/retrieve_future", request_id=update["request_id"])["metrics"]
        assert metrics["grad_norm"] > 1
        assert post("/optim_step", model_id=name, seq_id=2, adam_params=ADAM.model_dump()) == update
        http.post(f"/sessions/{session}/finish", json={"reason": {"type": "success"}})
        assert http.post("/session_heartbeat", json={"session_id": session}).status_code == 410


@pytest.mark.parametrize("path", ["tinker://run/weights", "tinker://../weights/x", "tinker://a/weights/..", "a", ""])
def test_addresses_cannot_leave_the_shelf(server: Loopback, path: str) -> None:
    answer = httpx.post(f"{server.url}/api/v1/weights_info", json={"tinker_path": path}, headers=HEADERS)
    assert answer.status_code == 400


def test_checkpoints_outlive_the_server_that_runs_by_itself(tmp_path: Path) -> None:
    with serving(tmp_path) as server, tinker.ServiceClient(base_url=server.url, api_key=KEY) as client:
        trainer = client.create_lora_training_client("tiny", rank=4, seed=3).result()
        step(trainer)
        saved = trainer.save_weights_for_sampler("kept").result().path

    command = [sys.executable, "-m", "tests.loopback", "--state", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            with tinker.ServiceClient(base_url=url, api_key=KEY) as client:
                assert sample(client.create_sampling_client(model_path=saved).result()) == trained_locally(1)
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
