"""A frozen policy seen through the sample store: only what is missing there is sampled."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain

from tinker import ModelInput, SamplingParams

from posttrain.engine.protocol import Sampler
from posttrain.errors import EngineError
from posttrain.ledger.store import Sample, SampleKey, SampleStore


@dataclass(frozen=True)
class Drawing:
    """How tokens are drawn. At temperature 0 the seed says nothing and is left out of a sample's name."""

    max_tokens: int
    temperature: float
    seed: int
    stop: tuple[int, ...]
    top_k: int = -1
    top_p: float = 1.0

    @cached_property
    def name(self) -> str:
        """Canonical JSON of everything but the seed, for the store's key."""
        return json.dumps({key: value for key, value in asdict(self).items() if key != "seed"}, sort_keys=True)


class Policy:
    """A policy by its lineage. Its weights are loaded when the first sample is missing, by `open_sampler`."""

    def __init__(self, lineage: str, store: SampleStore, open_sampler: Callable[[], Awaitable[Sampler]]) -> None:
        self.lineage = lineage
        self.sampled = 0  # samples drawn, not replayed
        self._store, self._open_sampler = store, open_sampler
        self._sampler: Sampler | None = None
        self._opening = asyncio.Lock()
        self._callers: list[ExitStack] = []

    @contextmanager
    def caller(self) -> Iterator[None]:
        """One more episode that will be asking for samples; see `Sampler.caller`."""
        with ExitStack() as stack:
            self._callers.append(stack)
            if self._sampler is not None:
                stack.enter_context(self._sampler.caller())
            try:
                yield
            finally:
                self._callers.remove(stack)

    async def draw(self, prompt: Sequence[int], indices: Sequence[int], how: Drawing) -> list[Sample]:
        """One sample per index, from the store or freshly drawn with seed `how.seed + index`.

        Consecutive indices that are all missing are one request, so their prompt is paid for once. All requests wait
        at the same time, as the callers behind them do.
        """
        found = dict(zip(indices, self.stored(prompt, indices, how), strict=True))
        missing = [index for index, sample in found.items() if sample is None]
        requests = [self._request(prompt, first, count, how) for first, count in _runs(missing)]
        found.update(zip(missing, chain.from_iterable(await asyncio.gather(*requests)), strict=True))
        return [sample for sample in found.values() if sample is not None]

    def stored(self, prompt: Sequence[int], indices: Sequence[int], how: Drawing) -> list[Sample | None]:
        """What the store holds of `draw`."""
        return self._store.get([self._key(prompt, index, how) for index in indices])

    def _key(self, prompt: Sequence[int], index: int, how: Drawing) -> SampleKey:
        random = how.temperature > 0
        return SampleKey(self.lineage, prompt, how.name, how.seed if random else 0, index if random else 0)

    async def _request(self, prompt: Sequence[int], first: int, count: int, how: Drawing) -> list[Sample]:
        sampler = await self.open()
        params = SamplingParams(
            max_tokens=how.max_tokens,
            temperature=how.temperature,
            seed=how.seed + first,
            stop=list(how.stop),
            top_k=how.top_k,
            top_p=how.top_p,
        )
        response = await sampler.sample(ModelInput.from_ints(list(prompt)), count, params)
        samples = []
        for sequence in response.sequences:
            if sequence.logprobs is None:
                raise EngineError("the sampler returned no logprobs, and training on its tokens would be wrong")
            cached = response.prompt_cache_hit_tokens or 0
            samples.append(Sample(sequence.tokens, sequence.logprobs, sequence.stop_reason, cached))
        for index, sample in enumerate(samples, first):
            self._store.put(self._key(prompt, index, how), sample)
        self.sampled += count
        return samples

    async def open(self) -> Sampler:
        """Loads the weights unless they are."""
        if self._sampler is not None:
            return self._sampler
        async with self._opening:
            if self._sampler is None:
                sampler = await self._open_sampler()
                for stack in self._callers:
                    stack.enter_context(sampler.caller())
                self._sampler = sampler
            return self._sampler


def _runs(indices: Sequence[int]) -> list[tuple[int, int]]:
    """Consecutive indices as (first, count)."""
    runs: list[tuple[int, int]] = []
    for index in indices:
        if runs and index == sum(runs[-1]):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((index, 1))
    return runs
