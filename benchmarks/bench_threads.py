"""Training passes with different OpenMP waiting policies, on the machine as it is and beside two busy processes."""

import asyncio
import os
import random
import subprocess
import sys
import time

POLICIES = {
    "default": {},
    "passive": {"OMP_WAIT_POLICY": "passive"},
    "GOMP_SPINCOUNT=10000 (ours)": {"GOMP_SPINCOUNT": "10000"},
}
BUSY = [sys.executable, "-c", "while True: pass"]


def one_pass() -> None:
    """In a process of its own: two passes over 8 examples of 250 tokens, prints wall and CPU seconds of the second."""
    from tinker import Datum, ModelInput

    from posttrain.engine.local.engine import LocalEngine
    from posttrain.engine.settings import EngineSettings

    settings = EngineSettings("local", "smollm2-135m-instruct", "cpu", "float32", 2, 32, 1024)
    draw = random.Random(0)
    tokens = [[draw.randrange(1000, 40000) for _ in range(251)] for _ in range(8)]
    weights = [0.0] * 220 + [1.0] * 30
    data = [
        Datum(model_input=ModelInput.from_ints(row[:-1]), loss_fn_inputs={"target_tokens": row[1:], "weights": weights})
        for row in tokens
    ]

    async def measure() -> None:
        trainer = await LocalEngine(settings).new_trainer(16, 0)
        for _ in range(2):
            wall, cpu = time.perf_counter(), time.process_time()
            await trainer.forward_backward(data, "cross_entropy")
            spent = time.perf_counter() - wall, time.process_time() - cpu
        print(*spent)

    asyncio.run(measure())


def main() -> None:
    """Prints a table; ratios are against the default."""
    for title, beside in (("idle", 0), ("beside 2 busy processes", 2)):
        reference: list[float] = []
        for name, environment in POLICIES.items():
            busy = [subprocess.Popen(BUSY) for _ in range(beside)]
            try:
                command = [sys.executable, __file__, "--one-pass"]
                out = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)
            finally:
                for process in busy:
                    process.kill()
            wall, cpu = map(float, out.stdout.split())
            reference = reference or [wall, cpu]
            ratios = f"{wall / reference[0]:.2f} {cpu / reference[1]:.2f}"
            print(f"{title:25} {name:30} wall {wall:6.1f} s  cpu {cpu:6.1f} s  ratios {ratios}", flush=True)


if __name__ == "__main__":
    one_pass() if "--one-pass" in sys.argv else main()
