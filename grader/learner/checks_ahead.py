"""Checks files ahead of time: those of a unit share a child, which runs while the next unit is prepared."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.course.course import CourseExercise
from grader.results.records import ExerciseResult
from grader.sandbox.source_text import importable_files

if TYPE_CHECKING:
    from grader.child.protocol import Frame
    from grader.judging.grading import Part
    from grader.judging.submission_code import CombinedJob


@dataclass(frozen=True)
class Started:
    """A unit whose files are running, and what was read of each."""

    exercises: Sequence[CourseExercise]
    contents: dict[str, bytes]
    together: CombinedJob
    reply: Future[Frame | None]


class ChecksAhead:
    """The verdicts on files that will be asked for in a known order, where they are plain to see.

    Args:
        exercises: in this order; whoever is alone of a unit shares no child.
        share: puts files into one child.
    """

    def __init__(self, exercises: Sequence[CourseExercise], share: Callable[[Sequence[Part]], CombinedJob]) -> None:
        self._share = share
        code = [exercise for exercise in exercises if not exercise.is_quiz]
        units = [list(unit) for _, unit in itertools.groupby(code, lambda each: each.unit)]
        shared = [unit for unit in units if len(unit) > 1]
        self._coming = {exercise.id for unit in shared for exercise in unit}
        self._units = self._one_ahead(shared)
        self._found: dict[str, ExerciseResult] = {}
        self._waiting = ThreadPoolExecutor(1)  # a thread that waits for the worker

    def settled(self, exercise: CourseExercise) -> ExerciseResult | None:
        """The verdict on a file that is right, or not begun; `None` where it is to be asked for alone."""
        while exercise.id in self._coming:
            unit = next(self._units)
            self._coming -= {each.id for each in unit.exercises}
            found = unit.together.results_of(unit.reply.result())
            self._found |= {name: result.with_hash_of(unit.contents[name]) for name, result in found.items()}
        return self._found.pop(exercise.id, None)

    def close(self) -> None:
        """Wait for the end of what is running; nothing else begins."""
        self._waiting.shutdown(cancel_futures=True)

    def _one_ahead(self, units: Sequence[Sequence[CourseExercise]]) -> Iterator[Started]:
        """Each unit, the next one's child already on its way."""
        started: deque[Started] = deque()
        for unit in units:
            started.append(self._start(unit))
            if len(started) > 1:
                yield started.popleft()
        yield from started

    def _start(self, unit: Sequence[CourseExercise]) -> Started:
        contents = {}
        for exercise in unit:
            with suppress(OSError):
                contents[exercise.id] = exercise.path.read_bytes()
        beside = importable_files(unit[0].path.parent)
        together = self._share([(each, contents[each.id], beside) for each in unit if each.id in contents])
        return Started(unit, contents, together, self._waiting.submit(together.run))
