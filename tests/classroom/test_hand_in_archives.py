"""Hostile archives: no path leads out of them, and none takes more memory or time than the limits allow."""

from __future__ import annotations

import io
import os
import tarfile
import unicodedata
import zipfile

import pytest
from helpers.platforms import MEAN, RIGHT, put, tarred, zipped
from test_class_grading import read, small_course

from grader.classroom import archives
from grader.classroom.archives import ENTRY_MARK, MOST_ARCHIVES, MOST_ENTRIES, unpack
from grader.classroom.file_tree import File, UnreadableArchiveError
from grader.course.course import PACKAGE, Course


@pytest.fixture(scope="module")
def course() -> Course:
    return small_course(PACKAGE.parent)


def archive(name: str, data: bytes) -> File:
    path = File(name, open_stream=lambda: io.BytesIO(data))
    assert path.is_archive
    return path


def everything(file: File) -> dict[str, str]:
    """Return why each file of an archive is not read, by its path."""
    waiting, found = [("", unpack(file))], {}
    while waiting:
        at, folder = waiting.pop()
        for entry in folder.list_entries():
            if isinstance(entry, File):
                found[f"{at}{entry.name}"] = entry.why_unread
            else:
                waiting.append((f"{at}{entry.name}/", entry))
    return found


def test_paths_that_lead_out_of_an_archive_are_not_followed(tmp_path) -> None:
    names = ("../../x.py", "/etc/x.py", "C:\\x.py", "a/../../x.py", "..\\x.py")
    for name, data in (("a.zip", zipped(dict.fromkeys(names, ""))), ("a.tar.gz", tarred(dict.fromkeys(names, "")))):
        assert set(everything(archive(name, data)).values()) == {"its name leads out of the archive"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_in_an_archive_are_not_read(course, tmp_path, kind) -> None:
    data = tarred({"lin_grad.py": ""}, kind, "/etc/passwd")
    found = read(course, put(tmp_path / "eve", {"hw.tar.gz": data}))
    assert found.nothing.startswith("hw.tar.gz/lin_grad.py: the file was not read: it is no plain file")


def zip_of(entry: zipfile.ZipInfo, method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as made:
        made.writestr(entry, RIGHT, method)
    return stream.getvalue()


def test_encrypted_and_oddly_packed_files_in_a_zip_are_not_read() -> None:
    link, encrypted, packed = (zipfile.ZipInfo("lin_grad.py") for _ in range(3))
    link.external_attr = 0o120777 << 16
    locked = bytearray(zip_of(encrypted))
    for mark, at in ((b"PK\3\4", 6), (ENTRY_MARK, 8)):
        locked[locked.index(mark) + at] |= 1
    assert everything(archive("a.zip", zip_of(link))) == {"lin_grad.py": "it is a link; ask for the file itself"}
    assert everything(archive("a.zip", bytes(locked))) == {
        "lin_grad.py": "it is encrypted; ask for it without a password"
    }
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        assert everything(archive("a.zip", zip_of(packed, method))) == {
            "lin_grad.py": "it is packed in an unusual way; ask for a plain .zip"
        }


def test_an_archive_that_unpacks_to_too_much_is_refused_unread(monkeypatch) -> None:
    monkeypatch.setattr(archives, "LARGEST_ARCHIVE", 1 << 20)
    for name, data in (("a.zip", zipped({"x": bytes(2 << 20)})), ("a.tar.gz", tarred({"x": bytes(2 << 20)}))):
        with pytest.raises(UnreadableArchiveError, match="unpacks to more than 1 MiB; ask for the answers alone"):
            unpack(archive(name, data))
    with pytest.raises(UnreadableArchiveError, match="is larger than 1 MiB; ask for the answers alone"):
        unpack(archive("a.zip", os.urandom((1 << 20) + 1)))


def test_a_zip_that_lies_about_a_size_gives_no_more_bytes_than_it_states() -> None:
    data = zipped({"lin_grad.py": b" " * 100_000})
    at = data.index(ENTRY_MARK) + 24
    small = data[:at] + (10).to_bytes(4, "little") + data[at + 4 :]
    (file,) = unpack(archive("a.zip", small)).list_entries()
    assert isinstance(file, File)
    with pytest.raises(UnreadableArchiveError, match="is damaged"):
        file.read(1 << 20)


def test_a_hundred_thousand_names_are_refused_before_they_are_read() -> None:
    entry, says = ENTRY_MARK + bytes(42), f"holds more than {MOST_ENTRIES} files; ask for the answers alone"
    with pytest.raises(UnreadableArchiveError, match=says):
        unpack(archive("a.zip", entry * 100_000))
    with pytest.raises(UnreadableArchiveError, match=says):
        unpack(archive("a.tar.gz", tarred({str(i): "" for i in range(MOST_ENTRIES + 1)})))


def test_archives_in_archives_are_read_only_to_a_limit(course, tmp_path) -> None:
    """The files beside them are graded."""
    data = zipped({"lin_grad.py": RIGHT})
    for _ in range(5):
        data = zipped({"again.zip": data})
    many = {f"{i:03}.zip": zipped({"x.txt": ""}) for i in range(MOST_ARCHIVES + 5)}
    found = read(course, put(tmp_path / "eve", {"lin_grad.py": MEAN, "0.zip": data, **many}))
    assert found.files == {"lin_grad": MEAN.encode()}
    deep = "it is an archive in another in another; ask for one archive of the files"
    assert f"0.zip/again.zip/again.zip was ignored: {deep}" in found.notes
    too_many = f".zip was ignored: there are more than {MOST_ARCHIVES} archives; ask for the answers alone"
    assert any(note.endswith(too_many) for note in found.notes)


@pytest.mark.parametrize("name", ["hw.zip", "hw.tar.gz"])
def test_an_answer_that_is_twice_in_an_archive_is_noted(course, tmp_path, name) -> None:
    """The last one counted without a word."""
    stream = io.BytesIO()
    if name == "hw.zip":
        with zipfile.ZipFile(stream, "w") as packed:
            packed.writestr("a/lin_grad.py", RIGHT)
            with pytest.warns(UserWarning, match="Duplicate name"):
                packed.writestr("a/lin_grad.py", MEAN)
    else:
        with tarfile.open(fileobj=stream, mode="w:gz") as tar:
            for text in (RIGHT, MEAN):
                member = tarfile.TarInfo("a/lin_grad.py")
                member.size = len(text.encode())
                tar.addfile(member, io.BytesIO(text.encode()))
    found = read(course, put(tmp_path / "eve", {name: stream.getvalue()}))
    assert found.files == {"lin_grad": MEAN.encode()}
    assert found.notes == (f"{name}/a/lin_grad.py is in its archive more than once: the last one counts",)


def test_only_the_first_files_of_an_endless_tree_are_read(course, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("grader.classroom.archives.MOST_ENTRIES", 30)
    files = {f"x{i:03}.txt": "" for i in range(40)}
    found = read(course, put(tmp_path / "eve", {"lin_grad.py": RIGHT, "d/" * 25 + "lin_grad.py": MEAN, **files}))
    assert found.files == {"lin_grad": RIGHT.encode()}
    assert "only the first 30 files were looked at" in found.notes[-1] or found.notes[-1].endswith("were ignored")


def test_control_characters_in_a_name_are_shown_as_text(course, tmp_path) -> None:
    data = zipped({"\x1b[2J\nlin.txt": "", "lin_grad\u202e.py": RIGHT})
    submission = read(course, put(tmp_path / "eve", {"hw.zip": data}))
    sentences = [*submission.notes, submission.nothing]
    assert any(sentences)
    assert all(sentence.isprintable() for sentence in sentences)


class EntryOfMac(zipfile.ZipInfo):
    """An entry whose path is in UTF-8 without the flag that says so, as the Finder writes it."""

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:
        return self.filename.encode(), self.flag_bits


def test_paths_in_a_zip_are_read_in_utf_8_or_as_windows_writes_them() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        made.writestr(EntryOfMac(unicodedata.normalize("NFD", "Jürgen Müller/größe.py")), "")
        made.writestr("flagged/größe.py", "")
    assert sorted(everything(archive("a.zip", stream.getvalue()))) == sorted(
        [unicodedata.normalize("NFD", "Jürgen Müller/größe.py"), "flagged/größe.py"]
    )
    of_windows = zipped({"x/gr##e.py": ""}).replace(b"gr##e", "größe".encode("cp437"))
    assert list(everything(archive("b.zip", of_windows))) == ["x/größe.py"]
