"""Wrong rules for one operation of a forward pass: what a slip in its local derivative would compute.

Each function takes the first trial's trace and one use of a value (a step and an operand position) and yields
`Fault`s. Their rules only refer to steps and keys, so they can be run on every trial's trace.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from grader.reference.trace import Position, Rule, Step, Trace
from grader.shapes import Sizes

from .axis_faults import PICKS, picking_faults, reduction_faults, running_faults
from .contraction_faults import contraction_faults
from .fault import (
    CONTRACTIONS,
    EXPANSIONS,
    NORMALISING,
    REDUCTIONS,
    RESHAPES,
    SUMS,
    UPSTREAM,
    Fault,
    Make,
    name_of,
    with_operand,
    words,
)
from .output_forms import output_form_faults
from .pointwise_faults import broadcasting_faults, is_pointwise, pointwise_faults
from .rearranging_faults import JOINS, rearranging_faults
from .softmax_faults import softmax_faults


def local_faults(
    trace: Trace, step: Step, position: Position, sizes: Sizes, *, upstream_given: bool = True
) -> Iterator[Fault]:
    """Every wrong contribution of `step` to its operand at `position`."""

    def fault(code: str, says: str, rule: Rule) -> Fault:
        return Fault(code, says, step.index, position, rule)

    yield from output_form_faults(trace, step, position, fault, upstream_given=upstream_given)
    if step.name in NORMALISING:
        yield from softmax_faults(trace, step, position, sizes, fault, upstream_given=upstream_given)
    elif step.name in CONTRACTIONS:
        yield from contraction_faults(step, position, sizes, fault)
    elif step.name in REDUCTIONS:
        yield from reduction_faults(step, position, fault)
    elif step.name in EXPANSIONS:
        yield from broadcasting_faults(step, position, sizes, fault)
    elif step.name in RESHAPES | JOINS:
        yield from rearranging_faults(step, position, fault)
    elif is_pointwise(step, position):
        yield from pointwise_faults(step, position, fault)
        yield from broadcasting_faults(step, position, sizes, fault)
    elif len(step.operands) == 1 and step.name in PICKS:
        yield from picking_faults(step, position, fault)
    elif len(step.operands) == 1 and step.value.shape == step.operand(position).shape:
        yield from running_faults(step, position, fault)
    if upstream_given and len(step.operands) > 1:
        part = f"in the part that comes through {name_of(trace, dict(step.operands)[position])}"
        says = f"out.g is missing {part}"
        yield fault("missing-upstream", says, lambda trace, step, g: step.vjp(position, torch.ones_like(g)))
        says = f"{name_of(trace, step.key)} stands where its gradient belongs, {part}"
        yield fault("value-for-gradient", says, lambda trace, step, g: step.vjp(position, step.value))
        if step.key == trace.out:
            for name in (name for name, value in trace.inputs.items() if value.shape == step.value.shape):
                says = f"{name} stands where out.g belongs, {part}"
                yield fault("wrong-operand", says, _input_for_upstream(position, name))
    source = dict(step.operands)[position]
    if source in trace.inputs and (step.name in SUMS or not is_pointwise(step, position)):
        says = f"every entry is also multiplied by {source} itself"
        yield fault("extra-factor", says, lambda trace, step, g: step.vjp(position, g) * step.operand(position))
    if step.name not in RESHAPES | JOINS:
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
    yield from _other_upstreams(trace, step, gradient)
    says = f"{value} stands where {'out.g' if last else 'its gradient'} belongs"
    yield Fault("value-for-gradient", says, step.index, None, lambda trace, step, g: step.value)
    if last:
        yield Fault("extra-factor", "out.g is applied twice", step.index, None, lambda trace, step, g: g * g)


def _other_upstreams(trace: Trace, step: Step, gradient: str) -> Iterator[Fault]:
    """Another array of the same shape where a matrix product's upstream gradient belongs."""
    if step.name not in CONTRACTIONS and step.key != trace.out:
        return
    for key, value in trace.values().items():
        if key == step.key or value.shape != step.value.shape or not value.is_floating_point():
            continue
        code = "wrong-operand" if key in trace.inputs else "value-for-gradient"
        yield Fault(code, f"{name_of(trace, key)} stands where {gradient} belongs", step.index, None, _value_of(key))


def _input_for_upstream(position: Position, name: str) -> Rule:
    return lambda trace, step, g: step.vjp(position, trace.inputs[name])


def _value_of(key: str) -> Rule:
    return lambda trace, step, g: trace.values()[key].expand(g.shape)


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
            if key == source or value.shape != shape or (key == step.key and _is_square(step)):
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
        elif where != position and is_pointwise(step, position):
            own = name_of(trace, dict(step.operands)[position])
            says = f"{own} itself stands where its partner {name_of(trace, source)} belongs"
            yield fault("wrong-operand", says, _own_for_partner(position, where))
        if where != position and step.name in CONTRACTIONS:
            yield from _partner_through(trace, step, position, where, fault)
        if where != position and len(step.operands) > 1:
            left_out = f"{name_of(trace, source)} is left out"
            yield fault("missing-local", left_out, with_operand(position, where, torch.ones_like))


def _partner_through(trace: Trace, step: Step, position: Position, where: Position, fault: Make) -> Iterator[Fault]:
    """The partner in a matrix product, after a function that the forward pass applies to something else."""
    partner = name_of(trace, dict(step.operands)[where])
    for other in trace.steps:
        if len(other.operands) == 1 and other.name not in RESHAPES and is_pointwise(other, other.operands[0][0]):
            says = f"{words(other)} is applied to {partner} as well"
            yield fault("wrong-operand", says, _through(position, where, other.index))


def _through(position: Position, where: Position, index: int) -> Rule:
    def rule(trace: Trace, step: Step, g: torch.Tensor) -> torch.Tensor:
        other = trace.steps[index]
        return step.vjp(position, g, {where: other.apply({other.operands[0][0]: step.operand(where)})})

    return rule


def _is_square(step: Step) -> bool:
    """Its derivative at its own value is what comes of an exponent that was not lowered, which is the likelier slip."""
    return step.name == "pow" and step.args[1:] == (2,)


def _swapped(position: Position, other: Position) -> Rule:
    return lambda trace, step, g: step.vjp(position, g, {position: step.operand(other), other: step.operand(position)})


def _own_for_partner(position: Position, other: Position) -> Rule:
    return lambda trace, step, g: step.vjp(position, g, {other: step.operand(position).expand(g.shape)})


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
