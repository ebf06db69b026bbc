"""Torch's operations by family, and how a record writes them, their values and axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from grader.shapes import guess_axes

from .symbolic_numbers import spelling
from .trace import Step, Trace

CONTRACTIONS = {"matmul", "mm", "bmm", "mv", "dot", "__matmul__", "__rmatmul__", "einsum", "linear", "outer"}
SUMS = {"add", "sub", "__rsub__"}
PRODUCTS = {"mul", "div"}
AVERAGES = {"mean"}
REDUCTIONS = {"sum", *AVERAGES}
NORMALISING = {"softmax", "log_softmax", "logsumexp"}
EXPANSIONS = {"expand", "expand_as", "broadcast_to"}
JOINS = {"cat", "concat", "concatenate", "stack"}
RESHAPES = {"squeeze", "unsqueeze", "reshape", "view", "flatten", "transpose", "t", "permute", "expand", "__getitem__"}
ALONG_AN_AXIS = set(
    "max min amax amin cumsum cumprod logcumsumexp softmax log_softmax logsumexp flip roll var std cat stack concat "
    "concatenate sort argsort argmax argmin gather index_select take_along_dim select narrow prod diff".split()
)


def axis_of(step: Step) -> int | None:
    """The one axis that an operation is given; None where it is given none, or several."""
    place = step.args[1] if len(step.args) > 1 and step.name in (ALONG_AN_AXIS | REDUCTIONS) - {"roll"} else None
    axis = step.kwargs.get("dim", step.kwargs.get("axis", place))
    return axis if type(axis) is int else None


def sole_axis(step: Step) -> int:
    """The one axis that an operation is given.

    Raises:
        ValueError: it is given none, or several.
    """
    axis = axis_of(step)
    if axis is None:
        raise ValueError("the operation has no axis")
    return axis


def along(step: Step, axis: int | tuple[int, ...]) -> Step:
    """The same operation along another axis, or several."""
    key = next((name for name in ("dim", "axis") if name in step.kwargs), None)
    if key is not None:
        other = replace(step, kwargs={**step.kwargs, key: axis})
    else:
        other = replace(step, args=(step.args[0], axis, *step.args[2:]))
    return replace(other, value=other.apply({}))


def spelt(step: Step) -> str:
    """Return an operation as a learner spells it, such as `mean`, `** 2` or `clamp lo, hi`; cached on the step."""
    kept = vars(step)  # as `cached_property` does: every edit at a step speaks of it
    if "spelt" not in kept:
        kept["spelt"] = _spelt(step)
    return str(kept["spelt"])


def _spelt(step: Step) -> str:
    """Return an operation as a learner spells it, with its constants unless they are shapes or axes."""
    constants = list(step.constants.values())
    text = step.label
    if constants and step.name not in RESHAPES | REDUCTIONS | ALONG_AN_AXIS:
        numbers = ", ".join(map(spelling, constants))
        text = f"{step.label} {numbers}"
        if step.name == "pow":
            text = f"** {numbers}"
        if step.name == "clamp_min" and constants == [0]:
            text = "relu"
        if step.name in {"__rdiv__", "__rtruediv__", "__rsub__"}:
            text = f"{numbers} {step.label}"
    return text


def step_name(step: Step) -> str:
    """An operation in a record: `` `mean` ``, or `` `@`#2 `` for the second of its kind."""
    return f"`{spelt(step)}`#{step.nth}" if step.nth else f"`{spelt(step)}`"


def value_name(trace: Trace, key: str) -> str:
    """A value in a record: `inp`, `out`, `inp.g`, a named step, or `` %`@`#2 `` for what an operation gives."""
    if key == trace.out:
        return trace.output_name
    if key in trace.names:
        return trace.names[key]
    return f"%{step_name(trace.steps[int(key[1:])])}" if key.startswith("%") else key


def of_any_turn(trace: Trace, name: str) -> str:
    """A value of a loop without its number, for every turn has its own."""
    text, numbered, _ = name.partition("#")
    made = (step for step in trace.steps if numbered and step_name(step) == name[1:])
    return text if any(len(trace.turns[step.line]) > 1 for step in made) else name


def axis_names(shape: Iterable[int], sizes: Mapping[str, int]) -> list[list[Any]]:
    """Axes in a record, each with its name, which may be empty, and its size."""
    shape = list(shape)
    names = zip(guess_axes(shape, sizes), shape, strict=True)
    return [["" if name.startswith("_") else name, size] for name, size in names]
