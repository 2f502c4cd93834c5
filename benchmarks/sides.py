"""Running the sides of a comparison: the same job for each, each in a process of its own."""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CONTENDED = 0.1  # of the cores' time, spent by other processes


def model_for(name: str, scratch: Path) -> str:
    """The folder of a model that every side can load; `tiny` is written into `scratch`, for development."""
    from posttrain.engine.local.load import TINY, load_model, load_tokenizer, model_folder
    from posttrain.engine.settings import EngineSettings

    if name != TINY:
        return str(model_folder(name))
    folder = scratch / TINY
    load_tokenizer(TINY).save_pretrained(folder)  # first: it also turns progress bars off
    load_model(EngineSettings("local", TINY, "cpu", "float32", 1, 1, 1)).causal.save_pretrained(folder)
    return str(folder)


def prompts_of(model: str, count: int, length: int) -> list[dict[str, Any]]:
    """User texts of invented words, `text`, which the model's chat template makes prompts of `length` tokens, `ids`."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    syllables = [a + b for a in "bdfgklmnprstv" for b in ("a", "e", "i", "o", "u", "an", "er", "il", "or")]

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer.apply_chat_template(
            [{"role": "user", "content": text}], add_generation_prompt=True, tokenize=True
        )["input_ids"]
        return ids

    def prompt(number: int) -> dict[str, Any]:
        rng = random.Random(number)
        text = rng.choice(syllables)
        while len(encode(longer := f"{text} {''.join(rng.choices(syllables, k=rng.randint(1, 3)))}")) <= length:
            text = longer
        text += " a" * (length - len(encode(text)))  # one token each
        ids = encode(text)
        if len(ids) != length:
            sys.exit(f"no prompt of {length} tokens found; the template alone has {len(encode(''))}")
        return {"text": text, "ids": ids}

    return [prompt(number) for number in range(count)]


def run_side(command: Sequence[str], job: dict[str, Any]) -> dict[str, Any]:
    """What `command JOB RESULT` writes to RESULT, with OpenMP as the stations have it."""
    with tempfile.TemporaryDirectory(prefix="bench_side.") as name:
        given, result = Path(name) / "job.json", Path(name) / "result.json"
        given.write_text(json.dumps(job))
        environment = os.environ | {
            "GOMP_SPINCOUNT": "10000",
            "OMP_NUM_THREADS": str(job["threads"]),
            "POSTTRAIN_CACHE": name,
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
        }
        finished = subprocess.run([*command, str(given), str(result)], env=environment, capture_output=True, text=True)
        if finished.returncode:
            sys.exit(f"{finished.stdout[-2000:]}{finished.stderr[-4000:]}\nfailed: {' '.join(command)}")
        found: dict[str, Any] = json.loads(result.read_text())
        return found


def contended(spent: dict[str, float]) -> bool:
    """Whether others worked beside a measurement, so that its wall time says little."""
    return spent["others"] > CONTENDED * spent["wall"] * (os.cpu_count() or 1)
