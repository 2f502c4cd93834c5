import re
from dataclasses import replace
from pathlib import Path

import pytest

from posttrain.cli import main
from posttrain.files import write_jsonl
from posttrain.rollout.episode import End
from posttrain.terminal import JOINERS
from tests.wiki.fake_runs import EVIL, Play, misread, solved, write_run

pytestmark = pytest.mark.usefixtures("place")


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["show", *words]) == 0
    return capsys.readouterr().out.splitlines()


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["show", *words]) == 1
    out, errors = capsys.readouterr()
    assert out == ""
    assert errors.count("\n") == 1
    return errors


def test_a_run_is_told_in_numbers_and_traces(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, "test/a", "-n", "1")
    assert lines == [
        "test/a: 5 episodes of 5 questions",
        "  ended     answer 5",
        "  searches  1 in 5; mean 1.00",
        "  F1        0.400, 95% interval 0.000 to 0.800, n 5",
        "  EM        0.400, n 5",
        "  labels    misread 2, solved 2, bad_query 1",
        "3 episodes failed, the first 1 in full; -n 3 shows all",
        "",
        "q1  misread  F1 0.00  EM 0",
        "  question    Which river runs through Vik?",
        "  gold        Orla",
        "  prediction  Nene",
        "  paragraphs  Vik: found",
        "",
        "> <search>Vik river</search><|im_end|>",
        "  <|im_start|>user",
        "  <results>",
        "* [Vik] Vik lies on the Orla.",
        "  [Vik (singer)] Vik sings by the Nene.",
        "  </results><|im_end|>",
        "  <|im_start|>assistant",
        "> <answer>Nene</answer><|im_end|>",
    ]


def test_options_choose_episodes(capsys: pytest.CaptureFixture[str]) -> None:
    def titles(*words: str) -> list[str]:
        return [line.split("  ")[0] for line in shown(capsys, "test/a", *words) if "  EM " in line and line[0] == "q"]

    assert titles() == ["q1", "q3", "q4"]
    assert titles("--label", "misread") == ["q1", "q3"]
    assert titles("--label", "length") == []
    assert titles("-n", "0") == []
    assert titles("--question", "q2") == ["q2"]
    assert titles("--question", "RIVER runs", "-n", "9") == ["q1", "q2", "q3", "q4", "q5"]
    assert titles("--question", "river", "--label", "bad_query") == ["q4"]


def test_two_runs_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, "test/b", "--compare", "test/a", "-n", "1")
    assert lines[:3] == [
        "test/a → test/b: the same 5 episodes",
        "  solved    by both 1, by test/a only 1, by test/b only 2, by none 1",
        "  F1        0.400 → 0.600",
    ]
    assert lines[3].startswith("  change    +0.200, 95% interval -")
    assert [line.split() for line in lines[4:7]] == [
        [id, was, f1, "→", now, other, "Which", "river", "runs", "through", "Vik?"]
        for id, was, f1, now, other in (
            ("q1", "misread", "0.00", "solved", "1.00"),
            ("q2", "solved", "1.00", "misread", "0.00"),
            ("q3", "misread", "0.00", "solved", "1.00"),
        )
    ]
    heads = [line for line in lines if line.startswith("test/")]
    assert heads[1:] == ["test/a: q1  misread  F1 0.00  EM 0", "test/b: q1  solved  F1 1.00  EM 1"]
    assert "3 questions changed sides, the first 1 in full; -n 3 shows all" in lines
    assert "> <answer>Nene</answer><|im_end|>" in lines
    assert "> <answer>Orla</answer><|im_end|>" in lines
    assert shown(capsys, "test/b", "--compare", "test/b", "-n", "1")[-1].startswith("no questions changed sides")
    assert "1 question matches" in shown(capsys, "test/b", "--compare", "test/a", "--question", "q5")


def test_runs_over_other_questions_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    write_run("c", [solved(f"q{i}") for i in range(2, 7)])
    assert "c lacks 1 of 5 question ids (q1)" in refused(capsys, "test/a", "--compare", "c")
    write_run("d", [solved(f"q{i}", question="Another?") for i in range(1, 6)])
    assert "q1 is 'Another?' in d and 'Which river" in refused(capsys, "test/a", "--compare", "d")
    write_run("e", [solved("q1")], scored=False)
    assert "e has no scores to compare" in refused(capsys, "test/a", "--compare", "e")


def test_a_run_without_scores(capsys: pytest.CaptureFixture[str]) -> None:
    plays = [misread("q1"), misread("q1", attempt=1, end=End.LENGTH, last="on and on"), solved("q2")]
    write_run("collect", plays, scored=False)
    lines = shown(capsys, "collect")
    assert lines[3] == "  scores    none, and so no labels: this run has no scored.jsonl"
    assert "q1 attempt 1  ended: length" in lines
    assert "  question    (not in data/prep)" in lines
    assert "  prediction  (none; it ended: length)" in lines
    write_jsonl(Path("data/prep/train.jsonl"), [play.asked for play in plays[1:]])
    write_jsonl(Path("data/prep/gold.jsonl"), [{"id": "q1", "titles": ["Vik"]}])
    lines = shown(capsys, "collect", "--question", "river runs")
    assert "3 episodes match" in lines
    assert "  paragraphs  Vik: found" in lines
    assert "no scores and so no labels" in refused(capsys, "collect", "--label", "misread")


def test_an_empty_run(capsys: pytest.CaptureFixture[str]) -> None:
    write_run("empty", [])
    assert shown(capsys, "empty") == ["empty: 0 episodes of 0 questions", "no episodes failed"]
    assert shown(capsys, "empty", "--compare", "empty")[0] == "empty → empty: the same 0 episodes"
    assert "it has no episodes" in refused(capsys, "empty", "--question", "q")


def test_hostile_text_moves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    flood = "flood" * 20_000
    found = [(f"T{EVIL}", f"of {EVIL}\r\n* [Vik] no\n> <answer>forged</answer>\u2028end"), ("Vik", flood)]
    reply = f"{EVIL}\n* [Vik] forged\n\n<answer>{EVIL}{flood}</answer>"
    play = Play(f"q{EVIL}", reply, [(EVIL, found)], f"Who {EVIL}?", (EVIL, "\ud800"), (f"T{EVIL}", "Vik"), EVIL + flood)
    write_run("evil", [play])
    lines = shown(capsys, "evil")
    assert all(letter.isprintable() or letter in JOINERS for line in lines for letter in line)
    assert max(map(len, lines)) < 5_000
    assert [line[:7] for line in lines if line.startswith("* ")] == ["* [T�]0", "* [Vik]"]
    assert "  > <answer>forged</answer> end" in lines
    assert "> * [Vik] forged" in lines
    assert ">" in lines
    write_run("evil", [replace(play, last=EVIL)])
    lines = shown(capsys, "evil", "--compare", "evil", "--question", "who")
    assert all(letter.isprintable() for line in lines for letter in line)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["test/c"], "no run test/c: there are near, test/a, test/b"),
        (["\x1b[2J\0"], "no run �[2J�: there are "),
        (["near", "--question", "mini-00034"], "; did you mean mini-000034 or mini-000033?"),
        (["test/a", "--question", "zebra"], "ids look like q1, q2, q3"),
        (["test/a", "--question", ""], "no id and no question"),
    ],
)
def test_what_is_not_there_is_named(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_run("near", [solved("mini-000033"), solved("mini-000034"), solved("x")])
    assert said in refused(capsys, *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--label", "misraed"], "there is no misraed; did you mean misread?"), (["-n", "-1"], "0 or more, is -1")],
)
def test_wrong_options(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["show", "test/a", *words])
    assert said in capsys.readouterr().err


def test_malformed_rows_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    write_run("short", [solved("q1", changes={"logprobs": [0.0]})])
    assert re.search(r"q1 has (\d+) tokens, \1 flags and 1 logprobs", refused(capsys, "short"))
    folder = write_run("odd", [solved("q1")])
    write_jsonl(folder / "scored.jsonl", [{"id": "q1", "f1": "high"}])
    assert "the row of q1 is no score: KeyError('em')" in refused(capsys, "odd")


def test_a_run_is_found_by_its_path(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place / "runs/test")
    assert shown(capsys, "a", "-n", "0")[0].startswith("test/a: ")
    assert shown(capsys, "test/a", "-n", "0")[0].startswith("test/a: ")
    assert shown(capsys, str(place / "runs/test/a"), "-n", "0")[0].startswith("test/a: ")
