"""Wrong rules for one operation of a forward pass: what a slip in its local derivative would compute.

Each function takes the first trial's trace and one use of a value (a step and an operand position) and yields
`Fault`s. Their rules only refer to steps and keys, so they can be run on every trial's trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from .contraction_faults import contraction_faults
from .fault import AVERAGES, CONTRACTIONS, REDUCTIONS, RESHAPES, UPSTREAM, Fault, Make, name_of, with_operand, words
from .pointwise_faults import broadcasting_faults, is_pointwise, pointwise_faults
from .shapes import Sizes
from .trace import Position, Rule, Step, Trace


def local_faults(
    trace: Trace, step: Step, position: Position, sizes: Sizes, *, upstream_given: bool = True
) -> Iterator[Fault]:
    """Every wrong contribution of `step` to its operand at `position`."""

    def fault(code: str, says: str, rule: Rule) -> Fault:
        return Fault(code, says, step.index, position, rule)

    if step.name in CONTRACTIONS:
        yield from contraction_faults(step, position, sizes, fault)
    elif step.name in REDUCTIONS:
        yield from _reduction(step, position, fault)
    elif step.name not in RESHAPES and is_pointwise(step):
        yield from pointwise_faults(step, position, fault)
        yield from broadcasting_faults(step, position, sizes, fault)
    if upstream_given and len(step.operands) > 1:
        says = f"out.g is missing in the part that comes through {name_of(trace, dict(step.operands)[position])}"
        yield fault("missing-upstream", says, lambda trace, step, g: step.vjp(position, torch.ones_like(g)))
    if step.name not in RESHAPES:
        yield from _exchanged(trace, step, position, fault)
        yield fault(
            "wrong-sign", f"the sign of the part that comes through {words(step)} is wrong", _negative(position)
        )


def upstream_faults(trace: Trace, step: Step, upstream_given: bool) -> Iterator[Fault]:
    """Every wrong upstream gradient of `step`."""
    last = step.key == trace.out
    gradient = "out.g" if last else f"the gradient that arrives at {words(step)}"
    missing = "missing-upstream" if upstream_given else "missing-local"
    value = name_of(trace, step.key)
    yield Fault(missing, f"{gradient} is missing: this is what 1 in its place gives", step.index, None, _ones)
    if last and not upstream_given:
        return
    says = f"{value} stands where {'out.g' if last else 'its gradient'} belongs"
    yield Fault("value-for-gradient", says, step.index, None, lambda trace, step, g: step.value)
    if last:
        yield Fault("extra-factor", "out.g is applied twice", step.index, None, lambda trace, step, g: g * g)


def _negative(position: Position) -> Rule:
    return lambda trace, step, g: -step.vjp(position, g)


def _ones(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(g)


def _exchanged(trace: Trace, step: Step, position: Position, fault: Make) -> Iterator[Fault]:
    """The local derivative evaluated at other values of the same shape."""
    pool = _pool(trace)
    for where, source in step.operands:
        shape = step.operand(where).shape
        for key, value in pool.items():
            if key == source or value.shape != shape:
                continue
            rule = _evaluated_at(position, where, key)
            there, here = name_of(trace, key), name_of(trace, source)
            if where == position:
                yield fault(
                    "wrong-point", f"the derivative of {words(step)} is taken at {there} instead of {here}", rule
                )
            else:
                yield fault("wrong-operand", f"{there} stands where {here} belongs", rule)
        if where != position and shape == step.operand(position).shape:
            yield fault("wrong-operand", f"the parts of {words(step)} are swapped", _swapped(position, where))
        if where != position and len(step.operands) > 1:
            left_out = f"{name_of(trace, source)} is left out"
            yield fault("missing-local", left_out, with_operand(position, where, torch.ones_like))


def _swapped(position: Position, other: Position) -> Rule:
    return lambda trace, step, g: step.vjp(position, g, {position: step.operand(other), other: step.operand(position)})


def _pool(trace: Trace) -> dict[str, torch.Tensor]:
    """Everything a learner may have at hand: values, the upstream gradient, the inputs' own gradients."""
    gradients = {f"{name}.g": trace.memo.get(f"{name}.g") for name in trace.inputs}
    for key in gradients:
        if gradients[key] is None:
            gradients[key] = trace.memo[key] = trace.backward(key.removesuffix(".g"))
    return {**trace.values(), UPSTREAM: trace.out_g, **{k: v for k, v in gradients.items() if v is not None}}


def _evaluated_at(position: Position, where: Position, key: str) -> Rule:
    def rule(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        value = _pool(trace)[key]
        if value.shape != step.operand(where).shape:
            raise ValueError("the values have different shapes in this trial")
        return step.vjp(position, g, {where: value})

    return rule


def _reduction(step: Step, position: Position, fault: Make) -> Iterator[Fault]:
    what = words(step)

    def times(factor: Callable[[int], float]) -> Rule:
        def rule(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
            return step.vjp(position, g) * factor(step.operand(position).numel() // max(step.value.numel(), 1))

        return rule

    n = step.operand(position).numel() // max(step.value.numel(), 1)
    if step.name in AVERAGES:
        yield fault("sum-for-mean", f"the 1/{n} from {what} is left out", times(lambda n: n))
        yield fault("extra-factor", f"the 1/{n} from {what} is applied twice", times(lambda n: 1 / n))
    else:
        yield fault("mean-for-sum", f"it is divided by {n}, but {what} does not average", times(lambda n: 1 / n))
