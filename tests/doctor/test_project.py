import asyncio
import subprocess
from pathlib import Path

import pytest

from posttrain.doctor.check import Check
from posttrain.doctor.project import repositories_check, store_check
from posttrain.errors import StoreError
from posttrain.ledger.sample import Sample, SampleKey
from posttrain.ledger.store import SampleStore


def _git(root: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments]
    subprocess.run(command, cwd=root, check=True, capture_output=True)


def test_repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    check = repositories_check(tmp_path)
    assert check.status == "FAIL"
    assert "not a git repository" in check.found
    _git(tmp_path, "init", "-q")
    assert (repositories_check(tmp_path).status, repositories_check(tmp_path).todo[:7]) == ("FAIL", "restore")
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text("")
    assert repositories_check(tmp_path).found == "git has no commit yet"
    assert repositories_check(tmp_path).status == "warn"
    _git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    assert repositories_check(tmp_path).status == "ok"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert repositories_check(tmp_path) == Check(
        "FAIL", "git is not installed", "install git; DVC's experiments and the receipts rest on it"
    )


def _store(path: Path) -> None:
    async def fill(store: SampleStore) -> None:  # in one tick, so in one transaction
        for number in range(3000):
            key = SampleKey(policy="p", prompt=range(number, number + 30), params="{}", seed=1, index=0)
            store.put(key, Sample(tokens=(1, 2, 3), logprobs=(0.0, -1.0, -2.0), stop_reason="stop"))

    with SampleStore(path) as store:
        asyncio.run(fill(store))


def test_a_store_that_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "samples.sqlite"
    assert store_check(path) == Check("ok", f"none yet; the first stage makes {path}")
    assert not path.exists()
    _store(path)
    check = store_check(path)
    assert check.status == "ok"
    assert check.found.startswith("3,000 samples, ")


def test_a_store_with_a_torn_page(tmp_path: Path) -> None:
    path = tmp_path / "samples.sqlite"
    _store(path)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\xff" * 4096)
    with pytest.raises(StoreError, match=r"is damaged .*; move it aside with `mkdir"):
        store_check(path)


def test_a_store_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "samples.sqlite"
    path.write_bytes(b"not a database at all, but long enough to be looked at" * 100)
    with pytest.raises(StoreError, match="is damaged"):
        store_check(path)
