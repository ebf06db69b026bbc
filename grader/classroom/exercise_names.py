"""The exercise that a file is meant for, by its name or by a name that browsers, editors and people make from it."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection, Sequence
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
MOST_COPY_MARKS, LONGEST = 4, 255
MOST_DESCRIBED = 3  # units or exercises that a sentence names


@dataclass(frozen=True)
class NameMatch:
    """Hold the exercise that the name of a file means.

    Args:
        exercise: the exercise.
        is_exact: whether it is the name that the course gave the file.
        copy: the number of the copy in the name, such as 2 in `lin_grad (2).py`; 0 for the original.
    """

    exercise: CourseExercise
    is_exact: bool
    copy: int = 0


@dataclass(frozen=True)
class ExerciseNames:
    """Find the exercise or unit that a file's or folder's name means.

    Args:
        course: the course.
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
        """Return by unit the sum of the points of its exercises that are graded."""
        units = dict.fromkeys(exercise.unit for exercise in self.wanted)
        return {unit: total(exercise.points for exercise in self.wanted if exercise.unit == unit) for unit in units}

    def described(self, ids: Collection[str]) -> str:
        """Return exercises in words: "the whole course", the names of their units, or the first few ids.

        Units are named, in teaching order, if the exercises are all of theirs; ids are sorted. Of many names,
        `MOST_DESCRIBED` are followed by the number of the others: "and 3 more".

        Args:
            ids: the ids of the exercises.
        """
        if all(exercise.id in ids for exercise in self.course.exercises):
            return "the whole course"
        units = list(dict.fromkeys(exercise.unit for exercise in self.course.exercises if exercise.id in ids))
        in_units = {exercise.id for exercise in self.course.exercises if exercise.unit in units}
        parts = units if in_units == set(ids) else sorted(ids)
        more = f" and {len(parts) - MOST_DESCRIBED} more" if len(parts) > MOST_DESCRIBED else ""
        return ", ".join(parts[:MOST_DESCRIBED]) + more

    def is_place(self, folder: str) -> bool:
        """Return whether a folder has the name of a folder of the course: `exercises`, or that of a unit."""
        return folder == "exercises" or bool(self.unit_of(folder))

    def is_wanted(self, folders: Sequence[str]) -> bool:
        """Return whether a file that lies in these nested folders, the innermost last, may be graded or imported.

        That is false only where the name of the innermost folder means a unit of which no exercise is graded; the
        names of the others do not matter.
        """
        unit = self.unit_of(folders[-1]) if folders else ""
        return not unit or unit in self.points

    def unit_of(self, folder: str) -> str:
        """Return the id of the unit that a folder's name means; empty if it means none."""
        if folder in self._in_unit:
            return folder
        return self._units.get(_course_spelling(COPY.sub("", _casefolded(folder))), "")

    def find(self, name: str, unit: str = "") -> NameMatch | None:
        """Return the exercise that the name of a file means; `None` if it means none.

        Args:
            name: the file's name.
            unit: the id of the unit whose folder the file lies in; empty if it lies in none. Only in such a folder a
                `quiz.yaml` is the quiz of its unit.
        """
        anywhere, in_unit = self._anywhere, self._in_unit.get(unit, {})
        if exact := in_unit.get(name) or anywhere.get(name):
            return NameMatch(exact, True)
        spelled = TWICE.sub(r"\1", _casefolded(name)) if len(name) <= LONGEST else ""
        stem, ending = os.path.splitext(spelled.replace(".yml", ".yaml"))
        copies = 0
        for _ in range(MOST_COPY_MARKS if ending in (".py", ".yaml") else 0):
            normal = _course_spelling(stem) + ending
            if exercise := in_unit.get(normal) or anywhere.get(normal):
                return NameMatch(exercise, False, copies)
            marks = COPY.finditer(stem)
            copy = next((mark for mark in marks if mark.end() == len(stem) or not mark.start()), None)
            if copy is None:
                return None
            numbers = NUMBER.findall(copy[0])
            copies += int(numbers[-1]) if numbers else 1
            stem = (stem[: copy.start()] + stem[copy.end() :]).rstrip()
        return None

    @cached_property
    def _units(self) -> dict[str, str]:
        """Return the id of each unit by its casefolded id."""
        return {unit.id.casefold(): unit.id for unit in self.course.config.units}

    @cached_property
    def _anywhere(self) -> dict[str, CourseExercise]:
        """Return the exercises by the names that their files have outside a unit's folder, such as `lin_grad.py`.

        A quiz is `quiz_<unit>.yaml`; if only one is graded, it may be `quiz.yaml` too.
        """
        quizzes = [exercise for exercise in self.wanted if exercise.is_quiz]
        only = {quizzes[0].name: quizzes[0]} if len(quizzes) == 1 else {}
        by_id = {exercise.id + os.path.splitext(exercise.name)[1]: exercise for exercise in self.course.exercises}
        return {**only, **by_id}

    @cached_property
    def _in_unit(self) -> dict[str, dict[str, CourseExercise]]:
        """Return for each unit, by its id, its exercises by the names that their files have in its folder."""
        units: dict[str, dict[str, CourseExercise]] = {}
        for exercise in self.course.exercises:
            units.setdefault(exercise.unit, {})[exercise.name] = exercise
        return units


def _casefolded(name: str) -> str:
    """Return a name without case, and with each letter in one spelling of Unicode."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _course_spelling(stem: str) -> str:
    """Return a name as the course spells names: with underscores for spaces and hyphens."""
    return re.sub(r"[ -]+", "_", stem.strip(" -_"))
