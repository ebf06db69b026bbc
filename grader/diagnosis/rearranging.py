"""Slips in putting entries back, of operations that only move, copy or pick them; and arrays turned or shifted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

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


def _moves_copies(at: At) -> bool:
    """Every entry of the value is one of the operand's, and some of these are there several times."""
    if len(at.step.operands) != 1 or not bool(torch.isin(at.y, at.x).all()):
        return False
    return bool((_copies(at) > 1).any())


def _copies(at: At) -> torch.Tensor:
    """How often each entry of the operand is in the value; shape: that of the operand."""
    return at.back(torch.ones_like(at.y))


def _one_write(order: Change) -> Callable[[At], torch.Tensor]:
    """Each entry of the gradient is written to the place it belongs to, over what was there."""

    def rule(at: At) -> torch.Tensor:
        places = torch.arange(at.x.numel(), dtype=at.x.dtype).reshape(at.x.shape)
        sources = at.step.apply({at.where: places}).flatten().long()
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


# What may happen to an array along one axis, besides being summed.
MOVED: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "turned": lambda x, axis: x.flip(axis),
    "shifted-forward": lambda x, axis: _shifted(x, axis, 1),
    "shifted-back": lambda x, axis: _shifted(x, axis, -1),
    "rolled-forward": lambda x, axis: x.roll(1, axis),
    "rolled-back": lambda x, axis: x.roll(-1, axis),
}


def _shifted(x: torch.Tensor, axis: int, by: int) -> torch.Tensor:
    """Moved by one place; what is pushed out is lost, and what comes in is 0."""
    rolled = x.roll(by, axis)
    rolled.narrow(axis, 0 if by > 0 else x.shape[axis] - 1, 1).zero_()
    return rolled


def _moves(of: Callable[[At], torch.Tensor]) -> Callable[[At], Iterator[Parameters]]:
    def each(at: At) -> Iterator[Parameters]:
        array = of(at)
        for axis in range(array.dim()):
            if array.shape[axis] > 1:
                yield from ({"how": how, "axis": axis} for how in MOVED)

    return each


def _moved_axis(of: Callable[[At], torch.Tensor]) -> Callable[..., Parameters]:
    return lambda at, how, axis: {"how": how, "axis": at.axes(of(at).shape)[axis : axis + 1], "number": axis}


def _mixes(at: At) -> bool:
    """Several operands, of which one is moved against the others: a product, a convolution."""
    return len(at.step.operands) > 1 and at.step.name not in {"add", "sub", *JOINS}


def _partner_moved(at: At, how: str, axis: int) -> torch.Tensor:
    (where,) = at.others
    return at.back(replaced={where: MOVED[how](at.step.operand(where), axis)})


def _has_one_partner(at: At) -> bool:
    return _mixes(at) and len(at.others) == 1


MOVING = (
    Operator("partner-moved", "wrong-operand", _partner_moved, _has_one_partner, _moves(lambda at: at.partner),
             lambda at, **chosen: {"there": at.named(dict(at.step.operands)[at.others[0]]),
                                   **_moved_axis(lambda at: at.partner)(at, **chosen)}),
    Operator("contribution-moved", "wrong-operand", lambda at, how, axis: MOVED[how](at.back(), axis),
             each=_moves(lambda at: at.x), tell=_moved_axis(lambda at: at.x)),
    Operator("partner-transposed", "transposed",
             lambda at: _partner_transposed(at), lambda at: _has_one_partner(at) and at.partner.dim() > 1,
             tell=lambda at: {"there": at.named(dict(at.step.operands)[at.others[0]])}),
)  # fmt: skip


def _partner_transposed(at: At) -> torch.Tensor:
    (where,) = at.others
    other = at.step.operand(where)
    if other.shape != other.mT.shape:
        raise ValueError("only a square matrix has the shape of its transpose")
    return at.back(replaced={where: other.mT})


UPSTREAM_MOVED = (
    Operator("upstream-moved", "wrong-operand", lambda at, how, axis: MOVED[how](at.g, axis),
             each=_moves(lambda at: at.y), tell=_moved_axis(lambda at: at.y), kind=Kind.UPSTREAM),
)  # fmt: skip

