import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from posttrain.errors import BusyError, StoreError
from posttrain.ledger.lock import awaited_lock, stage_lock

HOLDER = """
import sys, time
from pathlib import Path
from posttrain.ledger.lock import awaited_lock, stage_lock
with stage_lock(Path(sys.argv[1]), "sft"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_can_be_taken_again_after_the_block_and_after_an_error(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(KeyError), stage_lock(tmp_path / "new", "eval@a/b"):
            raise KeyError
        with stage_lock(tmp_path / "new", "eval@a/b"), stage_lock(tmp_path / "new", "other"):
            pass


def test_a_second_holder_in_this_process_is_refused(tmp_path: Path) -> None:
    with (
        stage_lock(tmp_path, "sft"),
        pytest.raises(BusyError, match="sft is already running"),
        stage_lock(tmp_path, "sft"),
    ):
        raise AssertionError


def test_another_process_is_refused_until_the_holder_is_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BusyError) as caught, stage_lock(tmp_path, "sft"):
            raise AssertionError
        assert str(caught.value) == (
            f"sft is already running as process {holder.pid}; "
            f"wait for it, or stop it with `kill {holder.pid}`, and run again"
        )
    finally:
        holder.kill()
        holder.communicate()
    with stage_lock(tmp_path, "sft"):
        pass


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write"), stage_lock(tmp_path / "file", "sft"):
        raise AssertionError


def test_the_same_work_is_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done: list[str] = []

    async def work(name: str) -> None:
        async with awaited_lock(tmp_path, "work", f"{name} waits"):
            done.append(f"{name} begins")
            await asyncio.sleep(0.1)
            done.append(f"{name} ends")

    async def both() -> None:
        await asyncio.gather(work("one"), work("two"))

    asyncio.run(both())
    assert done == ["one begins", "one ends", "two begins", "two ends"]
    assert capsys.readouterr().err == "two waits\n"


def test_an_error_of_the_work_is_its_own(tmp_path: Path) -> None:
    async def work() -> None:
        async with awaited_lock(tmp_path, "work", "waits"):
            raise BusyError("something else")

    with pytest.raises(BusyError, match="something else"):
        asyncio.run(work())
