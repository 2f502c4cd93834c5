"""The command line: `posttrain use | check | deps`."""

import argparse
import sys
from pathlib import Path

from posttrain.errors import PosttrainError, system_failure


def main(arguments: list[str] | None = None) -> int:
    """Runs one subcommand; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="posttrain", description="A factory that post-trains small language models into agents."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    use = commands.add_parser("use", help="put a profile in place as params.yaml", description=_use.__doc__)
    use.add_argument("profile", help="name of a file under profiles/, such as smoke, mini or full")
    use.set_defaults(run=_use)
    check = commands.add_parser("check", help="check params.yaml before anything runs", description=_check.__doc__)
    check.set_defaults(run=_check)
    deps = commands.add_parser("deps", help="stages whose deps are not what they import", description=_deps.__doc__)
    deps.add_argument("--write", action="store_true", help="put the missing ones into dvc.yaml and drop the others")
    deps.set_defaults(run=_deps)
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.run(chosen) or 0)
    except PosttrainError as error:
        print(f"error: {error}", file=sys.stderr)
    except OSError as error:
        print(f"error: {system_failure(error)}", file=sys.stderr)
    return 1


def _use(chosen: argparse.Namespace) -> None:
    """Puts profiles/PROFILE.yaml in place as params.yaml; your own edits are kept in params.yaml.bak."""
    from posttrain.ledger.places import project_root
    from posttrain.profiles import use

    print(use(chosen.profile, project_root()))


def _check(_: argparse.Namespace) -> None:
    """Checks every section of params.yaml: unknown and missing keys, types, ranges, impossible combinations."""
    from posttrain.wiki.params import check_params

    check_params(Path("params.yaml"))


def _deps(chosen: argparse.Namespace) -> int:
    """Compares each stage's code deps in dvc.yaml with what its script imports, directly or not."""
    from posttrain.pipeline_deps import differences, rewrite

    if chosen.write:
        rewrite(Path("dvc.yaml"))
    found = differences(Path("dvc.yaml"))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
