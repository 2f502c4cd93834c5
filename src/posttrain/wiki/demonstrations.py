"""Scripted episodes for the cold start: a fixed hand plays the environment as a good policy would."""

from collections.abc import Sequence

from posttrain.chat.format import ChatFormat
from posttrain.errors import DataError
from posttrain.files import Row
from posttrain.rollout.episode import Episode
from posttrain.rollout.loop import Sampled, run_episode
from posttrain.rollout.runner import Task


async def demonstrate(task: Task, question: Row, gold: Row, chat: ChatFormat) -> Episode:
    """Searches for each scripted query in turn, else for each gold title, then gives the gold answer.

    Raises:
        DataError: the question has neither.
    """
    queries = gold.get("queries") or gold["titles"]
    if not queries:
        raise DataError(
            f"question {question['id']} has no supporting titles to demonstrate with; set coldstart.demonstrations to 0"
        )
    replies = [f"<search>{query}</search>" for query in queries]
    replies.append(f"<answer>{question['answers'][0]}</answer>")
    script = iter(replies)

    async def write(_: Sequence[int]) -> Sampled:
        tokens = [*chat.encode_content(next(script)), chat.end]
        return Sampled(tokens, [0.0] * len(tokens), "stop")

    return await run_episode(write, task.environment(), chat, id=task.id, attempt=0)
