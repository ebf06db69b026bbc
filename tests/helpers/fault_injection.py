"""Raises an exception in one of grader's functions while a class is graded, and says what became of the class.

Every run is a fork of this process, which has imported torch and made the references: it runs `handgrad grade` on a
class of three, a folder, an archive with a file to import, and a notebook. Workers are stood in for by one whose every
job crashes, at once: what learner code does is another matter.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import sys
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from grader.child.protocol import Frame
from grader.classroom import course_choice, grade_terminal, roster
from grader.classroom.submissions import SubmissionReader
from grader.cli import main as cli
from grader.course.course import PACKAGE, load_course
from grader.judging import grading_pool
from grader.judging.grading import Grader
from grader.sandbox.worker import Unanswered

LOADED = (course_choice, grade_terminal, roster)  # by a command when it runs: that is not what fails

NAME, SEED, STUDENTS = "lin_grad", 7, ("ada", "bob", "cem")
LIMIT = 120.0  # seconds for one run on a busy machine
FAULTS: dict[str, type[Exception]] = {"OSError": OSError, "MemoryError": MemoryError, "ValueError": ValueError}
RIGHT = (PACKAGE.parent / f"solutions/04_linear/{NAME}.py").read_text()
READS = SubmissionReader.__call__.__code__
Where = Literal["coordinator", "process"]


class CrashingWorker:
    """Act as a worker whose every job crashes at once."""

    pid = 0

    def __init__(self, isolation: str) -> None:
        self.isolation = isolation

    def run(self, job: Frame, time_limit: float) -> Frame | Unanswered:
        return Unanswered("crash", detail="it was asked to")

    def close(self) -> None:
        pass

    def __enter__(self) -> CrashingWorker:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@dataclass(frozen=True)
class Outcome:
    """What became of a class.

    Args:
        code: the exit code.
        said: everything that was printed.
        records: the bytes of each student's record.
        table: `grades.csv`.
        calls: how often each of grader's functions was called, by file and name, where that was asked for.
        raised: how often the fault was raised.
    """

    code: int
    said: str
    records: dict[str, bytes]
    table: str
    calls: Counter[str]
    raised: int

    def lost(self, clean: Outcome) -> list[str]:
        """Whose record is not that of a clean run."""
        return [name for name in STUDENTS if self.records.get(name) != clean.records[name]]


@dataclass(frozen=True)
class Fault:
    """An exception in one function.

    Args:
        function: `file:name`, as in `Outcome.calls`.
        at: at which call, in the coordinator.
        student: in a grading process, at the first call while this student is served, each time.
    """

    where: Where
    function: str
    error: str
    at: int = 0
    student: str = ""

    def __str__(self) -> str:
        return f"{self.error} in {self.function}, {self.where}"


def make_class(root: Path) -> None:
    """Make a class of three students, each with a right answer."""
    (root / "class/ada/04_linear").mkdir(parents=True)
    (root / f"class/ada/04_linear/{NAME}.py").write_text(RIGHT)
    with zipfile.ZipFile(root / "class/bob.zip", "w") as archive:
        archive.writestr(f"hw/{NAME}.py", f"import helper\n\n{RIGHT}")
        archive.writestr("hw/helper.py", "x = 1\n")
    cells = [{"cell_type": "code", "source": RIGHT.splitlines(keepends=True), "outputs": [], "metadata": {}}]
    (root / "class/cem").mkdir()
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    (root / "class/cem/homework.ipynb").write_text(json.dumps(notebook))


class Classes:
    """Grades classes, each in a fork of this process; what takes long is done once, here.

    Args:
        root: the folder that classes and results lie in.
        worker: what stands in for workers.
    """

    def __init__(self, root: Path, worker: Callable[[str], Any] = CrashingWorker) -> None:
        self.root, self.worker = root, worker
        course = load_course(PACKAGE.parent)
        self.grader = Grader(SEED)
        self.grader.prepare([course.find(NAME)], isolated=False)

    def run(
        self, out: str, fault: Fault | None = None, counted: Where | None = None, *, folder: str = "class",
        before: Callable[[], None] = lambda: None,
    ) -> Outcome:  # fmt: skip
        """Grade a class into a folder.

        Args:
            counted: where calls are counted.
            folder: the class.
            before: called first in the process of the class.
        """
        log, calls, raised = (self.root / f"{out}.{name}" for name in ("log", "calls", "raised"))
        for path in (calls, raised):
            path.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            self._in_child(out, folder, before, _Profile(calls, raised, fault, counted), log)
        code = _ended(child)
        records = {path.stem: path.read_bytes() for path in (self.root / out).glob("*.json")}
        table = self.root / out / "grades.csv"
        return Outcome(
            code, log.read_text(errors="replace"), records, table.read_text("utf-8-sig") if table.is_file() else "",
            Counter(json.loads(calls.read_text())) if calls.is_file() else Counter(),
            len(raised.read_bytes()) if raised.is_file() else 0,
        )  # fmt: skip

    def _in_child(self, out: str, folder: str, before: Callable[[], None], profile: _Profile, log: Path) -> None:
        code = 99
        try:
            os.setsid()
            os.chdir(self.root)
            target = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
            os.dup2(target, 1)
            os.dup2(target, 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            grading_pool.start_worker = self.worker
            if self.worker is CrashingWorker:
                grading_pool.probe = lambda worker: None
            grading_pool.new_grader = lambda seed=None: self.grader
            sys.argv = ["handgrad", "grade", folder, "--out", out, "--exercise", NAME, "--workers", "1"]
            sys.argv += ["--isolation", "none", "--seed", str(SEED)]
            _in_processes(profile)
            before()
            with _profiled(profile):
                cli.main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 98
        except BaseException:
            traceback.print_exc()
        finally:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            os._exit(code)


def called(frame: FrameType) -> str:
    """Return the function that is called, `classroom/archives.py:Walk._below`; empty for generators and other code."""
    code = frame.f_code
    goes_on = code.co_flags & inspect.CO_GENERATOR and frame.f_lineno != code.co_firstlineno
    if goes_on or not code.co_filename.startswith(f"{PACKAGE}/"):
        return ""
    return f"{code.co_filename.removeprefix(f'{PACKAGE}/')}:{code.co_qualname}"


class _Profile:
    """Counts calls of grader's functions, or raises in one of them."""

    def __init__(self, calls: Path, raised: Path, fault: Fault | None, counted: Where | None) -> None:
        self.path, self.raised, self.fault, self.counted = calls, raised, fault, counted
        self.calls, self.seen, self.student = Counter[str](), 0, ""
        self.where = counted or (fault.where if fault is not None else None)

    def count(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and (name := called(frame)):
            self.calls[name] += 1

    def save(self) -> None:
        """Keep the counts; nobody waits for a process that is ended."""
        self.path.write_text(json.dumps(self.calls))

    def fail_at_call(self, frame: FrameType, event: str, argument: Any) -> None:
        assert self.fault is not None
        if event == "call" and called(frame) == self.fault.function:
            self.seen += 1
            if self.seen == self.fault.at:
                self._raise()

    def fail_for_student(self, frame: FrameType, event: str, argument: Any) -> None:
        assert self.fault is not None
        if event != "call":
            return
        if frame.f_code is READS:
            self.student = frame.f_locals["submission"].key
        if self.student == self.fault.student and called(frame) == self.fault.function:
            self._raise()

    def _raise(self) -> None:
        assert self.fault is not None
        with self.raised.open("ab") as file:
            file.write(b"x")
        kind = FAULTS[self.fault.error]
        raise kind(5, "Input/output error") if kind is OSError else kind("injected")


@contextlib.contextmanager
def _profiled(profile: _Profile) -> Iterator[None]:
    """Profile this process, where it is the one that is asked for."""
    if profile.where != "coordinator":
        yield
        return
    sys.setprofile(profile.count if profile.counted else profile.fail_at_call)
    try:
        yield
    finally:
        sys.setprofile(None)
        if profile.counted:
            profile.save()


def _in_processes(profile: _Profile) -> None:
    """Profile the processes that read and judge, or do not: they are forked from one that is profiled."""
    serve: Callable[..., None] = grading_pool._serve

    def serve_profiled(connection: Any, *rest: Any) -> None:
        if profile.where != "process":
            sys.setprofile(None)
        elif profile.counted:
            connection = _Saving(connection, profile)
            sys.setprofile(profile.count)
        else:  # it is gone once it has raised, and there again in the process that takes the place of this one
            sys.setprofile(profile.fail_for_student)
        serve(connection, *rest)

    grading_pool._serve = serve_profiled


class _Saving:
    """A connection that keeps the counts before it sends anything."""

    def __init__(self, connection: Any, profile: _Profile) -> None:
        self.connection, self.profile = connection, profile

    def send_bytes(self, data: bytes) -> None:
        self.profile.save()
        self.connection.send_bytes(data)

    def recv_bytes(self) -> bytes:
        data: bytes = self.connection.recv_bytes()
        return data


def _ended(child: int) -> int:
    """Return the exit code of a run; one that takes too long is killed with all its processes."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(child, 9)
    os.waitpid(child, 0)
    return -9
