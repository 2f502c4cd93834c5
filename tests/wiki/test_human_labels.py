import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.errors import DataError
from posttrain.rollout.episode import End, Episode
from posttrain.wiki.agreement_text import agreement_lines
from posttrain.wiki.cases import Case, Run, Score
from posttrain.wiki.human_labels import (
    HumanLabel,
    agreement,
    current_labels,
    episode_hash,
    labels_path,
    read_labels,
)
from posttrain.wiki.label_file import append, withdraw
from posttrain.wiki.labelling import Command, label_of, parse_reply, to_label


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def case(id: str, label: str | None, answer: str = "x") -> Case:
    episode = Episode(id, 0, [1], [2, 3], [1, 1], [-0.5, -0.5], End.ANSWER, answer, 1, 1, 0, 2)
    return Case(episode, "Who?", ["y"], [], Score(0.0, 0.0 if label else 1.0, label))


RUN = Run("test/a", [case("q1", "misread"), case("q2", "misread"), case("q3", "length"), case("q4", None)])


def given_label(number: int, human: str, note: str = "", run: Run = RUN) -> HumanLabel:
    return label_of(run, run.cases[number], human, note, "Ada")


def test_labels_come_back_as_they_were_given() -> None:
    labels = [given_label(0, "misread", "a note — «é»"), given_label(1, "other"), given_label(0, "bad_query")]
    for label in labels:
        append(label)
    assert read_labels("test/a") == labels
    assert labels_path("test/a") == Path("labels/test-a.jsonl")
    assert len(labels_path("test/a").read_text(encoding="utf-8").splitlines()) == 3
    assert read_labels("test/b") == []
    assert read_labels("test-a") == []
    assert current_labels(RUN, labels) == {("q2", 0): labels[1], ("q1", 0): labels[2]}


@given(st.text(), st.text(min_size=1))
def test_any_note_and_name_are_kept_on_one_line(note: str, id: str) -> None:
    run = Run("r", [case(id, "misread")])
    label = given_label(0, "misread", f"{note}\ud800\n", run)
    append(label)
    assert read_labels("r") == [label]
    withdraw([label])


def test_taking_back_leaves_what_was_before() -> None:
    first, second, third = given_label(0, "misread"), given_label(1, "other"), given_label(1, "other", "note")
    append(first)
    before = labels_path("test/a").read_bytes()
    append(second)
    append(third)
    withdraw([second, third])
    assert labels_path("test/a").read_bytes() == before
    append(second)
    with pytest.raises(DataError, match="has grown or changed since"):
        withdraw([first])
    assert read_labels("test/a") == [first, second]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"run": "test/a", "id": "q', "Unterminated string"),
        (b"<<<<<<< HEAD", "not a label"),
        (b"[]", "not a label"),
        (b"3", "not a label"),
        (b"{}", "missing 9 required positional arguments"),
        (b"\xff\xfe\x00", "not a label"),
        (b"[" * 100_000, "not a label"),
        (b'{"a": 1}', "unexpected keyword argument 'a'"),
        (None, "there is no label 'wrong', only bad_query, misread, "),
        (b"int", "attempt is '0'"),
    ],
)
def test_a_malformed_line_is_named(line: bytes | None, said: str) -> None:
    append(given_label(0, "misread"))
    path = labels_path("test/a")
    good = path.read_bytes()
    wrong = good.replace(b'"human": "misread"', b'"human": "wrong"')
    mistyped = good.replace(b'"attempt": 0', b'"attempt": "0"')
    path.write_bytes(good + b"\n" + ({None: wrong, b"int": mistyped}.get(line, line) or b""))
    with pytest.raises(DataError) as caught:
        read_labels("test/a")
    assert str(caught.value).startswith("labels/test-a.jsonl:3: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_last_line_without_an_end_is_completed() -> None:
    labels = [given_label(0, "misread"), given_label(1, "other")]
    append(labels[0])
    path = labels_path("test/a")
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    append(labels[1])
    assert read_labels("test/a") == labels


def _append_many(who: int) -> None:
    for number in range(50):
        append(label_of(RUN, RUN.cases[0], "misread", f"{number} {'x' * 5_000}", str(who)))


def test_two_people_at_once_do_not_mix() -> None:
    processes = [multiprocessing.get_context("fork").Process(target=_append_many, args=(who,)) for who in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    labels = read_labels("test/a")
    for who in range(3):
        assert [label.note.split()[0] for label in labels if label.who == str(who)] == [str(n) for n in range(50)]


def test_agreement_leaves_out_what_is_not_what_was_labelled() -> None:
    labels = [
        given_label(0, "bad_query"),
        given_label(0, "misread"),
        given_label(1, "too_long"),
        given_label(2, "other"),
        given_label(3, "misread"),
        replace(given_label(0, "misread"), id="gone"),
    ]
    found = agreement(RUN, labels)
    assert dict(found.counts) == {("misread", "misread"): 1, ("too_long", "misread"): 1, ("other", "length"): 1}
    assert (found.n, found.agreed, found.outdated, found.solved) == (3, 2, 1, 1)
    # Observed 2/3; expected (1 × 2 + 1 × 0 + 1 × 1) / 9 = 1/3.
    assert found.kappa == pytest.approx(0.5)
    resampled = Run("test/a", [case("q1", "misread", "another answer"), *RUN.cases[1:]])
    assert agreement(resampled, labels).outdated == 2


def test_agreement_as_text() -> None:
    found = agreement(RUN, [given_label(0, "misread"), given_label(1, "too_long"), given_label(2, "other")])
    assert agreement_lines("test/a", found) == [
        "test/a: 3 labelled by hand",
        "human \\ automatic  length  misread",
        "misread                 0        1",
        "too_long                0        1",
        "other                   1        0",
        "agreement 0.667 (2 of 3); Cohen's kappa 0.500",
        "length: people have no such label, so other agrees with it",
    ]
    one = agreement_lines("test/a", agreement(RUN, [given_label(0, "misread")]))
    assert one[-1] == "agreement 1.000 (1 of 1); Cohen's kappa undefined: all labels are the same one"
    assert agreement_lines("test/a", agreement(RUN, [])) == ["test/a: 0 labelled by hand"]


def test_the_hash_is_of_tokens_and_answer() -> None:
    one = case("q1", "misread").episode
    assert episode_hash(one) == episode_hash(replace(one, logprobs=[0.0, 0.0], prefill=5))
    assert episode_hash(one) != episode_hash(replace(one, answer="y"))
    assert episode_hash(one) != episode_hash(replace(one, tokens=[2, 4]))
    assert len(episode_hash(replace(one, answer="\ud800"))) == 64


def test_failed_and_unlabelled_come_first() -> None:
    assert [c.episode.id for c in to_label(RUN.cases, {("q1", 0)})] == ["q2", "q3", "q1"]
    with pytest.raises(DataError, match="no scores"):
        to_label([replace(RUN.cases[0], score=None)], ())


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("b\n", ("bad_query", "")),
        ("2", ("misread", "")),
        (" stopped_early  it had  one \n", ("stopped_early", "it had  one")),
        ("o no idea", ("other", "no idea")),
        ("s", Command.SKIP),
        ("undo", Command.UNDO),
        ("q\n", Command.QUIT),
        ("q now", None),
        ("", None),
        ("7", None),
        ("M", None),
        ("\x1b[A", None),
    ],
)
def test_what_may_be_typed(line: str, reply: object) -> None:
    assert parse_reply(line) == reply
