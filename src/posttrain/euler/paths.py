"""Which paths may name a file of the workspace."""

import re

_ODD = re.compile(r"[\x00-\x1f\x7f\\]")


def relative_file(path: str) -> str | None:
    """The path in one form (`./a//b` is `a/b`), or None if it is refused.

    Refused are paths that are empty, ".", absolute or with a part "..", whose first part begins with "~" or "@", that
    name a folder by a slash at the end, and that hold control characters or backslashes.
    """
    if not path or path.startswith("/") or path.endswith("/") or _ODD.search(path):
        return None
    parts = [part for part in path.split("/") if part not in ("", ".")]
    # "a/." is the folder a, so the last part must be a name of its own.
    if not parts or parts[0].startswith(("~", "@")) or ".." in parts or path.rsplit("/", 1)[-1] == ".":
        return None
    return "/".join(parts)


def program_file(path: str, suffixes: tuple[str, ...]) -> str | None:
    """As `relative_file`, for names with one of the suffixes."""
    relative = relative_file(path)
    return relative if relative is not None and relative.endswith(suffixes) else None
