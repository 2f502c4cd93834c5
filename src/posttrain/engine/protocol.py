"""What the rest of the project asks of an engine: sample, forward_backward, optim_step, save and load.

The types are the Tinker SDK's own and mean what they mean there. Two engines implement the protocol:
`local` (torch and peft in this process) and the hosted service.
"""

from collections.abc import Awaitable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tinker import AdamParams, Datum, ForwardBackwardOutput, ModelInput, SampleResponse, SamplingParams


@dataclass(frozen=True)
class SavedPaths:
    """Where a policy was saved: `sampler` can only be sampled from, `state` can only be trained further."""

    sampler: str
    state: str


class Sampler(Protocol):
    """A frozen policy."""

    def sample(
        self, prompt: ModelInput, num_samples: int, sampling_params: SamplingParams
    ) -> Awaitable[SampleResponse]:
        """Draws `num_samples` continuations; row i uses the seed `sampling_params.seed + i`.

        Raises:
            EngineError: the sampler gives no logprobs.
            InfrastructureError: the request failed after its retries.
        """
        ...

    def caller(self) -> AbstractContextManager[None]:
        """Declares one more concurrent caller, so that a batching engine knows whom to wait for."""
        ...


class Trainer(Protocol):
    """A policy being trained; calls take effect in the order they are made, before they are awaited."""

    def forward_backward(self, data: Sequence[Datum], loss_fn: str) -> Awaitable[ForwardBackwardOutput]:
        """Adds the gradient of the summed loss over `data`."""
        ...

    def optim_step(self, adam: AdamParams) -> Awaitable[Any]:
        """Applies the gradients gathered so far and clears them."""
        ...

    def save(self, name: str) -> Awaitable[SavedPaths]:
        """Saves both kinds of checkpoint under `name`, replacing an earlier one of that name."""
        ...

    def sampler(self) -> Awaitable[Sampler]:
        """The policy as it is now, frozen."""
        ...


class Engine(Protocol):
    """One model, to sample from and to train."""

    @property
    def tokenizer(self) -> Any:
        """The model's Hugging Face tokenizer, with its chat template."""
        ...

    @property
    def base_lineage(self) -> str:
        """The name of the untrained policy: engine, model and the hash of its weights."""
        ...

    def base_sampler(self) -> Awaitable[Sampler]:
        """The untrained policy."""
        ...

    def load_sampler(self, path: str) -> Awaitable[Sampler]:
        """A policy saved for sampling.

        Raises:
            EngineError: `path` is missing, of the other kind, or of another model.
        """
        ...

    def new_trainer(self, rank: int, seed: int) -> Awaitable[Trainer]:
        """A fresh adapter on the untrained policy."""
        ...

    def load_trainer(self, path: str, optimizer: bool) -> Awaitable[Trainer]:
        """A policy saved for training, with its optimizer state or with a fresh one.

        Raises:
            EngineError: `path` is missing, of the other kind, or of another model.
        """
        ...

    def find_saved(self, name: str) -> SavedPaths | None:
        """The checkpoints that `Trainer.save` made under `name`, if both are still there."""
        ...

    def adopt(self, name: str, saved: SavedPaths) -> bool:
        """Takes checkpoints that a receipt names as those saved under `name`; False if they are no longer there."""
        ...

    def publish(self, saved: SavedPaths, folder: Path) -> SavedPaths:
        """Puts what a pipeline's output needs of a checkpoint into `folder`: files, or a pointer.

        Returns:
            Paths for `load_sampler` and `load_trainer`; those inside `folder` are relative to it.
        """
        ...

    def close(self) -> None:
        """Releases what the engine holds; on a hosted service, ends the session."""
        ...
