"""The other half of a download: a storage with signed addresses, and the loopback service made to hand them out."""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tinker import types

from posttrain.engine.local.trainer import LocalTrainer
from tests.loopback import routes, server, shelf
from tests.loopback.state import Payload, Service

SIGNATURE = "signature=geheim"
"""Whoever has it may download, so no message may hold it."""


class Storage:
    """Serves `files` by name, each for as many bytes as it says; `failures` come first, as statuses."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.announced: dict[str, int] = {}
        self.failures: list[int] = []
        self.asked: Counter[str] = Counter()
        self.headers: list[Mapping[str, str]] = []
        self.url = ""

    def urls(self, *names: str) -> dict[str, str]:
        """Signed addresses of these files, or of all."""
        return {name: f"{self.url}/{name}?{SIGNATURE}" for name in names or self.files}


@contextmanager
def storing() -> Iterator[Storage]:
    """A storage in a thread of its own."""
    storage = Storage()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.split("?")[0].lstrip("/")
            storage.asked[name] += 1
            storage.headers.append(dict(self.headers))
            if storage.failures:
                self.send_error(storage.failures.pop(0))
                return
            body = storage.files[name]
            self.send_response(200)
            self.send_header("Content-Length", str(storage.announced.get(name, len(body))))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    storage.url = f"http://127.0.0.1:{running.server_port}"
    threading.Thread(target=running.serve_forever, daemon=True).start()
    try:
        yield storage
    finally:
        running.shutdown()
        running.server_close()


@contextmanager
def exporting(patch: pytest.MonkeyPatch, storage: Storage) -> Iterator[server.Loopback]:
    """A loopback service that also saves in peft's format, into `storage`."""
    patch.setitem(shelf.KINDS, "external_weights", "external")
    plain = routes.application

    def application(service: Service, *others: Any) -> web.Application:
        app = plain(service, *others)
        folder = "/training_runs/{run}/checkpoints/external_weights/{name}/external_weights_urls"

        async def save(request: web.Request) -> Payload:
            asked = types.SaveWeightsExternalRequest.model_validate(await request.json())
            checkpoint = shelf.Checkpoint(asked.model_id, "external_weights", asked.path)

            async def work(trainer: LocalTrainer) -> Payload:
                await service._save(trainer, checkpoint, asked.ttl_seconds)
                _put(service.shelf.folder(checkpoint) / "sampler", storage)
                return {"path": checkpoint.path, "type": "save_weights_external"}

            return {"request_id": service._in_turn(asked.model_id, asked.seq_id, work)}

        async def signed(request: web.Request) -> Payload:
            service.shelf.about(
                shelf.Checkpoint(request.match_info["run"], "external_weights", request.match_info["name"])
            )
            return {"urls": storage.urls(), "expires": "2099-01-01T00:00:00Z"}

        app.router.add_route("POST", f"{routes.API}/save_weights_external", routes._handler(save))
        app.router.add_route("GET", routes.API + folder, routes._handler(signed))
        return app

    patch.setattr(server, "application", application)
    with server.serving() as running:
        yield running


def _put(folder: Path, storage: Storage) -> None:
    for path in folder.iterdir():
        storage.files[path.name] = path.read_bytes()
