"""What the harness itself costs per episode, beside a loop that renders and encodes the whole conversation each turn.

Run: python -m benchmarks.bench_orchestration [--episodes 512] [--repeats 3]

Two searches of three paragraphs, about 980 tokens, SmolLM2's tokenizer, 128 episodes at a time; sampler and search
answer at once from prepared values, so that what is measured is templates, tokens, parsing and bookkeeping. Every
episode has text of its own. Both sides end with the decoded trace; CPU time of the process, best of the repeats.
"""

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from posttrain.chat.format import ChatFormat
from posttrain.rollout.environment import Continue
from posttrain.rollout.loop import Sampled, run_episode
from posttrain.wiki.environment import HarnessSettings, ResearchEnvironment
from tests.families import smollm2

AT_ONCE, MUST_MS = 128, 4.0
LIMITS = HarnessSettings(max_searches=5, top_k=3, max_tokens=512, passage_words=None)
PROMPT = (Path(__file__).parents[1] / "prompts/research.md").read_text(encoding="utf-8").strip()


@dataclass(frozen=True)
class Task:
    """A question, what each query finds, and the sampler's replies as tokens with the end of turn."""

    question: str
    found: dict[str, list[dict[str, str]]]
    replies: list[list[int]]


def make_tasks(chat: ChatFormat, count: int) -> list[Task]:
    """Tasks of random words, the common ones often and some that the vocabulary must piece together."""
    rng = random.Random(0)
    syllables = [a + b for a in "bdfgklmnprstv" for b in ("a", "e", "i", "o", "u", "an", "er", "il", "or")]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 3))) for _ in range(4000)]
    common = [
        "the",
        "of",
        "and",
        "in",
        "was",
        "by",
        "a",
        "for",
        "to",
        "is",
        "film",
        "city",
        "river",
        "born",
        "who",
        "with",
    ]
    words += common * 500

    def text(length: int) -> str:
        chosen = rng.choices(words, k=length)
        return " ".join([chosen[0].capitalize(), *chosen[1:]]) + f" in {rng.randint(1800, 2020)}."

    def task() -> Task:
        queries = [text(4), text(4)]
        found = {q: [{"title": text(2), "text": text(75)} for _ in range(3)] for q in queries}
        said = [f"<search>{queries[0]}</search>", f"<search>{queries[1]}</search>", f"<answer>{text(2)}</answer>"]
        return Task(text(14), found, [[*chat.encode_content(reply), chat.end] for reply in said])

    return [task() for _ in range(count)]


def environment_of(task: Task) -> ResearchEnvironment:
    async def search(query: str, k: int) -> list[dict[str, str]]:
        return task.found[query][:k]

    return ResearchEnvironment(task.question, search, PROMPT, LIMITS)


async def stitched(task: Task, chat: ChatFormat) -> int:
    """Our loop; returns the episode's tokens."""
    replies = iter(task.replies)

    async def sample(_: list[int]) -> Sampled:
        await asyncio.sleep(0)
        tokens = next(replies)
        return Sampled(tokens, [-0.5] * len(tokens), "stop")

    episode = await run_episode(sample, environment_of(task), chat, id="q", attempt=0)
    assert len(episode.info["queries"]) == 2
    episode.trace(chat)
    return len(episode.prompt) + len(episode.tokens)


async def rendered(task: Task, tokenizer: Any) -> int:
    """The plain loop: the whole conversation through `apply_chat_template` before every reply."""
    environment = environment_of(task)
    system, user = environment.messages()
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    for reply in task.replies:
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=True)["input_ids"]
        await asyncio.sleep(0)
        text = tokenizer.decode(reply, skip_special_tokens=True)
        messages.append({"role": "assistant", "content": text})
        outcome = await environment.step(text)
        if isinstance(outcome, Continue):
            messages.append({"role": "user", "content": outcome.text})
    tokenizer.decode(ids + reply)
    return len(ids) + len(reply)


def cpu_ms(tasks: list[Task], play: Callable[[Task], Awaitable[int]]) -> tuple[float, float]:
    """CPU milliseconds and tokens per episode."""

    async def everything() -> list[int]:
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(task: Task) -> int:
            async with gate:
                return await play(task)

        return await asyncio.gather(*map(one, tasks))

    start = time.process_time()
    tokens = asyncio.run(everything())
    return (time.process_time() - start) * 1e3 / len(tasks), mean(tokens)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    tokenizer = smollm2()
    chat = ChatFormat.of(tokenizer)
    tasks = make_tasks(chat, arguments.episodes)
    ours, plain = [], []
    for _ in range(arguments.repeats):
        ours.append(cpu_ms(tasks, lambda task: stitched(task, chat)))
        plain.append(cpu_ms(tasks, lambda task: rendered(task, tokenizer)))
    (our_ms, tokens), (plain_ms, plain_tokens) = min(ours), min(plain)
    assert tokens == plain_tokens
    print(f"{arguments.episodes} episodes, {AT_ONCE} at once, {tokens:.0f} tokens each")
    print(f"{'':24}{'ours':>12}{'rendered':>12}{'rendered/ours':>16}")
    print(f"{'CPU ms per episode':24}{our_ms:>12.2f}{plain_ms:>12.2f}{plain_ms / our_ms:>16.2f}")
    print(f"CPU ms per episode: {our_ms:.2f}, must {MUST_MS}: {'met' if our_ms <= MUST_MS else 'MISSED'}")
    return int(our_ms > MUST_MS)


if __name__ == "__main__":
    sys.exit(main())
