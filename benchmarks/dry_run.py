"""The recipe at its full size with a sampler that answers at once: memory, time, tokens, and estimate against ledger.

Run: PYTHONPATH=.:benchmarks python benchmarks/dry_run.py [--paragraphs 507494] [--scale 1.0]

Prep and index on a stand-in of HotpotQA's size, then the real harness, search, selection, datums, SFT and GRPO loops,
sample store, ledger and cap with the Qwen3.5 tokenizer and template, at the sizes and prices of profile `full`.
Nothing is asked of a service; what is left is all that this machine has to do in such a run.
"""

import argparse
import asyncio
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hotpot_standin import write_standin
from scripted import scripted

from posttrain.engine.metered import MeteredEngine
from posttrain.files import write_jsonl
from posttrain.ledger.account import Account
from posttrain.ledger.price import PriceSettings
from posttrain.ledger.purse import Purse
from posttrain.ledger.store import SampleStore
from posttrain.progress import Progress
from posttrain.rollout.episode import Episode
from posttrain.rollout.policy import Drawing, Policy
from posttrain.rollout.runner import Rollouts, Runner
from posttrain.settings import load
from posttrain.train.curve import Curve
from posttrain.train.grpo import train_grpo
from posttrain.train.grpo_settings import GrpoSettings
from posttrain.train.learner import Learner
from posttrain.train.sft import Training, train_sft
from posttrain.train.sft_settings import SftSettings
from posttrain.wiki.data_settings import DataSettings
from posttrain.wiki.environment import HarnessSettings, SearchCorpus
from posttrain.wiki.estimate import estimate
from posttrain.wiki.index import build
from posttrain.wiki.index_settings import IndexSettings
from posttrain.wiki.prep import prepare
from posttrain.wiki.questions import questions
from posttrain.wiki.reinforce import research_recipe
from posttrain.wiki.searching import open_search
from posttrain.wiki.select import select
from posttrain.wiki.session import Session, prompt_text
from posttrain.wiki.settings import CollectSettings, SelectSettings
from posttrain.wiki.tasks import research_tasks
from tests.families import chat_of
from tests.project import ROOT

WITHIN = 0.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paragraphs", type=int, default=507_494)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the recipe's questions and steps")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dry_run.") as name:
        folder = Path(name)
        for part in ("prompts", "dvc.yaml"):
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, folder / part)
        shutil.copy(ROOT / "profiles/full.yaml", folder / "params.yaml")
        os.chdir(folder)
        os.environ["POSTTRAIN_CACHE"] = str(folder / "cache")
        data(args.paragraphs)
        missed = asyncio.run(run(args.scale))
    sys.exit(1 if missed else 0)


def data(paragraphs: int) -> None:
    """Stand-in, prep and index, each in a process of its own, so that memory is each one's own."""
    rows = paragraphs * 90_447 // 507_494
    for name, work in (("stand-in", standin), ("prep", prep), ("index", index)):
        started = time.monotonic()
        process = multiprocessing.get_context("spawn").Process(target=work, args=(rows, paragraphs, name, started))
        process.start()
        process.join()
        if process.exitcode:
            sys.exit(f"{name} failed")


def standin(rows: int, paragraphs: int, *about: Any) -> None:
    Path("source").mkdir()
    write_standin(Path("source"), rows, 7_405, paragraphs, ("jsonl",))
    told(*about)


def prep(_rows: int, _paragraphs: int, *about: Any) -> None:
    files = {"source": "files", "train_file": "source/train.jsonl", "dev_file": "source/dev.jsonl"}
    prepare(replace(load("data", DataSettings), **files), Path("data/prep"))
    told(*about)


def index(_rows: int, _paragraphs: int, *about: Any) -> None:
    build(Path("data/prep/corpus.jsonl"), Path("data/index"), load("index", IndexSettings))
    told(*about)


class Rehearsal:
    """One run's stations, each with a purse of its own in one ledger."""

    def __init__(self, store: SampleStore, search: SearchCorpus, scale: float) -> None:
        self.store, self.search, self.scale = store, search, scale
        self.harness, self.prices = load("harness", HarnessSettings), load("prices", PriceSettings)
        self.chat, self.train = chat_of("qwen3_5_4b"), questions("train")
        self.engine = scripted(self.chat, self.train)
        self.steps = max(1, round(load("grpo", GrpoSettings).steps * scale))

    def session(self, stage: str) -> Session:
        purse = Purse(self.store, Account("dry", "", stage, stage), "script", self.prices, 1e9)
        return Session(MeteredEngine(self.engine, purse), self.store, self.chat, purse)

    async def collect(self) -> list[Episode]:
        settings = load("collect", CollectSettings)
        rows = self.train[: round(settings.questions * self.scale)]
        tasks = research_tasks(rows, self.search, prompt_text("research"), self.harness)
        drawing = Drawing(self.harness.max_tokens, settings.temperature, 0, (self.chat.end,))
        policy = Policy("base", self.store, self.session("collect").engine.base_sampler)
        with Progress("collect", len(tasks) * settings.tries, "episode") as progress:
            rollouts = Rollouts(settings.tries, settings.concurrency, drawing)
            groups = await Runner(policy, self.chat, rollouts, progress).run(tasks)
        return [episode for group in groups for episode in group]

    async def sft(self, episodes: Sequence[Episode]) -> None:
        answers = {row["id"]: row["answers"] for row in self.train}
        kept, _ = select([one.to_row() for one in episodes], answers, load("select", SelectSettings), self.prices)
        write_jsonl(Path("data/sft/episodes.jsonl"), kept)  # from here on the estimate knows how many there are
        chosen = {(row["id"], row["attempt"]) for row in kept}
        examples = [episode for episode in episodes if (episode.id, episode.attempt) in chosen]
        settings = load("sft", SftSettings)
        learner = Learner.new(self.session("sft").engine, self.store, 32, 0)
        training = Training(settings.epochs, settings.batch, settings.lr)
        await train_sft(learner, examples, training, 0, Curve(Path("metrics/curves/sft.csv")), "sft")

    async def grpo(self) -> None:
        settings, here = replace(load("grpo", GrpoSettings), steps=self.steps), self.session("grpo")
        recipe = research_recipe(here, self.search, self.train, settings, self.harness, self.prices, 0)
        learner = Learner.new(here.engine, self.store, 32, 1)
        await train_grpo(learner, recipe, settings, Curve(Path("metrics/curves/grpo.csv")))

    def compare(self) -> bool:
        """Prints the ledger beside the estimates; True if one is further off than allowed."""
        self.store.flush()
        steps = load("grpo", GrpoSettings).steps
        missed = False
        print(
            f"{'':8}{'requests':>10}{'prefill':>13}{'sampled':>11}{'trained':>12}{'USD':>8}{'estimate':>10}{'ratio':>7}"
        )
        for stage, share in (("collect", self.scale), ("sft", 1.0), ("grpo", self.steps / steps)):
            spending = self.store.spend.of_run(stage, stage)
            expected = estimate(stage, Path("params.yaml"), self.store.spend, "script", self.prices)
            assert expected is not None
            assert not expected.measured
            ratio, tokens = expected.usd * share / spending.usd, spending.tokens
            missed |= abs(ratio - 1) > WITHIN
            print(
                f"{stage:8}{spending.requests:10,}{tokens.prefill:13,}{tokens.sampled:11,}{tokens.trained:12,}"
                f"{spending.usd:8.2f}{expected.usd * share:10.2f}{ratio:7.2f}"
            )
        print(f"estimates within {WITHIN:.0%} of the ledger: {'MISSED' if missed else 'met'}")
        return missed


async def run(scale: float) -> bool:
    """Collect, select, SFT, GRPO; True if an estimate was missed."""
    with SampleStore(Path("cache/samples.sqlite")) as store, open_search() as search:
        rehearsal = Rehearsal(store, search, scale)
        started = time.monotonic()
        episodes = await rehearsal.collect()
        told("collect", started)
        started = time.monotonic()
        await rehearsal.sft(episodes)
        told("sft", started)
        started = time.monotonic()
        await rehearsal.grpo()
        told("grpo", started)
        return rehearsal.compare()


def told(name: str, started: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:10} {time.monotonic() - started:8.1f} s, peak {peak:,.0f} MB", flush=True)


if __name__ == "__main__":
    main()
