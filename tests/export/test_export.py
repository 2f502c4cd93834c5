"""`posttrain export` in a project of its own: what it writes loads in plain peft and transformers, with our logits."""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from huggingface_hub import ModelCard
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from posttrain.cli import main
from posttrain.engine.local.adapter import load_checkpoint
from posttrain.engine.local.load import load_model
from posttrain.engine.local.sampler import MergedModel
from posttrain.wiki.model_card import hub_name
from tests.export.place import LINEAGE, NUMBERS, adapter_json, add_metrics, add_receipt, link_models, make_place
from tests.project import ROOT
from tests.tiny import ids, settings, tiny_engine

IDS = torch.tensor([ids(30, 9)])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    link_models(folder / "cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POSTTRAIN_CACHE", str(folder / "cache"))
        make_place(folder / "place", tiny_engine())
    return folder / "place"


@pytest.fixture
def place(made: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that project, as the working directory."""
    shutil.copytree(made, tmp_path / "place")
    link_models(cache)
    monkeypatch.chdir(tmp_path / "place")
    return tmp_path / "place"


def ours(trained: bool = True) -> torch.Tensor:
    """Logits of the engine's own weights."""
    merged = MergedModel(load_model(settings()))
    adapter = load_checkpoint(Path("models/grpo_best/sampler"), "sampler", "tiny") if trained else None
    with torch.no_grad():
        merged.install(adapter)
        return logits(merged.model.causal)


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(input_ids=IDS).logits
    return found


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one error line of `export`, which has written nothing."""
    before = sorted(Path().rglob("*"))
    assert main(["export", *words]) == 1
    out, errors = capsys.readouterr()
    assert (out, errors.count("\n")) == ("", 1)
    assert errors.startswith("error: ")
    assert sorted(Path().rglob("*")) == before
    return errors


def change(section: str, **values: Any) -> None:
    params = yaml.safe_load(Path("params.yaml").read_text())
    params[section].update(values)
    Path("params.yaml").write_text(yaml.safe_dump(params))


@pytest.mark.usefixtures("place")
def test_the_adapter_loads_in_plain_peft_and_gives_our_logits() -> None:
    assert main(["export", "agent"]) == 0
    plain = load_model(settings()).causal  # a transformers model without anything of ours in it
    base = logits(plain)
    loaded = logits(PeftModel.from_pretrained(plain, "agent"))
    assert (loaded - ours()).abs().max() < 1e-4
    assert (loaded - base).abs().max() > 1
    config = adapter_json(Path("agent"))
    assert config["base_model_name_or_path"] is None  # the tiny model has no name on the hub
    assert (config["r"], config["lora_alpha"]) == (4, 32)


@pytest.mark.usefixtures("place")
def test_full_weights_load_by_transformers_alone() -> None:
    assert main(["export", "full", "--merged"]) == 0
    model = AutoModelForCausalLM.from_pretrained("full")
    assert torch.equal(logits(model), ours())
    generation, tokenizer = GenerationConfig.from_pretrained("full"), AutoTokenizer.from_pretrained("full")
    assert (generation.do_sample, generation.max_new_tokens) == (False, 24)
    assert generation.eos_token_id == tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert tokenizer.apply_chat_template([{"role": "user", "content": "12"}], tokenize=False).startswith("<|im_start|>")
    assert not list(Path("full").glob("adapter*"))  # transformers would load one on top of the merged weights


@pytest.mark.usefixtures("place")
def test_the_untrained_model_is_exported_as_full_weights_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert "has no adapter; give --merged" in refusal(capsys, "base", "--policy", "models/base")
    assert main(["export", "base", "--policy", "models/base", "--merged"]) == 0
    assert torch.equal(logits(AutoModelForCausalLM.from_pretrained("base")), ours(trained=False))


def test_the_card_says_what_receipts_metrics_and_settings_say(place: Path) -> None:
    add_metrics(place)
    shutil.copytree("models/grpo_best", "models/grpo/step-4")
    Path("metrics/val/grpo").mkdir(parents=True)
    Path("metrics/val/grpo/4.json").write_text(json.dumps({**NUMBERS, "n": 6}))
    params = yaml.safe_load(Path("params.yaml").read_text())
    add_receipt(place, "grpo", params={"grpo": {**params["grpo"], "steps": 77}})
    add_receipt(place, "test@grpo", usd=0.5)
    assert main(["export", "agent"]) == 0
    card = ModelCard.load("agent/README.md")
    text = card.content
    assert card.data.base_model is None
    assert {each.metric_type: each.metric_value for each in card.data.eval_results or []} == {
        "f1": 0.5,
        "exact_match": 0.25,
    }
    for line in (
        "| GRPO (this model) | test | 8 | 0.500 [0.250, 0.750] | 0.250 [0.071, 0.591] | 1.50 |",  # the ablation's
        "| Base | test | 8 | 0.000 [0.000, 0.000] | 0.000 [0.000, 0.324] | 1.50 |",
        "| GRPO step 4 (this model) | val | 6 | 0.500 [0.200, 0.800] |",
        "77 steps of 3 fresh questions with 4 attempts each",  # as the receipt says, not params.yaml
        "step 4 was best on val",
        "5 of 6 questions gave one",
        f"`{'cd' * 32}`",
        "| test@grpo | 1,234 | 61 | 0.5000 | 2026-11-02T10:00:00+00:00 | `efefefefefef` |",
        "1.75 USD in all",
        "- Alarm during GRPO, step 3: the reward fell.",
        f"`{LINEAGE}`",
        (ROOT / "prompts/research.md").read_text().strip(),
    ):
        assert line in text, line
    assert str(place) not in Path("agent/README.md").read_text()
    about = json.loads(Path("agent/posttrain.json").read_text())
    assert (about["lineage"], about["policy"], about["form"]) == (LINEAGE, "GRPO step 4", "adapter")


def test_numbers_of_another_policy_are_not_shown(place: Path) -> None:
    add_metrics(place)
    add_receipt(place, "test@grpo", inputs={"models/grpo_best": "0" * 64})
    assert main(["export", "agent"]) == 0
    text = Path("agent/README.md").read_text()
    assert "This checkpoint has not been measured" in text
    assert "0.500" not in text


@pytest.mark.usefixtures("place")
def test_without_metrics_and_receipts_the_card_says_so() -> None:
    assert main(["export", "agent"]) == 0
    text = Path("agent/README.md").read_text()
    assert "This checkpoint has not been measured" in text
    assert "No receipts were kept." in text


def test_damaged_metrics_and_receipts_are_one_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_metrics(place)
    Path("metrics/test/grpo.json").write_text('{"n": 8}')
    assert "`git checkout metrics receipts`" in refusal(capsys, "agent")
    Path("metrics/test/grpo.json").write_text("{")
    assert "metrics/test/grpo.json is not valid JSON" in refusal(capsys, "agent")
    Path("metrics/test/grpo.json").unlink()
    add_receipt(place, "sft", tokens=None)
    assert "`git checkout metrics receipts`" in refusal(capsys, "agent")


@pytest.mark.usefixtures("place")
def test_what_does_not_fit_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nowhere holds no checkpoint.json" in refusal(capsys, "agent", "--policy", "nowhere")
    assert "is there already" in refusal(capsys, "models")
    assert "no earlier export" in refusal(capsys, "models", "--force")
    assert "no earlier export" in refusal(capsys, ".", "--force")
    weights = Path("models/grpo_best/sampler/adapter_model.safetensors")
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    assert "adapter_model.safetensors cannot be read" in refusal(capsys, "agent")
    weights.write_bytes(whole)
    Path("models/grpo_best/sampler/adapter_config.json").write_text('{"peft_type": "IA3"}')
    assert "describes no LoRA adapter" in refusal(capsys, "agent")
    change("engine", dtype="bfloat16")
    assert "engine.dtype" in refusal(capsys, "agent")
    change("engine", name="tinker", dtype="float32")
    assert "saved by engine local, and engine.name is tinker" in refusal(capsys, "agent")
    shutil.rmtree("models")
    assert "`dvc repro choose_grpo`" in refusal(capsys, "agent")
    Path("params.yaml").unlink()
    assert "models/ holds no policy" in refusal(capsys, "agent")


def test_an_earlier_export_is_replaced_and_paths_are_the_callers(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place / "prompts")
    assert main(["export", "../agent", "--policy", "../models/grpo_best"]) == 0
    assert capsys.readouterr().out.startswith("../agent: ../models/grpo_best as a peft adapter; ")
    assert main(["export", "../agent", "--merged", "--force"]) == 0
    assert (place / "agent/model.safetensors").is_file()
    assert not (place / "agent/adapter_config.json").exists()


@pytest.mark.usefixtures("place")
def test_two_exports_of_one_policy_are_the_same_bytes() -> None:
    def hashes(folder: str) -> dict[str, str]:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in Path(folder).iterdir()}

    for name in ("one", "two"):
        assert main(["export", name]) == 0
    assert hashes("one") == hashes("two")


KILLED = """
import os, signal, sys
from posttrain.cli import main
from posttrain.wiki import export
write = export.write_merged
def killed(*given):
    write(*given)
    os.kill(os.getpid(), signal.SIGKILL)
export.write_merged = killed
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.usefixtures("place")
def test_killed_when_the_weights_are_written_there_is_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, "export", "out", "--merged"], check=False, timeout=250)
    assert done.returncode == -signal.SIGKILL
    assert not Path("out").exists()
    assert list(Path().glob(".out-*/made/model.safetensors"))  # it was killed at the moment that is meant
    assert main(["export", "out", "--merged"]) == 0
    assert Path("out/model.safetensors").is_file()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Qwen/Qwen3.5-4B", "Qwen/Qwen3.5-4B"),
        ("smollm2-135m-instruct", "HuggingFaceTB/SmolLM2-135M-Instruct"),
        ("tiny", None),
        ("/home/someone/models/qwen", None),
        ("../models/qwen", None),
        ("models/grpo_best", None),  # a folder of this project
    ],
)
@pytest.mark.usefixtures("place")
def test_no_path_of_the_users_machine_becomes_a_name(model: str, name: str | None) -> None:
    assert hub_name(model) == name
