"""Measuring a policy: one episode per question, stored as sampled and not yet scored."""

from collections.abc import Sequence
from pathlib import Path

from posttrain.files import write_jsonl
from posttrain.progress import Progress
from posttrain.rollout.policy import Drawing, Policy
from posttrain.rollout.runner import Rollouts, Runner, Task
from posttrain.wiki.session import Session
from posttrain.wiki.settings import EvaluateSettings


async def evaluate(
    session: Session, policy: Policy, tasks: Sequence[Task], max_tokens: int, settings: EvaluateSettings, out: Path
) -> None:
    """Plays every task once and writes the episodes, in the order of `tasks`, with their traces as text."""
    drawing = Drawing(max_tokens, settings.temperature, 0, (session.chat.end,))
    with Progress(out.parent.name, len(tasks), "episode") as progress:
        rollouts = Rollouts(1, settings.concurrency, drawing)
        groups = await Runner(policy, session.chat, rollouts, progress).run(tasks)
    session.store.flush()
    episodes = [episode for group in groups for episode in group]
    write_jsonl(out, ({**episode.to_row(), "trace": episode.trace(session.chat)} for episode in episodes))
