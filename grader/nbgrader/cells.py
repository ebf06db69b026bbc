"""What the cells of a notebook call: `check` shows the verdict on an exercise, `score` gives the points of an answer.

The cells that were run are run once more, in the order they ran, in a worker process. Nothing is judged by what the
kernel holds, and a worker is kept warm from one check to the next.
"""

from __future__ import annotations

import atexit
import gc
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from grader.course.course import CourseExercise, notebook_course
from grader.errors import InfrastructureError, UsageError
from grader.learner.session import Session
from grader.rendering.picture_data import ExercisePictures
from grader.results.records import ExerciseResult
from grader.sandbox.source_text import importable_files

NO_NOTEBOOK = "check and score work in a notebook, on the cells that were run; for files use: handgrad check"
T = TypeVar("T")
OURS = re.compile(r"\s*(?:(?:check|score)\([^\n]*\)\s*)+")


def check(exercise_id: str, hints: int = 1) -> None:
    """Show which answers of an exercise are right, and which mistake each other one is.

    Args:
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

    exercise, result, seen = _verdicts().verdict_with_pictures(exercise_id, _cells(shell))
    display(ResultDisplay(exercise, result, hints, seen))  # type: ignore[no-untyped-call]


def score(exercise_id: str, answer: str) -> float:
    """The points of one answer, for nbgrader: a plain float between 0 and the points of its cell.

    Raises:
        UsageError: there is no such exercise or answer, or this is no notebook.
        InfrastructureError: the answer could not be graded.
    """
    shell = _shell()
    if shell is None:
        raise UsageError(NO_NOTEBOOK)
    _, result = _verdicts().verdict(exercise_id, _cells(shell))
    found = next((known for known in result.answers if known.name == answer), None)
    if found is None:
        names = ", ".join(known.name for known in result.answers)
        raise UsageError(f"{exercise_id} has no answer {answer!r}; it has {names}.")
    if found.status == "error":
        raise InfrastructureError(found.message)
    return float(min(max(found.score, 0.0), found.max_score))


class KernelSession:
    """What a kernel keeps between checks: the course, a warm worker, and the last verdict on each exercise."""

    def __init__(self) -> None:
        self.session = Session(notebook_course(Path.cwd()))
        self._known: dict[str, tuple[object, ExerciseResult]] = {}

    def verdict(self, exercise_id: str, cells: list[str]) -> tuple[CourseExercise, ExerciseResult]:
        """The verdict on what these cells define: the last one, if no other cell was run since.

        Raises:
            UsageError: there is no such exercise.
        """
        exercise = self._exercise(exercise_id)
        run, folder = _read(cells), Path.cwd()
        before, result = self._known.get(exercise.id, (None, None))
        if result is None or result.status == "error" or before != run:
            result = self._run_undisturbed(exercise, lambda: self.session.check_cells(exercise, cells, folder))
            self._known[exercise.id] = run, result
        return exercise, result

    def verdict_with_pictures(
        self, exercise_id: str, cells: list[str]
    ) -> tuple[CourseExercise, ExerciseResult, ExercisePictures]:
        """The verdict on what these cells define, given anew, with pictures of what is wrong.

        Raises:
            UsageError: there is no such exercise.
        """
        exercise = self._exercise(exercise_id)
        folder = Path.cwd()
        result, seen = self._run_undisturbed(
            exercise, lambda: self.session.check_cells_with_pictures(exercise, cells, folder)
        )
        self._known[exercise.id] = _read(cells), result
        return exercise, result, seen

    def _exercise(self, named: object) -> CourseExercise:
        if not isinstance(named, str):  # check(lin_grad): the quotes were forgotten
            name = getattr(named, "__name__", "")
            example = name if name in {exercise.id for exercise in self.session.course.exercises} else "lin_grad"
            raise UsageError(f'Write the name of the exercise in quotes, such as "{example}".')
        return self.session.course.find(named)

    def _run_undisturbed(self, exercise: CourseExercise, ask: Callable[[], T]) -> T:
        """Call `ask`, undisturbed by what the notebook has set for its own torch and numpy."""
        if exercise.is_quiz:
            return ask()
        self.session.warm_up()
        try:
            with _undisturbed():
                if "grader" not in vars(self.session):
                    _ = self.session.grader
                    gc.unfreeze()  # what the learner leaves behind must still be collected
                return ask()
        except KeyboardInterrupt:
            self.session.close()  # the worker may be in the middle of a job
            raise


@cache
def _verdicts() -> KernelSession:
    verdicts = KernelSession()
    atexit.register(verdicts.session.close)
    return verdicts


def _shell() -> Any:
    """The notebook's IPython shell, `None` anywhere else."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def _read(cells: Sequence[str]) -> object:
    """All that a verdict depends on: the cells that were run, and the files that they may import."""
    return [cell for cell in cells if cell], importable_files(Path.cwd())


def _cells(shell: Any) -> list[str]:
    """What was run so far, as it was typed; a cell that only asks for a verdict is empty."""
    return ["" if OURS.fullmatch(cell) else str(cell) for cell in shell.history_manager.input_hist_raw[1:]]


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Grade as in a process of one's own, whatever the notebook has set for its own torch and numpy."""
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
