from pathlib import Path

import pytest
import yaml
from huggingface_hub import ModelCard

from posttrain.export.card import Card, Result, fenced, render, table

HOSTILE = 'Agent: "x" # y\n---\nlicense: mit\u2028'


def card(**changes: object) -> Card:
    given = {
        "title": "Search agent",
        "base": "org/base",
        "merged": False,
        "license": "apache-2.0",
        "datasets": ("hotpotqa/hotpot_qa",),
        "tags": ("lora",),
        "results": (Result("hotpotqa/hotpot_qa", "test", 0.61234, 0.5),),
        "sections": (("What it is", "An agent.\n"), ("Licences", "See there.")),
    }
    return Card(**{**given, **changes})  # type: ignore[arg-type]


def read(text: str, tmp_path: Path) -> ModelCard:
    """As the hub reads it."""
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    return ModelCard.load(tmp_path / "README.md")


def test_the_hub_reads_every_field(tmp_path: Path) -> None:
    found = read(render(card()), tmp_path)
    assert (found.data.base_model, found.data.license, found.data.library_name) == ("org/base", "apache-2.0", "peft")
    assert (found.data.datasets, found.data.tags) == (["hotpotqa/hotpot_qa"], ["lora"])
    assert found.data.metrics == ["f1", "exact_match"]
    results = {each.metric_type: each for each in found.data.eval_results or []}
    assert (results["f1"].metric_value, results["exact_match"].metric_value) == (0.6123, 0.5)
    assert results["f1"].dataset_split == "test"
    assert found.content.index("## What it is\n\nAn agent.\n\n## Licences\n\nSee there.\n")


def test_merged_weights_belong_to_transformers_and_are_a_finetune(tmp_path: Path) -> None:
    data = read(render(card(merged=True)), tmp_path).data.to_dict()
    assert (data["library_name"], data["base_model_relation"]) == ("transformers", "finetune")


def test_what_is_unknown_is_not_made_up(tmp_path: Path) -> None:
    data = read(render(card(base=None, license=None, datasets=(), results=())), tmp_path).data.to_dict()
    assert not {"base_model", "base_model_relation", "datasets", "model-index"} & data.keys()
    assert (data["license"], data["license_name"], data["license_link"]) == ("other", "see-licences-below", "README.md")


def test_text_cannot_leave_its_field(tmp_path: Path) -> None:
    found = read(render(card(base=HOSTILE, tags=(HOSTILE,))), tmp_path)
    assert (found.data.base_model, found.data.tags) == (HOSTILE, [HOSTILE])
    assert found.data.license == "apache-2.0"


@pytest.mark.parametrize("text", ["plain", "```\nfence", "a `````` b\n~~~", "`"])
def test_a_code_block_holds_its_content(text: str) -> None:
    block = fenced(text, "python")
    first, *inside, last = block.splitlines()
    assert first == f"{last}python"
    assert set(last) == {"`"}
    assert "\n".join(inside) == text
    assert last not in text


def test_a_table_keeps_its_columns() -> None:
    lines = table(("a", "b"), [("x|y", "z")]).splitlines()
    assert lines == ["| a | b |", "| --- | --- |", "| x\\|y | z |"]


def test_the_front_is_plain_yaml() -> None:
    front = render(card()).split("---\n")[1]
    assert yaml.safe_load(front)["model-index"][0]["name"] == "Search agent"
