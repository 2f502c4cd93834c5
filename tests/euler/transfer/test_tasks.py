import re
import shutil
import subprocess
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest

from posttrain.errors import DataError
from posttrain.euler.event_log import event_line
from posttrain.euler.languages import LANGUAGES, language
from posttrain.euler.paths import relative_file
from posttrain.euler.planned import Planned
from posttrain.euler.rollouts import judged
from posttrain.euler.transfer.tasks import NAMES, TransferTask, as_problem, task
from tests.euler.rollout_events import end, ran, wrote
from tests.euler.transfer.programs import solution

EVERY = [(number, name) for number in NAMES for name in LANGUAGES]


def output(folder: Path, given: TransferTask, program: tuple[str, str] | None) -> str:
    """What a program prints beside the task's files; None: the one that is given."""
    runtime = language(given.language).runtimes[0]
    if shutil.which(runtime) is None:
        pytest.skip(f"{runtime} is not installed")
    for name, content in given.files.items():
        (folder / name).write_bytes(content)
    file, text = program or (f"checksum{language(given.language).suffixes[0]}", None)
    if text is not None:
        (folder / file).write_text(text, encoding="utf-8")
    done = subprocess.run([runtime, file], cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(("number", "name"), EVERY)
def test_a_right_program_prints_the_answer(tmp_path: Path, number: int, name: str) -> None:
    given = task(number, name)
    assert output(tmp_path, given, solution(number, name, given.files)) == given.answer


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_given_checksum_program_is_wrong_by_one_character(tmp_path: Path, name: str) -> None:
    given = task(3, name)
    file, repaired = solution(3, name, given.files)
    broken = given.files[file].decode()
    place = next(i for i, (one, other) in enumerate(zip(broken, repaired, strict=False)) if one != other)
    assert repaired == broken[:place] + repaired[place] + broken[place:]
    assert output(tmp_path, given, None) != given.answer


def rows(given: TransferTask, name: str, separator: str = ",") -> list[list[str]]:
    return [line.split(separator) for line in given.files[name].decode().splitlines()]


def log_sum(given: TransferTask, entry: str, least: int) -> int:
    found = re.findall(rf"^2\S+ {entry} ms=(\d+) bytes=(\d+)$", given.files["service.log"].decode(), re.MULTILINE)
    return sum(int(size) for waited, size in found if int(waited) >= least)


def test_the_log_by_an_independent_computation() -> None:
    given = task(1, "python")
    assert log_sum(given, "level=ERROR service=checkout", 400) == int(given.answer)
    for entry, least in (
        ("level=ERROR service=checkout", 0),
        (r"level=\w+ service=checkout", 400),
        (r"level=ERROR service=checkout\S*", 400),
        (r"level=ERROR service=\S+", 400),
    ):
        assert log_sum(given, entry, least) != int(given.answer)


def test_the_inventory_by_an_independent_computation() -> None:
    given = task(2, "python")
    goods = [(state, int(count), Fraction(cost)) for _, _, state, count, cost in rows(given, "inventory.csv")[1:]]
    worth = sum(count * cost for state, count, cost in goods if state == "active" and count > 0)
    assert worth * 100 == int(given.answer)
    assert sum(count * cost for state, count, cost in goods if state == "active") != worth
    assert sum(count * cost for state, count, cost in goods if "active" in state and count > 0) != worth
    assert sum(count * cost for _, count, cost in goods if count > 0) != worth


def test_the_checksum_by_its_closed_form() -> None:
    given = task(3, "python")
    readings = [int(line) for line in given.files["readings.txt"].decode().split()]
    n, modulus = len(readings), 1000003
    powers = (place * reading * pow(31, n - place, modulus) for place, reading in enumerate(readings, 1))
    assert (7 * pow(31, n, modulus) + sum(powers)) % modulus == int(given.answer)


def test_the_shards_by_an_independent_computation() -> None:
    given = task(4, "python")
    assert sorted(given.files) == [f"shard-{number}.csv" for number in range(1, 7)]
    amounts: dict[str, list[int]] = defaultdict(list)
    by_shard: dict[tuple[str, str], int] = defaultdict(int)
    for name in given.files:
        for account, amount in rows(given, name):
            amounts[account].append(int(amount))
            by_shard[name, account] += int(amount)
    totals = [sum(each) for each in amounts.values()]
    assert sum(total for total in totals if total >= 2500) == int(given.answer)
    assert sum(total for total in by_shard.values() if total >= 2500) != int(given.answer)
    assert sum(totals) != int(given.answer)


@pytest.mark.parametrize(("number", "name"), EVERY)
def test_a_task_gives_nothing_away_and_stays_in_the_workspace(number: int, name: str) -> None:
    given = task(number, name)
    texts = [given.prompt, *(content.decode() for content in given.files.values())]
    for text in texts:
        assert given.answer not in text.replace(",", "")
        assert not re.search(r"[/~]|\.\.", text)
    assert all(relative_file(file) == file for file in given.files)
    named = set(re.findall(r"[\w-]+\.(?:py|js|jl|csv|txt|log)\b", given.prompt))
    ends = {"shard-1.csv", "shard-6.csv"} if number == 4 else set(given.files)
    assert named == ends
    assert 20 <= max(content.count(b"\n") for content in given.files.values()) <= 400
    assert "last line" in given.prompt
    assert "final reply" in given.prompt


@pytest.mark.parametrize(("number", "name"), EVERY)
def test_a_task_is_judged_as_a_problem(tmp_path: Path, number: int, name: str) -> None:
    given = task(number, name)
    file, source = solution(number, name, given.files)
    done = ran(f"{language(name).runtimes[0]} {file}", source=source, stdout=f"{given.answer}\n")
    log = tmp_path / "events.jsonl"
    log.write_text("".join(map(event_line, [wrote(file, source), done, end(f"It is {given.answer}.")])))
    rollout = judged(Planned(number, name, "canonical", "transfer", 0), as_problem(given), log)
    assert rollout.qualified
    assert rollout.warnings == ()


def test_there_are_no_others() -> None:
    with pytest.raises(DataError, match="has no task 5; it has 1, 2, 3, 4"):
        task(5, "python")
    with pytest.raises(DataError, match="unknown language 'ruby'"):
        task(1, "ruby")
