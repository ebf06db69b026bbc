"""Projections of gradients on random directions, and how far rounding moves each gradient.

`draw_tangents` prepares the program of one trial; `Program.change` then costs one vjp and one product for a candidate,
for all targets at once. `tolerances` estimates the error of single precision.
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
    """Draw random directions, arrays shaped like a target, and return the derivative of every value along each of them.

    With them `Program.change` sees how an edit moves the projections, sum(direction * gradient). A derivative is the
    central difference of two runs of the forward pass: forward-mode differentiation would cost torch most of a second
    in each process before the first tangent.

    Args:
        program: the right program of a trial.
        generator: the source of the random directions.
        targets: the targets whose gradients are probed, such as those with a wrong answer; all by default.
        directions: the number for each target, at most that of its entries, or 2 where these are fewer. With one
            direction three times as many wrong candidates pass as with two.
        dtype: of the derivatives; single precision takes half of the memory.
        largest: the most entries that a value may have for its derivatives to be kept.

    Returns:
        The directions of each target, the derivatives of each value, and the projections of the right gradients. A
        value that no direction moves, that leads to no output, or that exceeds `largest` has no derivatives.
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
                forward.run_nodes({target: _change_adding(by * direction)}, gradient_paths=True) for by in (step, -step)
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
            del ahead, back  # all values of two forward passes
    gradients = {name: program.right_sweep.gradient(forward.targets[name]) for name in drawn}
    right = [drawn[name].reshape(len(drawn[name]), -1) @ gradients[name].ravel() for name in drawn]
    return Tangents(drawn, rows, tangents, np.concatenate(right))


def _change_adding(by: Array) -> Change:
    """Return a change for `Forward.run`: a function of a node that returns the node with an array added to its value.

    Args:
        by: the array, shaped like the value.
    """
    return lambda node: node.then(lambda value: value + by)


@np.errstate(all="ignore")
def tolerances(program: Program, generator: np.random.Generator) -> dict[str, float]:
    """Return for each target the greatest error that single precision may make in its gradient, by name of the target.

    The error of an entry is divided by the greatest entry of the gradient: 1e-4 allows 0.01 where that is 100.

    Every value of the forward pass and every contribution of the backward pass gets a random relative error of the size
    of one rounding; noise on the inputs alone would miss what cancels. In a trial whose tolerance exceeds some 5 % a
    target cannot be judged.

    Args:
        program: the right program of a trial.
        generator: the source of the random errors.
    """

    def rounded(value: Array) -> Array:
        """Return a value with the relative error of one rounding in each entry."""
        return value * (1 + SINGLE_PRECISION * generator.standard_normal(value.shape))

    def rule(at: EdgeContext) -> Array:
        """Return the right contribution of an edge with a relative error of one rounding in each entry."""
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
    """Return the greatest difference of two arrays, divided by the greatest entry of `right`; both absolute values.

    Infinite where `right` is all zero and `array` is not; 0 where both are.
    """
    error, size = np.abs(array - right).max(initial=0.0), np.abs(right).max(initial=0.0)
    return float(error / size) if size else (float("inf") if error else 0.0)
