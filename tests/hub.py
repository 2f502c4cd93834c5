"""A model hub on loopback that holds one dataset, hotpotqa/hotpot_qa, for `datasets` and `huggingface_hub`.

It answers what they ask when they stream the files of a folder at a commit, and fails in the ways a hub does.
"""

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

REPOSITORY = "hotpotqa/hotpot_qa"
REVISION = "0123456789abcdef0123456789abcdef01234567"
MODEL = "someone/a-model"
_FEATURES = """
    features:
    - {name: id, dtype: string}
    - {name: question, dtype: string}
    - {name: answer, dtype: string}
    - {name: type, dtype: string}
    - {name: level, dtype: string}
    - name: supporting_facts
      sequence: [{name: title, dtype: string}, {name: sent_id, dtype: int32}]
    - name: context
      sequence: [{name: title, dtype: string}, {name: sentences, sequence: string}]
"""
CARD = f"""---
dataset_info:
  - config_name: distractor{_FEATURES}
    splits:
    - {{name: train, num_bytes: 552948795, num_examples: 90447}}
    - {{name: validation, num_bytes: 45716059, num_examples: 7405}}
configs:
  - config_name: distractor
    data_files:
    - {{split: train, path: distractor/train-*}}
    - {{split: validation, path: distractor/validation-*}}
---
"""
"""What the real card declares of types and files: its old `sequence` of named parts, which the rows' shape rests on."""
_CHUNK = 1 << 16


@dataclass
class Hub:
    """A running hub; its fields may be changed while it runs.

    status: answered to everything, unless None; with `body`. silent: nothing is answered at all. breaks: so many more
    of the connections that carry a parquet file break in the middle. asked: what was requested, in order.
    """

    address: str
    status: int | None = None
    body: str = ""
    silent: bool = False
    breaks: int = 0
    asked: list[str] = field(default_factory=list)


@contextmanager
def serving(folder: Path) -> Iterator[Hub]:
    """A hub whose dataset has the files of `folder`, and a card."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    address = f"http://127.0.0.1:{server.server_port}"
    server.hub, server.folder, server.over = Hub(address), folder, threading.Event()  # type: ignore[attr-defined]
    server.connections = set()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.hub  # type: ignore[attr-defined]
    finally:
        server.over.set()  # type: ignore[attr-defined]
        server.shutdown()
        server.server_close()
        for connection in list(server.connections):  # type: ignore[attr-defined]
            with suppress(OSError):  # else one that a client keeps would go on being served
                connection.shutdown(socket.SHUT_RDWR)
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _answer(self) -> None:
        hub = self.server.hub
        hub.asked.append(f"{self.command} {self.path}")
        posted = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        if hub.silent:
            self.server.over.wait()
            self.close_connection = True
            return
        if hub.status is not None:
            self._send(hub.status, hub.body.encode())
            return
        path = unquote(urlsplit(self.path).path)
        if path.startswith(api := f"/api/datasets/{REPOSITORY}"):
            self._answer_api(path.removeprefix(api), posted)
        elif path.startswith(files := f"/datasets/{REPOSITORY}/resolve/"):
            revision, _, name = path.removeprefix(files).partition("/")
            self._answer_file(revision, name)
        elif path == f"/api/models/{MODEL}":
            self._send(200, json.dumps({"_id": "1", "id": MODEL, "sha": REVISION, "siblings": []}).encode())
        else:
            self._send(404, b"", {"X-Error-Code": "RepoNotFound"})

    def _answer_api(self, rest: str, posted: str) -> None:
        kind, _, place = rest.strip("/").partition("/")
        revision, _, below = place.partition("/")
        if not self._known(revision or REVISION):
            return
        if kind == "tree":
            found: Any = self._listed(below, "recursive=true" in self.path.lower())
        elif kind == "paths-info":
            everything = self._listed("", recursive=True)
            found = [entry for entry in everything if entry["path"] in parse_qs(posted).get("paths", [])]
        else:
            siblings = [{"rfilename": name} for name in self._names()]
            state = dict.fromkeys(("private", "gated", "disabled"), False)
            found = {"_id": "0", "id": REPOSITORY, "sha": REVISION, "siblings": siblings, "tags": [], **state}
        self._send(200, json.dumps(found).encode(), {"Content-Type": "application/json"})

    def _listed(self, folder: str, recursive: bool) -> list[dict[str, Any]]:
        """The files and folders in a folder, or everything below it."""
        files = [self._about(name) for name in self._names()]
        parents = sorted({parent for name in self._names() if (parent := name.rpartition("/")[0])})
        entries = [{"type": "directory", "path": parent, "oid": "0" * 40, "size": 0} for parent in parents] + files
        below = [entry for entry in entries if entry["path"].startswith(f"{folder}/" if folder else "")]
        return below if recursive else [entry for entry in below if entry["path"].rpartition("/")[0] == folder]

    def _answer_file(self, revision: str, name: str) -> None:
        if not self._known(revision):
            return
        if name not in self._names():
            self._send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": REVISION})
            return
        size = self._size(name)
        first, last = self._range(size)
        about = {
            "X-Repo-Commit": REVISION,
            "ETag": f'"{self._etag(name)}"',
            "Accept-Ranges": "bytes",
            "Content-Length": str(last + 1 - first),
        }
        if "Range" in self.headers:
            about["Content-Range"] = f"bytes {first}-{last}/{size}"
        self._start(206 if "Range" in self.headers else 200, about)
        if self.command == "GET":
            self._send_file(name, first, last + 1 - first)

    def _send_file(self, name: str, first: int, count: int) -> None:
        if name == "README.md":
            self.wfile.write(CARD.encode()[first : first + count])
            return
        left = count
        if self.server.hub.breaks > 0:
            self.server.hub.breaks -= 1
            self.close_connection = True
            left = count // 2
        with (self.server.folder / name).open("rb") as file:
            file.seek(first)
            while left > 0 and (chunk := file.read(min(left, _CHUNK))):
                self.wfile.write(chunk)
                left -= len(chunk)

    def _known(self, revision: str) -> bool:
        if revision in (REVISION, "main"):
            return True
        self._send(404, b'{"error": "Invalid rev id"}', {"X-Error-Code": "RevisionNotFound"})
        return False

    def _names(self) -> list[str]:
        folder = self.server.folder
        return ["README.md", *sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.parquet"))]

    def _size(self, name: str) -> int:
        return len(CARD.encode()) if name == "README.md" else int((self.server.folder / name).stat().st_size)

    def _etag(self, name: str) -> str:
        return hashlib.sha1(f"{name} {self._size(name)}".encode()).hexdigest()

    def _about(self, name: str) -> dict[str, Any]:
        return {"type": "file", "path": name, "size": self._size(name), "oid": self._etag(name)}

    def _range(self, size: int) -> tuple[int, int]:
        """First and last byte that the request asks for."""
        start, _, end = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        return int(start), min(int(end or size), size - 1)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self._start(status, {**(headers or {}), "Content-Length": str(len(body))})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _start(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
