from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.errors import DataError
from posttrain.euler.languages import LANGUAGES
from posttrain.euler.transfer import tasks
from posttrain.euler.transfer.frozen import FROZEN_SHA256, check_frozen, suite_sha256, task_sha256
from posttrain.euler.transfer.template import Template, between, draws

CHANGES: dict[str, Callable[[Template], Template]] = {
    "prompt": lambda old: replace(old, prompt=f"{old.prompt} "),
    "answer": lambda old: replace(old, answer=f"{old.answer}0"),
    "content": lambda old: replace(
        old, files=lambda name: {file: content + b"\n" for file, content in old.files(name).items()}
    ),
    "file name": lambda old: replace(
        old, files=lambda name: {f"x{file}": content for file, content in old.files(name).items()}
    ),
    "another file": lambda old: replace(old, files=lambda name: old.files(name) | {"more.txt": b""}),
}


def test_the_suite_is_the_frozen_one() -> None:
    assert suite_sha256() == FROZEN_SHA256
    check_frozen()
    assert len({task_sha256(number) for number in tasks.NAMES}) == 4


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("what", CHANGES)
def test_any_change_is_told(monkeypatch: pytest.MonkeyPatch, number: int, what: str) -> None:
    monkeypatch.setitem(tasks._TEMPLATES, number, CHANGES[what](tasks._TEMPLATES[number]))
    with pytest.raises(DataError, match=r"transfer-v1 has SHA-256 .* restore src/posttrain/euler/transfer"):
        check_frozen()


def test_a_change_in_one_language_only_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    old = tasks._TEMPLATES[3]
    other = replace(old, files=lambda name: old.files(name) | ({"more.txt": b""} if name == "julia" else {}))
    monkeypatch.setitem(tasks._TEMPLATES, 3, other)
    with pytest.raises(DataError, match="has SHA-256"):
        check_frozen()


def test_a_language_less_or_another_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.delitem(LANGUAGES, "julia")
        with pytest.raises(DataError, match="has SHA-256"):
            check_frozen()
    monkeypatch.setitem(tasks.NAMES, 1, "another")
    with pytest.raises(DataError, match="has SHA-256"):
        check_frozen()


@given(st.integers(0, 2**32), st.integers(-50, 50), st.integers(0, 100))
def test_draws_are_in_range_and_the_same_again(seed: int, low: int, width: int) -> None:
    one, other = draws(seed), draws(seed)
    found = [between(one, low, low + width) for _ in range(20)]
    assert found == [between(other, low, low + width) for _ in range(20)]
    assert all(low <= number <= low + width for number in found)


def test_draws_are_knuths() -> None:
    assert next(draws(0)) == 1442695040888963407 >> 32
