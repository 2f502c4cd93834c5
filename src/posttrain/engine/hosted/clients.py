"""A policy on the service, frozen or in training, by the SDK's clients."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import Any

from tinker import (
    AdamParams,
    Datum,
    ForwardBackwardOutput,
    ModelInput,
    SampleResponse,
    SamplingClient,
    SamplingParams,
    TrainingClient,
)
from tinker.lib.retry_handler import RetryConfig

from posttrain.engine.hosted.calls import Calls
from posttrain.engine.protocol import SavedPaths
from posttrain.errors import EngineError

ONE_TRY = RetryConfig(enable_retry_logic=False)
"""The SDK's own way is to sample again for two hours, silently; `Calls` does it, bounded and told."""


class HostedSampler:
    """Implements `Sampler`. The service batches by itself, so callers need not be declared."""

    def __init__(self, client: SamplingClient, calls: Calls) -> None:
        self._client, self._calls = client, calls

    async def sample(self, prompt: ModelInput, num_samples: int, sampling_params: SamplingParams) -> SampleResponse:
        """One request, whose prompt is paid for once; see `Sampler.sample`."""
        response = await self._calls.repeatable(
            lambda: self._client.sample(prompt, num_samples, sampling_params), "sampling"
        )
        if any(sequence.logprobs is None for sequence in response.sequences):
            raise EngineError(
                "the sampler gives no logprobs, and training on its tokens would be wrong; use another model"
            )
        return response

    def caller(self) -> AbstractContextManager[None]:
        """See `Sampler.caller`."""
        return nullcontext()


class HostedTrainer:
    """Implements `Trainer`.

    A call that failed may have been carried out, and carried out twice it would train twice: so none is made again.
    A rerun goes on from the last checkpoint.
    """

    def __init__(
        self, client: TrainingClient, calls: Calls, ttl: timedelta | None, saved: Callable[[str, SavedPaths], None]
    ) -> None:
        self._client, self._calls, self._ttl, self._saved = client, calls, ttl, saved

    def forward_backward(self, data: Sequence[Datum], loss_fn: str) -> Awaitable[ForwardBackwardOutput]:
        """Submitted at once; see `Trainer.forward_backward`."""
        return self._calls.once(
            lambda: self._client.forward_backward(list(data), loss_fn),  # type: ignore[arg-type]  # settings check it
            "training",
        )

    def optim_step(self, adam: AdamParams) -> Awaitable[Any]:
        """Submitted at once, so that the service carries it out right after the gradients."""
        return self._calls.once(lambda: self._client.optim_step(adam), "the optimizer step")

    async def save(self, name: str) -> SavedPaths:
        """See `Trainer.save`; `saved` is told when both kinds are safe."""
        seconds = None if self._ttl is None else round(self._ttl.total_seconds())
        state = self._calls.once(
            lambda: self._client.save_state(name, ttl_seconds=seconds, overwrite=True), "saving a checkpoint"
        )
        sampler = self._calls.once(
            lambda: self._client.save_weights_for_sampler(name, ttl_seconds=seconds), "saving a checkpoint"
        )
        paths = SavedPaths(state=(await state).path, sampler=(await sampler).path)
        self._saved(name, paths)
        return paths

    async def sampler(self) -> HostedSampler:
        """See `Trainer.sampler`."""
        client = await self._calls.once(
            lambda: self._client.save_weights_and_get_sampling_client(retry_config=ONE_TRY), "preparing a sampler"
        )
        return HostedSampler(client, self._calls)
