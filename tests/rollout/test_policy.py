import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tinker import ModelInput, SampledSequence, SampleResponse, SamplingParams

from posttrain.errors import EngineError
from posttrain.ledger.store import Sample, SampleStore
from posttrain.rollout.policy import Drawing, Policy
from tests.tiny import drawing, ids, tiny_engine


class Scripted:
    """A sampler whose row i says its seed + i and the prompt's length; keeps the requests it saw."""

    def __init__(self, logprobs: bool = True) -> None:
        self.requests: list[tuple[int, int]] = []
        self.logprobs = logprobs

    def caller(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def sample(self, prompt: ModelInput, num_samples: int, sampling_params: SamplingParams) -> SampleResponse:
        seed = sampling_params.seed or 0
        self.requests.append((seed, num_samples))
        await asyncio.sleep(0)
        sequences = [
            SampledSequence(
                stop_reason="stop",
                sequence_id=str(i),
                tokens_np=np.array([seed + i, prompt.length]),
                logprobs_np=np.array([-0.1, -0.2], np.float32) if self.logprobs else None,
            )
            for i in range(num_samples)
        ]
        return SampleResponse(sequences=sequences)


def policy_of(store: SampleStore, sampler: Scripted, lineage: str = "a") -> Policy:
    async def opened() -> Scripted:
        return sampler

    return Policy(lineage, store, opened)


HOW = Drawing(8, 1.0, 100, (1,))


def first_tokens(samples: Sequence[Sample]) -> list[int]:
    return [sample.tokens[0] for sample in samples]


@pytest.fixture
def store(tmp_path: Path) -> SampleStore:
    return SampleStore(tmp_path / "samples.sqlite")


def draw(policy: Policy, prompt: Sequence[int], indices: Sequence[int], how: Drawing = HOW) -> list[Sample]:
    return asyncio.run(policy.draw(prompt, indices, how))


def test_what_is_stored_is_not_sampled_again_and_opens_no_weights(store: SampleStore) -> None:
    sampler = Scripted()
    policy = policy_of(store, sampler)
    first = draw(policy, [5, 6], range(4))
    assert (first_tokens(first), sampler.requests, policy.sampled) == ([100, 101, 102, 103], [(100, 4)], 4)

    async def never() -> Scripted:
        raise AssertionError

    again = Policy("a", store, never)
    assert draw(again, [5, 6], range(4)) == first
    assert again.sampled == 0


def test_only_what_is_missing_of_a_group_is_sampled_and_the_order_is_kept(store: SampleStore) -> None:
    sampler = Scripted()
    policy = policy_of(store, sampler)
    draw(policy, [5], [1, 4])
    sampler.requests.clear()
    assert first_tokens(draw(policy, [5], range(6))) == [100, 101, 102, 103, 104, 105]
    assert sampler.requests == [(100, 1), (102, 2), (105, 1)]
    assert first_tokens(draw(policy, [5], [3, 0, 5])) == [103, 100, 105]
    assert policy.sampled == 6


@pytest.mark.parametrize(
    "how",
    [
        replace(HOW, seed=101),
        replace(HOW, max_tokens=9),
        replace(HOW, temperature=0.5),
        replace(HOW, stop=(2,)),
        replace(HOW, top_k=3),
        replace(HOW, top_p=0.9),
    ],
)
def test_another_setting_is_another_sample(store: SampleStore, how: Drawing) -> None:
    policy = policy_of(store, Scripted())
    draw(policy, [5], [0])
    draw(policy, [5], [0], how)
    assert policy.sampled == 2


def test_another_policy_or_prompt_is_another_sample(store: SampleStore) -> None:
    one, two = policy_of(store, Scripted()), policy_of(store, Scripted(), "b")
    draw(one, [5], [0])
    draw(one, [5, 5], [0])
    draw(two, [5], [0])
    assert (one.sampled, two.sampled) == (2, 1)


def test_at_temperature_zero_the_seed_says_nothing(store: SampleStore) -> None:
    policy = policy_of(store, Scripted())
    greedy = replace(HOW, temperature=0.0)
    first = draw(policy, [5], [0], greedy)
    assert draw(policy, [5], [0], replace(greedy, seed=7)) == first
    assert draw(policy, [5], [3], greedy) == first
    assert policy.sampled == 1


def test_a_sampler_without_logprobs_is_refused_and_nothing_is_stored(store: SampleStore) -> None:
    with pytest.raises(EngineError, match="no logprobs"):
        draw(policy_of(store, Scripted(logprobs=False)), [5], [0])
    assert policy_of(store, Scripted()).stored([5], [0], HOW) == [None]


def test_callers_declared_before_the_weights_are_there_count(store: SampleStore) -> None:
    """With the tiny engine: a batch waits for all of them."""

    async def play() -> None:
        sampler = await tiny_engine().base_sampler()

        async def opened() -> object:
            await asyncio.sleep(0.02)
            return sampler

        policy = Policy("a", store, opened)  # type: ignore[arg-type]
        with policy.caller(), policy.caller():
            one = asyncio.create_task(policy.draw(ids(5), [0], drawing()))
            await asyncio.sleep(0.05)
            with policy.caller():
                assert sampler._batcher._callers == 3
            assert not one.done()
            await asyncio.gather(one, policy.draw(ids(6), [0], drawing()))
        assert sampler._batcher._callers == 0

    asyncio.run(play())


def test_replayed_samples_are_those_that_were_drawn(store: SampleStore) -> None:
    engine = tiny_engine()
    drawn = [draw(Policy("a", store, engine.base_sampler), ids(n), range(3), drawing()) for n in (4, 70)]
    again = Policy("a", store, engine.base_sampler)
    assert [draw(again, ids(n), range(3), drawing()) for n in (4, 70)] == drawn
    assert again.sampled == 0
