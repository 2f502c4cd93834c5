"""Opens whoever policy.kind names, and what rounds are sampled under, from params.yaml in the working directory."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posttrain.engine.settings import EngineSettings
from posttrain.euler.agent.settings import AgentSettings, PolicySettings
from posttrain.euler.agent.speaker import Speaker, provider_speaker, proxied_speaker, scripted_speaker
from posttrain.euler.evaluate import Conditions
from posttrain.euler.machine import try_machine
from posttrain.euler.sandbox.settings import SandboxSettings
from posttrain.euler.settings import FanoutSettings, GateSettings
from posttrain.settings import load

PI, PROMPTS = Path("pi"), Path("prompts")


@contextmanager
def open_speaker() -> Iterator[Speaker]:
    """The policy of params.yaml, until the block ends."""
    policy, engine = load("policy", PolicySettings), load("engine", EngineSettings)
    if policy.kind == "provider":
        yield provider_speaker(policy)
    elif policy.kind == "script":
        with scripted_speaker(policy) as speaker:
            yield speaker
    else:
        from posttrain.euler.engine_speaker import engine_completer  # brings torch, which no other kind needs

        with proxied_speaker(engine_completer(policy, engine), policy) as speaker:
            yield speaker


def conditions_here() -> Conditions:
    """What params.yaml says of a round, on this machine, which is tried.

    Raises:
        InfrastructureError: something that agents need is missing; the message says what to install.
    """
    fanout = load("fanout", FanoutSettings)
    machine, _ = try_machine(load("sandbox", SandboxSettings), fanout.languages, PI)
    return Conditions(machine, load("agent", AgentSettings), fanout, load("gate", GateSettings), PROMPTS)
