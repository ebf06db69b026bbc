"""Candidates of the search that record a program of their own: a number that is mistaken, and edits of right answers.

A number that the function takes, such as a rate or a share, may be mistaken for another one: then the forward pass is
recorded with that number.

Edits of right answers are for what is no gradient of a program: Jacobians, values, and what routines return. Gradients
of a forward pass that cannot be recorded are among them. There is no backward pass to be edited, but what an operator
makes of a right gradient at the end can be made of any right array: its transpose, its first row everywhere, its
product with an input. So each right array is taken for the gradient of a program that does nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from grader.program.operation import Array, NoCandidate
from grader.program.program import Program
from grader.program.recording import record
from grader.reference.compare import agrees
from grader.reference.trial import Sample, Trial

from . import factors
from .candidates import edits, edits_in_rows
from .case import Candidate, Case, ProgramSample
from .edits import NoEdit, WithFactor
from .mistake import Fact, Mistake
from .operators import OPERATORS

FIRST_CHANGE = 1.02  # of the number: the first step, from which the next ones follow
MOST_STEPS = 6  # Newton's, of which the first is the last where the gradient is linear in the number
LEAST_GAIN = 0.5  # what share of the error may be left by a step
LEAST_TRIALS, LEAST_ENTRIES = 2, 5
WORK = 20.0  # how many runs of a recorded forward pass take as long as recording it anew
THE_ANSWER = "the answer"  # no name of an input
VALUE_RANK = 0.5  # what is made of a right value is rarer than a wrong forward pass


@dataclass(frozen=True)
class NumberMistaken:
    """A candidate: the gradients are right for another number than the one that the function was given.

    Which number it is in each trial is solved for, and must be explained: a number that was typed in, or a factor of
    the right one that is an expression of sizes. So smoothing that is shared by all classes but one is eps times
    c / (c - 1).

    Args:
        rank: the likelihood rank.
    """

    rank: float = 3.7

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return by target the fact which wrong number a learner used, the same for all answers still unexplained.

        Of several numbers that the function takes, the first that does is named. Empty where no wrong number explains
        all these answers at once, and for answers that are values or have no program.
        """
        names = tuple(name for name in case.names if name in case.unexplained)
        if not case.samples or case.samples[0].is_value or not names:
            return {}
        numbers = [name for name, value in case.samples[0].trial.inputs.items() if type(value) is float and value]
        for number in numbers:
            mistake = _explained_number(case, number, names)
            if mistake is not None:
                return dict.fromkeys(names, mistake)
        return {}

    def changes_right_answer(self, case: Case) -> bool:
        """Return False: a number that would make a right answer wrong explains nothing."""
        return False


def _explained_number(case: Case, number: str, names: Sequence[str]) -> Mistake | None:
    """Return the fact which number a learner used in place of the right one; `None` where no expression gives it.

    Args:
        case: the case.
        number: the name of the right number, an input.
        names: the targets of the answers that the wrong number must explain, in every trial.
    """
    numbers, entries = list[tuple[Trial, float]](), 0
    for sample in case.samples:
        if not any(map(sample.is_wrong, names)):
            continue
        case.work += WORK * (1 + MOST_STEPS * bool(numbers)) * sum(sample.program.forward.costs)
        used = _number_used(case, sample, number, names)
        if used is None:
            return None
        numbers.append((sample.trial, used))
        entries += sum(sample.given[name].size for name in names)
    if len(numbers) < LEAST_TRIALS or entries < LEAST_ENTRIES:
        return None
    trial, first = numbers[0]
    if all(math.isclose(used, first, rel_tol=factors.CLOSE) for _, used in numbers):
        text, size = f"{first:.3g}", f"{trial.inputs[number]:.3g}"
        says = f"{text} is used in place of {number}, which is {size} here"
        return Mistake("hard-coded", facts=(Fact("number-typed-in", {"number": text, "argument": number}, says),))
    for expression, (argument, _) in factors.argument_numbers(trial).items():
        values = [factors.argument_numbers(each).get(expression, (argument, math.nan))[1] for each, _ in numbers]
        pairs = zip(values, numbers, strict=True)
        if argument == number and all(math.isclose(value, own, rel_tol=factors.CLOSE) for value, (_, own) in pairs):
            text = expression[1:-1] if expression[0] == "(" and expression[-1] == ")" else expression
            says = f"{text} is used in place of {number}"
            fact = Fact("number-of-another-form", {"expression": expression, "argument": number}, says)
            return Mistake("wrong-operand", facts=(fact,))
    ratios = [(each, used / each.inputs[number]) for each, used in numbers]
    factor = factors.explained_factor(ratios, averages=False)
    if factor is None:
        return None
    return factor.mistake(part=number)


@np.errstate(all="ignore")
def _number_used(case: Case, sample: ProgramSample, number: str, names: Sequence[str]) -> float | None:
    """Return the value of a number for which the gradients are the learner's in a trial; `None` where there is none.

    Args:
        case: the case, whose right answers must stay right.
        sample: the trial.
        number: the name of the number.
        names: the targets of the learner's answers.
    """
    if not all(map(sample.has_shape, names)):
        return None
    before = float(sample.trial.inputs[number])
    error, value = _error(sample, sample.right, names), before * FIRST_CHANGE
    least = float(np.linalg.norm(error))
    for step in range(MOST_STEPS):
        program = _with_number(sample.program, number, value)
        if program is None:
            return None
        try:
            gradients = program.gradients()
        except NoCandidate:
            return None
        if all(sample.matches_learner(name, gradients[name]) for name in names):
            is_right = all(agrees(gradients[name], sample.right[name]) for name in case.right_names)
            return value if is_right else None
        now = _error(sample, gradients, names)
        size, change = float(np.linalg.norm(now)), now - error
        if step and size > LEAST_GAIN * least:
            return None
        slope = float(change @ change)
        by = -float(now @ change) / slope * (value - before) if slope else float("nan")
        if not np.isfinite(by):
            return None
        before, error, value, least = value, now, value + by, size
    return None


def _error(sample: ProgramSample, gradients: Mapping[str, Array], names: Sequence[str]) -> Array:
    """Return gradients minus the learner's arrays, each divided by the greatest entry of the right gradient.

    Args:
        sample: the trial, with the right gradients and the learner's arrays.
        gradients: by target the gradients to compare.
        names: the targets.

    Returns:
        All entries of all targets; shape: (entries,).
    """
    parts = []
    for name in names:
        scale = float(np.abs(sample.right[name]).max(initial=0.0)) or 1.0
        parts.append((gradients[name] - sample.given[name]).ravel() / scale)
    return np.concatenate(parts)


def _with_number(program: Program, name: str, number: float) -> Program | None:
    """Return the forward pass recorded with another number as an input; `None` where it cannot be recorded with it."""
    try:
        return program.record_with_number(name, number) if program.record_with_number is not None else None
    except (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError):
        return None


@dataclass(frozen=True, eq=False)
class EditOfRightAnswer:
    """A candidate that edits the right array of one answer, taken for a gradient.

    Args:
        candidate: the edit, in `alone`.
        alone: a case of this answer alone, whose program has the right array as its gradient.
        name: the target that the answer is about.
        extra_rank: what is added to the rank of the edit.
    """

    candidate: Candidate
    alone: Case
    name: str
    extra_rank: float

    @property
    def rank(self) -> float:
        """Return the likelihood rank: that of the edit plus `extra_rank`; less is likelier."""
        return self.candidate.rank + self.extra_rank

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return {target: mistake} if the edit gives the learner's array in every trial; else an empty mapping.

        The mistake has no places and no rewriting: these are of the made-up program, not of the forward pass.

        Args:
            case: not read; the edit has a case of its own.
        """
        mistakes = self.candidate.explain(self.alone)
        if THE_ANSWER not in mistakes:
            return {}
        return {self.name: replace(mistakes[THE_ANSWER], at=(), rewrite=None)}

    def changes_right_answer(self, case: Case) -> bool:
        """Return False: the edit of one answer changes no other answer."""
        return False


def edits_of_right_answers(case: Case) -> list[EditOfRightAnswer]:
    """Return candidates that edit the right arrays of answers that are no gradients of a program, as if they were.

    They are for Jacobians and values, and for gradients where no program is recorded. The right array stands as the
    gradient of a target, so that every operator on results works, such as the transpose, a sign, a sum over an axis.

    Args:
        case: the wrong answers; where it has programs, gradients have edits of their own.
    """
    kinds = ("jacobian", "value") if case.samples else ("jacobian", "value", "gradient")
    candidates: list[EditOfRightAnswer] = []
    for name, (answer, samples) in case.answers.items():
        if answer.kind not in kinds or not samples:
            continue
        made_up = [_case_sample(sample) for sample in samples]
        alone = Case(made_up, (THE_ANSWER,))
        made: list[Candidate] = [WithFactor(NoEdit(), (THE_ANSWER,)), *edits_in_rows(alone)]
        for operator in OPERATORS:
            if operator.at.kind == "target":
                made += edits(operator, alone.listing)
        candidates += [
            EditOfRightAnswer(each, alone, name, VALUE_RANK if answer.kind == "value" else 0.0) for each in made
        ]
    return candidates


def _case_sample(sample: Sample) -> ProgramSample:
    """Return a sample of an answer as one of a case, in which the answer is the gradient of a made-up input.

    The input is called `THE_ANSWER`; its right gradient is the answer's right array, and its wrong one the learner's.
    So operators can edit that array like a gradient.

    Args:
        sample: of a Jacobian, a value or a gradient.
    """
    program = _program_with_gradient(sample.expected, sample.trial)
    return ProgramSample(replace(sample.trial, memo={}), program, {THE_ANSWER: sample.given})


def _program_with_gradient(right: np.ndarray, trial: Trial) -> Program:
    """Return a program in which the right gradient of the input `THE_ANSWER` is a given array.

    Args:
        right: the array.
        trial: the trial, whose tensors become further inputs, so that an edit can use them.
    """
    inputs = {name: value for name, value in trial.inputs.items() if isinstance(value, torch.Tensor)}
    given = {**inputs, THE_ANSWER: np.zeros(right.shape)}
    program = record(lambda **values: values[THE_ANSWER][None], given, right[None], upstream_name="")
    return replace(program, sizes=trial.setting.sizes)
