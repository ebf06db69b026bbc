"""Grades one exercise, from a file or the cells of a notebook: runs it, checks its answers, names the mistake."""

from __future__ import annotations

import math
import secrets
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from grader.course import CourseExercise
from grader.diagnosis.mistake import Diagnosis
from grader.errors import InfrastructureError, ProtocolError
from grader.exercise import Exercise
from grader.reference.large_trials import (
    AT_FIRST,
    FOR_TABLES,
    entries_are_coupled,
    large_trials,
    most_entries,
    tight_memory_trials,
)
from grader.reference.references import make_trials
from grader.reference.single_thread import one_thread
from grader.reference.trial import Trial
from grader.results import LARGEST_SEED, ExerciseResult
from grader.sandbox.checked_reply import read
from grader.sandbox.worker import Worker

from . import quiz_grading
from .judge import Judge, same_for_every_answer, with_largest_repeated
from .large_trial_checks import A_TABLE, TABLES_TAKE, UNSUSPICIOUS, LargeCase, grows_as_a_square, split_observation
from .source_text import NO_FILES, Files, Source, decode
from .submission_code import SubmissionCode, TimeLeft

LONGEST_REASON = 200
ATTEMPTS, LOOKS = 8, 3
OnJudged = Callable[[Judge], None]


class Grader:
    """Grades exercise files of one course with one seed; references are computed once per exercise.

    Args:
        seed: where every trial comes from; drawn afresh if not given.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = secrets.randbelow(LARGEST_SEED + 1) if seed is None else seed
        self._trials: dict[str, list[Trial]] = {}
        self._large: dict[tuple[str, int], tuple[Trial, ...]] = {}
        self._absent: dict[str, ExerciseResult] = {}

    def prepare(self, exercise: CourseExercise, *, isolated: bool) -> None:
        """Load what grading this exercise takes, so that threads can share it."""
        if exercise.is_quiz:
            _ = exercise.quiz
        else:
            self.trials(exercise)
            _ = self.large_trials(exercise) if isolated else ()

    def trials(self, exercise: CourseExercise) -> list[Trial]:
        """This run's trials of an exercise."""
        if exercise.id not in self._trials:
            self._trials[exercise.id] = make_trials(exercise.function, self._random(exercise))
        return self._trials[exercise.id]

    def large_trials(self, exercise: CourseExercise, entries: int = AT_FIRST) -> tuple[Trial, ...]:
        """This run's trials of an exercise with so many entries, which only isolated code is given."""
        key = (exercise.id, entries)
        if key not in self._large:
            first, rng = self.trials(exercise)[0], self._random(exercise, entries)
            self._large[key] = large_trials(exercise.function, first, entries, rng)
        return self._large[key]

    def tight_memory_trials(self, exercise: CourseExercise) -> tuple[Trial, ...]:
        """This run's trials of an exercise with no room for the array that must never be held."""
        key = (exercise.id, 0)
        if key not in self._large:
            room, first = exercise.course.policy.memory_limit << 20, self.trials(exercise)[0]
            self._large[key] = tight_memory_trials(exercise.function, first, room, self._random(exercise, 0))
        return self._large[key]

    def _random(self, exercise: CourseExercise, *stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, zlib.crc32(exercise.id.encode()), *stream])

    def grade(
        self, exercise: CourseExercise, content: bytes | None, worker: Worker, on_judged: OnJudged | None = None,
        beside: Files = NO_FILES,
    ) -> ExerciseResult:  # fmt: skip
        """The verdict on one file, which is the case of one cell.

        Args:
            content: the file's bytes, `None` where there is no such file.
            worker: runs them; an answer sheet is only read.
            on_judged: called with the judge, once its verdict is there.
            beside: the files in the same folder, which it may import.
        """
        if content is None:
            return self.not_handed_in(exercise)
        if exercise.is_quiz:
            return quiz_grading.grade_sheet(exercise, exercise.quiz, content)
        try:
            source = Source.of_file(decode(content), exercise.file, beside)
        except (SyntaxError, LookupError, UnicodeError) as error:
            says = f"{exercise.file} is not UTF-8 text ({str(error)[:LONGEST_REASON]}): save it as UTF-8"
            return same_for_every_answer(
                exercise, Diagnosis("syntax-error", says, ("Which editor or system wrote this file?",))
            )
        return self._grade(exercise, source, worker, on_judged)

    def not_handed_in(self, exercise: CourseExercise) -> ExerciseResult:
        """One result for all who have not: most of a class, in most exercises."""
        if exercise.id not in self._absent:
            says = f"{exercise.file} is not there: get the stub back with: handgrad reset {exercise.id}"
            self._absent[exercise.id] = (
                quiz_grading.grade_sheet(exercise, exercise.quiz, None)
                if exercise.is_quiz
                else same_for_every_answer(exercise, Diagnosis("todo", says))
            )
        return self._absent[exercise.id]

    def grade_cells(
        self, exercise: CourseExercise, cells: Sequence[str], worker: Worker, on_judged: OnJudged | None = None,
        beside: Files = NO_FILES,
    ) -> ExerciseResult:  # fmt: skip
        """The verdict on the code cells of a notebook, run in their order; an error in one does not stop the rest."""
        if exercise.is_quiz:
            return quiz_grading.grade_cells(exercise, exercise.quiz, cells)
        return self._grade(exercise, Source.of_cells(cells, beside), worker, on_judged)

    def _grade(
        self, exercise: CourseExercise, source: Source, worker: Worker, on_judged: OnJudged | None
    ) -> ExerciseResult:
        try:
            with one_thread(), np.errstate(all="ignore"):  # whatever numbers an answer holds
                return self._run_and_judge(exercise, source, worker, on_judged)
        except ProtocolError as error:
            return same_for_every_answer(
                exercise, Diagnosis("crash", f"it tampered with the grader's messages: {error}")
            )
        except InfrastructureError as error:
            return same_for_every_answer(exercise, Diagnosis("error", str(error)), "error")

    def _run_and_judge(
        self, exercise: CourseExercise, source: Source, worker: Worker, on_judged: OnJudged | None
    ) -> ExerciseResult:
        trials, limit = self.trials(exercise), exercise.course.policy.time_limit
        large = self.large_trials(exercise) if worker.isolation != "none" else ()
        asked, code = with_largest_repeated(trials), SubmissionCode(exercise, source, worker, TimeLeft(limit))
        reply = code.run(asked, large)
        if reply.end == "timeout":
            says = f"it was still running after {limit:g} seconds{', perhaps on a large input' if large else ''}"
            return same_for_every_answer(exercise, Diagnosis("timeout", says))
        if reply.frame is None:
            return same_for_every_answer(exercise, Diagnosis("crash", f"it brought Python down: {reply.detail}"))
        observed, large_case = split_observation(read(reply.frame), len(asked), large)
        judge = Judge(exercise, source, trials, observed)
        result = judge.result()
        if on_judged is not None:
            on_judged(judge)
        judged = large_case.apply_to(exercise, result, source)
        passed = result.status == "passed"
        if passed and large_case.ran_out_of_memory and (tables := self._smaller_large_case(code)):
            return tables.apply_to(exercise, result, source)
        if exercise.function.never_holds and large and any(answer.code is None for answer in judged.answers):
            tight, _ = code.run_large(self.tight_memory_trials(exercise), tight_memory=True)
            judged = tight.apply_to(exercise, judged, source)
        if reply.cpu <= UNSUSPICIOUS or not large or all(answer.code for answer in judged.answers):
            return judged
        return self._largest_case(code, reply.cpu).apply_to(exercise, judged, source)

    def _smaller_large_case(self, code: SubmissionCode) -> LargeCase | None:
        """A smaller large case, where a table of all entries with all has room, if it is a right way to answer."""
        exercise, declaration = code.exercise, code.exercise.function
        if not isinstance(declaration, Exercise) or not entries_are_coupled(declaration, self.trials(exercise)[0]):
            return None
        table = replace(code, source=Source.of_file(A_TABLE.format(exercise.id), exercise.file))
        small = self.large_trials(exercise, FOR_TABLES)
        least = least_of_table = math.inf  # a machine that is busy, or short of memory, only ever adds to them
        for _ in range(ATTEMPTS):
            case, cpu = code.run_large(small)
            least, least_of_table = min(least, cpu), min(least_of_table, table.run_large(small)[1])
            if least <= TABLES_TAKE * least_of_table:
                return case
        return None

    def _largest_case(self, code: SubmissionCode, before: float) -> LargeCase:
        """The largest case, which a measurement has no time for; or else it shows by how much longer it takes.

        Args:
            before: seconds of processor time that the first large case took.
        """
        first = self.large_trials(code.exercise)
        entries = most_entries(code.exercise.course.policy.time_limit) // len(first)
        for look in range(LOOKS):  # a machine that is busy for once is no evidence
            if look:
                _, before = code.run_large(first)
            case, after = code.run_large(self.large_trials(code.exercise, entries))
            if not grows_as_a_square(before, after, entries / AT_FIRST):
                return case
            if code.time_left.seconds <= after:
                break
        return replace(case, grew_as_square=True)
