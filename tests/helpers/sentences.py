"""What is wrong with the sentences on a submission: a learner must know every name in them, and they count nothing."""

from __future__ import annotations

import builtins
import inspect
import keyword
import re
from functools import cache
from pathlib import Path

from grader.authoring.submission_pages import PageSubmission
from grader.course.course import CourseExercise
from grader.course.exercise import Exercise
from grader.results.records import ExerciseResult

NAME = re.compile(r"[A-Za-z_]\w*")
CODE = re.compile(r"`([^`]*)`")
OF_PYTHON = frozenset((*keyword.kwlist, *dir(builtins), "torch", "dtype", "inf", "nan"))
NUMBER = re.compile(r"(?<![A-Za-z_])-?\d+(\.\d+)?(x\d+)*")
ORDINAL = re.compile(
    r"\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d+(?:st|nd|rd|th))"
    r" (?:`|of several|operation|node|(?:sum|mean|product|division|addition|subtraction|quotient)\b)"
)


def faults_of_sentences(submission: PageSubmission, exercise: CourseExercise, result: ExerciseResult) -> list[str]:
    """Return the sentences with an ordinal for an operation, or with a name that the learner has not seen in code.

    A learner has seen the stub, the lesson, the forward pass as it is declared, and the submission.
    """
    seen = OF_PYTHON | names_seen(exercise) | frozenset(NAME.findall(submission.source))
    messages = [answer.message for answer in result.answers if answer.message and answer.code not in (None, "error")]
    faults = [f"an ordinal: {message}" for message in messages if ORDINAL.search(message)]
    for message in messages:
        unseen = {name for code in CODE.findall(message) for name in NAME.findall(code)} - seen
        faults += [f"{', '.join(sorted(unseen))} not seen: {message}"] if unseen else []
    return faults


def without_numbers(message: str) -> str:
    """Return a sentence with `#` in place of every number, and of a shape in torch's `3x4`: both depend on the seed."""
    return NUMBER.sub("#", message)


@cache
def names_seen(exercise: CourseExercise) -> frozenset[str]:
    """Return the names in the stub of an exercise, in the lesson of its unit, and in its declared forward pass."""
    folder = Path(exercise.course.root) / "exercises" / exercise.unit
    texts = [(folder / name).read_text(encoding="utf-8") for name in (f"{exercise.id}.py", "README.md")]
    declared = exercise.function
    if isinstance(declared, Exercise) and inspect.isfunction(declared.forward):
        texts.append(without_own_names(inspect.getsource(declared.forward)))
    return frozenset(name for text in texts for name in NAME.findall(text))


def without_own_names(source: str) -> str:
    """Return the source of a forward pass without the names that begin with `_`: functions of the spec alone."""
    return re.sub(r"\b_\w+", "", source)
