import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.doctor.check import THREAD, Check, Probe, line, run_probes
from posttrain.doctor.secret import hidden, secrets_here, stored_tinker_keys
from posttrain.errors import EngineError

KEY = "tml-RecognisableKeyBody0123456789"


def _run(*probes: Probe, secrets: tuple[str, ...] = ()) -> tuple[bool, list[str]]:
    lines: list[str] = []
    return run_probes(probes, lines.append, secrets), lines


def test_lines_stand_in_columns() -> None:
    fine, lines = _run(
        Probe("a", lambda: Check("ok", "there")),
        Probe("long name", lambda: Check("warn", "old", "renew it")),
        Probe("b", lambda: Check("FAIL", "gone", "bring it")),
    )
    assert not fine
    assert lines == [
        "ok    a          there",
        "warn  long name  old; renew it",
        "FAIL  b          gone; bring it",
    ]


def test_warnings_are_no_failure() -> None:
    assert _run(Probe("a", lambda: Check("warn", "old")), Probe("b", lambda: Check("ok", "new")))[0]


def _raises(error: Exception) -> Probe:
    def look() -> Check:
        raise error

    return Probe("a", look)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (EngineError("no such model; use another"), "no such model; use another"),
        (FileNotFoundError(2, "No such file", "x.toml"), "x.toml is missing; "),
        (ModuleNotFoundError("No module named 'tinker'"), "No module named 'tinker'; mend packages first"),
        (ZeroDivisionError("by zero"), "the check itself broke: ZeroDivisionError: by zero; report this line"),
    ],
)
def test_a_check_that_raises_is_a_failure_and_the_next_is_made(error: Exception, said: str) -> None:
    fine, lines = _run(_raises(error), Probe("b", lambda: Check("ok", "made")))
    assert not fine
    assert lines[0].startswith(f"FAIL  a  {said}")
    assert lines[1] == "ok    b  made"


def test_what_rests_on_a_failed_check_is_passed_over() -> None:
    called: list[str] = []

    def look() -> Check:
        called.append("called")
        return Check("ok", "made")

    _, lines = _run(
        Probe("a", lambda: Check("FAIL", "gone")),
        Probe("b", look, needs=("a",)),
        Probe("c", lambda: Check("warn", "old")),
        Probe("d", look, needs=("c",)),
        Probe("e", look, needs=("b", "c", "a")),
    )
    assert lines[1] == "warn  b  not checked; mend a first"
    assert lines[3] == "ok    d  made"
    assert lines[4] == "warn  e  not checked; mend a first"
    assert called == ["called"]


def test_a_check_that_hangs_is_left_behind() -> None:
    over = threading.Event()

    def look() -> Check:
        over.wait()
        return Check("ok", "at last")

    started = time.monotonic()
    _, lines = _run(Probe("a", look, seconds=0.2), Probe("b", lambda: Check("ok", "made")))
    assert time.monotonic() - started < 5
    assert lines[0].startswith("FAIL  a  no answer within 0.2 s; ")
    assert lines[1] == "ok    b  made"
    assert any(thread.name == f"{THREAD} a" for thread in threading.enumerate())
    over.set()


@given(st.text(), st.text())
def test_any_text_stays_on_one_line_without_control_characters(found: str, todo: str) -> None:
    shown = line("name", Check("FAIL", found, todo), 4)
    assert shown.startswith("FAIL  name  ")
    assert shown.isprintable()
    assert len(shown) < 600


@pytest.mark.parametrize(
    "told",
    [
        f"invalid key {KEY}",
        f"header X-API-Key={KEY!r} refused",
        f"no key ending in {KEY[-12:]}",
        f"https://user:{KEY}@host/path",
        f"{KEY}{KEY}",
        "another key tml-SomeoneElsesKeyBody",
        "token eyJhbGciOi.SomeoneElses.Body",
        "at https://me:SomeoneElsesWord@host",
    ],
)
def test_no_secret_is_told(told: str) -> None:
    shown = line("a", Check("FAIL", told), 1, [KEY])
    assert "RecognisableKeyBody" not in shown
    assert KEY[-12:] not in shown
    assert "SomeoneElses" not in shown


@given(st.text("abcXYZ0123", min_size=8, max_size=40), st.text("abcXYZ0123 ;:-", max_size=60))
def test_a_secret_is_hidden_wherever_it_stands(secret: str, around: str) -> None:
    assert secret not in hidden(f"{around}{secret}{around[::-1]}", [secret])


def test_secrets_are_found_where_they_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TINKER_API_KEY", KEY)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HF_TOKEN_PATH", raising=False)
    (tmp_path / ".tinker").mkdir()
    stored = '{"version": 1, "default": "b", "keys": {"a": {"key": "tml-first"}, "b": {"key": "tml-second"}}}'
    (tmp_path / ".tinker/credentials.json").write_text(stored)
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf/token").write_text("hf_stored\n")
    assert stored_tinker_keys() == ["tml-second", "tml-first"]
    assert set(secrets_here()) == {KEY, "tml-second", "tml-first", "hf_stored"}
    (tmp_path / ".tinker/credentials.json").write_text("[]")
    assert stored_tinker_keys() == []
