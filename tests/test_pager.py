import io
import os
import pty
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from posttrain.pager import colours, page

LONG = [f"\033[1mline {number}\033[0m é" for number in range(40)]


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[bytearray]:
    """A terminal of 24 lines as stdout; gives what it was sent. No fixture, for pytest sets stdout after these."""
    above, below = pty.openpty()
    sent = bytearray()

    def read() -> None:
        with suppress(OSError):  # the other end is closed
            while piece := os.read(above, 4096):
                sent.extend(piece)

    reader = threading.Thread(target=read)
    reader.start()
    with open(below, "w", encoding="utf-8") as stdout, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stdout)
        for name, value in (("LINES", "24"), ("COLUMNS", "80")):
            patch.setenv(name, value)
        patch.delenv("NO_COLOR", raising=False)
        yield sent
    reader.join()
    os.close(above)


@pytest.fixture
def paged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where $PAGER writes what it is given, behind the options of `less`."""
    script = tmp_path / "my pager"
    script.write_text('#!/bin/sh\n{ echo "$LESS $1"; cat; } > "$0.out"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PAGER", f"'{script}' -x")
    monkeypatch.delenv("LESS", raising=False)
    return tmp_path / "my pager.out"


def test_what_does_not_fit_is_paged(paged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as sent:
        page(LONG)
    assert paged.read_text(encoding="utf-8") == "R -x\n" + "\n".join(LONG) + "\n"
    assert sent == b""


def test_what_fits_is_not(paged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as sent:
        page(["x" * 80 * 22, LONG[0]])
        assert not paged.exists()
        page(["x" * 80 * 24])
        assert paged.exists()
    assert LONG[0].encode() in sent


@pytest.mark.parametrize("pager", ["", "'", "/no/such/pager"])
def test_without_a_pager_it_is_printed(pager: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", pager)
    with terminal(monkeypatch) as sent:
        page(LONG)
    assert sent.decode().splitlines() == LONG


@pytest.mark.parametrize("pager", ["false", "head -n 1"])
def test_a_pager_that_leaves_early_is_no_error(pager: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", pager)
    with terminal(monkeypatch) as sent:
        page(LONG * 5_000)
    assert sent == b""


def test_a_pipe_gets_it_plain(paged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    stdout = io.TextIOWrapper(raw, encoding="ascii")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stdout)
        page(LONG)
        assert not colours()
    assert raw.getvalue().decode().splitlines() == [line.replace("é", "?") for line in LONG]
    assert not paged.exists()


def test_colours_unless_the_user_wants_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch):
        assert colours()
        monkeypatch.setenv("NO_COLOR", "1")
        assert not colours()
