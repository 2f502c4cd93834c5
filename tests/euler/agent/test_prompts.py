import shutil
from pathlib import Path

import pytest

from posttrain.errors import DataError
from posttrain.euler.agent.prompts import prompts_sha256, system_prompt, task_prompt
from posttrain.euler.planned import CANONICAL
from posttrain.euler.settings import STRATEGIES
from tests.project import ROOT

PROMPTS = ROOT / "euler" / "prompts"


@pytest.mark.parametrize(
    ("name", "words"),
    [("python", "`python3 FILE` `.py` Python"), ("javascript", "`node FILE` `.js`"), ("julia", "`julia FILE` `.jl`")],
)
def test_the_prompt_names_language_runtime_suffix_and_problem(name: str, words: str) -> None:
    prompt = task_prompt(PROMPTS, "Braces {like} these stay.", name, CANONICAL, [])
    assert all(word in prompt for word in words.split())
    assert prompt.endswith("Problem:\nBraces {like} these stay.")
    assert "\\boxed{}" in prompt
    assert "{language}" not in prompt


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_strategy_adds_a_paragraph_of_its_own(strategy: str) -> None:
    plain, told = (task_prompt(PROMPTS, "P", "python", one, []) for one in (CANONICAL, strategy))
    own = (PROMPTS / "strategies" / f"{strategy}.md").read_text().strip()
    assert own
    assert told.replace(f"\n{own}\n", "") == plain


def test_files_are_named_in_order() -> None:
    assert "lie in the folder: a.txt, b.txt." in task_prompt(PROMPTS, "P", "python", CANONICAL, ["b.txt", "a.txt"])


@pytest.mark.parametrize("text", ["x" * 120_000, "数" * 50_000])
def test_a_text_that_no_command_line_holds_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="too long"):
        task_prompt(PROMPTS, text, "python", CANONICAL, [])


def test_a_missing_file_is_named_and_each_file_is_in_the_hash(tmp_path: Path) -> None:
    shutil.copytree(PROMPTS, tmp_path / "p")
    before = prompts_sha256(tmp_path / "p")
    assert before == prompts_sha256(PROMPTS)
    (tmp_path / "p" / "strategies" / "derive.md").write_text("other")
    assert prompts_sha256(tmp_path / "p") != before
    (tmp_path / "p" / "system.md").unlink()
    with pytest.raises(DataError, match=r"git checkout .*system\.md"):
        system_prompt(tmp_path / "p")
