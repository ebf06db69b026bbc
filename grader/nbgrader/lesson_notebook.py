"""A unit's lesson as a notebook shows it: links that work there, and no commands of the command line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.course.course import Course
from grader.course.course_file import Unit
from grader.errors import CourseError

LESSON = "README.md"
HOW_TO_ANSWER = (
    "Each exercise has a cell below. Write your answers in it, run it (Shift+Enter), and then run the `check` under "
    "it, which says what is right. Each `score` shows the points of one answer."
)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[#/]")
_FENCED = re.compile(r"^```[^\n]*\n(.*?)^```[ \t]*\n?", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"(?:pytest|handgrad)\b")
_QUIZ = re.compile(r"^- `quiz\.yaml`[^\n]*(\n  [^\n]*)*", re.MULTILINE)
_NEXT = re.compile(r"^Next: \[[^\n]*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Lesson:
    """A lesson for a notebook.

    Args:
        text: the Markdown.
        files: the files of the unit's folder that it links to, relative to that folder.
    """

    text: str
    files: tuple[Path, ...]


def notebook_lesson(course: Course, unit: Unit) -> Lesson:
    """The lesson of a unit, from `exercises/<unit>/README.md`.

    A link to another unit's lesson leads to its notebook; a link to what is not in the unit's folder becomes text.

    Raises:
        CourseError: the lesson is missing or cannot be read.
    """
    text = _FENCED.sub(_without_commands, _read(course, unit))
    for entry in unit.exercises:
        text = text.replace(f"`{entry.id}.py`", f"`{entry.id}`")
    text = _QUIZ.sub(f"- `{unit.quiz_id}`: the quiz of this unit; its questions stand at the end.", text)
    files: dict[Path, None] = {}
    text = _LINK.sub(lambda found: _link(found, course, unit, files), _NEXT.sub("", text))
    return Lesson(text.strip(), tuple(files))


def _read(course: Course, unit: Unit) -> str:
    file = f"exercises/{unit.id}/{LESSON}"
    try:
        return (course.root / file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{course.root / file} cannot be read ({error}): write the unit's lesson there.") from error


def _without_commands(block: re.Match[str]) -> str:
    """A block of nothing but commands for the terminal becomes what to do in a notebook."""
    lines = [line for line in block[1].splitlines() if line.strip()]
    commands = bool(lines) and all(_COMMAND.match(line) for line in lines)
    return f"{HOW_TO_ANSWER}\n" if commands else block[0]


def _link(found: re.Match[str], course: Course, unit: Unit, files: dict[Path, None]) -> str:
    image, label, target = found[1], found[2], found[3]
    if _ELSEWHERE.match(target):
        return found[0]
    folder = course.root / "exercises" / unit.id
    path = (folder / target.partition("#")[0]).resolve()
    if path.name == LESSON and path.parent.name in {known.id for known in course.config.units}:
        name = path.parent.name
        return f"[{label}]({PurePosixPath('..', name, f'{name}.ipynb')})"
    if path.is_file() and path.is_relative_to(folder.resolve()):
        files[path.relative_to(folder.resolve())] = None
        return f"{image}[{label}]({target})"
    return label
