"""`explain`: which gradients of a backward pass are wrong, and which mistake each one is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from grader.course.exercise import Answer, Exercise
from grader.course.shapes import describe
from grader.diagnosis.words import listed
from grader.reference.compare import scaled_error
from grader.reference.references import autograd_answer
from grader.reference.single_thread import one_thread
from grader.results.records import AnswerResult

from . import function_checks
from .code_under_test import Report, from_backward, from_function, from_numbers
from .explanation import Explanation
from .forward_pass import GIVEN_KIND, exercise_of, floating, is_floating, joined, outputs_of
from .given_inputs import checked_inputs, usable_forward
from .question import Question, marked
from .trials import AS_GIVEN, Drawing, Tried, confirmed
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
MEASURED = "the right gradients are finite differences of forward: {why}"
SEPARATE = "give each as an input of its own"
LARGE_CONFIRMED = 50_000  # entries of all inputs: of more, the gradients at one trial of each size are confirmed
ONE_AXIS_KIND = "one other size"
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
    """Judge the gradients of a backward pass, and find out which mistake each wrong one is.

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
        usable = usable_forward(forward, given)
        ask = partial(Question, usable, given, np.random.default_rng(seed))
        if gradients is not None:
            return _explain_one_call(ask(from_numbers(gradients)), gradients, upstream)
        return _explain_code(ask(from_function(function) if backward is None else from_backward(usable, backward)))


def _explain_code(question: Question) -> Explanation:
    """Explain the gradients of a backward pass or a function, which is run in trials like the given call."""
    code, given = question.code, question.given
    first = code.observe(question.call(given))
    returned = [name for name in floating(given) if name in first.gradients]
    answers = tuple(name for name in floating(given) if name in (*marked(given), *returned)) or question.wrt
    axes = question.axes(runs=not first.error)
    notes = [refusal] if not first.error and (refusal := question.refusal(axes)) else []
    if left_out := [name for name in floating(given) if name not in answers and not marked(given)]:
        notes.append(f"{code.name} returns no gradient for {', '.join(left_out)}, so none is judged")
    notes += [f"no gradient is judged of the tensors in {name}: {SEPARATE}" for name in _inputs_with_tensors(given)]

    def judged(measured: bool) -> Explanation | None:
        """Draw trials, run the code, and judge it by finite differences if `measured`, else by torch's gradients.

        `None` where torch's gradients cannot serve as a reference.
        """
        drawing = question.drawing(axes, answers, measured=measured)
        tried = drawing.trials(
            question.rng, lambda one: bool(first.error) or not code.observe(one.call, at_other_sizes=True).error
        )
        reports = [code.observe(one.call, at_other_sizes=not drawing.has_given_sizes(one)) for one in tried]
        return _explanation_of(question, drawing, tried, reports, notes)

    return _by_torch_or_measured(question, judged)


def _explain_one_call(question: Question, gradients: Mapping[str, Any], upstream: Any) -> Explanation:
    """Explain the gradients that one call gave.

    Args:
        upstream: the upstream gradient of that call, or a tuple of one for each output; may be `None` for one number.

    Raises:
        ValueError: a gradient is not that of a floating-point input, or `upstream` has another shape than the output.
    """
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
    axes, answers = question.axes(), tuple(name for name in floating(given) if name in gradients)
    out_g = joined(tuple(g.detach().double() for g in arrive)).numpy()

    def judged(measured: bool) -> Explanation | None:
        """Judge the numbers of the one call by measured gradients or by torch's own."""
        drawing = question.drawing(axes, answers, measured=measured)
        base = drawing.trial_of(drawing.setting(GIVEN_KIND), question.rng)
        one = None if base is None else drawing.with_upstream(base, out_g, GIVEN_KIND)
        return _explanation_of(question, drawing, [one] if one else [], [Report(dict(gradients))], [ONE_CALL])

    return _by_torch_or_measured(question, judged)


def _by_torch_or_measured(question: Question, judged: Callable[[bool], Explanation | None]) -> Explanation:
    """Return the explanation by torch's own gradients, or by measured ones where those cannot be trusted.

    They cannot where there are none, where they go through somebody's own backward pass, and where finite differences
    refute them.

    Args:
        judged: returns the explanation by measured gradients (`True`) or by torch's own; `None` if these are refuted.
    """
    explanation = None if question.own_backwards is None or question.own_backwards else judged(False)
    if explanation is None:
        explanation = judged(True)
    assert explanation is not None  # what is measured is trusted
    return explanation


def _explanation_of(
    question: Question, drawing: Drawing, tried: list[Tried], reports: list[Report], notes: list[str]
) -> Explanation | None:
    """Judge all gradients in the trials; return `None` where finite differences refute torch's own gradients.

    Args:
        tried: the trials, of the same number as `reports`.
        reports: what the code under test did in each.
        notes: sentences that are added to the explanation.

    Raises:
        ValueError: no trial with the given inputs has a gradient that could be compared with.
    """
    exercise, code = drawing.exercise, question.code
    if not any(one.trial.setting.kind in AS_GIVEN for one in tried):
        if not drawing.measured:
            return None
        raise ValueError(
            f"forward has no gradient at the given inputs that {drawing.precision} could tell from rounding"
        )
    held = not question.leaves_torch
    trusted = drawing.measured or all(
        confirmed(exercise, answer, one.trial, question.rng, held=held)
        for one in _first_with_inputs(tried)
        for answer in exercise.answers
    )
    if not trusted:
        return None
    runs = [Run(one, report) for one, report in zip(tried, reports, strict=True)]
    counted = [run for run in runs if drawing.counts(run.tried)]
    others = [run for run in runs if run not in counted]
    twice = counted[0].report, code.observe(counted[0].tried.call)
    verdicts = Verdicts(exercise, code, counted, others, twice, drawing.measured)
    judged = {answer.name: verdicts.judged(answer) for answer in exercise.answers}
    if all(one.result.status == "passed" for one in judged.values()):
        judged |= {name: verdicts.judged_in_tie(name, index) for name, index in verdicts.broken_ties()}
    if drawing.measured and question.own_backwards and not code.runs_forward:
        judged |= {name: _untrusted(name) for name in _answers_like_own_backward(question, verdicts)}
    passed = [answer for answer in exercise.answers if judged[answer.name].result.status == "passed"]
    first = [note for answer in passed for note in _notes_on_other_inputs(question, drawing, answer, others)]
    all_notes = (*first, *notes, *_notes(question, drawing, verdicts))
    explanation = Explanation(tuple(judged.values()), _about(exercise, verdicts.shown_run.tried), all_notes)
    return function_checks.checked(explanation, code, counted) if code.runs_forward else explanation


def _first_with_inputs(tried: list[Tried]) -> list[Tried]:
    """Return the first trial with each set of inputs, and of large inputs the first one of each size.

    A gradient is linear in the upstream gradient, so one upstream gradient is enough.
    """
    first: dict[Hashable, Tried] = {}
    for one in tried:
        inputs = [value for value in one.trial.inputs.values() if isinstance(value, torch.Tensor)]
        is_large = sum(value.numel() for value in inputs) > LARGE_CONFIRMED
        first.setdefault(tuple(value.shape if is_large else id(value) for value in inputs), one)
    return list(first.values())


def _answers_like_own_backward(question: Question, verdicts: Verdicts) -> Iterator[str]:
    """Yield the inputs whose gradients agree with a backward pass inside `forward`, and not with its differences.

    Either may be what the author means (a straight-through estimator, or a mistake), so these are not judged.
    """
    run = verdicts.runs[0]
    exercise = exercise_of(question.forward, question.given, {}, tuple(a.name for a in verdicts.exercise.answers), "g")
    for answer in verdicts.exercise.answers:
        array = run.array(answer)
        own = autograd_answer(exercise, answer, run.trial.inputs, run.trial.out_g)
        if array is not None and run.is_wrong(answer) and scaled_error(array, own) <= run.tried.bounds[answer.name]:
            yield answer.name


def _notes_on_other_inputs(question: Question, drawing: Drawing, answer: Answer, others: list[Run]) -> Iterator[str]:
    """Yield a note for a gradient that is right as given, and wrong with other tables or other sizes.

    Args:
        others: the runs with sizes or tables that nobody gave.
    """
    failing = [run for run in others if run.fails(answer)]
    if not failing:
        return
    if any(drawing.has_given_sizes(run.tried) for run in failing):
        tables = listed(drawing.tables)
        yield f"{answer.name} is right with the given {tables}, and wrong with others that were drawn in their range"
        return
    blamed: dict[str, set[int]] = {}
    for run in failing:
        sizes = run.trial.setting.sizes
        changed = [axis for axis, size in drawing.sizes.items() if sizes[axis] != size]
        alone = [axis for axis in changed if _fails_alone(question, drawing, answer, axis, sizes[axis])]
        for axis in alone or changed:
            blamed.setdefault(axis, set()).add(sizes[axis])
    fine = {axis: {run.trial.setting.sizes[axis] for run in others if not run.fails(answer)} for axis in blamed}
    where = listed(
        f"{axis} is not {drawing.sizes[axis]}" if not fine[axis] - {drawing.sizes[axis]} else f"{axis} is {least}"
        for axis, sizes in blamed.items()
        for least in [min(sizes)]
    )
    tried = listed(f"{axis} = {size}" for axis, sizes in blamed.items() for size in sorted(sizes))
    yield f"{answer.name} is right at the given sizes, and wrong where {where} ({tried} was tried)"


def _fails_alone(question: Question, drawing: Drawing, answer: Answer, axis: str, size: int) -> bool:
    """Return whether a gradient is wrong where one axis has another size and every other axis the given one."""
    one = drawing.trial_of(drawing.setting(ONE_AXIS_KIND, {**drawing.sizes, axis: size}), question.rng)
    return one is not None and Run(one, question.code.observe(one.call, at_other_sizes=True)).fails(answer)


def _notes(question: Question, drawing: Drawing, verdicts: Verdicts) -> Iterator[str]:
    """Yield sentences on how the verdicts came about, and on the entries and inputs that they do not hold for."""
    if drawing.measured:
        yield MEASURED.format(why=_why_measured(question))
    if verdicts.untraced:
        yield UNTRACED
    elif verdicts.branches:
        yield BRANCHES
    given = verdicts.runs[0]
    for answer in verdicts.exercise.answers:
        if count := int(given.unjudged(answer).sum()):
            why = "only some are measured" if drawing.measured else "forward has no finite gradient there"
            yield f"{answer.name} is not judged at {count} of its {given.right(answer).size} given entries: {why}"
        as_given = [run for run in verdicts.runs if run.trial.setting.kind in AS_GIVEN and not run.layout]
        wrong = any(run.is_wrong(answer) for run in verdicts.runs if not run.layout)
        if wrong and as_given and not any(run.is_wrong(answer) for run in as_given):
            yield f"{answer.name} is right at the given inputs, and wrong at others that were drawn in their range"


def _why_measured(question: Question) -> str:
    """Return the reason, a clause, why the right gradients are measured and not taken from torch."""
    if question.own_backwards:
        return f"torch's own go through the backward pass of {listed(sorted(question.own_backwards))}"
    if question.leaves_torch:
        return "it leaves torch (numpy, .data or plain numbers), so torch cannot differentiate it"
    if question.own_backwards is None:
        return "torch cannot differentiate it"
    return "torch's own are not what a nudge of its inputs says"


def _inputs_with_tensors(given: Mapping[str, Any]) -> list[str]:
    """Return the names of the inputs that are lists or dicts with floating-point tensors in them."""
    return [name for name, value in given.items() if not isinstance(value, torch.Tensor) and _holds_tensor(value)]


def _holds_tensor(value: Any) -> bool:
    """Return whether a value is a floating-point tensor, or a list, tuple or dict with one at any depth."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return is_floating(value) or any(map(_holds_tensor, inner))


def _untrusted(name: str) -> Judged:
    """Return the verdict that a gradient cannot be judged, as torch and finite differences disagree on it."""
    return Judged(AnswerResult(name, "error", 0.0, 1.0, None, UNTRUSTED.format(name=name)))


def _about(exercise: Exercise, one: Tried) -> str:
    """The tensors among the inputs, with the axes that findings speak of."""
    arrays = {name: value for name, value in one.trial.inputs.items() if isinstance(value, torch.Tensor)}
    return ", ".join(f"{name} {describe(tuple(value.shape), one.trial.axes(name))}" for name, value in arrays.items())
