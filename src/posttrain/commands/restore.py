"""`posttrain restore`: what receipts hold, put back, so that a fresh clone need not pay again."""

import argparse

HELP = "put back pointers to hosted checkpoints from receipts"
DESCRIPTION = "Re-creates the outputs that receipts hold, after checking that the checkpoints still exist."
EXAMPLE = """example:
  git clone … && posttrain restore     then `posttrain ask`, `posttrain export`, or `dvc repro -s test@grpo`"""


def run(_: argparse.Namespace) -> int:
    """Restores every receipt whose outputs are missing; 1 if a checkpoint is gone.

    Raises:
        PosttrainError: a receipt is damaged, or the service cannot be asked.
    """
    from pathlib import Path

    from posttrain.engine.settings import EngineSettings
    from posttrain.files import read_json
    from posttrain.ledger.receipt import FOLDER, read_receipt
    from posttrain.paid import restored
    from posttrain.settings import load
    from posttrain.wiki.choose import UNITS, put_best

    engine, failed, found = load("engine", EngineSettings), 0, False
    for path in sorted(FOLDER.glob("*.json")):
        receipt = read_receipt(path)
        if receipt["kept"] is None or all(Path(name).exists() for name in receipt["outputs"]):
            continue
        found = True
        done = restored(receipt, engine)
        failed += not done
        print(f"{path}: {'restored' if done else 'its checkpoint is gone; `dvc repro` makes it again'}")
    for phase, unit in UNITS.items():
        measured = Path(f"metrics/{phase}.json")
        best = read_json(measured).get(f"chosen_{unit}") if measured.exists() else None
        if (
            best is not None
            and Path(f"models/{phase}/{unit}-{best}").is_dir()
            and not Path(f"models/{phase}_best").exists()
        ):
            put_best(phase, best)
            print(f"models/{phase}_best: {unit} {best}, as {measured} says")
    if not found:
        print("nothing to restore: no receipt holds an output that is missing")
    return 1 if failed else 0
