from pathlib import Path

import pytest

from posttrain.euler.found import assemble
from posttrain.euler.kaggle import import_kaggle
from posttrain.euler.problem_set import read_problem_set, write_problem_set
from posttrain.euler.problems import Availability
from tests.euler.test_archive import zipped

PAGE = "<h2>Title</h2><div class='problem_content'><p>{}</p></div>"
LINK = "Read <a href='resources/documents/0004_words.txt?9'>words.txt</a>."


def archive(folder: Path) -> Path:
    return zipped(
        folder / "euler.zip",
        ("set/problems/0001.html", PAGE.format("How many?").encode()),
        ("set/problems/problem_2.html", PAGE.format("Which one? <img src='images/2.png'>").encode()),
        ("set/problems/3.html", b"<p>Broken <a href='"),
        ("set/problems/4.html", PAGE.format(LINK).encode()),
        ("set/problems/5.html", PAGE.format("See <a href='resources/documents/0005_gone.txt'>it</a>.").encode()),
        ("set/problems/6.html", PAGE.format("No answer.").encode()),
        ("set/problems/8.html", PAGE.format("Two answers?").encode()),
        ("set/problems/10.html", PAGE.format("Twice?").encode()),
        ("set/copy/10.html", PAGE.format("Twice?").encode()),
        ("set/problems/11.html", PAGE.format("One text.").encode()),
        ("set/copy/11.html", PAGE.format("Another text.").encode()),
        ("set/problems/about.html", b"<p>About</p>"),
        ("set/problems/1-2.html", b"<p>Which?</p>"),
        ("set/resources/documents/0004_words.txt", b"one two"),
        ("set/resources/unused.dat", b"?"),
        ("set/Solutions.md.txt", b"# Answers\n1. 5\n2. 6\n3. 7\n4. 8\n5. 9\n8. 1\n8. 2\n9. 3\n10. 4\n11. 4\n"),
        ("__MACOSX/set/._1.html", b"junk"),
        ("../evil.html", b"<p>out</p>"),
    )


def test_everything_in_an_archive_is_used_or_told(tmp_path: Path) -> None:
    manifest = write_problem_set(import_kaggle(archive(tmp_path)), tmp_path / "data")
    found = {n: p.availability for n, p in read_problem_set(tmp_path / "data").problems.items()}
    assert found == {
        1: Availability.AVAILABLE,
        2: Availability.AVAILABLE,
        3: Availability.NO_PROMPT,
        4: Availability.AVAILABLE,
        5: Availability.NO_RESOURCE,
        6: Availability.NO_ANSWER,
        8: Availability.CONFLICT,
        9: Availability.NO_PROMPT,
        10: Availability.AVAILABLE,
        11: Availability.CONFLICT,
    }
    assert manifest["counts"]["issues"] == {
        "conflict": 2,
        "duplicate": 1,
        "ignored_entry": 1,
        "malformed_page": 1,
        "missing_answer": 1,
        "missing_problem": 1,
        "missing_prompt": 2,
        "missing_resource": 1,
        "unnumbered_page": 2,
        "unread_line": 1,
        "unsafe_name": 1,
        "unused_entry": 1,
    }
    assert len(manifest["issues"]) == sum(manifest["counts"]["issues"].values())
    assert manifest["counts"]["documents"] == 2
    assert manifest["counts"]["images"] == 1
    assert [missing["name"] for missing in manifest["missing_resources"]] == ["0005_gone.txt"]


def test_the_origin_is_labelled(tmp_path: Path) -> None:
    path = archive(tmp_path)
    manifest = write_problem_set(import_kaggle(path), tmp_path / "data")
    assert manifest["licence"] == "CC BY-NC-SA 4.0"
    assert manifest["commercial_use"] is False
    assert manifest["provenance"]["archive"] == "euler.zip"
    assert len(manifest["provenance"]["archive_sha256"]) == 64
    problems = read_problem_set(tmp_path / "data")
    assert problems.problems[2].source_url == "https://projecteuler.net/problem=2"
    assert problems.file(problems.problems[4], "0004_words.txt").read_bytes() == b"one two"
    assert problems.problems[1].prompt == "How many?"


def test_the_same_archive_gives_the_same_bytes(tmp_path: Path) -> None:
    path = archive(tmp_path)
    for name in "ab":
        write_problem_set(import_kaggle(path), tmp_path / name)
    for name in ("problems.jsonl", "manifest.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_name_that_two_files_have_is_attached_by_its_path_only(tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "a.zip",
        ("1.html", b"<p><a href='resources/w.txt'>w</a></p>"),
        ("2.html", b"<p><a href='other/w.txt'>w</a></p>"),
        ("resources/w.txt", b"right"),
        ("old/w.txt", b"wrong"),
        ("answers.txt", b"1. 1\n2. 2\n"),
    )
    found = import_kaggle(path)
    assert found.files == {(1, "w.txt"): b"right"}
    assert [issue.where for issue in found.issues] == ["old/w.txt"]


def test_doubled_entries_decide_nothing(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = zipped(
            tmp_path / "a.zip",
            ("1.html", b"<p>One</p>"),
            ("1.html", b"<p>Other</p>"),
            ("2.html", b"<p><a href='w.txt'>w</a></p>"),
            ("w.txt", b"one"),
            ("w.txt", b"other"),
            ("answers.txt", b"1. 1\n2. 2\n"),
            ("answers.txt", b"2. 3\n"),
        )
    found = import_kaggle(path)
    assert [problem.availability for problem in assemble(found)] == [Availability.CONFLICT, Availability.CONFLICT]
    assert found.files == {}
