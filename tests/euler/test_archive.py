import io
import stat
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.errors import DataError
from posttrain.euler import archive
from posttrain.euler.archive import read_entries
from posttrain.euler.found import Found


def nothing() -> Found:
    return Found("test", "none", commercial_use=False, provenance={})


def zipped(path: Path, *entries: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in entries:
            out.writestr(name, content)
    return path


def kinds(found: Found) -> list[str]:
    return [issue.kind for issue in found.issues]


def test_plain_files_are_read_in_order(tmp_path: Path) -> None:
    found = nothing()
    path = zipped(tmp_path / "a.zip", ("b/2.html", b"two"), ("b/", b""), ("a/1.html", b"one"))
    assert read_entries(path, found) == [("b/2.html", b"two"), ("a/1.html", b"one")]
    assert found.issues == []


@pytest.mark.parametrize("name", ["../x.html", "a/../../x", "/etc/passwd", "a\\..\\x", "C:/x", "a/b\n.html"])
def test_names_that_lead_outside_are_told_and_not_read(tmp_path: Path, name: str) -> None:
    found = nothing()
    assert read_entries(zipped(tmp_path / "a.zip", (name, b"x"), ("ok", b"y")), found) == [("ok", b"y")]
    assert kinds(found) == ["unsafe_name"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip"]


def test_links_are_not_followed(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("1.html")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    found = nothing()
    assert read_entries(zipped(tmp_path / "a.zip", (link, b"/etc/passwd")), found) == []
    assert kinds(found) == ["link"]


def test_equal_names_are_told_and_other_bytes_kept(tmp_path: Path) -> None:
    found = nothing()
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = zipped(tmp_path / "a.zip", ("1.html", b"one"), ("1.html", b"other"), ("1.html", b"one"))
    assert read_entries(path, found) == [("1.html", b"one"), ("1.html", b"other")]
    assert [issue.what for issue in found.issues] == ["other bytes", "the same bytes"]


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    found = nothing()
    path = zipped(tmp_path / "a.zip", ("bomb", bytes(7 * 2**20)), ("large", bytes(9 * 2**20)), ("ok", b"y"))
    assert read_entries(path, found) == [("ok", b"y")]
    assert kinds(found) == ["too_large", "too_large"]


def test_the_total_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_TOTAL_BYTES", 10)
    found = nothing()
    path = zipped(tmp_path / "a.zip", ("a", b"123456"), ("b", b"123456"), ("c", b"1234"))
    assert read_entries(path, found) == [("a", b"123456"), ("c", b"1234")]
    assert kinds(found) == ["too_large"]


def test_a_size_that_lies_is_found_out(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", ("1.html", b"x" * 5000), ("ok", b"y"))
    content = bytearray(path.read_bytes())
    for place in (content.index(b"PK\x03\x04") + 22, content.index(b"PK\x01\x02") + 24):
        content[place : place + 4] = struct.pack("<I", 10)
    path.write_bytes(content)
    found = nothing()
    assert read_entries(path, found) == [("ok", b"y")]
    assert kinds(found) == ["unreadable_entry"]


def test_an_encrypted_entry_is_told(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", ("1.html", b"x"), ("ok", b"y"))
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    found = nothing()
    assert read_entries(path, found) == [("ok", b"y")]
    assert kinds(found) == ["encrypted_entry"]


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"problems\.archive"):
        read_entries(tmp_path / "absent.zip", nothing())
    (tmp_path / "text.zip").write_text("no archive")
    with pytest.raises(DataError, match="download it again"):
        read_entries(tmp_path / "text.zip", nothing())


def test_too_many_entries_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_ENTRIES", 2)
    with pytest.raises(DataError, match="3 entries"):
        read_entries(zipped(tmp_path / "a.zip", ("a", b""), ("b", b""), ("c", b"")), nothing())


def _sample() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("1.html", b"<p>one</p>" * 20)
        packed.writestr("answers.txt", b"1. 5\n")
    return out.getvalue()


SAMPLE = _sample()


@settings(max_examples=80, deadline=None)
@given(place=st.integers(0, len(SAMPLE) - 1), byte=st.integers(0, 255), cut=st.integers(0, len(SAMPLE)))
def test_a_damaged_archive_is_refused_or_told(
    tmp_path_factory: pytest.TempPathFactory, place: int, byte: int, cut: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.zip"
    content = bytearray(SAMPLE)
    content[place] = byte
    path.write_bytes(content[:cut] if cut % 3 == 0 else content)
    found = nothing()
    try:
        entries = read_entries(path, found)
    except DataError:
        return
    whole = [b"<p>one</p>" * 20, b"1. 5\n"]
    assert all(content in whole for _, content in entries)
    assert len(entries) == len(whole) or found.issues
