"""One wrong rule at one place of the reverse sweep, and the words for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from grader.reference.symbolic_numbers import spelling
from grader.reference.trace import Place, Position, Rule, Step, Trace

UPSTREAM = "out_g"
CONTRACTIONS = {"matmul", "mm", "bmm", "__matmul__", "__rmatmul__"}
SUMS = {"add", "sub", "__rsub__"}
AVERAGES = {"mean"}
REDUCTIONS = {"sum", *AVERAGES}
NORMALISING = {"softmax", "log_softmax", "logsumexp"}
EXPANSIONS = {"expand", "expand_as", "broadcast_to"}
ALONG_AN_AXIS = set(
    "max min amax amin cumsum cumprod logcumsumexp softmax log_softmax logsumexp flip roll var std cat stack".split()
)
RESHAPES = {"squeeze", "unsqueeze", "reshape", "view", "flatten", "transpose", "t", "permute", "expand", "__getitem__"}


@dataclass(frozen=True)
class Fault:
    """A wrong rule at one place of the reverse sweep.

    Args:
        code: the mistake's public code.
        says: a clause about the answer.
        step: the step it happens at.
        position: the operand, `None` for the upstream gradient of the whole step.
        rule: what is computed instead.
    """

    code: str
    says: str
    step: int
    position: Position | None
    rule: Rule

    @property
    def place(self) -> Place:
        """Where in the forward graph it happens."""
        return self.step, self.position


Make = Callable[[str, str, Rule], Fault]


def name_of(trace: Trace, key: str) -> str:
    """What a learner calls a value: `inp`, `out`, or the result of an operation."""
    if key == trace.out:
        return trace.output_name
    if key == UPSTREAM:
        return "out.g"
    return f"the result of {words(trace.steps[int(key[1:])])}" if key.startswith("%") else key


def words(step: Step) -> str:
    """An operation in a learner's words: `mean`, `** 2`, the second `3 *`, `clamp lo, hi`."""
    return f"{step.nth}`{spelt(step)}`"


def spelt(step: Step) -> str:
    """An operation as a learner spells it, without quotes: mean, ** 2, clamp lo, hi."""
    constants = [value for value in step.args if isinstance(value, (int, float)) and not isinstance(value, bool)]
    text = step.label
    if constants and step.name not in RESHAPES | REDUCTIONS | ALONG_AN_AXIS:
        numbers = ", ".join(map(spelling, constants))
        text = f"{step.label} {numbers}"
        if step.name == "pow":
            text = f"** {numbers}"
        if step.name in {"__rdiv__", "__rtruediv__", "__rsub__"}:
            text = f"{numbers} {step.label}"
    return text


def with_operand(position: Position, where: Position, change: Callable[[torch.Tensor], torch.Tensor]) -> Rule:
    """The step's vjp with another operand changed."""
    return lambda trace, step, g: step.vjp(position, g, {where: change(step.operand(where))})


def axis_of(step: Step) -> int | None:
    """The one axis that an operation is given."""
    axis = step.kwargs.get("dim", step.args[1] if len(step.args) > 1 else None)
    return axis if type(axis) is int else None


def along(step: Step, axis: int | tuple[int, ...]) -> Step:
    """The same operation along another axis, or several."""
    if "dim" in step.kwargs:
        other = replace(step, kwargs={**step.kwargs, "dim": axis})
    else:
        other = replace(step, args=(step.args[0], axis, *step.args[2:]))
    return replace(other, value=other.apply({}))
