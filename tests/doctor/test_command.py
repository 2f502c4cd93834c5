"""The whole command, as its user runs it."""

import re
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.hub import REVISION, Hub, serving
from tests.project import Done, Project

SECRET = "hf_RecognisableTokenBody0123"


@pytest.fixture
def repository(project: Project) -> Project:
    """A project that git and DVC know."""
    project.git("init", "-q")
    project.git("add", ".")
    project.git("commit", "-q", "-m", "all")
    return project


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    (tmp_path / "files").mkdir()
    with serving(tmp_path / "files") as running:
        yield running


def lines_of(done: Done) -> dict[str, tuple[str, str]]:
    """Status and text by name; every line of the report must be in columns, each text beginning in the same one."""
    found, columns = {}, set()
    for text in done.stdout.splitlines():
        parts = re.fullmatch(r"(ok  |warn|FAIL)  (\S+(?: \S+)*)( +)(\S.*)", text)
        assert parts, text
        assert len(parts[3]) >= 2, text
        found[parts[2]] = (parts[1].strip(), parts[4])
        columns.add(parts.start(4))
    assert len(columns) == 1, done.stdout
    assert done.stderr == ""
    return found


def _failed(lines: dict[str, tuple[str, str]]) -> set[str]:
    return {name for name, (status, _) in lines.items() if status == "FAIL"}


def test_a_project_that_is_fit(repository: Project) -> None:
    done = repository.posttrain("doctor")
    lines = lines_of(done)
    assert done.returncode == 0, done.stdout
    assert not _failed(lines)
    assert lines["params"] == ("ok", "all settings of params.yaml are possible")
    assert lines["model"][0] == "ok"
    assert "metrics/prep.json" not in done.stdout


def test_every_failure_is_told_and_the_others_are_checked(repository: Project) -> None:
    repository.set(grpo={"lrr": 1.0}, engine={"model": "./absent"})
    repository.store.write_bytes(b"no database" * 1000)
    (repository.root / "constraints.txt").write_text("numpy==0.0.1\n")
    done = repository.posttrain("doctor")
    lines = lines_of(done)
    assert done.returncode == 1
    assert _failed(lines) == {"params", "store", "model"}
    assert "did you mean lr?" in lines["params"][1]
    assert lines["disk"] == ("warn", "not checked; mend params first")
    assert lines["packages"][0] == "warn"
    assert "move it aside with" in lines["store"][1]


def test_outside_of_git(project: Project) -> None:
    done = replace(project, environment={**project.environment, "GIT_CEILING_DIRECTORIES": "/"}).posttrain("doctor")
    assert done.returncode == 1
    assert _failed(lines_of(done)) == {"repository"}


def test_outside_of_a_project(project: Project) -> None:
    (project.root / "dvc.yaml").unlink()
    done = project.posttrain("doctor")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: no dvc.yaml in ")
    assert done.stderr.count("\n") == 1


def _on_hub(project: Project, address: str) -> Project:
    project.set(data={"source": "hotpotqa", "train": None, "val": 200, "test": 500, "revision": REVISION})
    own = {"HF_ENDPOINT": address, "HF_HUB_OFFLINE": "0", "HF_TOKEN": SECRET, "NO_PROXY": "127.0.0.1"}
    return replace(project, environment={**project.environment, **own})


def _hub_line(done: Done) -> tuple[str, str]:
    assert "RecognisableTokenBody" not in done.stdout + done.stderr
    return lines_of(done)["hub"]


def test_the_hub_has_the_pinned_commit(repository: Project, hub: Hub) -> None:
    project = _on_hub(repository, hub.address)
    assert _hub_line(project.posttrain("doctor")) == ("ok", f"hotpotqa/hotpot_qa at {REVISION}")


def test_a_branch_is_no_pin(repository: Project, hub: Hub) -> None:
    project = _on_hub(repository, hub.address)
    project.set(data={"revision": "main"})
    status, text = _hub_line(project.posttrain("doctor"))
    assert status == "warn"
    assert text.endswith(f"which is a branch or a tag; set data.revision: {REVISION}, which cannot move")


def test_a_revision_that_the_hub_does_not_have(repository: Project, hub: Hub) -> None:
    project = _on_hub(repository, hub.address)
    project.set(data={"revision": "f" * 40})
    status, text = _hub_line(project.posttrain("doctor"))
    assert (status, text.split(";")[0]) == ("FAIL", f"the hub has no hotpotqa/hotpot_qa at revision {'f' * 40}")


def test_a_hub_that_refuses_and_tells_the_token(repository: Project, hub: Hub) -> None:
    hub.status, hub.body = 401, f"{SECRET} is not known"
    status, text = _hub_line(_on_hub(repository, hub.address).posttrain("doctor"))
    assert (status, text.split(";")[0]) == (
        "FAIL",
        f"the hub refuses hotpotqa/hotpot_qa at revision {REVISION} with status 401",
    )


def test_a_hub_that_cannot_be_reached_matters_less_once_the_data_is_here(repository: Project) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    project = _on_hub(repository, address)
    status, text = _hub_line(project.posttrain("doctor"))
    assert status == "FAIL"
    assert text.startswith("the hub cannot be reached (ConnectError)")
    (project.root / "data/prep").mkdir(exist_ok=True)
    (project.root / "data/prep/corpus.jsonl").write_text("")
    assert _hub_line(project.posttrain("doctor"))[0] == "warn"


def test_a_silent_hub_costs_seconds_and_ctrl_c_ends_at_once(repository: Project, hub: Hub) -> None:
    hub.silent = True
    project = _on_hub(repository, hub.address)
    started = time.monotonic()
    status, text = _hub_line(project.posttrain("doctor"))
    assert status == "FAIL"
    assert text.startswith(("the hub cannot be reached (ReadTimeout)", "no answer within 15 s"))
    assert time.monotonic() - started < 60
    hub.asked.clear()
    process = project.start("-m", "posttrain.cli", "doctor")
    deadline = time.monotonic() + 60
    while not hub.asked and time.monotonic() < deadline:
        time.sleep(0.1)
    assert hub.asked
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert time.monotonic() - started < 5
    assert process.returncode == 130
    assert errors == "interrupted; nothing was changed\n"
    assert "Traceback" not in out + errors
