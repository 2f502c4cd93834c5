"""The questions that `prep` wrote."""

from pathlib import Path

from posttrain.files import Row, read_jsonl

PREP = Path("data/prep")


def questions(split: str) -> list[Row]:
    """Rows (id, question, answers, type, level) of `train`, `val` or `test`."""
    return list(read_jsonl(PREP / f"{split}.jsonl"))


def gold() -> dict[str, Row]:
    """By question id: the gold `titles`, and scripted `queries` where the source has them."""
    return {row["id"]: row for row in read_jsonl(PREP / "gold.jsonl")}
