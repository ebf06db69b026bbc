"""What a GitHub workflow shows: annotations for its log, and a summary for its page.

The annotations are workflow commands, one a line, with everything in them escaped as the runner undoes it: no text can
end a command or begin another one.
"""

from __future__ import annotations

from collections.abc import Iterator

from grader.classroom.student_results import StudentResults
from grader.course.course import Course
from grader.rendering.render_text import group_alike

from .exporter import Wanted
from .graded_work import GradedAnswer, answers, is_graded, markdown, max_score, notes, number, of_points, score, text

MOST_ANNOTATIONS = 10  # of one kind that GitHub shows of a step
MOST_BYTES = 1_000_000  # a summary may have 1 MiB
STATUS = {"passed": "right", "failed": "wrong", "todo": "not attempted", "error": "**not graded**"}


def github(course: Course, record: StudentResults, wanted: Wanted) -> dict[str, bytes]:
    """`annotations.txt`, to be printed by a step, and `summary.md`, to be added to `$GITHUB_STEP_SUMMARY`."""
    lines = list(_annotations(course, record, wanted))
    if len(lines) > MOST_ANNOTATIONS:
        more = len(lines) - MOST_ANNOTATIONS + 1
        lines[MOST_ANNOTATIONS - 1 :] = [command("error", f"{more} more are in the summary of this run.", title="more")]
    annotations = "".join(f"{line}\n" for line in lines)
    return {"annotations.txt": annotations.encode(), "summary.md": _summary(record).encode()}


def _annotations(course: Course, record: StudentResults, wanted: Wanted) -> Iterator[str]:
    for exercise in record.exercises:
        for group in group_alike(exercise):
            first = GradedAnswer(exercise, group[0])
            if first.answer.status not in ("failed", "error"):
                continue
            names = ", ".join(answer.name for answer in group)
            code = first.code if first.is_graded else "not graded"
            place = {"file": _file(course, exercise.id, exercise.unit), "line": str(wanted.lines.get(exercise.id, 1))}
            yield command("error", "\n".join(first.sentences), **place, title=text(f"{exercise.id} {names}: {code}"))


def _file(course: Course, exercise: str, unit: str) -> str:
    known = (each.file for each in course.exercises if each.id == exercise)
    return next(known, text(f"exercises/{unit}/{exercise}.py"))  # where it was graded by another course


def command(name: str, message: str, **properties: str) -> str:
    """A workflow command, escaped as actions/toolkit does it."""
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {listed}::{_data(message)}"


def _data(words: str) -> str:
    words = words.replace("##[", "# #[")  # the older form of a command, which may stand anywhere in a line
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(words: str) -> str:
    return _data(words).replace(":", "%3A").replace(",", "%2C")


def _summary(record: StudentResults) -> str:
    """Points, and what there is to say of each answer that is not right; cut at whole answers."""
    most = number(max_score(record))
    total = f"{number(score(record))} of {most} points" if is_graded(record) else "Not everything could be graded"
    parts, size = [f"## {total}\n\n"], 0
    for each in answers(record):
        part = _line(each)
        size += len(part.encode())
        if size > MOST_BYTES:
            parts.append("\nThere is more than a summary can hold.\n")
            break
        parts.append(part)
    parts += [f"\n{markdown(note)}\n" for note in notes(record)[:20]]
    return "".join(parts)


def _line(each: GradedAnswer) -> str:
    line = f"- {markdown(each.name)}: {of_points(each)}, {STATUS[each.answer.status]}\n"
    if each.answer.status in ("passed", "todo"):
        return line
    return line + "".join(f"  - {markdown(words)}\n" for words in each.sentences)
