"""A policy in training, named by its lineage; weights are computed only when something needs them.

An update whose metrics are stored was made before by some run. It is noted, not made: what follows from it (samples,
metrics, checkpoints) is found under its lineage. When a sample or a checkpoint turns out to be missing, the weights are
made from the nearest checkpoint and the updates after it. Crash, scorer edit and sweep all continue this way.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tinker import AdamParams, Datum, ForwardBackwardOutput

from posttrain.engine.protocol import Engine, Sampler, SavedPaths, Trainer
from posttrain.errors import BudgetError, EngineError
from posttrain.ledger.lineage import adapted, updated
from posttrain.ledger.store import SampleStore
from posttrain.rollout.policy import Policy
from posttrain.train.datums import digests
from posttrain.train.fit import fit

Metrics = dict[str, Any]


@dataclass(frozen=True)
class Update:
    """One optimizer step and the name of the policy it leads to."""

    data: Sequence[Datum]
    loss_fn: str
    adam: AdamParams
    lineage: str


class Learner:
    """Made by `Learner.new` or `Learner.continuing`."""

    def __init__(
        self, engine: Engine, store: SampleStore, lineage: str, origin: Callable[[], Awaitable[Trainer]]
    ) -> None:
        self.lineage = lineage
        self._engine, self._store, self._origin = engine, store, origin
        self._trainer: Trainer | None = None
        self._pending: list[Update] = []
        self._fresh_optimizer = True

    @staticmethod
    def new(engine: Engine, store: SampleStore, rank: int, seed: int) -> "Learner":
        """A fresh adapter on the engine's model."""
        lineage = adapted(engine.base_lineage, rank, seed, {})
        return Learner(engine, store, lineage, lambda: engine.new_trainer(rank, seed))

    @staticmethod
    def continuing(engine: Engine, store: SampleStore, lineage: str, state: str) -> "Learner":
        """A saved policy, with a fresh optimizer."""
        return Learner(engine, store, lineage, lambda: engine.load_trainer(state, optimizer=False))

    def policy(self) -> Policy:
        """The policy as it is now, frozen; its weights are made if a sample is missing."""
        lineage = self.lineage

        async def sampler() -> Sampler:
            if self.lineage != lineage:
                raise EngineError("a policy was sampled from after its learner had moved on")
            return await (await self._weights()).sampler()

        return Policy(lineage, self._store, sampler)

    async def update(self, data: Sequence[Datum], loss_fn: str, adam: AdamParams) -> Metrics:
        """One optimizer step on the summed loss over `data`; its metrics are those of `fit`."""
        optimizer = {**adam.model_dump(), "fresh": self._fresh_optimizer}
        step = Update(data, loss_fn, adam, updated(self.lineage, digests(data), loss_fn, {}, optimizer))
        metrics = self._store.get_update(step.lineage)
        if metrics is not None:
            self._pending.append(step)
        else:
            metrics = fit(data, await _apply(await self._weights(), step))
            self._store.put_update(step.lineage, metrics)
        self._fresh_optimizer = False
        self.lineage = step.lineage
        return metrics

    async def save(self) -> SavedPaths:
        """The policy's checkpoints, saved under its lineage unless they already are."""
        found = self._engine.find_saved(self.lineage)
        return found or await (await self._weights()).save(self.lineage)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Where the budget ends the block, the policy is saved as it stands, so that no step is paid for again."""
        try:
            yield
        except BudgetError:
            if self._trainer is not None and not self._pending:
                await self.save()
            raise

    async def _weights(self) -> Trainer:
        """A trainer that stands where the lineage says, the pending updates made."""
        for done in range(len(self._pending), 0, -1):
            saved = self._engine.find_saved(self._pending[done - 1].lineage)
            if saved is not None:
                self._trainer = await self._engine.load_trainer(saved.state, optimizer=True)
                del self._pending[:done]
                break
        if self._trainer is None:
            self._trainer = await self._origin()
        while self._pending:
            await _apply(self._trainer, self._pending[0])
            del self._pending[0]
        return self._trainer


async def _apply(trainer: Trainer, step: Update) -> ForwardBackwardOutput:
    """Hands in both halves before waiting for either, so that a hosted engine can pipeline them."""
    gradients = trainer.forward_backward(step.data, step.loss_fn)
    stepped = trainer.optim_step(step.adam)
    output = await gradients
    await stepped
    return output
