"""`explain`: which gradients of a backward pass are wrong, and which mistake each one is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from grader.exercise import Answer, Exercise
from grader.reference.single_thread import one_thread
from grader.results import AnswerResult
from grader.shapes import describe
from grader.trial_sizes import OTHER_UPSTREAM_KIND

from . import function_checks
from .code_under_test import Code, Report, from_backward, from_function, from_numbers
from .explanation import Explanation
from .forward_pass import GIVEN_KIND, floating, joined, outputs_of
from .given_inputs import check_forward, checked_inputs
from .question import Question, marked
from .trials import Drawing, Tried, confirmed
from .verdicts import Judged, Run, Verdicts

ONE_CALL = "these are the numbers of one call: a mistake that shows only for other values or sizes is not found"
UNTRACED = (
    "forward cannot be traced operation by operation (a custom kernel, numpy, or work in place?), so there are only "
    "facts and finite differences"
)
BRANCHES = (
    "forward takes other operations for other values (control flow that depends on data): what is said holds where it "
    "takes the same ones"
)
UNTRUSTED = "forward's own gradient cannot be trusted: nudging {name} does not move the loss as torch says it does"


def explain(
    forward: Callable[..., Any],
    inputs: Mapping[str, Any],
    *,
    backward: Callable[..., Any] | None = None,
    function: Any = None,
    gradients: Mapping[str, Any] | None = None,
    upstream: Any = None,
    seed: int | None = None,
) -> Explanation:
    """Which gradients of a backward pass are wrong, and which mistake each one is.

    The right gradients are those of `forward` by torch in float64, confirmed by finite differences. What is judged runs
    in this process, with the given inputs and others like them, of other sizes too where it takes them. One of
    `backward`, `function` and `gradients` is given. Judged are the gradients of those inputs that have
    `requires_grad=True`; where none has, of all that are floating-point.

    Args:
        forward: called as `forward(**inputs)`; returns a tensor or a tuple of tensors.
        inputs: tensors of any shape, float32, float64, integer or bool, and other values, by name.
        backward: called as `backward(out, out_g, **inputs)`; returns `{"w": gradient, ...}`, each shaped like its
            input. For several outputs, `out` and `out_g` are tuples. An input that it leaves out is not judged.
        function: a `torch.autograd.Function`, or a callable; takes the inputs in order, and has a backward of its own.
        gradients: the gradients that one call gave, by input.
        upstream: the upstream gradient of that call, shaped like its output (a tuple for several outputs); may be left
            out where the output is one number.
        seed: further inputs and upstream gradients are drawn from it; by default from another one each time.

    Raises:
        TypeError: what is given is of the wrong kind, or cannot be called in this way.
        ValueError: `forward` cannot be run on the inputs, or has no gradient there that could be compared with.
    """
    if sum(one is not None for one in (backward, function, gradients)) != 1:
        raise TypeError("explain takes exactly one of backward=, function= and gradients=")
    if upstream is not None and gradients is None:
        raise TypeError("upstream= belongs to gradients=; otherwise upstream gradients are drawn")
    with one_thread(), torch.enable_grad(), np.errstate(all="ignore"):
        given = checked_inputs(inputs)
        check_forward(forward, given)
        ask = partial(Question, forward, given, np.random.default_rng(seed))
        if gradients is not None:
            return _of_one_call(ask(from_numbers(gradients)), gradients, upstream)
        return _of_code(ask(from_function(function) if backward is None else from_backward(forward, backward)))


def _of_code(question: Question) -> Explanation:
    code, given = question.code, question.given
    first = code.observe(question.call(given))
    returned = [name for name in floating(given) if name in first.gradients]
    asked = tuple(name for name in floating(given) if name in (*marked(given), *returned)) or question.wrt
    axes = question.axes(runs=not first.error)
    drawing = question.drawing(axes, asked)
    tried = drawing.trials(question.rng, lambda one: bool(first.error) or not code.observe(one.call).error)
    notes = [refusal] if not first.error and (refusal := question.refusal(axes)) else []
    if left_out := [name for name in floating(given) if name not in asked and not marked(given)]:
        notes.append(f"{code.name} returns no gradient for {', '.join(left_out)}, so none is judged")
    reports = [code.observe(one.call) for one in tried]
    explanation = _judged(drawing, code, tried, reports, notes, question.rng)
    return function_checks.checked(explanation, code, tried, reports) if code.runs_forward else explanation


def _of_one_call(question: Question, gradients: Mapping[str, Any], upstream: Any) -> Explanation:
    given = question.given
    if not gradients or any(name not in floating(given) for name in gradients):
        known = ", ".join(floating(given))
        raise ValueError(f"gradients must have gradients of the floating-point inputs ({known}); it has {[*gradients]}")
    outputs = outputs_of(question.forward(**given))
    if upstream is None and joined(outputs).numel() == 1:
        upstream = torch.ones_like(outputs[0])
    arrive = tuple(upstream) if isinstance(upstream, (tuple, list)) else (upstream,)
    if [getattr(g, "shape", None) for g in arrive] != [out.shape for out in outputs]:
        wanted = ", ".join(str(tuple(out.shape)) for out in outputs)
        raise ValueError(f"upstream must be the upstream gradient of that call, shaped like the output: {wanted}")
    drawing = question.drawing(question.axes(), tuple(name for name in floating(given) if name in gradients))
    base = drawing.one(drawing.setting(GIVEN_KIND), question.rng)
    out_g = joined(tuple(g.detach().double() for g in arrive)).numpy()
    one = None if base is None else drawing.with_upstream(base, out_g, GIVEN_KIND)
    tried = [] if one is None else [one]
    return _judged(drawing, question.code, tried, [Report(dict(gradients))], [ONE_CALL], question.rng)


def _judged(
    drawing: Drawing, code: Code, tried: list[Tried], reports: list[Report], notes: list[str], rng: np.random.Generator
) -> Explanation:
    """The verdicts, on trials in which torch's own gradient of the forward pass is confirmed."""
    exercise = drawing.exercise
    if not tried:
        raise ValueError(
            f"forward has no gradient at the given inputs that {drawing.precision} could tell from rounding"
        )
    trusted = [{a.name: confirmed(exercise, a, one.trial, rng) for a in exercise.answers} for one in tried]
    best = max(trusted, key=lambda known: sum(known.values()))
    answers = tuple(a for a in exercise.answers if best[a.name])
    kept = [i for i, known in enumerate(trusted) if all(known[a.name] for a in answers)]
    twice = reports[kept[0]], code.observe(tried[kept[0]].call)
    runs = [Run(tried[i], reports[i]) for i in kept]
    verdicts = Verdicts(replace(exercise, answers=answers or exercise.answers), code, runs, twice).with_wrong_first()
    judged = {answer.name: verdicts.judged(answer) for answer in answers}
    every = tuple(judged.get(a.name) or _untrusted(a.name) for a in exercise.answers)
    return Explanation(every, _about(exercise, verdicts.runs[0].tried), (*notes, *_notes(verdicts, answers)))


def _notes(verdicts: Verdicts, answers: tuple[Answer, ...]) -> Iterator[str]:
    """What should be known of these verdicts."""
    if verdicts.untraced:
        yield UNTRACED
    elif verdicts.branches:
        yield BRANCHES
    for answer in answers:
        given = [run for run in verdicts.runs if run.trial.setting.kind in (GIVEN_KIND, OTHER_UPSTREAM_KIND)]
        wrong = any(run.is_wrong(answer) for run in verdicts.runs)
        if wrong and given and not any(run.is_wrong(answer) for run in given):
            yield f"{answer.name} is right at the given inputs, and wrong at others that were drawn in their range"


def _untrusted(name: str) -> Judged:
    return Judged(AnswerResult(name, "error", 0.0, 1.0, None, UNTRUSTED.format(name=name)))


def _about(exercise: Exercise, one: Tried) -> str:
    """The tensors among the inputs, with the axes that findings speak of."""
    arrays = {name: value for name, value in one.trial.inputs.items() if isinstance(value, torch.Tensor)}
    return ", ".join(f"{name} {describe(tuple(value.shape), one.trial.axes(name))}" for name, value in arrays.items())
