"""Grade one exercise from a file or the cells of a notebook: run it, judge its answers, name the mistakes."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from grader.course.course import Course, CourseExercise
from grader.diagnosis.mistake import Mistake
from grader.errors import InfrastructureError, ProtocolError, SpecError
from grader.reference.references import one_thread
from grader.reference.trials import TrialsOfRun
from grader.results.records import LARGEST_SEED, ExerciseResult
from grader.sandbox.source_text import NO_FILES, Content, Files, Part, Source, UnreadableSource
from grader.sandbox.worker import Worker

from .judge import OnVerdicts, same_for_every_answer
from .quiz_sheets import grade_quiz
from .submission_code import CombinedJob, OnJudged, SubmissionCode
from .unanswered_stubs import with_answer_beside, without_copied_stubs

LONGEST_REASON = 200


class Grader:
    """Grade exercise files of one course with one seed; references are computed once per exercise.

    Args:
        seed: the seed of every trial; drawn at random if not given.
    """

    def __init__(self, seed: int | None = None) -> None:
        """Draw the seed if it is `None`; no trial is made yet."""
        self.seed = secrets.randbelow(LARGEST_SEED + 1) if seed is None else seed
        self._trials: dict[str, TrialsOfRun] = {}
        self._prepared: set[str] = set()

    def prepare(self, exercises: Iterable[CourseExercise], *, isolated: bool) -> bool:
        """Load the trials and references of exercises, to be shared by processes that are forked from this one.

        Args:
            exercises: the exercises.
            isolated: whether the trial in tight memory is needed too.

        Returns:
            Whether any exercise was not prepared before.
        """
        new = [exercise for exercise in exercises if exercise.id not in self._prepared]
        with one_thread():  # no other one may be there when this process forks
            for exercise in new:
                if exercise.is_quiz:
                    _ = exercise.quiz
                else:
                    trials = self.trials(exercise)
                    _ = (trials.trials_in_call_order, trials.watched_trial, isolated and trials.tight_memory_trial)
                    trials.confirm()
                self._prepared.add(exercise.id)
        return bool(new)

    def trials(self, exercise: CourseExercise) -> TrialsOfRun:
        """Return this run's trials of an exercise."""
        return self._trials.setdefault(exercise.id, TrialsOfRun(exercise.function, exercise.id, self.seed))

    def grade(
        self, exercise: CourseExercise, content: Content | None, worker: Worker, on_judged: OnJudged | None = None,
        beside: Files = NO_FILES, on_verdicts: OnVerdicts | None = None,
    ) -> ExerciseResult:  # fmt: skip
        """Return the result of one file, or of a notebook's code cells, where an error in one does not stop the rest.

        Args:
            exercise: the exercise that it answers.
            content: the bytes of the file or the texts of the cells; `None` if there is no such file.
            worker: runs the code; the answers to a quiz are only read.
            on_judged: called with the judge once the result is there.
            beside: the files in the same folder, by name, which the code may import.
            on_verdicts: called with the result before mistakes are searched for, because the search may be cut short.
        """
        if exercise.is_quiz:
            return grade_quiz(exercise, content)
        if content is None:
            message = f"{exercise.file} is not there: get the stub back with: handgrad reset {exercise.id}"
            return same_for_every_answer(exercise, Mistake("todo", message))
        try:
            with one_thread(), np.errstate(all="ignore"):  # whatever numbers an answer holds
                return self._code(exercise, content, beside, worker).result(on_judged, on_verdicts)
        except UnreadableSource as error:
            message = f"{exercise.name} is not UTF-8 text ({str(error)[:LONGEST_REASON]}): save it as UTF-8"
            mistake = Mistake("syntax-error", message, ("Which editor or system wrote this file?",))
        except ProtocolError as error:
            mistake = Mistake("crash", f"the code tampered with the grader's messages: {error}")
        except InfrastructureError as error:
            return same_for_every_answer(exercise, Mistake("error", str(error)), "error")
        return same_for_every_answer(exercise, mistake)

    def _code(self, exercise: CourseExercise, content: Content, beside: Files, worker: Worker) -> SubmissionCode:
        """Return a submission's code with the trials that it is run on.

        Args:
            exercise: the exercise.
            content: the bytes of the file or the texts of the cells; copies of the stub below the answer are left out,
                and cells that answer nothing import the answer from the exercise's file.
            beside: the files in the same folder, by name, which the code may import.
            worker: runs the code.

        Raises:
            UnreadableSource: the file is not text in its encoding.
        """
        content, note = with_answer_beside(exercise, content, beside)
        source = without_copied_stubs(exercise, Source.of(content, exercise.file, beside))
        source = replace(source, notes=(note, *source.notes)) if note else source
        return SubmissionCode(exercise, self.trials(exercise), source, worker)

    def together(self, course: Course, submission: Iterable[Part], worker: Worker) -> CombinedJob:
        """Return one combined job for the exercises of a submission; an empty one if the trials of some cannot be made.

        What the combined job does not settle must be graded alone.

        Args:
            course: the course, which has the exercises.
            submission: the answer to each exercise.
            worker: runs the code.
        """
        codes = []
        for part in submission:
            exercise = course.find(part.exercise)
            with contextlib.suppress(UnreadableSource):
                codes += [] if exercise.is_quiz else [self._code(exercise, part.content, part.beside, worker)]
        with contextlib.suppress(SpecError), one_thread():
            return CombinedJob.of(codes if len(codes) > 1 else [])
        return CombinedJob.of([])
