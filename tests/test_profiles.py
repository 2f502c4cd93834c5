from pathlib import Path

import pytest

from posttrain.errors import SettingsError
from posttrain.profiles import check_same_keys, names, use

MINI, SMOKE = "grpo: {lr: 1e-5, steps: 3} # mini\n", "grpo: {lr: 1e-4, steps: 1}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "mini.yaml").write_text(MINI)
    (tmp_path / "profiles" / "smoke.yaml").write_text(SMOKE)
    return tmp_path


def test_use_puts_a_profile_in_place(root: Path) -> None:
    assert names(root) == ["mini", "smoke"]
    assert use("mini", root) == "params.yaml is now profiles/mini.yaml"
    assert (root / "params.yaml").read_text() == MINI
    assert use("smoke", root) == "params.yaml is now profiles/smoke.yaml"
    assert (root / "params.yaml").read_text() == SMOKE
    assert sorted(file.name for file in root.iterdir()) == ["params.yaml", "profiles"]


def test_use_keeps_an_edited_file(root: Path) -> None:
    (root / "params.yaml").write_text("mine: 1\n")
    assert use("mini", root).endswith("; the edited one is kept as params.yaml.bak")
    assert (root / "params.yaml.bak").read_text() == "mine: 1\n"
    assert (root / "params.yaml").read_text() == MINI


def test_use_refuses_what_is_no_profile(root: Path) -> None:
    (root / "params.yaml").write_text("mine: 1\n")
    (root / "profiles" / "broken.yaml").write_text("a: [")
    for name, message in [
        ("smok", r"no profile smok in .*; did you mean smoke\?"),
        ("zzz", "there are broken, mini, smoke"),
        ("broken", "not valid YAML"),
        ("../params", "no profile"),
    ]:
        with pytest.raises(SettingsError, match=message):
            use(name, root)
    assert (root / "params.yaml").read_text() == "mine: 1\n"
    assert not (root / "params.yaml.bak").exists()


def test_profiles_must_hold_the_same_keys(root: Path) -> None:
    check_same_keys(root)
    (root / "profiles" / "full.yaml").write_text("grpo: {lr: 1}\n")
    with pytest.raises(SettingsError, match=r"^profiles/full\.yaml: grpo\.steps: missing; profiles/mini\.yaml has it$"):
        check_same_keys(root)
