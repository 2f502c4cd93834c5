"""The whole command on a run that costs money, against the loopback service and against worse ones."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.doctor.test_command import lines_of
from tests.loopback.server import KEY, serving
from tests.project import Done, Project

SECRET = "tml-RecognisableKeyBody0123"


class _Echo(BaseHTTPRequestHandler):
    """Refuses everything and says the key in doing so."""

    def do_GET(self) -> None:
        body = json.dumps({"detail": f"your key {self.headers.get('X-API-Key')}, that is {SECRET}\nis bad"}).encode()
        self.send_response(400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def _echoing() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _hosted(project: Project, url: str, key: str = KEY) -> Project:
    """The smoke project on the service at `url`; free, but counted."""
    project.git("init", "-q")
    project.git("add", ".")
    project.git("commit", "-q", "-m", "all")
    project.set(engine={"name": "tinker"}, prices={"model": "tiny"})
    own = {"TINKER_BASE_URL": url, "TINKER_API_KEY": key, "TINKER_TELEMETRY": "0", "NO_PROXY": "127.0.0.1"}
    return replace(project, environment={**project.environment, **own})


def _failed(done: Done) -> set[str]:
    assert "RecognisableKeyBody" not in done.stdout + done.stderr
    return {name for name, (status, _) in lines_of(done).items() if status == "FAIL"}


def _without_model(project: Project) -> Project:
    """A model that is nowhere: found out at once, while a tokenizer takes seconds to load."""
    project.set(engine={"model": "./absent"}, prices={"model": "./absent"})
    return project


def test_a_run_that_may_begin_but_for_one_checkpoint(project: Project) -> None:
    gone = {"sampler": "tinker://gone/sampler_weights/a", "state": "tinker://gone/weights/a"}
    folder = project.root / "models/sft/epoch-1"
    folder.mkdir(parents=True)
    (folder / "checkpoint.json").write_text(json.dumps({"lineage": "a", "label": "sft", "saved": gone}))
    with serving() as server:
        project = _hosted(project, server.url)
        done = project.posttrain("doctor")
    lines = lines_of(done)
    assert _failed(done) == {"checkpoints"}
    assert "models/sft/epoch-1 are gone" in lines["checkpoints"][1]
    assert {lines[name][0] for name in ("key", "service", "tokenizer", "price", "answer")} == {"ok"}
    assert lines["answer"][1].endswith(", for 0.000000 USD")
    assert "spending limit" in lines["price"][1]
    # Booked like any other request, and the session is not left open.
    booked = json.loads(project.posttrain("ledger", "--json").stdout)
    assert [(one["stage"], one["spending"]["tokens"]["sampled"]) for one in booked] == [("by hand", 8)]
    assert server.counts()["/api/v1/sessions/{session}/finish"] == 1


def test_a_service_that_tells_the_key_is_not_quoted_with_it(project: Project) -> None:
    with _echoing() as url:
        done = _without_model(_hosted(project, url, SECRET)).posttrain("doctor")
    assert done.returncode == 1
    assert _failed(done) == {"service", "tokenizer"}
    lines = lines_of(done)
    assert "(400)" in lines["service"][1]
    assert "is bad" in lines["service"][1]  # so the rest of it is quoted
    assert lines["answer"] == ("warn", "not checked; mend service and tokenizer first")
    assert lines["checkpoints"] == ("warn", "not checked; mend service first")


def test_a_silent_service_costs_seconds(project: Project) -> None:
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        done = _without_model(_hosted(project, url, SECRET)).posttrain("doctor")
    assert _failed(done) == {"service", "tokenizer"}
    assert f"no answer from {url} in 10 s" in lines_of(done)["service"][1]
