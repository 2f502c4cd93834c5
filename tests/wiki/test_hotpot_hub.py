"""The hub's rows through the real `datasets` package, from a hub on loopback, by the stage itself."""

import importlib.util
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from posttrain.wiki.prep import HOTPOT_TEST_SHA256
from tests.hub import REVISION, Hub, serving
from tests.project import Done, Project
from tests.wiki.hotpot_records import SHARED, hub, hub_schema, read_lines

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("datasets") is None, reason="needs the package datasets"),
    pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/data/hotpot, for the real test questions"),
]
SECRET = "hf_RecognisableTokenBody"


def _dev() -> list[dict[str, Any]]:
    """The real dev questions, in the hub's order, with contexts of ours."""
    rows = read_lines(SHARED / "dev_full_7405.jsonl")
    return [
        {**hub(n), **{k: row[k] for k in ("id", "question", "type", "level")}, "answer": row["answers"][0]}
        for n, row in enumerate(rows)
    ]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset's files: 90 train rows in two shards, all dev rows, small row groups."""
    import pyarrow
    import pyarrow.parquet

    folder = tmp_path_factory.mktemp("hub")
    (folder / "distractor").mkdir()
    train = [hub(10_000 + n) for n in range(90)]
    shards = {
        "train-00000-of-00002": train[:45],
        "train-00001-of-00002": train[45:],
        "validation-00000-of-00001": _dev(),
    }
    for name, rows in shards.items():
        table = pyarrow.Table.from_pylist(rows, schema=hub_schema())
        pyarrow.parquet.write_table(table, folder / "distractor" / f"{name}.parquet", row_group_size=1000)
    return folder


@pytest.fixture
def served(files: Path) -> Iterator[Hub]:
    with serving(files) as running:
        yield running


def _full(project: Project, address: str) -> Project:
    """The project on HotpotQA, with the hub at an address."""
    project.set(data={"source": "hotpotqa", "train": None, "val": 200, "test": 500, "revision": REVISION})
    own = {
        "HF_ENDPOINT": address,
        "HF_HUB_OFFLINE": "0",
        "HF_HOME": str(project.root.parent / "hf"),
        "HF_TOKEN": SECRET,
        "NO_PROXY": "127.0.0.1",
    }
    return replace(project, environment={**project.environment, **own})


def _refused(done: Done) -> str:
    """The one line of a refusal; before it stand only lines about progress, and what `datasets` itself logs."""
    assert (done.returncode, done.stderr.count("error: "), done.stderr.count("Traceback")) == (1, 1, 0), done.stderr
    assert SECRET not in done.stdout + done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: prep: ")
    return last.removeprefix("error: ")


def test_the_recipes_splits_come_out_byte_for_byte_and_no_file_is_kept(project: Project, served: Hub) -> None:
    project = _full(project, served.address)
    done = project.stage("prep")
    assert done.returncode == 0, done.stderr
    prep = project.root / "data/prep"
    assert (prep / "test.jsonl").read_bytes() == (SHARED / "expected_test_500.jsonl").read_bytes()
    assert (prep / "val.jsonl").read_bytes() == (SHARED / "expected_val_200.jsonl").read_bytes()
    metrics = json.loads((project.root / "metrics/prep.json").read_text())
    assert metrics["sha256"]["test"].startswith(HOTPOT_TEST_SHA256)
    assert metrics["counts"] == {"train": 90, "val": 200, "test": 500, "corpus": 90 + 7405 + 1, "gold": 790}
    assert read_lines(prep / "corpus.jsonl")[0]["title"] == "Work 10000"
    assert sorted(row["id"] for row in read_lines(prep / "train.jsonl")) == sorted(f"q{10_000 + n}" for n in range(90))
    # Streamed: files are asked for at the pinned commit only, and none is left in the cache of the hub's client.
    asked = [request for request in served.asked if ".parquet" in request]
    assert asked
    assert all(REVISION in request for request in asked)
    assert not list((project.root.parent / "hf").rglob("*.parquet"))
    assert not list((project.root.parent / "hf").rglob("*.arrow"))


def test_another_test_split_is_refused_and_nothing_is_written(project: Project, files: Path, tmp_path: Path) -> None:
    import pyarrow.parquet

    other = tmp_path / "other"
    (other / "distractor").mkdir(parents=True)
    for file in (files / "distractor").iterdir():
        (other / "distractor" / file.name).symlink_to(file)
    validation = other / "distractor" / "validation-00000-of-00001.parquet"
    reversed_table = pyarrow.parquet.read_table(validation).take(list(range(7404, -1, -1)))
    validation.unlink()
    pyarrow.parquet.write_table(reversed_table, validation)
    with serving(other) as running:
        said = _refused(_full(project, running.address).stage("prep"))
    assert "not cb4ad042f2c0ef38" in said
    assert "data.revision" in said
    assert not list((project.root / "data/prep").iterdir())


def test_an_unknown_revision_is_named(project: Project, served: Hub) -> None:
    project = _full(project, served.address)
    project.set(data={"revision": "f" * 40})
    said = _refused(project.stage("prep"))
    assert said.startswith(f"prep: the hub has no hotpotqa/hotpot_qa at revision {'f' * 40}; name a commit that exists")


def test_a_branch_is_read_at_the_commit_that_it_stands_for(project: Project, served: Hub) -> None:
    project = _full(project, served.address)
    project.set(data={"revision": "main"})
    assert project.stage("prep").returncode == 0
    assert all(REVISION in request for request in served.asked if ".parquet" in request)


def test_a_hub_that_cannot_be_reached(project: Project) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    started = time.monotonic()
    said = _refused(_full(project, address).stage("prep"))
    assert said.startswith("prep: the hub cannot be reached (ConnectError); see the network and HF_ENDPOINT, ")
    assert time.monotonic() - started < 20


def test_a_silent_hub(project: Project, served: Hub) -> None:
    served.silent = True
    said = _refused(_full(project, served.address).stage("prep"))
    assert said.startswith("prep: the hub cannot be reached (ReadTimeout); ")


def test_the_hub_left_out_by_its_own_variable(project: Project, served: Hub) -> None:
    project = _full(project, served.address)
    offline = replace(project, environment={**project.environment, "HF_HUB_OFFLINE": "1"})
    assert _refused(offline.stage("prep")).startswith("prep: HF_HUB_OFFLINE is set, so ")
    assert not served.asked


@pytest.mark.parametrize("status", [401, 403, 404, 429, 503])
def test_a_hub_that_refuses_and_tells_the_token(status: int, project: Project, served: Hub) -> None:
    served.status, served.body = status, f"no entry for {SECRET}"
    said = _refused(_full(project, served.address).stage("prep"))
    assert said.startswith(f"prep: the hub refuses hotpotqa/hotpot_qa at revision {REVISION} with status {status}; ")


def test_a_file_that_is_no_parquet(project: Project, tmp_path: Path) -> None:
    (tmp_path / "broken/distractor").mkdir(parents=True)
    for name in ("train-00000-of-00001", "validation-00000-of-00001"):
        (tmp_path / f"broken/distractor/{name}.parquet").write_bytes(b"PAR1 and then something else" * 50)
    with serving(tmp_path / "broken") as running:
        said = _refused(_full(project, running.address).stage("prep"))
    assert said.startswith(f"prep: reading hotpotqa/hotpot_qa at {REVISION} broke off: ArrowInvalid: ")
    assert not list((project.root / "data/prep").iterdir())


def test_connections_that_break_are_taken_up_again(project: Project, served: Hub) -> None:
    served.breaks = 3
    project = _full(project, served.address)
    done = project.stage("prep")
    assert done.returncode == 0, done.stderr
    assert served.breaks == 0
    assert (project.root / "data/prep/test.jsonl").read_bytes() == (SHARED / "expected_test_500.jsonl").read_bytes()
