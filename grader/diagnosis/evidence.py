"""Evidence for a wrong answer: how far the loss moves with one entry nudged, or the call that gave the answer."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from grader.child.call_arguments import group_arguments
from grader.course.exercise import RETURN, Answer, Declaration, Exercise, Routine
from grader.course.sampling import Array, Dtype, Function
from grader.reference.compare import worst_entry
from grader.reference.finite_differences import add_step
from grader.reference.references import detaching_matters, loss_of
from grader.reference.trial import Sample, Trial

from .facts import stated_numbers
from .mistake import Mistake
from .words import answer_in_words

NUDGE = 1e-4
KINK = 0.25  # how far a nudge may be off the right gradient, in proportion to the learner's error
MOST_SHOWN = 6  # entries of an array that is written out
MOST_DIGITS = 17  # that a float in double precision has


def evidence_of(exercise: Declaration, answer: Answer, wrong: Sequence[Sample], mistake: Mistake | None = None) -> str:
    """Return a sentence on a finite difference: how far the loss moves, and how far the learner's gradient says.

    It is of the entry that the mistake names, else of the one with the largest error.

    Args:
        exercise: declares the answer.
        answer: the answer.
        wrong: the samples in which it is wrong.
        mistake: the mistake, which may name an entry.

    Returns:
        Such as "nudge x[0,1] by 1e-4: the loss moves by 2.00e-04, your gradient says 1.00e-04"; empty where there is
        no gradient to measure, the learner's array has a wrong shape, the two numbers look the same, or the right
        gradient is not that of the forward pass.
    """
    sample = _sample_of_message(answer, wrong, mistake)
    index = _named_index(answer, sample, mistake)
    index = _worst_entry(sample) if index is None else index
    trial, array = sample.trial, sample.given
    argument = trial.arguments.get(answer.wrt)
    if not isinstance(exercise, Exercise) or answer.kind == "value" or index is None:
        return ""
    if isinstance(argument, Array) and argument.g is not None and answer.stored:
        return ""
    out_g = trial.out_g
    assert out_g is not None
    values, nudge = trial.inputs[answer.wrt].numpy(), index
    observed = exercise.output_name if answer.name == RETURN else "the output"
    if answer.kind == "jacobian":
        output_index, nudge = index[: out_g.ndim], index[out_g.ndim :]
        trial = _of_one_output(trial, out_g, output_index)
        observed = _entry("output", output_index) if output_index else observed
    elif exercise.gives_upstream or (answer.name != RETURN and (array.ndim == 0 or out_g.ndim == 0)):
        observed = "the loss"
    nudged = add_step(values, nudge, NUDGE)
    if detaching_matters(exercise, trial, answer.wrt, nudged):  # whoever repeats the nudge sees another number
        return ""
    moved = loss_of(exercise, trial, answer.wrt, nudged) - loss_of(exercise, trial, answer.wrt, values)
    if abs(moved - NUDGE * sample.expected[index]) > KINK * abs(NUDGE * (array[index] - sample.expected[index])):
        return ""  # at a kink a nudge does not give the right gradient
    change = brief(moved)
    if change == "0" and detaching_matters(exercise, trial, answer.wrt, values + NUDGE):  # as it is for every nudge
        return ""
    yours = brief(NUDGE * array[index])
    if change == yours:  # so near that a nudge does not tell them apart
        return ""
    name = "Jacobian" if answer.kind == "jacobian" else "gradient"
    return f"nudge {_entry(answer.wrt, nudge)} by 1e-4: {observed} moves by {change}, your {name} says {yours}"


def _entry(name: str, index: tuple[int, ...]) -> str:
    """Return the name of an entry of an array, such as `w[0,2]`; that of the array for an empty index."""
    return f"{name}[{','.join(map(str, index))}]" if index else name


def _of_one_output(trial: Trial, out_g: torch.Tensor, index: tuple[int, ...]) -> Trial:
    """Return the trial with an upstream gradient of 1 at one entry of the output and 0 elsewhere.

    Args:
        trial: the trial.
        out_g: its upstream gradient, of which the shape and dtype are taken.
        index: the index of the entry.
    """
    chosen = torch.zeros_like(out_g)
    chosen[index] = 1
    return replace(trial, out_g=chosen)


def _sample_of_message(answer: Answer, wrong: Sequence[Sample], mistake: Mistake | None) -> Sample:
    """Return the first wrong sample that has the entry, or the counts of entries, in the message of a mistake.

    It is the first one of all if the message has neither, or no sample has what it says.

    Args:
        answer: the answer.
        wrong: the samples in which it is wrong, at least one.
        mistake: the mistake; `None` where none is known.
    """
    named = (sample for sample in wrong if _named_index(answer, sample, mistake) is not None)
    counted = (sample for sample in wrong if stated_numbers(mistake, sample))
    return next(named, None) or next(counted, wrong[0])


def _named_index(answer: Answer, sample: Sample, mistake: Mistake | None) -> tuple[int, ...] | None:
    """Return the index of the entry of the target that a mistake's first fact names.

    `None` if no mistake is given, its first fact names no entry or one that the learner's array lacks, or it names the
    value there and the input has another one.
    """
    fields = mistake.facts[0].parameters if mistake is not None and mistake.facts else {}
    if "place" not in fields:
        return None
    index, shape = tuple(fields["place"]), sample.given.shape
    inside = len(index) == len(shape) and all(i < size for i, size in zip(index, shape, strict=True))
    is_named = inside and fields["value"] in ("", _entry_text(sample.trial.inputs[answer.wrt], index))
    return index if is_named else None


def _entry_text(values: Any, index: tuple[int, ...]) -> str:
    """Return an entry of an array with three significant digits, such as "0.501".

    Args:
        values: an array or tensor.
        index: a number for each axis; for more or fewer numbers, return "no entry".
    """
    return f"{float(values[index]):.3g}" if len(index) == values.ndim else "no entry"


def _worst_entry(sample: Sample) -> tuple[int, ...] | None:
    """Return the index of the learner's entry furthest from the right one; `None` if the array has a wrong shape."""
    return worst_entry(sample.given, sample.expected) if sample.has_shape else None


def shown_sample(
    name: str, declaration: Declaration, answer: Answer, wrong: Sequence[Sample], mistake: Mistake | None
) -> Sample | None:
    """Return the wrong sample that both the evidence and the picture of a wrong answer are of.

    `None` where the evidence of a routine would be too long.

    Args:
        name: the name of the learner's function.
        declaration: declares the function.
        answer: the answer.
        wrong: the samples in which it is wrong, at least one.
        mistake: the mistake, whose message may state numbers of one trial; `None` where none is known.
    """
    if isinstance(declaration, Routine):
        return _sample_of_call(name, declaration, [s for s in wrong if stated_numbers(mistake, s)] or wrong)
    return _sample_of_message(answer, wrong, mistake)


def call_evidence(name: str, routine: Routine, answer: Answer, sample: Sample | None, *, reveal: bool) -> str:
    """Return a call that gave a wrong answer, as it can be typed in again, and the answer.

    Args:
        name: the name of the learner's function.
        routine: declares the function.
        answer: the value that the function returns, or one of several.
        sample: the sample of the call, from `shown_sample`.
        reveal: whether the right answer may be shown, where there is only one.

    Returns:
        Such as "area(f, 0.5) returns 2, but must return 3"; empty without a sample.
    """
    if sample is None:
        return ""
    call = _call_source(name, routine, sample.trial)
    given, expected = _array_texts(sample)
    place = "" if answer.place is None else f" as {answer_in_words(answer.name)}"
    is_asked = sample.trial.expected[answer.name] is not None
    if not (reveal and routine.accepts is None and is_asked):
        return f"{call} returns {given}{place}"
    return f"{call} returns {given}{place}, but must return {expected}"


def _sample_of_call(name: str, routine: Routine, wrong: Sequence[Sample]) -> Sample | None:
    """Return the wrong sample of the shortest call; `None` where an array has more than `MOST_SHOWN` entries.

    That is, of the calls whose largest array or list is smallest, the one with the shortest source. Neither this array
    nor what the learner's function returned may have more entries.

    Args:
        name: the name of the learner's function.
        routine: declares the function.
        wrong: the samples in which the answer is wrong, at least one.
    """
    fewest = min(sample.trial.largest_size for sample in wrong)
    if fewest > MOST_SHOWN:
        return None
    small = [sample for sample in wrong if sample.trial.largest_size == fewest]
    shortest = min(small, key=lambda sample: len(_call_source(name, routine, sample.trial)))
    return shortest if shortest.given.size <= MOST_SHOWN else None


def _call_source(name: str, routine: Routine, trial: Trial) -> str:
    """Return a call of the learner's function with the arguments of a trial as source code: `area(f=lambda x: x)`.

    An argument that is a function of several lines is named in the call, and its body stands before the call.

    Args:
        name: the name of the learner's function.
        routine: declares the arguments.
        trial: the trial.
    """
    known = group_arguments(trial.arguments)
    given = {argument: known[argument] for argument in routine.argument_names}
    bodies = {a: body_text(v.source) for a, v in given.items() if isinstance(v, Function) and "\n" in v.source}
    arguments = ", ".join(a if a in bodies else f"{a}={_argument_source(value)}" for a, value in given.items())
    return "".join(f"for a `{a}` that does `{body}`, " for a, body in bodies.items()) + f"{name}({arguments})"


def body_text(source: str) -> str:
    """Return the body of a function from the source of its `def`, on one line.

    Empty where a statement of the body has more than two lines.
    """
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    lines = [ast.unparse(statement).splitlines() for statement in function.body]
    return "; ".join(" ".join(map(str.strip, each)) for each in lines) if max(map(len, lines)) <= 2 else ""


def sample_text(answer: Answer, sample: Sample, mistake: Mistake) -> str:
    """Return "expected [1 2], yours is [1 3]"; empty where one of the arrays has more than `MOST_SHOWN` entries.

    Where the mistake is in the new gradient, and the answer adds this to a prior one, the text is of what is added.

    Args:
        answer: the answer.
        sample: the sample, which is wrong.
        mistake: the mistake.
    """
    if max(sample.expected.size, sample.given.size) > MOST_SHOWN:
        return ""
    if sample.trial.prior(answer) is None or mistake.rewrite is None or not sample.has_shape:
        given, expected = _array_texts(sample)
        return f"expected {expected}, yours is {given}"
    given, expected = _array_texts(sample.without_prior(answer))
    return f"expected {expected} to be added to what is stored, yours adds {given}"


def _array_texts(sample: Sample) -> tuple[str, str]:
    """Return the learner's array and the right one as text, with three significant digits, or as many as differ."""
    digits = range(3, MOST_DIGITS + 1)
    texts = ((array_text(sample.given, count), array_text(sample.expected, count)) for count in digits)
    return next((pair for pair in texts if pair[0] != pair[1]), (array_text(sample.given), array_text(sample.expected)))


def _argument_source(value: Any) -> str:
    """Return an argument as a Python expression, with enough digits to give the same wrong answer again.

    Args:
        value: an `Array`, a list, a `Function`, a `Dtype`, or a plain value such as a number or a tuple.

    Returns:
        Such as "torch.tensor([0.5, 1.25])", "lambda x: x**2", "torch.float32" or "0.001".
    """
    if isinstance(value, Array):
        entries = np.array2string(value.values, separator=", ", formatter={"float_kind": lambda x: f"{x:.4g}"})
        return f"torch.tensor({' '.join(entries.split())})"
    if isinstance(value, list) and any(isinstance(each, Array) for each in value):
        return f"[{', '.join(map(_argument_source, value))}]"
    if isinstance(value, Function):
        return value.source
    if isinstance(value, Dtype):
        return f"torch.{value.name}"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def array_text(array: np.ndarray, digits: int = 3) -> str:
    """Return an array on one line, with this many significant digits for each entry."""
    text = np.array2string(array, separator=", ", formatter={"float_kind": lambda x: f"{x + 0.0:.{digits}g}"})
    return " ".join(text.split())


def brief(number: float) -> str:
    """Return a number in scientific notation with three significant digits; 0 as "0"."""
    return f"{number:.2e}" if number else "0"
