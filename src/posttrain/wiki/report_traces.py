"""Traces as the report page holds them: short rows to filter by, and the text with who wrote it."""

from collections.abc import Mapping, Sequence
from typing import Any

from posttrain.chat.format import ChatFormat
from posttrain.report.pack import packed
from posttrain.rollout.pieces import Piece, prompt_of, text_pieces
from posttrain.wiki.traces import Trace

CHUNK = 100
"""Episodes that the page unpacks at a time."""
INSERTED, SAMPLED, CONTROL, SAMPLED_CONTROL, GOLD = range(5)
"""Kinds of text, as reader.js knows them."""
_LOGPROB_DIGITS = 3


def packed_traces(
    arms: Mapping[str, tuple[str, Sequence[Trace]]], human: Mapping[tuple[str, str], str], chat: ChatFormat
) -> list[str]:
    """The elements of the page that hold the traces.

    Args:
        arms: by key, an arm's title and its traces.
        human: labels that a person gave, by arm and question id.
        chat: of the model that wrote them.
    """
    index: dict[str, Any] = {"chunk": CHUNK, "arms": []}
    elements = []
    for key, (title, traces) in arms.items():
        rows = [_row(number, trace, human.get((key, trace.episode.id))) for number, trace in enumerate(traces)]
        index["arms"].append({"key": key, "title": title, "rows": rows})
        for start in range(0, len(traces), CHUNK):
            texts = [trace_text(trace, chat) for trace in traces[start : start + CHUNK]]
            elements.append(packed(f"traces-{key}-{start // CHUNK}", texts))
    return [packed("index", index), *elements]


def _row(number: int, trace: Trace, human: str | None) -> dict[str, Any]:
    """What the list shows and the filters need, under names of one letter since there are thousands."""
    scored = trace.scored or {}
    seen = {title for titles in scored["retrieved"] for title in titles}
    return {
        "n": number,
        "i": scored["id"],
        "s": scored["question"],
        "a": scored["answers"],
        "p": scored["prediction"],
        "e": scored["end"],
        "f": round(scored["f1"], 4),
        "b": scored["label"] or "",
        "h": human or "",
        "y": scored["type"],
        "q": scored["queries"],
        "g": [[title, title in seen] for title in scored["gold_titles"]],
        "t": scored["tokens"],
        "u": scored["usd"],
    }


def trace_text(trace: Trace, chat: ChatFormat) -> list[list[list[Any]]]:
    """The first prompt and what follows, each as a list of `[kind, text]`.

    What the policy sampled is `[kind, [text, …], [logprob, …]]`.
    """
    gold = set((trace.scored or {}).get("gold_titles", ()))
    return [_texts(text_pieces(part, chat), gold) for part in (prompt_of(trace.episode), trace.episode)]


def _texts(pieces: Sequence[Piece], gold: set[str]) -> list[list[Any]]:
    found: list[list[Any]] = []
    for piece in pieces:
        if piece.sampled:
            _add_sampled(found, piece)
        elif piece.control:
            found.append([CONTROL, piece.text])
        else:
            found += _marked(piece.text, gold)
    return found


def _add_sampled(found: list[list[Any]], piece: Piece) -> None:
    kind, logprob = SAMPLED_CONTROL if piece.control else SAMPLED, round(sum(piece.logprobs), _LOGPROB_DIGITS)
    if found and found[-1][0] == kind:
        found[-1][1].append(piece.text)
        found[-1][2].append(logprob)
    else:
        found.append([kind, [piece.text], [logprob]])


def _marked(text: str, gold: set[str]) -> list[list[Any]]:
    """What the harness put in, with the lines of gold paragraphs apart: search results are `[Title] text` lines."""
    found: list[list[Any]] = []
    for line in text.splitlines(keepends=True):
        kind = GOLD if any(line.startswith(f"[{title}] ") for title in gold) else INSERTED
        if found and found[-1][0] == kind == INSERTED:
            found[-1][1] += line
        else:
            found.append([kind, line])
    return found
