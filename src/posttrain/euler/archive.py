"""Reads a ZIP file that nobody vouches for: nothing is unpacked to disk, and what is refused is told."""

import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from posttrain.errors import DataError
from posttrain.euler.found import Found

MAX_ENTRIES = 20_000
MAX_ENTRY_BYTES = 8 * 2**20
MAX_TOTAL_BYTES = 256 * 2**20
MAX_RATIO = 200
"""Unpacked to packed size, for entries of more than a mebibyte: text of natural language packs far less densely."""
_SMALL = 2**20
_END_BYTES = 2**16 + 22
_ZIP64 = 0xFFFF
"""Stands where the number is kept elsewhere."""


def read_entries(path: Path, found: Found) -> list[tuple[str, bytes]]:
    """Names and contents of an archive's plain files, in its order; each refusal is an issue of `found`.

    A name that comes twice is told, and is there twice if the contents differ.

    Raises:
        DataError: the archive is missing, no ZIP file, or has too many entries.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, path, found)
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing; problems.archive names it") from error
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as a ZIP file: {error}; download it again") from error


def _read(archive: zipfile.ZipFile, path: Path, found: Found) -> list[tuple[str, bytes]]:
    infos = archive.infolist()
    if len(infos) > MAX_ENTRIES:
        raise DataError(f"{path} has {len(infos)} entries, and {MAX_ENTRIES} are allowed; it is not the archive meant")
    if (declared := _declared(path)) not in (len(infos), _ZIP64):
        found.tell("lost_entries", path.name, f"{declared} entries declared, {len(infos)} found: it is damaged")
    entries: list[tuple[str, bytes]] = []
    seen: dict[str, set[bytes]] = {}
    total = 0
    for info in infos:
        if info.is_dir():
            continue
        refusal = _refusal(info, total)
        if refusal is not None:
            found.tell(*refusal)
            continue
        try:
            # Asks for one byte more than is declared: a size that lies is an error here, not a flood.
            with archive.open(info) as entry:
                content = entry.read(MAX_ENTRY_BYTES + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            found.tell("unreadable_entry", info.filename, str(error))
            continue
        total += len(content)
        if len(content) != info.file_size:
            found.tell("unreadable_entry", info.filename, f"{info.file_size} bytes declared, {len(content)} found")
            continue
        before = seen.setdefault(info.filename, set())
        if before:
            found.tell("duplicate_entry", info.filename, "the same bytes" if content in before else "other bytes")
        if content not in before:
            before.add(content)
            entries.append((info.filename, content))
    return entries


def _declared(path: Path) -> int:
    """How many entries the record at the archive's end speaks of; zipfile does not compare."""
    with path.open("rb") as archive:
        archive.seek(max(0, path.stat().st_size - _END_BYTES))
        tail = archive.read()
    place = tail.rfind(b"PK\x05\x06")
    return int.from_bytes(tail[place + 10 : place + 12], "little")


def _refusal(info: zipfile.ZipInfo, total: int) -> tuple[str, str, str] | None:
    """Kind, place and text of the issue for which an entry is not read."""
    name, size = info.filename, info.file_size
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\\" in name or ":" in parts[0] or not name.isprintable():
        return "unsafe_name", repr(name), "the name leads outside, or holds characters that no plain name has"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "link", name, "links are not followed"
    if info.flag_bits & 1:
        return "encrypted_entry", name, "unpack it with its password, and pack it again without"
    if size > MAX_ENTRY_BYTES or total + size > MAX_TOTAL_BYTES:
        return "too_large", name, f"{size} bytes; allowed are {MAX_ENTRY_BYTES}, and {MAX_TOTAL_BYTES} in all"
    if size > _SMALL and size > MAX_RATIO * max(info.compress_size, 1):
        return "too_large", name, f"{size} bytes from {info.compress_size}: packed like a bomb"
    return None
