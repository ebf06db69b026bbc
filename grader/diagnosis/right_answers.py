"""Edits of right answers that are no gradients of a program: Jacobians, values, what routines return.

So are the gradients of a forward pass that cannot be recorded. There is no backward pass to be edited, but what can be
made of a right gradient at the end can be made of any right answer: its transpose, its first row everywhere, a product
with an input. So each is taken for the gradient of a program that does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from grader.exercise import Answer
from grader.program.program import Program
from grader.program.recording import record
from grader.reference.answer_view import End
from grader.reference.trial import Trial

from .case import Candidate, Case, Sample
from .edits import Right, Times
from .facts import Given
from .mistake import Mistake
from .operators import OPERATORS
from .stream import edits, in_rows

THE_ANSWER = "the answer"  # no name of an input
VALUE_RANK = 0.5  # what is made of a right value is rarer than a wrong forward pass


@dataclass(frozen=True, eq=False)
class OfRightAnswer:
    """Something that is made of a right answer.

    Args:
        candidate: what, in a case of its own.
        case: the wrong answer and the right one, without any forward pass.
        name: the target that the answer is about.
        rarer: what it adds to the rank.
    """

    candidate: Candidate
    case: Case
    name: str
    rarer: float

    @property
    def rank(self) -> float:
        """The candidate's rank, and more where another forward pass is likelier."""
        return self.candidate.rank + self.rarer

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return the mistake, if it gives the answer."""
        mistakes = self.candidate.explain(self.case)
        return {self.name: mistakes[THE_ANSWER]} if THE_ANSWER in mistakes else {}

    def disturbs(self, case: Case) -> bool:
        """Return that what is made of one answer leads to no other."""
        return False


def edits_of_right_answers(wrong: Mapping[str, tuple[Answer, Given]], *, recorded: bool) -> list[OfRightAnswer]:
    """Return what can be made of the right answers that are no gradients of a program.

    Args:
        wrong: for each target the answer, with the trials and the learner's arrays.
        recorded: whether there is a program, which gives the gradients.
    """
    kinds = ("jacobian", "value") if recorded else ("jacobian", "value", "gradient")
    candidates: list[OfRightAnswer] = []
    for name, (answer, given) in wrong.items():
        if answer.kind not in kinds or not given:
            continue
        samples = [_sample(answer, each.trial, each.array) for each in given]
        case = Case(samples, (THE_ANSWER,))
        made: list[Candidate] = [Times(Right(), (THE_ANSWER,)), *in_rows(case)]
        for operator in OPERATORS:
            if operator.at.kind == "target":
                made += edits(operator, case.listing)
        candidates += [OfRightAnswer(each, case, name, VALUE_RANK if answer.kind == "value" else 0.0) for each in made]
    return candidates


def _sample(answer: Answer, trial: Trial, array: np.ndarray) -> Sample:
    """Return a trial in which the right answer is a gradient."""
    program = _program(End(answer, trial).right, trial)
    return Sample(replace(trial, memo={}), program, {THE_ANSWER: array})


def _program(right: np.ndarray, trial: Trial) -> Program:
    """Return a program that hands on what it gets, whose right gradient is an array; its inputs are values at hand."""
    inputs = {name: value for name, value in trial.inputs.items() if isinstance(value, torch.Tensor)}
    given = {**inputs, THE_ANSWER: np.zeros(right.shape)}
    program = record(lambda **values: values[THE_ANSWER][None], given, right[None], upstream_name="")
    return replace(program, sizes=trial.setting.sizes)
