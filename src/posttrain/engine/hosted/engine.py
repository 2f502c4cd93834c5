"""The hosted engine: one model on Tinker, or on a cluster that speaks its API."""

import asyncio
import sys
import threading
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from tinker import ServiceClient, TrainingClient

from posttrain.engine.hosted.address import base_url, shown_url
from posttrain.engine.hosted.calls import Calls, Future
from posttrain.engine.hosted.clients import ONE_TRY, HostedSampler, HostedTrainer
from posttrain.engine.hosted.keeping import kept
from posttrain.engine.hosted.pointers import check_kind, read_pointer, write_pointer
from posttrain.engine.hosted.preflight import bounded, preflight
from posttrain.engine.local.load import load_tokenizer
from posttrain.engine.protocol import SavedPaths
from posttrain.engine.settings import ServiceSettings
from posttrain.errors import EngineError
from posttrain.ledger.lineage import base_lineage

BEGINNING_SECONDS, CLOSING_SECONDS = 60.0, 10.0


class HostedEngine:
    """Implements `Engine`; nothing goes over the network before it is needed."""

    def __init__(self, model: str, service: ServiceSettings) -> None:
        self._model = model
        self._calls = Calls(service, lambda: preflight(model))
        self._ttl = None if service.ttl_days is None else timedelta(days=service.ttl_days)
        self._opened: ServiceClient | None = None
        self._opening = threading.Lock()
        self._confirmed: dict[str, SavedPaths | None] = {}

    @cached_property
    def tokenizer(self) -> Any:
        """The model's tokenizer, from the hub or the embedded package."""
        try:
            return load_tokenizer(self._model)
        except EngineError as error:
            raise EngineError(
                f"{error}; with engine.name tinker only its tokenizer is loaded here, from the Hugging Face hub or its "
                "cache (HF_HOME)"
            ) from error

    @property
    def base_lineage(self) -> str:
        """The name of the untrained policy; a cluster of one's own may hold other weights under the model's name."""
        return base_lineage("tinker", self._model, base_url())

    async def base_sampler(self) -> HostedSampler:
        """See `Engine.base_sampler`."""
        service = await self._service()
        client = await self._calls.repeatable(
            lambda: service.create_sampling_client(base_model=self._model, retry_config=ONE_TRY), "opening a sampler"
        )
        return HostedSampler(client, self._calls)

    async def load_sampler(self, path: str) -> HostedSampler:
        """See `Engine.load_sampler`."""
        service = await self._expecting(path, "sampler")
        client = await self._calls.repeatable(
            lambda: service.create_sampling_client(model_path=path, retry_config=ONE_TRY), f"opening {path}"
        )
        self._check_model(path, client.get_base_model())
        return HostedSampler(client, self._calls)

    async def new_trainer(self, rank: int, seed: int) -> HostedTrainer:
        """See `Engine.new_trainer`."""
        service = await self._service()
        client = await self._calls.once(
            lambda: service.create_lora_training_client(base_model=self._model, rank=rank, seed=seed),
            "opening a trainer",
        )
        return self._trainer(client)

    async def load_trainer(self, path: str, optimizer: bool) -> HostedTrainer:
        """See `Engine.load_trainer`."""
        service = await self._expecting(path, "state")

        def open_state() -> Future[TrainingClient]:
            if optimizer:
                return service.create_training_client_from_state_with_optimizer(path)
            return service.create_training_client_from_state(path)

        client = await self._calls.once(open_state, f"opening {path}")
        self._check_model(path, client.get_info().model_data.model_name)
        return self._trainer(client)

    def find_saved(self, name: str) -> SavedPaths | None:
        """The checkpoints saved under `name` by any run on this machine, once the service has confirmed both."""
        if name not in self._confirmed:
            pointer = read_pointer(name)
            self._confirmed[name] = pointer if pointer is not None and self._holds(pointer) else None
        return self._confirmed[name]

    def adopt(self, name: str, saved: SavedPaths) -> bool:
        """See `Engine.adopt`."""
        there = self._holds(saved)
        if there:
            self._remember(name, saved)
        return there

    def publish(self, saved: SavedPaths, folder: Path) -> SavedPaths:  # noqa: ARG002
        """The paths themselves: the weights stay on the service."""
        return saved

    def close(self) -> None:
        """Ends the session on the service, if one was begun; waits a few seconds at the most."""
        opened, self._opened = self._opened, None
        if opened is None:
            return
        failure = sys.exc_info()[0]
        status: Literal["success", "errored", "interrupted"] = "success"
        if failure is not None:
            status = "errored" if issubclass(failure, Exception) else "interrupted"
        try:
            bounded(lambda: opened.close(status).result(), CLOSING_SECONDS, "ending the session")
        except Exception as error:  # the run's own outcome is what counts
            print(f"the session was not ended ({error}); it ends by itself", file=sys.stderr)

    def _trainer(self, client: TrainingClient) -> HostedTrainer:
        return HostedTrainer(client, self._calls, self._ttl, self._remember)

    def _remember(self, name: str, saved: SavedPaths) -> None:
        write_pointer(name, saved)
        self._confirmed[name] = saved

    async def _service(self) -> ServiceClient:
        return await asyncio.to_thread(self._open) if self._opened is None else self._opened

    def _open(self) -> ServiceClient:
        with self._opening:
            if (opened := self._opened) is not None:  # by another thread meanwhile
                return opened
            preflight(self._model)
            client = ServiceClient(user_metadata={"made_by": "posttrain"}, base_url=base_url())
            # Its session is begun here, in a thread: later calls would do it on the event loop and block it.
            bounded(lambda: client.holder, BEGINNING_SECONDS, "beginning a session")
            self._opened = client
            return client

    async def _expecting(self, path: str, kind: str) -> ServiceClient:
        """The service, once it is known to hold the checkpoint.

        Raises:
            EngineError: it is of the other kind, or gone.
        """
        check_kind(path, kind)
        service = await self._service()
        if not await asyncio.to_thread(kept, path, self._ttl):
            raise EngineError(
                f"{path} is not on {shown_url()}: it has expired (service.ttl_days), was deleted or "
                "belongs to another account; delete the folder under models/ that names it and run `dvc repro`, which "
                "makes it again"
            )
        return service

    def _check_model(self, path: str, model: str | None) -> None:
        if model != self._model:
            raise EngineError(f"{path} belongs to {model}, not to engine.model {self._model}")

    def _holds(self, saved: SavedPaths) -> bool:
        for path in (saved.sampler, saved.state):
            if not kept(path, self._ttl):
                print(f"{path} is no longer on the service; what needs it is made again", file=sys.stderr)
                return False
        return True
