"""The frozen transfer suite: runs/transfer has the round with its receipt, metrics/transfer.json its table."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from posttrain import station
from posttrain.euler.evaluate import evaluate, signature
from posttrain.euler.manifest_file import log_path
from posttrain.euler.planned import Planned
from posttrain.euler.policies import conditions_here, open_speaker
from posttrain.euler.rollouts import judged
from posttrain.euler.round_files import RESULTS, append_result
from posttrain.euler.round_receipt import RECEIPT, finish_round
from posttrain.euler.round_settings import RoundSettings, TransferSettings
from posttrain.euler.settings import ReportSettings
from posttrain.euler.transfer.manifest import transfer_manifest, transfer_problem
from posttrain.euler.transfer.report import transfer_report
from posttrain.euler.transfer.tasks import task
from posttrain.files import copy_folder, write_json
from posttrain.ledger.places import state_dir
from posttrain.settings import load


def main() -> None:
    conditions = conditions_here()
    fanout = replace(conditions.fanout, rollouts=load("transfer", TransferSettings).rollouts)
    with open_speaker() as speaker:
        signed = signature(speaker, conditions)
        asked = transfer_manifest(signed, fanout, load("round", RoundSettings).trained_on)
        folder = state_dir() / "euler" / f"transfer-{signed.digest[:16]}-{fanout.rollouts}"
        (folder / RECEIPT).unlink(missing_ok=True)
        (folder / RESULTS).unlink(missing_ok=True)

        def given(planned: Planned) -> tuple[str, Mapping[str, bytes]]:
            asked_of = task(planned.problem, planned.language)
            return asked_of.prompt, asked_of.files

        # The same samples for a model that is asked again: the suite compares models and unlocks nothing.
        manifest = evaluate(folder, asked, "transfer", conditions, speaker, given)
    for planned in manifest.plan:
        append_result(folder, judged(planned, transfer_problem(planned), log_path(folder, planned)))
    finished = finish_round(folder)
    copy_folder(folder, Path("runs/transfer"))
    write_json(Path("metrics/transfer.json"), transfer_report(finished, load("report", ReportSettings).confidence))


if __name__ == "__main__":
    station.run("transfer", main, "posttrain.euler.params")
