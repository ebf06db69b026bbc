"""Loops of a forward pass: what a turn hands on to the next one, and what it gives to what is behind the loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import torch

from .operand_view import At, is_pointwise
from .trace import Line, Place, Position, Rule, Rules, Step, Trace, Use


def leaves(trace: Trace, key: str) -> list[Use]:
    """The uses of a value of a loop that are behind the loop."""
    return [use for use in trace.uses(key) if len(trace.turns[trace.steps[use[0]].line]) == 1]


def is_handed_out(at: At) -> bool:
    """A function of one value in a loop, of which every turn gives something to what is behind the loop."""
    turns = at.trace.turns[at.step.line]
    return len(turns) > 1 and not at.others and is_pointwise(at) and all(
        leaves(at.trace, at.trace.steps[i].key) for i in turns
    )  # fmt: skip


def late_arrivals(at: At) -> Iterator[dict[str, Line | Position | None]]:
    """Operands in a loop, or of what makes these, that are the value of the turn before; and what may arrive late."""
    first, second, *_ = (at.trace.steps[i] for i in at.trace.turns[at.step.line])
    lines = dict.fromkeys(at.trace.steps[i].line for i, _ in at.trace.uses(first.key))
    for where, key in second.operands if len(lines) > 1 else ():
        made = at.trace.steps[int(key[1:])] if key.startswith("%") else second
        inner = next((pos for pos, source in made.operands if source == first.key and made is not first), None)
        if key == first.key or (inner is not None and made.index > first.index):
            yield from ({"late": line, "where": where, "inner": None if key == first.key else inner} for line in lines)


def mirrored(trace: Trace, _: str) -> Rules:
    """The turns of every loop gone back through in the order of the forward pass: the first one first."""
    rules: dict[Place, Rule] = {}
    for line in dict.fromkeys(step.line for step in trace.steps):
        taken = trace.turns[line]
        for i, j in zip(taken, reversed(taken), strict=True):
            other = trace.steps[j]
            rules |= {(i, where): partial(_vjp_of, other, where) for where, _ in other.operands if i != j}
    for step in trace.steps:
        parts = [where for where, key in step.operands if len(where) > 1 and key.startswith("%")]
        looped = len(parts) > 1 and len({trace.steps[int(dict(step.operands)[at][1:])].line for at in parts}) == 1
        if looped:
            rules |= {(step.index, a): partial(_vjp_of, step, b) for a, b in zip(parts, parts[::-1], strict=True)}
    return rules


def _vjp_of(other: Step, where: Position, _: Trace, __: Step, g: torch.Tensor) -> torch.Tensor:
    return other.vjp(where, g)


def gone_back_once(trace: Trace, wrt: str, line: Line, where: Position) -> torch.Tensor:
    """What arrives where the last turn begins goes straight to what came into the loop."""
    first, *_, last = (trace.steps[i] for i in (*trace.turns[line], trace.turns[line][-1]))
    key, begins = dict(first.operands)[where], dict(last.operands)[where]
    g = trace.gradients(wrt)[begins]
    steps = trace.steps[: int(key[1:]) + 1] if key.startswith("%") else ()
    return replace(trace, steps=steps, out=key, out_g=g, memo={}).backward(wrt)
