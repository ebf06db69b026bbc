"""Grade one exercise from a file or the cells of a notebook: run the code on trials, and have the reply judged."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from grader.child import protocol
from grader.child.clock import time_of_job
from grader.course.course import Course, CourseExercise
from grader.course.sampling import Array, Dtype, Function
from grader.diagnosis.mistake import Mistake
from grader.errors import InfrastructureError, ProtocolError, SpecError
from grader.reference.references import one_thread
from grader.reference.trial import Trial, requested_gradients
from grader.reference.trials import FREE_MEMORY, TrialsOfRun
from grader.results.records import LARGEST_SEED, ExerciseResult
from grader.sandbox.checked_reply import read
from grader.sandbox.source_text import NO_FILES, Content, Files, Part, Source, UnreadableSource
from grader.sandbox.worker import Unanswered, Worker

from . import cost_checks
from .judge import CELL_SHARE, Judge, OnVerdicts, same_for_every_answer
from .quiz_sheets import grade_quiz
from .unanswered_stubs import with_answer_beside, without_copied_stubs

LONGEST_REASON = 200
TOGETHER = 1.0  # seconds that exercises have which share a child; nothing fails for it
OnJudged = Callable[[Judge], None]


class Grader:
    """Grade exercise files of one course with one seed; references are computed once per exercise.

    Args:
        seed: the seed of every trial; drawn at random if not given.
    """

    def __init__(self, seed: int | None = None) -> None:
        """Begin with no trial made, and with a random seed if `seed` is `None`."""
        self.seed = secrets.randbelow(LARGEST_SEED + 1) if seed is None else seed
        self._trials: dict[str, TrialsOfRun] = {}
        self._prepared: set[str] = set()

    def prepare(self, exercises: Iterable[CourseExercise], *, isolated: bool) -> bool:
        """Make the trials and references of exercises, and import the operators, for processes forked from this one.

        Args:
            exercises: the exercises.
            isolated: whether jobs run isolated; then the trial with too little memory for a forbidden array is made,
                too.

        Returns:
            Whether anything was made for an exercise that an earlier call had not prepared.

        Raises:
            SpecError: the trials of an exercise cannot be made, or its right answers disagree with finite differences.
        """
        import grader.diagnosis.diagnose  # noqa: F401  # the operators, which each process would import for itself

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
        """Return this run's trials of an exercise, always the same object; no trial is made yet."""
        return self._trials.setdefault(exercise.id, TrialsOfRun(exercise.function, exercise.id, self.seed))

    def grade(
        self, exercise: CourseExercise, content: Content | None, worker: Worker, on_judged: OnJudged | None = None,
        beside: Files = NO_FILES, on_verdicts: OnVerdicts | None = None,
    ) -> ExerciseResult:  # fmt: skip
        """Return the result of a file, or of a notebook's code cells; an error in one cell does not stop the others.

        Args:
            exercise: the exercise that the code answers.
            content: the bytes of the file or the texts of the cells; `None` if there is no such file.
            worker: runs the code; the answers to a quiz are only read.
            on_judged: called with the judge once the result is known; not for a quiz, or without a reply to judge.
            beside: the files in the same folder, by name, which the code may import.
            on_verdicts: called with the result before mistakes are searched for, because the search may be cut short.

        Raises:
            SpecError: the trials cannot be made, or the right answers disagree with finite differences.
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
        """Return one combined job for the exercises of a submission; an empty one if the trials of any cannot be made.

        An exercise for which the combined job gives no result must be graded alone.

        Args:
            course: the course, which has the exercises.
            submission: the answer to each exercise.
            worker: runs the code.
        """
        codes = []
        for part in submission:
            exercise = course.find(part.exercise)
            with suppress(UnreadableSource):
                codes += [] if exercise.is_quiz else [self._code(exercise, part.content, part.beside, worker)]
        with suppress(SpecError), one_thread():
            return CombinedJob.of(codes if len(codes) > 1 else [])
        return CombinedJob.of([])


@dataclass(frozen=True)
class SubmissionCode:
    """Hold the code that answers an exercise, the trials of this run, and the worker that runs it.

    Args:
        exercise: the exercise.
        trials: the trials that the code is run on.
        source: the learner's source.
        worker: runs the code.
    """

    exercise: CourseExercise
    trials: TrialsOfRun
    source: Source
    worker: Worker

    def result(self, on_judged: OnJudged | None = None, on_verdicts: OnVerdicts | None = None) -> ExerciseResult:
        """Run the code on its trials, and return the judged result, with the mistakes behind wrong numbers.

        The last trial, in which finite differences are watched for, is not judged.

        Args:
            on_judged: called with the judge once the result is known.
            on_verdicts: called with the result before mistakes are searched for; not called if no answer is wrong.

        Raises:
            ProtocolError: the reply is malformed.
            InfrastructureError: the worker has no process to run the code, or lost it.
            SpecError: the trials cannot be made, or the right answers disagree with finite differences.
        """
        arrays: list[np.ndarray] = []
        reply = self._run(protocol.Frame(self.header(arrays), arrays))
        if isinstance(reply, Unanswered):
            limit = f"the function was still running after {self.exercise.course.policy.time_limit:g} seconds"
            why = f"{limit}, in a call that cannot be interrupted, such as a sum over a huge range"
            says = why if reply.end == "timeout" else f"the call crashed Python: {reply.detail}"
            return same_for_every_answer(self.exercise, Mistake(reply.end, f"{says}. What it stored before is lost"))
        judge = self.judge_of(reply)
        failures, flags = self._failures(judge)
        if any(mistake is not None and mistake.code != "todo" for mistake in failures.values()):
            self.trials.confirm()
        result = judge.result(failures, flags, on_verdicts)
        if on_judged is not None:
            on_judged(judge)
        return result

    def header(self, arrays: list[np.ndarray]) -> dict[str, Any]:
        """Return the header of the job of these trials, as JSON values, with its calls and the watched call.

        Args:
            arrays: the list to which the arrays of the arguments are appended.
        """
        calls = [self._call(trial, arrays) for trial in self.trials.trials_in_call_order]
        header = self._header_of(calls, self.exercise.course.policy.memory_limit)
        if self.trials.watched_trial is not None:
            header["watched"] = {**self._call(self.trials.watched_trial, arrays), "meter": False, "nudges": True}
        return header

    def judge_of(self, reply: protocol.Frame) -> Judge:
        """Return the judge of a reply.

        Raises:
            ProtocolError: the reply is malformed.
        """
        return Judge(self.exercise, self.source, self.trials.judged_trials, read(reply))

    def settled_result(self, reply: protocol.Frame) -> ExerciseResult | None:
        """Return the result by a reply if every answer is right or not begun.

        `None` if the code must be run in a job of its own.

        Raises:
            ProtocolError: the reply is malformed.
        """
        judge = self.judge_of(reply)
        result = judge.result(*self._failures(judge)) if judge.has_nothing_to_explain() else None
        return result if result is not None and result.status in ("passed", "todo") else None

    def _failures(self, judge: Judge) -> tuple[dict[str, Mistake | None], list[str]]:
        """Return, by name, what is wrong with each answer, `None` if it is right, and flags for a person to look at.

        Where an answer is right, the code is called once more in too little memory for the forbidden array, and an
        answer that needs the array fails. That call is left out if the exercise forbids no array, an answer has failed
        for its memory already, or the worker is not isolated.

        Args:
            judge: the judge of the usual trials.
        """
        failures = judge.failures
        codes = {mistake.code if mistake else None for mistake in failures.values()}
        if self.worker.isolation == "none" or None not in codes or "memory" in codes:  # held for one answer, not others
            return failures, []
        trial, arrays = self.trials.tight_memory_trial, list[np.ndarray]()
        if trial is None:
            return failures, []
        call = {**self._call(trial, arrays), "meter": False, "after": False}
        reply = self._run(protocol.Frame({**self._header_of([call], FREE_MEMORY), "tight_memory": True}, arrays))
        right = [answer for answer in self.exercise.function.answers if failures[answer.name] is None]
        failing = cost_checks.check_tight_memory(self.exercise, right, trial, reply)
        if failing is None:
            return failures, ["its memory use could not be checked: it took too long"]
        return {**failures, **failing}, []

    def _run(self, job: protocol.Frame) -> protocol.Frame | Unanswered:
        """Run a job in the worker, and return the reply, or how the job ended without one."""
        return self.worker.run(job, time_of_job(job.header["time_limit"]))

    def _call(self, trial: Trial, arrays: list[np.ndarray]) -> dict[str, Any]:
        """Return one call of a job, as JSON values.

        Args:
            trial: the trial whose arguments the call has.
            arrays: the list to which the arrays of the arguments are appended.

        Returns:
            "arguments": name and value of each; "meter": whether to count work and memory; "huge": the bytes from which
            on a tensor is reported, or `None`.
        """
        return {
            "arguments": [[name, _encode_argument(value, arrays)] for name, value in trial.arguments.items()],
            "meter": trial.metered or requested_gradients(trial.arguments) is not None,
            "huge": cost_checks.forbidden_bytes(self.exercise.function, trial) if trial.metered else None,
        }

    def _header_of(self, calls: list[dict[str, Any]], memory_limit: int) -> dict[str, Any]:
        """Return the header of a job with these calls, as JSON values: the source, the function, limits and calls.

        Args:
            calls: the calls, as `_call` returns them.
            memory_limit: the memory that the code may use, in MiB, not counting what torch itself uses.
        """
        time_limit = self.exercise.course.policy.time_limit
        return {
            "cells": self.source.cells,
            "modules": self.source.modules,
            "cell_limit": None if self.source.file else time_limit * CELL_SHARE,
            "filename": self.source.file or self.exercise.file.removesuffix(".py") + " in cells.py",  # none to import
            "function": self.exercise.id,
            "time_limit": time_limit,
            "memory_limit": memory_limit,
            "calls": calls,
        }


@dataclass(frozen=True)
class CombinedJob:
    """Hold the job that runs the code for several exercises in one child, which any thread may start.

    Args:
        codes: the code for each exercise.
        job: the job, with a part for each code.
    """

    codes: Sequence[SubmissionCode]
    job: protocol.Frame

    @classmethod
    def of(cls, codes: Sequence[SubmissionCode]) -> Self:
        """Return the combined job of these codes, with the trials of each."""
        arrays: list[np.ndarray] = []
        headers = [code.header(arrays) for code in codes]
        memory_limit = max((header["memory_limit"] for header in headers), default=0)
        together = {"time_limit": TOGETHER, "memory_limit": memory_limit, "together": headers}
        return cls(codes, protocol.Frame(together, arrays))

    def run(self) -> protocol.Frame | None:
        """Run the job; return the reply, or `None` if the child did not finish in time or the job has no code."""
        reply = None
        with suppress(InfrastructureError):
            reply = self.codes[0].worker.run(self.job, TOGETHER) if self.codes else None
        return None if isinstance(reply, Unanswered) else reply

    def results_of(self, reply: protocol.Frame | None) -> dict[str, ExerciseResult]:
        """Return the results of the exercises that passed or were not begun, by id; all others must be run alone.

        Args:
            reply: the reply of the child; `None` if it did not finish, which gives no results.
        """
        replies = None if reply is None else reply.header.get("together")
        if reply is None or not isinstance(replies, list) or len(replies) != len(self.codes):
            return {}
        results = {}
        for code, header in zip(self.codes, replies, strict=True):
            with suppress(Exception), one_thread(), np.errstate(all="ignore"):
                if result := code.settled_result(protocol.Frame(header, reply.arrays)):
                    results[code.exercise.id] = result
        return results


def _encode_argument(value: Any, arrays: list[np.ndarray]) -> dict[str, Any]:
    """Return an argument as JSON values, with the index in `arrays` in place of each array, which is appended there.

    Returns:
        `{"tensor": index, "g": index or None}`, `{"function": source}`, `{"dtype": name}`, or `{"literal": repr}`.
    """
    if isinstance(value, Array):
        first = len(arrays)
        arrays += [value.values] if value.g is None else [value.values, value.g]
        return {"tensor": first, "g": None if value.g is None else first + 1}
    if isinstance(value, Function):
        return {"function": value.source}
    if isinstance(value, Dtype):
        return {"dtype": value.name}
    return {"literal": repr(set(value) if isinstance(value, frozenset) else value)}
