"""The words of a bash command, as far as they can be told without a shell."""

import re

_BARE = r"[A-Za-z0-9_./,:@%+=^-]"
_WORD = re.compile(rf"""(?:{_BARE}|'[^'\n]*'|"[^"\n\\$`!]*")+""")
_PIECE = re.compile(rf"""{_BARE}+|'[^'\n]*'|"[^"\n\\$`!]*\"""")

_GAP = re.compile(r"[ \t]+|$")


def plain_words(command: str) -> tuple[str, ...] | None:
    """The words of a command that has nothing in it but words, quoted or not; None for any other.

    No operators, redirections, variables, patterns, escapes, comments, assignments or second lines: such a command
    means the same with and without a shell.
    """
    bare = command.strip(" \t\n")
    words: list[str] = []
    place = 0
    while place < len(bare):
        match = _WORD.match(bare, place)
        if match is None:
            return None
        words.append("".join(piece[1:-1] if piece[0] in "'\"" else piece for piece in _PIECE.findall(match[0])))
        gap = _GAP.match(bare, match.end())
        if gap is None:
            return None
        place = gap.end()
    if not words or "=" in words[0]:
        return None
    return tuple(words)
