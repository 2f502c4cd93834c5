"""`posttrain inspect`: a run as a log that the Inspect viewer opens."""

import argparse
from pathlib import Path

HELP = "write a run as a log for `inspect view`"
DESCRIPTION = """Writes a run's episodes, with messages, searches, scores and settings, as an .eval log of Inspect.
Needs the extra: pip install "posttrain[inspect]"."""
EXAMPLE = """examples:
  posttrain inspect test/grpo && inspect view        logs/test-grpo.eval, where the viewer looks
  posttrain inspect grpo/15 /tmp/grpo15.eval         another place"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    # Not `run`: that is the function to call.
    parser.add_argument("name", metavar="RUN", help="such as test/grpo; what lies under runs/")
    parser.add_argument("out", nargs="?", type=Path, metavar="OUT.eval", help="else logs/RUN.eval")


def run(chosen: argparse.Namespace) -> None:
    """Prints what was written.

    Raises:
        PosttrainError: see `export_run`; or OUT does not end in .eval.
    """
    from contextlib import chdir

    from posttrain.errors import SettingsError
    from posttrain.ledger.places import project_root
    from posttrain.wiki.cases import from_here
    from posttrain.wiki.inspect_export import export_run

    name = from_here(chosen.name)
    out = chosen.out or Path("logs", f"{'-'.join(Path(chosen.name).parts[-2:])}.eval")
    if out.suffix != ".eval":
        raise SettingsError(f"OUT must end in .eval, by which the viewer finds it, is {out}")
    written = out.absolute()
    with chdir(project_root()):
        episodes = export_run(name, written)
    print(f"{out}: {episodes} episodes; `inspect view --log-dir {out.parent}` shows them")
