"""The command line: one module under `commands` each, imported for its arguments and, when chosen, for its work."""

import os
import sys

from posttrain.arguments import Parser
from posttrain.commands import (
    ask,
    check,
    deps,
    doctor,
    euler,
    export,
    inspect,
    label,
    ledger,
    mask,
    plan,
    restore,
    search,
    show,
    sweep,
    use,
)
from posttrain.errors import PosttrainError, system_failure
from posttrain.terminal import harmless

COMMANDS = (
    use,
    check,
    doctor,
    plan,
    ask,
    show,
    search,
    mask,
    label,
    inspect,
    sweep,
    export,
    ledger,
    restore,
    deps,
    euler,
)
DESCRIPTION = "A factory that post-trains small language models into agents."
EXAMPLE = """example:
  posttrain use mini && posttrain plan && dvc repro

`posttrain COMMAND --help` shows a command's options, with an example."""


def main(arguments: list[str] | None = None) -> int:
    """Runs one subcommand; returns the exit code.

    Raises:
        SystemExit: the arguments are wrong (code 2), or help was asked for.
    """
    chosen = _parser().parse(arguments)
    try:
        return int(chosen.run(chosen) or 0)
    except PosttrainError as error:
        print(f"error: {harmless(str(error))}", file=sys.stderr)
    except BrokenPipeError:  # whoever read the output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"error: {harmless(system_failure(error))}", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 1


def _parser() -> Parser:
    """A command is a module with HELP, DESCRIPTION, EXAMPLE, `run` and, if it takes any, `arguments`."""
    parser = Parser(prog="posttrain", description=DESCRIPTION, epilog=EXAMPLE)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    for module in COMMANDS:
        name = module.__name__.rpartition(".")[2]
        own = commands.add_parser(name, help=module.HELP, description=module.DESCRIPTION, epilog=module.EXAMPLE)
        if hasattr(module, "arguments"):
            module.arguments(own)
        own.set_defaults(run=module.run, parser=own)
    return parser


if __name__ == "__main__":
    sys.exit(main())
