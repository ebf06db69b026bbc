"""The verdict on each gradient: the first check that it fails, in the order of the course's own judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from grader.diagnosis.mistake import Diagnosis, Mistake
from grader.diagnosis.search import Problem, find_mistakes, trace_of
from grader.diagnosis.words import finding
from grader.exercise import Answer, Exercise
from grader.judging.nudge_evidence import evidence_of
from grader.reference.compare import scaled_error
from grader.reference.references import autograd_answer
from grader.reference.trial import IMPOSSIBLE, Trial
from grader.results import AnswerResult
from grader.shapes import describe

from .code_under_test import Code, Report
from .trials import Tried

Pair = tuple[Trial, np.ndarray]
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
class Verdicts:
    """Judges what the code under test did in every trial.

    Args:
        reports: one for each of `tried`.
        again: the first trial once more.
    """

    exercise: Exercise
    code: Code
    tried: Sequence[Tried]
    reports: Sequence[Report]
    again: Report

    def judged(self, answer: Answer) -> Judged:
        """The first check that fails."""
        diagnosis = self._structure(answer) or self._shape(answer) or self._use(answer)
        if diagnosis is None and not self._is_wrong(answer):
            return Judged(AnswerResult(answer.name, "passed", 1.0, 1.0))
        diagnosis = diagnosis or self._stale(answer) or finding(self._mistakes[answer.name])
        mistake = diagnosis.mistake
        place = "" if mistake is None else _place(mistake, self.exercise, self._trials_told[answer.name])
        result = AnswerResult(answer.name, "failed", 0.0, 1.0, diagnosis.code, diagnosis.says, self._evidence(answer))
        return Judged(result, place, mistake)

    @property
    def untraced(self) -> bool:
        """Some mistake was looked for, and the forward pass could not be traced."""
        first = self.tried[0].trial
        wrong = [answer for answer in self.exercise.answers if answer.name in self._mistakes]
        return any(not Problem(self.exercise, answer, first).has_graph for answer in wrong)

    @property
    def branches(self) -> bool:
        """Some mistake was looked for, and the forward pass does not take the same operations in every trial."""
        ways = {_lines(self.exercise, one.trial) for one in self.tried} - {None}
        return bool(self._mistakes) and len(ways) > 1

    def wrong_in(self, answer: Answer) -> set[str]:
        """The kinds of the trials in which the numbers are wrong."""
        return {one.trial.setting.kind for one, array in self._arrays(answer) if not _is_right(answer, one, array)}

    # --- before any number is compared -------------------------------------------------------------------------------

    def _structure(self, answer: Answer) -> Diagnosis | None:
        for one, report in zip(self.tried, self.reports, strict=True):
            if report.error:
                return Diagnosis("error", f"{self.code.name} raises {report.error}")
            if answer.name not in report.gradients:
                return Diagnosis("missing-answer", f"{self.code.name} returns no gradient for {answer.name}")
            value, right = report.gradients[answer.name], one.trial.expected[answer.name]
            if value is None and np.any(right):
                return Diagnosis("missing-answer", f"it is None, and the output depends on {answer.name}; {NEEDS_NONE}")
            if value is not None and not isinstance(value, torch.Tensor):
                return Diagnosis("wrong-type", f"it is of type {type(value).__name__}, not a tensor")
        return None

    def _shape(self, answer: Answer) -> Diagnosis | None:
        for one, report in zip(self.tried, self.reports, strict=True):
            value, owner = report.gradients[answer.name], one.call.inputs[answer.name]
            if value is None:
                continue
            if value.shape != owner.shape:
                return self._of_shape(answer, value, one.trial)
            if value.dtype != owner.dtype:
                names = [str(each.dtype).removeprefix("torch.") for each in (value, owner)]
                return Diagnosis("wrong-dtype", f"it is {names[0]}; {answer.name} is {names[1]}")
            if count := int((~torch.isfinite(value)).sum()):
                return Diagnosis("not-finite", f"{count} of {value.numel()} entries are inf or nan")
        return None

    def _of_shape(self, answer: Answer, value: torch.Tensor, trial: Trial) -> Diagnosis:
        found = self._mistakes.get(answer.name)
        if found is not None and found.code != "unknown":
            return finding(found)
        shapes = tuple(value.shape), trial.inputs[answer.name].shape
        return Diagnosis("wrong-shape", f"its shape is {describe(shapes[0])}; it should be that of {answer.name}, "
                         f"{describe(tuple(shapes[1]), trial.axes(answer.name))}")  # fmt: skip

    def _use(self, answer: Answer) -> Diagnosis | None:
        """The arguments unchanged, and the same answer when called again."""
        if changed := next((report.changed for report in self.reports if report.changed), ()):
            return Diagnosis("mutated-input", f"{changed[0]} is not what it was before {self.code.name} was called")
        first, again = (report.gradients.get(answer.name) for report in (self.reports[0], self.again))
        if (first is None) != (again is None) or (first is not None and not _alike(first, again)):
            return Diagnosis("not-repeatable", "called again with the same arguments, it gives another answer")
        return None

    # --- the numbers -------------------------------------------------------------------------------------------------

    def _arrays(self, answer: Answer) -> list[tuple[Tried, np.ndarray]]:
        """The answer in each trial, float64; zeros for `None`, and nothing where it is no array of finite numbers."""
        found = []
        for one, report in zip(self.tried, self.reports, strict=True):
            value = report.gradients.get(answer.name)
            if value is None and answer.name in report.gradients:
                value = torch.zeros_like(one.call.inputs[answer.name])
            if isinstance(value, torch.Tensor) and not value.is_complex() and bool(torch.isfinite(value).all()):
                found.append((one, value.detach().double().numpy()))
        return found

    def _is_wrong(self, answer: Answer) -> bool:
        return any(not _is_right(answer, one, array) for one, array in self._arrays(answer))

    @cached_property
    def _trials_told(self) -> dict[str, Trial]:
        """The trial whose graph a mistake speaks of, by answer."""
        return {}

    @cached_property
    def _mistakes(self) -> dict[str, Mistake]:
        """The mistakes that the numbers give away: among trials that take the same way through the forward pass."""
        waiting = {answer.name: answer for answer in self.exercise.answers if self._is_wrong(answer)}
        found: dict[str, Mistake] = {}
        while waiting:
            way = next(way for way in self._wrong_ways(waiting.values()))
            pairs = {
                name: self._on_way(answer, way) for name, answer in waiting.items() if way in self._wrong_ways([answer])
            }
            first = next(one.trial for one in self.tried if _lines(self.exercise, one.trial) == way)
            found |= find_mistakes(self.exercise, first, pairs)
            self._trials_told.update(dict.fromkeys(pairs, first))
            waiting = {name: answer for name, answer in waiting.items() if name not in pairs}
        return found

    def _wrong_ways(self, answers: Any) -> list[Any]:
        """The ways through the forward pass on which some of the answers are wrong, in the order of the trials."""
        wrong = [one for answer in answers for one, array in self._arrays(answer) if not _is_right(answer, one, array)]
        return [_lines(self.exercise, one.trial) for one in self.tried if any(one is other for other in wrong)]

    def _on_way(self, answer: Answer, way: Any) -> list[Pair]:
        return [(one.trial, array) for one, array in self._arrays(answer) if _lines(self.exercise, one.trial) == way]

    def _stale(self, answer: Answer) -> Diagnosis | None:
        """Where it is wrong it is right for an input of an earlier call."""
        wrong = [(i, array) for i, (one, array) in enumerate(self._arrays(answer)) if not _is_right(answer, one, array)]
        old = [next(self._of_earlier(answer, i, array), None) for i, array in wrong]
        if not old or old[0] is None or len(set(old)) > 1:
            return None
        return Diagnosis("not-repeatable", f"it is computed with the {old[0]} of an earlier call")

    def _of_earlier(self, answer: Answer, i: int, array: np.ndarray) -> Iterator[str]:
        trial = self.tried[i].trial
        for name, value in trial.inputs.items():
            for before in (one.trial.inputs[name] for one in self.tried[:i]):
                if not isinstance(value, torch.Tensor) or before.shape != value.shape or torch.equal(before, value):
                    continue
                old = autograd_answer(self.exercise, answer, {**trial.inputs, name: before}, trial.out_g)
                right = trial.expected[answer.name]
                assert right is not None
                if scaled_error(array, old) < self.tried[i].bounds[answer.name] < scaled_error(old, right):
                    yield name

    def _evidence(self, answer: Answer) -> str:
        wrong = ((one.trial, array) for one, array in self._arrays(answer) if not _is_right(answer, one, array))
        trial, array = next(wrong, (None, None))
        if trial is None or array is None:
            return ""
        right = trial.expected[answer.name]
        assert right is not None
        try:
            return evidence_of(self.exercise, answer, trial, array, right)
        except IMPOSSIBLE:
            return ""  # the forward pass is not defined beside this input


def _is_right(answer: Answer, one: Tried, array: np.ndarray) -> bool:
    right = one.trial.expected[answer.name]
    assert right is not None
    return scaled_error(array, right) <= one.bounds[answer.name]


def _alike(first: Any, again: Any) -> bool:
    return isinstance(again, torch.Tensor) and scaled_error(first.detach().numpy(), again.detach().numpy()) < 1e-5


def _lines(exercise: Exercise, trial: Trial) -> frozenset[object] | None:
    """The lines of the forward pass that a trial takes; `None` where it cannot be traced."""
    try:
        return frozenset(step.line for step in trace_of(exercise, trial).steps)
    except IMPOSSIBLE:
        return None


def _place(mistake: Mistake, exercise: Exercise, trial: Trial) -> str:
    """The operations that a mistake is made at, with the inputs that the gradient goes to from there."""
    if not mistake.at:
        return ""
    steps = trace_of(exercise, trial).steps
    found = []
    for index, position in mistake.at:
        to = dict(steps[index].operands).get(position, "") if position is not None else ""
        found.append(
            f"{steps[index].label}, on the way to {to}" if to and not to.startswith("%") else steps[index].label
        )
    return "; ".join(dict.fromkeys(found))
