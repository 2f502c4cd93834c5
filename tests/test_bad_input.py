"""Every kind of bad input through the real stage scripts: one clear line, a failing exit code, nothing done lost."""

import json
import resource
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from posttrain.engine.local.load import EMBEDDED, load_tokenizer, model_folder
from posttrain.ledger.lock import stage_lock
from tests.project import Done, Project
from tests.wiki.hotpot_records import hub, write_lines

CLOSED_BOOK = ("runs/closed_book", "--policy", "models/base", "--split", "val", "--closed-book")


def refusal(done: Done) -> str:
    """The only line of a stage that failed as it should."""
    assert done.returncode == 1, done
    assert done.stderr.startswith("error: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return done.stderr.removeprefix("error: ").strip()


def finished(done: Done) -> None:
    assert done.returncode == 0, done.stderr


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, also hidden and temporary ones."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.fixture
def prepared(project: Project) -> Project:
    """With the questions and the corpus."""
    finished(project.stage("prep"))
    return project


@pytest.fixture
def files(prepared: Project) -> Project:
    """Prepared, and now set to the user's own files: train.jsonl with q0 to q3, dev.jsonl with q4 to q6."""
    write_lines(prepared.root / "train.jsonl", [hub(number) for number in range(4)])
    write_lines(prepared.root / "dev.jsonl", [hub(number) for number in range(4, 7)])
    changes = {"source": "files", "train_file": "train.jsonl", "dev_file": "dev.jsonl", "train": None}
    prepared.set(data={**changes, "val": 1, "test": 2}, coldstart={"demonstrations": 0})
    return prepared


def append(path: Path, line: str) -> None:
    with path.open("a") as out:
        out.write(line + "\n")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda root: (root / "dev.jsonl").unlink(), "prep: dev.jsonl is missing; data.dev_file names it"),
        (lambda root: append(root / "train.jsonl", '{"id": "q9",'), "prep: train.jsonl:5: not valid JSON: "),
        (lambda root: append(root / "dev.jsonl", "[1]"), "prep: dev.jsonl:4: expected an object, found list"),
        (
            lambda root: append(root / "dev.jsonl", json.dumps(hub(9, answer=None))),
            "prep: dev.jsonl:4: answer should be a string, found NoneType",
        ),
        (
            lambda root: append(root / "train.jsonl", json.dumps(hub(9, id="q1"))),
            "id 'q1' comes twice, in train and in train; remove one",
        ),
        (lambda root: append(root / "train.jsonl", json.dumps(hub(9, id="q4"))), "id 'q4' comes twice, in "),
        (
            lambda root: append(root / "train.jsonl", json.dumps(hub(9, question="who PAINTED number 5"))),
            "; remove one",
        ),
    ],
    ids=["missing", "not-json", "not-an-object", "wrong-type", "id-twice", "id-in-two-splits", "leak"],
)
def test_bad_source_files_are_refused_and_the_data_stays(files: Project, change: Any, expected: str) -> None:
    before = content(files.root / "data")
    change(files.root)
    assert expected in refusal(files.stage("prep"))
    assert content(files.root / "data") == before


def test_good_source_files_are_taken(files: Project) -> None:
    finished(files.stage("prep"))
    assert len((files.root / "data/prep/train.jsonl").read_text().splitlines()) == 4


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"grpo": {"stepz": 3}}, "grpo.stepz: unknown setting; did you mean steps?"),
        ({"grop": {"steps": 3}}, "grop: unknown section; did you mean grpo?"),
        ({"grpo": {"lr": "fast"}}, "grpo.lr: must be a number, is 'fast'"),
        ({"grpo": {"lr": 0.0}}, "grpo.lr: must be above 0, is 0.0"),
        ({"grpo": {"group": 1}}, "grpo.group: must be at least 2, is 1; one attempt has nothing to compare with"),
        ({"grpo": {"evaluate": [3]}}, "grpo.evaluate: step 3 is never saved; the saved ones are [2, 4]"),
        ({"sft": {"evaluate": [2, 1]}}, "sft.evaluate: must list each epoch once, in rising order, is [2, 1]"),
        ({"grpo": {"offset": 5}}, "grpo.offset: must leave the train questions of collect alone, is 5"),
        ({"coldstart": {"offset": 0}}, "coldstart.offset: must leave the train questions of collect alone, is 0"),
        ({"data": {"train": 59}}, "data.train: must be at least 60 for coldstart, is 59"),
        ({"data": {"levels": {"easy": 0.5}}}, "data.levels: must sum to 1, sums to 0.5"),
        ({"data": {"levels": {"easy": 2.0, "hard": -1.0}}}, "data.levels.hard: must be at least 0, is -1.0"),
        ({"data": {"source": "web"}}, "data.source: must be one of miniwiki, files, hotpotqa, is 'web'"),
        (
            {"data": {"source": "files"}},
            "data.train_file: must be set; source files needs train_file and dev_file, or file",
        ),
        ({"engine": {"threads": 0}}, "engine.threads: must be at least 1, is 0"),
        ({"lora": {"rank": 0}}, "lora.rank: must be at least 1, is 0"),
        ({"index": {"b": 1.5}}, "index.b: must be a number from 0 to 1, is 1.5"),
        ({"harness": {"top_k": 0}}, "harness.top_k: must be at least 1, is 0"),
        ({"ablation": {"resamples": 3}}, "ablation.resamples: must be at least 40 for confidence 0.95, is 3"),
    ],
)
def test_impossible_settings_of_any_section_stop_the_first_stage(
    project: Project, changes: Mapping[str, Mapping[str, Any]], expected: str
) -> None:
    project.set(**changes)
    assert refusal(project.stage("prep")) == f"params.yaml: {expected}"
    assert not (project.root / "data/prep").exists()


def test_a_missing_section(project: Project) -> None:
    file = project.root / "params.yaml"
    params = yaml.safe_load(file.read_text())
    del params["lora"]
    file.write_text(yaml.safe_dump(params))
    assert refusal(project.stage("prep")).startswith("params.yaml: there is no section lora; ")


def test_missing_pipeline_files(project: Project) -> None:
    expected = "{} is missing; `dvc repro` makes the pipeline's files"
    for stage, arguments, file in [
        ("score", ["runs/base", "--split", "val", "--metrics", "metrics/base.json"], "data/prep/val.jsonl"),
        ("ablation", [], "data/prep/test.jsonl"),
        ("report", [], "metrics/base.json"),
        ("choose", ["sft"], "metrics/val/sft/1.json"),
    ]:
        assert refusal(project.stage(stage, *arguments)).startswith(f"{stage}: {expected.format(file)}")


def test_a_model_without_a_chat_template(project: Project) -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    tokenizer.chat_template = None
    folder = project.root / "plain"
    tokenizer.save_pretrained(folder)
    for name in ("config.json", "model.safetensors"):
        (folder / name).symlink_to(Path(model_folder(EMBEDDED), name))
    project.set(engine={"model": "plain"})
    assert refusal(project.stage("model")) == (
        "model: plain: its tokenizer has no chat template, so turns cannot be rendered; set another model"
    )


def test_a_model_that_is_not_there(project: Project) -> None:
    project.set(engine={"model": "nobody/nothing"})
    assert refusal(project.stage("model")).startswith("model: cannot load engine.model nobody/nothing: ")


def test_a_corrupted_sample_store(project: Project) -> None:
    project.store.write_bytes(b"this is no database" * 100)
    assert "samples.sqlite is damaged" in (said := refusal(project.stage("model")))
    assert "move it aside with `mkdir -p " in said
    assert not (project.root / "models").exists()
    assert project.store.read_bytes() == b"this is no database" * 100


def test_a_full_disk_keeps_the_data(prepared: Project) -> None:
    before = content(prepared.root / "data")
    prepared.set(data={"seed": 8})
    done = prepared.stage("prep", limit=lambda: limit_files(2000))
    assert "cannot write data/prep/" in (said := refusal(done))
    assert "free some space" in said
    assert content(prepared.root / "data") == before


def test_a_full_disk_keeps_the_samples(prepared: Project) -> None:
    finished(prepared.stage("model"))
    finished(prepared.stage("evaluate", *CLOSED_BOOK))
    kept, episodes = prepared.samples(), content(prepared.root / "runs")
    assert kept
    prepared.set(harness={"max_tokens": 20})
    done = prepared.stage("evaluate", *CLOSED_BOOK, limit=lambda: limit_files(2000))
    assert "free some space" in refusal(done)
    assert prepared.samples() == kept
    assert content(prepared.root / "runs") == episodes


def test_ctrl_c_keeps_what_was_sampled(project: Project) -> None:
    project.set(data={"paragraphs": 200, "val": 60}, evaluate={"concurrency": 2}, engine={"batch_rows": 2})
    finished(project.stage("prep"))
    finished(project.stage("model"))
    process = project.start("stages/evaluate.py", *CLOSED_BOOK)
    deadline = time.monotonic() + 60
    while not project.samples() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert errors.splitlines()[-1] == (
        "evaluate: interrupted; what was finished is kept, run `dvc repro` again to go on"
    )
    kept = project.samples()
    assert 0 < kept < 60
    assert not (project.root / "runs").exists()
    finished(project.stage("evaluate", *CLOSED_BOOK))
    assert len((project.root / "runs/closed_book/episodes.jsonl").read_text().splitlines()) == 60
    assert project.samples() == 60


def test_ctrl_c_while_a_stage_loads(project: Project) -> None:
    process = project.start("stages/model.py")
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "interrupted" in errors


def test_a_stage_does_not_run_twice_at_once(prepared: Project) -> None:
    before = content(prepared.root / "data")
    with stage_lock(prepared.root / ".posttrain/state", "prep"):
        assert "prep: prep is already running as process " in refusal(prepared.stage("prep"))
    assert content(prepared.root / "data") == before
