"""`posttrain show`: a run in numbers, some of its episodes in full, or two runs beside each other."""

import argparse
from typing import TYPE_CHECKING

from posttrain.wiki.labels import FailureLabel

if TYPE_CHECKING:
    from posttrain.wiki.cases import Case, Run

HELP = "how a run's episodes ended, and traces of those that failed"
DESCRIPTION = """How the episodes of a run ended, searched and scored, then failed ones in full: policy text behind `>`
(bold on a terminal), gold paragraphs behind `*` (green)."""
EXAMPLE = """examples:
  posttrain show test/grpo                           numbers, and the first 3 failed episodes
  posttrain show test/grpo --label misread -n 10     only those that saw all gold paragraphs and answered wrong
  posttrain show test/grpo --question "Ada Holm"     by id or by words of the question, solved or not
  posttrain show test/grpo --compare test/sft        what changed from test/sft to test/grpo"""
FIRST = 3


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    labels = [str(label) for label in FailureLabel]
    # Not `run`: that is the function to call.
    parser.add_argument("name", metavar="RUN", help="such as test/grpo; what lies under runs/")
    parser.add_argument("-n", type=count, default=FIRST, metavar="N", help=f"episodes in full; {FIRST} if not given")
    parser.add_argument("--label", choices=labels, metavar="LABEL", help=f"only these: {', '.join(labels)}")
    parser.add_argument("--question", metavar="ID_OR_TEXT", help="only the episodes of these questions")
    parser.add_argument("--compare", metavar="OTHER", help="a run over the same questions, taken as the one before")


def count(text: str) -> int:
    """A number of things to show, 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number, 0 or more, is {text}")
    return int(text)


def run(chosen: argparse.Namespace) -> None:
    """Prints numbers and traces, a screen at a time on a terminal.

    Raises:
        PosttrainError: there is no such run or question, or the runs cannot be compared.
    """
    from contextlib import chdir

    from posttrain.ledger.places import project_root
    from posttrain.pager import page
    from posttrain.wiki.cases import from_here, read_run

    name, other = from_here(chosen.name), chosen.compare and from_here(chosen.compare)
    with chdir(project_root()):
        shown = read_run(name)
        lines = _compared(read_run(other), shown, chosen) if other else _shown(shown, chosen)
    page(lines)


def _shown(run: "Run", chosen: argparse.Namespace) -> list[str]:
    from posttrain.pager import colours
    from posttrain.wiki.show import episode_lines, numbers

    lines, cases = numbers(run), _picked(run, chosen)
    kind = "match" if chosen.question or chosen.label else "failed"
    lines.append(_how_many(len(cases), chosen.n, kind, "episodes"))
    if cases[: chosen.n]:
        from posttrain.wiki.chat import open_chat

        chat = open_chat()
        lines += [line for case in cases[: chosen.n] for line in episode_lines(case, chat, colours())]
    return lines


def _compared(before: "Run", after: "Run", chosen: argparse.Namespace) -> list[str]:
    from posttrain.pager import colours
    from posttrain.wiki.show import changed, comparison, pair_lines, paired

    pairs = paired(before, after)
    lines = comparison(before, after, pairs)
    picked = {id(case) for case in _picked(after, chosen)}
    if chosen.question:
        pairs = [pair for pair in pairs if id(pair[1]) in picked]
    else:
        pairs = [pair for pair in changed(pairs) if not chosen.label or id(pair[1]) in picked]
    lines.append(_how_many(len(pairs), chosen.n, "match" if chosen.question else "changed sides", "questions"))
    if pairs[: chosen.n]:
        from posttrain.wiki.chat import open_chat

        chat = open_chat()
        lines += [line for pair in pairs[: chosen.n] for line in pair_lines(before, after, pair, chat, colours())]
    return lines


def _picked(run: "Run", chosen: argparse.Namespace) -> list["Case"]:
    """The episodes that the options name, else those that failed."""
    from posttrain.errors import DataError
    from posttrain.wiki.cases import pick

    if chosen.label and not run.scored:
        raise DataError(f"{run.name} has no scores and so no labels; leave --label out, or name a run that has")
    cases = pick(run, chosen.question) if chosen.question is not None else [case for case in run.cases if case.failed]
    return [case for case in cases if not chosen.label or (case.score and case.score.label == chosen.label)]


def _how_many(found: int, limit: int, kind: str, noun: str) -> str:
    if found == 0:
        return f"no {noun} {kind}" if kind != "changed sides" else f"no {noun} {kind}: either run solved the same ones"
    some = f"the first {limit}" if limit else "none"
    first = "" if limit >= found else f", {some} in full; -n {found} shows all"
    noun = noun if found > 1 else noun.removesuffix("s")
    return f"{found:,} {noun} {kind if found > 1 or kind != 'match' else 'matches'}{first}"
