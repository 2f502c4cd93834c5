"""Samples one round: manifest first, then its rollouts through Pi, each in a sandbox of its own."""

import hashlib
import json
from collections.abc import Sequence
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
from posttrain.euler.problem_set import ProblemSet, workspace_files
from posttrain.euler.proxy.completer import sample_index
from posttrain.euler.rollouts import Planned
from posttrain.euler.round_files import MANIFEST, read_manifest, start_round
from posttrain.euler.rounds import Manifest, RoundKind, new_manifest
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


@dataclass(frozen=True)
class Question:
    """What a round is about. problem: the current one. trained_on: by the model."""

    kind: RoundKind
    problem: int
    plan: Sequence[Planned]
    trained_on: Sequence[int]


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
    folder: Path, conditions: Conditions, speaker: Speaker, problems: ProblemSet, question: Question, nonce: str
) -> Manifest:
    """Samples what is owed of the round in `folder`, which is begun if it is not there.

    nonce: the same for a round that is gone on with, and another for every other round.

    Raises:
        DataError: a planned problem is not available, or the folder holds another round.
        PosttrainError: see `sample_round`.
    """
    asked = new_manifest(
        question.kind, question.problem, question.plan, problems, signature(speaker, conditions), conditions.fanout,
        conditions.gate, question.trained_on,
    )  # fmt: skip
    manifest = _begin(folder, asked, nonce)

    def provider(planned: Planned) -> AbstractContextManager[Provider]:
        return speaker.opened(planned, sample_index(manifest.nonce, planned))

    def assignment(planned: Planned) -> Assignment:
        problem = problems.problems[planned.problem]
        files = workspace_files(problems, problem)
        prompt = task_prompt(conditions.prompts, problem.prompt, planned.language, planned.strategy, list(files))
        return Assignment(system, prompt, files, agent.turns, agent.wall_seconds)

    agent, system = conditions.agent, system_prompt(conditions.prompts)
    machine = conditions.machine
    sample_round(
        folder,
        manifest.plan,
        Fanout(machine.sandbox, machine.pi, provider, assignment, speaker.failure, agent.concurrency, agent.tries),
    )
    return manifest


def _begin(folder: Path, manifest: Manifest, nonce: str) -> Manifest:
    """Writes the manifest with this nonce; a round that a kill cut short keeps the time at which it was begun."""
    started = read_manifest(folder).started if (folder / MANIFEST).exists() else manifest.started
    manifest = replace(manifest, nonce=nonce, started=started)
    start_round(folder, manifest)
    return manifest
