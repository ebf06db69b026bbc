"""What anyone can see of a wrong answer: how far the loss moves with one entry nudged, or the call that gave it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from grader.child.call_arguments import grouped
from grader.course.exercise import Answer, Declaration, Exercise, Routine
from grader.course.sampling import Array, Dtype, Function
from grader.reference.compare import worst_entry
from grader.reference.finite_differences import nudged
from grader.reference.references import loss_of
from grader.reference.trial import Trial

from .mistake import Mistake

NUDGE = 1e-4
MOST_SHOWN = 6  # entries of an array that is written out
Pair = tuple[Trial, np.ndarray]


def evidence_of(exercise: Declaration, answer: Answer, wrong: Sequence[Pair], mistake: Mistake | None = None) -> str:
    """What a nudge does of the entry that the finding names, or else of the one that is furthest off.

    Args:
        wrong: the trials in which the answer is wrong, each with the learner's array.
        mistake: what the finding says, if it may name an entry.

    Returns:
        A sentence; empty where a nudge says nothing.
    """
    trial, array, index = _named_entry(answer, wrong, mistake) or _worst_entry(answer, *wrong[0])
    argument = trial.arguments.get(answer.wrt)
    if not isinstance(exercise, Exercise) or answer.kind == "value" or index is None:
        return ""
    if isinstance(argument, Array) and argument.g is not None and answer.stored:
        return ""
    out_g = trial.out_g
    assert out_g is not None
    values, nudge, what = trial.inputs[answer.wrt].numpy(), index, "the output"
    if answer.kind == "jacobian":
        of, nudge = index[: out_g.ndim], index[out_g.ndim :]
        trial, what = _of_one_output(trial, out_g, of), _entry("output", of) if of else what
    elif exercise.gives_upstream or array.ndim == 0 or out_g.ndim == 0:
        what = "the loss"
    moved = loss_of(exercise, trial, answer.wrt, nudged(values, nudge, NUDGE))
    change = brief(moved - loss_of(exercise, trial, answer.wrt, values))
    yours = brief(NUDGE * array[index])
    if change == yours:  # so near that a nudge does not tell them apart
        return ""
    name = "Jacobian" if answer.kind == "jacobian" else "gradient"
    return f"nudge {_entry(answer.wrt, nudge)} by 1e-4: {what} moves by {change}, your {name} says {yours}"


def _entry(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{','.join(map(str, index))}]" if index else name


def _of_one_output(trial: Trial, out_g: torch.Tensor, index: tuple[int, ...]) -> Trial:
    """The same trial with one entry of the output for a loss."""
    chosen = torch.zeros_like(out_g)
    chosen[index] = 1
    return replace(trial, out_g=chosen)


def _named_entry(
    answer: Answer, wrong: Sequence[Pair], mistake: Mistake | None
) -> tuple[Trial, np.ndarray, tuple[int, ...]] | None:
    """The entry that a finding names, in the trial that it is named in: there the input has the value that it tells."""
    told = mistake.facts[0].parameters if mistake is not None and mistake.facts else {}
    if "place" not in told:
        return None
    index = tuple(told["place"])
    for trial, array in wrong:
        inside = len(index) == array.ndim and all(i < size for i, size in zip(index, array.shape, strict=True))
        if inside and told["value"] in ("", _value(trial.inputs[answer.wrt], index)):
            return trial, array, index
    return None


def _value(values: Any, index: tuple[int, ...]) -> str:
    """One entry as findings tell it; nothing where there is no such entry."""
    return f"{float(values[index]):.3g}" if len(index) == values.ndim else "no entry"


def _worst_entry(answer: Answer, trial: Trial, array: np.ndarray) -> tuple[Trial, np.ndarray, tuple[int, ...] | None]:
    expected = trial.expected[answer.name]
    same = expected is not None and array.shape == expected.shape
    return trial, array, worst_entry(array, expected) if same else None  # type: ignore[arg-type]


def call_evidence(name: str, routine: Routine, answer: Answer, wrong: Sequence[Pair], *, reveal: bool) -> str:
    """The smallest call that gave a wrong answer, to be typed in again, and the answer; empty where it is too long.

    Args:
        name: of the learner's function.
        answer: all that it returns, or a part of it.
        wrong: the trials in which the answer is wrong, each with the learner's array.
        reveal: the right answer may be told, if there is only one.
    """
    fewest = min(_entries(trial) for trial, _ in wrong)
    if fewest > MOST_SHOWN:
        return ""
    small = [(_typed_call(name, routine, trial), trial, array) for trial, array in wrong if _entries(trial) == fewest]
    call, trial, array = min(small, key=lambda each: len(each[0]))
    if array.size > MOST_SHOWN:
        return ""
    expected = trial.expected[answer.name]
    given, must = f"returns {shown(array)}", "return"
    if answer.place is not None:
        given, must = f"has {shown(array)} as its {answer.name}", "have"
    right = (
        f", and must {must} {shown(expected)}" if reveal and routine.accepts is None and expected is not None else ""
    )
    return f"{call} {given}{right}"


def _typed_call(name: str, routine: Routine, trial: Trial) -> str:
    """A call as it is typed in; of a function that is written as a `def`, the body is told beforehand."""
    known = grouped(trial.arguments)
    given = {argument: known[argument] for argument in routine.argument_names}
    bodies = {a: body_shown(v.source) for a, v in given.items() if isinstance(v, Function) and "\n" in v.source}
    arguments = ", ".join(a if a in bodies else f"{a}={_typed(value)}" for a, value in given.items())
    return "".join(f"with `{body}` in {a}, " for a, body in bodies.items()) + f"{name}({arguments})"


def body_shown(source: str) -> str:
    """The body of a function that is written as a `def`, on one line; empty where that is not to be read."""
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    lines = [ast.unparse(statement).splitlines() for statement in function.body]
    return "; ".join(" ".join(map(str.strip, each)) for each in lines) if max(map(len, lines)) <= 2 else ""


def both_shown(answer: Answer, trial: Trial, array: np.ndarray) -> str:
    """The right answer beside the learner's, where both are short."""
    expected = trial.expected[answer.name]
    if expected is None or max(expected.size, array.size) > MOST_SHOWN:
        return ""
    return f"expected {shown(expected)}, yours is {shown(array)}"


def _entries(trial: Trial) -> int:
    sizes = (value.values.size if isinstance(value, Array) else len(value)
             for value in trial.arguments.values() if isinstance(value, (Array, list)))  # fmt: skip
    return max(sizes, default=1)


def _typed(value: Any) -> str:
    """An argument as Python reads it, with as many digits as it takes to see the same again."""
    if isinstance(value, Array):
        entries = np.array2string(value.values, separator=", ", formatter={"float_kind": lambda x: f"{x:.4g}"})
        return f"torch.tensor({' '.join(entries.split())})"
    if isinstance(value, list) and any(isinstance(each, Array) for each in value):
        return f"[{', '.join(map(_typed, value))}]"
    if isinstance(value, Function):
        return value.source
    if isinstance(value, Dtype):
        return f"torch.{value.name}"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def shown(array: np.ndarray) -> str:
    """A short array on one line."""
    text = np.array2string(array, separator=", ", formatter={"float_kind": lambda x: f"{x + 0.0:.3g}"})
    return " ".join(text.split())


def brief(number: float) -> str:
    """A small number with three digits that count; 0 is 0."""
    return f"{number:.2e}" if number else "0"
