import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from posttrain.errors import EngineError
from posttrain.ledger.store import SampleStore
from posttrain.progress import Progress
from posttrain.rollout.environment import Continue, Done
from posttrain.rollout.episode import Episode
from posttrain.rollout.policy import Policy
from posttrain.rollout.runner import Rollouts, Runner, Task
from tests.killing import killed_at_event
from tests.tiny import Game, drawing, games, tiny_chat, tiny_engine

ROLLOUTS = Rollouts(attempts=3, concurrency=6, drawing=drawing())


def as_json(groups: Sequence[Sequence[Episode]]) -> str:
    return json.dumps([[episode.to_row() for episode in group] for group in groups])


async def play(policy: Policy, tasks: Sequence[Task], rollouts: Rollouts = ROLLOUTS) -> list[list[Episode]]:
    with Progress("games", len(tasks), "episode") as progress:
        return await Runner(policy, tiny_chat(), rollouts, progress).run(tasks)


def played(path: Path, tasks: Sequence[Task], rollouts: Rollouts = ROLLOUTS) -> tuple[list[list[Episode]], int]:
    """Episodes and the number of samples that were drawn for them."""
    with SampleStore(path) as store:
        policy = Policy("base", store, tiny_engine().base_sampler)
        return asyncio.run(asyncio.wait_for(play(policy, tasks, rollouts), 60)), policy.sampled


def test_groups_and_attempts_come_back_in_order_and_differ(tmp_path: Path) -> None:
    groups, sampled = played(tmp_path / "s", games(5))
    assert [[(e.id, e.attempt) for e in group] for group in groups] == [
        [(f"g{i}", n) for n in range(3)] for i in range(5)
    ]
    assert all(len({tuple(episode.tokens) for episode in group}) == 3 for group in groups)
    assert sampled == sum(episode.turns for group in groups for episode in group)
    assert max(episode.turns for group in groups for episode in group) == 3


@pytest.mark.parametrize("concurrency", [1, 4, 100])
def test_how_many_run_at_a_time_changes_no_token(tmp_path: Path, concurrency: int) -> None:
    def tokens(groups: Sequence[Sequence[Episode]]) -> list[list[int]]:
        return [episode.tokens for group in groups for episode in group]

    groups, _ = played(tmp_path / "a", games(4))
    others, _ = played(tmp_path / "b", games(4), Rollouts(3, concurrency, drawing()))
    assert tokens(groups) == tokens(others)


def test_no_tasks_are_no_groups(tmp_path: Path) -> None:
    assert played(tmp_path / "s", []) == ([], 0)


@pytest.mark.parametrize(("before", "after"), [(1, 3), (2, 4), (3, 2)])
def test_another_group_size_samples_only_the_new_attempts(tmp_path: Path, before: int, after: int) -> None:
    first, drawn = played(tmp_path / "s", games(4), Rollouts(before, 6, drawing()))
    again, added = played(tmp_path / "s", games(4), Rollouts(after, 6, drawing()))
    kept = min(before, after)
    assert as_json([group[:kept] for group in again]) == as_json([group[:kept] for group in first])
    assert drawn + added == max(drawn, sum(episode.turns for group in again for episode in group))


def test_a_gap_in_a_group_is_filled(tmp_path: Path) -> None:
    """The first and third attempt are stored, the second and fourth are not: two requests of one group."""
    whole, _ = played(tmp_path / "whole", games(2), Rollouts(4, 4, drawing()))
    with SampleStore(tmp_path / "s") as store:
        policy = Policy("base", store, tiny_engine().base_sampler)
        asyncio.run(policy.draw(whole[0][0].prompt, [0, 2], drawing()))
    again, added = played(tmp_path / "s", games(2), Rollouts(4, 4, drawing()))
    assert [[e.tokens for e in group] for group in again] == [[e.tokens for e in group] for group in whole]
    assert added == sum(episode.turns for group in whole for episode in group) - 2


class Broken(Game):
    async def step(self, reply: str) -> Continue | Done:
        raise EngineError(f"game {self.name} broke after {reply!r}")


def test_a_failing_episode_ends_the_run_with_its_own_error_and_leaves_no_caller(tmp_path: Path) -> None:
    tasks = [*games(3), Task("bad", lambda: Broken("bad", 1)), *games(2, start=3)]

    async def fail_then_play(store: SampleStore) -> str:
        sampler = await tiny_engine().base_sampler()

        async def opened() -> Any:
            return sampler

        policy = Policy("base", store, opened)
        for _ in range(2):
            with pytest.raises(EngineError, match=r"^game bad broke after "):
                await play(policy, tasks)
            assert sampler._batcher._callers == 0
        assert len(asyncio.all_tasks()) == 1
        return as_json(await asyncio.wait_for(play(policy, games(5)), 60))

    with SampleStore(tmp_path / "s") as store:
        after = asyncio.run(fail_then_play(store))
    whole, _ = played(tmp_path / "whole", games(5))
    assert [[e["tokens"] for e in g] for g in json.loads(after)] == [[e.tokens for e in g] for g in whole]


def test_an_error_of_the_engine_ends_the_run_as_itself(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="do not fit the model's 8192"):
        played(tmp_path / "s", games(2), Rollouts(2, 4, drawing(max_tokens=9000)))


def test_a_cancelled_run_can_be_run_again(tmp_path: Path) -> None:
    async def cancel(store: SampleStore) -> None:
        run = asyncio.create_task(play(Policy("base", store, tiny_engine().base_sampler), games(6)))
        await asyncio.sleep(0.3)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    with SampleStore(tmp_path / "s") as store:
        asyncio.run(cancel(store))
    assert as_json(played(tmp_path / "s", games(6))[0]) == as_json(played(tmp_path / "whole", games(6))[0])


def play_into(folder: Path) -> None:
    """What a killed process was doing."""
    played(folder / "samples.sqlite", games(7))


def test_killed_anywhere_a_rerun_draws_what_is_missing_and_gets_the_same_bytes(tmp_path: Path) -> None:
    whole, drawn = played(tmp_path / "whole", games(7))
    rng = random.Random(1)
    for event in sorted(rng.sample(range(1, 26), 3)):
        folder = tmp_path / str(event)
        killed_at_event(play_into, folder, event)
        with SampleStore(folder / "samples.sqlite") as store:
            kept = store._connection.execute("SELECT count(*) FROM samples").fetchone()[0]
        again, added = played(folder / "samples.sqlite", games(7))
        assert as_json(again) == as_json(whole)
        assert kept + added == drawn
        assert as_json(played(folder / "samples.sqlite", games(7))[0]) == as_json(whole)
