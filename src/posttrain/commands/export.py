"""`posttrain export`: a checkpoint as a folder that plain transformers and peft load."""

import argparse
import sys
from pathlib import Path

HELP = "write the trained model for others, with a model card"
DESCRIPTION = "Writes a checkpoint as a peft adapter, or as full weights, with tokenizer and model card."
EXAMPLE = """examples:
  posttrain export agent                    models/grpo_best, or the latest stage's, as a peft adapter in agent/
  posttrain export --merged agent-full      full weights that load without peft (local engine)
  posttrain export --policy models/base --merged base      the untrained weights

The folder gets a model card (README.md) with data, recipe, metrics and licences. Of a hosted policy the adapter is
downloaded from the service. The folder appears whole or not at all."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder to make")
    parser.add_argument(
        "--policy", type=Path, metavar="FOLDER", help="a checkpoint folder; else the latest of models/grpo_best, …"
    )
    parser.add_argument("--merged", action="store_true", help="full weights instead of an adapter")
    parser.add_argument("--force", action="store_true", help="replace an earlier export")


def run(chosen: argparse.Namespace) -> int:
    """Prints what was written; 130 if interrupted.

    Raises:
        PosttrainError: see `export_policy`.
    """
    try:
        _export(chosen)
    except KeyboardInterrupt:
        print("interrupted; nothing was written", file=sys.stderr, flush=True)
        return 130
    return 0


def _export(chosen: argparse.Namespace) -> None:
    from contextlib import chdir

    from posttrain.ledger.places import project_root
    from posttrain.wiki.export import export_policy
    from posttrain.wiki.policies import latest_policy

    out, given = chosen.out.absolute(), chosen.policy and chosen.policy.absolute()
    with chdir(project_root()):
        folder = given or latest_policy()
        export_policy(folder, out, chosen.merged, chosen.force)
    form = "full weights" if chosen.merged else "a peft adapter"
    print(f"{chosen.out}: {chosen.policy or folder} as {form}; README.md says how to load it")
