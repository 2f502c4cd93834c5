"""24 agents on two cores: ours, sandboxed and watched, beside Pi alone with its own tools and nothing around it.

usage: python benchmarks/bench_pi.py [ROLLOUTS]

Both follow the same script through the same proxy, two at a time: write a program, run it, answer. Pi alone is the best
that can be had: whatever drives Pi pays for its start.
"""

import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from posttrain.euler.agent.fanout import Fanout, sample_round
from posttrain.euler.agent.install import Pi, find_pi
from posttrain.euler.agent.rollout import Assignment
from posttrain.euler.agent.settings import PolicySettings
from posttrain.euler.agent.speaker import Speaker, scripted_speaker
from posttrain.euler.generated import generate
from posttrain.euler.planned import CANONICAL, Planned
from posttrain.euler.sandbox.choose import open_sandbox
from posttrain.euler.sandbox.protocol import Sandbox
from posttrain.euler.sandbox.settings import SandboxSettings
from posttrain.settings import load

RECIPE = Path(__file__).parents[1] / "euler"
SIDE_BY_SIDE = 2
ROUNDS = 3
POLICY = PolicySettings("script", None, "solving", None, None, "", "", None, 1.0, 512, 8192, 0)
PROMPT = "Problem:\n" + str(generate(0).drafts[1].texts[0])


def ours(plan: list[Planned], speaker: Speaker, sandbox: Sandbox, pi: Pi) -> float:
    """Seconds for all of them."""
    task = Assignment("You are a programmer.", PROMPT, {}, 12, 60)
    with tempfile.TemporaryDirectory() as folder:
        fanout = Fanout(
            sandbox, pi, lambda planned: speaker.opened(planned, 0), lambda _: task, lambda: None, SIDE_BY_SIDE, 1
        )
        started = time.monotonic()
        sample_round(Path(folder), plan, fanout)
        return time.monotonic() - started


def alone(plan: list[Planned], speaker: Speaker, pi: Pi) -> float:
    """Seconds for all of them, with Pi's own tools in an empty folder each."""
    started = time.monotonic()
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for ended in pool.map(lambda planned: _alone(planned, speaker, pi), plan):
            assert '"agent_end"' in ended
    return time.monotonic() - started


def _alone(planned: Planned, speaker: Speaker, pi: Pi) -> str:
    with tempfile.TemporaryDirectory() as folder, speaker.opened(planned, 0) as provider:
        Path(folder, "models.json").write_text(json.dumps(provider.models))
        command = [
            str(pi.node), str(pi.cli), "--provider", provider.name, "--model", provider.model, "--mode", "json",
            "--no-session", "-ne", "-ns", "-np", "-nc", "--no-themes", "-t", "read,write,edit,bash",
            "--system-prompt", "You are a programmer.", "-p", PROMPT,
        ]  # fmt: skip
        environment = {
            "PATH": f"{pi.node.parent}:/usr/bin:/bin", "HOME": folder, "PI_CODING_AGENT_DIR": folder,
            "PI_OFFLINE": "1", "PI_TELEMETRY": "0",
        }  # fmt: skip
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
        )
    return done.stdout


def main() -> None:
    rollouts = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    plan = [Planned(1, "python", CANONICAL, "current", index) for index in range(rollouts)]
    sandbox = open_sandbox(load("sandbox", SandboxSettings, RECIPE / "params.yaml"))
    pi = find_pi(RECIPE / "pi")
    with scripted_speaker(POLICY) as speaker:
        alone(plan[:2], speaker, pi)  # reads everything from disk once
        times = [(ours(plan, speaker, sandbox, pi), alone(plan, speaker, pi)) for _ in range(ROUNDS)]
    for mine, bare in times:
        print(f"{rollouts} rollouts: ours {mine:.1f} s, Pi alone {bare:.1f} s, ratio {mine / bare:.2f}")
    ratios = sorted(mine / bare for mine, bare in times)
    print(f"median ratio {ratios[len(ratios) // 2]:.2f}, aim 1.3")


if __name__ == "__main__":
    main()
