"""An episode as a sample of an Inspect log: messages, scores, tokens, and what its searches brought.

A search is a tool call and its results the tool's message, so that the viewer puts them together.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from inspect_ai.log import EvalSample, EvalSampleLimit
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import Score
from inspect_ai.tool import ToolCall

from posttrain.chat.format import ChatFormat
from posttrain.rollout.episode import End, Episode
from posttrain.wiki.cases import Case
from posttrain.wiki.turns import Turn, turns

SCORES = ("f1", "em")
_LONGEST_ID = 120


def sample_of(case: Case, model: str, chat: ChatFormat) -> EvalSample:
    """Several attempts at a question are epochs of its sample, counted from 1."""
    episode = case.episode
    messages = _messages(turns(episode, chat))
    usage = usage_of(episode)
    last = next((each for each in reversed(messages) if isinstance(each, ChatMessageAssistant)), None)
    choices = [ChatCompletionChoice(message=last, stop_reason=_stop_reason(episode.end))] if last else []
    scores = None
    if case.score is not None:
        why, said = case.score.label or "solved", clean(episode.answer)
        values = zip(SCORES, (case.score.f1, case.score.em), strict=True)
        scores = {name: Score(value=value, answer=said, explanation=why) for name, value in values}
    return EvalSample(
        id=_id(episode.id),
        epoch=episode.attempt + 1,
        input=clean(case.question),
        target=clean(case.answers),
        messages=messages,
        output=ModelOutput(model=model, choices=choices, usage=usage),
        scores=scores,
        metadata=clean(_notes(case)),
        model_usage={model: usage},
        limit=EvalSampleLimit(type="custom", limit=len(_queries(episode))) if episode.end is End.BUDGET else None,
    )


def _notes(case: Case) -> dict[str, Any]:
    return {
        "id": case.episode.id,
        "end": str(case.episode.end),
        "label": case.score.label if case.score else None,
        "queries": _queries(case.episode),
        "retrieved": case.episode.info.get("retrieved", []),
        "gold_titles": case.gold_titles,
        "turns": case.episode.turns,
    }


def _queries(episode: Episode) -> list[str]:
    return list(episode.info.get("queries", []))


def _messages(found: Sequence[Turn]) -> list[ChatMessage]:
    """A reply that is its search tag and nothing else is shown as the call alone; any other as it was written."""
    messages: list[ChatMessage] = []
    for number, turn in enumerate(found):
        text = clean(turn.text)
        if turn.role == "system":
            messages.append(ChatMessageSystem(content=text))
        elif turn.role == "user":
            messages.append(ChatMessageUser(content=text))
        elif turn.role == "results":
            messages.append(ChatMessageTool(content=text, tool_call_id=str(number - 1), function="search"))
        elif turn.query is None:
            messages.append(ChatMessageAssistant(content=text))
        else:
            bare = turn.text.strip() == f"<search>{turn.query}</search>"
            call = ToolCall(id=str(number), function="search", arguments={"query": clean(turn.query)}, type="function")
            messages.append(ChatMessageAssistant(content="" if bare else text, tool_calls=[call]))
    return messages


def _stop_reason(end: End) -> Any:
    return "max_tokens" if end is End.LENGTH else "stop"


def usage_of(episode: Episode) -> ModelUsage:
    """As Inspect counts: input tokens without those that came from a cache."""
    return ModelUsage(
        input_tokens=episode.prefill - episode.cached,
        output_tokens=episode.generated,
        total_tokens=episode.prefill + episode.generated,
        input_tokens_cache_read=episode.cached,
    )


def _id(id: str) -> str:
    """The id, or where it cannot name a file inside the log, as much of it as can, and a hash."""
    plain = "".join(letter if letter.isalnum() or letter in " ._-:" else "_" for letter in id[:_LONGEST_ID])
    return id if plain == id else f"{plain}-{hashlib.sha256(id.encode('utf-8', 'replace')).hexdigest()[:8]}"


def clean(value: Any) -> Any:
    """The same without halves of surrogate pairs, which no UTF-8 file can hold; U+FFFD stands for each."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {clean(key): clean(each) for key, each in value.items()}
    return [clean(each) for each in value] if isinstance(value, list | tuple) else value
