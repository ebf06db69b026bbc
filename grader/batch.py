"""A whole class: a result for each submission as it lands, one gradebook, and nothing done twice."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import os
import queue
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import __version__
from .course import Course, CourseExercise
from .errors import InfrastructureError, UsageError
from .results import SCHEMA, AnswerResult, CourseResult, ExerciseResult, Status, dumps, to_json
from .sandbox import Worker, start_worker

if TYPE_CHECKING:
    from .grading import Grader

STATE_SCHEMA = "handgrad/batch-state@1"
STATE_FILE, GRADES_FILE = ".state.json", "grades.csv"
SIZE_LIMIT = 1 << 20
LONGEST_NAME = 200
MOST_NOTES = 20
TICK = 1.0
NOT_REPORTED = frozenset({"__pycache__", "__MACOSX", "README.md", "quiz.yaml"})
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
Report = Callable[["Progress"], None]


@dataclass(frozen=True)
class Progress:
    """How far a batch is.

    Args:
        rate: submissions graded per second since the first one landed; 0 until the second has.
    """

    done: int
    total: int
    rate: float


@dataclass(frozen=True)
class Mistake:
    """In how many submissions an exercise met a code."""

    code: str
    students: int


@dataclass(frozen=True)
class Failure:
    """An exercise that could not be graded, through no fault of the student."""

    student: str
    exercise: str
    message: str


@dataclass(frozen=True)
class Summary:
    """What a batch came to.

    Args:
        graded: submissions graded now.
        reused: submissions whose stored result was made from the same content.
        mean_score: points, over all students.
        mistakes: the codes of each exercise, the most frequent first; `todo` is no mistake.
        strays: what lies beside the student folders, and was ignored.
        seconds: wall time.
    """

    students: int
    graded: int
    reused: int
    mean_score: float
    max_score: float
    mistakes: Mapping[str, tuple[Mistake, ...]]
    errors: tuple[Failure, ...]
    strays: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Unread:
    """A file that is there but was not read.

    Args:
        status: `failed` where that is the student's doing, `error` where it is not.
    """

    status: Status
    why: str


@dataclass(frozen=True)
class Submission:
    """One student's folder, read.

    Args:
        name: the folder's name.
        files: what was handed in, by exercise id.
        notes: what was ignored, and why.
    """

    name: str
    files: Mapping[str, bytes | Unread]
    notes: tuple[str, ...] = ()


def grade_folder(
    course: Course,
    submissions: Path,
    out: Path,
    *,
    workers: int,
    seed: int | None = None,
    report: Report | None = None,
) -> Summary:
    """Grade every student folder of `submissions` into `out/<student>.json` and `out/grades.csv`.

    Args:
        workers: how many worker processes grade at the same time.
        seed: where every trial comes from; drawn afresh if not given.
        report: called in this thread: first with what is reused, then whenever a result has landed.

    Raises:
        UsageError: there are no student folders, or `out` cannot be written.
        SpecError: a declaration of the course cannot be used.
        InfrastructureError: a result cannot be written any more.
        KeyboardInterrupt: passed on, once everything that is finished has been written.
    """
    started = time.monotonic()
    if workers < 1:
        raise UsageError(f"{workers} workers cannot grade anything: ask for one or more.")
    folders, strays = _student_folders(course, submissions, out)
    book = _Gradebook.open(course, out)
    pending = [folder for folder in folders if not book.reuse(read_submission(course, folder), seed)]
    pace = _Pace(len(folders) - len(pending), len(folders), report)
    try:
        if pending:
            _grade(course, pending, min(workers, len(pending)), seed, book, pace)
    finally:
        book.publish()
    return book.summary(len(pending), strays, time.monotonic() - started)


def _grade(
    course: Course, pending: Sequence[Path], workers: int, seed: int | None, book: _Gradebook, pace: _Pace
) -> None:
    """Enter each result as it lands; what is published is never much older than a second."""
    pace.tell()
    published = time.monotonic()
    with contextlib.closing(_landing(course, pending, workers, seed)) as results:
        for landed in results:
            if landed is not None:
                book.enter(landed)
                pace.step()
            if time.monotonic() - published >= TICK:
                with contextlib.suppress(InfrastructureError):  # open in a spreadsheet, perhaps: the last one counts
                    book.publish()
                published = time.monotonic()


@dataclass
class _Pace:
    """Reports progress, and knows how fast it is."""

    done: int
    total: int
    report: Report | None
    graded: int = 0
    first: float = 0.0

    def step(self) -> None:
        """One more has landed."""
        self.graded += 1
        self.first = self.first or time.monotonic()
        self.tell()

    def tell(self) -> None:
        if self.report is not None:
            rate = (self.graded - 1) / (time.monotonic() - self.first) if self.graded > 1 else 0.0
            self.report(Progress(self.done + self.graded, self.total, rate))


def _student_folders(course: Course, submissions: Path, out: Path) -> tuple[list[Path], tuple[str, ...]]:
    """The student folders by name, and the names of everything else."""
    if os.path.realpath(submissions) == os.path.realpath(out):
        raise UsageError(f"{out} holds the submissions: name another folder for the results with --out.")
    try:
        entries = [entry for entry in _entries(submissions) if not _is_housekeeping(entry.name)]
    except OSError as error:
        says = f"{submissions} cannot be read ({error.strerror}): name the folder that holds one folder per student."
        raise UsageError(says) from error
    results = os.path.realpath(out)
    entries = [entry for entry in entries if os.path.realpath(entry.path) != results]
    folders = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    if not folders:
        raise UsageError(f"{submissions} holds no student folders: give each student one, laid out like exercises/.")
    if {folder.name for folder in folders} <= {"exercises", *(unit.id for unit in course.config.units)}:
        raise UsageError(f"{submissions} is laid out like one student's submission: name the folder above it.")
    return folders, tuple(_shown(entry.name) for entry in entries if not entry.is_dir(follow_symlinks=False))


def _is_housekeeping(name: str) -> bool:
    return name in NOT_REPORTED or name.startswith(".")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _printable(name: str) -> str:
    """A file name as text that can be written anywhere: bytes that are no UTF-8 are replaced."""
    return os.fsencode(name).decode("utf-8", "replace")


def _shown(name: str) -> str:
    """A file name that is safe to show on a terminal."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", _printable(name))


def read_submission(course: Course, folder: Path) -> Submission:
    """Read one student's folder: `<unit>/<id>.py`, the same below `exercises/`, or `<id>.py`.

    Links to folders are not followed, nor is any link that leads out of the submission.
    """
    files: dict[str, bytes | Unread] = {}
    notes: list[str] = []
    try:
        _collect(course, folder, files, notes)
    except OSError as error:
        unread = Unread(
            "error", f"the submission cannot be read ({error.strerror}): check the permissions of its folder"
        )
        files = {exercise.id: unread for exercise in course.exercises}
    if len(notes) > MOST_NOTES:
        notes[MOST_NOTES:] = [f"{len(notes) - MOST_NOTES} more files were ignored"]
    return Submission(folder.name, files, tuple(notes))


def _collect(course: Course, folder: Path, files: dict[str, bytes | Unread], notes: list[str]) -> None:
    places = _places(course)
    for place, known in places.items():
        for entry in _entries(folder / place) if _is_plain_folder(folder, place) else ():
            name = f"{place}/{entry.name}" if place else entry.name
            exercise = known.get(entry.name)
            if _is_housekeeping(entry.name) or (name in places and entry.is_dir(follow_symlinks=False)):
                continue
            if ignored := _why_ignored(entry, folder, exercise, files):
                notes.append(f"{_shown(name)} was ignored: {ignored}")
            elif exercise is not None:
                files[exercise.id] = _content(entry)


def _places(course: Course) -> dict[str, dict[str, CourseExercise]]:
    """The folders of a submission where exercise files may lie, and which; where there are two, the first counts."""
    units: dict[str, dict[str, CourseExercise]] = {}
    for exercise in course.exercises:
        units.setdefault(exercise.unit, {})[f"{exercise.id}.py"] = exercise
    anywhere = dict(chain.from_iterable(known.items() for known in units.values()))
    return {
        **units,
        **{f"exercises/{unit}": known for unit, known in units.items()},
        "": anywhere,
        "exercises": anywhere,
    }


def _is_plain_folder(folder: Path, place: str) -> bool:
    steps = [folder / place, *(folder / parent for parent in Path(place).parents)]
    return all(step.is_dir() and (step == folder or not step.is_symlink()) for step in steps)


def _why_ignored(
    entry: os.DirEntry[str], folder: Path, exercise: CourseExercise | None, files: Mapping[str, object]
) -> str:
    """Why something in a submission is not graded; empty if it is."""
    if entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(os.path.realpath(folder)):
        return "it is a link that leads out of the submission; ask for the file itself"
    if exercise is None or not os.path.isfile(entry.path):
        return "this course has no exercise there"
    if exercise.id in files:
        return f"another {exercise.id}.py was handed in too, and that one was graded"
    return ""


def _content(entry: os.DirEntry[str]) -> bytes | Unread:
    try:
        with open(entry.path, "rb") as stream:
            content = stream.read(SIZE_LIMIT + 1)
    except OSError as error:
        return Unread("error", f"the file cannot be read ({error.strerror}): check its permissions")
    if len(content) > SIZE_LIMIT:
        return Unread("failed", "the file was not read: it is larger than 1 MiB; hand in the code alone")
    return content


@dataclass(frozen=True)
class _Landed:
    """A finished result, what it was made from, and with which seed."""

    submission: Submission
    result: CourseResult
    seed: int


class _Desk:
    """A worker process, replaced when it is lost."""

    def __init__(self) -> None:
        self.worker: Worker | None = start_worker()
        self.stopped = False

    def stop(self) -> None:
        """Grade nothing more, whatever is being graded now."""
        self.stopped = True
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.close()

    def grade(self, grader: Grader, exercise: CourseExercise, content: bytes | Unread | None) -> ExerciseResult:
        """The verdict on one file; asked for again, of a fresh worker, where the grader itself failed."""
        if isinstance(content, Unread):
            return _verdict(exercise, content)
        result = self._try(grader, exercise, content)
        return result if result.status != "error" else self._try(grader, exercise, content)

    def _try(self, grader: Grader, exercise: CourseExercise, content: bytes | None) -> ExerciseResult:
        if self.stopped:
            return _verdict(exercise, Unread("error", "the run was stopped"))
        worker: Worker | None = None
        try:
            worker = self.worker = self.worker or start_worker()
            result = grader.grade(exercise, content, worker)
        except Exception as error:  # one submission never stops the rest
            says = f"the grader failed ({type(error).__name__}: {error}): run the same command again"
            result = _verdict(exercise, Unread("error", says))
        if result.status == "error" and worker is not None:
            self.worker = None
            worker.close()
        return result


def _verdict(exercise: CourseExercise, unread: Unread) -> ExerciseResult:
    """No points for any answer, and why."""
    answers = exercise.declaration.answers
    points = exercise.points / len(answers)
    results = [AnswerResult(answer.name, unread.status, 0.0, points, "error", unread.why) for answer in answers]
    return ExerciseResult(exercise.id, exercise.unit, tuple(results))


@dataclass(frozen=True)
class _Room:
    """What the desks share: folders that wait, and results that have landed; `None` from a desk that is done."""

    course: Course
    grader: Grader
    waiting: queue.SimpleQueue[Path]
    landed: queue.SimpleQueue[_Landed | Exception | None]

    def serve(self, desk: _Desk) -> None:
        """Grade until nothing is waiting."""
        try:
            while not desk.stopped:
                self.landed.put(self._graded(self.waiting.get_nowait(), desk))
        except queue.Empty:
            pass
        except Exception as error:  # raised again where the results are read
            self.landed.put(error)
        finally:
            desk.stop()
            self.landed.put(None)

    def _graded(self, folder: Path, desk: _Desk) -> _Landed:
        submission = read_submission(self.course, folder)
        exercises = [
            desk.grade(self.grader, exercise, submission.files.get(exercise.id)) for exercise in self.course.exercises
        ]
        student = _printable(submission.name)
        result = CourseResult(self.course.config.course, student, tuple(exercises), submission.notes)
        return _Landed(submission, result, self.grader.seed)


def _landing(
    course: Course, pending: Sequence[Path], workers: int, seed: int | None
) -> Generator[_Landed | None, None, None]:
    """Each result as it is finished; `None` when a second has brought none."""
    desks = [_Desk() for _ in range(workers)]
    threads: list[threading.Thread] = []
    try:
        room = _Room(course, _grader(course, seed), queue.SimpleQueue(), queue.SimpleQueue())
        for folder in pending:
            room.waiting.put(folder)
        for desk in desks:
            threads.append(threading.Thread(target=room.serve, args=[desk], daemon=True))
            threads[-1].start()
        yield from _until_done(room.landed, workers)
    finally:
        for desk in desks:
            desk.stop()
        for thread in threads:
            thread.join()


def _until_done(landed: queue.SimpleQueue[_Landed | Exception | None], workers: int) -> Iterator[_Landed | None]:
    while workers:
        try:
            found = landed.get(timeout=TICK)
        except queue.Empty:
            yield None
            continue
        if isinstance(found, Exception):
            raise found
        if found is None:
            workers -= 1
        else:
            yield found


def _grader(course: Course, seed: int | None) -> Grader:
    """A grader that has its references, so that threads can share it."""
    from .grading import Grader  # imports torch: only now, beside the workers, and not if all results are reused

    grader = Grader(seed)
    for exercise in course.exercises:
        grader.trials(exercise)
    return grader


@dataclass(frozen=True)
class _Made:
    """What a stored result was made from."""

    content: str
    seed: int


@dataclass(frozen=True)
class _Row:
    """One line of the gradebook.

    Args:
        points: by exercise id; `None` where grading failed.
        codes: exercise id, answer and code of each mistake.
    """

    student: str
    score: float
    points: Mapping[str, float | None]
    codes: tuple[tuple[str, str, str], ...]
    failures: tuple[Failure, ...]


@dataclass(frozen=True)
class _Gradebook:
    """The results folder: one file per student, `grades.csv`, and what each result was made from."""

    course: Course
    out: Path
    digest: str
    made: dict[str, _Made]
    rows: dict[str, _Row] = field(default_factory=dict)

    @classmethod
    def open(cls, course: Course, out: Path) -> _Gradebook:
        """Open or make a results folder.

        Raises:
            UsageError: it cannot be written.
        """
        try:
            out.mkdir(parents=True, exist_ok=True)
            book = cls(course, out, _course_digest(course), _read_state(out / STATE_FILE))
            book._write_state()
        except (OSError, InfrastructureError) as error:
            raise UsageError(f"Results cannot be written to {out}: name another folder with --out.") from error
        return book

    def reuse(self, submission: Submission, seed: int | None) -> bool:
        """Take over the stored result, if it was made from the same content, and from this seed if there is one."""
        made = self.made.get(submission.name)
        if made is None or made.content != self._fingerprint(submission) or seed not in (None, made.seed):
            return False
        row = _stored_row(self.out / _result_name(submission.name))
        if row is None or row.failures:
            return False
        self.rows[submission.name] = row
        return True

    def enter(self, landed: _Landed) -> None:
        """Write one result."""
        name = landed.submission.name
        _write(self.out / _result_name(name), dumps(landed.result).encode())
        self.made[name] = _Made(self._fingerprint(landed.submission), landed.seed)
        self.rows[name] = _row(to_json(landed.result))

    def publish(self) -> None:
        """Write the gradebook, and what its results were made from."""
        _write(self.out / GRADES_FILE, self._csv().encode("utf-8-sig"))
        self._write_state()

    def summary(self, graded: int, strays: tuple[str, ...], seconds: float) -> Summary:
        """What the rows come to."""
        rows = self._sorted_rows()
        return Summary(
            students=len(rows),
            graded=graded,
            reused=len(rows) - graded,
            mean_score=sum(row.score for row in rows) / len(rows),
            max_score=_most_points(self.course),
            mistakes={exercise.id: _most_frequent(exercise.id, rows) for exercise in self.course.exercises},
            errors=tuple(chain.from_iterable(row.failures for row in rows)),
            strays=strays,
            seconds=seconds,
        )

    def _fingerprint(self, submission: Submission) -> str:
        """A hash of everything that a result depends on, but for the seed."""
        files = sorted(submission.files.items())
        return hashlib.sha256(repr((self.digest, files, submission.notes)).encode()).hexdigest()

    def _sorted_rows(self) -> list[_Row]:
        return [self.rows[name] for name in sorted(self.rows)]

    def _csv(self) -> str:
        ids = [exercise.id for exercise in self.course.exercises]
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(["student", "score", "max_score", *ids, "mistakes"])
        most = _number(_most_points(self.course))
        for row in self._sorted_rows():
            points = [_number(row.points.get(name)) for name in ids]
            mistakes = "; ".join(f"{exercise} {answer}: {code}" for exercise, answer, code in row.codes)
            writer.writerow([_as_text(row.student), _number(row.score), most, *points, _as_text(mistakes)])
        return text.getvalue()

    def _write_state(self) -> None:
        students = {name: {"content": made.content, "seed": made.seed} for name, made in sorted(self.made.items())}
        _write(self.out / STATE_FILE, json.dumps({"schema": STATE_SCHEMA, "students": students}).encode())


def _course_digest(course: Course) -> str:
    """A hash of the course as it grades: its configuration, its specs and solutions, the grader's version."""
    paths = sorted(path for path in course.solutions.rglob("*.py") if "__pycache__" not in path.parts)
    sources = [(path.relative_to(course.solutions).as_posix(), path.read_bytes()) for path in paths]
    return hashlib.sha256(repr((__version__, course.config.model_dump_json(), sources)).encode()).hexdigest()


def _read_state(path: Path) -> dict[str, _Made]:
    """What is known of stored results; a file that cannot be understood is set aside."""
    try:
        state = json.loads(path.read_bytes())
        if state["schema"] != STATE_SCHEMA:
            raise ValueError("another version")
        return {name: _Made(str(made["content"]), int(made["seed"])) for name, made in state["students"].items()}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        os.replace(path, path.with_name(f"{path.name}.broken"))
        return {}


def _result_name(name: str) -> str:
    """`<student>.json`; a name too long for that is cut, and kept apart from others by a hash."""
    encoded = os.fsencode(name)
    if len(encoded) <= LONGEST_NAME:
        return f"{name}.json"
    return f"{encoded[:LONGEST_NAME].decode('utf-8', 'ignore')}-{hashlib.sha256(encoded).hexdigest()[:12]}.json"


def _stored_row(path: Path) -> _Row | None:
    try:
        record = json.loads(path.read_bytes())
        return _row(record) if record["schema"] == SCHEMA else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _row(record: Mapping[str, Any]) -> _Row:
    """A line of the gradebook, from the record alone, so that a stored result and a new one give the same."""
    student, exercises = record["student"], record["exercises"]
    answers = [(exercise["id"], answer) for exercise in exercises for answer in exercise["answers"]]
    failures = {name: answer["message"] for name, answer in answers if answer["status"] == "error"}
    return _Row(
        student,
        float(record["score"]),
        {exercise["id"]: None if exercise["status"] == "error" else exercise["score"] for exercise in exercises},
        tuple((name, answer["name"], answer["code"]) for name, answer in answers if answer["status"] == "failed"),
        tuple(Failure(student, name, message) for name, message in failures.items()),
    )


def _most_frequent(exercise: str, rows: Sequence[_Row]) -> tuple[Mistake, ...]:
    counts = Counter(code for row in rows for code in {code for name, _, code in row.codes if name == exercise})
    return tuple(Mistake(code, count) for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _most_points(course: Course) -> float:
    return sum(exercise.points for exercise in course.exercises)


def _number(points: float | None) -> str:
    return "error" if points is None else f"{points:.10g}"


def _as_text(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell


def _write(path: Path, data: bytes) -> None:
    """Write a whole file or none.

    Raises:
        InfrastructureError: it cannot be written.
    """
    unfinished = path.with_name(f".{os.getpid()}.tmp")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        says = f"{path} cannot be written ({error.strerror}): close it or make room, and run the same command again."
        raise InfrastructureError(says) from error
