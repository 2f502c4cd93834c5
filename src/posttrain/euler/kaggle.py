"""Problems from an archive in the shape of Kaggle's "Project Euler Questions and Solutions".

That is: an HTML page for each problem, whose name holds its number, and a text with all answers, whose name says so;
any other file can be a resource that a page links to.
"""

import re
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from posttrain.euler.answer_lines import read_answers
from posttrain.euler.archive import read_entries
from posttrain.euler.found import Found, Reference
from posttrain.euler.problem_page import BASE, read_page
from posttrain.files import sha256_file

LICENCE = "CC BY-NC-SA 4.0"
_PAGES = (".html", ".htm")
_TEXTS = (".txt", ".md", ".csv", ".json")
_JUNK = ("__MACOSX", ".DS_Store", "Thumbs.db")


def import_kaggle(archive: Path) -> Found:
    """Everything that the archive holds.

    Raises:
        DataError: it is no ZIP file, or far too large.
    """
    found = Found("kaggle", LICENCE, commercial_use=False, provenance={})
    entries = read_entries(archive, found)
    found.provenance |= {
        "dataset": "Project Euler Questions and Solutions",
        "creator": "Dheeraj M Pai",
        "publisher": "Kaggle",
        "site": BASE,
        "archive": archive.name,
        "archive_sha256": sha256_file(archive),
    }
    others: dict[str, bytes] = {}
    doubled: set[str] = set()
    for name, content in entries:
        path = PurePosixPath(name)
        if any(part in _JUNK for part in path.parts):
            found.tell("ignored_entry", name, "left by an operating system")
        elif path.suffix.lower() in _PAGES:
            _read_page(path, content, found)
        elif path.suffix.lower() in _TEXTS and re.search("answer|solution", path.name, re.IGNORECASE):
            read_answers(name, content, found)
        else:
            doubled |= {name} & others.keys()
            others[name] = content
    for name in sorted(doubled):
        found.tell("conflict", name, "two files have this name, and neither is used")
        del others[name]
    _attach(others, found)
    return found


def _read_page(path: PurePosixPath, content: bytes, found: Found) -> None:
    numbers = re.findall(r"\d+", path.stem)
    if len(numbers) != 1 or not 0 < int(numbers[0][:9]) < 100_000:
        found.tell("unnumbered_page", str(path), "its name does not hold one number, that of a problem")
        return
    number = int(numbers[0])
    page = read_page(content)
    for trouble in page.trouble:
        found.tell("malformed_page" if page.text is None else "doubtful_page", str(path), trouble)
    draft = found.draft(number)
    draft.texts.append(page.text)
    draft.references += page.references
    draft.source_url = f"{BASE}problem={number}"


def _attach(others: dict[str, bytes], found: Found) -> None:
    """Gives each problem the files it links to, by the whole path or, where only one file has it, by the name."""
    by_name: dict[str, list[str]] = {}
    for name in others:
        by_name.setdefault(PurePosixPath(name).name, []).append(name)
    used: set[str] = set()
    for number, draft in sorted(found.drafts.items()):
        for reference in draft.references:
            entry = _entry(reference, others, by_name)
            if entry is not None:
                used.add(entry)
                found.files[number, reference.name] = others[entry]
    for name in others:
        if name not in used:
            found.tell("unused_entry", name, "neither a page, nor answers, nor linked to by a page")


def _entry(reference: Reference, others: dict[str, bytes], by_name: dict[str, list[str]]) -> str | None:
    path = unquote(urlsplit(reference.target).path).lstrip("./")
    whole = [name for name in others if name == path or name.endswith(f"/{path}")]
    candidates = whole or by_name.get(PurePosixPath(path).name, [])
    return candidates[0] if len(candidates) == 1 else None
