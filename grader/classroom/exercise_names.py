"""Which exercise a file is, by its name, or by a name that browsers, editors and people make of it."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from grader.course.course import Course, CourseExercise
from grader.results.points import total

COPY = re.compile(
    r"\(\d{1,3}\)|[-_ ]\d{1,3}|(?: - |[-_ ])(?:copy|kopie|copie|copia)(?:[-_ ]?\(?\d{1,3}\)?)?|"
    r"^(?:copy of|kopie von|copie de|copia de)[-_ ]"
)
TWICE = re.compile(r"(\.py|\.ya?ml)\.(?:txt|py|ya?ml)$")
NUMBER = re.compile(r"\d+")
MOST_TIMES, LONGEST = 4, 255


@dataclass(frozen=True)
class Named:
    """What the name of a file says.

    Args:
        is_exact: it is the name that the course gave the file.
        copy: which copy it says it is; 0 for the first.
    """

    exercise: CourseExercise
    is_exact: bool
    copy: int = 0


@dataclass(frozen=True)
class ExerciseNames:
    """Find the exercise or unit that a file's or folder's name means.

    Args:
        wanted: the exercises that are graded.
    """

    course: Course
    wanted: tuple[CourseExercise, ...]

    @cached_property
    def wanted_ids(self) -> frozenset[str]:
        """Return the ids of the exercises that are graded."""
        return frozenset(exercise.id for exercise in self.wanted)

    @cached_property
    def points(self) -> dict[str, float]:
        """Return the points of the exercises that are graded, by unit."""
        units = dict.fromkeys(exercise.unit for exercise in self.wanted)
        return {unit: total(each.points for each in self.wanted if each.unit == unit) for unit in units}

    def is_place(self, folder: str) -> bool:
        """A folder of the course."""
        return folder == "exercises" or bool(self.unit_of(folder))

    def is_wanted(self, folders: Sequence[str]) -> bool:
        """What lies there is no other unit's than those that are graded."""
        unit = self.unit_of(folders[-1]) if folders else ""
        return not unit or unit in self.points

    def unit_of(self, folder: str) -> str:
        """The unit whose folder this is, if it is one's."""
        return folder if folder in self._in_unit else self._units.get(_spelled(COPY.sub("", _folded(folder))), "")

    def find(self, name: str, unit: str = "") -> Named | None:
        """The exercise that a file is by its name.

        Args:
            unit: the unit whose folder it lies in, if it does; only there a `quiz.yaml` is the quiz of its unit.
        """
        known, own = self._anywhere, self._in_unit.get(unit, {})
        if exact := own.get(name) or known.get(name):
            return Named(exact, True)
        spelled = TWICE.sub(r"\1", _folded(name)) if len(name) <= LONGEST else ""
        stem, ending = os.path.splitext(spelled.replace(".yml", ".yaml"))
        copies = 0
        for _ in range(MOST_TIMES if ending in (".py", ".yaml") else 0):
            alike = _spelled(stem) + ending
            if found := own.get(alike) or known.get(alike):
                return Named(found, False, copies)
            copy = next((one for one in COPY.finditer(stem) if one.end() == len(stem) or not one.start()), None)
            if copy is None:
                return None
            numbers = NUMBER.findall(copy[0])
            copies += int(numbers[-1]) if numbers else 1
            stem = (stem[: copy.start()] + stem[copy.end() :]).rstrip()
        return None

    @cached_property
    def _units(self) -> dict[str, str]:
        return {unit.id.casefold(): unit.id for unit in self.course.config.units}

    @cached_property
    def _anywhere(self) -> dict[str, CourseExercise]:
        """By the names that a file may have anywhere: a quiz is `quiz_<unit>.yaml`; the only one, `quiz.yaml` too."""
        quizzes = [exercise for exercise in self.wanted if exercise.is_quiz]
        only = {quizzes[0].name: quizzes[0]} if len(quizzes) == 1 else {}
        return {**only, **{each.id + os.path.splitext(each.name)[1]: each for each in self.course.exercises}}

    @cached_property
    def _in_unit(self) -> dict[str, dict[str, CourseExercise]]:
        units: dict[str, dict[str, CourseExercise]] = {}
        for each in self.course.exercises:
            units.setdefault(each.unit, {})[each.name] = each
        return units


def _folded(name: str) -> str:
    """A name without what people do not mean to tell apart: case, and ways to write a letter."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _spelled(stem: str) -> str:
    """A name as the course spells names."""
    return re.sub(r"[ -]+", "_", stem.strip(" -_"))
