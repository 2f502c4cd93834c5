"""A run killed with SIGKILL again and again: no paid sample is lost, and the outputs are those of an undisturbed run.

Run: PYTHONPATH=. python benchmarks/kills.py [--kills 20] [--engine tinker|local] [--seed 0]

The whole smoke pipeline through DVC, once undisturbed and once killed (DVC, station and all) at random moments. With
engine tinker it runs on the hosted engine against the loopback service, which counts what it was asked: whatever was
asked and is not in the ledger was in flight at a kill, and what is in the ledger must never have been asked again.
"""

import argparse
import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posttrain.files import json_line, read_jsonl
from tests.loopback.server import KEY, Loopback, serving
from tests.project import Project, copy_project
from tests.tiny import settings

IN_FLIGHT = 16
"""The smoke profile's largest concurrency: more cannot be lost at one kill."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--engine", choices=["tinker", "local"], default="tinker")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills.") as name:
        with prepared(Path(name) / "calm", args.engine) as (calm, server):
            started = time.monotonic()
            finish(calm)
            seconds = time.monotonic() - started
            requests = booked(calm)
            print(f"undisturbed: {seconds:.0f} s, {requests} requests booked, {asked(server)} asked", flush=True)
        with prepared(Path(name) / "killed", args.engine) as (killed, server):
            lost = disturb(killed, server, args.kills, seconds, random.Random(args.seed))
            finish(killed)
            ended = outputs(killed)
            differing = [path for path, digest in outputs(calm).items() if ended.get(path) != digest]
            again = booked(killed)
            print(f"killed {len(lost)} times: {again} requests booked, {asked(server)} asked")
            for path in differing:
                print(f"differs: {path} {fields(calm.root / path, killed.root / path)}")
    if args.engine == "tinker":
        print(f"lost in flight at a kill: {lost}; in all {sum(lost)}")
    print(f"outputs that differ: {differing or 'none'}")
    failed = bool(differing) or again != requests or max(lost, default=0) > IN_FLIGHT
    print("FAILED" if failed else "nothing that was paid for was lost or paid for again")
    sys.exit(1 if failed else 0)


@contextmanager
def prepared(folder: Path, engine: str) -> Iterator[tuple[Project, Loopback | None]]:
    """A fresh repository with an empty cache, and the service if one is needed."""
    folder.mkdir()
    project = copy_project(folder)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        project.git(*command)
    if engine == "local":
        yield project, None
        return
    # One row at a time: the rows of a batch change each other's last bits, and what arrives together is chance.
    with serving(engine=settings(batch_rows=1)) as server:
        project.set(engine={"name": "tinker"}, prices={"model": "tiny"})
        own = {"TINKER_BASE_URL": server.url, "TINKER_API_KEY": KEY, "TINKER_TELEMETRY": "0"}
        yield Project(project.root, {**project.environment, **own}), server


def disturb(project: Project, server: Loopback | None, kills: int, seconds: float, rng: random.Random) -> list[int]:
    """Kills so many runs, each at a random moment; returns how many requests each kill cost."""
    lost = []
    for number in range(kills):
        before = asked(server) - booked(project)
        process = start(project)
        time.sleep(rng.uniform(1.0, max(2.0, 2.0 * seconds / kills)))
        if process.poll() is not None:
            print(f"done before kill {number + 1}", flush=True)
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.5)  # what was on its way to the service arrives
        lost.append(asked(server) - booked(project) - before)
    return lost


def start(project: Project) -> subprocess.Popen[bytes]:
    """What `make factory` runs, as the leader of a process group."""
    log = (project.root.parent / "log").open("ab")
    return subprocess.Popen(
        ["sh", "-c", f"{sys.executable} -m posttrain.cli check && exec {sys.executable} -m dvc repro"],
        cwd=project.root,
        env=project.environment,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def finish(project: Project) -> None:
    """Runs the pipeline to its end; without one, the last lines of what it said are printed."""
    if start(project).wait():
        said = (project.root.parent / "log").read_text(errors="replace").splitlines()
        sys.exit("\n".join(["the pipeline failed:", *said[-40:]]))


def asked(server: Loopback | None) -> int:
    """Requests for samples that reached the service."""
    if server is None:
        return 0
    return sum(number for path, number in server.counts().items() if path.endswith("/asample"))


def booked(project: Project) -> int:
    """Requests for samples in the ledger."""
    if not project.store.exists():
        return 0
    connection = sqlite3.connect(project.store)
    try:
        return int(connection.execute("SELECT count(*) FROM charges WHERE sampled > 0").fetchone()[0])
    except sqlite3.OperationalError:  # made, and its tables not yet
        return 0
    finally:
        connection.close()


def outputs(project: Project) -> dict[str, str]:
    """SHA-256 of every episode file, metric and curve, and of the data; all but what the service's cache had held."""
    kinds = ("runs/**/*.jsonl", "data/**/*.jsonl", "metrics/**/*.json", "metrics/**/*.csv", "metrics/*.md")
    files = sorted(path for kind in kinds for path in project.root.glob(kind))
    return {str(path.relative_to(project.root)): hashlib.sha256(content(path)).hexdigest() for path in files}


def content(path: Path) -> bytes:
    """The file without its `cached` fields: how much the service had in its cache depends on what it was asked when."""
    if path.suffix != ".jsonl":
        return path.read_bytes()
    rows = ({key: value for key, value in row.items() if key != "cached"} for row in read_jsonl(path))
    return "".join(map(json_line, rows)).encode()


def fields(one: Path, other: Path) -> str:
    """Which fields of two JSON Lines files differ, and in how many rows."""
    if one.suffix != ".jsonl" or not other.exists():
        return ""
    rows = zip(read_jsonl(one), read_jsonl(other), strict=False)
    counts = Counter(key for a, b in rows for key in a.keys() | b.keys() if a.get(key) != b.get(key))
    return ", ".join(f"{key} in {number} rows" for key, number in counts.items())


if __name__ == "__main__":
    main()
