"""Forward-mode differentiation with dual numbers as a spec declares its mistakes: wrong rules for the tangents.

A dual number is a value with its tangent, the derivative along the direction in which the inputs move. `push`
differentiates a program in this way, operation by operation, with rules that may replace the right ones;
`probes.draw_tangents` measures tangents of right programs by central differences. Reading a spec imports neither numpy
nor torch: what is needed is imported when a tangent is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from grader.program.forward import Node
    from grader.program.operation import Array, Operand
    from grader.program.program import Program

    # Takes a node and the tangents of its operands by slot; returns that of its value.
    TangentRule = Callable[[Node, Sequence[Operand]], Array]
    # Takes a node; returns the rule for it, or `None` for the right one.
    TangentRules = Callable[[Node], TangentRule | None]

LINEAR = {"sum", "mean", "cumsum", "getitem", "select", "reshape", "permute", "transpose", "expand", "repeat"}
TAKES_NUMBERS = ("add", "sub", "mul", "div")  # in place of dual numbers
Formula = Callable[..., Any]  # of tensors and numbers


@dataclass(frozen=True, eq=False)
class ForwardMode:
    """A class of dual numbers: a right one, but for the fields that are set.

    Args:
        rules: for an operation the function that computes its tangent: of each operand and its tangent, `(a, da, b,
            db)`, and of a plain exponent or an index behind them: {"mul": lambda a, da, b, db: da * db}. `"mul values"`
            is the rule for two dual numbers, `"mul number"` for a plain number behind a dual one, `"rdiv"` for one in
            front of it, as in `3 / x`.
        number: takes a plain number; returns the tangent that it is given; by default 0.
        exchanged: operations whose two operands are swapped, by the names of rules.
    """

    rules: Mapping[str, Formula] = field(default_factory=dict)
    number: Callable[[float], float] | None = None
    exchanged: tuple[str, ...] = ()

    def push(self, f: Callable[..., Any], x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Return the tangent of `f(x)` along a direction, as these dual numbers compute it; shape: that of `f(x)`.

        Args:
            f: a function of a tensor.
            x: the point; shape: (n,).
            v: the direction, which is the tangent of x; shape: (n,).
        """
        import torch

        program = _recorded_function(f, x)
        changes = {
            node.id: _exchange_operands for node in program.nodes if set(_rule_names(node)) & set(self.exchanged)
        }
        program = program.with_nodes(changes) if changes else program
        return torch.from_numpy(push(program, {"x": v.numpy()}, self._rule, self._tangent_of_number))

    def _tangent_of_number(self, node: Node, slot: int) -> float:
        """Return the tangent of the plain number in a slot of a node, such as 3 in `3 * x`, by the field `number`.

        It is 0 where this field is `None`, and for operations that take no plain number in place of a dual one, such as
        the exponent in `x ** 3`.
        """
        return 0.0 if self.number is None or node.name not in TAKES_NUMBERS else self.number(float(node.values[slot]))

    def _rule(self, node: Node) -> TangentRule | None:
        """Return a rule for the function `push`: a function of a node and its operands' tangents, by the field `rules`.

        Return `None` where this field has no rule for the node, so that its tangent is right.
        """
        formula = next((self.rules[name] for name in _rule_names(node) if name in self.rules), None)
        if formula is None:
            return None

        def rule(node: Node, tangents: Any) -> Any:
            """Return the tangent of the node's value by the rule."""
            import numpy as np
            import torch

            known = dict(node.operands)
            given: list[Any] = []
            for slot, (value, tangent) in enumerate(zip(node.values, tangents, strict=True)):
                if slot in known:
                    given += [torch.from_numpy(np.array(value)), torch.from_numpy(np.array(tangent))]
                else:
                    given += [value] if node.name == "pow" else [value, tangent]
            return np.asarray(formula(*given, *node.options.values()))

        return rule


def _rule_names(node: Node) -> tuple[str, ...]:
    """Return the names under which `ForwardMode.rules` may have a rule for a node, the most particular one first.

    For `3 / x`: `("rdiv", "div")`; for `x * 3`: `("mul number", "mul")`; for `x * y`: `("mul values", "mul")`.
    """
    if node.name not in TAKES_NUMBERS:
        return (node.name,)
    known = dict(node.operands)
    particular = f"r{node.name}" if 0 not in known else f"{node.name} values" if 1 in known else f"{node.name} number"
    return particular, node.name


def _exchange_operands(node: Node) -> Node:
    """Return a node with two operands, such as a - b, with these exchanged: b - a."""
    operands = tuple(sorted((1 - slot, operand) for slot, operand in node.operands))
    return replace(node, operands=operands, values=node.values[::-1])


@lru_cache(64)  # every rule is tried on the same functions
def _recorded_function(f: Callable[..., Any], x: torch.Tensor) -> Program:
    """Return a function of one tensor as a program with the input `x`, recorded at this x; the program is cached."""
    from grader.program.recording import record

    return record(lambda x: f(x), {"x": x})


def no_rule(node: Node) -> None:
    """Return `None` for any node: as the default `rules` of `push`, it replaces no rule, so that tangents are right.

    Args:
        node: not read.
    """


def no_tangent(node: Node, slot: int) -> float:
    """Return 0.0 for any node and slot: a plain number, such as 2 in `2 * x`, is a constant, so its tangent is 0.

    Args:
        node: not read.
        slot: not read.
    """
    return 0.0


def push(
    program: Program,
    directions: Mapping[str, Array],
    rules: TangentRules = no_rule,
    constant: Callable[[Node, int], Operand] = no_tangent,
) -> Array:
    """Return the tangent of the first output: the Jacobian of the output times the directions of the inputs.

    Args:
        program: the program; its forward pass alone matters.
        directions: by name the tangents of inputs, each shaped like its input; all other inputs have zeros.
        rules: takes a node; returns the rule that computes its tangent, a function of the node and the tangents of its
            operands by slot, or `None` for the right one.
        constant: takes a node and a slot that holds a plain number; returns the tangent of that number.

    Returns:
        Shape: that of the output, unless a rule returns another shape.
    """
    import numpy as np

    names = {i: name for name, i in program.inputs.items()}
    tangents: list[Operand] = []
    with np.errstate(all="ignore"):
        for node in program.nodes:
            if node.operation.family == "input":
                name = names.get(node.id, "")
                tangents.append(directions[name] if name in directions else np.zeros(node.value.shape))
                continue
            known = dict(node.operands)
            own = [tangents[known[slot]] if slot in known else constant(node, slot) for slot in range(len(node.values))]
            tangents.append((rules(node) or right_tangent)(node, own))
        return np.asarray(tangents[program.forward.outputs[0]])


def right_tangent(node: Node, tangents: Sequence[Operand]) -> Array:
    """Return the right tangent of a node's value, shaped like it: the sum of `jvp` over its operands.

    For `x * w`: dx * w + x * dw.

    Args:
        node: the node.
        tangents: the tangent of each operand, by slot.
    """
    import numpy as np

    moving = [slot for slot, tangent in enumerate(tangents) if node.operation.is_differentiable(slot)]
    parts = [jvp(node, slot, tangents[slot]) for slot in moving if np.any(tangents[slot])]
    return np.asarray(sum(parts)) if parts else np.zeros(node.value.shape)


def jvp(node: Node, slot: int, tangent: Operand) -> Array:
    """Return what the tangent of one operand contributes to the tangent of the value: the Jacobian-vector product.

    For `x @ w` and slot 0: dx @ w.

    Args:
        node: the node.
        slot: the slot of the operand.
        tangent: the operand's tangent, shaped like the operand; for a pointwise operation any shape that broadcasts
            with the value, which a wrong rule may have given it.

    Returns:
        Shape: that of the value.
    """
    import numpy as np

    x = np.asarray(node.values[slot])
    if node.operation.family == "pointwise":
        spread = np.broadcast_to(x, node.value.shape)
        return np.asarray(node.vjp(slot, np.ones(node.value.shape), {slot: spread}) * tangent)
    if node.name in LINEAR and len(node.values) == 1:
        return node.operation.run((np.asarray(tangent),), node.options)
    units = np.eye(node.value.size).reshape(-1, *node.value.shape)
    return np.asarray([np.vdot(node.vjp(slot, unit), tangent) for unit in units]).reshape(node.value.shape)
