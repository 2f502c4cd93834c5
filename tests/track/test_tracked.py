"""Rows go through the real process to the trackers' real stores, which their own readers read back."""

import json
import math
import os
import resource
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from posttrain.settings import load
from posttrain.track import tracked as module
from posttrain.track.settings import TrackSettings
from posttrain.track.tracked import tracked
from posttrain.train.curve import Curve

PIPELINE = {"stages": {"grpo": {"cmd": "true", "deps": ["data.txt"], "params": ["grpo"], "outs": ["models"]}}}
STEPS = [{"step": step, "reward": step / 4, "loss": None if step == 2 else 1 / step, "note": "text"} for step in (1, 2)]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [*os.environ]:
        if name.startswith(("DVC_", "WANDB_", "MLFLOW_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # no login of the user's is found there
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setattr(module, "PATIENCE_S", 120)  # on a busy machine importing a tracker can take long
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    (root / "dvc.yaml").write_text(yaml.safe_dump(PIPELINE))
    (root / "data.txt").write_text("questions\n")
    return root


def use(to: str, lr: float = 1e-4) -> None:
    params = {"grpo": {"lr": lr, "at": [1, 2]}, "track": {"to": to, "project": "toy"}}
    Path("params.yaml").write_text(yaml.safe_dump(params))


def train(rows: Iterable[dict[str, Any]]) -> None:
    with tracked("grpo") as send:
        curve = Curve(Path("curve.csv"), send)
        for row in rows:
            curve.add(row)


def interrupted() -> Iterator[dict[str, Any]]:
    yield STEPS[0]
    raise KeyboardInterrupt


def warnings(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return capfd.readouterr().err.splitlines()


def test_none_starts_nothing(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    use("none")
    train(STEPS)
    assert warnings(capfd) == []
    assert not (place / ".posttrain").exists()


def test_tensorboard_reads_every_step_once(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tensorboard", reason='needs pip install "posttrain[tensorboard]"')
    use("tensorboard")
    with pytest.raises(KeyboardInterrupt):
        train(interrupted())
    [folder] = _until(lambda: list((place / ".posttrain/track/tensorboard/toy").glob("grpo-*")))
    _until(lambda: len(_scalars(folder).get("reward", [])) == 1)
    train([*STEPS, {"step": 3, "reward": math.nan}])  # the stage starts again, and replays its first steps
    assert warnings(capfd) == []
    scalars = _scalars(folder)
    assert scalars["loss"] == [(1, 1.0)]
    assert scalars["reward"][:2] == [(1, 0.25), (2, 0.5)]
    assert [step for step, _ in scalars["reward"]] == [1, 2, 3]
    assert math.isnan(scalars["reward"][2][1])


def test_other_settings_make_another_run() -> None:
    ids = []
    for to, lr in (("wandb", 1e-4), ("mlflow", 1e-4), ("wandb", 2e-4)):
        use(to, lr)
        ids.append(module._run("grpo", load("track", TrackSettings)).id)
    assert ids[0] == ids[1] != ids[2]


def _scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder), {"scalars": 0, "tensors": 0}).Reload()
    if "config" in found.Tags()["tensors"]:
        [text] = found.Tensors("config")
        assert "| grpo.lr | `0.0001` |" in text.tensor_proto.string_val[0].decode()
        assert '| stage | `"grpo"` |' in text.tensor_proto.string_val[0].decode()
    return {tag: [(event.step, event.value) for event in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def _until(found: Any, limit_s: float = 30) -> Any:
    end = time.monotonic() + limit_s
    while not (value := found()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return value


def test_mlflow_reads_every_step_once(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    mlflow = pytest.importorskip("mlflow", reason='needs pip install "posttrain[mlflow]"')
    use("mlflow")
    train(STEPS[:1])
    train(STEPS)
    assert warnings(capfd) == []
    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{place / '.posttrain/track/mlflow.db'}")
    [run] = client.search_runs([client.get_experiment_by_name("toy").experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params["grpo.lr"] == "0.0001"
    assert (run.data.params["stage"], run.data.params["grpo.at"]) == ("grpo", "[1, 2]")
    read = {key: client.get_metric_history(run.info.run_id, key) for key in run.data.metrics}
    steps = {key: [(metric.step, metric.value) for metric in history] for key, history in read.items()}
    assert steps == {"reward": [(1, 0.25), (2, 0.5)], "loss": [(1, 1.0)]}


def test_wandb_keeps_a_run_offline(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("wandb", reason='needs pip install "posttrain[wandb]"')
    use("wandb")
    train(STEPS)
    assert warnings(capfd) == []
    [file] = (place / ".posttrain/track/wandb").glob("offline-run-*/run-grpo-*.wandb")
    records = list(_records(file))
    [run] = [record.run for record in records if record.WhichOneof("record_type") == "run"]
    config = {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in run.config.update}
    assert (run.project, run.run_id) == ("toy", file.stem.removeprefix("run-"))
    assert (config["grpo.lr"], config["stage"]) == (1e-4, "grpo")
    history = [
        {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
        for record in records
        if record.WhichOneof("record_type") == "history"
    ]
    kept = [{key: row.get(key) for key in ("_step", "reward", "loss")} for row in history if "reward" in row]
    assert kept == [{"_step": 1, "reward": 0.25, "loss": 1.0}, {"_step": 2, "reward": 0.5, "loss": None}]
    assert records[-1].WhichOneof("record_type") == "exit"


def _records(file: Path) -> Iterator[Any]:
    """Records of a run's file: 7 bytes, then blocks of 32 KiB with parts, each behind checksum, length and kind."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, whole = file.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
        _, length, kind = struct.unpack_from("<IHB", data, at)
        part = data[at + 7 : at + 7 + length]
        whole = part if kind in (1, 2) else whole + part
        at += 7 + length
        if kind in (1, 4):
            yield Record.FromString(whole)


def test_a_login_that_is_missing_is_one_warning(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb", reason='needs pip install "posttrain[wandb]"')
    monkeypatch.delenv("WANDB_MODE")
    use("wandb")
    train(STEPS)
    [said] = warnings(capfd)
    assert said.startswith("warning: track.to is wandb, and ")
    assert "API key" in said
    assert said.endswith("; training goes on without it")


def test_a_server_that_is_not_there_does_not_hold_up_training(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow", reason='needs pip install "posttrain[mlflow]"')
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setattr(module, "PATIENCE_S", 0.2)
    use("mlflow")
    started = time.monotonic()
    train(STEPS)
    assert time.monotonic() - started < 2
    assert warnings(capfd) == [
        "warning: track.to is mlflow, and it takes more than 0.2 s; the rest is sent in the background"
    ]


def test_a_package_that_is_missing_is_named(
    place: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "tensorboard.py").write_text("raise ModuleNotFoundError('gone', name='tensorboard')\n")
    monkeypatch.setenv("PYTHONPATH", f"{place}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    use("tensorboard")
    train(STEPS)
    assert warnings(capfd) == [
        'warning: track.to is tensorboard, and tensorboard is not installed: pip install "posttrain[tensorboard]"; '
        "training goes on without it"
    ]


def test_a_full_disk_is_one_warning(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tensorboard", reason='needs pip install "posttrain[tensorboard]"')
    use("tensorboard")
    code = (
        "from posttrain.track.tracked import tracked\n"
        "with tracked('grpo') as send:\n"
        "    for step in range(1, 1000): send({'step': step, 'reward': 0.5})\n"
        "print('trained')\n"
    )

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = subprocess.run([sys.executable, "-c", code], cwd=place, preexec_fn=limit, stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"trained\n"
    [said] = warnings(capfd)
    assert said.startswith("warning: track.to is tensorboard, and ")
    assert "File too large" in said


def test_a_sender_that_is_killed_or_hangs_is_one_warning(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.1)
    for program, said in (("kill -9 $$", "its process ended with code -9"), ("sleep 5", "some steps are left out")):
        process = subprocess.Popen(["sh", "-c", program], stdin=subprocess.PIPE, bufsize=0)
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        if "kill" in program:
            process.wait()
        sender = module.Sender("wandb", process)
        for step in range(5000):
            sender.send({"step": step, "reward": 0.5})
        sender.close(finished=True)
        process.kill()
        process.wait()
        [line] = warnings(capfd)
        assert said in line


def test_what_the_fingerprint_cannot_be_made_of_is_a_warning(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    use("tensorboard")
    (place / "data.txt").unlink()
    train(STEPS)
    [said] = warnings(capfd)
    assert "could not be started" in said
    assert Path("curve.csv").read_text().count("\n") == 3
