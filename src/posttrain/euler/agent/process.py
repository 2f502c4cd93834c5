"""One Pi process: its command line, an environment without keys, and a folder of its own that is gone afterwards."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from posttrain.errors import InfrastructureError
from posttrain.euler.agent.install import Pi

_FOLDER = "posttrain-pi-"
"""How the name of Pi's own folder begins; then comes the process id of its host."""
_PATIENCE = 10.0
"""Seconds for a process to be gone once it is killed."""


@dataclass(frozen=True)
class Provider:
    """Whom Pi asks. thinking: its level, "" for the model's own.

    models: the content of a models.json of our own, or None for a provider that Pi knows. home: Pi's folder with the
    user's credentials, for such a provider; Pi reads them there, and they are in no environment.
    """

    name: str
    model: str
    thinking: str
    models: dict[str, Any] | None
    home: Path | None


def loopback_provider(url: str, context_tokens: int, max_tokens: int) -> Provider:
    """The proxy at `url`, which serves one checkpoint."""
    asks = {"supportsDeveloperRole": False, "supportsReasoningEffort": False, "supportsStore": False}
    about = {"id": "checkpoint", "contextWindow": context_tokens, "maxTokens": max_tokens}
    models = {
        "providers": {
            "posttrain": {
                "api": "openai-completions",
                "baseUrl": url,
                "apiKey": "none",
                "compat": {**asks, "maxTokensField": "max_tokens"},
                "models": [about],
            }
        }
    }
    return Provider("posttrain", "checkpoint", "", models, None)


@dataclass(frozen=True)
class Running:
    """A started Pi. host: our end of the socket that its hook talks over."""

    process: subprocess.Popen[bytes]
    stdout: IO[bytes]
    host: socket.socket


@contextmanager
def running(pi: Pi, provider: Provider, prompt: str, stderr: Path) -> Iterator[Running]:
    """Starts Pi with a prompt; when the block ends, it and all that it started are dead.

    Raises:
        InfrastructureError: it cannot be started.
    """
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryDirectory(prefix=f"{_FOLDER}{os.getpid()}-") as folder, ours, stderr.open("wb") as errors:
        try:
            process = subprocess.Popen(
                _command(pi, provider, prompt),
                env=_environment(pi, provider, Path(folder), theirs.fileno()),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except OSError as error:
            raise InfrastructureError(f"Pi cannot be started: {error.strerror}") from error
        finally:
            theirs.close()
        assert process.stdout is not None
        try:
            yield Running(process, process.stdout, ours)
        finally:
            _end(process)
            process.stdout.close()


def remove_leftovers() -> None:
    """Removes the folders of hosts that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*-*"):
        host = folder.name.removeprefix(_FOLDER).split("-")[0]
        try:
            os.kill(int(host), 0)
        except ProcessLookupError:
            shutil.rmtree(folder, ignore_errors=True)
        except (ValueError, PermissionError):  # none of ours, or another user's
            continue


def _command(pi: Pi, provider: Provider, prompt: str) -> list[str]:
    thinking = ["--thinking", provider.thinking] if provider.thinking else []
    return [
        str(pi.node), str(pi.cli), "--provider", provider.name, "--model", provider.model, *thinking,
        "--mode", "json", "--no-session", "-ne", "-e", str(pi.hook), "-ns", "-np", "-nc", "--no-themes",
        "-t", "read,write,edit,bash", "--system-prompt", "the hook has it", "-p", prompt,
    ]  # fmt: skip


def _environment(pi: Pi, provider: Provider, folder: Path, descriptor: int) -> dict[str, str]:
    """All of it; files that Pi needs are put into `folder`."""
    home = provider.home
    if home is None:
        home = folder / "agent"
        home.mkdir()
        (home / "models.json").write_text(json.dumps(provider.models), encoding="utf-8")
        # The engine behind the proxy tries again by itself, and a summary in place of turns would change the task.
        settings = {"compaction": {"enabled": False}, "retry": {"enabled": False, "provider": {"maxRetries": 0}}}
        (home / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return {
        "PATH": f"{pi.node.parent}:/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LANG": "C.UTF-8",
        "PI_CODING_AGENT_DIR": str(home),
        "PI_OFFLINE": "1",
        "PI_TELEMETRY": "0",
        "POSTTRAIN_HOST_FD": str(descriptor),
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(f"Pi's process {process.pid} cannot be ended") from error
