import io
import json
import os
import pty
import select
import signal
import sys
import time
import traceback
from pathlib import Path

import pytest

from posttrain.cli import main
from posttrain.wiki.human_labels import read_labels
from tests.wiki.fake_runs import EVIL, misread, solved, write_run


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Typist":
    return Typist(monkeypatch, capsys)


class Typist:
    """Types lines into `label` and gives what it printed."""

    def __init__(self, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.patch, self.capsys = patch, capsys

    def __call__(self, *lines: str, words: tuple[str, ...] = ("test/a",)) -> str:
        self.patch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        assert main(["label", *words]) == 0
        return self.capsys.readouterr().out


def labels() -> list[tuple[str, str, str]]:
    return [(label.id, label.human, label.note) for label in read_labels("test/a")]


def asked(out: str) -> list[str]:
    """Ids in the order in which they were shown."""
    return [line.split(": ")[1].split()[0] for line in out.splitlines() if line.split(": ")[0].endswith(" of 3")]


@pytest.mark.usefixtures("place")
def test_failed_episodes_one_after_another(typed: Typist) -> None:
    out = typed("2 the singer, not the town", "what?", "b", "", "other", "why\u202e not\x00")
    assert asked(out) == ["q1", "q3", "q4"]
    assert labels() == [
        ("q1", "misread", "the singer, not the town"),
        ("q3", "bad_query", ""),
        ("q4", "other", ""),
        ("q4", "other", "why\u202e not\x00"),
    ]
    assert "type a key, number or name: b/1 bad_query" in out
    assert "> <answer>Nene</answer><|im_end|>" in out
    assert "3 of the run's episodes are labelled, in labels/test-a.jsonl" in out
    # The automatic label would lead the person.
    assert "bad_query" not in out.replace("b/1 bad_query", "")
    out = typed("s", "m", "", "q")
    assert asked(out) == ["q1", "q3", "q4"]
    assert "3 of them labelled" in out
    assert labels()[-1] == ("q3", "misread", "")


@pytest.mark.usefixtures("place")
def test_what_was_skipped_comes_first_the_next_time(typed: Typist) -> None:
    typed("s", "1", "", "q")
    assert asked(typed("q")) == ["q1"]
    assert [label[:2] for label in labels()] == [("q3", "bad_query")]
    assert asked(typed("s", "s", "q")) == ["q1", "q4", "q3"]


@pytest.mark.usefixtures("place")
def test_undo_goes_back(typed: Typist) -> None:
    out = typed("u", "m", "u", "b", "a note", "s", "u", "t long", "q")
    assert "there is nothing to take back" in out
    assert asked(out) == ["q1", "q1", "q3", "q4", "q1", "q3"]
    assert labels() == [("q1", "too_long", "long")]
    typed("m", "q")
    assert labels()[1:] == [("q3", "misread", "")]


@pytest.mark.usefixtures("place")
def test_the_end_of_input_keeps_the_answers(typed: Typist) -> None:
    typed("m")
    assert labels() == [("q1", "misread", "")]


@pytest.mark.usefixtures("place")
def test_one_label_without_questions(typed: Typist, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("test/a", "--question", "q3", "--as", "misread", "--note", f"it {EVIL}\n said")
    assert typed(words=given) == "q3: misread, in labels/test-a.jsonl\n"
    row = json.loads(Path("labels/test-a.jsonl").read_text())
    assert list(row) == ["run", "id", "attempt", "episode", "automatic", "human", "note", "who", "when"]
    assert (row["run"], row["id"], row["automatic"], row["human"]) == ("test/a", "q3", "misread", "misread")
    assert row["who"]
    assert row["when"].endswith("+00:00")
    typed(words=("test/a", "--question", "q4", "--as", "stopped_early"))
    out = typed(words=("test/a", "--agreement"))
    assert out.splitlines()[0] == "test/a: 2 labelled by hand"
    assert "agreement 0.500 (1 of 2); Cohen's kappa 0.333" in out
    write_run("test/a", [solved("q3"), misread("q4")])
    out = typed(words=("test/a", "--agreement"))
    assert out == "test/a: 0 labelled by hand; 2 left out: the episode has changed since\n"
    for words, said in [
        (["test/b", "--question", "river", "--as", "misread"], "2 failed episodes match 'river' (q2, q4)"),
        (["test/b", "--question", "q1", "--as", "misread"], "no episode of test/b that matches has failed"),
        (["test/b", "--question", "zebra", "--as", "misread"], "ids look like q1, q2, q3"),
    ]:
        assert main(["label", *words]) == 1
        assert said in capsys.readouterr().err
    assert not Path("labels/test-b.jsonl").exists()


@pytest.mark.usefixtures("place")
def test_runs_that_nobody_can_label(capsys: pytest.CaptureFixture[str]) -> None:
    write_run("collect", [misread("q1")], scored=False)
    write_run("empty", [])
    write_run("good", [solved("q1")])
    said = {"collect": "the run has no scores", "empty": "no episode of empty has failed", "good": "has failed"}
    for name, words in said.items():
        assert main(["label", name]) == 1
        assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--as", "misread"], "--as needs --question"),
        (["--note", "x"], "--note goes with --as"),
        (["--agreement", "--question", "q1"], "--agreement takes no other option"),
        (["--question", "q1", "--as", "mised"], "there is no mised; did you mean misread?"),
    ],
)
def test_options_that_do_not_go_together(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["label", "test/a", *words])
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("place")
def test_a_torn_file_is_not_added_to(capsys: pytest.CaptureFixture[str], typed: Typist) -> None:
    typed("m", "", "q")
    path = Path("labels/test-a.jsonl")
    path.write_bytes(torn := path.read_bytes()[:-20])
    for words in ([], ["--agreement"], ["--question", "q3", "--as", "misread"]):
        assert main(["label", "test/a", *words]) == 1
        assert "labels/test-a.jsonl:1: not a label: " in capsys.readouterr().err
    assert path.read_bytes() == torn


class Terminal:
    """`posttrain label test/a` at a terminal of its own, in a fork: a new process would load torch for seconds."""

    def __init__(self) -> None:
        self.seen = ""
        self.process, self.above = pty.fork()
        if self.process == 0:
            code = 70
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
                sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
                code = main(["label", "test/a"])
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)

    def end(self) -> int:
        """The exit code, negative for a signal."""
        code = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        os.close(self.above)
        return code

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + 60
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            if select.select([self.above], [], [], 1)[0]:
                try:
                    self.seen += os.read(self.above, 65536).decode(errors="replace")
                except OSError as error:  # the other end is closed
                    raise AssertionError(self.seen) from error

    def type(self, text: str, then: str) -> None:
        self.seen = ""
        os.write(self.above, text.encode())
        self.wait_for(then)


@pytest.mark.usefixtures("place")
def test_at_a_terminal_ctrl_c_and_kill_lose_nothing() -> None:
    interrupted, killed = Terminal(), Terminal()  # both write one file
    interrupted.wait_for("\nlabel: ")
    assert "\033[1m> <answer>Nene</answer><|im_end|>\033[0m" in interrupted.seen
    assert "\033[32m* [Vik] Vik lies on the Orla.\033[0m" in interrupted.seen
    killed.wait_for("\nlabel: ")
    interrupted.type("m by the\n", "\nlabel: ")
    interrupted.type("b\n", "note (Enter")
    interrupted.type("\x03", "2 of the run's episodes are labelled")
    assert interrupted.end() == 130
    assert "Traceback" not in interrupted.seen
    killed.type("s\n", "\nlabel: ")
    killed.type("s\n", "\nlabel: ")
    killed.type("o\n", "note (Enter")
    os.kill(killed.process, signal.SIGKILL)
    assert killed.end() == -signal.SIGKILL
    assert labels() == [("q1", "misread", "by the"), ("q3", "bad_query", ""), ("q4", "other", "")]
