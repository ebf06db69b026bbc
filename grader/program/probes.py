"""What can be told of gradients without computing them all: projections on random directions, and rounding.

`draw_tangents` prepares a trial; `Program.change` then costs one rule and one product for a candidate, for all answers
at once. `tolerances` tells how far rounding to single precision moves each gradient.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from .forward import Change
from .operation import Array
from .program import EdgeContext, Program, Tangents

STEP = 1e-5  # of a central difference in double precision: its own error and that of rounding are equally small
SINGLE_PRECISION = 6e-8  # the relative error of one rounding
SAFETY = 10.0  # a learner rounds other things, and more often


@np.errstate(all="ignore")
def draw_tangents(
    program: Program,
    generator: np.random.Generator,
    targets: Iterable[str] | None = None,
    directions: int = 2,
    dtype: type[np.floating] = np.float64,
    largest: float = float("inf"),
) -> Tangents:
    """Draw random directions of every target, and return the derivatives of all values along them.

    Each is the central difference of two runs of the forward pass. Forward-mode differentiation costs torch most of a
    second in each process before the first tangent.

    Args:
        program: the right one.
        generator: what the directions are drawn from.
        targets: those whose gradients are probed, such as the wrong answers; all by default.
        directions: for each target; for many, no more than it has entries. One leaves three times as many wrong
            candidates as two.
        dtype: of the tangents; single precision takes half of the memory, which they are most of.
        largest: the most entries of a value whose derivatives are kept.
    """
    forward = program.forward
    drawn, rows, tangents = {}, {}, dict[int, Array]()
    targets = forward.targets if targets is None else tuple(targets)
    counts = [min(directions, max(2, forward.nodes[forward.targets[name]].value.size)) for name in targets]
    for number, name in enumerate(targets):
        target = forward.targets[name]
        x = forward.nodes[target].value
        drawn[name] = generator.standard_normal((counts[number], *x.shape))
        rows[name] = slice(sum(counts[:number]), sum(counts[: number + 1]))
        step = STEP * max(1.0, float(np.abs(x).max(initial=0.0)))
        for row, direction in enumerate(drawn[name], rows[name].start):
            ahead, back = (
                forward.run_nodes({target: _moved(by * direction)}, gradient_paths=True) for by in (step, -step)
            )
            for value, (a, b) in enumerate(zip(ahead, back, strict=True)):
                if a is not b and forward.uses[value] and a.value.size <= largest:
                    if value not in tangents:
                        tangents[value] = np.zeros((sum(counts), a.value.size), dtype=dtype)
                    tangent = tangents[value][row]
                    np.subtract(a.value, b.value, out=tangent.reshape(a.value.shape), casting="same_kind")
                    tangent /= 2 * step
                    if not np.isfinite(tangent).all():
                        tangent[(a.value == b.value).ravel()] = 0  # -inf, as masks have it, stays what it is
    gradients = {name: program.right_sweep.gradient(forward.targets[name]) for name in drawn}
    right = [drawn[name].reshape(len(drawn[name]), -1) @ gradients[name].ravel() for name in drawn]
    return Tangents(drawn, rows, tangents, np.concatenate(right))


def _moved(by: Array) -> Change:
    """Return the change that adds an array to a node's value."""
    return lambda node: node.then(lambda value: value + by)


@np.errstate(all="ignore")
def tolerances(program: Program, generator: np.random.Generator) -> dict[str, float]:
    """Return how far rounding to single precision may move each gradient, in proportion to its greatest entry.

    Every value of the forward pass and every contribution of the backward pass is moved by a relative error as one
    rounding makes it; noise on the inputs alone would miss what cancels. A trial with a tolerance beyond some 5 % tells
    nothing of that answer.

    Args:
        program: the right one.
        generator: what the errors are drawn from.
    """

    def rounded(value: Array) -> Array:
        """Return a value with the error of one rounding in each entry."""
        return value * (1 + SINGLE_PRECISION * generator.standard_normal(value.shape))

    def rule(at: EdgeContext) -> Array:
        """Return the right contribution, rounded."""
        return rounded(at.right())

    forward = program.forward
    changes: dict[int, Change] = {
        i: lambda node: node.then(rounded) for i, uses in enumerate(forward.uses) if uses or i in forward.outputs
    }
    nodes = forward.run_nodes(changes, gradient_paths=True)  # rounding does not change what the forward pass does
    noisy = replace(program, forward=forward.with_nodes(nodes), original=program.right)
    for place in forward.sources:
        noisy = noisy.with_vjp(place, rule)
    right, moved = program.gradients(), noisy.gradients()
    return {name: SAFETY * _scaled_error(moved[name], right[name]) for name in right}


def _scaled_error(array: Array, right: Array) -> float:
    """Return the greatest difference in proportion to the greatest entry; infinite where that is zero."""
    error, size = np.abs(array - right).max(initial=0.0), np.abs(right).max(initial=0.0)
    return float(error / size) if size else (float("inf") if error else 0.0)
