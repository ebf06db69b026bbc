"""Edits of right answers that are no gradients of a program: Jacobians, values, and what routines return.

Gradients of a forward pass that cannot be recorded are among them. There is no backward pass to be edited, but what an
operator makes of a right gradient at the end can be made of any right array: its transpose, its first row everywhere,
its product with an input. So each right array is taken for the gradient of a program that does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from grader.program.program import Program
from grader.program.recording import record
from grader.reference.trial import Sample, Trial

from .case import Candidate, Case, ProgramSample
from .edits import NoEdit, WithFactor
from .mistake import Mistake
from .operators import OPERATORS
from .search import edits, edits_in_rows

THE_ANSWER = "the answer"  # no name of an input
VALUE_RANK = 0.5  # what is made of a right value is rarer than a wrong forward pass


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

        Args:
            case: not read; the edit has a case of its own.
        """
        mistakes = self.candidate.explain(self.alone)
        return {self.name: mistakes[THE_ANSWER]} if THE_ANSWER in mistakes else {}

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
