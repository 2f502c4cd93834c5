"""The report over all rounds of the climb that are there: metrics/report.json, and the same to read in report.md."""

from pathlib import Path

from posttrain import station
from posttrain.euler.curriculum_file import read_state
from posttrain.euler.report import report
from posttrain.euler.report_text import report_markdown
from posttrain.euler.round_receipt import read_round
from posttrain.euler.settings import ReportSettings
from posttrain.files import read_json, write_json, write_text
from posttrain.settings import load


def main() -> None:
    rounds = [read_round(folder) for folder in sorted(Path("rounds").iterdir()) if folder.is_dir()]
    rounds.sort(key=lambda each: (each.manifest.started, each.id))
    climb = Path("climb/next.json")
    result = report(rounds, None if read_json(climb) == {} else read_state(climb), load("report", ReportSettings))
    write_json(Path("metrics/report.json"), result)
    write_text(Path("metrics/report.md"), report_markdown(result))


if __name__ == "__main__":
    station.run("report", main, "posttrain.euler.params")
