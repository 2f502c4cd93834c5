from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from posttrain.errors import SettingsError
from posttrain.settings import load


@dataclass(frozen=True)
class Grpo:
    lr: float
    steps: int
    loss: Literal["ppo", "importance_sampling"]
    resume: bool
    note: str | None
    at: list[int]
    betas: tuple[float, float]
    layers: tuple[str, ...]
    weights: dict[str, float]

    def check(self) -> None:
        if self.steps < 1:
            raise SettingsError(f"steps: must be at least 1, is {self.steps}")
        if self.steps > 1000 and self.resume:
            raise SettingsError("a long run cannot resume")
        if self.steps == 13:
            raise SettingsError("at[0]: 13 steps leave nothing for it")


GOOD: dict[str, Any] = {
    "lr": 1e-4,
    "steps": 3,
    "loss": "ppo",
    "resume": False,
    "note": None,
    "at": [1, 2],
    "betas": [0.9, 1],
    "layers": ["q", "v"],
    "weights": {"em": 1},
}


@dataclass(frozen=True)
class Rate:
    lr: float


@dataclass(frozen=True)
class Few:
    lr: float
    steps: int


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_STAGE", raising=False)
    write(GOOD)
    return tmp_path


def write(section: Any) -> None:
    Path("params.yaml").write_text(yaml.safe_dump({"grpo": section, "data": {"seed": 1}}))


def problem(**changes: Any) -> str:
    write({key: value for key, value in {**GOOD, **changes}.items() if value != "DROP"})
    with pytest.raises(SettingsError) as caught:
        load("grpo", Grpo)
    return str(caught.value)


def test_a_complete_section() -> None:
    assert load("grpo", Grpo) == Grpo(1e-4, 3, "ppo", False, None, [1, 2], (0.9, 1.0), ("q", "v"), {"em": 1.0})
    assert isinstance(load("grpo", Grpo).betas[1], float)


@pytest.mark.parametrize("text", ["2e-05", "1e-5", "1.0e-5", "3", "-.5", "'0.25'"])
def test_numbers_that_yaml_may_read_as_text(text: str) -> None:
    Path("params.yaml").write_text(f"grpo:\n  lr: {text}\n")
    assert load("grpo", Rate).lr == float(text.strip("'"))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_survives_as_text_and_as_yaml(value: float) -> None:
    for written in (repr(value), yaml.safe_dump(value).splitlines()[0]):
        Path("params.yaml").write_text(f"grpo: {{lr: {written}}}\n")
        assert load("grpo", Rate).lr == value


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lr": "fast"}, "grpo.lr: must be a number, is 'fast'"),
        ({"lr": True}, "grpo.lr: must be a number, is True"),
        ({"lr": float("nan")}, "grpo.lr: must be a finite number, is nan"),
        ({"lr": "inf"}, "grpo.lr: must be a finite number, is 'inf'"),
        ({"lr": None}, "grpo.lr: must be a number, is None"),
        ({"lr": "DROP"}, "grpo.lr: missing; add lr (the files in profiles/ hold all settings)"),
        ({"lr": "DROP", "at": "DROP"}, "grpo.lr: missing; add lr, at (the files in profiles/ hold all settings)"),
        ({"steps": True}, "grpo.steps: must be an integer, is True"),
        ({"steps": 3.0}, "grpo.steps: must be an integer, is 3.0"),
        ({"steps": "3"}, "grpo.steps: must be an integer, is '3'"),
        ({"steps": 0}, "grpo.steps: must be at least 1, is 0"),
        ({"steps": 2000, "resume": True}, "grpo: a long run cannot resume"),
        ({"steps": 13}, "grpo.at[0]: 13 steps leave nothing for it"),
        ({"stepz": 3}, "grpo.stepz: unknown setting; did you mean steps?"),
        ({"loss": "pppo"}, "grpo.loss: must be one of ppo, importance_sampling, is 'pppo'; did you mean ppo?"),
        ({"loss": 1}, "grpo.loss: must be one of ppo, importance_sampling, is 1"),
        ({"resume": 1}, "grpo.resume: must be true or false, is 1"),
        ({"note": 5}, "grpo.note: must be text (quote it), is 5"),
        ({"at": 5}, "grpo.at: must be a list, is 5"),
        ({"at": [1, "x"]}, "grpo.at[1]: must be an integer, is 'x'"),
        ({"betas": [0.9]}, "grpo.betas: must be a list of 2, is [0.9]"),
        ({"layers": [1]}, "grpo.layers[0]: must be text (quote it), is 1"),
        ({"weights": []}, "grpo.weights: must be a mapping, is []"),
        ({"weights": {"em": "x"}}, "grpo.weights.em: must be a number, is 'x'"),
        ({"weights": {1: 1}}, "grpo.weights: must be text (quote it), is 1"),
    ],
)
def test_every_mistake_is_named(changes: dict[str, Any], message: str) -> None:
    assert problem(**changes) == f"params.yaml: {message}"


def test_an_unknown_key_without_a_likeness_lists_the_known() -> None:
    assert problem(zzz=1).startswith("params.yaml: grpo.zzz: unknown setting; known: lr, steps, loss")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("grp: {}", "params.yaml: there is no section grpo; did you mean grp?"),
        ("grpo: 5", "params.yaml: grpo: must be a section with keys, is 5"),
        ("- 1", "params.yaml: must hold sections"),
        ("", "params.yaml: must hold sections"),
        ("a: [", "params.yaml: not valid YAML"),
    ],
)
def test_a_broken_file(text: str, message: str) -> None:
    Path("params.yaml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        load("grpo", Grpo)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_missing_file_says_how_to_get_one() -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.yaml: the file is missing; `posttrain use mini`"):
        load("grpo", Grpo, Path("nowhere.yaml"))


def test_defaults_and_unsupported_types_are_programming_errors() -> None:
    @dataclass(frozen=True)
    class Default:
        lr: float = 1.0

    @dataclass(frozen=True)
    class Odd:
        lr: complex

    for cls in (Default, Odd):
        with pytest.raises(TypeError):
            load("grpo", cls, partial=True)


def test_partial_ignores_what_the_class_lacks() -> None:
    assert load("grpo", Few, partial=True) == Few(1e-4, 3)
    with pytest.raises(SettingsError, match="unknown setting"):
        load("grpo", Few)


PIPELINE = """
stages:
  train: {cmd: x, params: [grpo, data.seed]}
  eval_sft: {matrix: {epoch: [1, 2]}, cmd: x, params: [grpo.lr, grpo.steps]}
  each: {foreach: [1], do: {cmd: x, params: [grpo]}}
  other: {cmd: x, params: [{params.yaml: [grpo]}, {other.yaml: [data]}]}
  none: {cmd: x}
"""


@pytest.mark.parametrize("stage", ["train", "each@1", "other", "euler/dvc.yaml:train"])
def test_a_declared_section_can_be_read(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("dvc.yaml").write_text(PIPELINE)
    monkeypatch.setenv("DVC_STAGE", stage)
    assert load("grpo", Grpo).steps == 3


def test_declared_keys_can_be_read_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("dvc.yaml").write_text(PIPELINE)
    monkeypatch.setenv("DVC_STAGE", "eval_sft@2")
    assert load("grpo", Few, partial=True) == Few(1e-4, 3)
    with pytest.raises(SettingsError) as caught:
        load("grpo", Grpo)
    assert str(caught.value) == (
        "params.yaml: grpo.loss: stage eval_sft@2 does not declare it; "
        "add grpo or grpo.loss to the stage's params in dvc.yaml"
    )


@pytest.mark.parametrize(
    ("stage", "message"), [("none", "does not declare it"), ("gone", r"dvc\.yaml: has no stage gone")]
)
def test_undeclared_reading_is_refused(stage: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("dvc.yaml").write_text(PIPELINE)
    monkeypatch.setenv("DVC_STAGE", stage)
    with pytest.raises(SettingsError, match=message):
        load("grpo", Grpo)


def test_another_file_s_keys_are_not_declared_for_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Data:
        seed: int

    Path("dvc.yaml").write_text(PIPELINE)
    monkeypatch.setenv("DVC_STAGE", "other")
    with pytest.raises(SettingsError, match="does not declare it"):
        load("data", Data)
    monkeypatch.setenv("DVC_STAGE", "train")
    assert load("data", Data) == Data(1)


def test_a_stage_without_a_pipeline_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_STAGE", "train")
    with pytest.raises(SettingsError, match=r"dvc\.yaml: cannot read what stage train declares"):
        load("grpo", Grpo)
