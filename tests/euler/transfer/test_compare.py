import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from posttrain.errors import DataError
from posttrain.euler.manifest import Manifest, RoundKind
from posttrain.euler.replay import replay
from posttrain.euler.settings import GateSettings
from posttrain.euler.transfer.compare import compare
from posttrain.euler.transfer.compare_text import comparison_markdown
from posttrain.euler.transfer.manifest import transfer_lookup
from posttrain.stats.difference import newcombe
from tests.euler.transfer.rounds import MODEL, SPREAD, manifest, played

LATER = replace(MODEL, revision="r2")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rounds") / "base"
    played(folder)
    return folder


@pytest.fixture(scope="module")
def result(base: Path) -> dict[str, Any]:
    made = manifest(signature=LATER, trained_on=(1, 2, 3))
    played(base.parent / "later", made, lambda each: each.index == 0 or each.problem == 2)
    return compare(base, base.parent / "later", 0.95)


def test_a_comparison_has_both_and_the_difference(result: dict[str, Any]) -> None:
    assert json.loads(json.dumps(result)) == result
    assert [result[side]["revision"] for side in ("one", "other")] == ["r1", "r2"]
    assert [result[side]["trained_on"] for side in ("one", "other")] == [[], [1, 2, 3]]
    total = result["total"]
    assert [(total[side]["qualified"], total[side]["n"]) for side in ("one", "other")] == [(12, 24), (15, 24)]
    expected = newcombe((12, 24), (15, 24), confidence=0.95)
    found = total["difference"]
    assert (found["share"], found["low"], found["high"]) == pytest.approx(
        (expected.mean, expected.low, expected.high), abs=1e-6
    )
    by_task = {row["task"]: row["difference"]["share"] for row in result["tasks"]}
    assert by_task == {1: 0.0, 2: 0.5, 3: 0.0, 4: 0.0}
    assert {row["language"]: row["other"]["qualified"] for row in result["languages"]} == {
        "python": 5,
        "javascript": 5,
        "julia": 5,
    }
    assert len(result["cells"]) == 12
    assert (result["one"]["axes"]["output"], result["other"]["axes"]["output"]) == (0.5, 0.625)
    assert not {"passed", "verdict", "outcome"} & set(result)


def test_turned_around_the_difference_has_the_other_sign(base: Path, result: dict[str, Any]) -> None:
    turned = compare(base.parent / "later", base, 0.95)
    for row, other in zip([result["total"], *result["cells"]], [turned["total"], *turned["cells"]], strict=True):
        assert row["one"] == other["other"]
        ends = [-other["difference"][name] for name in ("share", "high", "low")]
        assert [row["difference"][name] for name in ("share", "low", "high")] == pytest.approx(ends)


def test_the_text_says_how_to_read_it(result: dict[str, Any]) -> None:
    text = comparison_markdown(result)
    assert text.startswith("# tiny on transfer-v1: r1 and r2\n")
    assert "diagnostic" in text
    assert "a rule that was written down before the rounds were sampled" in text
    assert "| all | 12 of 24 | 0.500 [0.314, 0.686] | 15 of 24 |" in text
    assert "replays" not in text
    for block in text.split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in rows}) <= 1
        assert "None." not in block


DIFFERENT: dict[str, tuple[Manifest, list[str]]] = {
    "model": (manifest(signature=replace(LATER, model="small")), ["model: 'tiny' and 'small'"]),
    "provider": (manifest(signature=replace(LATER, provider="far")), ["provider: 'local' and 'far'"]),
    "thinking": (manifest(signature=replace(LATER, thinking="high")), ["thinking: '' and 'high'"]),
    "sampling": (
        manifest(signature=replace(LATER, sampling={"temperature": "0"})),
        ["sampling: {'temperature': '1'} and {'temperature': '0'}"],
    ),
    "runtimes": (
        manifest(signature=replace(LATER, languages=(*MODEL.languages, "ruby"))),
        ["languages: ('python', 'javascript', 'julia') and ('python', 'javascript', 'julia', 'ruby')"],
    ),
    "scorer": (manifest(signature=replace(LATER, scorer_sha256="x")), ["scorer_sha256: 'a' and 'x'"]),
    "evaluator": (manifest(signature=replace(LATER, evaluator_sha256="x")), ["evaluator_sha256: 'b' and 'x'"]),
    "prompts": (manifest(signature=replace(LATER, prompts_sha256="x")), ["prompts_sha256: 'c' and 'x'"]),
    "image": (manifest(signature=replace(LATER, tools_sha256="x")), ["tools_sha256: 'd' and 'x'"]),
    "origin": (manifest(kind=RoundKind("transfer", "replay")), ["origin: 'live' and 'replay'"]),
    "gate": (manifest(gate=GateSettings(2, 1, 0.0)), ["gate.required: 1 and 2"]),
    "problem": (manifest(problem=1), ["problem: 0 and 1"]),
    "tasks": (manifest(tasks={"1": "x"}), ["tasks: {'1': "]),
    "fan-out": (
        manifest(fanout=replace(SPREAD, rollouts=1)),
        ["fanout.rollouts: 2 and 1", "plan: 24 rollouts and 12 others"],
    ),
    "languages": (
        manifest(fanout=replace(SPREAD, languages=["python", "julia"])),
        [
            "fanout.languages: ['python', 'javascript', 'julia'] and ['python', 'julia']",
            "plan: 24 rollouts and 16 others",
        ],
    ),
    "selection": (
        manifest(plan=tuple(each for each in manifest().plan if each.problem != 4)),
        ["plan: 24 rollouts and 18 others"],
    ),
    "many": (
        manifest(signature=replace(LATER, provider="far", tools_sha256="x")),
        ["provider: 'local' and 'far'", "tools_sha256: 'd' and 'x'"],
    ),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_whatever_else_differs_is_refused_by_name(base: Path, tmp_path: Path, what: str) -> None:
    made, expected = DIFFERENT[what]
    played(tmp_path / "other", made)
    with pytest.raises(DataError) as refused:
        compare(base, tmp_path / "other", 0.95)
    head, *lines = str(refused.value).split("\n  ")
    assert "sample one of them again" in head
    assert len(lines) == len(expected)
    assert all(line.startswith(start) for line, start in zip(lines, expected, strict=True))


def test_unequal_or_empty_cells_are_refused(base: Path, tmp_path: Path) -> None:
    def lose(planned: Any) -> bool | None:
        lost = planned.problem == 3 and planned.language == "julia" and planned.index == 0
        return None if lost else True

    played(tmp_path / "short", manifest(signature=LATER), lose)
    why = "completed rollouts of repair of a checksum program in julia: 2 and 1"
    with pytest.raises(DataError, match=why):
        compare(base, tmp_path / "short", 0.95)
    for name in ("one", "other"):
        played(tmp_path / name, manifest(), lambda planned: None if planned.language == "julia" else True)
    with pytest.raises(DataError, match=r"in julia: 0 and 0(.|\n)*in julia: 0 and 0"):
        compare(tmp_path / "one", tmp_path / "other", 0.95)


def test_rounds_that_are_not_as_they_were_left_are_refused(base: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is given twice"):
        compare(base, base, 0.95)
    played(tmp_path / "other", manifest(signature=LATER))
    for name in ("results.jsonl", "summary.json", "raw/transfer-2-julia-canonical-1.jsonl", "manifest.json"):
        path = tmp_path / "other" / name
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        with pytest.raises(DataError, match=f"{name} has SHA-256"):
            compare(base, tmp_path / "other", 0.95)
        path.write_bytes(content)
    assert compare(base, tmp_path / "other", 0.95)["total"]["difference"]["share"] == 0
    (tmp_path / "other/receipt.json").unlink()
    with pytest.raises(DataError, match=r"receipt\.json is missing"):
        compare(base, tmp_path / "other", 0.95)


def test_rounds_of_another_suite_are_refused(base: Path, tmp_path: Path) -> None:
    played(tmp_path, manifest(problem_set="transfer-v0"))
    with pytest.raises(DataError, match=r"of transfer-v0 .* sample a transfer round"):
        compare(base, tmp_path, 0.95)


def test_two_replays_compare_and_say_so(base: Path, tmp_path: Path) -> None:
    played(tmp_path / "later", manifest(signature=LATER))
    for name, source in (("one", base), ("other", tmp_path / "later")):
        replay(source, tmp_path / "replayed" / name, transfer_lookup())
    result = compare(tmp_path / "replayed/one", tmp_path / "replayed/other", 0.95)
    assert "scored anew" in comparison_markdown(result)
    with pytest.raises(DataError, match="origin: 'live' and 'replay'"):
        compare(base, tmp_path / "replayed/other", 0.95)
