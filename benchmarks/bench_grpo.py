"""One GRPO step, ours beside TRL's GRPOTrainer: the same model, prompts, lengths, LoRA layers, threads and reward.

Run: python benchmarks/bench_grpo.py [--model FOLDER] [--peers .venv-bench/bin/python]

Each side runs in a process of its own and takes two steps on different prompts, of which the second is measured.
TRL is measured as it comes, and once more without gradient checkpointing, which ours does not use either.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from sides import contended, model_for, prompts_of, run_side

HERE = Path(__file__).resolve().parent
AIM, MUST = 3.0, 2.5
SAME_GRADIENT = 1e-4
OURS, TRL, PLAIN_TRL = "ours", "TRL", "TRL no ckpt"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m-instruct", help="a name or folder, or `tiny`")
    parser.add_argument("--peers", default=str(HERE.parent / ".venv-bench/bin/python"), help="Python that has TRL")
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--group", type=int, default=4)
    parser.add_argument("--prompt", type=int, default=298, help="tokens of each prompt")
    parser.add_argument("--new", type=int, default=48, help="tokens of each completion")
    parser.add_argument("--micro-batch-rows", type=int, default=8, help="TRL's per_device_train_batch_size")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sides", nargs="+", choices=(OURS, TRL, PLAIN_TRL), default=[OURS, TRL, PLAIN_TRL])
    return parser.parse_args()


def figures(result: dict[str, Any]) -> dict[str, float]:
    """The rows of the table."""
    generate, step = result["generate"], result["step"]
    return {
        "generate s": generate["wall"],
        "train s": step["wall"] - generate["wall"],
        "total s": step["wall"],
        "generate CPU s": generate["cpu"],
        "train CPU s": step["cpu"] - generate["cpu"],
        "total CPU s": step["cpu"],
        "other processes' CPU s": step["others"],
        "peak MB": result["peak MB"],
    }


def print_table(found: dict[str, dict[str, float]]) -> None:
    others = [side for side in found if side != OURS and OURS in found]
    print(f"{'':24}" + "".join(f"{side:>13}" for side in found) + "".join(f"{side + '/ours':>18}" for side in others))
    for row in next(iter(found.values())):
        ratios = (
            "" if row.startswith("other") else "".join(f"{found[o][row] / found[OURS][row]:>18.2f}" for o in others)
        )
        print(f"{row:24}" + "".join(f"{found[side][row]:>13.2f}" for side in found) + ratios)


def judge(results: dict[str, dict[str, Any]], found: dict[str, dict[str, float]]) -> int:
    failed = 0
    if OURS in results:
        error = results[OURS]["gradient error"]
        failed |= error > SAME_GRADIENT
        print(f"gradient beside plain transformers + peft: relative difference {error:.1e}, must {SAME_GRADIENT:.0e}")
    if {OURS, TRL} <= results.keys():
        row = "total s"
        if any(contended(results[side]["step"]) for side in (OURS, TRL)):
            print("the machine was contended: CPU time is judged")
            row = "total CPU s"
        ratio = found[TRL][row] / found[OURS][row]
        failed |= ratio < MUST
        verdict = "met" if ratio >= AIM else "tolerated" if ratio >= MUST else "MISSED"
        print(f"TRL / ours, {row}: {ratio:.2f}, aim {AIM}, must {MUST}: {verdict}")
    return int(failed)


def main() -> int:
    given = options()
    if not Path(given.peers).exists() and {TRL, PLAIN_TRL} & set(given.sides):
        sys.exit(f"no {given.peers}; `make bench` makes it")
    with tempfile.TemporaryDirectory(prefix="bench_grpo.") as scratch:
        model = model_for(given.model, Path(scratch))
        job = {
            "model": model,
            "prompts": prompts_of(model, 2 * given.groups, given.prompt),
            "groups": given.groups,
            "group": given.group,
            "new": given.new,
            "rank": 32,
            "lr": 1e-4,
            "threads": given.threads,
            "batch_rows": 32,
            "micro_batch": 4096,
            "micro_batch_rows": given.micro_batch_rows,
        }
        print(
            f"{given.model}, fp32, {given.threads} threads: {given.groups} prompts x {given.group}, "
            f"{given.prompt} + {given.new} tokens, LoRA {job['rank']} on all linear layers",
            flush=True,
        )
        commands = {
            OURS: [sys.executable, str(HERE / "our_step.py")],
            TRL: [given.peers, str(HERE / "peers/trl_step.py")],
            PLAIN_TRL: [given.peers, str(HERE / "peers/trl_step.py")],
        }
        results = {side: run_side(commands[side], job | {"checkpointing": side == TRL}) for side in given.sides}
    found = {side: figures(result) for side, result in results.items()}
    print_table(found)
    return judge(results, found)


if __name__ == "__main__":
    sys.exit(main())
