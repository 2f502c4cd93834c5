"""Small records in both HotpotQA schemas, for tests of the sources and of prep."""

import json
from pathlib import Path
from typing import Any

from posttrain.wiki.data_settings import DataSettings

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "hotpot"
LEVELS = {"easy": 0.4, "medium": 0.3, "hard": 0.3}


def hub(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "question": f"Who painted number {number}?",
        "answer": f"Painter {number}",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": {"title": [f"Work {number}", "Shared", "Shared"], "sent_id": [0, 0, 1]},
        "context": {
            "title": [f"Work {number}", "Shared"],
            "sentences": [[f" Painted by Painter {number}.", " It is Ünï."], [f"Seen {number}.", " End. "]],
        },
    } | changes


def official(number: int) -> dict[str, Any]:
    record = hub(number)
    record["_id"] = record.pop("id")
    context, facts = record["context"], record["supporting_facts"]
    record["context"] = [list(pair) for pair in zip(context["title"], context["sentences"], strict=True)]
    record["supporting_facts"] = [list(pair) for pair in zip(facts["title"], facts["sent_id"], strict=True)]
    return record


def write_lines(path: Path, records: list[Any]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def settings(**changes: Any) -> DataSettings:
    unset = ("train_file", "dev_file", "file", "split_field", "dev_ids_file", "corpus_file", "revision")
    values: dict[str, Any] = dict.fromkeys(unset) | {
        "dev_values": [],
        "source": "files",
        "paragraphs": 60,
        "train": None,
        "val": 1,
        "test": 1,
        "seed": 0,
        "levels": LEVELS,
    }
    return DataSettings(**(values | changes))


def read_lines(path: Path) -> list[dict[str, Any]]:
    # Split on newlines alone: str.splitlines would also cut at characters that JSON leaves unescaped.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def hub_schema() -> Any:
    """The types of the hub's parquet files: lists inside structs, not structs inside lists."""
    import pyarrow

    text, texts = pyarrow.string(), pyarrow.list_(pyarrow.string())
    facts = pyarrow.struct([("title", texts), ("sent_id", pyarrow.list_(pyarrow.int32()))])
    context = pyarrow.struct([("title", texts), ("sentences", pyarrow.list_(texts))])
    plain = [(name, text) for name in ("id", "question", "answer", "type", "level")]
    return pyarrow.schema([*plain, ("supporting_facts", facts), ("context", context)])
