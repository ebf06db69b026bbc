"""What an exporter is: a pure function from graded work to files, and what it may be told besides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from grader.classroom.student_results import StudentResults
from grader.course.course import Course, CourseExercise
from grader.results.records import ExerciseResult

LONGEST_STUDENT = 60  # characters
LONGEST_NAME = 160  # bytes: with a number, the platform's own name and that of an unfinished file it is one of 255


@dataclass(frozen=True)
class Wanted:
    """What an export is made with besides the results.

    Args:
        out_of: how many points the platform counts in; its own or the course's if left out.
        sheet: the platform's own CSV file, to be filled; `None` where there is none.
        column: the column of that file which takes the points; found if left out.
        runner: the variables by which a platform's runner names what it grades.
        lines: where each exercise's function begins in the file that was graded, counted from 1, by exercise.
        picture: draws what the record of a seed says of an exercise as HTML; empty where there is nothing to draw.
    """

    out_of: float | None = None
    sheet: bytes | None = None
    column: str = ""
    runner: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    picture: Callable[[CourseExercise, ExerciseResult, int], str] = lambda exercise, result, seed: ""


@dataclass(frozen=True)
class Exported:
    """What an export came to.

    Args:
        files: content by name; a name is one file name without a folder.
        notes: what whoever asked for the export should know, a sentence each.
        problems: the same, of what is not in the files.
    """

    files: Mapping[str, bytes]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


Exporter = Callable[[Course, Sequence[StudentResults], Wanted], Exported]
ForOne = Callable[[Course, StudentResults, Wanted], Mapping[str, bytes]]


def each(export_one: ForOne) -> Exporter:
    """The exporter of a platform that takes one student at a time.

    Of one student the files have the platform's own names; of several, each name begins with the student's.
    """

    def export(course: Course, records: Sequence[StudentResults], wanted: Wanted) -> Exported:
        if len(records) == 1:
            return Exported(export_one(course, records[0], wanted))
        files: dict[str, bytes] = {}
        taken: set[str] = set()
        for record in records:
            student = _unique_file_name(record.student, taken)
            for name, content in export_one(course, record, wanted).items():
                files[f"{student}.{name}"] = content
        return Exported(files)

    return export


def _unique_file_name(student: str, taken: set[str]) -> str:
    """Return a name for a student's file that any file system accepts and nobody else has; it is added to `taken`."""
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in student).strip(".")[:LONGEST_STUDENT]
    safe = safe.encode()[:LONGEST_NAME].decode("utf-8", "ignore") or "_"
    name, number = safe, 2
    while name.casefold() in taken:
        name, number = f"{safe}-{number}", number + 1
    taken.add(name.casefold())
    return name
