"""Files into a workspace and out of it, as a tar stream from a `tar` that runs inside.

The host opens no path of the workspace, so a link, pipe or device that a program leaves is only a line in the stream.
"""

import io
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox.protocol import Files, Limits, RefusedFile
from posttrain.euler.sandbox.pump import Pumped

Execute = Callable[[Sequence[str], bytes, int], tuple[int, Pumped]]
"""Runs a program of the sandbox's own, with this stdin and so many bytes of stdout, to its exit code and output."""

SECONDS = 60.0
"""What any of it may take."""
_LONGEST_PATH, _LONGEST_NAME = 1024, 255
_HEADERS = 2048
"""Bytes that tar may write for one file beside its content."""
_END = 20480
"""Bytes that tar may write at the end of a stream."""
_KINDS = {
    tarfile.DIRTYPE: "folder",
    tarfile.SYMTYPE: "link",
    tarfile.FIFOTYPE: "pipe",
    tarfile.CHRTYPE: "device",
    tarfile.BLKTYPE: "device",
}


def checked_path(path: str) -> str:
    """The path without what means nothing, as "./" in front.

    Raises:
        RefusedFile: it is empty, names the workspace itself, is absolute, has "..", or cannot be a file's name.
    """
    pure = PurePosixPath(path)
    if not pure.parts:
        raise RefusedFile(f"{path!r} names no file; give a path below the workspace")
    if pure.is_absolute() or ".." in pure.parts:
        raise RefusedFile(f"{path!r} may lead out of the workspace; give a path below it, without ..")
    try:
        lengths = [len(part.encode()) for part in pure.parts]
    except UnicodeEncodeError as error:
        raise RefusedFile(f"{path!r} is not text; give a path in UTF-8") from error
    if "\0" in path or len(path) > _LONGEST_PATH or max(lengths) > _LONGEST_NAME:
        raise RefusedFile(f"{path[:100]!r} cannot be a file's name; give a shorter one without NUL")
    return str(pure)


def write(execute: Execute, path: str, content: bytes) -> None:
    """See `Workspace.write`."""
    path = checked_path(path)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo(path)
        member.size, member.mode, member.mtime = len(content), 0o644, int(time.time())
        tar.addfile(member, io.BytesIO(content))
    code, pumped = execute(("tar", "-xf", "-"), archive.getvalue(), 0)
    if code != 0 or pumped.killed_by:
        raise RefusedFile(f"{path} cannot be written: {_reason(pumped)}")


def read(execute: Execute, path: str, limits: Limits) -> bytes:
    """See `Workspace.read`."""
    path = checked_path(path)
    # The folders above come first, each as itself: one that is a link shows as such, before what it leads to.
    chain = [*map(str, reversed(PurePosixPath(path).parents)), path][1:]
    most = limits.file_bytes + _HEADERS * len(chain) + _END
    code, pumped = execute(("tar", "--no-recursion", "-cf", "-", "--", *chain), b"", most)
    if pumped.stdout.cut:
        raise RefusedFile(f"{path} is longer than the {limits.file_bytes:,} bytes that one file may have")
    files = unpack(bytes(pumped.stdout.kept), limits.workspace_inodes)
    for name in chain:
        if (kind := files.refused.get(name)) is not None and kind != "folder":
            raise RefusedFile(f"{name} is a {kind}; only plain files are read")
    if path not in files.contents:
        kind = files.refused.get(path)
        raise RefusedFile(f"{path} is a folder" if kind else f"{path} cannot be read: {_reason(pumped)} ({code})")
    return files.contents[path]


def read_all(execute: Execute, limits: Limits) -> Files:
    """See `Workspace.files`."""
    most = limits.workspace_bytes + _HEADERS * limits.workspace_inodes + _END
    _, pumped = execute(("tar", "-cf", "-", "."), b"", most)
    if pumped.stdout.cut:
        raise RefusedFile(f"the workspace holds files of together more than {most:,} bytes; make them smaller")
    files = unpack(bytes(pumped.stdout.kept), limits.workspace_inodes)
    refused = {name: kind for name, kind in files.refused.items() if kind != "folder"}
    return Files(files.contents, refused)


def unpack(stream: bytes, most: int) -> Files:
    """What a tar stream holds, read in memory; names that lead outside are refused, as are more than `most`.

    Raises:
        InfrastructureError: it is not a tar stream.
    """
    contents: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(stream), mode="r:") as tar:
            for count, member in enumerate(tar):
                if count > most:
                    raise RefusedFile(f"the workspace holds more than {most:,} files")
                name = str(PurePosixPath(member.name))
                if name != ".":
                    _take(tar, member, name, contents, refused)
    except tarfile.TarError as error:
        raise InfrastructureError(f"the sandbox's tar wrote no archive: {error}") from error
    return Files(contents, refused)


def _take(
    tar: tarfile.TarFile, member: tarfile.TarInfo, name: str, contents: dict[str, bytes], refused: dict[str, str]
) -> None:
    try:
        checked_path(name)
    except RefusedFile:
        refused[name] = "file with an impossible name"
        return
    if member.islnk():  # a second name of a file that came before, or of what was refused then
        first = str(PurePosixPath(member.linkname))
        if first in contents:
            contents[name] = contents[first]
        else:
            refused[name] = refused.get(first, "link")
    elif member.isreg():
        data = tar.extractfile(member)
        assert data is not None
        contents[name] = data.read()
    else:
        refused[name] = _KINDS.get(member.type, "file of an unknown kind")


def _reason(pumped: Pumped) -> str:
    lines = bytes(pumped.stderr.kept).decode(errors="replace").split("\n")
    return " ".join(lines[0].split()) or f"tar was ended ({pumped.killed_by})"
