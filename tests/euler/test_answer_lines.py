import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.euler.answer_lines import read_answers
from tests.euler.test_archive import kinds, nothing


def answers(text: str, name: str = "answers.txt") -> dict[int, list[str]]:
    found = nothing()
    read_answers(name, text.encode(), found)
    return {number: draft.answers for number, draft in found.drafts.items()}


@pytest.mark.parametrize(
    "line",
    [
        "7. 123",
        "7: 123",
        "7) 123",
        "7\t123",
        "7,123",
        "7;123",
        "7 - 123",
        "7 = 123",
        "7:123",
        "| 7 | 123 |",
        "- 7. `123`",
        "**7**. 123",
        "    007. 123   ",
        "Problem 7: 123",
        "problem #7: 123",
    ],
)
def test_a_line_in_any_of_its_forms(line: str) -> None:
    assert answers(f"# Answers\n\n{line}\n").get(7) == ["123"]


@pytest.mark.parametrize("answer", ["0.464399", "3D58725572C62302", "1,13717420,8", "123/59", "-59231", "6.3202e25093"])
def test_answers_that_are_no_whole_numbers(answer: str) -> None:
    assert answers(f"12. {answer}\r\n") == {12: [answer]}


def test_what_holds_no_answer_is_told() -> None:
    found = nothing()
    read_answers("s.txt", b"Some words\n1.5\n2.\n0. 4\n3. \x01\n---\n\n4. 5", found)
    assert [(issue.kind, issue.where) for issue in found.issues] == [
        ("unread_line", "s.txt:1"),
        ("unread_line", "s.txt:2"),
        ("empty_answer", "s.txt:3"),
        ("unread_line", "s.txt:4"),
        ("unread_line", "s.txt:5"),
    ]
    assert {number: draft.answers for number, draft in found.drafts.items()} == {2: [], 4: ["5"]}


def test_json() -> None:
    found = nothing()
    read_answers("answers.json", b'{"1": 5, "2": "6", "x": "7", "3": null, "4": true, "5": ""}', found)
    assert {number: draft.answers for number, draft in found.drafts.items()} == {1: ["5"], 2: ["6"], 5: []}
    assert kinds(found) == ["unread_line", "unread_line", "unread_line", "empty_answer"]


@pytest.mark.parametrize("content", [b"[1]", b"{", b"[" * 100000, b"\xff"])
def test_a_file_that_cannot_be_read_is_told(content: bytes) -> None:
    found = nothing()
    read_answers("answers.json", content, found)
    assert kinds(found) == ["unreadable_answers"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 999), st.integers(-(10**20), 10**20)), max_size=20))
def test_what_is_written_is_read(pairs: list[tuple[int, int]]) -> None:
    wanted: dict[int, list[str]] = {}
    for number, answer in pairs:
        wanted.setdefault(number, []).append(str(answer))
    assert answers("".join(f"{number}. {answer}\n" for number, answer in pairs)) == wanted


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=120), st.sampled_from(["a.txt", "a.json"]))
def test_any_bytes_are_read_or_told(content: bytes, name: str) -> None:
    found = nothing()
    read_answers(name, content, found)
    assert all(answer.strip() == answer != "" for draft in found.drafts.values() for answer in draft.answers)
