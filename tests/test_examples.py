import csv

from tests.project import ROOT, Project


def test_an_environment_of_ones_own_takes_less_than_sixty_lines_and_trains(project: Project) -> None:
    assert len((ROOT / "examples/adding.py").read_text().splitlines()) < 60
    done = project.python("examples/adding.py")
    assert done.returncode == 0, done.stderr
    with (project.root / "metrics/curves/adding.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert [int(row["step"]) for row in rows] == list(range(1, 11))
    assert all(1 <= float(row["tries"]) <= 2 and 0 <= float(row["reward"]) <= 1 for row in rows)
