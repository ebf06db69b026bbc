"""Finds which mistake a wrong answer is: the exercise's own, then those of its forward pass, then rarer ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from grader.course import CourseExercise
from grader.diagnosis import graph_faults, prior, quotients, rarer, relations, rows, strays
from grader.diagnosis.diagnose import Diagnosis, declared, diagnose, matching, ranked
from grader.exercise import Answer, Declaration, Exercise, Routine
from grader.reference.trial import Candidate, Trial

UPSTREAM = "out.g"


def find_mistake(
    exercise: CourseExercise, answer: Answer, first: Trial, pairs: Sequence[tuple[Trial, np.ndarray]]
) -> Diagnosis:
    """Which mistake a wrong answer is.

    Args:
        first: the first trial of the run.
        pairs: each trial with the learner's array in it.
    """
    declaration = exercise.function
    doubles = [(trial, array.real.astype("float64")) for trial, array in pairs]
    if own := matching(answer, doubles, declared(declaration.misconceptions, answer)):
        return own
    single = all(array.ndim == 0 for _, array in pairs)
    if isinstance(declaration, Routine) and declaration.accepts is not None and single:
        return Diagnosis("imprecise", "with this answer the error is far larger than it has to be")
    averages = isinstance(declaration, Exercise) and graph_faults.averages(declaration, first)
    found = candidates(exercise, answer, first)
    named = diagnose(answer, doubles, found, averages=averages, rarer=_rarer_candidates(declaration, answer, first))
    if named.code == "unknown" and isinstance(declaration, Exercise):
        counted = rows.counted(declaration, answer, doubles)
        named = named if counted is None else Diagnosis(*counted)
    return _with_upstream_name(declaration, named)


def _with_upstream_name(declaration: Declaration, diagnosis: Diagnosis) -> Diagnosis:
    """The same with the upstream gradient called what the learner's function calls it."""
    if not isinstance(declaration, Exercise) or declaration.upstream_name == UPSTREAM:
        return diagnosis
    return replace(diagnosis, says=diagnosis.says.replace(UPSTREAM, declaration.upstream_name))


def _rarer_candidates(declaration: Declaration, answer: Answer, trial: Trial) -> Iterator[Candidate]:
    """Rarer mistakes; the first trial remembers them, once they are asked for."""
    if isinstance(declaration, Exercise):
        name = declaration.output_name
        yield from trial.remember(("strays", answer.name), lambda: list(strays.candidates(answer, trial, name)))
        yield from trial.remember(("rarer", answer.name), lambda: list(rarer.candidates(declaration, answer, trial)))
        yield from trial.remember(("rows", answer.name), lambda: list(rows.candidates(declaration, answer, trial)))


def candidates(exercise: CourseExercise, answer: Answer, trial: Trial) -> list[Candidate]:
    """Every mistake about one answer that can be computed without the exercise's help, the most specific first.

    Args:
        trial: the first trial; it remembers the list.
    """
    declaration = exercise.function

    def derived() -> list[Candidate]:
        if isinstance(declaration, Routine):
            return ranked([*relations.candidates(answer, trial), *quotients.candidates(trial)])
        related = (*prior.candidates(answer, trial), *relations.candidates(answer, trial))
        return ranked([*related, *graph_faults.candidates(declaration, answer, trial)])

    found: list[Candidate] = trial.remember(("candidates", answer.name), derived)
    return found
