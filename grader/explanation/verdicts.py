"""The verdict on each gradient: the first check that it fails, in the order of the course's own judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from grader.diagnosis.candidates import Problem
from grader.diagnosis.factors import one_ratio
from grader.diagnosis.mistake import Diagnosis, Fact, Mistake
from grader.diagnosis.search import find_mistakes
from grader.exercise import Answer, Exercise
from grader.reference.compare import scaled_error
from grader.reference.operation_recorder import trace_of
from grader.reference.references import autograd_answer
from grader.reference.symbolic_numbers import spelt
from grader.reference.trial import IMPOSSIBLE, Trial
from grader.results import AnswerResult
from grader.shapes import describe
from grader.wording.evidence import evidence_of
from grader.wording.words import finding

from .code_under_test import Code, Report
from .trials import Tried

SAME = 1e-5
NEEDS_NONE = "if it needs no gradient, give the inputs that do requires_grad=True"


@dataclass(frozen=True)
class Judged:
    """One gradient.

    Args:
        result: the verdict, as the course records it.
        place: the operations of the forward pass that the mistake is made at; empty where it is about none.
        mistake: what the numbers gave away, without words.
    """

    result: AnswerResult
    place: str = ""
    mistake: Mistake | None = None


@dataclass(frozen=True)
class Run:
    """One trial, and what the code under test did in it."""

    tried: Tried
    report: Report

    @property
    def trial(self) -> Trial:
        return self.tried.trial

    def array(self, answer: Answer) -> np.ndarray | None:
        """The answer, float64; zeros for `None`, and `None` where it is no array of finite numbers."""
        value = self.report.gradients.get(answer.name)
        if value is None and answer.name in self.report.gradients:
            return np.zeros(self.trial.inputs[answer.name].shape)
        real = isinstance(value, torch.Tensor) and not value.is_complex() and bool(torch.isfinite(value).all())
        return value.detach().double().numpy() if real else None  # type: ignore[union-attr]

    def right(self, answer: Answer) -> np.ndarray:
        right = self.trial.expected[answer.name]
        assert right is not None
        return right

    def is_wrong(self, answer: Answer) -> bool:
        """Its numbers can be compared, and are further off than rounding explains."""
        array = self.array(answer)
        return array is not None and scaled_error(array, self.right(answer)) > self.tried.bounds[answer.name]


@dataclass(frozen=True)
class Verdicts:
    """Judges what the code under test did in every trial.

    Args:
        twice: what two equal calls did.
    """

    exercise: Exercise
    code: Code
    runs: Sequence[Run]
    twice: tuple[Report, Report]

    def with_wrong_first(self) -> Verdicts:
        """The same, with the trial first in which most of the answers are wrong: findings speak of it."""
        wrong = {id(run): sum(run.is_wrong(answer) for answer in self.exercise.answers) for run in self.runs}
        return replace(self, runs=sorted(self.runs, key=lambda run: -wrong[id(run)]))

    def judged(self, answer: Answer) -> Judged:
        """The first check that fails."""
        diagnosis = self._structure(answer) or self._shape(answer) or self._use(answer)
        if diagnosis is None and not any(run.is_wrong(answer) for run in self.runs):
            return Judged(AnswerResult(answer.name, "passed", 1.0, 1.0))
        diagnosis = diagnosis or self._stale(answer) or finding(self._mistakes[answer.name][1])
        place = self._place(answer) if diagnosis.mistake else ""
        result = AnswerResult(answer.name, "failed", 0.0, 1.0, diagnosis.code, diagnosis.says, self._evidence(answer))
        return Judged(result, place, diagnosis.mistake)

    @property
    def untraced(self) -> bool:
        """A mistake was looked for, and the forward pass could not be traced."""
        told = ((answer, self._mistakes.get(answer.name)) for answer in self.exercise.answers)
        return any(found and not Problem(self.exercise, answer, found[0]).has_graph for answer, found in told)

    @property
    def branches(self) -> bool:
        """A mistake was looked for, and the forward pass does not take the same lines in every trial."""
        return bool(self._mistakes) and len({self._way(run) for run in self.runs}) > 1

    # --- before any number is compared -------------------------------------------------------------------------------

    def _structure(self, answer: Answer) -> Diagnosis | None:
        for run in self.runs:
            if run.report.error:
                return Diagnosis("error", f"{self.code.name} raises {run.report.error}")
            if answer.name not in run.report.gradients:
                return Diagnosis("missing-answer", f"{self.code.name} returns no gradient for {answer.name}")
            value = run.report.gradients[answer.name]
            if value is None and run.right(answer).any():
                return Diagnosis("missing-answer", f"it is None, and the output depends on {answer.name}; {NEEDS_NONE}")
            if value is not None and not isinstance(value, torch.Tensor):
                return Diagnosis("wrong-type", f"it is of type {type(value).__name__}, not a tensor")
        return None

    def _shape(self, answer: Answer) -> Diagnosis | None:
        """The shape, then the dtype, then finite."""
        for run in self.runs:
            value, owner = run.report.gradients[answer.name], run.tried.call.inputs[answer.name]
            if value is None:
                continue
            if value.shape != owner.shape:
                return self._of_shape(answer, value, run.trial)
            if value.dtype != owner.dtype:
                names = [str(each.dtype).removeprefix("torch.") for each in (value, owner)]
                return Diagnosis("wrong-dtype", f"it is {names[0]}; {answer.name} is {names[1]}")
            if count := int((~torch.isfinite(value)).sum()):
                return Diagnosis("not-finite", f"{count} of {value.numel()} entries are inf or nan")
        return None

    def _of_shape(self, answer: Answer, value: torch.Tensor, trial: Trial) -> Diagnosis:
        """A wrong shape, which may be that of a mistake with a name."""
        found = self._mistakes.get(answer.name)
        if found is not None and found[1].code != "unknown":
            return finding(found[1])
        owner = describe(tuple(trial.inputs[answer.name].shape), trial.axes(answer.name))
        says = f"its shape is {describe(tuple(value.shape))}; it should be the shape of {answer.name}, {owner}"
        return Diagnosis("wrong-shape", says)

    def _use(self, answer: Answer) -> Diagnosis | None:
        """The arguments unchanged, and the same answer when called again."""
        if changed := next((run.report.changed for run in self.runs if run.report.changed), ()):
            return Diagnosis("mutated-input", f"{changed[0]} is not what it was before {self.code.name} was called")
        first, again = (report.gradients.get(answer.name) for report in self.twice)
        if differ(first, again):
            return Diagnosis("not-repeatable", "called again with the same arguments, it gives another answer")
        return None

    # --- the numbers -------------------------------------------------------------------------------------------------

    @cached_property
    def _mistakes(self) -> dict[str, tuple[Trial, Mistake]]:
        """By answer, what its numbers give away where the forward pass goes one way, and the first of these trials."""
        waiting = [answer for answer in self.exercise.answers if any(run.is_wrong(answer) for run in self.runs)]
        found: dict[str, tuple[Trial, Mistake]] = {}
        while waiting:
            way = next(self._way(run) for run in self.runs if any(run.is_wrong(answer) for answer in waiting))
            runs = [run for run in self.runs if self._way(run) == way]
            told = [answer for answer in waiting if any(run.is_wrong(answer) for run in runs)]
            pairs = {answer.name: list(_pairs(runs, answer)) for answer in told}
            mistakes = find_mistakes(self.exercise, runs[0].trial, pairs)
            if len(self.runs) == 1:
                mistakes = {name: _factor(runs[0], name, mistake) or mistake for name, mistake in mistakes.items()}
            found |= {name: (runs[0].trial, mistake) for name, mistake in mistakes.items()}
            waiting = [answer for answer in waiting if answer not in told]
        return found

    def _way(self, run: Run) -> frozenset[object] | None:
        """The lines of the forward pass that a trial takes; `None` where it cannot be traced."""
        try:
            return frozenset(step.line for step in trace_of(self.exercise, run.trial).steps)
        except IMPOSSIBLE:
            return None

    def _place(self, answer: Answer) -> str:
        """The operations that a mistake is made at, with the inputs that the gradient goes to from there."""
        trial, mistake = self._mistakes[answer.name]
        found = []
        for index, position in mistake.at:
            step = trace_of(self.exercise, trial).steps[index]
            to = dict(step.operands).get(position, "") if position is not None else ""
            found.append(f"{step.label}, on the way to {to}" if to and not to.startswith("%") else step.label)
        return "; ".join(dict.fromkeys(found))

    def _stale(self, answer: Answer) -> Diagnosis | None:
        """Wherever it is wrong, it is right for an input of another call."""
        old = {next(self._of_another_call(answer, run), "") for run in self.runs if run.is_wrong(answer)}
        name = old.pop()
        return (
            Diagnosis("not-repeatable", f"it is computed with the {name} of an earlier call")
            if name and not old
            else None
        )

    def _of_another_call(self, answer: Answer, run: Run) -> Iterator[str]:
        array, right = run.array(answer), run.right(answer)
        assert array is not None
        for name, value in run.trial.inputs.items():
            others = (other.trial.inputs[name] for other in self.runs) if isinstance(value, torch.Tensor) else ()
            for other in others:
                if other.shape == value.shape and not torch.equal(other, value):
                    mixed = {**run.trial.inputs, name: other}
                    old = autograd_answer(self.exercise, answer, mixed, run.trial.out_g)
                    if scaled_error(array, old) < run.tried.bounds[answer.name] < scaled_error(old, right):
                        yield name

    def _evidence(self, answer: Answer) -> str:
        run = next((run for run in self.runs if run.is_wrong(answer)), None)
        if run is None:
            return ""
        array = run.array(answer)
        assert array is not None
        try:
            return evidence_of(self.exercise, answer, [(run.trial, array)], self._mistakes[answer.name][1])
        except IMPOSSIBLE:
            return ""  # the forward pass is not defined beside this input


def _factor(run: Run, name: str, found: Mistake) -> Mistake | None:
    """The factor that every entry of the one call is off by, where nothing better is known."""
    answer = Answer(name, name)
    array = run.array(answer)
    factor = one_ratio(array, run.right(answer)) if array is not None and found.code == "unknown" else None
    return None if factor is None else Mistake("wrong-factor", (Fact("factor-number", {"factor": spelt(factor)}),))


def _pairs(runs: Sequence[Run], answer: Answer) -> Iterator[tuple[Trial, np.ndarray]]:
    """Each trial with the answer in it."""
    for run in runs:
        if (array := run.array(answer)) is not None:
            yield run.trial, array


def differ(value: Any, other: Any) -> bool:
    """Two gradients of equal calls are not the same but for rounding."""
    if not isinstance(value, torch.Tensor) or not isinstance(other, torch.Tensor):
        return (value is None) != (other is None)
    return scaled_error(value.detach().numpy(), other.detach().numpy()) > SAME
