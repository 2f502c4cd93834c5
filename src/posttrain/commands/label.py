"""`posttrain label`: a person says why episodes failed, and how far the automatic labels agree."""

import argparse
import sys
from typing import TYPE_CHECKING

from posttrain.wiki.human_words import HUMAN

if TYPE_CHECKING:
    from collections.abc import Collection

    from posttrain.wiki.cases import Case, Run
    from posttrain.wiki.human_labels import Key

HELP = "label failed episodes by hand, and measure agreement"
DESCRIPTION = """Shows failed episodes one by one, without their automatic label, and asks why each failed.
Answers go to labels/, at once, to be committed; the last one for an episode counts."""
EXAMPLE = f"""examples:
  posttrain label test/grpo                  go through them; q or Ctrl-C stops, and nothing is lost
  posttrain label test/grpo --question mini-000034 --as misread --note "took the pilot's school"
  posttrain label test/grpo --agreement      people beside the scorer, with Cohen's kappa

labels: {", ".join(HUMAN)}"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    parser.add_argument("name", metavar="RUN", help="such as test/grpo; what lies under runs/")
    parser.add_argument("--question", metavar="ID_OR_TEXT", help="only the failed episodes of these questions")
    parser.add_argument("--as", dest="label", choices=HUMAN, metavar="LABEL", help="label that one and ask nothing")
    parser.add_argument("--note", help="with --as: why, in your words")
    parser.add_argument("--agreement", action="store_true", help="a table of human and automatic labels")


def run(chosen: argparse.Namespace) -> int:
    """Asks, or stores the one label given, or prints the table; 130 if interrupted.

    Raises:
        PosttrainError: there is no such run or episode, it has no scores, or a line of the label file is malformed.
        SystemExit: options that do not go together.
    """
    from contextlib import chdir

    from posttrain.ledger.places import project_root
    from posttrain.wiki.cases import from_here, read_run

    if chosen.note is not None and not chosen.label:
        chosen.parser.error("--note goes with --as")
    if chosen.label and not chosen.question:
        chosen.parser.error("--as needs --question, the episode to label")
    if chosen.agreement and (chosen.label or chosen.question):
        chosen.parser.error("--agreement takes no other option")
    name = from_here(chosen.name)
    with chdir(project_root()):
        labelled = read_run(name)
        if chosen.agreement:
            return _agree(labelled)
        return _give(labelled, chosen) if chosen.label else _ask(labelled, chosen.question)


def _agree(run: "Run") -> int:
    from posttrain.terminal import harmless, say
    from posttrain.wiki.agreement_text import agreement_lines
    from posttrain.wiki.human_labels import agreement, read_labels

    for line in agreement_lines(harmless(run.name), agreement(run, read_labels(run.name))):
        say(line)
    return 0


def _give(run: "Run", chosen: argparse.Namespace) -> int:
    from posttrain.errors import DataError
    from posttrain.terminal import harmless, say
    from posttrain.wiki.human_labels import labels_path, read_labels
    from posttrain.wiki.label_file import append
    from posttrain.wiki.labelling import label_of, labeller

    cases = _failed(run, chosen.question, ())
    if len(cases) > 1:
        ids = ", ".join(case.episode.id for case in cases[:3])
        raise DataError(f"{len(cases)} failed episodes match {chosen.question[:200]!r} ({ids}); give the id of one")
    read_labels(run.name)  # a torn file is to be mended before it grows
    append(label_of(run, cases[0], chosen.label, chosen.note or "", labeller()))
    say(f"{harmless(cases[0].episode.id)}: {chosen.label}, in {harmless(str(labels_path(run.name)))}")
    return 0


def _ask(run: "Run", question: str | None) -> int:
    import io

    from posttrain.pager import colours
    from posttrain.terminal import harmless, say
    from posttrain.wiki.chat import open_chat
    from posttrain.wiki.human_labels import current_labels, labels_path, read_labels
    from posttrain.wiki.labelling import ASKED, label_all
    from posttrain.wiki.trace_text import described, rendered

    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # a stray byte in a note must not end the session
    before = current_labels(run, read_labels(run.name))
    cases, chat = _failed(run, question, before), open_chat()

    def show(at: int, case: "Case") -> None:
        earlier = before.get((case.episode.id, case.episode.attempt))
        say(f"\n{at + 1} of {len(cases)}: {harmless(case.episode.id)}{' (labelled before)' if earlier else ''}")
        for line in [*described(case), "", *rendered(case, chat, colours()), ""]:
            say(line)
        say(f"{ASKED}  s skip  u undo  q quit")

    done = sum((case.episode.id, case.episode.attempt) in before for case in cases)
    say(f"{harmless(run.name)}: {len(cases)} failed, {done} of them labelled; a note may follow a label on its line")
    interrupted = False
    try:
        label_all(run, cases, _typed, show, say)
    except KeyboardInterrupt:
        interrupted = True
        say("")
    after = current_labels(run, read_labels(run.name))
    say(f"{len(after)} of the run's episodes are labelled, in {harmless(str(labels_path(run.name)))}")
    return 130 if interrupted else 0


def _failed(run: "Run", question: str | None, labelled: "Collection[Key]") -> list["Case"]:
    from posttrain.errors import DataError
    from posttrain.wiki.cases import pick
    from posttrain.wiki.labelling import to_label

    cases = to_label(run.cases if question is None else pick(run, question), labelled)
    if not cases:
        raise DataError(f"no episode of {run.name}{' that matches' if question else ''} has failed; there is no label")
    return cases


def _typed(prompt: str) -> str | None:
    """A line from the terminal, or a pipe; None at its end."""
    print(prompt, end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        print(flush=True)
    return line or None
