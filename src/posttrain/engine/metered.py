"""An engine whose every request and training step is held against the cap before it goes out, and booked after."""

from collections.abc import Awaitable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from tinker import AdamParams, Datum, ForwardBackwardOutput, ModelInput, SampleResponse, SamplingParams

from posttrain.engine.protocol import Engine, Sampler, SavedPaths, Trainer
from posttrain.ledger.price import Tokens
from posttrain.ledger.purse import Purse


class MeteredSampler:
    """Pays for the prompt once a request, and for every sampled token."""

    def __init__(self, sampler: Sampler, purse: Purse) -> None:
        self._sampler, self._purse = sampler, purse

    async def sample(self, prompt: ModelInput, num_samples: int, sampling_params: SamplingParams) -> SampleResponse:
        """See `Sampler.sample`; raises BudgetError before a request that could pass the cap."""
        worst = Tokens(prefill=prompt.length, sampled=num_samples * (sampling_params.max_tokens or 0))
        async with self._purse.reserve(worst) as book:
            response = await self._sampler.sample(prompt, num_samples, sampling_params)
            sampled = sum(len(sequence.tokens) for sequence in response.sequences)
            book(Tokens(prefill=prompt.length, cached=response.prompt_cache_hit_tokens or 0, sampled=sampled))
        return response

    def caller(self) -> AbstractContextManager[None]:
        """See `Sampler.caller`."""
        return self._sampler.caller()


class MeteredTrainer:
    """Pays for every token of the data, once an update."""

    def __init__(self, trainer: Trainer, purse: Purse) -> None:
        self._trainer, self._purse = trainer, purse

    def forward_backward(self, data: Sequence[Datum], loss_fn: str) -> Awaitable[ForwardBackwardOutput]:
        """See `Trainer.forward_backward`; raises BudgetError at once if it could pass the cap."""
        tokens = Tokens(trained=sum(datum.model_input.length for datum in data))
        reservation = ExitStack()
        book = reservation.enter_context(self._purse.reserve_now(tokens))
        output = self._trainer.forward_backward(data, loss_fn)

        async def booked() -> ForwardBackwardOutput:
            with reservation:
                result = await output
                book(tokens)
            return result

        return booked()

    def optim_step(self, adam: AdamParams) -> Awaitable[Any]:
        """See `Trainer.optim_step`; costs nothing."""
        return self._trainer.optim_step(adam)

    def save(self, name: str) -> Awaitable[SavedPaths]:
        """See `Trainer.save`."""
        return self._trainer.save(name)

    async def sampler(self) -> MeteredSampler:
        """See `Trainer.sampler`."""
        return MeteredSampler(await self._trainer.sampler(), self._purse)


class MeteredEngine:
    """Implements `Engine` around another; a purse with prices of 0 only counts tokens."""

    def __init__(self, engine: Engine, purse: Purse) -> None:
        self._engine, self._purse = engine, purse

    @property
    def tokenizer(self) -> Any:
        """See `Engine.tokenizer`."""
        return self._engine.tokenizer

    @property
    def base_lineage(self) -> str:
        """See `Engine.base_lineage`."""
        return self._engine.base_lineage

    async def base_sampler(self) -> MeteredSampler:
        """See `Engine.base_sampler`."""
        return MeteredSampler(await self._engine.base_sampler(), self._purse)

    async def load_sampler(self, path: str) -> MeteredSampler:
        """See `Engine.load_sampler`."""
        return MeteredSampler(await self._engine.load_sampler(path), self._purse)

    async def new_trainer(self, rank: int, seed: int) -> MeteredTrainer:
        """See `Engine.new_trainer`."""
        return MeteredTrainer(await self._engine.new_trainer(rank, seed), self._purse)

    async def load_trainer(self, path: str, optimizer: bool) -> MeteredTrainer:
        """See `Engine.load_trainer`."""
        return MeteredTrainer(await self._engine.load_trainer(path, optimizer), self._purse)

    def find_saved(self, name: str) -> SavedPaths | None:
        """See `Engine.find_saved`."""
        return self._engine.find_saved(name)

    def adopt(self, name: str, saved: SavedPaths) -> bool:
        """See `Engine.adopt`."""
        return self._engine.adopt(name, saved)

    def publish(self, saved: SavedPaths, folder: Path) -> SavedPaths:
        """See `Engine.publish`."""
        return self._engine.publish(saved, folder)

    def close(self) -> None:
        """See `Engine.close`."""
        self._engine.close()
