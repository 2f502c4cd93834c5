"""A command line that says what was meant."""

import argparse
import difflib
import re
from collections.abc import Sequence
from typing import Any, NoReturn

_CHOICE = re.compile(r"invalid choice: '(?P<given>.*?)' \(choose from (?P<known>.*)\)")


class Parser(argparse.ArgumentParser):
    """Takes no abbreviated option, so that a later option changes no script, and names the nearest word on a wrong one.

    The text that a command ends its help with is printed as it is written.
    """

    def __init__(self, **options: Any) -> None:
        shown = {"allow_abbrev": False, "formatter_class": argparse.RawDescriptionHelpFormatter}
        super().__init__(**{**shown, **options})

    def parse(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        """What `parse_args` does, with a proposal for an unknown option; None takes the process's arguments.

        Raises:
            SystemExit: a wrong argument (code 2), or help was asked for (code 0).
        """
        chosen, rest = self.parse_known_args(arguments)
        if rest:
            parser: Parser = getattr(chosen, "parser", self)
            known = [option for action in parser._actions for option in action.option_strings]
            parser.error(f"unknown argument {rest[0]}{_meant(rest[0].split('=')[0], known)}")
        return chosen

    def error(self, message: str) -> NoReturn:
        """Two lines on stderr, and exit code 2."""
        if wrong := _CHOICE.search(message):
            known = re.findall(r"'(.*?)'", wrong["known"])
            message = f"there is no {wrong['given']}{_meant(wrong['given'], known)}"
        self.exit(2, f"error: {message}\n`{self.prog} --help` shows what there is, with an example\n")


def _meant(given: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(given, known, 1, 0.5)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
