"""The programming languages that an agent can be assigned."""

from dataclasses import dataclass

from posttrain.errors import DataError


@dataclass(frozen=True)
class Language:
    """runtimes: the words that may start a program. suffixes: how the name of a program file ends."""

    name: str
    runtimes: tuple[str, ...]
    suffixes: tuple[str, ...]


LANGUAGES = {
    "python": Language("python", ("python3", "python"), (".py",)),
    "javascript": Language("javascript", ("node",), (".js", ".mjs", ".cjs")),
    "julia": Language("julia", ("julia",), (".jl",)),
}


def language(name: str) -> Language:
    """The language of that name.

    Raises:
        DataError: there is none.
    """
    if name not in LANGUAGES:
        raise DataError(f"unknown language {name!r}; known: {', '.join(LANGUAGES)}")
    return LANGUAGES[name]
