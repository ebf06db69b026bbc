"""The functions that a notebook's cells call: `check` shows an exercise's result, `score` returns an answer's points.

The cells that were run are run again, in the same order, in a worker process. Nothing is judged by the kernel's own
objects. The worker stays warm between checks.
"""

from __future__ import annotations

import atexit
import gc
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Any, TypeVar

from grader.course.course import CourseExercise, notebook_course
from grader.errors import InfrastructureError, UsageError
from grader.learner.session import Session
from grader.rendering.picture_data import ExercisePictures
from grader.results.records import ExerciseResult
from grader.safe_text import plain
from grader.sandbox.source_text import importable_files

NO_NOTEBOOK = "check and score work in a notebook, on the cells that were run; for files use: handgrad check"
T = TypeVar("T")
VALIDATING, WIDTH = "NBGRADER_VALIDATING", 70  # set by Validate, which shows this text in place of "Partial credit"
VERDICT_CALLS = re.compile(r"\s*(?:(?:check|score)\([^\n]*\)\s*)+")


def check(exercise_id: str, hints: int = 1) -> None:
    """Show which answers of an exercise are right, and the mistake in each other one.

    Args:
        exercise_id: the exercise, such as `"lin_grad"`.
        hints: how many hints to show.

    Raises:
        UsageError: there is no such exercise.
    """
    shell = _shell()
    if shell is None:
        print(NO_NOTEBOOK)
        return
    from IPython.display import display

    from grader.rendering.render_html import ResultDisplay

    cells = _cells(shell)
    exercise, result, seen = kernel_session().check_with_pictures(exercise_id, cells)
    display(ResultDisplay(exercise, result, hints, seen, code=cells))  # type: ignore[no-untyped-call]


def score(exercise_id: str, answer: str) -> float:
    """Return the points of an answer for nbgrader: a plain float between 0 and the points of its cell.

    While nbgrader validates a notebook, the mistake in an answer without points is printed on stderr.

    Args:
        exercise_id: the exercise, such as `"lin_grad"`.
        answer: the answer's name, such as `"w.g"`.

    Raises:
        UsageError: there is no such exercise or answer, or this is no notebook.
        InfrastructureError: the answer could not be graded.
    """
    shell = _shell()
    if shell is None:
        raise UsageError(NO_NOTEBOOK)
    _, result = kernel_session().check(exercise_id, _cells(shell))
    wanted = next((known for known in result.answers if known.name == answer), None)
    if wanted is None:
        names = ", ".join(known.name for known in result.answers)
        raise UsageError(f"{exercise_id} has no answer {answer!r}; it has {names}.")
    if wanted.status == "error":
        raise InfrastructureError(wanted.message)
    if not wanted.score and os.environ.get(VALIDATING):
        state = "not attempted yet" if wanted.status == "todo" else f"{wanted.message} [{wanted.code}]"
        print("\n".join(wrap(plain(f"{answer}: {state}"), WIDTH, break_on_hyphens=False)), file=sys.stderr)
    return float(min(max(wanted.score, 0.0), wanted.max_score))


class KernelSession:
    """The state of a kernel between checks: the course, a warm worker, and the last result of each exercise."""

    def __init__(self) -> None:
        """Open the course of the notebook in the current folder; no worker is started yet.

        Raises:
            CourseError: the course's `course.yaml` cannot be used.
        """
        self.session = Session(notebook_course(Path.cwd()))
        self._last: dict[str, tuple[object, ExerciseResult]] = {}

    def check(self, exercise_id: str, cells: list[str]) -> tuple[CourseExercise, ExerciseResult]:
        """Return an exercise and the result of what these cells define.

        Args:
            exercise_id: the exercise.
            cells: the source of each cell, in the order they ran; empty for a cell that only asks for a verdict.

        Returns:
            The exercise, and the last result again if neither the cells nor the files beside the notebook have changed
            since, unless that was an error.

        Raises:
            UsageError: there is no such exercise.
        """
        exercise = self._exercise(exercise_id)
        inputs, folder = _inputs_of_result(cells), Path.cwd()
        previous, result = self._last.get(exercise.id, (None, None))
        if result is None or result.status == "error" or previous != inputs:
            result = self._run_undisturbed(exercise, lambda: self.session.check_cells(exercise, cells, folder))
            self._last[exercise.id] = inputs, result
        return exercise, result

    def check_with_pictures(
        self, exercise_id: str, cells: list[str]
    ) -> tuple[CourseExercise, ExerciseResult, ExercisePictures]:
        """Return an exercise, a new result of what these cells define, and pictures of its wrong answers.

        Args:
            exercise_id: the exercise.
            cells: the source of the cells in the order they ran; empty for cells that only ask for a verdict.

        Raises:
            UsageError: there is no such exercise.
        """
        exercise = self._exercise(exercise_id)
        folder = Path.cwd()
        result, seen = self._run_undisturbed(
            exercise, lambda: self.session.check_cells_with_pictures(exercise, cells, folder)
        )
        self._last[exercise.id] = _inputs_of_result(cells), result
        return exercise, result, seen

    def _exercise(self, named: object) -> CourseExercise:
        """Return the exercise of this name.

        Raises:
            UsageError: there is no such exercise, or the argument is a function because its quotes were forgotten.
        """
        if not isinstance(named, str):  # check(lin_grad): the quotes were forgotten
            name = getattr(named, "__name__", "")
            example = name if name in {exercise.id for exercise in self.session.course.exercises} else "lin_grad"
            raise UsageError(f'Write the name of the exercise in quotes, such as "{example}".')
        return self.session.course.find(named)

    def _run_undisturbed(self, exercise: CourseExercise, ask: Callable[[], T]) -> T:
        """Return what `ask` returns, called with the default settings of torch and numpy in place of the notebook's."""
        if exercise.is_quiz:
            return ask()
        self.session.warm_up()
        try:
            with _own_settings():
                if "grader" not in vars(self.session):
                    _ = self.session.grader
                    gc.unfreeze()  # what the learner leaves behind must still be collected
                return ask()
        except KeyboardInterrupt:
            self.session.close()  # the worker may be in the middle of a job
            raise


@cache
def kernel_session() -> KernelSession:
    """Return the state of this kernel; its worker ends with the process."""
    kernel = KernelSession()
    atexit.register(kernel.session.close)
    return kernel


def _shell() -> Any:
    """Return the notebook's IPython shell; `None` anywhere else."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def _inputs_of_result(cells: Sequence[str]) -> object:
    """Return a value that identifies these cells and the files that they may import, on which a result depends."""
    return [cell for cell in cells if cell], importable_files(Path.cwd())


def _cells(shell: Any) -> list[str]:
    """Return the source of all cells so far, in order, with an empty text for a cell that only asks for a verdict."""
    return ["" if VERDICT_CALLS.fullmatch(cell) else str(cell) for cell in shell.history_manager.input_hist_raw[1:]]


@contextmanager
def _own_settings() -> Iterator[None]:
    """Use the default settings of torch and numpy within a `with` block, and restore the notebook's after it.

    Warnings within the block are not shown.
    """
    import numpy as np
    import torch

    dtype = torch.get_default_dtype()
    with warnings.catch_warnings(), np.errstate(all="ignore"), torch.device("cpu"), torch.enable_grad():
        warnings.simplefilter("ignore")
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(dtype)
