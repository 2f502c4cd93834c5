"""`posttrain mask`: one episode token by token, as training sees it."""

import argparse

HELP = "one episode token by token, with the training mask"
DESCRIPTION = "Which tokens of an episode the policy sampled, with their logprobs, and which the harness put in."
EXAMPLE = """example:
  posttrain mask test/grpo mini-000105             a line per token, and the counts
  posttrain mask collect mini-000105 --attempt 2   of a question that was tried several times

Only sampled tokens are trained on. Positions count from the start of the prompt, whether it is shown or not."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommand's arguments."""
    parser.add_argument("name", metavar="RUN", help="such as test/grpo; what lies under runs/")
    parser.add_argument("id", metavar="ID", help="the question's id; `posttrain show RUN` prints some")
    parser.add_argument("--attempt", type=int, metavar="N", help="which attempt at it, from 0; the first if not given")
    parser.add_argument("--prompt", action="store_true", help="the prompt's tokens as well")


def run(chosen: argparse.Namespace) -> None:
    """Prints the tokens, a screen at a time on a terminal.

    Raises:
        PosttrainError: there is no such run or episode, or its flags do not add up.
    """
    from contextlib import chdir

    from posttrain.ledger.places import project_root
    from posttrain.pager import page
    from posttrain.terminal import harmless
    from posttrain.wiki.cases import attempt_at, from_here, read_run
    from posttrain.wiki.mask import check_counts, mask_lines

    name = from_here(chosen.name)
    with chdir(project_root()):
        shown = read_run(name)
        episode = attempt_at(shown, chosen.id, chosen.attempt).episode
        from posttrain.wiki.chat import open_chat

        lines = mask_lines(episode, open_chat(), chosen.prompt)
    about = f"{harmless(episode.id)} of {harmless(shown.name)}, attempt {episode.attempt}"
    page([f"{about}: {len(episode.tokens)} tokens after a prompt of {len(episode.prompt)}", *lines])
    check_counts(episode)
