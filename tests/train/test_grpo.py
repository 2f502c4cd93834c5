import csv
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from posttrain.engine.local.engine import LocalEngine
from posttrain.ledger.store import SampleStore
from posttrain.rollout.episode import Episode
from posttrain.train.advantages import advantages
from tests.killing import killed_at_event
from tests.tiny import settings
from tests.trainings import GRPO, low_tokens, outputs, run_grpo, step_of

OVERLAP = replace(GRPO, steps=4, overlap=True)


class Idle(LocalEngine):
    """Neither samples nor trains: everything must be in the store."""

    async def base_sampler(self) -> Any:
        raise AssertionError

    async def new_trainer(self, rank: int, seed: int) -> Any:
        raise AssertionError(f"trained: {rank, seed}")

    async def load_trainer(self, path: str, optimizer: bool) -> Any:
        raise AssertionError(f"trained on: {path, optimizer}")


def rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "curve.csv").open()))


def stored(folder: Path) -> int:
    if not (folder / "samples.sqlite").exists():
        return 0
    with SampleStore(folder / "samples.sqlite") as store:
        return int(store._connection.execute("SELECT count(*) FROM samples").fetchone()[0])


def test_a_run_is_logged_saved_and_replayed_without_sampling_or_training(tmp_path: Path) -> None:
    played = run_grpo(tmp_path)
    assert [row["step"] for row in rows(tmp_path)] == ["1", "2", "3", "4", "5"]
    assert len(set(played.lineages.values())) == 5
    assert all(played.drawn.values())
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == ["2", "4", "5"]
    assert all(float(row["logprob_gap_mean"]) < 1e-4 for row in rows(tmp_path))  # on-policy: one update per batch
    first = outputs(tmp_path)
    again = run_grpo(tmp_path, engine=Idle(settings()))
    assert outputs(tmp_path) == first
    assert not any(again.drawn.values())
    assert stored(tmp_path) == sum(played.drawn.values())


def test_a_reward_changed_from_step_3_on_samples_from_step_4_on(tmp_path: Path) -> None:
    run_grpo(tmp_path)
    before = outputs(tmp_path)

    def changed(episode: Episode) -> float:
        return low_tokens(episode) if step_of(episode) < 3 else 1 - low_tokens(episode)

    again = run_grpo(tmp_path, reward=changed)
    assert [again.drawn[step] > 0 for step in range(1, 6)] == [False, False, False, True, True]
    after = outputs(tmp_path)
    for name in before:
        if name.endswith("adapter_model.safetensors"):
            assert (before[name] == after[name]) == name.startswith("models/2"), name
    assert after["curve.csv"].splitlines()[:3] == before["curve.csv"].splitlines()[:3]


def test_equal_rewards_teach_nothing_and_leave_the_policy_as_it_is(tmp_path: Path) -> None:
    played = run_grpo(tmp_path, replace(GRPO, steps=2, evaluate=[2]), reward=lambda _: 0.5)
    assert len(set(played.lineages.values())) == 1
    for row in rows(tmp_path):
        assert (row["skipped_groups"], row["logprob_gap_mean"], row["reward"]) == ("1", "", "0.5")


def test_a_group_of_equal_rewards_is_skipped_alone(tmp_path: Path) -> None:
    def reward(episode: Episode) -> float:
        return low_tokens(episode) if int(episode.id[1:]) % 2 else 0.0

    played = run_grpo(tmp_path, replace(GRPO, steps=2, evaluate=[2]), reward=reward)
    assert [row["skipped_groups"] for row in rows(tmp_path)] == ["0.5", "0.5"]
    assert len(set(played.lineages.values())) == 2


@pytest.mark.parametrize("loss", ["ppo", "cispo"])
def test_other_losses_and_settings_are_other_policies(tmp_path: Path, loss: Any) -> None:
    two = replace(GRPO, steps=2, evaluate=[2])
    lineages = [
        run_grpo(tmp_path, changed).lineages for changed in (two, replace(two, loss=loss), replace(two, lr=0.02))
    ]
    assert len({each[1] for each in lineages}) == 1
    assert len({each[2] for each in lineages}) == 3


def test_overlapping_steps_sample_from_the_policy_before_the_last_update(tmp_path: Path) -> None:
    played = run_grpo(tmp_path, OVERLAP)
    assert played.lineages[1] == played.lineages[2]
    assert len(set(played.lineages.values())) == 3
    gaps = [float(row["logprob_gap_mean"]) for row in rows(tmp_path)]
    assert gaps[0] < 1e-4 < min(gaps[1:])
    first = outputs(tmp_path)
    again = run_grpo(tmp_path, OVERLAP)
    assert outputs(tmp_path) == first
    assert not any(again.drawn.values())


def train_into(folder: Path) -> None:
    run_grpo(folder)


def train_overlapping_into(folder: Path) -> None:
    run_grpo(folder, OVERLAP)


@pytest.mark.parametrize(("work", "lives"), [(train_into, 2), (train_overlapping_into, 1)])
def test_killed_again_and_again_it_ends_with_the_same_bytes(tmp_path: Path, work: Any, lives: int) -> None:
    whole = tmp_path / "whole"
    assert killed_at_event(work, whole, None) == 0
    events, samples = int((whole / "events").read_text()), stored(whole)
    rng = random.Random(5)
    for life in range(lives):
        folder = tmp_path / str(life)
        for _ in range(2):
            assert killed_at_event(work, folder, rng.randrange(1, events // 2)) != 0
            before = stored(folder)
        assert killed_at_event(work, folder, None) == 0
        assert outputs(folder) == outputs(whole)
        assert before <= stored(folder) == samples  # nothing was drawn under another name
        assert not list((folder / "models").glob(".*"))


def test_advantages() -> None:
    assert advantages([1.0, 0.0, 0.5], "mean") == pytest.approx([0.5, -0.5, 0.0])
    assert advantages([1.0, 0.0, 0.5], "std") == pytest.approx([1.0, -1.0, 0.0])
    assert advantages([1.0, 0.0, 0.5], "leave_one_out") == pytest.approx([0.75, -0.75, 0.0])
    for kind in ("mean", "std", "leave_one_out"):
        assert advantages([0.3, 0.3 + 1e-9, 0.3], kind) is None
        values = advantages([0.1, 0.9, 0.4, 0.4], kind)
        assert values is not None
        assert sum(values) == pytest.approx(0)
