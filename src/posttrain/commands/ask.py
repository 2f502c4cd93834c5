"""`posttrain ask`: a question for the research agent, with its searches and sources as they happen."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posttrain.wiki.ask import Asked
    from posttrain.wiki.environment import HarnessSettings

HELP = "ask the trained agent a question"
DESCRIPTION = """Plays one question with a checkpoint, with engine, harness and prompt from params.yaml and the
search over data/index."""
EXAMPLE = """examples:
  posttrain ask "Which river flows through Ada Holm's birthplace?"
  posttrain ask --policy models/base "…"      the same question for the untrained model

It prints each query with the paragraphs that it found, then the answer, then how the episode ended and what it took.
Exit code 0 when there is an answer, 1 when there is none."""
SNIPPET = 160
"""Characters of a paragraph that are shown; the model reads all that harness.passage_words lets it."""
SAID = 300


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    parser.add_argument("question", help="in quotes")
    parser.add_argument(
        "--policy", type=Path, metavar="FOLDER", help="a checkpoint folder; else the latest of models/grpo_best, …"
    )


def run(chosen: argparse.Namespace) -> int:
    """Prints searches, answer and costs; 1 if there is no answer, 130 if interrupted.

    Raises:
        PosttrainError: the question holds no word, or anything that it needs is missing.
    """
    from posttrain.errors import SettingsError

    if not any(letter.isalnum() for letter in chosen.question):
        raise SettingsError('the question holds no word; write one in quotes, as in: posttrain ask "Who wrote Emma?"')
    try:
        return _ask(chosen.question, chosen.policy)
    except KeyboardInterrupt:
        print("interrupted; what was sampled is kept", file=sys.stderr, flush=True)
        # Not an exception: the end of the process would wait for a sampling batch in a thread.
        sys.stdout.flush()
        os._exit(130)


def _ask(question: str, policy: Path | None) -> int:
    import asyncio
    from contextlib import chdir

    from posttrain.ledger.places import project_root
    from posttrain.rollout.episode import End
    from posttrain.settings import load
    from posttrain.terminal import emphasized, harmless, say
    from posttrain.wiki.ask import ask
    from posttrain.wiki.environment import HarnessSettings
    from posttrain.wiki.policies import latest_policy

    number = 0

    def tell(query: str, found: Sequence[Mapping[str, Any]]) -> None:
        nonlocal number
        number += 1
        say(f"search {number}: {emphasized(harmless(query) or '(empty)')}")
        for line in sources(found):
            say(f"  {line}")

    given = policy and policy.absolute()
    with chdir(project_root()):
        folder = given or latest_policy()
        print(f"asking {harmless(str(policy or folder))}", file=sys.stderr, flush=True)
        asked = asyncio.run(ask(question, folder, tell))
        harness = load("harness", HarnessSettings)
    answered = asked.episode.end is End.ANSWER
    say(f"answer: {emphasized(harmless(asked.episode.answer) or '(empty)')}" if answered else why_none(asked, harness))
    say(took(asked))
    return 0 if answered else 1


def sources(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each paragraph: its title and how it begins."""
    from posttrain.terminal import harmless

    lines = [f"[{harmless(str(each['title']))}] {harmless(str(each['text']), SNIPPET)}" for each in found]
    return lines or ["nothing found"]


def why_none(asked: "Asked", harness: "HarnessSettings") -> str:
    """How an episode ended that has no answer, with the policy's last words."""
    from posttrain.rollout.episode import End
    from posttrain.terminal import harmless

    reasons = {
        End.NO_ACTION: "the last reply held neither a search nor an answer",
        End.LENGTH: f"the last reply reached harness.max_tokens ({harness.max_tokens})",
        End.BUDGET: f"it asked for more than harness.max_searches ({harness.max_searches})",
    }
    return f"no answer: {reasons[asked.episode.end]}: {harmless(asked.said, SAID) or '(empty)'}"


def took(asked: "Asked") -> str:
    """End, replies, tokens, seconds and what was paid now."""
    episode = asked.episode
    cached = f", {episode.cached:,} of them cached" if episode.cached else ""
    tokens = f"{episode.prefill:,} prompt tokens{cached}, {episode.generated:,} sampled"
    paid = f"{asked.usd:.4f} USD" if asked.drawn.total else "all of it from the sample store, 0 USD"
    replies = "1 reply" if episode.turns == 1 else f"{episode.turns} replies"
    return f"ended: {episode.end}; {replies}, {tokens}; {asked.seconds:.1f} s, {paid}"
