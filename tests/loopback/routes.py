"""The routes of the loopback service, and what stands before them: counts, faults, the key, refusals."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from pydantic import BaseModel
from tinker import SampleRequest, types

from posttrain.errors import PosttrainError
from tests.loopback.shelf import Checkpoint, Refusal, parsed
from tests.loopback.state import Payload, Service
from tests.loopback.wire import training_request

API = "/api/v1"
POLL_SECONDS = 20.0
FLAGS: dict[str, Any] = {
    "pjwt_auth_enabled": False,  # the key itself goes with each request
    "use_pyqwest_transport": False,
    "sample_use_retrieve_futures": False,  # each request is asked for by itself
    "proto_compress_fwdbwd": False,
    "parallel_fwdbwd_chunks": False,
    "fwdbwd_max_chunk_len": 1 << 20,  # one request a batch: gradients add up as they do in process
    "fwdbwd_max_chunk_bytes_count": 1 << 30,
}
How = int | float | str
Answer = Callable[[web.Request], Awaitable[Payload | None]]


@dataclass
class Fault:
    """What to do to the next `times` requests under `prefix`; see `Loopback.fail`."""

    prefix: str
    how: How
    times: int


class Faults:
    """Faults in waiting, and counts of all requests by their path's template."""

    def __init__(self) -> None:
        self.waiting: list[Fault] = []
        self.counts: Counter[str] = Counter()
        self.ended = asyncio.Event()

    def take(self, path: str) -> How | None:
        """The first fault that meets `path`."""
        for fault in self.waiting:
            if fault.times > 0 and path.removeprefix(API).startswith(fault.prefix.removeprefix(API)):
                fault.times -= 1
                return fault.how
        return None


def application(service: Service, faults: Faults, key: str, flags: Mapping[str, Any]) -> web.Application:
    """All routes behind one guard."""

    @web.middleware
    async def guard(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        resource = request.match_info.route.resource
        faults.counts[resource.canonical if resource else request.path] += 1
        how = faults.take(request.path)
        if isinstance(how, int) and how >= 400:
            return _refused(how, f"fault {how}, as asked for")
        if how == "silence":
            await faults.ended.wait()
        if how == "reset":
            _hang_up(request)
        if isinstance(how, int | float):
            await asyncio.sleep(how)
        if request.headers.get("X-API-Key") != key and not request.path.endswith("/healthz"):
            return _refused(401, "invalid API key")
        answer = await handler(request)
        if how == "lost":
            _hang_up(request)
        return answer

    app = web.Application(middlewares=[guard], client_max_size=1 << 30)
    for routes in (_sessions(service, flags), _operations(service), _checkpoints(service)):
        for template, answer in routes.items():
            method, path = template.split()
            app.router.add_route(method, API + path, _handler(answer))
    return app


def _handler(answer: Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        try:
            payload = await answer(request)
        except Refusal as refusal:
            return _refused(refusal.status, str(refusal))
        except (ValueError, PosttrainError) as error:  # pydantic's are ValueErrors
            return _refused(400, f"{type(error).__name__}: {error}")
        if payload is None:
            return web.Response(status=204)
        if isinstance(payload, bytes):
            return web.Response(body=payload, content_type="application/x-protobuf")
        return web.json_response(payload)

    return handle


def _refused(status: int, detail: str) -> web.Response:
    return web.json_response({"detail": detail}, status=status)


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
    raise ConnectionResetError("hung up on, as asked for")


def _always(payload: dict[str, Any]) -> Answer:
    async def answer(_: web.Request) -> Payload:
        return payload

    return answer


def _sessions(service: Service, flags: Mapping[str, Any]) -> dict[str, Answer]:
    async def create(request: web.Request) -> Payload:
        types.CreateSessionRequest.model_validate(await request.json())
        return {"session_id": service.begin_session()}

    async def heartbeat(request: web.Request) -> Payload:
        service.check_session((await request.json())["session_id"])
        return {}

    async def finish(request: web.Request) -> None:
        service.finish_session(request.match_info["session"])

    async def open_sampling(request: web.Request) -> Payload:
        asked = types.CreateSamplingSessionRequest.model_validate(await request.json())
        return {"sampling_session_id": await service.open_sampling(asked)}

    async def sampler(request: web.Request) -> Payload:
        name = request.match_info["sampler"]
        path = service.get_sampling(name).model_path
        return {"sampler_id": name, "base_model": service.model, "model_path": path}

    async def info(request: web.Request) -> Payload:
        name = (await request.json())["model_id"]
        data = {"arch": "llama", "model_name": service.model, "tokenizer_id": service.model}
        return {"model_id": name, "model_data": data, "is_lora": True, "lora_rank": service.get_model(name).rank}

    offered = {"model_name": service.model, "trainable": True, "sampleable": True}
    return {
        "GET /healthz": _always({"status": "ok"}),
        "POST /client/config": _always({**FLAGS, **flags}),
        "POST /client/dynamic_config": _always({}),
        "GET /get_server_capabilities": _always({"supported_models": [offered]}),
        "POST /telemetry": _always({"status": "accepted"}),
        "POST /create_session": create,
        "POST /session_heartbeat": heartbeat,
        "POST /sessions/{session}/finish": finish,
        "POST /create_sampling_session": open_sampling,
        "GET /samplers/{sampler}": sampler,
        "POST /get_info": info,
    }


def _operations(service: Service) -> dict[str, Answer]:
    def begins(kind: type[BaseModel], begin: Callable[[Any], str]) -> Answer:
        async def answer(request: web.Request) -> Payload:
            return {"request_id": begin(kind.model_validate(await request.json()))}

        return answer

    async def asample(request: web.Request) -> Payload:
        asked = SampleRequest.model_validate(await request.json())
        request_id = service.sample(asked)
        return {
            "request_id": request_id,
            "sample_sequence_ids": [f"{request_id}:{i}" for i in range(asked.num_samples)],
        }

    async def forward_backward(request: web.Request) -> Payload:
        return {"request_id": service.forward_backward(training_request(await request.read()))}

    async def retrieve(request: web.Request) -> Payload:
        task = service.operation((await request.json())["request_id"])
        await asyncio.wait({task}, timeout=POLL_SECONDS)
        if not task.done():
            raise Refusal(408, "not done yet; ask again")
        if (error := task.exception()) is None:
            return task.result()
        category = "user" if isinstance(error, Refusal | PosttrainError | ValueError) else "server"
        return {"error": f"{type(error).__name__}: {error}", "category": category}

    return {
        "POST /asample": asample,
        "POST /forward_backward": forward_backward,
        "POST /retrieve_future": retrieve,
        "POST /create_model": begins(types.CreateModelRequest, service.create_model),
        "POST /load_weights": begins(types.LoadWeightsRequest, service.load_model),
        "POST /optim_step": begins(types.OptimStepRequest, service.optim_step),
        "POST /save_weights": begins(types.SaveWeightsRequest, service.save_weights),
        "POST /save_weights_for_sampler": begins(types.SaveWeightsForSamplerRequest, service.save_for_sampler),
    }


def _checkpoints(service: Service) -> dict[str, Answer]:
    shelf = service.shelf

    def named(request: web.Request) -> Checkpoint:
        return parsed("tinker://{run}/{kind}/{name}".format(**request.match_info))

    async def weights_info(request: web.Request) -> Payload:
        rank = shelf.about(parsed((await request.json())["tinker_path"]))["rank"]
        adapted = {"train_unembed": False, "train_mlp": True, "train_attn": True}
        return {"base_model": service.model, "is_lora": True, "lora_rank": rank, **adapted}

    async def of_run(request: web.Request) -> Payload:
        return {"checkpoints": shelf.listing(request.match_info["run"])}

    async def of_all(request: web.Request) -> Payload:
        found = shelf.listing()
        limit, offset = int(request.query.get("limit", 100)), int(request.query.get("offset", 0))
        cursor = {"offset": offset, "limit": limit, "total_count": len(found)}
        return {"checkpoints": found[offset : offset + limit], "cursor": cursor}

    async def keep(request: web.Request) -> None:
        shelf.keep(named(request), (await request.json())["ttl_seconds"])

    async def delete(request: web.Request) -> None:
        shelf.remove(named(request))

    one = "/training_runs/{run}/checkpoints/{kind}/{name}"
    return {
        "POST /weights_info": weights_info,
        "GET /training_runs/{run}/checkpoints": of_run,
        "GET /checkpoints": of_all,
        f"PUT {one}/ttl": keep,
        f"DELETE {one}": delete,
    }
