"""A model card as Hugging Face reads it: YAML in front, Markdown behind."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml


@dataclass(frozen=True)
class Result:
    """Numbers of one measurement; `f1` and `exact_match` are shares."""

    dataset: str
    split: str
    f1: float
    exact_match: float


@dataclass(frozen=True)
class Card:
    """What the card says.

    base: the base model's name on the hub, None if it has none. merged: full weights, not an adapter.
    license: an identifier that the hub knows, None if the reader has to see the licences behind.
    datasets: names on the hub. sections: headings and Markdown.
    """

    title: str
    base: str | None
    merged: bool
    license: str | None
    datasets: tuple[str, ...]
    tags: tuple[str, ...]
    results: tuple[Result, ...]
    sections: tuple[tuple[str, str], ...]


def render(card: Card) -> str:
    """The text of a README.md."""
    front = yaml.safe_dump(_front(card), sort_keys=False, allow_unicode=True, width=1000)
    body = "\n\n".join(f"## {heading}\n\n{text.strip()}" for heading, text in card.sections)
    return f"---\n{front}---\n\n# {card.title}\n\n{body}\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; a bar in a cell is escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def fenced(text: str, language: str = "") -> str:
    """A code block that its content cannot end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.strip()}\n{fence}"


def _front(card: Card) -> dict[str, Any]:
    front: dict[str, Any] = {}
    if card.base is not None:
        front |= {"base_model": card.base, "base_model_relation": "finetune" if card.merged else "adapter"}
    front |= {
        "library_name": "transformers" if card.merged else "peft",
        "pipeline_tag": "text-generation",
        "language": ["en"],
        "license": card.license or "other",
    }
    if card.license is None:
        front |= {"license_name": "see-licences-below", "license_link": "README.md"}
    if card.datasets:
        front["datasets"] = list(card.datasets)
    front |= {"tags": list(card.tags), "metrics": ["f1", "exact_match"]}
    if card.results:
        front["model-index"] = [{"name": card.title, "results": [_result(result) for result in card.results]}]
    return front


def _result(result: Result) -> dict[str, Any]:
    metrics = {"f1": ("F1", result.f1), "exact_match": ("Exact match", result.exact_match)}
    return {
        "task": {"type": "question-answering"},
        "dataset": {"name": result.dataset, "type": result.dataset, "split": result.split},
        "metrics": [{"type": kind, "name": name, "value": round(value, 4)} for kind, (name, value) in metrics.items()],
    }
