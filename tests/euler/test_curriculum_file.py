import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from posttrain.errors import BusyError, DataError
from posttrain.euler.curriculum_file import apply_round, read_state
from posttrain.euler.problem_set import ProblemSet
from posttrain.ledger.lock import stage_lock
from tests.euler.fake_rounds import FANOUT, GATE, SIGNATURE, manifest, played, problem_set
from tests.project import ROOT

SMALL = replace(FANOUT, languages=["python"], rollouts=1)
ONE = replace(GATE, required=1)
ALONE = replace(SIGNATURE, languages=("python",))


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> ProblemSet:
    return problem_set(tmp_path_factory.mktemp("problems"))


def round_at(folder: Path, problems: ProblemSet, current: int, passes: bool = True) -> Path:
    mastered = range(1, current)
    made = manifest(problems, current, mastered, fanout=SMALL, gate=ONE, signature=ALONE)
    played(folder, problems, made, lambda _: passes)
    return folder


def climb(folder: Path, problems: ProblemSet, problem_numbers: tuple[int, ...]) -> list[Path]:
    return [round_at(folder / f"round{i}", problems, number) for i, number in enumerate(problem_numbers)]


def test_a_climb_is_kept_in_one_file(tmp_path: Path, problems: ProblemSet) -> None:
    path = tmp_path / "state/climb.json"
    changes = [apply_round(path, folder)[1] for folder in climb(tmp_path, problems, (1, 1, 2, 2))]
    assert changes == ["counted", "unlocked", "counted", "unlocked"]
    state = read_state(path)
    assert state is not None
    assert (state.highest_mastered, state.current) == (2, 3)
    assert sorted(each.name for each in path.parent.iterdir()) == ["climb.json", "climb.json.lock"]


def test_the_same_round_applied_again_writes_nothing(tmp_path: Path, problems: ProblemSet) -> None:
    path, (folder,) = tmp_path / "climb.json", climb(tmp_path, problems, (1,))
    apply_round(path, folder)
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert apply_round(path, folder)[1] == "unchanged"
    moved = folder.rename(tmp_path / "moved")
    assert apply_round(path, moved)[1] == "unchanged"
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_changed_result_is_refused_and_the_state_stays(tmp_path: Path, problems: ProblemSet) -> None:
    path = tmp_path / "climb.json"
    folder = round_at(tmp_path / "failed", problems, 1, passes=False)
    results = folder / "results.jsonl"
    results.write_text(results.read_text().replace('"output": false', '"output": true'))
    with pytest.raises(DataError, match=r"results\.jsonl has SHA-256"):
        apply_round(path, folder)
    assert not path.exists()


def test_a_kill_at_any_moment_leaves_the_old_state_or_the_new(tmp_path: Path, problems: ProblemSet) -> None:
    path, folders = tmp_path / "climb.json", climb(tmp_path, problems, (1, 1))
    command = [sys.executable, "-m", "tests.euler.killed_climb", str(path), *map(str, folders)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["wrong"] == []
    assert told["kills"] > 40
    state = read_state(path)
    assert state is not None
    assert (state.current, len(state.passes), len(state.applied)) == (2, 0, 2)
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_a_kill_from_outside_at_a_random_moment(tmp_path: Path, problems: ProblemSet) -> None:
    path, folders = tmp_path / "climb.json", climb(tmp_path, problems, (1, 1))
    code = (
        "import sys\nfrom pathlib import Path\nfrom posttrain.euler.curriculum_file import apply_round\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    for folder in sys.argv[2:]:\n        apply_round(Path(sys.argv[1]), Path(folder))\n"
        "    Path(sys.argv[1]).unlink()\n"
    )
    for attempt in range(2):
        command = [sys.executable, "-c", code, str(path), *map(str, folders)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05 + 0.11 * attempt)
        process.kill()
        process.communicate()
        state = read_state(path)
        assert state is None or len(state.applied) in (1, 2)


def test_two_processes_at_once_are_refused(tmp_path: Path, problems: ProblemSet) -> None:
    path, (folder,) = tmp_path / "climb.json", climb(tmp_path, problems, (1,))
    with (
        stage_lock(tmp_path, "climb.json"),
        pytest.raises(BusyError, match=r"climb\.json is already running"),
    ):
        apply_round(path, folder)
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom posttrain.ledger.lock import stage_lock\n"
        "with stage_lock(Path(sys.argv[1]), 'climb.json'):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BusyError, match=str(holder.pid)):
            apply_round(path, folder)
    finally:
        holder.kill()
        holder.communicate()
    assert apply_round(path, folder)[1] == "counted"


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("current", 5, "contradicts itself"),
        ("highest_mastered", 4, "contradicts itself"),
        ("passes", ["x"], "contradicts itself"),
        ("passes", [], "contradicts itself"),
        ("condition", None, "contradicts itself"),
        ("version", 2, "version 2"),
        ("current", "1", "current"),
        ("mastered", [{}], "problem is missing"),
    ],
)
def test_a_damaged_state_is_refused(tmp_path: Path, problems: ProblemSet, key: str, value: object, why: str) -> None:
    path, (folder,) = tmp_path / "climb.json", climb(tmp_path, problems, (1,))
    apply_round(path, folder)
    damaged = json.dumps({**json.loads(path.read_text()), key: value})
    path.write_text(damaged)
    with pytest.raises(DataError, match=why):
        apply_round(path, folder)
    assert path.read_text() == damaged


def test_half_a_state_is_refused(tmp_path: Path, problems: ProblemSet) -> None:
    path, (folder,) = tmp_path / "climb.json", climb(tmp_path, problems, (1,))
    apply_round(path, folder)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(DataError, match="not valid JSON"):
        apply_round(path, folder)
