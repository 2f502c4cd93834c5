"""Tries what this machine runs agents with, before anything is sampled: a sandbox, each language in it, and Pi."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from posttrain.errors import InfrastructureError
from posttrain.euler.agent.install import find_pi
from posttrain.euler.evaluate import Machine
from posttrain.euler.languages import language
from posttrain.euler.sandbox.choose import open_sandbox
from posttrain.euler.sandbox.protocol import Sandbox, Status
from posttrain.euler.sandbox.settings import SandboxSettings

_SECONDS = 60.0


@dataclass(frozen=True)
class Probe:
    """A language as it was tried in the sandbox. version: what its runtime says of itself. error: "" if it works."""

    language: str
    version: str
    error: str


def try_machine(limits: SandboxSettings, languages: Sequence[str], pi: Path) -> tuple[Machine, list[Probe]]:
    """Everything, tried.

    Raises:
        InfrastructureError: the sandbox, Pi or the runtime of a language is missing; the message says what to install.
    """
    sandbox = open_sandbox(limits)
    probes = [probe(sandbox, name) for name in languages]
    if missing := [each for each in probes if each.error]:
        raise InfrastructureError(
            f"{missing[0].language} does not run in the sandbox ({missing[0].error}); install it, or take it out of "
            "fanout.languages"
        )
    return Machine(sandbox, limits, find_pi(pi), tuple(languages)), probes


def probe(sandbox: Sandbox, name: str) -> Probe:
    """Asks a language's runtime for its version, in the sandbox."""
    runtime = language(name).runtimes[0]
    with sandbox.workspace() as workspace:
        done = workspace.run([runtime, "--version"], wall_seconds=_SECONDS)
    if done.status is not Status.FINISHED:
        return Probe(name, "", f"`{runtime} --version` gave exit code {done.exit_code}")
    return Probe(name, done.stdout.strip(), "")
