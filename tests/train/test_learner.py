import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from tinker import AdamParams, Datum

from posttrain.engine.local.engine import LocalEngine
from posttrain.errors import DataError, EngineError
from posttrain.ledger.places import checkpoints_dir
from posttrain.ledger.store import Sample, SampleStore
from posttrain.train.checkpoint import Checkpoint, base_checkpoint, read_checkpoint, write_checkpoint
from posttrain.train.datums import sft_datum
from posttrain.train.learner import Learner
from tests.tiny import drawing, ids, settings, tiny_engine
from tests.train.test_grpo import Idle
from tests.trainings import demonstrations

DATA = [sft_datum(episode) for episode in demonstrations(3)]
ADAM = AdamParams(learning_rate=0.01)


class Counting(LocalEngine):
    """Notes where trainers come from."""

    def __init__(self) -> None:
        super().__init__(settings())
        self.origins: list[str] = []

    async def new_trainer(self, rank: int, seed: int) -> Any:
        self.origins.append("new")
        return await super().new_trainer(rank, seed)

    async def load_trainer(self, path: str, optimizer: bool) -> Any:
        self.origins.append(f"{'with' if optimizer else 'without'} optimizer {Path(path).parent.name}")
        return await super().load_trainer(path, optimizer)


@pytest.fixture
def store(tmp_path: Path) -> SampleStore:
    return SampleStore(tmp_path / "samples.sqlite")


async def update(learner: Learner, *batches: list[Datum]) -> list[dict]:
    return [await learner.update(batch, "cross_entropy", ADAM) for batch in batches]


async def samples(learner: Learner, seed: int = 7) -> list[Sample]:
    return await learner.policy().draw(ids(20), range(2), drawing(seed=seed))


def test_a_known_update_is_noted_and_not_made(store: SampleStore) -> None:
    async def run() -> None:
        first = Learner.new(tiny_engine(), store, 4, 0)
        metrics = await update(first, DATA, DATA[:1])
        drawn = await samples(first)
        again = Learner.new(Idle(settings()), store, 4, 0)
        assert await update(again, DATA, DATA[:1]) == metrics
        assert again.lineage == first.lineage
        assert await samples(again) == drawn

    asyncio.run(run())


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_weights_are_made_from_the_nearest_checkpoint(store: SampleStore, kept: int) -> None:
    """By whichever way they are made they are the same, bit for bit."""

    async def run() -> None:
        first, saved = Learner.new(tiny_engine(), store, 4, 0), list[str]()
        for number in (1, 2, 3):
            await update(first, DATA[: 4 - number])
            if number <= kept:
                await first.save()
                saved.append(first.lineage)
        expected = await samples(first, seed=8)
        engine = Counting()
        again = Learner.new(engine, SampleStore(store.path.with_name("other")), 4, 0)
        # Only the updates are known there, so that the weights are needed for a sample.
        again._store.put_update(first.lineage, {})
        again._store = store
        await update(again, *[DATA[: 4 - number] for number in (1, 2, 3)])
        assert engine.origins == []
        policy = again.policy()
        policy._store = SampleStore(store.path.with_name("empty"))
        assert await policy.draw(ids(20), range(2), drawing(seed=8)) == expected
        assert engine.origins == ([f"with optimizer {saved[-1]}"] if saved else ["new"])
        await update(again, DATA)
        await update(first, DATA)
        assert first.lineage == again.lineage

    asyncio.run(run())


def test_a_learner_that_stands_goes_on_from_there(store: SampleStore) -> None:
    async def run() -> None:
        whole = Learner.new(tiny_engine(), store, 4, 0)
        await update(whole, DATA, DATA[:1], DATA[1:])
        engine = Counting()
        learner = Learner.new(engine, store, 4, 0)
        await update(learner, DATA)
        await samples(learner)
        await update(learner, DATA[:1], DATA[1:])
        await samples(learner, seed=9)
        assert engine.origins == ["new"]
        assert learner.lineage == whole.lineage

    asyncio.run(run())


def test_lineages_tell_runs_apart(store: SampleStore) -> None:
    async def run() -> None:
        engine, names = tiny_engine(), list[str]()
        runs: list[tuple[int, int, list[Datum], str, AdamParams]] = [
            (4, 0, DATA, "cross_entropy", ADAM),
            (2, 0, DATA, "cross_entropy", ADAM),
            (4, 1, DATA, "cross_entropy", ADAM),
            (4, 0, DATA[:2], "cross_entropy", ADAM),
            (4, 0, DATA[::-1], "cross_entropy", ADAM),
            (4, 0, DATA, "cross_entropy", AdamParams(learning_rate=0.02)),
            (4, 0, DATA, "cross_entropy", AdamParams(learning_rate=0.01, beta1=0.8)),
        ]
        for rank, seed, data, loss_fn, adam in runs:
            for _ in range(2):
                learner = Learner.new(engine, store, rank, seed)
                await learner.update(data, loss_fn, adam)
                names.append(learner.lineage)
        assert names[::2] == names[1::2]
        assert len(set(names)) == len(runs)

    asyncio.run(run())


def test_a_policy_is_not_sampled_from_after_its_learner_has_moved_on(store: SampleStore) -> None:
    async def run() -> None:
        learner = Learner.new(tiny_engine(), store, 4, 0)
        opened, unopened = learner.policy(), learner.policy()
        first = await opened.draw(ids(20), [0], drawing())
        await update(learner, DATA)
        assert await opened.draw(ids(20), [0], drawing(seed=9)) != first  # frozen, and still there
        assert await unopened.draw(ids(20), [0], drawing()) == first
        with pytest.raises(EngineError, match="moved on"):
            await unopened.draw(ids(21), [0], drawing())

    asyncio.run(run())


def test_a_lost_checkpoint_is_made_again_with_the_same_bytes(store: SampleStore) -> None:
    async def run() -> None:
        first = Learner.new(tiny_engine(), store, 4, 0)
        await update(first, DATA, DATA[:2])
        saved = await first.save()
        files = {p: p.read_bytes() for p in checkpoints_dir().rglob("*") if p.is_file()}
        again = Learner.new(Idle(settings()), store, 4, 0)
        await update(again, DATA, DATA[:2])
        assert await again.save() == saved
        shutil.rmtree(saved.state)
        anew = Learner.new(tiny_engine(), store, 4, 0)
        await update(anew, DATA, DATA[:2])
        assert await anew.save() == saved
        assert {p: p.read_bytes() for p in checkpoints_dir().rglob("*") if p.is_file()} == files

    asyncio.run(run())


def test_published_policies_are_read_back_and_trained_further(store: SampleStore, tmp_path: Path) -> None:
    async def run() -> None:
        engine = tiny_engine()
        learner = base_checkpoint(engine).learner(engine, store, 4, 0)
        await update(learner, DATA)
        made = Checkpoint(learner.lineage, "sft@1", await learner.save())
        for _ in range(2):
            write_checkpoint(engine, made, tmp_path / "model")
        assert [path.name for path in tmp_path.glob(".model*")] == []
        read = read_checkpoint(tmp_path / "model")
        assert (read.lineage, read.label) == (made.lineage, made.label)
        drawn = await samples(learner)
        other = SampleStore(tmp_path / "other.sqlite")
        assert await read.policy(engine, other).draw(ids(20), range(2), drawing()) == drawn
        base = base_checkpoint(engine).policy(engine, other)
        assert await base.draw(ids(20), range(2), drawing()) != drawn
        # Its optimizer starts afresh, which is another policy than one that went on.
        further = read.learner(engine, store, 4, 0)
        await update(further, DATA)
        await update(learner, DATA)
        assert further.lineage != learner.lineage
        assert await samples(further, 9) != await samples(learner, 9)

    asyncio.run(run())
    write_checkpoint(tiny_engine(), base_checkpoint(tiny_engine()), tmp_path / "base")
    assert read_checkpoint(tmp_path / "base") == base_checkpoint(tiny_engine())
    (tmp_path / "base" / "checkpoint.json").write_text('{"label": "x"}')
    for folder in ("base", "absent"):
        with pytest.raises(DataError):
            read_checkpoint(tmp_path / folder)
