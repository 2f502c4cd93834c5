"""`posttrain euler`: the coding agent's climb, from a rehearsal without a model to rounds, comparison and replay."""

import argparse
from collections.abc import Callable
from pathlib import Path

HELP = "the coding agent that climbs Project Euler"
DESCRIPTION = "Works on the second recipe, in the folder euler; `posttrain euler COMMAND --help` says more of each."
EXAMPLE = """example:
  posttrain euler rehearse           the whole path with scripts in the model's place
  posttrain euler climb --rounds 2   two rounds, each a DVC experiment
  posttrain euler state              how far it has come"""

FOLDER = Path("euler")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    commands = parser.add_subparsers(dest="euler", required=True, metavar="COMMAND", title="commands")

    def add(name: str, work: Callable[[argparse.Namespace], int], said: str, example: str) -> argparse.ArgumentParser:
        own = commands.add_parser(name, help=said, description=f"{said[0].upper()}{said[1:]}.", epilog=example)
        own.set_defaults(work=work)
        return own

    add(
        "rehearse", _rehearse, "prove the path from Pi to the gate with scripts", "example:\n  posttrain euler rehearse"
    )
    climb = add("climb", _climb, "sample rounds and move the frontier", "example:\n  posttrain euler climb --rounds 3")
    climb.add_argument("--rounds", type=int, default=1, help="how many (default 1)")
    add("advance", _advance, "make the judged round count for the next one", "example:\n  posttrain euler advance")
    add("state", _state, "show the frontier and the rounds that led to it", "example:\n  posttrain euler state")
    compare = add(
        "compare",
        _compare,
        "compare two runs of the transfer suite",
        "example:\n  posttrain euler compare base/ tuned/",
    )
    compare.add_argument("one", type=Path, help="a folder such as euler/runs/transfer")
    compare.add_argument("other", type=Path, help="another one, of the same model at another revision")
    replay = add(
        "replay",
        _replay,
        "score a finished round anew, for diagnosis",
        "example:\n  posttrain euler replay euler/rounds/0123456789abcdef /tmp/again",
    )
    replay.add_argument("folder", type=Path, help="the round, as in euler/rounds")
    replay.add_argument("out", type=Path, help="a new folder for the replay")


def run(chosen: argparse.Namespace) -> int:
    """Runs the command below `euler`."""
    return int(chosen.work(chosen))


def _rehearse(chosen: argparse.Namespace) -> int:
    from posttrain.euler.commanding import in_recipe, rehearsed

    del chosen
    with in_recipe(FOLDER):
        rehearsal = rehearsed()
    for place, outcome, change in rehearsal.rounds:
        print(f"round {place}: {outcome}, {change}")
    print(f"the frontier is at problem {rehearsal.current}\n")
    rows = [("case", "language", "qualified", "found", "")]
    for each in rehearsal.judgements:
        verdict = "as it must be" if each.right else "WRONG"
        rows.append((each.case, each.language, "yes" if each.qualified else "no", each.found or "-", verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print("\neverything came out as it must" if rehearsal.right else "\nsomething came out otherwise than it must")
    return 0 if rehearsal.right else 1


def _climb(chosen: argparse.Namespace) -> int:
    from posttrain.errors import SettingsError
    from posttrain.euler.commanding import climb_round, state_lines

    if chosen.rounds < 1:
        raise SettingsError(f"--rounds: must be at least 1, is {chosen.rounds}")
    for _ in range(chosen.rounds):
        print(climb_round(FOLDER), flush=True)
    print("\n".join(state_lines(FOLDER)))
    return 0


def _advance(chosen: argparse.Namespace) -> int:
    from posttrain.euler.commanding import advance, state_lines

    del chosen
    advance(FOLDER)
    print("\n".join(state_lines(FOLDER)))
    return 0


def _state(chosen: argparse.Namespace) -> int:
    from posttrain.euler.commanding import state_lines

    del chosen
    print("\n".join(state_lines(FOLDER)))
    return 0


def _compare(chosen: argparse.Namespace) -> int:
    from posttrain.euler.settings import ReportSettings
    from posttrain.euler.transfer.compare import compare
    from posttrain.euler.transfer.compare_text import comparison_markdown
    from posttrain.settings import load

    confidence = load("report", ReportSettings, FOLDER / "params.yaml").confidence
    print(comparison_markdown(compare(chosen.one, chosen.other, confidence)), end="")
    return 0


def _replay(chosen: argparse.Namespace) -> int:
    from posttrain.euler.commanding import lookup_for
    from posttrain.euler.gate import judge
    from posttrain.euler.replay import changes, replay
    from posttrain.euler.round_receipt import read_round

    before = read_round(chosen.folder)
    after = replay(chosen.folder, chosen.out, lookup_for(before, FOLDER))
    differing = changes(before.rollouts, after.rollouts)
    for change in differing:
        print(f"{change.key}: {change.before} -> {change.after}")
    print(f"{len(differing)} of {len(after.rollouts)} rollouts are scored otherwise; {judge(after).reasons[0]}")
    return 0
