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
BARE = r"(?<!\bthe )(?<!\bits )(?<![\w.]){name}\b"  # a word that is a name: "in the gradient of grouped"
ORDINAL = re.compile(
    r"\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d+(?:st|nd|rd|th))"
    r" (?:`|of several|operation|node|(?:sum|mean|product|division|addition|subtraction|quotient)\b)"
)


def faults_of_sentences(submission: PageSubmission, exercise: CourseExercise, result: ExerciseResult) -> list[str]:
    """Return the sentences with an ordinal for an operation, or with a name that the learner has not seen.

    A learner has seen the stub, the lesson and the submission, but not the declaration of the exercise.
    """
    messages = [answer.message for answer in result.answers if answer.message and answer.code not in (None, "error")]
    faults = [f"an ordinal: {message}" for message in messages if ORDINAL.search(message)]
    for message in messages:
        unseen = unseen_names(message, exercise, submission.source)
        faults += [f"{', '.join(sorted(unseen))} not seen: {message}"] if unseen else []
    return faults


def unseen_names(message: str, exercise: CourseExercise, source: str) -> frozenset[str]:
    """Return the names in a message that are not in the stub of the exercise, in its lesson or in the submission.

    Every name in backticks counts; of other words those that the declaration assigns to, such as `grouped`.
    """
    quoted = {name for code in CODE.findall(message) for name in NAME.findall(code)}
    bare = {name for name in names_assigned(exercise) if re.search(BARE.format(name=name), CODE.sub("", message))}
    return frozenset(quoted | bare) - OF_PYTHON - names_seen(exercise) - frozenset(NAME.findall(source))


def without_numbers(message: str) -> str:
    """Return a sentence with `#` in place of every number, and of a shape in torch's `3x4`: both depend on the seed."""
    return NUMBER.sub("#", message)


@cache
def names_seen(exercise: CourseExercise) -> frozenset[str]:
    """Return the names in the stub of an exercise and in the lesson of its unit."""
    folder = Path(exercise.course.root) / "exercises" / exercise.unit
    texts = [(folder / name).read_text(encoding="utf-8") for name in (f"{exercise.id}.py", "README.md")]
    return frozenset(name for text in texts for name in NAME.findall(text))


@cache
def names_assigned(exercise: CourseExercise) -> frozenset[str]:
    """Return the names that the declared forward pass, or a function of the spec that it calls, assigns to."""
    declared = exercise.function
    functions = [declared.forward] if isinstance(declared, Exercise) and inspect.isfunction(declared.forward) else []
    names = set[str]()
    for function in functions:  # which grows
        code = function.__code__
        names |= {*code.co_varnames[code.co_argcount :]}
        called = [function.__globals__.get(name) for name in code.co_names]
        functions += [each for each in called if inspect.isfunction(each) and each not in functions]
    return frozenset(names)
