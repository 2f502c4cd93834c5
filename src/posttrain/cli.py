"""The command line: one module under `commands` each, imported for its arguments and, when chosen, for its work."""

import argparse
import sys

from posttrain.commands import ask, check, deps, doctor, export, ledger, plan, restore, use
from posttrain.errors import PosttrainError, system_failure
from posttrain.terminal import harmless

COMMANDS = (use, check, doctor, plan, ask, export, ledger, restore, deps)


def main(arguments: list[str] | None = None) -> int:
    """Runs one subcommand; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="posttrain", description="A factory that post-trains small language models into agents."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for command in COMMANDS:
        command.add(commands)
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.run(chosen) or 0)
    except PosttrainError as error:
        print(f"error: {harmless(str(error))}", file=sys.stderr)
    except OSError as error:
        print(f"error: {harmless(system_failure(error))}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
