import csv

from tests.project import ROOT, Project


def test_an_environment_of_ones_own_takes_less_than_sixty_lines_and_trains(project: Project) -> None:
    text = (ROOT / "examples/adding.py").read_text()
    assert len(text.splitlines()) < 60
    smaller = text.replace("GrpoSettings(10, 8, 6,", "GrpoSettings(3, 2, 3,").replace("1.0, 10, []", "1.0, 3, []")
    assert smaller != text
    (project.root / "examples/adding.py").write_text(smaller)
    done = project.python("examples/adding.py")
    assert done.returncode == 0, done.stderr
    with (project.root / "metrics/curves/adding.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert [int(row["step"]) for row in rows] == [1, 2, 3]
    assert all(1 <= float(row["tries"]) <= 2 and 0 <= float(row["reward"]) <= 1 for row in rows)
