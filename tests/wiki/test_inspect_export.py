"""Runs written as Inspect logs and read back by Inspect itself."""

import hashlib
import json
import resource
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from posttrain.cli import main
from posttrain.rollout.episode import End
from tests.wiki.fake_runs import EVIL, Play, make_place, misread, solved, write_run

needs_inspect = pytest.mark.skipif(find_spec("inspect_ai") is None, reason='needs pip install "posttrain[inspect]"')
LONG = "word " * 20_000
HALF = "half \ud800 pair"
SPENT = {"prefill": 40, "cached": 30, "generated": 7, "turns": 2}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    make_place(root, cache)
    monkeypatch.chdir(root)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return root


def prep(plays: list[Play]) -> bytes:
    Path("data/prep").mkdir(parents=True)
    Path("data/prep/train.jsonl").write_text(json.dumps(solved("other").asked) + "\n")
    rows = "".join(json.dumps(play.asked) + "\n" for play in {play.id: play for play in plays}.values())
    Path("data/prep/test.jsonl").write_text(rows)
    return rows.encode()


def exported(name: str = "test/grpo") -> Any:
    from inspect_ai.log import read_eval_log

    assert main(["inspect", name]) == 0
    return read_eval_log(f"logs/{name.replace('/', '-')}.eval", resolve_attachments=True)


@needs_inspect
def test_every_field_is_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    plays = [solved("q1", changes=SPENT), misread("q2", changes=SPENT)]
    dataset = prep(plays)
    write_run("test/grpo", plays)
    log = exported()
    assert capsys.readouterr().out == "logs/test-grpo.eval: 2 episodes; `inspect view --log-dir logs` shows them\n"

    spec = log.eval
    assert (log.status, spec.task, spec.model, spec.solver, spec.tags) == (
        "success", "test/grpo", "local/tiny", "research", ["test"],
    )  # fmt: skip
    assert (spec.dataset.name, spec.dataset.location, spec.dataset.samples) == (
        "miniwiki test", "data/prep/test.jsonl", 2,
    )  # fmt: skip
    assert spec.dataset.sample_ids == ["q1", "q2"]
    assert spec.metadata["sha256"] == hashlib.sha256(dataset).hexdigest()
    assert spec.metadata["params"] == yaml.safe_load(Path("params.yaml").read_text())
    assert (spec.config.epochs, log.plan.steps[0].params["max_searches"]) == (1, 2)
    assert (spec.run_id, len(spec.task_id)) == (spec.task_id, 22)

    assert (log.results.total_samples, log.results.completed_samples) == (2, 2)
    metrics = {score.name: {key: metric.value for key, metric in score.metrics.items()} for score in log.results.scores}
    assert metrics == {"f1": {"mean": 0.5, "stderr": 0.5}, "em": {"mean": 0.5, "stderr": 0.5}}
    total = log.stats.model_usage["local/tiny"]
    assert (total.input_tokens, total.input_tokens_cache_read, total.output_tokens, total.total_tokens) == (
        20, 60, 14, 94,
    )  # fmt: skip

    good, bad = log.samples
    assert (good.id, good.epoch, good.input, good.target) == ("q1", 1, "Which river runs through Vik?", ["Orla"])
    assert {name: (score.value, score.answer, score.explanation) for name, score in bad.scores.items()} == {
        "f1": (0.0, "Nene", "misread"),
        "em": (0.0, "Nene", "misread"),
    }
    assert (good.scores["f1"].value, good.scores["f1"].explanation) == (1.0, "solved")
    usage = good.output.usage
    assert good.model_usage["local/tiny"] == usage
    assert (usage.input_tokens, usage.input_tokens_cache_read, usage.output_tokens, usage.total_tokens) == (
        10, 30, 7, 47,
    )  # fmt: skip
    assert (good.output.stop_reason, good.output.completion, good.limit) == ("stop", "<answer>Orla</answer>", None)
    assert good.metadata == {
        "id": "q1",
        "end": "answer",
        "label": None,
        "queries": ["Vik river"],
        "retrieved": [["Vik"]],
        "gold_titles": ["Vik"],
        "turns": 2,
    }


@needs_inspect
def test_a_search_is_a_call_with_its_results() -> None:
    plays = [solved("q1"), solved("q2", last="I think <answer>Orla</answer>")]
    prep(plays)
    write_run("test/grpo", plays)
    first, second = exported().samples
    system, user, call, results, answer = first.messages
    assert [message.role for message in first.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert (system.content, user.content, call.content) == ("Search.", "Which river runs through Vik?", "")
    [made] = call.tool_calls
    assert (made.function, made.arguments) == ("search", {"query": "Vik river"})
    assert (results.tool_call_id, results.function) == (made.id, "search")
    assert results.content == "<results>\n[Vik] Vik lies on the Orla.\n</results>"
    assert answer.content == "<answer>Orla</answer>"
    assert second.messages[-1].content == "I think <answer>Orla</answer>"


@needs_inspect
def test_how_an_episode_ended() -> None:
    ends = {End.LENGTH: "I would say", End.BUDGET: "<search>more</search>", End.NO_ACTION: "Hm."}
    plays = [solved(str(end), last=last, end=end) for end, last in ends.items()]
    prep(plays)
    write_run("test/grpo", plays)
    samples = {sample.id: sample for sample in exported().samples}
    assert {id: sample.metadata["end"] for id, sample in samples.items()} == {str(end): str(end) for end in ends}
    stops = {id: sample.output.stop_reason for id, sample in samples.items()}
    assert stops == {"length": "max_tokens", "budget": "stop", "no_action": "stop"}
    assert (samples["budget"].limit.type, samples["budget"].limit.limit) == ("custom", 1)
    assert samples["budget"].messages[-1].content == "<search>more</search>"
    assert [sample.scores["f1"].explanation for sample in samples.values()] == [
        sample.id for sample in samples.values()
    ]


@needs_inspect
def test_attempts_are_epochs_and_a_run_without_scores_has_none() -> None:
    plays = [solved("q1", attempt=0), misread("q1", attempt=1), solved("elsewhere")]
    write_run("collect", plays, scored=False)
    log = exported("collect")
    assert log.eval.config.epochs == 2
    assert sorted((sample.id, sample.epoch) for sample in log.samples) == [("elsewhere", 1), ("q1", 1), ("q1", 2)]
    assert all(not sample.scores for sample in log.samples)
    assert (log.results.scores, log.eval.dataset.name, log.eval.metadata["sha256"]) == (
        [], "miniwiki unknown split", None,
    )  # fmt: skip


@needs_inspect
def test_hostile_text_survives() -> None:
    control = "a\x00\x07\x1b[2J\u202e\r\nb <|im_end|><script>"
    found = [("Vik", LONG), (EVIL, control)]
    plays = [
        Play("../../up\x00", searches=[(control, found)], question=HALF, answers=[HALF], answer=HALF),
        Play("x" * 5000, question=LONG, answers=[LONG], answer=LONG, last=f"<answer>{LONG}</answer>"),
    ]
    write_run("test/grpo", plays)
    by_id = {sample.metadata["id"]: sample for sample in exported().samples}
    evil, long = by_id["../../up\x00"], by_id["x" * 5000]
    assert (evil.id, len(long.id)) == (f".._.._up_-{hashlib.sha256(b'../../up' + bytes(1)).hexdigest()[:8]}", 129)
    assert (evil.input, evil.target) == ("half \ufffd pair", ["half \ufffd pair"])
    assert evil.scores["f1"].answer == "half \ufffd pair"
    assert (evil.metadata["queries"], evil.metadata["retrieved"]) == ([control], [["Vik", EVIL]])
    assert LONG.strip() in evil.messages[3].content
    assert control in evil.messages[3].content
    assert (long.input, long.target) == (LONG, [LONG])
    assert long.messages[-1].content == f"<answer>{LONG}</answer>"
    assert not Path("../up").exists()


@needs_inspect
def test_the_viewer_takes_it(tmp_path: Path) -> None:
    from inspect_ai.log import bundle_log_dir, list_eval_logs

    plays = [solved("q1")]
    prep(plays)
    write_run("test/grpo", plays)
    exported()
    [listed] = list_eval_logs("logs")
    assert listed.name.endswith("logs/test-grpo.eval")
    bundle_log_dir("logs", str(tmp_path / "www"))
    assert (tmp_path / "www/index.html").is_file()
    assert (tmp_path / "www/logs/test-grpo.eval").read_bytes() == Path("logs/test-grpo.eval").read_bytes()


@needs_inspect
def test_a_full_disk_leaves_what_was_there(capsys: pytest.CaptureFixture[str]) -> None:
    write_run("test/grpo", [solved("q1"), misread("q2")])
    Path("logs").mkdir()
    Path("logs/test-grpo.eval").write_text("before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        assert main(["inspect", "test/grpo"]) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "free some space" in capsys.readouterr().err
    assert [(file.name, file.read_text()) for file in Path("logs").iterdir()] == [("test-grpo.eval", "before")]


def test_without_the_package_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run("test/grpo", [solved("q1")])
    for module in ("posttrain.wiki.inspect_log", "posttrain.wiki.inspect_sample"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    for module in [name for name in sys.modules if name.partition(".")[0] == "inspect_ai"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    assert main(["inspect", "test/grpo"]) == 1
    said = 'error: the log is written by inspect-ai: pip install "posttrain[inspect]"\n'
    assert capsys.readouterr().err == said
    assert not Path("logs").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["nix"], "no run nix: there are test/grpo"), (["test/grpo", "a.json"], "OUT must end in .eval")],
)
def test_what_cannot_be_written(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_run("test/grpo", [solved("q1")])
    assert main(["inspect", *arguments]) == 1
    assert said in capsys.readouterr().err
