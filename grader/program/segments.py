"""The function by which one value of a forward pass depends on another, with its derivative in both directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .forward import Forward, bits
from .operation import Array, NoCandidate

NUDGE = 1e-6  # of a value, for a derivative by a central difference


@dataclass(frozen=True)
class Segment:
    """The function by which one value of a forward pass depends on another, along some of its paths.

    Args:
        forward: the forward pass.
        source: the id of the operand x.
        value: the id of the value y = f(x).
        inner: the ids of the nodes that compute it, in the order of the forward pass; `value` is the last one.
    """

    forward: Forward
    source: int
    value: int
    inner: tuple[int, ...]

    def pull(self, g: Array) -> Array:
        """Return the contribution to x of a gradient g of y, for the segment y = f(x): f's transposed Jacobian times g.

        Args:
            g: shaped like y.

        Returns:
            Shape: that of x.
        """
        gradients: dict[int, Array] = {self.value: g}
        known = {*self.inner, self.source}
        for node in reversed(self.inner):
            if node in gradients:
                for slot, operand in self.forward.edges[node]:
                    if operand in known:
                        part = self.forward.vjps[node, slot](gradients[node])
                        gradients[operand] = gradients[operand] + part if operand in gradients else part
        return gradients.get(self.source, np.zeros(self.forward.shapes[self.source]))

    def push(self, direction: Array) -> Array:
        """Return the derivative of y along a direction of x, for the segment y = f(x): Jacobian times direction.

        It is a central difference, and zeros for a direction of zeros.

        Args:
            direction: shaped like x.

        Returns:
            Shape: that of y.
        """
        size = float(np.abs(direction).max(initial=0.0))
        if not size:
            return np.zeros(self.forward.shapes[self.value])
        step = NUDGE / size
        return np.asarray((self._run(step * direction) - self._run(-step * direction)) / (2 * step))

    def solve(self, g: Array) -> Array:
        """Return h with J.T h = g, for the segment y = f(x) with x and y of one shape, and J the Jacobian of f.

        Args:
            g: shaped like x.

        Returns:
            Shape: that of y.

        Raises:
            NoCandidate: J has no inverse.
        """
        size = int(np.prod(self.forward.shapes[self.value]))
        units = np.eye(size).reshape(size, *self.forward.shapes[self.value])
        columns = np.stack([self.pull(unit).ravel() for unit in units], axis=1)
        try:
            return np.asarray(np.linalg.solve(columns, g.ravel()).reshape(g.shape))
        except np.linalg.LinAlgError as error:
            raise NoCandidate("the Jacobian has no inverse") from error

    def _run(self, by: Array) -> Array:
        """Return y for the segment y = f(x), with the array `by` added to x and all other operands as they are."""
        nodes, values = self.forward.nodes, {self.source: self.forward.nodes[self.source].value + by}
        for i in self.inner:
            node = nodes[i]
            operands = list(node.values)
            for slot, operand in node.operands:
                operands[slot] = values.get(operand, operands[slot])
            values[i] = node.operation.run(operands, node.options)
        return np.asarray(values[self.value])


def segment(forward: Forward, source: int, value: int, excluded: set[int]) -> Segment | None:
    """Return the function from one value to another as a `Segment`, along all paths without an excluded value.

    Args:
        forward: the forward pass.
        source: the id of the operand.
        value: the id of the function's value.
        excluded: the ids of values through which no path may go; it may end or begin at one.

    Returns:
        `None` where there is no such path.
    """
    made = forward.ancestors[value]
    if source == value or not made >> source & 1:
        return None
    reached, leading = {source}, {value}
    between = [i for i in bits(made) if i > source and forward.ancestors[i] >> source & 1]
    for i in reversed(between):
        if (i not in excluded or i == value) and any(operand in reached for _, operand in forward.edges[i]):
            reached.add(i)
    for i in between:
        if i in leading:
            leading.update(operand for _, operand in forward.edges[i] if operand in reached)
    inner = tuple(sorted((reached & leading) - {source}))
    return Segment(forward, source, value, inner) if value in reached else None
