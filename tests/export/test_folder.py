import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors import SafetensorError

from posttrain.errors import DataError, StoreError
from posttrain.export.folder import MARK, new_folder
from tests.project import ROOT

WRITE = """
import os, signal, sys
from pathlib import Path
import torch
from safetensors.torch import save_file
from posttrain.errors import StoreError
from posttrain.export.folder import new_folder
try:
    with new_folder(Path(sys.argv[1]), force=True) as made:
        (made / "posttrain.json").write_text("new")
        {then}
except StoreError as error:
    print(error)
    sys.exit(1)
"""


def write(out: Path, text: str, force: bool = False) -> None:
    with new_folder(out, force) as made:
        (made / MARK).write_text(text)
        (made / "below").mkdir()
        (made / "below" / "secretive").touch(0o600)


def running(then: str, out: Path, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """The block in a process of its own, that may write files of at most `limit` bytes."""

    def prepare() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-c", WRITE.format(then=then), str(out)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        command, env=environment, preexec_fn=prepare, capture_output=True, text=True, check=False, timeout=120
    )


def test_it_appears_with_all_its_files_readable_for_everybody(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "agent"
    write(out, "a")
    assert (out / MARK).read_text() == "a"
    assert {path.stat().st_mode & 0o777 for path in out.rglob("*") if path.is_file()} == {0o644}
    assert out.stat().st_mode & 0o777 == 0o755
    assert os.listdir(out.parent) == ["agent"]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with new_folder(tmp_path / "agent", force=False) as made:
            (made / MARK).touch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "taken", ["file", "folder", "empty folder", "link", "dangling link", "link to an export", "export"]
)
def test_what_is_there_stays(taken: str, tmp_path: Path) -> None:
    out = tmp_path / "agent"
    (tmp_path / "target").mkdir()
    match taken:
        case "file":
            out.write_text("mine")
        case "link":
            out.symlink_to(tmp_path / "target")
        case "dangling link":
            out.symlink_to(tmp_path / "nowhere")
        case "link to an export":
            write(tmp_path / "target" / "export", "earlier")
            out.symlink_to(tmp_path / "target" / "export")
        case "export":
            write(out, "earlier")
        case _:
            out.mkdir()
    if taken == "folder":
        (out / "thesis.txt").write_text("mine")
    with pytest.raises(DataError, match="is there already"):
        write(out, "new")
    if taken in ("export", "empty folder"):
        write(out, "new", force=True)
        assert (out / MARK).read_text() == "new"
        return
    before = out.is_symlink(), out.is_file(), out.is_dir() and os.listdir(out)
    with pytest.raises(DataError, match="no earlier export"):
        write(out, "new", force=True)
    assert (out.is_symlink(), out.is_file(), out.is_dir() and os.listdir(out)) == before


def test_another_process_that_was_faster_keeps_the_place(tmp_path: Path) -> None:
    out = tmp_path / "agent"

    def overtaken() -> None:
        with new_folder(out, force=False) as made:
            (made / MARK).touch()
            write(out, "faster")

    with pytest.raises(DataError, match="is there already"):
        overtaken()
    assert (out / MARK).read_text() == "faster"
    assert os.listdir(tmp_path) == ["agent"]


@pytest.mark.parametrize("before", [None, "earlier"])
def test_a_kill_leaves_the_place_as_it_was(before: str | None, tmp_path: Path) -> None:
    out = tmp_path / "agent"
    if before:
        write(out, before)
    done = running("os.kill(os.getpid(), signal.SIGKILL)", out)
    assert done.returncode == -signal.SIGKILL
    assert (out.exists() and (out / MARK).read_text()) == (before or False)
    write(out, "again", force=True)  # what the killed one left beside it is in nobody's way
    assert (out / MARK).read_text() == "again"


@pytest.mark.parametrize(
    "then", ['(made / "big").write_bytes(bytes(1 << 20))', 'save_file({"a": torch.zeros(1 << 18)}, made / "big")']
)
def test_a_full_disk_is_one_line_and_leaves_nothing(then: str, tmp_path: Path) -> None:
    done = running(then, tmp_path / "agent", limit=1 << 16)
    assert done.returncode == 1, done
    assert done.stdout.startswith(f"cannot write {tmp_path}/agent (")
    assert "free some space" in done.stdout
    assert done.stdout.count("\n") == 1
    assert os.listdir(tmp_path) == []


def test_a_place_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot write"):
        write(tmp_path / "file" / "agent", "a")


def test_a_weights_file_that_cannot_be_written_counts_as_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="os error 28"), new_folder(tmp_path / "agent", force=False):
        raise SafetensorError("I/O error: No space left on device (os error 28)")
