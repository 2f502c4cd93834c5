"""Scripted episodes for the cold start: a fixed hand plays the environment as a good policy would."""

from collections.abc import Sequence

from posttrain.chat.format import ChatFormat
from posttrain.errors import SettingsError
from posttrain.files import Row
from posttrain.rollout.episode import Episode
from posttrain.rollout.loop import Sampled, run_episode
from posttrain.rollout.runner import Task


async def demonstrate(task: Task, question: Row, gold: Row, chat: ChatFormat) -> Episode:
    """Searches for each scripted query in turn, then gives the gold answer.

    Raises:
        SettingsError: the data's source has no scripted queries.
    """
    if not gold.get("queries"):
        raise SettingsError(
            f"coldstart.demonstrations: question {question['id']} has no scripted queries (only data.source miniwiki "
            "has them); set coldstart.demonstrations to 0"
        )
    replies = [f"<search>{query}</search>" for query in gold["queries"]]
    replies.append(f"<answer>{question['answers'][0]}</answer>")
    script = iter(replies)

    async def write(_: Sequence[int]) -> Sampled:
        tokens = [*chat.encode_content(next(script)), chat.end]
        return Sampled(tokens, [0.0] * len(tokens), "stop")

    return await run_episode(write, task.environment(), chat, id=task.id, attempt=0)
