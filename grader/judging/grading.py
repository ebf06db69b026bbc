"""Grades one exercise, from a file or the cells of a notebook: runs it, checks its answers, names the mistake."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from grader.child.protocol import Frame
from grader.course import CourseExercise
from grader.diagnosis.mistake import Diagnosis
from grader.errors import InfrastructureError, ProtocolError
from grader.reference.references import make_trials, random_numbers, watched_trial
from grader.reference.single_thread import one_thread
from grader.reference.tight_memory import tight_memory_trial
from grader.reference.trial import Trial
from grader.results import LARGEST_SEED, ExerciseResult
from grader.sandbox.checked_reply import read
from grader.sandbox.worker import Worker

from . import quiz_grading
from .cost_checks import told_of_nudges, without_room, without_watched_call
from .judge import Judge, with_some_repeated
from .source_text import NO_FILES, Files, Source, decode
from .submission_code import SubmissionCode, run_together
from .verdicts import same_for_every_answer

LONGEST_REASON = 200
TOGETHER = 1.0  # seconds that the exercises of a submission have where they share a child; nothing fails for it
OnJudged = Callable[[Judge], None]


class Grader:
    """Grades exercise files of one course with one seed; references are computed once per exercise.

    Args:
        seed: where every trial comes from; drawn afresh if not given.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = secrets.randbelow(LARGEST_SEED + 1) if seed is None else seed
        self._trials: dict[str, list[Trial]] = {}
        self._watched: dict[str, Trial | None] = {}
        self._tight: dict[str, Trial | None] = {}
        self._prepared: set[str] = set()
        self._absent: dict[str, ExerciseResult] = {}

    def prepare(self, exercises: Iterable[CourseExercise], *, isolated: bool) -> bool:
        """Load what grading these exercises takes, so that processes forked from this one share it.

        Returns:
            Something was not there yet.
        """
        new = [exercise for exercise in exercises if exercise.id not in self._prepared]
        with one_thread():  # no other one may be there when this process forks
            for exercise in new:
                if exercise.is_quiz:
                    _ = exercise.quiz
                else:
                    self.trials(exercise)
                    _ = self.watched_trial(exercise)
                    _ = self.tight_memory_trial(exercise) if isolated else None
                self._prepared.add(exercise.id)
        return bool(new)

    def trials(self, exercise: CourseExercise) -> list[Trial]:
        """This run's trials of an exercise."""
        if exercise.id not in self._trials:
            self._trials[exercise.id] = make_trials(exercise.function, self._random(exercise))
        return self._trials[exercise.id]

    def watched_trial(self, exercise: CourseExercise) -> Trial | None:
        """This run's trial in which it is watched whether a gradient is measured."""
        if exercise.id not in self._watched:
            self._watched[exercise.id] = watched_trial(exercise.function, self._random(exercise, 1))
        return self._watched[exercise.id]

    def tight_memory_trial(self, exercise: CourseExercise) -> Trial | None:
        """This run's trial with no room for the array that must never be held."""
        if exercise.id not in self._tight:
            trial = tight_memory_trial(exercise.function, self.trials(exercise)[0], self._random(exercise, 2))
            self._tight[exercise.id] = trial
        return self._tight[exercise.id]

    def _random(self, exercise: CourseExercise, *stream: int) -> np.random.Generator:
        return random_numbers(self.seed, exercise.id, *stream)

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
            return self._grade(exercise, _source(exercise, content, beside), worker, on_judged)
        except UnreadableSource as error:
            says = f"{exercise.file} is not UTF-8 text ({str(error)[:LONGEST_REASON]}): save it as UTF-8"
            return same_for_every_answer(
                exercise, Diagnosis("syntax-error", says, ("Which editor or system wrote this file?",))
            )

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

    def passed_together(
        self, submission: Sequence[tuple[CourseExercise, bytes | Sequence[str], Files]], worker: Worker
    ) -> dict[str, ExerciseResult]:
        """What passes where the exercises of a submission share one child, by exercise; the rest is to be asked alone.

        Args:
            submission: each exercise with its file, or with the code cells of a notebook, and the files beside it.
        """
        codes = []
        for exercise, content, beside in submission:
            if not exercise.is_quiz:
                with contextlib.suppress(UnreadableSource):
                    codes.append(SubmissionCode(exercise, _source(exercise, content, beside), worker))
        if len(codes) < 2:
            return {}
        try:
            with one_thread(), np.errstate(all="ignore"):
                replies = run_together([self._job(code) for code in codes], worker, TOGETHER)
                results = [self._passed(code, reply) for code, reply in zip(codes, replies, strict=False)]
        except Exception:  # whatever it is, whoever is asked alone says so
            return {}
        return {result.id: result for result in results if result is not None}

    def _passed(self, code: SubmissionCode, reply: Frame) -> ExerciseResult | None:
        """The result of an exercise, if it is seen at once that all is right."""
        judge, nudged = self._judge(code, reply)
        result = self._costs(code, judge.result(), nudged) if judge.is_all_right() else None
        return result if result is not None and result.status == "passed" else None

    def _run_and_judge(
        self, exercise: CourseExercise, source: Source, worker: Worker, on_judged: OnJudged | None
    ) -> ExerciseResult:
        limit, code = exercise.course.policy.time_limit, SubmissionCode(exercise, source, worker)
        reply = code.run(self._job(code))
        if reply.end == "timeout":
            return same_for_every_answer(
                exercise, Diagnosis("timeout", f"it was still running after {limit:g} seconds")
            )
        if reply.frame is None:
            return same_for_every_answer(exercise, Diagnosis("crash", f"it brought Python down: {reply.detail}"))
        judge, nudged = self._judge(code, reply.frame)
        result = self._costs(code, judge.result(), nudged)
        if on_judged is not None:
            on_judged(judge)
        return result

    def _job(self, code: SubmissionCode) -> Frame:
        return code.job(self._asked(code.exercise), self.watched_trial(code.exercise))

    def _asked(self, exercise: CourseExercise) -> list[Trial]:
        """The trials of a job, in its order."""
        return with_some_repeated(exercise.function, self.trials(exercise))

    def _judge(self, code: SubmissionCode, reply: Frame) -> tuple[Judge, Mapping[str, int]]:
        """The judge of what was observed, and how often the forward pass was run beside each argument."""
        trials = self.trials(code.exercise)
        observed, nudged = without_watched_call(read(reply), len(self._asked(code.exercise)))
        return Judge(code.exercise, code.source, trials, observed), nudged

    def _costs(self, code: SubmissionCode, result: ExerciseResult, nudged: Mapping[str, int]) -> ExerciseResult:
        """The result with what is said of measured gradients, less what needs more room than there is."""
        result = told_of_nudges(code.exercise, result, nudged)
        tight = self.tight_memory_trial(code.exercise) if code.worker.isolation != "none" else None
        codes = {answer.code for answer in result.answers}
        if tight is None or None not in codes or "memory" in codes:  # held for one answer, not the others
            return result
        return without_room(code.exercise, result, tight, code.run_in_tight_memory(tight))


class UnreadableSource(ValueError):
    """A file that is no text."""


def _source(exercise: CourseExercise, content: bytes | Sequence[str], beside: Files) -> Source:
    """What runs: the text of a file, or of a notebook's code cells, and of what they import.

    Raises:
        UnreadableSource: says why.
    """
    if not isinstance(content, bytes):
        return Source.of_cells(content, beside)
    try:
        return Source.of_file(decode(content), exercise.file, beside)
    except (SyntaxError, LookupError, UnicodeError) as error:
        raise UnreadableSource(str(error)) from error
