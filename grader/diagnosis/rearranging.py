"""Slips in putting entries back, of operations that only move, copy or pick them; and arrays turned or shifted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from grader.reference.trace import Position

from .operator import JOINS, At, Kind, Operator, Parameters, axis_of

SELECTIONS = {"__getitem__", "gather", "index_select", "select", "take_along_dim", "embedding"}
PERMUTATIONS = {"permute", "movedim", "moveaxis", "transpose", "swapaxes", "swapdims", "t"}
Change = Callable[[torch.Tensor], torch.Tensor]


def _permutes(at: At) -> bool:
    return at.step.name in PERMUTATIONS


def _joins(at: At) -> bool:
    return at.step.name in JOINS


def _selects(at: At) -> bool:
    return at.step.name in SELECTIONS


def _again(at: At) -> torch.Tensor:
    return at.step.apply({at.where: at.g})


def _place(at: At) -> int:
    place = at.where[-1]
    assert isinstance(place, int)
    return place


def _equal_parts(first_is_larger: bool) -> Callable[[At], torch.Tensor]:
    def rule(at: At) -> torch.Tensor:
        count, axis = len(at.step.args[0]), axis_of(at.step) or 0
        if first_is_larger:
            return at.g.chunk(count, axis)[_place(at)]
        return at.g.flip(axis).chunk(count, axis)[count - 1 - _place(at)].flip(axis)

    return rule


def _cut_beside(shift: int) -> Callable[[At], torch.Tensor]:
    """The part that begins `shift` entries after where it should."""

    def rule(at: At) -> torch.Tensor:
        axis = axis_of(at.step) or 0
        sizes = [part.shape[axis] for part in at.step.args[0]]
        return at.g.narrow(axis, sum(sizes[: _place(at)]) + shift, sizes[_place(at)])

    return rule


def _from_the_other_end(at: At) -> torch.Tensor:
    parts, place, step = list(at.step.args[0]), _place(at), at.step
    turned = step.func(parts[::-1], *step.args[1:], **step.kwargs)
    if turned.shape != at.g.shape:
        raise ValueError("the upstream gradient has another shape than the value")
    marked = [torch.full_like(part, float(i == place)) for i, part in enumerate(parts)]
    mask = step.func(marked[::-1], *step.args[1:], **step.kwargs) == 1
    return at.g[mask].reshape(parts[place].shape)


def _carrying(change: Change) -> Callable[[At], torch.Tensor]:
    return lambda at: at.back(at.g * change(at.y))


MOST_OUTPUTS = 400


def _moves_copies(at: At) -> bool:
    """Every entry of the value is one of the operand's, and some of these are there several times."""
    if len(at.step.operands) != 1 or at.y.numel() > MOST_OUTPUTS or not bool(torch.isin(at.y, at.x).all()):
        return False
    return bool((_copies(at) > 1).any())


def _sources(at: At) -> torch.Tensor:
    """Which entry of the operand each entry of the value is, in the order of the value."""
    ones = torch.eye(at.y.numel(), dtype=at.y.dtype)
    return torch.stack([at.back(one.view(at.y.shape)).flatten().argmax() for one in ones])


def _copies(at: At) -> torch.Tensor:
    """How often each entry of the operand is in the value; shape: that of the operand."""
    return at.back(torch.ones_like(at.y))


def _one_write(order: Change) -> Callable[[At], torch.Tensor]:
    """Each entry of the gradient is written to the place it belongs to, over what was there."""

    def rule(at: At) -> torch.Tensor:
        sources = _sources(at)
        written = torch.zeros(at.x.numel(), dtype=at.g.dtype).numpy()
        written[order(sources).numpy()] = order(at.g.flatten()).numpy()  # the last of several writes to one place stays
        return torch.from_numpy(written).reshape(at.x.shape)

    return rule


REARRANGING = (
    Operator("permuted-again", "transposed", _again, _permutes),
    Operator("reshaped-for-permuted", "reshape-for-transpose", lambda at: at.g.reshape(at.x.shape), _permutes),
    Operator("permuted-again-and-reshaped", "reshape-for-transpose", lambda at: _again(at).reshape(at.x.shape),
             _permutes),
    Operator("cut-from-other-end", "wrong-operand", _from_the_other_end, _joins),
    Operator("cut-into-equal-parts", "shape-special", _equal_parts(first_is_larger=True), _joins),
    Operator("cut-into-equal-parts", "shape-special", _equal_parts(first_is_larger=False), _joins),
    Operator("cut-too-early", "wrong-operand", _cut_beside(-1), _joins),
    Operator("cut-too-late", "wrong-operand", _cut_beside(1), _joins),
    Operator("carries-values", "wrong-local", _carrying(lambda value: value), _selects),
    Operator("carries-one-over-values", "wrong-local", _carrying(lambda value: 1 / value), _selects),
    Operator("carries-exponentials", "wrong-local", _carrying(lambda value: value.exp()), _selects),
    Operator("carries-one-over-exponentials", "wrong-local", _carrying(lambda value: (-value).exp()), _selects),
    Operator("last-write-stays", "overwritten", _one_write(lambda places: places), _moves_copies),
    Operator("first-write-stays", "overwritten", _one_write(lambda places: places.flip(0)), _moves_copies),
    Operator("contributions-averaged", "mean-for-sum", lambda at: at.back() / _copies(at).clamp_min(1),
             _moves_copies),
)  # fmt: skip


# What may happen to an array along some axes, besides being summed.
MOVED: dict[str, Callable[[torch.Tensor, tuple[int, ...]], torch.Tensor]] = {
    "turned": lambda x, axes: x.flip(axes),
    "shifted-forward": lambda x, axes: _shifted(x, axes, 1),
    "shifted-back": lambda x, axes: _shifted(x, axes, -1),
    "rolled-forward": lambda x, axes: x.roll([1] * len(axes), axes),
    "rolled-back": lambda x, axes: x.roll([-1] * len(axes), axes),
}


def _shifted(x: torch.Tensor, axes: tuple[int, ...], by: int) -> torch.Tensor:
    """Moved by one place; what is pushed out is lost, and what comes in is 0."""
    for axis in axes:
        x = x.roll(by, axis)
        x.narrow(axis, 0 if by > 0 else x.shape[axis] - 1, 1).zero_()
    return x


def _moves(array: torch.Tensor) -> Iterator[Parameters]:
    last_two = [(array.dim() - 2, array.dim() - 1)] if array.dim() > 2 else []
    for axes in (*((axis,) for axis in range(array.dim())), *last_two):
        if all(array.shape[axis] > 1 for axis in axes):
            yield from ({"how": how, "axes": axes} for how in MOVED)


def _moved(at: At, array: torch.Tensor, how: str, axes: tuple[int, ...]) -> Parameters:
    return {"how": how, "axes": at.axes(array.shape[axis] for axis in axes)}


def _mixes(at: At) -> bool:
    """Several operands, of which one is moved against the others: a product, a convolution."""
    return len(at.step.operands) > 1 and at.step.name not in {"add", "sub", *JOINS}


def _partners(at: At) -> Iterator[Parameters]:
    yield from ({"where": where} for where in at.others)


def _partner_moves(at: At) -> Iterator[Parameters]:
    for where in at.others:
        yield from ({"where": where, **move} for move in _moves(at.step.operand(where)))


def _there(at: At, where: Position) -> Parameters:
    return {"there": at.named(dict(at.step.operands)[where])}


def _transposed(q: torch.Tensor) -> torch.Tensor:
    if q.dim() < 2 or q.shape[-1] != q.shape[-2]:
        raise ValueError("only a square matrix has the shape of its transpose")
    return q.mT


def _reshaped(q: torch.Tensor) -> torch.Tensor:
    if q.dim() < 2:
        raise ValueError("there is nothing to transpose")
    return q.reshape(q.mT.shape).mT


MOVING = (
    Operator("partner-moved", "wrong-operand",
             lambda at, where, how, axes: at.back(replaced={where: MOVED[how](at.step.operand(where), axes)}),
             _mixes, _partner_moves,
             lambda at, where, **move: {**_there(at, where), **_moved(at, at.step.operand(where), **move)}),
    Operator("contribution-moved", "wrong-operand", lambda at, how, axes: MOVED[how](at.back(), axes),
             each=lambda at: _moves(at.x), tell=lambda at, **move: _moved(at, at.x, **move)),
    Operator("partner-transposed", "transposed",
             lambda at, where: at.back(replaced={where: _transposed(at.step.operand(where))}), _mixes, _partners,
             _there),
    Operator("upstream-reshaped", "reshape-for-transpose", lambda at: at.back(_reshaped(at.g)),
             lambda at: at.y.dim() > 1 and at.y.shape[-1] != at.y.shape[-2]),
    Operator("upstream-reshaped", "reshape-for-transpose", lambda at: at.back(at.g.mT.reshape(at.g.shape)),
             lambda at: at.y.dim() > 1 and len(at.step.operands) > 1),
)  # fmt: skip
UPSTREAM_MOVED = (
    Operator("upstream-moved", "wrong-operand", lambda at, how, axes: MOVED[how](at.g, axes),
             each=lambda at: _moves(at.y), tell=lambda at, **move: _moved(at, at.y, **move), kind=Kind.UPSTREAM),
)  # fmt: skip
