import csv
from dataclasses import replace
from pathlib import Path

import pytest

from posttrain.train.datums import rl_datum, sft_datum
from tests.killing import killed_at_event
from tests.tiny import settings
from tests.train.test_grpo import Idle
from tests.trainings import TRAINING, demonstrations, outputs, run_sft


def rows(folder: Path) -> list[dict[str, float]]:
    return [{k: float(v) for k, v in row.items()} for row in csv.DictReader((folder / "curve.csv").open())]


def test_the_learning_rate_falls_to_zero_and_the_loss_with_it(tmp_path: Path) -> None:
    run_sft(tmp_path, replace(TRAINING, epochs=6))
    curve = rows(tmp_path)
    assert [row["lr"] for row in curve] == pytest.approx([0.02 * (1 - i / 18) for i in range(18)], rel=1e-5)
    assert [row["epoch"] for row in curve] == [epoch for epoch in range(1, 7) for _ in range(3)]
    last, first = [sum(row["loss"] for row in part) / 3 for part in (curve[-3:], curve[:3])]
    assert last < 0.5 * first
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == ["1", "2", "3", "4", "5", "6"]


def test_equal_runs_have_one_name_and_are_not_computed_twice(tmp_path: Path) -> None:
    lineages = run_sft(tmp_path)
    first = outputs(tmp_path)
    assert run_sft(tmp_path, engine=Idle(settings())) == lineages
    assert outputs(tmp_path) == first
    assert len(set(lineages)) == 2
    for training, seed in ((replace(TRAINING, lr=0.03), 3), (replace(TRAINING, batch=3), 3), (TRAINING, 4)):
        assert not set(run_sft(tmp_path, training, seed)) & set(lineages)


def test_only_what_the_policy_sampled_is_taught() -> None:
    episode = demonstrations(1)[0]
    whole = episode.prompt + episode.tokens
    before = [0.0] * (len(episode.prompt) - 1)
    taught = sft_datum(episode)
    assert taught.model_input.to_ints() == whole[:-1]
    assert taught.loss_fn_inputs["target_tokens"].tolist() == whole[1:]
    assert taught.loss_fn_inputs["weights"].tolist() == [*before, *map(float, episode.sampled)]
    reinforced = rl_datum(replace(episode, logprobs=[-0.5 * f for f in episode.sampled]), -2.0)
    assert reinforced.loss_fn_inputs["advantages"].tolist() == [*before, *[-2.0 * f for f in episode.sampled]]
    assert reinforced.loss_fn_inputs["logprobs"].tolist() == [*before, *[-0.5 * f for f in episode.sampled]]


def train_into(folder: Path) -> None:
    run_sft(folder)


def test_killed_at_any_update_or_save_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    assert killed_at_event(train_into, whole, None) == 0
    events = int((whole / "events").read_text())
    folder = tmp_path / "killed"
    for event in range(3, events, 5):  # every life gets further, or is cut in the middle of what the last one saved
        killed_at_event(train_into, folder, event)
    assert killed_at_event(train_into, folder, None) == 0
    assert outputs(folder) == outputs(whole)
