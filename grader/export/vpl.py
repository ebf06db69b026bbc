"""What VPL for Moodle reads on the output of `vpl_evaluate.sh`: comments, and the grade."""

from __future__ import annotations

from grader.classroom.student_results import StudentResults
from grader.course.course import Course

from .exporter import Wanted
from .graded_work import NOT_GRADED, answers, is_graded, max_score, notes, number, of_points, share, tagless


def vpl(course: Course, record: StudentResults, wanted: Wanted) -> dict[str, bytes]:
    """A block of comments, in which a line that begins with `-` is a title and one that begins with `>` is shown as it
    is, and then the grade; no grade where something could not be graded, so that none is proposed.
    """
    lines = []
    for each in answers(record):
        lines.append(f"-{_inert(each.name)} ({of_points(each)})")
        lines += [f">{_inert(line)}" for line in each.sentences if each.answer.status != "passed"]
    lines += [f">{_inert(note)}" for note in (*notes(record), *(() if is_graded(record) else (NOT_GRADED,)))]
    block = "\n".join(["<|--", *lines, "--|>"])
    most = max_score(record) if wanted.out_of is None else wanted.out_of
    grade = f"\nGrade :=>>{number(share(record) * most)}\n" if is_graded(record) else "\n"
    return {"vpl.txt": (block + grade).encode()}


def _inert(words: str) -> str:
    """Text in which VPL finds none of its own marks."""
    return tagless(words).replace(":=>>", ": = > >").replace("--|>", "- - | >").replace("<|--", "< | - -")
