"""Questions of a split, as rows and as tasks to be rolled out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from posttrain.files import Row, read_jsonl
from posttrain.rollout.runner import Task
from posttrain.wiki.environment import ClosedBookEnvironment, HarnessSettings, ResearchEnvironment, SearchCorpus

PREP = Path("data/prep")


def questions(split: str) -> list[Row]:
    """Rows (id, question, answers, type, level) of `train`, `val` or `test`."""
    return list(read_jsonl(PREP / f"{split}.jsonl"))


def gold() -> dict[str, Row]:
    """By question id: the gold `titles`, and scripted `queries` where the source has them."""
    return {row["id"]: row for row in read_jsonl(PREP / "gold.jsonl")}


def research_tasks(rows: Sequence[Row], search: SearchCorpus, prompt: str, settings: HarnessSettings) -> list[Task]:
    """One task a question, with the corpus to search."""

    def task(row: dict[str, Any]) -> Task:
        return Task(row["id"], lambda: ResearchEnvironment(row["question"], search, prompt, settings))

    return [task(row) for row in rows]


def closed_book_tasks(rows: Sequence[Row], prompt: str) -> list[Task]:
    """One task a question, to be answered from memory."""

    def task(row: dict[str, Any]) -> Task:
        return Task(row["id"], lambda: ClosedBookEnvironment(row["question"], prompt))

    return [task(row) for row in rows]
