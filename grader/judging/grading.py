"""Grades one exercise, from a file or the cells of a notebook: runs it, checks its answers, names the mistake."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterable

import numpy as np

from grader.course import CourseExercise
from grader.diagnosis.mistake import Diagnosis
from grader.errors import InfrastructureError, ProtocolError, SpecError
from grader.reference.single_thread import one_thread
from grader.reference.trials_of_run import TrialsOfRun
from grader.results import LARGEST_SEED, ExerciseResult
from grader.sandbox.worker import Worker
from grader.source.text import NO_FILES, Content, Files, Source, UnreadableSource

from .judge import Judge
from .submission_code import SubmissionCode, Together
from .unanswered_stubs import without_copied_stubs
from .verdicts import not_handed_in, same_for_every_answer, without_mistakes

LONGEST_REASON = 200
OnJudged = Callable[[Judge], None]
OnVerdicts = Callable[[ExerciseResult], None]
Part = tuple[CourseExercise, Content, Files]


class Grader:
    """Grades exercise files of one course with one seed; references are computed once per exercise.

    Args:
        seed: where every trial comes from; drawn afresh if not given.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = secrets.randbelow(LARGEST_SEED + 1) if seed is None else seed
        self._trials: dict[str, TrialsOfRun] = {}
        self._prepared: set[str] = set()

    def prepare(self, exercises: Iterable[CourseExercise], *, isolated: bool) -> bool:
        """Load what these exercises take, so that processes forked from this one share it; was any new?"""
        new = [exercise for exercise in exercises if exercise.id not in self._prepared]
        with one_thread():  # no other one may be there when this process forks
            for exercise in new:
                if exercise.is_quiz:
                    _ = exercise.quiz
                else:
                    trials = self.trials(exercise)
                    _ = (trials.asked, trials.watched, isolated and trials.tight)
                    trials.confirm()
                self._prepared.add(exercise.id)
        return bool(new)

    def trials(self, exercise: CourseExercise) -> TrialsOfRun:
        """This run's trials of an exercise."""
        return self._trials.setdefault(exercise.id, TrialsOfRun(exercise.function, exercise.id, self.seed))

    def grade(
        self, exercise: CourseExercise, content: Content | None, worker: Worker, on_judged: OnJudged | None = None,
        beside: Files = NO_FILES, on_verdicts: OnVerdicts | None = None,
    ) -> ExerciseResult:  # fmt: skip
        """The verdict on one file, or on the code cells of a notebook: an error in one cell does not stop the rest.

        Args:
            content: `None` where there is no such file.
            worker: runs it; the answers to a quiz are only read.
            on_judged: called with the judge, once its verdict is there.
            beside: the files in the same folder, which it may import.
            on_verdicts: called with the verdicts and plain facts before any mistake is looked for; whatever becomes
                of the search, they stand.
        """
        if content is None:
            return not_handed_in(exercise)
        if exercise.is_quiz:
            return exercise.quiz_result(content)
        try:
            with one_thread(), np.errstate(all="ignore"):  # whatever numbers an answer holds
                return self._run_and_judge(self._code(exercise, content, beside, worker), on_judged, on_verdicts)
        except UnreadableSource as error:
            says = f"{exercise.name} is not UTF-8 text ({str(error)[:LONGEST_REASON]}): save it as UTF-8"
            found = Diagnosis("syntax-error", says, ("Which editor or system wrote this file?",))
        except ProtocolError as error:
            found = Diagnosis("crash", f"it tampered with the grader's messages: {error}")
        except InfrastructureError as error:
            return same_for_every_answer(exercise, Diagnosis("error", str(error)), "error")
        return same_for_every_answer(exercise, found)

    def _code(self, exercise: CourseExercise, content: Content, beside: Files, worker: Worker) -> SubmissionCode:
        source = without_copied_stubs(exercise, Source.of(content, exercise.file, beside))
        return SubmissionCode(exercise, self.trials(exercise), source, worker)

    def _run_and_judge(
        self, code: SubmissionCode, on_judged: OnJudged | None, on_verdicts: OnVerdicts | None
    ) -> ExerciseResult:
        exercise, reply = code.exercise, code.run()
        if reply.end == "timeout":
            limit = exercise.course.policy.time_limit
            return same_for_every_answer(
                exercise, Diagnosis("timeout", f"it was still running after {limit:g} seconds")
            )
        if reply.frame is None:
            return same_for_every_answer(exercise, Diagnosis("crash", f"it brought Python down: {reply.detail}"))
        judge = code.judge(reply.frame)
        result = code.without_room(judge.verdicts())
        if result.status == "failed":
            code.trials.confirm()
        if any(answer.mistake is not None for answer in result.answers):
            if on_verdicts is not None:
                on_verdicts(result)
            result = _with_mistakes(judge, result)
        if on_judged is not None:
            on_judged(judge)
        return result

    def together(self, submission: Iterable[Part], worker: Worker) -> Together:
        """The exercises of a submission that can share one child; none where some trials cannot be made.

        Whatever is not settled then is to be asked alone.
        """
        codes = []
        for exercise, content, beside in submission:
            with contextlib.suppress(UnreadableSource):
                codes += [] if exercise.is_quiz else [self._code(exercise, content, beside, worker)]
        with contextlib.suppress(SpecError), one_thread():
            return Together.of(codes if len(codes) > 1 else [])
        return Together.of([])


def _with_mistakes(judge: Judge, verdicts: ExerciseResult) -> ExerciseResult:
    """Name the mistakes; where the search for them fails, the verdicts stand with their plain facts and a note."""
    try:
        return judge.with_mistakes(verdicts)
    except MemoryError:
        return without_mistakes(verdicts, "that takes more memory than there is for one exercise")
    except Exception as error:  # a bug of ours costs nobody a point
        return without_mistakes(verdicts, f"{type(error).__name__}: {error}; please report it")
