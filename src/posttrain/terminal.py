"""Text of models, corpora and servers made harmless before a terminal sees it."""

import sys

JOINERS = "\u200c\u200d"
"""Persian words and composed emoji need them, and they move nothing."""
REPLACED = "\ufffd"


def harmless(text: str, longest: int | None = None) -> str:
    """The text on one line, without what a terminal would obey: controls, escapes, marks that reorder their neighbours.

    White space becomes single spaces, whatever else cannot be printed U+FFFD, so that a reader sees that something was
    there. Beyond `longest` characters it is cut, with an ellipsis.
    """
    kept = (letter if letter.isprintable() or letter in JOINERS else _stand_in(letter) for letter in text)
    line = " ".join("".join(kept).split())
    return line if longest is None or len(line) <= longest else f"{line[:longest].rstrip()} …"


def say(line: str) -> None:
    """Prints a line at once; letters that the terminal's encoding lacks become question marks."""
    encoding = sys.stdout.encoding or "utf-8"
    print(line.encode(encoding, "replace").decode(encoding), flush=True)


def emphasized(text: str) -> str:
    """In bold on a terminal, as it is when piped; give it harmless text."""
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text


def _stand_in(letter: str) -> str:
    return " " if letter.isspace() else REPLACED
