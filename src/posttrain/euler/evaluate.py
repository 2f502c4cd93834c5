"""Samples one round: manifest first, then its rollouts through Pi, each in a sandbox of its own."""

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from posttrain.euler.agent.fanout import Fanout, sample_round
from posttrain.euler.agent.install import Pi
from posttrain.euler.agent.process import Provider
from posttrain.euler.agent.prompts import prompts_sha256, system_prompt, task_prompt
from posttrain.euler.agent.rollout import Assignment
from posttrain.euler.agent.settings import AgentSettings
from posttrain.euler.agent.speaker import Speaker
from posttrain.euler.manifest import Manifest
from posttrain.euler.manifest_file import MANIFEST, read_manifest, start_round
from posttrain.euler.planned import Planned
from posttrain.euler.problem_set import ProblemSet, workspace_files
from posttrain.euler.proxy.completer import sample_index
from posttrain.euler.sandbox.protocol import Sandbox
from posttrain.euler.sandbox.settings import SandboxSettings
from posttrain.euler.settings import FanoutSettings, GateSettings
from posttrain.euler.signature import ModelSignature, code_sha256
from posttrain.files import sha256_file

SCORER, EVALUATOR = "posttrain.euler.score", "posttrain.euler.evaluate"
"""Modules whose code, with all that it imports, is hashed into a signature."""


@dataclass(frozen=True)
class Machine:
    """What this machine runs agents with; it has been tried. languages: those whose runtimes answered."""

    sandbox: Sandbox
    limits: SandboxSettings
    pi: Pi
    languages: tuple[str, ...]


@dataclass(frozen=True)
class Conditions:
    """What all rounds of a climb are sampled under. prompts: the folder of what agents are told."""

    machine: Machine
    agent: AgentSettings
    fanout: FanoutSettings
    gate: GateSettings
    prompts: Path


Given = Callable[[Planned], tuple[str, Mapping[str, bytes]]]
"""The text of a rollout's task, and the files that go with it."""


def signature(speaker: Speaker, conditions: Conditions) -> ModelSignature:
    """What must stay the same for rounds to add up."""
    machine, agent = conditions.machine, conditions.agent
    limits = {key: value for key, value in asdict(machine.limits).items() if key not in ("kind", "engine")}
    hashes = [sha256_file(machine.pi.hook), machine.pi.lock_sha256]
    tools = [machine.sandbox.kind, limits, hashes, agent.turns, agent.wall_seconds]
    return ModelSignature(
        model=speaker.model,
        revision=speaker.revision,
        provider=speaker.provider,
        thinking=speaker.thinking,
        languages=machine.languages,
        sampling=speaker.sampling,
        scorer_sha256=code_sha256(SCORER),
        evaluator_sha256=code_sha256(EVALUATOR),
        prompts_sha256=prompts_sha256(conditions.prompts),
        tools_sha256=hashlib.sha256(json.dumps(tools, sort_keys=True).encode()).hexdigest(),
    )


def evaluate(
    folder: Path, asked: Manifest, nonce: str, conditions: Conditions, speaker: Speaker, given: Given
) -> Manifest:
    """Samples what is owed of the round in `folder`, which is begun if it is not there, and returns its manifest.

    nonce: the same for a round that is gone on with, and another for every other round.

    Raises:
        DataError: the folder holds another round.
        PosttrainError: see `sample_round`.
    """
    machine, agent, prompts = conditions.machine, conditions.agent, conditions.prompts
    system = system_prompt(prompts)
    manifest = _begin(folder, asked, nonce)

    def provider(planned: Planned) -> AbstractContextManager[Provider]:
        return speaker.opened(planned, sample_index(manifest.nonce, planned))

    def assignment(planned: Planned) -> Assignment:
        text, files = given(planned)
        prompt = task_prompt(prompts, text, planned.language, planned.strategy, list(files))
        return Assignment(system, prompt, files, agent.turns, agent.wall_seconds)

    fanout = Fanout(machine.sandbox, machine.pi, provider, assignment, speaker.failure, agent.concurrency, agent.tries)
    sample_round(folder, manifest.plan, fanout)
    return manifest


def given_by(problems: ProblemSet) -> Given:
    """A problem's text and files, and nothing else of the set."""

    def given(planned: Planned) -> tuple[str, Mapping[str, bytes]]:
        problem = problems.problems[planned.problem]
        return problem.prompt, workspace_files(problems, problem)

    return given


def _begin(folder: Path, manifest: Manifest, nonce: str) -> Manifest:
    """Writes the manifest with this nonce; a round that a kill cut short keeps the time at which it was begun."""
    started = read_manifest(folder).started if (folder / MANIFEST).exists() else manifest.started
    manifest = replace(manifest, nonce=nonce, started=started)
    start_round(folder, manifest)
    return manifest
