"""The content of `course.yaml`, with errors that name the line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from grader.errors import CourseError

from .yaml_file import StrictModel, YamlFileError, parse_yaml

ID, UNIT_ID, NAME = r"^[a-z][a-z0-9_]*$", r"^\d\d_[a-z0-9_]+$", r"^[A-Za-z0-9_\-]+$"
PACKAGE = r"^([A-Za-z_][A-Za-z0-9_]*|/.*|[A-Za-z]:/.*)?$"  # a name, or the folder of a course
ADVICE = {  # by pattern
    ID: "write letters from `a` to `z`, digits and `_`, a letter first",
    UNIT_ID: "write two digits, `_`, and a name of letters from `a` to `z`, digits and `_`",
    NAME: "write letters from `a` to `z` or `A` to `Z`, digits, `_` and `-`",
    PACKAGE: "write the name that it is imported by",
}
NOT_A_COURSE = "the file must set course, title and units: restore it, or run: handgrad init my-course"
QUIZ_FILE, KEYS_FILE = "quiz.yaml", "quiz_keys.json"


class Policy(StrictModel):
    """Describe how exercises are graded.

    Args:
        time_limit: seconds for one exercise file.
        memory_limit: MiB that learner code may use beyond torch itself.
        show_expected: whether learners may see the expected numbers.
        measuring: whether a right gradient by finite differences is flagged for a person to look at, or refused.
    """

    time_limit: float = Field(default=10, gt=0, le=3600)
    memory_limit: int = Field(default=1024, ge=64, le=1 << 20)
    show_expected: bool = False
    measuring: Literal["flag", "refuse"] = "flag"


class Entry(StrictModel):
    """Describe one exercise as `course.yaml` lists it.

    Args:
        id: the name of its function and its file.
        points: the points of all its answers together.
        stretch: whether it is optional.
    """

    id: str = Field(pattern=ID)
    points: float = Field(default=1, gt=0, allow_inf_nan=False)
    stretch: bool = False


class Unit(StrictModel):
    """Describe one unit, a folder of `exercises/`.

    Args:
        id: the name of the folder.
        title: the title for lists.
        exercises: the exercises of the unit in teaching order; none in a unit that is being written.
        quiz: the points of its quiz; `None` if it has no quiz.
    """

    id: str = Field(pattern=UNIT_ID)
    title: str
    exercises: Annotated[tuple[Entry, ...], BeforeValidator(lambda given: given or ())] = ()
    quiz: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @property
    def quiz_id(self) -> str:
        """Return the id of the unit's quiz, or the id that a quiz of the unit would have."""
        return f"quiz_{self.id}"

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of the unit's exercises in teaching order, the quiz last."""
        return tuple(self.points)

    @property
    def points(self) -> dict[str, float]:
        """Return the points of the unit's exercises by id, in teaching order, the quiz last."""
        listed = {entry.id: entry.points for entry in self.exercises}
        return listed if self.quiz is None else {**listed, self.quiz_id: self.quiz}


class CourseFile(StrictModel):
    """Hold the content of `course.yaml`.

    Args:
        course: the name of the course in results.
        title: the title for people.
        package: the installed package that holds the course and its right answers, or the path of its author's folder;
            empty for handgrad's own.
        policy: how its exercises are graded.
        units: its units in teaching order.
    """

    course: str = Field(pattern=NAME)
    title: str
    package: str = Field(default="", pattern=PACKAGE)
    policy: Policy = Policy()
    units: tuple[Unit, ...] = Field(min_length=1)

    def unit_id(self, name: str) -> str:
        """Return the id of the unit that a person names by its id or its number: "04_linear" for "4", "04" and itself.

        Return any other name unchanged.
        """
        return next((unit.id for unit in self.units if is_number_of_unit(name, unit.id)), name)


def is_number_of_unit(name: str, unit: str) -> bool:
    """Return whether a name is the number of a unit, such as "4" or "04" for the id "04_linear"."""
    number = unit.partition("_")[0]
    return name.isascii() and name.isdigit() and number.isdigit() and int(number) == int(name)


def read_course_file(path: Path) -> CourseFile:
    """Return the content of a `course.yaml`.

    Raises:
        CourseError: the file is missing, unreadable or wrong; names the line.
    """
    try:
        return _parse(path, path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        message = f"{path} cannot be read (it is not UTF-8 text): save it as UTF-8, or run: handgrad init my-course"
        raise CourseError(message) from error
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}): restore it, or run: handgrad init my-course"
        raise CourseError(message) from error


def line_of_name(path: Path, name: str) -> int:
    """Return the number of the last line of a `course.yaml` that names an exercise or a unit; 1 if none does."""
    return _last_line(path.read_text(encoding="utf-8"), name)


def _last_line(text: str, name: str) -> int:
    """Return the number of the last line of a text that has a name as a whole word; 1 if none has."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    return max((i for i, line in enumerate(text.splitlines(), 1) if word.search(line)), default=1)


def _parse(path: Path, text: str) -> CourseFile:
    """Return the content of a `course.yaml` with this text.

    Raises:
        CourseError: the text is wrong; names the line of `path`.
    """
    try:
        config = parse_yaml(path, text, CourseFile, ADVICE, NOT_A_COURSE)
        _check_unique(config)
    except YamlFileError as error:
        raise CourseError(str(error)) from error
    except ValueError as error:
        name = str(error).split(" ")[0]
        raise CourseError(f"{path}, line {_last_line(text, name)}: {error}: remove one.") from error
    if not any(unit.ids for unit in config.units):
        first = config.units[0].id
        raise CourseError(f"{path}, line {_last_line(text, first)}: no unit has an exercise: list one in {first}.")
    return config


def _check_unique(config: CourseFile) -> None:
    """Check that all units, quizzes and exercises of a course have different names, across kinds and units.

    Raises:
        ValueError: two have the same name.
    """
    seen: set[str] = set()
    for unit in config.units:
        for name in (unit.id, unit.quiz_id, *[entry.id for entry in unit.exercises]):
            if name in seen:
                raise ValueError(f"{name} is listed twice")
            seen.add(name)
