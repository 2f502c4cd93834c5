"""Paths, and the tar streams that come out of a sandbox, which are not to be trusted."""

import io
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox.protocol import RefusedFile
from posttrain.euler.sandbox.transfer import checked_path, unpack

OUTSIDE = ["", ".", "./.", "/", "/etc/passwd", "..", "../x", "a/../x", "a/..", "a\0b", "x" * 256, "a/" * 600, "\ud800"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_paths_that_lead_out_or_nowhere_are_refused(path: str) -> None:
    with pytest.raises(RefusedFile):
        checked_path(path)


@pytest.mark.parametrize(
    ("path", "meant"), [("a", "a"), ("./a//b/.", "a/b"), ("-x", "-x"), ("ä ö", "ä ö"), ("...", "...")]
)
def test_paths_inside_are_cleaned(path: str, meant: str) -> None:
    assert checked_path(path) == meant


@given(st.text())
def test_what_passes_stays_inside(path: str) -> None:
    try:
        clean = checked_path(path)
    except RefusedFile:
        return
    parts = clean.split("/")
    assert parts
    assert not {"", ".", ".."} & set(parts)


def archive(*members: tuple[str, bytes, str]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            member.linkname = content
            member.size = len(content) if kind == tarfile.REGTYPE else 0
            tar.addfile(member, io.BytesIO(content.encode()))
    return stream.getvalue()


def test_members_of_every_kind() -> None:
    files = unpack(
        archive(
            ("./a", tarfile.REGTYPE, "1"),
            ("./b", tarfile.SYMTYPE, "/etc/passwd"),
            ("./c", tarfile.LNKTYPE, "./a"),
            ("./d", tarfile.LNKTYPE, "/etc/passwd"),
            ("./e", tarfile.FIFOTYPE, ""),
            ("./f", tarfile.CHRTYPE, ""),
            ("../g", tarfile.REGTYPE, "out"),
            ("/h", tarfile.REGTYPE, "out"),
            ("./i", tarfile.DIRTYPE, ""),
        ),
        most=20,
    )
    assert files.contents == {"a": b"1", "c": b"1"}
    impossible = "file with an impossible name"
    kinds = {"b": "link", "d": "link", "e": "pipe", "f": "device", "../g": impossible, "/h": impossible, "i": "folder"}
    assert files.refused == kinds


def test_too_many_members_are_refused() -> None:
    with pytest.raises(RefusedFile, match="more than 3 files"):
        unpack(archive(*[(str(n), tarfile.REGTYPE, "") for n in range(9)]), most=3)


@settings(max_examples=200)
@given(st.binary(max_size=2000), st.integers(0, 1500))
def test_a_broken_stream_is_never_more_than_a_failure(noise: bytes, where: int) -> None:
    whole = archive(("a", tarfile.REGTYPE, "x" * 700), ("b", tarfile.SYMTYPE, "a"))
    for stream in (noise, whole[:where], whole[:where] + noise + whole[where + len(noise) :]):
        try:
            unpack(stream, most=20)
        except (RefusedFile, InfrastructureError):
            continue
