"""No submission stops the grading of a class: whatever it holds, and whatever error it raises, costs one student alone.

`thorough/test_every_class_wall.py` has every way to lose a process, and every error at every step.
"""

from __future__ import annotations

import errno
import io
import json
import multiprocessing.context
import os
import shutil
import signal
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_class_grading import LIN, MEAN, RIGHT, Crashing, Lost, files_in, gradebook, hand_in, record, small_course

from grader.classroom import archives, class_grading, file_tree, grade_terminal, submissions
from grader.classroom.class_grading import GradingProgress, grade_folder
from grader.classroom.grades_table import ClassSummary
from grader.classroom.results_folder import DIGITS, result_file
from grader.cli import main as cli
from grader.course.course import PACKAGE, Course
from grader.judging import grading_pool

pytestmark = pytest.mark.slow

Ended = tuple[int, str]  # the exit code, and what was said on stderr
HONEST = {LIN: RIGHT}


@pytest.fixture(scope="module")
def course() -> Course:
    return small_course(PACKAGE.parent)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace worker processes by objects that crash, for tests in which answers do not matter."""
    monkeypatch.setattr(grading_pool, "start_worker", Crashing)


@pytest.fixture
def school(tmp_path: Path) -> Path:
    """Return a class of honest students; tests add `eve`, whose name sorts between theirs."""
    for name in ("ada", "zoe"):
        hand_in(tmp_path / "class", name, HONEST)
    return tmp_path / "class"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Run `handgrad grade` in this process, on the class, into `out`."""
    monkeypatch.chdir(tmp_path)

    def run(*options: str) -> Ended:
        arguments = ["grade", "class", "--out", "out", "--exercise", "lin_grad", "--isolation", "none", *options]
        monkeypatch.setattr(sys, "argv", ["handgrad", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), capfd.readouterr().err

    return run


def one_sentence(ended: Ended) -> str:
    """Return the one sentence on stderr; assert that the exit code is 3, without a traceback."""
    code, said = ended
    assert code == 3
    assert "Traceback" not in said
    return said


def graded(course: Course, school: Path, **more: Any) -> tuple[ClassSummary, Path]:
    out = school.parent / "out"
    return grade_folder(course, school, out, workers=2, isolation="none", **more), out


def tar(names: list[bytes], content: bytes = b"", kind: str = "w:gz") -> bytes:
    """Return a tar of files under names of any bytes."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=kind) as archive:  # type: ignore[call-overload]
        for name in names:
            member = tarfile.TarInfo(os.fsdecode(name))
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


# Names


def test_a_file_whose_name_is_no_utf_8_is_graded(course: Course, school: Path, quick: None) -> None:
    hand_in(school, "eve", HONEST)
    for name in (b"\xff.py", b"caf\xe9.py", b"\xed\xa0\x80.py"):
        Path(os.fsdecode(os.fsencode(school / "eve") + b"/" + name)).touch()
    (school / "mallory.tar.gz").write_bytes(tar([b"caf\xe9.py", b"lin_grad.py", b"\xff/\xfe.py"], RIGHT.encode()))
    summary, out = graded(course, school)
    assert summary.students == 4
    assert not summary.errors
    assert r"caf\xe9.py was ignored: it is no exercise that is graded here" in record(out, "eve")["notes"]
    assert r"caf\xe9.py was ignored: it is no exercise that is graded here" in "\n".join(
        record(out, "mallory")["notes"]
    )
    assert [each["id"] for each in record(out, "mallory")["exercises"] if each["status"] != "todo"] == ["lin_grad"]


def test_a_submission_with_only_such_a_name_has_nothing_to_grade(course: Course, school: Path, quick: None) -> None:
    (school / "eve").mkdir()
    Path(os.fsdecode(os.fsencode(school / "eve") + b"/\xff.py")).touch()
    summary, _ = graded(course, school)
    assert [one.student for one in summary.nothing] == ["eve"]
    assert r"\xff.py" in summary.nothing[0].why


TOOLS = ("env", "venv", "node_modules", "__pycache__", ".x", "__MACOSX", ".git")


@pytest.mark.parametrize("name", TOOLS[::4])
def test_a_student_called_like_a_folder_of_a_tool_is_graded(
    course: Course, school: Path, quick: None, name: str
) -> None:
    hand_in(school, name, {"lin_grad.py": RIGHT})
    summary, out = graded(course, school)
    assert summary.students == 3
    assert name in [row["student"] for row in gradebook(out)]


def test_a_folder_of_a_tool_without_a_submission_is_listed_as_ignored(
    course: Course, school: Path, quick: None
) -> None:
    hand_in(school, "venv", {"bin/activate": "", "lib/python/site.py": ""})
    hand_in(school, ".x", {"deeper/still/lin_grad.py": RIGHT})
    hand_in(school, "__MACOSX", {"ada/._lin_grad.py": ""})
    (school / ".DS_Store").touch()
    (school / "._ada.zip").touch()
    (school / ".eve.tar.gz").write_bytes(tar([b"lin_grad.py"], RIGHT.encode()))
    summary, out = graded(course, school)
    assert sorted(row["student"] for row in gradebook(out)) == [".eve", "ada", "zoe"]
    assert sorted(summary.strays) == [".x", "__MACOSX", "venv"]


def test_two_students_never_share_a_record_file(tmp_path: Path) -> None:
    changed = result_file(tmp_path, "..ada").stem
    again = result_file(tmp_path, changed).stem
    long = "x" * 250
    names = [
        "ada", "..ada", "_.ada-bc87ce9d6d9a", changed, again, "Ada", "a/da", "a_da", "..", "...", "\ud800", "\udcff",
        long, f"{long}y", result_file(tmp_path, long).stem, "", "-" + "0" * DIGITS,
    ]  # fmt: skip
    files = {result_file(tmp_path, name) for name in names}
    assert len(files) == len(names)
    assert {path.parent for path in files} == {tmp_path}
    for path in files:
        path.touch()  # each is a name that a file may have
    assert result_file(tmp_path, "ada").name == "ada.json"


def test_students_of_two_sections_are_never_joined(course: Course, tmp_path: Path, quick: None) -> None:
    for section, students in (("A", ("ada", "bob", "x")), ("A B", ("ada", "x", "cem")), ("B", ("A ada", "eli"))):
        for student in students:
            hand_in(tmp_path / "class" / section, student, HONEST)
    summary, out = graded(course, tmp_path / "class")
    assert summary.students == len(gradebook(out)) == len(list(out.glob("*.json"))) == 8


# Listing, reading and parsing


def unlistable(monkeypatch: pytest.MonkeyPatch, name: str, error: Exception) -> None:
    """Make listing any folder of this name raise an error."""
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if Path(path).name == name:
            raise error
        return scandir(path)

    monkeypatch.setattr(file_tree.os, "scandir", refuse)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("aaa", PermissionError(errno.EACCES, "Permission denied")),
        ("eve", OSError(errno.ESTALE, "Stale file handle")),
        ("zzz", ValueError("x")),
    ],
)
def test_a_folder_that_cannot_be_listed_costs_one_student_alone(
    course: Course, school: Path, quick: None, monkeypatch: pytest.MonkeyPatch, name: str, error: Exception
) -> None:
    hand_in(school, name, HONEST)
    unlistable(monkeypatch, name, error)
    summary, out = graded(course, school)
    assert summary.students == 3
    assert {failure.student for failure in summary.errors} == {name}
    assert {each["status"] for each in record(out, name)["exercises"]} == {"error"}
    assert {each["status"] for each in record(out, "zoe")["exercises"]} == {"failed", "todo"}


def burn() -> None:
    """Spend processor time in one call of C code, as unpacking an archive may: no signal handler runs meanwhile."""
    pow(3, 10**9)


def bloat() -> None:
    held = []
    while True:
        held.append(bytearray(64 << 20))


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> None:
    os._exit(0)


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def recurse() -> None:
    recurse()


def fail() -> None:
    raise UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed")


LOSSES = [
    (burn, "reading it took more than 1 seconds of processor time"),
    (bloat, "reading it takes more memory than there is for one submission"),
    (kill, "the process that read it was lost (it ended with -9)"),
    (leave, "the process that read it was lost (it ended with 0)"),
    (stop, "the process that read it was lost (it did not answer any more)"),
    (recurse, "the grader failed (RecursionError"),
    (fail, "the grader failed (UnicodeEncodeError"),
]


@pytest.mark.parametrize(("happen", "says"), LOSSES[2:3])
def test_a_submission_that_crashes_its_reader_costs_no_other(
    course: Course, school: Path, quick: None, monkeypatch: pytest.MonkeyPatch, happen: Callable[[], None], says: str
) -> None:
    """The same holds when the command runs again and compares stored results."""
    read = submissions.read_submission

    def reading(names: Any, one: Any) -> Any:
        if one.key == "eve" and (school / "hostile").exists():
            happen()
        return read(names, one)

    hand_in(school, "eve", HONEST)
    monkeypatch.setattr(submissions, "read_submission", reading)
    monkeypatch.setattr(grading_pool, "READING_TIME", 1)
    monkeypatch.setattr(grading_pool, "READING_MEMORY", 256 << 20)
    graded(course, school)
    for reused in (2, 2):
        (school / "hostile").touch()
        summary, out = graded(course, school)
        assert (summary.students, summary.reused) == (3, reused)
        assert {failure.student for failure in summary.errors} == {"eve"}
        assert summary.errors[0].message.startswith(says)
        assert record(out, "eve")["made_from"] is None
    (school / "hostile").unlink()
    summary, out = graded(course, school)
    assert (summary.reused, summary.errors) == (2, ())


def test_an_error_while_a_file_is_read_names_the_file(
    course: Course, school: Path, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("not foreseen")

    hand_in(school, "eve", {"hw/nb.ipynb": "{}"})
    monkeypatch.setattr("grader.classroom.submissions.notebook_cells", fail)
    summary, _ = graded(course, school)
    assert {failure.message for failure in summary.errors} == {
        "the grader failed at hw/nb.ipynb (ValueError: not foreseen)"
    }


@pytest.mark.parametrize("name", ["helper.py", "homework.ipynb", "lin_grad (1).py"])
def test_a_file_that_cannot_be_opened_does_not_count_as_missing(
    course: Course, school: Path, quick: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It may be an answer, or a file that an answer imports, so the student gets an error and no points are lost."""
    folder = hand_in(school, "eve", {"lin_grad.py": RIGHT, name: RIGHT})
    os.utime(folder / "lin_grad.py", (1, 1))
    opened = os.open

    def refuse(path: Any, *rest: Any) -> int:
        if Path(path).name == name:
            raise OSError(errno.EIO, "Input/output error")
        return opened(path, *rest)

    monkeypatch.setattr(file_tree.os, "open", refuse)
    summary, _ = graded(course, school)
    assert {failure.student for failure in summary.errors} == {"eve"}
    assert all("Input/output error" in failure.message for failure in summary.errors)


READERS = ("_read_zip", "_zip_entries", "_build_tree", "_open_zip_member", "_archive_folder")


@pytest.mark.parametrize("where", READERS[::4])
def test_a_bug_in_reading_an_archive_is_not_reported_as_damage(
    course: Course, school: Path, quick: None, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("not foreseen")

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("lin_grad.py", RIGHT)
    (school / "eve.zip").write_bytes(stream.getvalue())
    monkeypatch.setattr(archives, where, fail)
    summary, _ = graded(course, school)
    assert {failure.student for failure in summary.errors} == {"eve"}


# The record


MAKERS = ("course_result", "dumps", "count")


@pytest.mark.parametrize("where", MAKERS)
@pytest.mark.parametrize("error", [MemoryError()])
def test_a_record_that_cannot_be_made_costs_one_student_alone(
    course: Course, school: Path, quick: None, monkeypatch: pytest.MonkeyPatch, where: str, error: Exception
) -> None:
    place = {
        "course_result": (class_grading, "course_result"),
        "dumps": (sys.modules["grader.classroom.results_folder"], "dumps"),
        "count": (sys.modules["grader.classroom.grades_table"].GradesTable, "count"),
    }[where]
    calls, function = [], getattr(*place)

    def failing(*given: Any, **more: Any) -> Any:
        calls.append(given)
        if len(calls) == 2:
            raise error
        return function(*given, **more)

    hand_in(school, "eve", HONEST)
    monkeypatch.setattr(*place, failing)
    summary, out = graded(course, school)
    (lost,) = {failure.student for failure in summary.errors}
    assert type(error).__name__ in summary.errors[0].message
    assert len(gradebook(out)) == 3
    statuses = {name: record(out, name)["exercises"][0]["status"] for name in ("ada", "eve", "zoe")}
    assert sorted(statuses.values()) == ["error", "failed", "failed"]
    assert statuses[lost] == "error"
    monkeypatch.undo()


# The class


def test_an_output_folder_that_was_moved_is_noticed(
    school: Path, quick: None, command: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    @reporting(monkeypatch)
    def move(progress: GradingProgress) -> None:
        if progress.done == 1:
            (tmp_path / "out").rename(tmp_path / "elsewhere")

    assert "out was moved or removed while the class was graded" in one_sentence(command("--workers", "1"))
    assert not (tmp_path / "out").exists()
    assert len(list((tmp_path / "elsewhere").glob("*.json"))) == 1


def reporting(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[GradingProgress], None]], None]:
    """Replace the progress bar by a function."""

    def set_report(report: Callable[[GradingProgress], None]) -> None:
        @contextmanager
        def showing(on_terminal: bool) -> Iterator[Callable[[GradingProgress], None]]:
            yield report

        monkeypatch.setattr(grade_terminal, "showing_progress", showing)

    return set_report


def test_a_progress_bar_that_fails_costs_no_record(course: Course, school: Path, quick: None) -> None:
    def fail(progress: GradingProgress) -> None:
        raise ValueError("not foreseen")

    summary, _ = graded(course, school, report=fail)
    assert summary.students == 2


class Watched(Lost):
    """Act as a worker that records whether it was closed."""

    alive = 0

    def __init__(self, isolation: str = "none") -> None:
        Watched.alive += 1

    def close(self) -> None:
        Watched.alive -= 1


def test_a_process_that_cannot_be_forked_leaves_no_worker_behind(
    school: Path, command: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(grading_pool, "start_worker", Watched)
    monkeypatch.setattr(grading_pool, "worker_mode", lambda isolation: "fork")
    monkeypatch.setattr(multiprocessing.context.ForkProcess, "start", refuse)
    said = one_sentence(command())
    assert "No grading process can be started (BlockingIOError: [Errno 11] Resource temporarily unavailable)" in said
    assert Watched.alive == 0


def test_one_process_that_cannot_be_forked_costs_no_record(
    course: Course, school: Path, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, calls = multiprocessing.context.ForkProcess.start, []

    def refuse_once(self: Any) -> None:
        calls.append(self)
        if len(calls) == 2:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        start(self)

    monkeypatch.setattr(multiprocessing.context.ForkProcess, "start", refuse_once)
    summary, _ = graded(course, school)
    assert (summary.students, summary.errors) == (2, ())


UNFORESEEN = (ValueError("x\ny"), MemoryError(), EOFError("x"), RecursionError("x"), KeyError("x"))
STEPS = ("grader.classroom.class_folder.find_submissions", "grader.classroom.results_folder.course_digest")


@pytest.mark.parametrize(("where", "error"), [*zip(STEPS, UNFORESEEN, strict=False)])
def test_an_unexpected_error_is_one_sentence_that_says_where_to_report_it(
    school: Path, quick: None, command: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    where: str, error: Exception,
) -> None:  # fmt: skip
    """No record is changed, and the same command completes the class."""
    assert command("--yes")[0] == 0
    before = files_in(tmp_path / "out")
    shutil.rmtree(school / "zoe")
    hand_in(school, "zoe", {LIN: MEAN})

    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(where, fail)
        said = one_sentence(command())
    assert said.splitlines()[-1].startswith("handgrad: ")
    assert type(error).__name__ in said
    assert "the same command goes on" in said
    assert isinstance(error, MemoryError) or "send this line to whoever gave you handgrad" in said
    assert files_in(tmp_path / "out") == before
    assert command()[0] == 0
    assert (
        json.loads((tmp_path / "out/zoe.json").read_text())["made_from"] != json.loads(before["zoe.json"])["made_from"]
    )


def test_one_submission_that_cannot_be_read_is_an_error_record(
    course: Course, tmp_path: Path, quick: None, command: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_in(tmp_path, "eve", HONEST)
    monkeypatch.setattr(submissions, "read_submission", lambda *_: kill())
    arguments = ["--one", "eve", "--out", "eve.json", "--exercise", "lin_grad", "--isolation", "none"]
    monkeypatch.setattr(sys, "argv", ["handgrad", "grade", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3
    (exercise,) = json.loads((tmp_path / "eve.json").read_text())["exercises"]
    assert exercise["status"] == "error"


def test_reading_does_not_wait_for_a_pipe(course: Course, school: Path, quick: None) -> None:
    folder = hand_in(school, "eve", HONEST)
    os.mkfifo(folder / "relu_grad.py")
    os.mkfifo(folder / "archive.zip")
    summary, _ = graded(course, school)
    assert summary.students == 3
