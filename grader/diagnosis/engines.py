"""Engines of automatic differentiation as a spec declares them: the right one, and one for each way to go wrong.

Reading a spec imports neither numpy nor torch: an engine imports what it needs when it is run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import torch

    from grader.program.operation import Array, Function, Operation

# What a rule may be in place of a formula, in terms of the right one: nothing at all, of the wrong sign, the upstream
# gradient as it is, the right one for an upstream gradient of 1, the right one of the other operand.
Slip = Literal["nothing", "negated", "upstream", "without upstream", "exchanged"]
Rule: TypeAlias = "Function | Slip | None"  # None: the right one
Step = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Engine:
    """An engine that runs a program of steps and goes back through it: a right one, but for the fields that are set.

    Args:
        rules: for an operation the vjp of each operand: a function of the upstream gradient, the value and the
            operands, with the options by name; or a `Slip`; or `None` for the right one.
        forwards: for an operation the function that computes its value.
        summed: for a pointwise operation the function that reduces what a vjp gives to the shape of the operand; it
            takes both.
        in_place: operations that write their value into the array of their first operand, where it fits.
        made_of: for an operation the steps that it is written out in; see `grader.program.steps.expand_steps`.
        walk: how the engine goes back: the arguments of `grader.program.walks.Walk`.
        session: what it does between several calls: the arguments of `grader.program.walks.BackwardCalls`.
    """

    rules: Mapping[str, Sequence[Rule]] = field(default_factory=dict)
    forwards: Mapping[str, Callable[..., Array]] = field(default_factory=dict)
    summed: Mapping[str, Callable[[Array, Array], Array]] = field(default_factory=dict)
    in_place: tuple[str, ...] = ()
    made_of: Mapping[str, Sequence[Step]] = field(default_factory=dict)
    walk: Mapping[str, Any] = field(default_factory=dict)
    session: Mapping[str, Any] = field(default_factory=dict)

    def gradients(self, steps: Sequence[Step], inputs: Sequence[float] | Sequence[torch.Tensor]) -> list[Array]:
        """Return the gradient of the last value for each input as this engine computes it.

        The gradients are in the order of the inputs; zeros where no contribution comes to an input.

        Args:
            steps: such as `("mul", 0, 1)`, the product of the values 0 and 1, which makes the next value.
            inputs: the values 0, 1, ..., numbers or tensors.
        """
        return _gradients(self, tuple(steps), tuple(inputs))

    def script_gradients(self, steps: Sequence[Step], inputs: Sequence[float]) -> list[Array]:
        """Return the gradient that each input has at the end of steps that call `backward` and `zero_grad` themselves.

        The gradients are in the order of the inputs; 0 where no contribution has come to an input.

        Args:
            steps: such as `("mul", 0, 1)`, with the calls `("backward", i)` and `("zero_grad",)` among them.
            inputs: the values 0, 1, ..., as numbers.
        """
        from grader.program.steps import script_of_steps
        from grader.program.walks import BackwardCalls, Walk

        session = BackwardCalls(Walk(**self.walk), **self.session)
        return session.gradients(script_of_steps(steps, inputs, self._operations()))

    def _operations(self) -> dict[str, Operation]:
        """Return by name the operations that this engine has wrong: in `rules`, `forwards`, `summed` or `in_place`."""
        names = {*self.rules, *self.forwards, *self.summed, *self.in_place}
        return {name: self._operation(name) for name in names}

    def _operation(self, name: str) -> Operation:
        """Return the operation of this name, such as "mul", with the forward function and the vjps of this engine.

        Raises:
            KeyError: there is no such operation.
        """
        from grader.program.operation import OPERATIONS

        usual = OPERATIONS[name]
        vjps = [
            _engine_vjp(usual, slot, rule, self.summed.get(name))
            for slot, rule in enumerate(self.rules.get(name, [None] * len(usual.vjps)))
        ]
        forward = self.forwards.get(name, usual.forward)
        if name in self.in_place:
            forward = partial(_run_in_place, forward)
        return replace(usual, forward=forward, vjps=tuple(vjps), value_vjp=None)


def right_gradients(steps: Sequence[Step], inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return the right gradient of each input by torch's autograd, shaped like it.

    It is that of the last value, or of the sum of the values that the steps call `backward` on since `zero_grad`.

    Args:
        steps: such as `("mul", 0, 1)`, which makes the next value of the values 0 and 1, and `("backward", 2)`.
        inputs: the values 0, 1, ..., as tensors.
    """
    from grader.program.steps import autograd_of_steps

    return autograd_of_steps(steps, inputs)


@lru_cache(1024)  # a function of several answers is asked for each of them
def _gradients(engine: Engine, steps: tuple[Step, ...], inputs: tuple[Any, ...]) -> list[Array]:
    """Return the gradient of the last value that an engine computes for each input; it is kept for the next call.

    Args:
        engine: the engine, right or with wrong rules.
        steps: such as `("mul", 0, 1)`, the product of the values 0 and 1, which makes the next value.
        inputs: the values 0, 1, ..., numbers or tensors; a tensor is recognised by its identity.
    """
    import numpy as np

    from grader.program.steps import expand_steps, program_of_steps
    from grader.program.walks import Walk

    expanded = expand_steps(steps, len(inputs), engine.made_of) if engine.made_of else steps
    arrays = [value if isinstance(value, float) else value.numpy() for value in inputs]
    program = program_of_steps(expanded, arrays, engine._operations())
    gradients = Walk(**engine.walk).gradients(program.forward)
    return [
        np.zeros(node.value.shape) if g is None else g
        for node, g in zip(program.nodes[: len(inputs)], gradients, strict=False)
    ]


def _run_in_place(forward: Function, first: Array, *others: Any, **options: object) -> Array:
    """Return the value of a forward function, written into the array of its first operand if it has that shape.

    Args:
        forward: takes the operands by position and the options by name; returns the value.
        first: the first operand, which is overwritten if the value has its shape.
        others: all further operands.
        options: the options.
    """
    import numpy as np

    value = np.asarray(forward(first, *others, **options))
    if value.shape != first.shape:
        return value
    first[...] = value
    return first


def _engine_vjp(
    operation: Operation, slot: int, rule: Rule, summed: Callable[[Array, Array], Array] | None
) -> Function | None:
    """Return the vjp of an operation for the operand in a slot, as an engine computes it.

    Args:
        operation: the right operation.
        slot: the slot of the operand.
        rule: the engine's rule for the operand: a function like a vjp; a word such as `"negated"`, as `_rule_function`
            takes it; or `None` for the right vjp.
        summed: for a pointwise operation, takes what the rule gives and the operand; returns the contribution in the
            shape of the operand. `None` for the sum over the axes along which the operand was broadcast.

    Returns:
        A function of the upstream gradient, the value, the operands and the options, which returns the contribution;
        `None` where the operand gets no gradient.
    """
    import numpy as np

    from grader.program.operation import unbroadcast

    right = operation.vjps[slot]
    if rule is None and summed is None:
        return right
    formula = _rule_function(operation, slot, rule)
    if operation.family != "pointwise":
        return formula
    fit = summed or unbroadcast

    def vjp(g: Array, value: Array, *values: Any, **options: object) -> Array:
        """Return the contribution by the engine's rule, reduced to the shape of the operand."""
        return fit(np.asarray(formula(g, value, *values, **options)), values[slot])

    return vjp


def _rule_function(operation: Operation, slot: int, rule: Rule) -> Function:
    """Return a rule as a function of the upstream gradient, the value, the operands and the options.

    Args:
        operation: the right operation.
        slot: the slot of the operand.
        rule: a function, which is returned unchanged; `None` for the right vjp; or a word: `"nothing"` for zeros,
            `"negated"` for minus the right vjp, `"upstream"` for the upstream gradient itself, `"without upstream"` for
            the right vjp of ones, `"exchanged"` for the right vjp of the other operand.
    """
    import numpy as np

    right = operation.vjps[slot]
    if callable(rule):
        return rule
    if rule == "upstream":
        return lambda g, value, *values, **options: g
    assert right is not None
    if rule == "nothing":
        return lambda g, value, *values, **options: np.zeros(np.shape(values[slot]))
    if rule == "negated":
        return lambda g, *given, **options: -right(g, *given, **options)
    if rule == "without upstream":
        return lambda g, *given, **options: right(np.ones_like(g), *given, **options)
    if rule == "exchanged":
        other = operation.vjps[1 - slot]
        assert other is not None
        return other
    return right
