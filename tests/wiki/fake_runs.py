"""Runs as evaluation and scoring leave them, from scripted episodes with real tokens."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from posttrain.chat.format import ChatFormat
from posttrain.files import Row, write_text
from posttrain.ledger.price import PriceSettings
from posttrain.rollout.episode import End, Episode
from posttrain.wiki.environment import show_results
from posttrain.wiki.summary import scored_row
from tests.project import MODELS, ROOT

FREE = PriceSettings(None, 0.0, 0.0, 0.0, 0.0)
EVIL = "\x1b]0;owned\x07\x1b[2J\u202egnp\x00\x9b31m"


@cache
def tokenizer(name: str) -> Any:
    """The embedded model's, from where `make_place` links it: tests/families.py takes 12 s to make the same one."""
    from posttrain.engine.local.load import load_tokenizer

    return load_tokenizer(name)


@dataclass(frozen=True)
class Play:
    """One attempt at a question: the searches with what they found, then the last reply."""

    id: str
    last: str = "<answer>Orla</answer>"
    searches: Sequence[tuple[str, Sequence[tuple[str, str]]]] = ()
    question: str = "Which river runs through Vik?"
    answers: Sequence[str] = ("Orla",)
    gold: Sequence[str] = ("Vik",)
    answer: str = "Orla"
    end: End = End.ANSWER
    attempt: int = 0
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def episode(self) -> Episode:
        chat = ChatFormat.of(tokenizer("smollm2-135m-instruct"))
        parts: list[tuple[int, list[int]]] = []
        for query, found in self.searches:
            parts.append((1, [*chat.encode_content(f"<search>{query}</search>"), chat.end]))
            paragraphs = [{"title": title, "text": text} for title, text in found]
            parts.append((0, chat.next_turn(show_results(paragraphs, None))))
        parts.append((1, [*chat.encode_content(self.last), chat.end]))
        tokens = [token for _, run in parts for token in run]
        flags = [flag for flag, run in parts for _ in run]
        info = {
            "queries": [query for query, _ in self.searches],
            "retrieved": [[title for title, _ in found] for _, found in self.searches],
            "extra_actions": 0,
        }
        row = {"id": self.id, "attempt": self.attempt, "prompt": chat.prompt("Search.", self.question)}
        row |= {"tokens": tokens, "sampled": flags, "logprobs": [-0.5 if flag else 0.0 for flag in flags]}
        row |= {"end": self.end, "answer": self.answer if self.end is End.ANSWER else "", "turns": 1, "prefill": 9}
        return Episode.from_row({**row, "cached": 0, "generated": sum(flags), "info": info, **self.changes})

    @property
    def asked(self) -> dict[str, Any]:
        """The question's row, as in data/prep."""
        return {
            "id": self.id,
            "question": self.question,
            "answers": list(self.answers),
            "type": "single",
            "level": "easy",
        }


def solved(id: str, **others: Any) -> Play:
    return Play(id, searches=[("Vik river", [("Vik", "Vik lies on the Orla.")])], **others)


def misread(id: str, **others: Any) -> Play:
    found = [("Vik", "Vik lies on the Orla."), ("Vik (singer)", "Vik sings by the Nene.")]
    return Play(id, **{"last": "<answer>Nene</answer>", "searches": [("Vik river", found)], "answer": "Nene", **others})


def bad_query(id: str, **others: Any) -> Play:
    found = [("Turin", "On the Po.")]
    return Play(id, **{"last": "<answer>Po</answer>", "searches": [("rivers", found)], "answer": "Po", **others})


def write_run(name: str, plays: Sequence[Play], scored: bool = True) -> Path:
    """A run under runs/ of the working directory."""
    folder = Path("runs", name)
    rows = [{**play.episode.to_row(), "trace": "not read"} for play in plays]
    _write(folder / "episodes.jsonl", rows)
    if scored:
        given = zip(rows, plays, strict=True)
        _write(folder / "scored.jsonl", [scored_row(row, play.asked, play.gold, FREE, True) for row, play in given])
    return folder


def _write(path: Path, rows: Sequence[Row]) -> None:
    # In ASCII, which alone can carry half a surrogate pair.
    write_text(path, "".join(f"{json.dumps(row)}\n" for row in rows))


def make_place(root: Path, own_cache: Path) -> None:
    """The smallest project in which runs can be read."""
    root.mkdir()
    shutil.copy(ROOT / "profiles/smoke.yaml", root / "params.yaml")
    (root / "dvc.yaml").write_text("stages: {}\n")
    MODELS.mkdir(parents=True, exist_ok=True)
    own_cache.mkdir()
    (own_cache / "models").symlink_to(MODELS)
