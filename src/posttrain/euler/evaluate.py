"""Samples one round: manifest first, then its rollouts through Pi, each in a sandbox of its own."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from posttrain.euler.agent.fanout import Fanout, sample_round
from posttrain.euler.agent.install import Pi
from posttrain.euler.agent.prompts import prompts_sha256, system_prompt, task_prompt
from posttrain.euler.agent.rollout import Assignment
from posttrain.euler.agent.settings import AgentSettings
from posttrain.euler.agent.speaker import Speaker
from posttrain.euler.problem_set import ProblemSet, workspace_files
from posttrain.euler.rollouts import Planned
from posttrain.euler.round_files import MANIFEST, read_manifest, start_round
from posttrain.euler.rounds import Manifest
from posttrain.euler.sandbox.protocol import Sandbox
from posttrain.euler.sandbox.settings import SandboxSettings
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


def signature(speaker: Speaker, machine: Machine, agent: AgentSettings, prompts: Path) -> ModelSignature:
    """What must stay the same for rounds to add up."""
    limits = asdict(machine.limits)
    tools = [
        machine.sandbox.kind, {key: limits[key] for key in sorted(limits) if key not in ("kind", "engine")},
        sha256_file(machine.pi.hook), machine.pi.lock_sha256, agent.turns, agent.wall_seconds,
    ]  # fmt: skip
    return ModelSignature(
        model=speaker.model,
        revision=speaker.revision,
        provider=speaker.provider,
        thinking=speaker.thinking,
        languages=machine.languages,
        sampling=speaker.sampling,
        scorer_sha256=code_sha256(SCORER),
        evaluator_sha256=code_sha256(EVALUATOR),
        prompts_sha256=prompts_sha256(prompts),
        tools_sha256=hashlib.sha256(json.dumps(tools, sort_keys=True).encode()).hexdigest(),
    )


def begin(folder: Path, manifest: Manifest, nonce: str) -> Manifest:
    """Writes the manifest with this nonce; a round that a kill cut short is gone on with, begun when it was begun."""
    started = read_manifest(folder).started if (folder / MANIFEST).exists() else manifest.started
    manifest = replace(manifest, nonce=nonce, started=started)
    start_round(folder, manifest)
    return manifest


def sample(
    folder: Path,
    manifest: Manifest,
    machine: Machine,
    speaker: Speaker,
    assignment: Callable[[Planned], Assignment],
    agent: AgentSettings,
) -> None:
    """Samples what is owed of a round that has begun; see `sample_round` for what it raises."""
    fanout = Fanout(
        machine.sandbox, machine.pi, speaker.opened, assignment, speaker.failure, agent.concurrency, agent.tries
    )
    sample_round(folder, manifest.plan, fanout)


def assignments(problems: ProblemSet, prompts: Path, agent: AgentSettings) -> Callable[[Planned], Assignment]:
    """What each rollout is given: the problem's text and files, and nothing else of the set."""
    system = system_prompt(prompts)

    def assignment(planned: Planned) -> Assignment:
        problem = problems.problems[planned.problem]
        files = workspace_files(problems, problem)
        prompt = task_prompt(prompts, problem.prompt, planned.language, planned.strategy, list(files))
        return Assignment(system, prompt, files, agent.turns, agent.wall_seconds)

    return assignment
