"""What the loopback service holds and computes: sessions, models, samplers, and operations under way."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from tinker import AdamParams, SampleRequest, types
from tinker.proto import tinker_public_pb2 as pb

from posttrain.engine.local.engine import LocalEngine
from tests.loopback.held import Model, Sampling
from tests.loopback.shelf import Checkpoint, Refusal, Shelf, parsed
from tests.loopback.wire import datums, output_bytes, sample_bytes

if TYPE_CHECKING:
    from posttrain.engine.local.trainer import LocalTrainer  # brings peft, which takes 3 s to import

Payload = bytes | dict[str, Any]


class Service:
    """The state behind the routes. All of it lives on one event loop."""

    def __init__(self, engine: LocalEngine, model: str, shelf: Shelf) -> None:
        self._engine, self.model, self.shelf = engine, model, shelf
        self._sessions: dict[str, bool] = {}  # whether it has finished
        self._models: dict[str, Model] = {}
        self._samplings: dict[str, Sampling] = {}
        self._operations: dict[str, asyncio.Task[Payload]] = {}

    def begin_session(self) -> str:
        """The id of a new one."""
        name = str(uuid.uuid4())
        self._sessions[name] = False
        return name

    def finish_session(self, session: str) -> None:
        """Nothing more is accepted for it."""
        self.check_session(session)
        self._sessions[session] = True

    def check_session(self, session: str) -> None:
        """Raises Refusal: 404 for one that never began, 410 for one that has finished."""
        if session not in self._sessions:
            raise Refusal(404, f"session {session} does not exist")
        if self._sessions[session]:
            raise Refusal(410, f"session {session} has finished")

    def get_model(self, name: str) -> Model:
        """Raises Refusal: 404 if it does not exist, 410 if its session has finished."""
        self.check_session(name.split(":")[0])
        if name not in self._models:
            raise Refusal(404, f"model {name} does not exist")
        return self._models[name]

    def get_sampling(self, name: str) -> Sampling:
        """Raises Refusal, as `get_model` does."""
        self.check_session(name.split(":")[0])
        if name not in self._samplings:
            raise Refusal(404, f"sampling session {name} does not exist")
        return self._samplings[name]

    def operation(self, request_id: str) -> asyncio.Task[Payload]:
        """Raises Refusal (410) if nothing was begun under this id, or before a restart."""
        if request_id not in self._operations:
            raise Refusal(410, f"request {request_id} is unknown or was dropped")
        return self._operations[request_id]

    async def open_sampling(self, request: types.CreateSamplingSessionRequest) -> str:
        """The id of a sampling session; the same one when asked again."""
        self.check_session(request.session_id)
        name = f"{request.session_id}:sample:{request.sampling_session_seq_id}"
        if name in self._samplings:
            return name
        if request.model_path is None:
            self._check_offered(request.base_model)
            sampler = await self._engine.base_sampler()
        else:
            checkpoint = self._expect(request.model_path, "sampler_weights")
            sampler = await self._engine.load_sampler(str(self.shelf.folder(checkpoint) / "sampler"))
        self._samplings[name] = Sampling(sampler, request.model_path)
        return name

    def sample(self, request: SampleRequest) -> str:
        """Begins sampling; returns the request's id."""
        if request.sampling_session_id is None or request.seq_id is None or request.prompt_logprobs:
            raise Refusal(400, "samples are drawn in a sampling session, without prompt logprobs")
        sampling = self.get_sampling(request.sampling_session_id)

        async def draw() -> Payload:
            prompt = request.prompt.to_ints()
            hits = sampling.cache_hits(prompt)
            with sampling.sampler.caller():
                response = await sampling.sampler.sample(request.prompt, request.num_samples, request.sampling_params)
            return sample_bytes(types.SampleResponse(response.sequences, prompt_cache_hit_tokens=hits))

        return self._begin(f"{request.sampling_session_id}:{request.seq_id}", draw)

    def create_model(self, request: types.CreateModelRequest) -> str:
        """Begins a fresh adapter, drawn from `lora_config.seed` as the local engine draws it."""
        self._check_offered(request.base_model)
        if request.lora_config is None:
            raise Refusal(400, "only LoRA is trained here")
        lora = request.lora_config
        return self._make_model(
            request.session_id,
            request.model_seq_id,
            lora.rank,
            lambda: self._engine.new_trainer(lora.rank, lora.seed or 0),
        )

    def load_model(self, request: types.LoadWeightsRequest) -> str:
        """Begins a model from a checkpoint, with its optimizer's state or without."""
        if request.session_id is None or request.model_seq_id is None:
            raise Refusal(400, "weights are loaded into a new model only")
        checkpoint = self._expect(request.path, "weights")
        folder = str(self.shelf.folder(checkpoint) / "state")
        return self._make_model(
            request.session_id,
            request.model_seq_id,
            self.shelf.about(checkpoint)["rank"],
            lambda: self._engine.load_trainer(folder, request.optimizer),
        )

    def forward_backward(self, message: pb.ForwardBackwardRequest) -> str:
        """Begins the gradient, in its turn."""
        data = datums(message)

        async def work(trainer: "LocalTrainer") -> Payload:
            return output_bytes(await trainer.forward_backward(data, message.loss_fn))

        return self._in_turn(message.model_id, message.seq_id, work)

    def optim_step(self, request: types.OptimStepRequest) -> str:
        """Begins AdamW's step, in its turn."""
        adam = request.optim_params
        if not isinstance(adam, AdamParams):
            raise Refusal(400, "only AdamW is served here")

        async def work(trainer: "LocalTrainer") -> Payload:
            return {"metrics": (await trainer.optim_step(adam)).metrics}

        return self._in_turn(request.model_id, request.seq_id, work)

    def save_weights(self, request: types.SaveWeightsRequest) -> str:
        """Begins saving for training, in its turn."""
        checkpoint = parsed(f"tinker://{request.model_id}/weights/{request.path or f'step-{request.seq_id}'}")

        async def work(trainer: "LocalTrainer") -> Payload:
            if self.shelf.has(checkpoint) and not request.overwrite:
                raise Refusal(400, f"{checkpoint.path} exists already")
            await self._save(trainer, checkpoint, request.ttl_seconds)
            return {"path": checkpoint.path, "type": "save_weights"}

        return self._in_turn(request.model_id, request.seq_id, work)

    def save_for_sampler(self, request: types.SaveWeightsForSamplerRequest) -> str:
        """Begins saving for sampling, in its turn; without a name, opens a sampling session on the policy as it is."""
        name = request.path
        checkpoint = None if name is None else parsed(f"tinker://{request.model_id}/sampler_weights/{name}")

        async def work(trainer: "LocalTrainer") -> Payload:
            if checkpoint is not None:
                await self._save(trainer, checkpoint, request.ttl_seconds)
                return {"path": checkpoint.path, "type": "save_weights_for_sampler"}
            session = f"{request.model_id.split(':')[0]}:sample:{request.sampling_session_seq_id}"
            self._samplings[session] = Sampling(await trainer.sampler(), None)
            return {"sampling_session_id": session, "type": "save_weights_for_sampler"}

        return self._in_turn(request.model_id, request.seq_id, work)

    def _make_model(self, session: str, seq_id: int, rank: int, make: Callable[[], Awaitable["LocalTrainer"]]) -> str:
        self.check_session(session)
        name = f"{session}:train:{seq_id}"
        model = self._models.setdefault(name, Model(rank))

        async def work() -> Payload:
            try:
                model.trainer = await make()
            finally:
                model.done[0].set()
            return {"model_id": name}

        return self._begin(f"{name}:0", work)

    def _in_turn(self, name: str, seq_id: int | None, work: Callable[["LocalTrainer"], Awaitable[Payload]]) -> str:
        model = self.get_model(name)
        if not seq_id or seq_id < 1:
            raise Refusal(400, f"seq_id must be at least 1, is {seq_id}")

        async def turn() -> Payload:
            await model.done[seq_id - 1].wait()
            try:
                return await work(model.ready())
            finally:
                model.done[seq_id].set()

        return self._begin(f"{name}:{seq_id}", turn)

    def _begin(self, request_id: str, work: Callable[[], Coroutine[Any, Any, Payload]]) -> str:
        """An id that is known already names the operation begun before, which is not begun again."""
        if request_id not in self._operations:
            self._operations[request_id] = asyncio.get_running_loop().create_task(work())
        return request_id

    async def _save(self, trainer: "LocalTrainer", checkpoint: Checkpoint, ttl_seconds: int | None) -> None:
        await trainer.save(str(self.shelf.folder(checkpoint)))
        self.shelf.add(checkpoint, self._models[checkpoint.run].rank, ttl_seconds)

    def _check_offered(self, model: str | None) -> None:
        if model != self.model:
            raise Refusal(400, f"{model} is not offered; {self.model} is")

    def _expect(self, path: str, kind: str) -> Checkpoint:
        checkpoint = parsed(path)
        if checkpoint.kind != kind:
            raise Refusal(400, f"{path} is of the wrong kind: {kind} is wanted")
        self.shelf.about(checkpoint)
        return checkpoint
