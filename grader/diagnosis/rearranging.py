"""Slips in putting entries back, of operations that only move, copy or pick them; and arrays turned or shifted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from grader.reference.operand_view import At
from grader.reference.operations import JOINS, axis_of
from grader.reference.other_steps import then
from grader.reference.trace import Step, Trace

from .operator import Changes, Kind, Operator, Parameters, Spot, one_of
from .pointwise import Axes

SELECTIONS = {"__getitem__", "gather", "index_select", "select", "take_along_dim", "embedding"}
PERMUTATIONS = {"permute", "movedim", "moveaxis", "transpose", "swapaxes", "swapdims", "t"}
MOST_OUTPUTS = 400


def _place(at: At) -> int:
    return int(at.where[-1])


def _equal_parts(at: At, first_is_larger: bool) -> torch.Tensor:
    count, axis = len(at.step.args[0]), axis_of(at.step) or 0
    if first_is_larger:
        return at.g.chunk(count, axis)[_place(at)]
    return at.g.flip(axis).chunk(count, axis)[count - 1 - _place(at)].flip(axis)


def _cut_beside(at: At, shift: int) -> torch.Tensor:
    """The part that begins `shift` entries after where it should."""
    axis = axis_of(at.step) or 0
    sizes = [part.shape[axis] for part in at.step.args[0]]
    return at.g.narrow(axis, sum(sizes[: _place(at)]) + shift, sizes[_place(at)])


def _from_the_other_end(at: At) -> torch.Tensor:
    marks = [torch.full_like(part, float(i == _place(at))) for i, part in enumerate(at.step.args[0])]
    mask = at.step.func(marks[::-1], *at.step.args[1:], **at.step.kwargs) == 1
    if mask.shape != at.g.shape:
        raise ValueError("the upstream gradient has another shape than the value")
    return at.g[mask].reshape(at.x.shape)


def _padded_at_the_other_end(at: At) -> torch.Tensor:
    """The part that is left where what is put in front of each axis and behind it is exchanged."""
    width = list(at.step.args[1])
    width[::2], width[1::2] = width[1::2], width[::2]
    return replace(at.step, args=(at.step.args[0], width, *at.step.args[2:])).vjp(at.where, at.g)


def _carries(name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Operator:
    return Operator(name, "wrong-local", lambda at: at.back(at.g * change(at.y)), lambda at: at.name in SELECTIONS)


def _moves_copies(at: At) -> bool:
    """Every entry of the value is one of the operand's, or 0, and some of these are there several times."""
    if at.others or at.y.numel() > MOST_OUTPUTS or not bool((torch.isin(at.y, at.x) | (at.y == 0)).all()):
        return False
    return bool((at.back(at.ones) > 1).any())


def _sources(at: At) -> torch.Tensor:
    """Return for each entry of the value the flat index of its entry in the operand; shape: (n,). Cached for a step."""
    kept, key = at.trace.memo, ("sources", at.step.index, at.where)
    if key not in kept:
        ones = torch.eye(at.y.numel(), dtype=at.y.dtype)
        kept[key] = torch.stack([at.back(one.view(at.y.shape)).flatten().argmax() for one in ones])
    sources: torch.Tensor = kept[key]
    return sources


def _one_write(name: str, order: Callable[[torch.Tensor], torch.Tensor]) -> Operator:
    """Return the operator of writing entries of the gradient where they belong, over what was written before.

    Args:
        order: sorts the flat indices of the entries, shape (k,); the last of several writes to one place stays.
    """

    def rule(at: At, zeros: bool) -> torch.Tensor:
        """Return the gradient of the operand, shaped like it; with `zeros`, upstream zeros are written as well."""
        sources = _sources(at)
        written, g = torch.zeros(at.x.numel(), dtype=at.g.dtype).numpy(), at.g.flatten()
        taken = torch.isin(at.y, at.x).flatten()  # the others are zeros that were put around
        kept = order((taken if zeros else taken & (g != 0)).nonzero().flatten())
        written[sources[kept].numpy()] = g[kept].numpy()  # the last of several writes to one place stays
        return torch.from_numpy(written).reshape(at.x.shape)

    return Operator(name, "overwritten", rule, _moves_copies, one_of("zeros", (True, False)))


REARRANGING = (
    Operator("permuted-again", "transposed", lambda at: at.step.apply({at.where: at.g}),
             lambda at: at.name in PERMUTATIONS or (at.name in SELECTIONS and at.y.shape == at.x.shape)),
    Operator("cut-from-other-end", "wrong-operand", _from_the_other_end, lambda at: at.name in JOINS),
    Operator("cut-from-other-end", "wrong-operand", _padded_at_the_other_end, lambda at: at.name == "pad"),
    Operator("cut-into-equal-parts", "shape-special", _equal_parts, lambda at: at.name in JOINS,
             one_of("first_is_larger", (True, False))),
    Operator("cut-too-early", "wrong-operand", lambda at: _cut_beside(at, -1), lambda at: at.name in JOINS),
    _carries("carries-one-over-values", lambda value: 1 / value),
    _carries("carries-exponentials", lambda value: value.exp()),
    _carries("carries-one-over-exponentials", lambda value: (-value).exp()),
    _one_write("last-write-stays", lambda places: places),
    _one_write("first-write-stays", lambda places: places.flip(0)),
    Operator("contributions-averaged", "mean-for-sum", lambda at: at.back() / at.back(at.ones).clamp_min(1),
             _moves_copies),
)  # fmt: skip


def _shifted(x: torch.Tensor, axes: Axes, by: int) -> torch.Tensor:
    """Moved by one place; what is pushed out is lost, and what comes in is 0."""
    for axis in axes:
        x = x.roll(by, axis)
        x.narrow(axis, 0 if by > 0 else x.shape[axis] - 1, 1).zero_()
    return x


def _split(step: Step) -> tuple[int, int] | None:
    """Where an axis becomes two or, seen from behind, two become one: the first of them, and its size."""
    if step.name not in {"reshape", "view"} or not step.operands:
        return None
    two, one = sorted((step.operand(step.operands[0][0]).shape, step.value.shape), key=list)
    axis = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), len(one))
    if axis == len(one) or not 1 < two[axis] < one[axis] or one[axis] % two[axis]:
        return None
    return axis, two[axis]


def _dealt(x: torch.Tensor, axis: int, count: int) -> torch.Tensor:
    """The entries along an axis dealt out in turns to so many groups, one group behind the other."""
    order = torch.arange(x.shape[axis]).view(-1, count).t().flatten()
    return x.index_select(axis, order)


def _in_turns(trace: Trace, spot: Spot) -> Changes:
    """Where an axis is read as two, and where these become one again, the second of them counts slowest."""
    cut = _split(trace.steps[spot.steps(trace)[0]])
    if cut is None:
        raise ValueError("no axis becomes two at these sizes")
    axis, size = cut

    def change(step: Step) -> Step:
        if step.operand(step.operands[0][0]).shape[axis] == size:
            return then(step, lambda y: _dealt(y, axis, y.shape[axis] // size))
        return replace(step, func=lambda x, *args, **kwargs: step.func(_dealt(x, axis, size), *args, **kwargs))

    return {step.index: change for step in trace.steps if _split(step) == cut}


READ = (
    Operator("axis-read-in-turns", "reshape-for-transpose", _in_turns,
             lambda at: bool(at.step.operands) and _split(at.step) is not None, kind=Kind.FORWARD),
)  # fmt: skip

# What may happen to an array along some axes, besides being summed.
MOVED: dict[str, Callable[[torch.Tensor, Axes], torch.Tensor]] = {
    "turned": lambda x, axes: x.flip(axes),
    "shifted-forward": lambda x, axes: _shifted(x, axes, 1),
    "shifted-back": lambda x, axes: _shifted(x, axes, -1),
    "rolled-forward": lambda x, axes: x.roll([1] * len(axes), axes),
    "rolled-back": lambda x, axes: x.roll([-1] * len(axes), axes),
}


def _moves(array: torch.Tensor) -> Iterator[Parameters]:
    last_two = [(array.dim() - 2, array.dim() - 1)] if array.dim() > 2 else []
    for axes in (*((axis,) for axis in range(array.dim())), *last_two):
        if all(array.shape[axis] > 1 for axis in axes):
            yield from ({"how": how, "axes": axes} for how in MOVED)


def _moved(at: At, array: torch.Tensor, how: str, axes: Axes) -> Parameters:
    return {"how": how, "axes": at.axes(array.shape[axis] for axis in axes)}


MOVING = (
    Operator("partner-moved", "wrong-operand",
             lambda at, where, how, axes: at.back(replaced={where: MOVED[how](at.step.operand(where), axes)}),
             lambda at: bool(at.others) and at.name not in {"add", "sub", *JOINS},  # one is moved against the others
             lambda at: ({"where": where, **move} for where in at.others for move in _moves(at.step.operand(where))),
             lambda at, where, **move: {"there": at.named(at.key(where)),
                                        **_moved(at, at.step.operand(where), **move)}),
    Operator("contribution-moved", "wrong-operand", lambda at, how, axes: MOVED[how](at.back(), axes),
             each=lambda at: _moves(at.x), tell=lambda at, **move: _moved(at, at.x, **move)),
)  # fmt: skip
UPSTREAM_MOVED = (
    Operator("only-diagonal-of-upstream", "diagonal-only",
             lambda at: at.g * torch.eye(at.g.shape[-1], dtype=at.g.dtype),
             lambda at: at.y.dim() > 1 and at.y.shape[-1] == at.y.shape[-2] > 1, tell=lambda at: {
             "value": at.named(at.step.key)}, kind=Kind.UPSTREAM),
    Operator("upstream-moved", "wrong-operand", lambda at, how, axes: MOVED[how](at.g, axes),
             each=lambda at: _moves(at.y), tell=lambda at, **move: _moved(at, at.y, **move), kind=Kind.UPSTREAM),
)  # fmt: skip
