"""Judges the round: rounds/ gets it with its receipt, climb/next.json is the climb's state after it."""

import shutil
from pathlib import Path

from posttrain import station
from posttrain.euler.curriculum_file import apply_round
from posttrain.euler.manifest_file import round_id
from posttrain.euler.round_receipt import RECEIPT, SUMMARY, finish_round
from posttrain.files import copy_folder, read_json, write_json

STATE, NEXT, ROUNDS = Path("climb/state.json"), Path("climb/next.json"), Path("rounds")


def main() -> None:
    scored = Path("runs/scored")
    folder = ROUNDS / round_id(scored)[:16]
    copy_folder(scored, folder)
    finish_round(folder)
    NEXT.unlink(missing_ok=True)
    if read_json(STATE) != {}:
        shutil.copyfile(STATE, NEXT)
    state, change, _ = apply_round(NEXT, folder)
    if not NEXT.exists():  # a round that does nothing begins no climb
        write_json(NEXT, {})
    summary = read_json(folder / SUMMARY)
    after = {"change": change, "current": state.current, "passes": len(state.passes)}
    write_json(Path("metrics/gate.json"), summary | {"climb": after})
    shutil.copyfile(folder / RECEIPT, Path("metrics/receipt.json"))


if __name__ == "__main__":
    station.run("gate", main, "posttrain.euler.params")
