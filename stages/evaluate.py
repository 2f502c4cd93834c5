"""Episodes of one policy on one split, not yet scored.

usage: evaluate.py RUN --policy FOLDER --split val|test [--closed-book] [--top-k K] [--max-searches N]
"""

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path

from posttrain import station
from posttrain.engine.settings import EngineSettings
from posttrain.files import sha256_file
from posttrain.paid import paid
from posttrain.settings import load
from posttrain.train.checkpoint import read_checkpoint
from posttrain.wiki.environment import HarnessSettings
from posttrain.wiki.evaluate import evaluate
from posttrain.wiki.questions import PREP, questions
from posttrain.wiki.searching import open_search
from posttrain.wiki.session import open_session, prompt_text
from posttrain.wiki.settings import EvaluateSettings
from posttrain.wiki.tasks import closed_book_tasks, research_tasks


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path)
    parser.add_argument("--policy", type=Path, required=True)
    parser.add_argument("--split", choices=["val", "test"], required=True)
    parser.add_argument("--closed-book", action="store_true")
    parser.add_argument("--top-k", type=int)
    parser.add_argument("--max-searches", type=int)
    return parser.parse_args()


async def main() -> None:
    args = arguments()
    settings, harness = load("evaluate", EvaluateSettings), load("harness", HarnessSettings)
    harness = replace(
        harness, top_k=args.top_k or harness.top_k, max_searches=args.max_searches or harness.max_searches
    )
    with open_session(load("engine", EngineSettings)) as session, open_search(args.closed_book) as search:
        rows = questions(args.split)
        if args.closed_book:
            tasks = closed_book_tasks(rows, prompt_text("closed_book"))
        else:
            tasks = research_tasks(rows, search, prompt_text("research"), harness)
        policy = read_checkpoint(args.policy).policy(session.engine, session.store)
        if args.split == "test":
            how = json.dumps({**asdict(harness), "closed_book": args.closed_book}, sort_keys=True)
            session.store.record_opening(sha256_file(PREP / "test.jsonl"), policy.lineage, how)
        await evaluate(session, policy, tasks, harness.max_tokens, settings, args.run / "episodes.jsonl")


if __name__ == "__main__":
    station.run("evaluate", paid(main))
