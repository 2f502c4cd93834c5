"""What a report is made of, made up: six arms over the same questions, with traces of real tokens."""

import random
import string
from functools import cache
from typing import Any

from posttrain.rollout.episode import End, Episode
from posttrain.wiki.ablation import ARMS, compare
from posttrain.wiki.ablation_settings import AblationSettings
from posttrain.wiki.labels import failure_label
from posttrain.wiki.report_inputs import Inputs
from posttrain.wiki.report_story import Price
from posttrain.wiki.score import f1
from posttrain.wiki.summary import summary
from posttrain.wiki.traces import Trace

SKILL = {"closed_book": 0, "base": 10, "sft": 50, "grpo": 75, "grpo_top1": 75, "grpo_budget2": 75}
"""Percent of the questions that an arm answers."""
TYPES = ("bridge", "comparison")


@cache
def vocabulary() -> list[str]:
    rng = random.Random(0)
    return ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 9))) for _ in range(20_000)]


def prose(words: int, seed: str) -> str:
    """So many words, the common ones as common as in a language: it can be compressed as little as real text."""
    known, rng = vocabulary(), random.Random(seed)
    return " ".join(known[int(len(known) ** rng.random()) - 1] for _ in range(words))


def trace(chat: Any, number: int, solved: bool, texts: dict[int, str], words: int) -> Trace:
    """An episode with one search, whose result holds the gold paragraph unless it is each third failure."""
    question, answer, title = f"Which town is number {number}?", f"Town {number}", f"Gold {number}"
    seen = [title, f"Other {number}"] if solved or number % 3 else [f"Other {number}"]
    results = "\n".join(f"[{each}] It stands there. {prose(words, each)}" for each in seen)
    said = answer if solved else texts.get(number, "Nowhere")
    first = [*chat.encode_content(f"<search>number {number}</search>"), chat.end]
    inserted = chat.next_turn(f"<results>\n{results}\n</results>")
    last = [*chat.encode_content(f"<answer>{said}</answer>"), chat.end]
    sampled = [1] * len(first) + [0] * len(inserted) + [1] * len(last)
    logprobs = [-0.05 * (i % 90) - 0.001 if flag else 0.0 for i, flag in enumerate(sampled)]
    episode = Episode(
        f"q{number}",
        0,
        chat.prompt("Answer by searching.", question),
        first + inserted + last,
        sampled,
        logprobs,
        End.ANSWER,
        said,
        2,
        200,
        0,
        len(first) + len(last),
        {"queries": [f"number {number}"], "retrieved": [seen], "extra_actions": 0},
    )
    score = f1(said, [answer])
    row = {
        "id": episode.id,
        "question": question,
        "answers": [answer],
        "prediction": said,
        "type": TYPES[number % 2],
        "level": "easy",
        "em": float(score == 1),
        "f1": score,
        "end": "answer",
        "label": failure_label("answer", score, said, [answer], [title], seen),
        "searches": 1,
        "queries": [f"number {number}"],
        "retrieved": [seen],
        "gold_titles": [title],
        "recall": float(title in seen),
        "tokens": 150,
        "generated": episode.generated,
        "usd": 0.0007,
        "usd_cached": 0.0005,
    }
    return Trace(episode, row)


def made_inputs(chat: Any, questions: int, texts: dict[int, str] | None = None, words: int = 3) -> Inputs:
    """Inputs with so many questions; `texts` are wrong answers by the number of the question."""
    made: dict[tuple[int, bool], Trace] = {}  # arms that agree share a trace

    def traced(arm: str, n: int) -> Trace:
        key = n, n * 37 % 100 < SKILL[arm]
        if key not in made:
            made[key] = trace(chat, *key, texts or {}, words)
        return made[key]

    traces = {arm: (title, [traced(arm, n) for n in range(questions)]) for arm, title in ARMS.items()}
    scored = {arm: [each.scored or {} for each in found] for arm, (_, found) in traces.items()}
    settings = AblationSettings(resamples=200, confidence=0.95, seed=0)
    columns = ("reward", "skipped_groups", "searches", "answered", "answer_length", "tokens", "logprob_gap_tail", "usd")
    grpo = [
        {"step": float(step), "logprob_gap_mean": 1e-6} | dict.fromkeys(columns, step / 40) for step in range(1, 31)
    ]
    for row in grpo:
        row["budget_hit"] = 0.2 if row["step"] == 12 else 0.0
    return Inputs(
        ablation=compare(scored, settings, {"test_sha256": "ab" * 32, "test_opened": 6}),
        prep={"source": "miniwiki"},
        index={"n": 50, "recall@1": 0.4, "recall@3": 0.6, "recall@10": 0.8},
        val=[("Base", 0.1, [0.05, 0.2]), ("SFT epoch 1", 0.5, [0.4, 0.6])],
        val_n=50,
        curves={
            "coldstart": [],
            "sft": [{"step": s, "loss": 1 / s, "tokens": 100} for s in (1.0, 2.0, 3.0)],
            "grpo": grpo,
        },
        measured={arm: summary(rows) for arm, rows in scored.items()},
        traces=traces,
        prices={"sft": Price(2.9, "6,000 attempts sampled"), "grpo": Price(8.5, "30 steps")},
    )
