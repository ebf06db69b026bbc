"""`explain`: which gradients of a backward pass are wrong, and which mistake each one is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from grader.course.exercise import Answer
from grader.course.shapes import describe, guess_axes
from grader.diagnosis.words import list_in_words
from grader.reference.compare import scaled_error
from grader.reference.references import autograd_answer, one_thread

from .axes import Axis, Shapes, axes_of_inputs, find_axes, with_sizes, with_small_sizes
from .code_under_test import CallReport, Code, CodeCall, code_of_backward, code_of_function, code_of_numbers
from .explanation import Explanation
from .forward_pass import (
    ForwardPass,
    checked_forward,
    checked_inputs,
    detached_copy,
    floating_inputs,
    in_double,
    inputs_with_grad,
    is_floating,
    join_outputs,
    outputs_of,
)
from .redrawing import GIVEN_KIND, exercise_of, resize
from .trials import AS_GIVEN, CodeTrial, Drawing, are_gradients_confirmed
from .verdicts import Finding, Run, Verdicts, function_findings, samples_of, unasked_gradients_note

if TYPE_CHECKING:
    from grader.rendering.picture_data import Picture

INDICES = (torch.int64, torch.int32)
ONE_CALL = "these are the numbers of one call: a mistake that shows only for other values or sizes is not found"
SEARCH_FAILED = (
    "the search for the mistake in {name} ended with an error ({error}), so there are only facts on its numbers"
)
UNTRACED = (
    "forward cannot be traced operation by operation (a custom kernel, numpy, or work in place?), so there are only "
    "facts and finite differences"
)
BRANCHES = (
    "forward takes other operations for other values (control flow that depends on data): what is said holds where it "
    "takes the same ones"
)
MEASURED = "the right gradients are finite differences of forward: {why}"
SEPARATE = "give each as a separate input"
LARGE_CONFIRMED = 50_000  # entries of all inputs: with more, only one trial of each size is confirmed
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
        forward: the forward pass, called as `forward(**inputs)`; returns a tensor or a tuple of tensors.
        inputs: the inputs of one call by name: tensors (float32, float64, integer or bool) and other values.
        backward: a backward pass, called as `backward(out, out_g, **inputs)`; returns `{"w": gradient, ...}`, each
            shaped like its input. For several outputs, `out` and `out_g` are tuples. An input that it leaves out is
            not judged.
        function: a `torch.autograd.Function`, or a callable; takes the inputs in order, and has a backward of its own.
        gradients: the gradients that one call gave, by input.
        upstream: the upstream gradient of that call, shaped like its output (a tuple for several outputs); may be left
            out where the output is one number.
        seed: the seed that further inputs and upstream gradients are drawn from; another one each time if left out.

    Returns:
        A verdict on each gradient; it is true if all are right, and prints as text.

    Raises:
        TypeError: what is given is of the wrong kind, or cannot be called in this way.
        ValueError: `forward` cannot be run on the inputs, or has no gradient there that could be compared with.
    """
    if sum(option is not None for option in (backward, function, gradients)) != 1:
        raise TypeError("explain takes exactly one of backward=, function= and gradients=")
    if upstream is not None and gradients is None:
        raise TypeError("upstream= belongs to gradients=; otherwise upstream gradients are drawn")
    with one_thread(), torch.enable_grad(), np.errstate(all="ignore"):
        given = checked_inputs(inputs)
        usable = checked_forward(forward, given)
        if gradients is not None:
            code = code_of_numbers(gradients)
        elif backward is not None:
            code = code_of_backward(usable, backward)
        else:
            code = code_of_function(function)
        question = Question(usable, given, np.random.default_rng(seed), code)
        return _explain_code(question) if gradients is None else _explain_one_call(question, gradients, upstream)


@dataclass(frozen=True)
class Question:
    """All that `explain` is asked: a forward pass, the inputs of one call, and the code under test.

    Args:
        forward: the forward pass.
        given: the inputs by name.
        rng: draws further inputs and upstream gradients.
        code: the code under test.
    """

    forward: ForwardPass
    given: Mapping[str, Any]
    rng: np.random.Generator
    code: Code

    @property
    def wrt(self) -> tuple[str, ...]:
        """Return the names of the inputs that require a gradient: those marked so, or else all floating-point ones."""
        return inputs_with_grad(self.given) or floating_inputs(self.given)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each tensor among the inputs, by name."""
        return {name: tuple(value.shape) for name, value in self.given.items() if isinstance(value, torch.Tensor)}

    def call(self, inputs: Mapping[str, Any]) -> CodeCall:
        """Return a call of the code under test with these inputs and random upstream gradients."""
        outputs = self._outputs(inputs)
        arrays = [np.asarray(self.rng.standard_normal(tuple(out.shape))) for out in outputs]
        out_g = tuple(torch.from_numpy(array).to(out) for array, out in zip(arrays, outputs, strict=True))
        return CodeCall(inputs, out_g, self.wrt)

    def axes(self, *, runs: bool = True) -> list[Axis]:
        """Return the axes of the inputs.

        Args:
            runs: whether the code under test ran on the given inputs. If not, the axes are the same, each with no
                other size in `others`, for there is nothing to try.
        """

        def out_shape(shapes: Shapes) -> tuple[int, ...] | None:
            """Return the shape of the first output for inputs of these shapes; `None` where forward raises."""
            try:
                return tuple(self._outputs(self._resized(shapes))[0].shape)
            except Exception:
                return None

        def code_takes(shapes: Shapes) -> bool:
            """Return whether the code under test runs on inputs of these shapes."""
            return runs and self._error_at(shapes) == ""

        tensors = {name: self.given[name] for name in self.shapes}
        indices = {name: value for name, value in tensors.items() if value.dtype in INDICES and value.numel()}
        least = {name: int(value.max()) + 1 for name, value in indices.items()}
        small = with_small_sizes(self.shapes)
        if indices or small == self.shapes or out_shape(small) is None or not code_takes(small):
            return find_axes(self.shapes, out_shape, code_takes, least)
        axes = find_axes(small, out_shape, code_takes, least)
        return [replace(axis, size=self.shapes[name][i]) for axis in axes for name, i in axis.places[:1]]

    def refusal(self, axes: list[Axis]) -> str:
        """Return a note that names the axes whose size `forward` lets vary and the code under test does not.

        Args:
            axes: the axes of the inputs, as the method `axes` returns them.

        Returns:
            Such as "Mix was tried with n = 4 alone: it raises where x.shape[1] is 5 (IndexError: ...), but forward does
            not"; without the part behind the colon where inputs of this size, drawn again, are taken; empty if there is
            no such axis.
        """
        refused = [axis for axis in axes if axis.refused]
        if not refused:
            return ""
        first, (name, place) = refused[0], refused[0].places[0]
        error = self._error_at(with_sizes(self.shapes, {first.places: first.refused}))
        names = list_in_words(f"{axis.name} = {axis.size}" for axis in refused)
        where = f"where {name}.shape[{place}] is {first.refused} ({error})"
        why = f": it raises {where}, but forward does not" if error else ""
        return f"{self.code.name} was tried with {names} alone{why}"

    def drawing(self, axes: list[Axis], answers: tuple[str, ...], *, measured: bool) -> Drawing:
        """Return what trials are drawn from.

        Args:
            axes: the axes of the inputs, whose sizes may vary between trials.
            answers: the inputs whose gradients are judged.
            measured: whether the right gradients are measured by finite differences and not taken from torch.
        """
        names = axes_of_inputs(axes, self.shapes)
        exercise = exercise_of(self.forward, self.given, names, answers, self.code.upstream_name, measured=measured)
        double = all(self.given[name].dtype == torch.float64 for name in floating_inputs(self.given))
        precision = "float64" if double else "float32"
        return Drawing(exercise, self.forward, self.given, axes, self.wrt, precision, measured)

    @cached_property
    def own_backwards(self) -> frozenset[str] | None:
        """Return the names of the custom functions that torch's gradient of the forward pass goes through.

        `None` if torch computes no gradient: no output depends on an input, or the backward pass raises.
        """
        leaves = {name: self._double[name].requires_grad_() for name in floating_inputs(self.given)}
        try:
            with torch.enable_grad():
                outputs = outputs_of(self.forward(**{**self._double, **leaves}))
                total = join_outputs(outputs).sum()
            torch.autograd.grad(total, list(leaves.values()), retain_graph=True, allow_unused=True)
        except Exception:
            return None  # no output depends on an input, or a value that the backward pass needs was overwritten
        return frozenset().union(*map(_custom_functions, outputs))

    @cached_property
    def leaves_torch(self) -> bool:
        """Return whether the forward pass takes numbers out of tensors, whose further use torch cannot see."""
        return self.forward.leaves_torch(self._double)

    @property
    def _double(self) -> dict[str, Any]:
        """Return copies of the given inputs, the floating-point ones in float64."""
        return {name: detached_copy(in_double(value)) for name, value in self.given.items()}

    def _error_at(self, shapes: Shapes) -> str | None:
        """Return the exception that the code raises with inputs of other shapes, as text; empty if it raises none.

        `None` where forward raises.
        """
        try:
            call = self.call(self._resized(shapes))
        except Exception:
            return None
        return self.code.observe(call, at_other_sizes=True).error

    def report_at_other_sizes(self, code_trial: CodeTrial) -> CallReport:
        """Return what the code returns or raises in a trial with sizes that nobody gave; it is run there once."""
        report: CallReport = code_trial.trial.remember(
            "report", lambda: self.code.observe(code_trial.call, at_other_sizes=True)
        )
        return report

    def _outputs(self, inputs: Mapping[str, Any]) -> tuple[torch.Tensor, ...]:
        """Return the floating-point outputs of the forward pass for these inputs, without a graph."""
        with torch.no_grad():
            return outputs_of(self.forward(**{name: detached_copy(value) for name, value in inputs.items()}))

    def _resized(self, shapes: Shapes) -> dict[str, Any]:
        """Return the given inputs with those tensors redrawn that have another shape."""
        return resize(self.given, shapes, self.rng)


def _custom_functions(out: torch.Tensor) -> frozenset[str]:
    """Return the names of the custom functions (`torch.autograd.Function`) in the graph of an output."""
    names, waiting, seen = set[str](), [out.grad_fn], set[Any]()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(type(node), "_forward_cls"):
            names.add(type(node).__name__.removesuffix("Backward"))
        waiting += [following for following, _ in node.next_functions]
    return frozenset(names)


def _explain_code(question: Question) -> Explanation:
    """Explain the gradients of a backward pass or a function, which is run in trials like the given call."""
    code, given = question.code, question.given
    first = code.observe(question.call(given))
    returned = [name for name in floating_inputs(given) if name in first.gradients]
    candidates = {*inputs_with_grad(given), *returned}
    judged = tuple(name for name in floating_inputs(given) if name in candidates) or question.wrt
    axes = question.axes(runs=not first.error)
    notes = [refusal] if not first.error and (refusal := question.refusal(axes)) else []
    if left_out := [name for name in floating_inputs(given) if name not in judged and not inputs_with_grad(given)]:
        notes.append(f"{code.name} returns no gradient for {', '.join(left_out)}, so none is judged")
    notes += [
        f"the gradients of the tensors in {name} are not judged: {SEPARATE}" for name in _inputs_with_tensors(given)
    ]

    def takes(code_trial: CodeTrial) -> bool:
        """Return whether the code under test runs in a trial of other sizes, or could not even run as given."""
        return bool(first.error) or not question.report_at_other_sizes(code_trial).error

    def explanation(measured: bool) -> Explanation | None:
        """Draw trials, and judge the code in them by finite differences if `measured`, else by torch's gradients.

        `None` where torch's gradients cannot serve as a reference.
        """
        drawing = question.drawing(axes, judged, measured=measured)
        return _explanation_of(question, drawing, drawing.trials(question.rng, takes), notes)

    return _by_torch_or_measured(question, explanation)


def _explain_one_call(question: Question, gradients: Mapping[str, Any], upstream: Any) -> Explanation:
    """Explain the gradients that one call gave.

    Args:
        question: the forward pass, the inputs of the call, and code that gives its numbers.
        gradients: the gradients by input.
        upstream: the upstream gradient of that call, or a tuple of one for each output; may be `None` for one number.

    Raises:
        ValueError: a gradient is not that of a floating-point input, or `upstream` has another shape than the output.
    """
    given = question.given
    if not gradients or any(name not in floating_inputs(given) for name in gradients):
        known = ", ".join(floating_inputs(given))
        raise ValueError(f"gradients must have gradients of the floating-point inputs ({known}); it has {[*gradients]}")
    outputs = outputs_of(question.forward(**given))
    if upstream is None and join_outputs(outputs).numel() == 1:
        upstream = torch.ones_like(outputs[0])
    out_g = tuple(upstream) if isinstance(upstream, (tuple, list)) else (upstream,)
    if [getattr(g, "shape", None) for g in out_g] != [out.shape for out in outputs]:
        wanted = ", ".join(str(tuple(out.shape)) for out in outputs)
        raise ValueError(f"upstream must be the upstream gradient of that call, shaped like the output: {wanted}")
    axes, judged = question.axes(), tuple(name for name in floating_inputs(given) if name in gradients)
    joined_out_g = join_outputs(tuple(g.detach().double() for g in out_g)).numpy()

    def explanation(measured: bool) -> Explanation | None:
        """Judge the numbers of the one call by measured gradients or by torch's own."""
        drawing = question.drawing(axes, judged, measured=measured)
        base = drawing.trial_of(drawing.setting(GIVEN_KIND), question.rng)
        code_trial = None if base is None else drawing.with_upstream(base, joined_out_g, GIVEN_KIND)
        return _explanation_of(question, drawing, [code_trial] if code_trial else [], [ONE_CALL])

    return _by_torch_or_measured(question, explanation)


def _by_torch_or_measured(question: Question, explanation: Callable[[bool], Explanation | None]) -> Explanation:
    """Return the explanation by torch's own gradients, or by measured ones where torch's cannot be trusted.

    That is where torch has none, where they go through a custom function's backward pass, and where finite differences
    refute them.

    Args:
        question: the forward pass.
        explanation: returns the explanation by measured gradients (`True`) or by torch's own; `None` if these are
            refuted.
    """
    by_torch = None if question.own_backwards is None or question.own_backwards else explanation(False)
    if by_torch is not None:
        return by_torch
    by_differences = explanation(True)
    assert by_differences is not None  # measured gradients are not refuted
    return by_differences


def _explanation_of(
    question: Question, drawing: Drawing, trials: list[CodeTrial], notes: list[str]
) -> Explanation | None:
    """Run the code in the trials, and judge all gradients; `None` if finite differences refute torch's own gradients.

    Args:
        question: the forward pass, the given inputs and the code.
        drawing: the exercise, and what the trials were drawn from.
        trials: the trials.
        notes: sentences that are added to the explanation.

    Raises:
        ValueError: no trial with the given inputs has a gradient that could be compared with.
    """
    exercise, code = drawing.exercise, question.code
    if not any(code_trial.trial.setting.kind in AS_GIVEN for code_trial in trials):
        if not drawing.measured:
            return None
        raise ValueError(f"at the given inputs, {drawing.precision} cannot tell the gradient of forward from rounding")
    if not drawing.measured and not _is_confirmed(question, drawing, trials):
        return None
    runs = [
        Run(code_trial, code.observe(code_trial.call))
        if drawing.has_given_sizes(code_trial)
        else Run(code_trial, question.report_at_other_sizes(code_trial))
        for code_trial in trials
    ]
    counted = [run for run in runs if drawing.counts(run.code_trial)]
    others = [run for run in runs if run not in counted]
    twice = counted[0].report, code.observe(counted[0].code_trial.call)
    verdicts = Verdicts(exercise, code, counted, others, twice, drawing.measured)
    findings = {answer.name: verdicts.finding_of(answer) for answer in exercise.answers}
    if all(finding.status == "passed" for finding in findings.values()):
        findings |= {name: verdicts.finding_in_tie(name, index) for name, index in verdicts.broken_ties()}
    if drawing.measured and question.own_backwards and not code.runs_forward:
        for name in _answers_like_own_backward(question, verdicts):
            findings[name] = Finding(name, "error", says=UNTRUSTED.format(name=name))
    passed = [answer for answer in exercise.answers if findings[answer.name].status == "passed"]
    all_notes = [note for answer in passed for note in _notes_on_other_inputs(question, drawing, answer, others)]
    all_notes += [*notes, *_notes(question, drawing, verdicts)]
    about = _tensors_in_words(question, drawing, verdicts.shown_run.code_trial)

    def draw() -> tuple[Picture, ...]:
        """Return the pictures of the mistakes."""
        return _mistake_pictures(verdicts, list(findings.values()))

    if not code.runs_forward:
        return Explanation(tuple(findings.values()), about, tuple(all_notes), draw)
    all_findings = function_findings(findings, code, counted)
    unasked = unasked_gradients_note(code, counted)
    return Explanation(all_findings, about, (*all_notes, unasked) if unasked else tuple(all_notes), draw)


def _mistake_pictures(verdicts: Verdicts, findings: Sequence[Finding]) -> tuple[Picture, ...]:
    """Return the picture of each wrong gradient, as in the first of `Verdicts.informative_runs` in which it is wrong.

    Left out are gradients of a wrong shape, and those whose mistake another wrong gradient already shows.

    Args:
        verdicts: the judge of the gradients, with their arrays.
        findings: the verdicts.
    """
    from grader.rendering.figure_making import ComparedAnswer, figures  # only a notebook draws
    from grader.rendering.picture_data import Picture

    failed = {finding.answer: finding for finding in findings if finding.status == "failed"}
    pictures = []
    for answer in verdicts.exercise.answers:
        runs = [run for run in verdicts.informative_runs if run.is_wrong(answer)]
        if answer.name not in failed or not runs:
            continue
        trial, yours, right = runs[0].trial, runs[0].with_torchs_choices(answer), runs[0].right(answer)
        if yours is None or yours.shape != right.shape:
            continue
        axes = trial.axes(answer.wrt) or guess_axes(right.shape, trial.setting.sizes)
        samples = [sample for sample in samples_of(runs, answer) if sample.has_shape]
        mistake = failed[answer.name].mistake
        if mistake is not None and mistake.cause in failed and mistake.cause != answer.name:
            continue
        compared = ComparedAnswer(verdicts.exercise, answer, trial, yours, right, "right", axes, samples, mistake)
        pictures.append(Picture(answer.name, figures=figures(compared)))
    return tuple(picture for picture in pictures if picture.figures)


def _is_confirmed(question: Question, drawing: Drawing, trials: list[CodeTrial]) -> bool:
    """Return whether finite differences agree with torch's own gradients in the first trial with each set of inputs.

    Args:
        question: draws the directions of the differences.
        drawing: holds the exercise whose forward pass is differentiated.
        trials: the trials; of large inputs the first one of each size is enough.
    """
    held = not question.leaves_torch
    return all(
        are_gradients_confirmed(drawing.exercise, code_trial.trial, question.rng, held=held)
        for code_trial in _first_with_inputs(trials)
    )


def _first_with_inputs(trials: list[CodeTrial]) -> list[CodeTrial]:
    """Return the first trial with each set of inputs, and of large inputs the first one of each size.

    A gradient is linear in the upstream gradient, so one upstream gradient is enough.
    """
    first: dict[Hashable, CodeTrial] = {}
    for code_trial in trials:
        inputs = [value for value in code_trial.trial.inputs.values() if isinstance(value, torch.Tensor)]
        is_large = sum(value.numel() for value in inputs) > LARGE_CONFIRMED
        first.setdefault(tuple(value.shape if is_large else id(value) for value in inputs), code_trial)
    return list(first.values())


def _answers_like_own_backward(question: Question, verdicts: Verdicts) -> Iterator[str]:
    """Yield the names of the wrong gradients that agree with a backward pass inside `forward`.

    The right gradients are measured by finite differences, with which that backward pass does not agree. The author may
    mean either (a straight-through estimator, or a mistake), so these gradients are not judged.
    """
    run = verdicts.runs[0]
    exercise = exercise_of(question.forward, question.given, {}, tuple(a.name for a in verdicts.exercise.answers), "g")
    for answer in verdicts.exercise.answers:
        array = run.array(answer)
        own = autograd_answer(exercise, answer, run.trial.inputs, run.trial.out_g)
        if (
            array is not None
            and run.is_wrong(answer)
            and scaled_error(array, own) <= run.code_trial.bounds[answer.name]
        ):
            yield answer.name


def _notes_on_other_inputs(question: Question, drawing: Drawing, answer: Answer, others: list[Run]) -> Iterator[str]:
    """Yield a note if a gradient is right for the given inputs, and wrong for other sizes, or other values of some.

    The values are those of floating-point inputs whose gradients are not judged.

    Args:
        question: the forward pass and the code.
        drawing: draws a trial with one other size.
        answer: the gradient, which passed.
        others: the runs with other sizes than the given ones, or with other values of inputs that are not judged.
    """
    failing = [run for run in others if run.fails(answer)]
    if not failing:
        return
    if any(drawing.has_given_sizes(run.code_trial) for run in failing):
        tables = list_in_words(drawing.tables)
        yield f"{answer.name} is right with the given {tables}, but wrong with others that were drawn in their range"
        return
    wrong_sizes: dict[str, set[int]] = {}
    for run in failing:
        sizes = run.trial.setting.sizes
        other = [axis for axis, size in drawing.sizes.items() if sizes[axis] != size]
        alone = [axis for axis in other if _fails_alone(question, drawing, answer, axis, sizes[axis])]
        for axis in alone or other:
            wrong_sizes.setdefault(axis, set()).add(sizes[axis])
    conditions = []
    for axis, wrong in wrong_sizes.items():
        right_sizes = {run.trial.setting.sizes[axis] for run in others if not run.fails(answer)}
        is_right_at_given_alone = right_sizes <= {drawing.sizes[axis]}
        conditions.append(
            f"{axis} is not {drawing.sizes[axis]}" if is_right_at_given_alone else f"{axis} is {min(wrong)}"
        )
    examples = list_in_words(f"{axis} = {size}" for axis, wrong in wrong_sizes.items() for size in sorted(wrong))
    where = list_in_words(conditions)
    yield f"{answer.name} is right at the given sizes, but wrong where {where} ({examples} was tried)"


def _fails_alone(question: Question, drawing: Drawing, answer: Answer, axis: str, size: int) -> bool:
    """Return whether an answer is wrong where one axis has another size and every other axis the given one.

    Args:
        question: the inputs, and the code under test.
        drawing: draws the trial.
        answer: the gradient to judge.
        axis: the name of the axis.
        size: its other size.
    """
    code_trial = drawing.trial_of(drawing.setting(ONE_AXIS_KIND, {**drawing.sizes, axis: size}), question.rng)
    return code_trial is not None and Run(
        code_trial, question.code.observe(code_trial.call, at_other_sizes=True)
    ).fails(answer)


def _notes(question: Question, drawing: Drawing, verdicts: Verdicts) -> Iterator[str]:
    """Yield notes on how gradients were judged, and on the entries and inputs that the verdicts do not hold for."""
    if drawing.measured:
        yield MEASURED.format(why=_why_measured(question))
    if verdicts.untraced:
        yield UNTRACED
    elif verdicts.has_branches:
        yield BRANCHES
    yield from (SEARCH_FAILED.format(name=name, error=error) for name, error in verdicts.search_errors.items())
    given = verdicts.runs[0]
    for answer in verdicts.exercise.answers:
        if count := int(given.unjudged(answer).sum()):
            why = "only some are measured" if drawing.measured else "forward has no finite gradient there"
            yield f"{answer.name} is not judged at {count} of its {given.right(answer).size} given entries: {why}"
        as_given = [run for run in verdicts.runs if run.trial.setting.kind in AS_GIVEN and not run.layout]
        wrong = any(run.is_wrong(answer) for run in verdicts.runs if not run.layout)
        if wrong and as_given and not any(run.is_wrong(answer) for run in as_given):
            yield f"{answer.name} is right at the given inputs, but wrong at others that were drawn in their range"


def _why_measured(question: Question) -> str:
    """Return the reason, a clause, why the right gradients are measured and not taken from torch."""
    if question.own_backwards:
        return f"torch's own go through the backward pass of {list_in_words(sorted(question.own_backwards))}"
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


def _tensors_in_words(question: Question, drawing: Drawing, shown: CodeTrial) -> str:
    """Return the given tensors with their axes and sizes, such as "x (bs=7, n=5), b (m=3,)".

    If the findings are about other sizes, these follow: "x (bs=3,); the numbers below are of a call with bs=4".

    Args:
        question: the given inputs.
        drawing: their axes.
        shown: the trial that the findings are about.
    """
    axes = axes_of_inputs([*drawing.axes], question.shapes)
    given = ", ".join(f"{name} {describe(shape, axes[name])}" for name, shape in question.shapes.items())
    others = [f"{axis}={n}" for axis, n in shown.trial.setting.sizes.items() if drawing.sizes.get(axis, n) != n]
    return f"{given}; the numbers below are of a call with {', '.join(others)}" if others else given
