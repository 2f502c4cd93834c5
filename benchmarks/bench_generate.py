"""Sampling without an adapter, ours beside transformers' `generate`: 8 rows at once, 2 prompts with 4 samples each.

Run: python benchmarks/bench_generate.py [--model FOLDER]

Each side runs in a process of its own and is warmed up with other prompts of the same size. Before that both sample
greedily, and must agree.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from peers.measure import Clock
from sides import contended, model_for, prompts_of, run_side

MUST = 1.0
SIDES = ("ours", "transformers")

# Samples for each of the prompts, at a temperature.
Sample = Callable[[Sequence[list[int]], int, float], list[list[int]]]


def with_transformers(job: dict[str, Any]) -> Sample:
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(job["threads"])
    model = AutoModelForCausalLM.from_pretrained(job["model"], dtype=torch.float32).eval()
    model.generation_config.eos_token_id = None  # both go on to the limit

    def sample(prompts: Sequence[list[int]], each: int, temperature: float) -> list[list[int]]:
        ids_BT = torch.tensor([prompt for prompt in prompts for _ in range(each)])
        how = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0} if temperature else {}
        tokens_BT = model.generate(
            input_ids=ids_BT,
            attention_mask=torch.ones_like(ids_BT),
            max_new_tokens=job["new"],
            **({"do_sample": False} | how),
        )
        rows: list[list[int]] = tokens_BT[:, ids_BT.shape[1] :].tolist()
        return rows

    return sample


def with_ours(job: dict[str, Any]) -> Sample:
    from tinker import ModelInput, SamplingParams

    from posttrain.engine.local.engine import LocalEngine
    from posttrain.engine.settings import EngineSettings

    engine = LocalEngine(EngineSettings("local", job["model"], "cpu", "float32", job["threads"], 8, 4096))

    async def run(prompts: Sequence[list[int]], each: int, temperature: float) -> list[list[int]]:
        sampler = await engine.base_sampler()
        params = SamplingParams(max_tokens=job["new"], temperature=temperature, seed=0, stop=[])

        async def one(prompt: list[int]) -> list[list[int]]:
            response = await sampler.sample(ModelInput.from_ints(prompt), each, params)
            return [list(sequence.tokens) for sequence in response.sequences]

        with sampler.caller():
            return [row for rows in await asyncio.gather(*map(one, prompts)) for row in rows]

    return lambda prompts, each, temperature: asyncio.run(run(prompts, each, temperature))


def measure(side: str, job: dict[str, Any]) -> dict[str, Any]:
    """The best of the repeats, and the greedy samples of the first prompts."""
    sample = (with_ours if side == "ours" else with_transformers)(job)
    batches = [job["prompts"][i : i + job["at_once"]] for i in range(0, len(job["prompts"]), job["at_once"])]
    greedy = sample(batches[0], 1, 0.0)
    sample(batches[0], job["each"], 1.0)
    spent = []
    for prompts in batches[1:]:
        clock = Clock()
        rows = sample(prompts, job["each"], 1.0)
        spent.append(clock.read())
        assert [len(row) for row in rows] == [job["new"]] * job["each"] * len(prompts)
    return {"spent": min(spent, key=lambda s: s.cpu).row(), "greedy": greedy}


def compare(given: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="bench_generate.") as scratch:
        model = model_for(given.model, Path(scratch))
        prompts = [prompt["ids"] for prompt in prompts_of(model, 2 * (1 + given.repeats), given.prompt)]
        job = {"model": model, "prompts": prompts, "at_once": 2, "each": 4, "new": given.new, "threads": given.threads}
        results = {side: run_side([sys.executable, __file__, "--side", side], job) for side in SIDES}
    print(f"{given.model}, fp32, {given.threads} threads: 2 prompts x 4, {given.prompt} + {given.new} tokens")
    print(f"{'':24}" + "".join(f"{side:>14}" for side in SIDES) + f"{'ours/transformers':>20}")
    rates = {}
    for row, kind in (("tokens per second", "wall"), ("tokens per CPU second", "cpu")):
        ours, plain = (8 * given.new / results[side]["spent"][kind] for side in SIDES)
        rates[kind] = ours / plain
        print(f"{row:24}{ours:>14.1f}{plain:>14.1f}{ours / plain:>20.2f}")
    ours, plain = (results[side]["greedy"] for side in SIDES)
    same = sum(a == b for a, b in zip(ours, plain, strict=True))
    print(f"same greedy samples for {same} of {len(ours)} prompts")
    busy = any(contended(results[side]["spent"]) for side in SIDES)
    if busy:
        print("the machine was contended: CPU time is judged")
    ratio = rates["cpu" if busy else "wall"]
    print(f"ours / transformers {ratio:.2f}, must {MUST}: {'met' if ratio >= MUST else 'MISSED'}")
    return int(ratio < MUST or same < len(ours))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m-instruct", help="a name or folder, or `tiny`")
    parser.add_argument("--prompt", type=int, default=298, help="tokens of each prompt")
    parser.add_argument("--new", type=int, default=48, help="tokens of each sample")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("paths", nargs="*", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side is None:
        return compare(given)
    job, result = given.paths
    result.write_text(json.dumps(measure(given.side, json.loads(job.read_text()))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
