"""The hosted engine against the loopback service: it must sample, train and save just as the local engine does."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import tinker
from tinker import AdamParams, SampleResponse
from tinker.proto import tinker_public_pb2 as pb

from posttrain.engine.hosted.engine import HostedEngine
from posttrain.engine.protocol import Engine, SavedPaths
from posttrain.errors import EngineError
from tests.engine.hosted import SERVICE, count, opened, point_to
from tests.loopback.server import KEY, Loopback, serving
from tests.tiny import datum, ids, params, sample, tiny_engine

NAME = "a" * 32
DATA = [datum(ids(12, seed), 5, weights=[1.0] * 5) for seed in range(2)]
RL = [datum(ids(12, seed), 4, logprobs=[-9.0] * 4, advantages=[0.5] * 4) for seed in range(3)]


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with serving() as running:
        yield running


def test_nothing_is_asked_before_it_is_needed(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    before = server.counts()
    with opened(monkeypatch, server) as engine:
        assert len(engine.base_lineage) == 32
        assert engine.find_saved("nothing") is None
    monkeypatch.delenv("TINKER_API_KEY")
    monkeypatch.setenv("HOME", "/nonexistent")
    HostedEngine("tiny", SERVICE).close()
    assert server.counts() == before


def test_the_lineage_tells_services_apart(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(monkeypatch, server) as engine:
        here = engine.base_lineage
        point_to(monkeypatch, "http://127.0.0.1:1")
        assert engine.base_lineage != here


async def played(engine: Engine) -> tuple[list[object], list[object]]:
    """Samples before and after two updates, and the updates' logprobs."""
    drawn: list[object] = [await sample(await engine.base_sampler(), ids(20), 3, params(max_tokens=5))]
    trainer = await engine.new_trainer(4, 3)
    learned: list[object] = []
    for data, loss in ((DATA, "cross_entropy"), (RL, "importance_sampling")):
        output, stepped = trainer.forward_backward(data, loss), trainer.optim_step(AdamParams(learning_rate=1e-2))
        learned += [np.asarray(one["logprobs"].to_numpy()) for one in (await output).loss_fn_outputs]
        await stepped
        drawn.append(await sample(await trainer.sampler(), ids(20), 2, params(max_tokens=5, temperature=0.0)))
    return drawn, learned


def test_both_engines_sample_and_learn_the_same(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(monkeypatch, server) as engine:
        hosted = asyncio.run(played(engine))
    local = asyncio.run(played(tiny_engine()))
    assert repr(hosted[0]) == repr(local[0])
    for ours, theirs in zip(hosted[1], local[1], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_group_is_one_request(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(monkeypatch, server) as engine:
        before = count(server, "asample")
        asyncio.run(one_sample(engine, 8))
        assert count(server, "asample") == before + 1


async def one_sample(engine: Engine, number: int = 1) -> None:
    rows = await sample(await engine.base_sampler(), ids(20), number, params(max_tokens=2))
    assert len(rows) == number
    assert all(len(logprobs) == len(tokens) for tokens, logprobs in rows)


async def save(engine: Engine, name: str = NAME) -> tuple[SavedPaths, object]:
    """A trained policy's checkpoints, and what it samples."""
    trainer = await engine.new_trainer(4, 3)
    output, stepped = (
        trainer.forward_backward(DATA, "cross_entropy"),
        trainer.optim_step(AdamParams(learning_rate=1e-2)),
    )
    await output
    await stepped
    return await trainer.save(name), await sample(await trainer.sampler(), ids(20), 2, params(max_tokens=5))


def test_checkpoints_are_found_again_by_another_process(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def again(engine: Engine, saved: SavedPaths) -> list[object]:
        how = params(max_tokens=5)
        trainers = [await engine.load_trainer(saved.state, optimizer=optimizer) for optimizer in (True, False)]
        samplers = [await engine.load_sampler(saved.sampler), *[await trainer.sampler() for trainer in trainers]]
        return [await sample(sampler, ids(20), 2, how) for sampler in samplers]

    with opened(monkeypatch, server) as engine:
        saved, drawn = asyncio.run(save(engine))
        assert engine.find_saved(NAME) == saved
        assert engine.publish(saved, tmp_path) == saved
        assert list(tmp_path.glob("*.json")) == []
    with opened(monkeypatch, server) as engine:
        assert engine.find_saved(NAME) == saved
        assert [repr(one) for one in asyncio.run(again(engine, saved))] == [repr(drawn)] * 3


def test_the_wrong_kind_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    point_to(monkeypatch, "http://127.0.0.1:1")
    engine = HostedEngine("tiny", SERVICE)
    with pytest.raises(
        EngineError, match="can only be sampled from; the checkpoint to be trained further has /weights/"
    ):
        asyncio.run(engine.load_trainer("tinker://run/sampler_weights/x", optimizer=True))
    with pytest.raises(EngineError, match="can only be trained further"):
        asyncio.run(engine.load_sampler("tinker://run/weights/x"))
    with pytest.raises(EngineError, match="is no hosted checkpoint"):
        asyncio.run(engine.load_sampler("models/sft/epoch-1/sampler"))


@pytest.mark.parametrize("how", ["forget", "expire"])
def test_a_checkpoint_that_is_gone_is_noticed_and_explained(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    with opened(monkeypatch, server) as engine:
        saved, _ = asyncio.run(save(engine))
        getattr(server, how)(saved.sampler)
        with pytest.raises(
            EngineError, match=r"it has expired \(service\.ttl_days\), was deleted or belongs"
        ) as caught:
            asyncio.run(engine.load_sampler(saved.sampler))
        assert "run `dvc repro`, which makes it again" in str(caught.value)
    with opened(monkeypatch, server) as engine:
        assert engine.find_saved(NAME) is None
    assert "is no longer on the service; what needs it is made again" in capsys.readouterr().err


def test_what_a_receipt_names_is_adopted_if_it_is_there(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with opened(monkeypatch, server) as engine:
        saved, _ = asyncio.run(save(engine))
    monkeypatch.setenv("POSTTRAIN_CACHE", str(tmp_path / "of another machine"))
    with opened(monkeypatch, server) as engine:
        assert engine.find_saved(NAME) is None
    with opened(monkeypatch, server) as engine:
        assert engine.adopt(NAME, saved)
        assert engine.find_saved(NAME) == saved
    with opened(monkeypatch, server) as engine:
        assert engine.find_saved(NAME) == saved  # remembered on this machine from now on
    server.forget(saved.state)
    with opened(monkeypatch, server) as engine:
        assert not engine.adopt(NAME, saved)


def expiry(server: Loopback, path: str) -> datetime | None:
    run = path.removeprefix("tinker://").split("/")[0]
    listed = tinker.RestClient(base_url=server.url, api_key=KEY).list_checkpoints(run).result().checkpoints
    [found] = [one.expires_at for one in listed if one.tinker_path == path]
    return found


@pytest.mark.parametrize(("days", "extended"), [(1, True), (3, False), (None, False)])
def test_a_checkpoint_in_use_gets_more_time_only_when_it_needs_it(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, days: int | None, extended: bool
) -> None:
    with opened(monkeypatch, server, ttl_days=days) as engine:
        saved, _ = asyncio.run(save(engine))
        before = expiry(server, saved.sampler), expiry(server, saved.state)
    with opened(monkeypatch, server, ttl_days=30) as engine:  # one that is kept for ever stays so
        assert engine.find_saved(NAME) == saved
    after = expiry(server, saved.sampler), expiry(server, saved.state)
    assert (after != before) is extended
    if extended:
        assert all(one is not None and one - datetime.now(UTC) > timedelta(days=29) for one in after)


def test_a_checkpoint_of_another_model_is_refused(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(monkeypatch, server) as engine:
        saved, _ = asyncio.run(save(engine))
        engine._model = "other"
        for load in (engine.load_sampler(saved.sampler), engine.load_trainer(saved.state, optimizer=False)):
            with pytest.raises(EngineError, match=r"belongs to tiny, not to engine\.model other"):
                asyncio.run(load)


def test_a_sampler_without_logprobs_is_refused(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.loopback.state.sample_bytes", without_logprobs)
    with opened(monkeypatch, server) as engine, pytest.raises(EngineError, match="gives no logprobs"):
        asyncio.run(one_sample(engine))


def without_logprobs(response: SampleResponse) -> bytes:
    message = pb.SampleResponse()
    for sequence in response.sequences:
        message.sequences.add(stop_reason=1, tokens=np.asarray(sequence.tokens, dtype=np.int32).tobytes())
    return message.SerializeToString()


def test_a_damaged_or_foreign_pointer_counts_as_none(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    of_another = {"sampler": "tinker://a/sampler_weights/b", "state": "tinker://a/weights/b", "base_url": "http://x"}
    wrong_way = {"sampler": "tinker://a/weights/b", "state": "/etc", "base_url": server.url}
    for text in ("", "{}", "[1]", '{"sampler": 1}', json.dumps(of_another), json.dumps(wrong_way)):
        (cache / "hosted").mkdir(parents=True, exist_ok=True)
        (cache / "hosted" / f"{NAME}.json").write_text(text)
        with opened(monkeypatch, server) as engine:
            assert engine.find_saved(NAME) is None


def test_the_session_is_ended(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    before = count(server, "finish")

    def interrupted() -> None:
        with opened(monkeypatch, server) as engine:
            asyncio.run(one_sample(engine))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert count(server, "finish") == before + 1
