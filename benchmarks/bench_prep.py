"""Prep of a full-sized HotpotQA stand-in beside the plain ways: rows per second, CPU and peak memory of each.

Run: PYTHONPATH=. python benchmarks/bench_prep.py [--train 90447 --dev 7405 --paragraphs 507494]

All read the same rows, from JSON Lines, official JSON, one big parquet file, or a hub on loopback, and must write the
same bytes. Peak memory is `ru_maxrss`; for `datasets` it counts pages of its memory-mapped files that are resident. At
last the search index is built on the corpus, its memory summed over its processes.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench_search import measure_build
from search_corpus import HOTPOT

from posttrain.files import sha256_file
from tests.hub import REVISION, serving

MUST_MB = 1_400
JUDGED_FROM = 90_000
OURS = ("ours jsonl", "ours json", "ours parquet", "ours hub")
BESIDE = {
    "ours jsonl": "plain json",
    "ours json": "plain json",
    "ours parquet": "plain parquet",
    "ours hub": "plain parquet",
}


def ours(kind: str, folder: Path, out: Path) -> None:
    from posttrain.wiki.data_settings import DataSettings
    from posttrain.wiki.prep import prepare

    names = {"train_file": None, "dev_file": None}
    if kind != "hub":
        names = {"train_file": str(folder / f"train.{kind}"), "dev_file": str(folder / f"dev.{kind}")}
    settings = DataSettings(
        source="hotpotqa" if kind == "hub" else "files",
        paragraphs=0,
        train=None,
        val=200,
        test=500,
        seed=0,
        levels={},
        file=None,
        split_field=None,
        dev_values=[],
        dev_ids_file=None,
        corpus_file=None,
        revision=REVISION if kind == "hub" else None,
        **names,
    )
    prepare(settings, out)


def plain_json(folder: Path, out: Path) -> None:
    """Everything in memory: the usual first script."""
    import json

    train, dev = (json.loads((folder / f"{name}.json").read_text()) for name in ("train", "dev"))
    contexts = (pair for row in (*train, *dev) for pair in row["context"])
    plain_write(out, contexts, train, dev, "_id")


def plain_parquet(folder: Path, out: Path) -> None:
    """With `datasets`, whole splits in Python lists: the recipe's own script."""
    import datasets

    datasets.disable_progress_bars()
    files = {"train": str(folder / "train.parquet"), "dev": str(folder / "dev.parquet")}
    loaded = datasets.load_dataset("parquet", data_files=files)
    train, dev = loaded["train"], loaded["dev"]
    contexts = (
        pair
        for split in (train, dev)
        for context in split["context"]
        for pair in zip(context["title"], context["sentences"], strict=True)
    )
    plain_write(out, contexts, list(train), list(dev), "id")


def plain_write(out: Path, contexts: Any, train: list[Any], dev: list[Any], id_field: str) -> None:
    import json
    import random

    corpus: dict[str, str] = {}
    for title, sentences in contexts:
        corpus.setdefault(title, "".join(sentences).strip())
    rng = random.Random(0)
    dev_rows, train_rows = ([plain_question(row, id_field) for row in rows] for rows in (dev, train))
    rng.shuffle(dev_rows)
    rng.shuffle(train_rows)
    paragraphs = [{"id": i, "title": title, "text": text} for i, (title, text) in enumerate(corpus.items())]
    parts = {"test": dev_rows[:500], "val": dev_rows[500:700], "train": train_rows, "corpus": paragraphs}
    for name, rows in parts.items():
        with (out / f"{name}.jsonl").open("w") as lines:
            lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def plain_question(row: dict[str, Any], id_field: str) -> dict[str, Any]:
    kept = {"id": row[id_field], "question": row["question"], "answers": [row["answer"]]}
    return kept | {name: row[name] for name in ("type", "level")}


SIDES: dict[str, Callable[[Path, Path], None]] = {
    **{
        f"ours {kind}": lambda folder, out, kind=kind: ours(kind, folder, out)
        for kind in ("jsonl", "json", "parquet", "hub")
    },
    "plain json": plain_json,
    "plain parquet": plain_parquet,
}


def measured(role: str, folder: Path, out: Path, environment: dict[str, str]) -> dict[str, float]:
    """What a role takes in a process of its own."""
    out.mkdir(exist_ok=True)
    start = time.perf_counter()
    command = [sys.executable, __file__, "--role", role, str(folder), str(out)]
    process = subprocess.Popen(command, env={**os.environ, **environment})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{role!r} failed")
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "wall s": time.perf_counter() - start,
        "CPU s": usage.ru_utime + usage.ru_stime,
        "peak MB": usage.ru_maxrss * unit / 1e6,
    }


def compare(options: argparse.Namespace) -> int:
    rows = options.train + options.dev
    chosen = list(SIDES)
    if importlib.util.find_spec("datasets") is None:
        print("without the package datasets: its side and the hub's are left out")
        chosen = [name for name in chosen if name not in ("ours hub", "plain parquet")]
    elif not (HOTPOT / "dev_full_7405.jsonl").exists():
        print("without the real dev questions of ../shared the split hash cannot hold: the hub's side is left out")
        chosen.remove("ours hub")
    with tempfile.TemporaryDirectory(prefix="bench_prep.") as name:
        folder = Path(name)
        sizes = f"{options.train},{options.dev},{options.paragraphs}"
        # In a process of its own: a child's ru_maxrss begins with what its parent holds.
        measured(f"make {sizes}", folder, folder, {})
        print(f"{rows:,} rows, {options.paragraphs:,} titles; train: {sizes_of(folder)}", flush=True)
        figures: dict[str, dict[str, float]] = {}
        hashes: dict[str, list[str]] = {}
        with serving(folder / "hub") as hub:
            for side in chosen:
                out = folder / side.replace(" ", "_")
                environment = {"HF_HOME": str(folder / f"hf_{side}"), "HF_ENDPOINT": hub.address, "HF_HUB_OFFLINE": "0"}
                figures[side] = measured(side, folder, out, environment)
                hashes[side] = [sha256_file(out / f"{part}.jsonl") for part in ("train", "val", "test", "corpus")]
        show(figures, rows)
        index = folder / "index"
        built = measure_build("build ours", folder / "ours_jsonl" / "corpus.jsonl", index)
        print("index: " + ", ".join(f"{name.removeprefix('build ')} {value:.1f}" for name, value in built.items()))
    return judge(figures, hashes, rows)


def sizes_of(folder: Path) -> str:
    files = [folder / f"train.{kind}" for kind in ("jsonl", "json", "parquet")]
    return ", ".join(f"{file.suffix[1:]} {file.stat().st_size / 1e6:.0f} MB" for file in files)


def show(figures: dict[str, dict[str, float]], rows: int) -> None:
    print(f"{'':16}{'rows/s':>10}{'CPU s':>10}{'peak MB':>10}{'plain / ours:':>16}{'wall':>8}{'CPU':>8}{'peak':>8}")
    for side, found in figures.items():
        line = f"{side:16}{rows / found['wall s']:>10.0f}{found['CPU s']:>10.1f}{found['peak MB']:>10.0f}"
        if (plain := figures.get(BESIDE.get(side, ""))) is not None:
            line += f"{BESIDE[side]:>16}" + "".join(f"{plain[key] / found[key]:>8.2f}" for key in found)
        print(line)


def judge(figures: dict[str, dict[str, float]], hashes: dict[str, list[str]], rows: int) -> int:
    failed = len(set(map(tuple, hashes.values()))) != 1
    print(f"the same bytes from all: {'NO' if failed else 'yes'}")
    if rows < JUDGED_FROM:
        print(f"the limit is for {JUDGED_FROM:,} rows or more")
        return int(failed)
    peak = max(found["peak MB"] for side, found in figures.items() if side in OURS)
    print(f"highest peak of ours {peak:.0f} MB, must {MUST_MB}: {'met' if peak < MUST_MB else 'MISSED'}")
    return int(failed or peak >= MUST_MB)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=int, default=90_447)
    parser.add_argument("--dev", type=int, default=7_405)
    parser.add_argument("--paragraphs", type=int, default=507_494)
    parser.add_argument("--role", help=argparse.SUPPRESS)
    parser.add_argument("paths", nargs="*", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role is None:
        return compare(options)
    folder, out = options.paths
    if options.role.startswith("make "):
        from hotpot_standin import write_standin

        write_standin(folder, *map(int, options.role.removeprefix("make ").split(",")))
    else:
        SIDES[options.role](folder, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
