import subprocess
import sys
from pathlib import Path

import pytest

from posttrain.cli import COMMANDS, main
from tests.project import ROOT, Done, Project


def one_line(done: Done) -> str:
    """The only line of a command that failed as it should."""
    assert done.returncode == 1, done
    assert done.stderr.startswith("error: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("error: ").strip()


def test_a_profile_is_put_in_place_and_checked(project: Project) -> None:
    done = project.posttrain("use", "mini")
    assert (done.returncode, done.stdout) == (0, "params.yaml is now profiles/mini.yaml\n")
    assert (project.root / "params.yaml").read_text() == (project.root / "profiles/mini.yaml").read_text()
    assert project.posttrain("check").returncode == 0


def test_an_unknown_profile_changes_nothing(project: Project) -> None:
    before = (project.root / "params.yaml").read_text()
    assert "no profile smoky in" in one_line(project.posttrain("use", "smoky"))
    assert (project.root / "params.yaml").read_text() == before


def test_deps_are_compared_and_mended(project: Project) -> None:
    pipeline = project.root / "dvc.yaml"
    project.posttrain("deps", "--write")
    right = pipeline.read_text()
    assert project.posttrain("deps").stdout == ""
    pipeline.write_text(right.replace("      - src/posttrain/files.py\n", "      - src/posttrain/stale.py\n", 1))
    done = project.posttrain("deps")
    assert (done.returncode, done.stdout) == (
        1,
        "prep: add src/posttrain/files.py\nprep: drop src/posttrain/stale.py\n",
    )
    assert project.posttrain("deps", "--write").returncode == 0
    assert pipeline.read_text() == right


def test_deps_of_what_is_no_pipeline(project: Project) -> None:
    pipeline = project.root / "dvc.yaml"
    for text in ("stages: [", "- 1", "other: 1"):
        pipeline.write_text(text)
        assert one_line(project.posttrain("deps")).startswith("dvc.yaml: not a pipeline: ")
    pipeline.unlink()
    assert one_line(project.posttrain("deps")).startswith("dvc.yaml is missing; ")


def test_deps_of_a_package_with_code_in_its_init(project: Project) -> None:
    (project.root / "src/posttrain/wiki/__init__.py").write_text("import os\n")
    assert "holds code" in one_line(project.posttrain("deps"))


@pytest.mark.parametrize("command", [["use", "mini"], ["check"], ["deps"]])
def test_outside_of_a_project(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    assert main(command) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("heavy", ["torch", "transformers", "dvc", "matplotlib", "tinker"])
def test_starting_loads_nothing_heavy(heavy: str) -> None:
    code = f"import sys, posttrain.cli, posttrain.wiki.params; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


HELPS = [[], *([module.__name__.rpartition(".")[2]] for module in COMMANDS)]


@pytest.mark.parametrize("command", HELPS, ids=" ".join)
def test_help_fits_a_screen_and_shows_an_example(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert ended.value.code == 0
    assert len(lines) <= 32
    assert max(map(len, lines)) <= 120
    assert any(line.startswith("  posttrain ") or "&& posttrain" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["pla"], "there is no pla; did you mean plan?"),
        (["zzz"], "there is no zzz; there are use, check, doctor, "),
        (["plan", "--wy"], "unknown argument --wy; did you mean --why?"),
        (["plan", "--wh"], "unknown argument --wh; did you mean --why?"),
        (["export", "out", "--police=x"], "unknown argument --police=x; did you mean --policy?"),
        (["ask"], "the following arguments are required: question"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_a_wrong_argument_says_what_was_meant(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith(f"error: {meant}")
    assert "--help` shows what there is" in said


def test_output_that_nobody_reads_ends_the_command(project: Project) -> None:
    command = [sys.executable, "-m", "posttrain.cli", "doctor"]
    process = subprocess.Popen(
        command, cwd=project.root, env=project.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait() == 1


def test_interrupting_a_command_leaves_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("posttrain.commands.plan.run", interrupted)
    assert main(["plan"]) == 130
    assert capsys.readouterr().err == "interrupted\n"
