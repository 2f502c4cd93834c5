import json
from pathlib import Path

import pytest

from posttrain.errors import DataError
from posttrain.files import write_json, write_jsonl, write_text
from posttrain.ledger.price import PriceSettings
from posttrain.wiki.ablation import ARMS
from posttrain.wiki.report import report_html, report_markdown
from posttrain.wiki.report_inputs import read_inputs
from tests.families import chat_of
from tests.wiki.report_inputs import made_inputs

PRICES = PriceSettings("m", prefill=1.0, cached=0.1, sample=2.0, train=3.0)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all that the report reads, as a run without a cold start leaves it."""
    monkeypatch.chdir(tmp_path)
    made = made_inputs(chat_of("smollm2"), 4)
    for arm in ARMS:
        run, traces = Path("runs/test", arm), made.traces[arm][1]
        write_jsonl(run / "episodes.jsonl", ({**trace.episode.to_row(), "trace": ""} for trace in traces))
        write_jsonl(run / "scored.jsonl", (trace.scored or {} for trace in traces))
        write_json(Path(f"metrics/test/{arm}.json"), made.measured[arm])
    metrics = {"base": made.measured["base"], "ablation": made.ablation, "prep": made.prep, "index": made.index}
    for name, content in metrics.items():
        write_json(Path(f"metrics/{name}.json"), content)
    write_json(Path("metrics/select.json"), {"usd": 0.5, "attempts": 16})
    write_json(Path("metrics/sft.json"), {"f1_by_epoch": {"1": 0.5}})
    write_json(Path("metrics/grpo.json"), {"f1_by_step": {"10": 0.5}})
    for name in ("sft/1", "grpo/10"):
        write_json(Path(f"metrics/val/{name}.json"), {**made.measured["sft"], "usd": 0.25})
    write_text(Path("metrics/curves/coldstart.csv"), "step,loss\n0,\n")
    write_text(Path("metrics/curves/sft.csv"), "step,loss,tokens\n1,0.5,1000000\n2,0.4,1000000\n")
    grpo = "step,reward,logprob_gap_mean,logprob_gap_tail,usd\n1,0.5,,,1.0\n2,0.6,1e-6,0,2.5\n"
    write_text(Path("metrics/curves/grpo.csv"), grpo)
    return tmp_path


@pytest.mark.usefixtures("project")
def test_prices_are_what_sampling_training_and_choosing_take() -> None:
    prices = read_inputs(PRICES).prices
    assert prices["sft"].usd == pytest.approx(2 * 3.0 + 0.5 + 0.25)
    assert prices["sft"].work == "16 attempts sampled, 2,000,000 tokens trained on"
    assert prices["grpo"].usd == pytest.approx(2.5 + 0.25)


@pytest.mark.usefixtures("project")
def test_a_run_without_a_cold_start_and_with_a_step_that_trained_on_nothing_has_its_report() -> None:
    inputs = read_inputs(PRICES)
    assert inputs.curves["grpo"][0].keys() == {"step", "reward", "usd"}
    page = report_html(inputs, {}, "", chat_of("smollm2"))
    assert "chart-loss-sft" in page
    assert "chart-loss-coldstart" not in page
    assert "9.50 USD to train and choose" in report_markdown(inputs)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("metrics/curves/grpo.csv", None, r"grpo\.csv is missing; `dvc repro`"),
        ("metrics/curves/sft.csv", "step,loss\n1,much\n", r"sft\.csv is no curve"),
        ("metrics/test/grpo.json", "{", "not valid JSON"),
        ("runs/test/sft/scored.jsonl", json.dumps({"id": "other"}) + "\n", "scores other episodes"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(project: Path, file: str, content: str | None, said: str) -> None:
    if content is None:
        (project / file).unlink()
    else:
        (project / file).write_text(content)
    with pytest.raises(DataError, match=said):
        read_inputs(PRICES)
