"""Engines of a learner's own, as a spec declares them: the right one, and each that goes wrong in a way of its own.

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
    """An engine that runs a program of steps and goes back through it: right where nothing else is said.

    Args:
        rules: for an operation what it hands to each operand: a function of the upstream gradient, the value and the
            operands, with the options by name; see also `Slip`.
        forwards: for an operation the function that it computes in place of its own.
        summed: for an operation whose operands broadcast, how what its rules give becomes a gradient of the operand; a
            function of that and the operand.
        in_place: operations that write their value into the array of their first operand, where it fits.
        made_of: for an operation the steps that it is made of, see `grader.program.steps.expand_steps`.
        walk: how it goes back, the arguments of `grader.program.walks.Walk`.
        session: what it does between several calls, the arguments of `grader.program.walks.Session`.
    """

    rules: Mapping[str, Sequence[Rule]] = field(default_factory=dict)
    forwards: Mapping[str, Callable[..., Array]] = field(default_factory=dict)
    summed: Mapping[str, Callable[[Array, Array], Array]] = field(default_factory=dict)
    in_place: tuple[str, ...] = ()
    made_of: Mapping[str, Sequence[Step]] = field(default_factory=dict)
    walk: Mapping[str, Any] = field(default_factory=dict)
    session: Mapping[str, Any] = field(default_factory=dict)

    def gradients(self, steps: Sequence[Step], inputs: Sequence[float] | Sequence[torch.Tensor]) -> list[Array]:
        """Return the gradient of the last value for each input; zeros where nothing arrives.

        Args:
            steps: see `grader.program.steps`.
            inputs: numbers or tensors.
        """
        return _gradients(self, tuple(steps), tuple(inputs))

    def script_gradients(self, steps: Sequence[Step], inputs: Sequence[float]) -> list[Array]:
        """Return what each input has in the end of steps that call `backward` and `zero_grad` themselves."""
        from grader.program.steps import script_of_steps
        from grader.program.walks import Session, Walk

        session = Session(Walk(**self.walk), **self.session)
        return session.gradients(script_of_steps(steps, inputs, self._operations()))

    def _operations(self) -> dict[str, Operation]:
        """Return the operations that are other than usual."""
        names = {*self.rules, *self.forwards, *self.summed, *self.in_place}
        return {name: self._operation(name) for name in names}

    def _operation(self, name: str) -> Operation:
        """Return an operation of this engine."""
        from grader.program.operation import OPERATIONS

        usual = OPERATIONS[name]
        vjps = [
            _vjp(usual, slot, rule, self.summed.get(name))
            for slot, rule in enumerate(self.rules.get(name, [None] * len(usual.vjps)))
        ]
        forward = self.forwards.get(name, usual.forward)
        if name in self.in_place:
            forward = partial(_written, forward)
        return replace(usual, forward=forward, vjps=tuple(vjps), value_vjp=None)


def right_gradients(steps: Sequence[Step], inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return the right gradients of steps, with or without calls among them, by torch's autograd."""
    from grader.program.steps import autograd_of_steps

    return autograd_of_steps(steps, inputs)


@lru_cache(1024)  # a function of several answers is asked for each of them
def _gradients(engine: Engine, steps: tuple[Step, ...], inputs: tuple[Any, ...]) -> list[Array]:
    """Return the gradients of an engine; inputs that are tensors are told apart by their identity."""
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


def _written(forward: Function, first: Array, *others: Any, **options: object) -> Array:
    """Return the value of an operation, written into the array of its first operand where it fits."""
    import numpy as np

    value = np.asarray(forward(first, *others, **options))
    if value.shape != first.shape:
        return value
    first[...] = value
    return first


def _vjp(
    operation: Operation, slot: int, rule: Rule, summed: Callable[[Array, Array], Array] | None
) -> Function | None:
    """Return the vjp of an operand by a rule of an engine."""
    import numpy as np

    from grader.program.operation import unbroadcast

    right = operation.vjps[slot]
    if rule is None and summed is None:
        return right
    formula = _formula(operation, slot, rule)
    if operation.family != "pointwise":
        return formula
    fit = summed or unbroadcast

    def vjp(g: Array, value: Array, *values: Any, **options: object) -> Array:
        return fit(np.asarray(formula(g, value, *values, **options)), values[slot])

    return vjp


def _formula(operation: Operation, slot: int, rule: Rule) -> Function:
    """Return a rule as a function of the upstream gradient, the value, the operands and the options."""
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
