"""Questions as tasks to be rolled out; apart from reading them, so that scoring does not depend on sampling."""

from collections.abc import Sequence
from typing import Any

from posttrain.files import Row
from posttrain.rollout.runner import Task
from posttrain.wiki.environment import ClosedBookEnvironment, HarnessSettings, ResearchEnvironment, SearchCorpus


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
