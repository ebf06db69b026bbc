"""Slips in putting entries back: an operation that only moves, copies or picks entries, undone the wrong way."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from grader.reference.trace import Position, Rule, Step

from .fault import Fault, Make, axis_of, words

SELECTIONS = {"__getitem__", "gather", "index_select", "select", "take_along_dim"}
PERMUTATIONS = {"permute", "movedim", "moveaxis", "transpose", "swapaxes", "swapdims", "t"}
JOINS = {"cat", "concat", "concatenate", "stack"}


def rearranging_faults(step: Step, position: Position, fault: Make) -> Iterator[Fault]:
    """Slips in the gradient of a rearrangement with respect to the operand at `position`."""
    what = words(step)
    if step.name in PERMUTATIONS:
        says = f"{what} is applied to the gradient as it was to the value: its axes must go back where they came from"
        yield fault("transposed", says, lambda trace, step, g: step.apply({position: g}))
        says = f"the gradient is reshaped where {what} must be undone"
        yield fault("reshape-for-transpose", says, lambda trace, step, g: g.reshape(step.operand(position).shape))
        says = f"{what} is applied to the gradient once more, and the result reshaped until it fits"
        yield fault("reshape-for-transpose", says, _again_and_reshaped(position))
    if step.name in JOINS:
        says = f"the part is cut from the other end of what {what} has joined"
        yield fault("wrong-operand", says, _from_the_other_end(position))
        says = f"what {what} has joined is cut into equal parts, though the parts may differ in size"
        yield fault("shape-special", says, _equal_parts(position, first_is_larger=True))
        yield fault("shape-special", says, _equal_parts(position, first_is_larger=False))
        for shift, when in ((-1, "early"), (1, "late")):
            says = f"what {what} has joined is cut one entry too {when}"
            yield fault("wrong-operand", says, _cut_beside(position, shift))
    if step.name in SELECTIONS:
        yield from _carried(position, fault, what)
    if _is_moved(step, position) and bool((_copies(step, position) > 1).any()):
        yield from _repeated(position, fault)


def _carried(position: Position, fault: Make, what: str) -> Iterator[Fault]:
    """Something is carried back together with the gradient of the entries that were picked."""
    carried: tuple[tuple[str, Callable[[torch.Tensor], torch.Tensor]], ...] = (
        ("their values", lambda value: value),
        ("one over their values", lambda value: 1 / value),
        ("their exponentials", lambda value: value.exp()),
        ("one over their exponentials", lambda value: (-value).exp()),
    )
    for name, change in carried:
        says = f"the entries that {what} picks carry {name}, where only the rate belongs at which they are passed on"
        yield fault("wrong-local", says, _carrying(position, change))


def _carrying(position: Position, change: Callable[[torch.Tensor], torch.Tensor]) -> Rule:
    return lambda trace, step, g: step.vjp(position, g * change(step.value))


def _again_and_reshaped(position: Position) -> Rule:
    return lambda trace, step, g: step.apply({position: g}).reshape(step.operand(position).shape)


def _equal_parts(position: Position, *, first_is_larger: bool) -> Rule:
    def rule(_trace: object, step: Step, g: torch.Tensor) -> torch.Tensor:
        place, count, axis = position[-1], len(step.args[0]), axis_of(step) or 0
        assert isinstance(place, int)
        if first_is_larger:
            return g.chunk(count, axis)[place]
        return g.flip(axis).chunk(count, axis)[count - 1 - place].flip(axis)

    return rule


def _cut_beside(position: Position, shift: int) -> Rule:
    """The part that begins `shift` entries after where it should."""

    def rule(_trace: object, step: Step, g: torch.Tensor) -> torch.Tensor:
        place, axis = position[-1], axis_of(step) or 0
        assert isinstance(place, int)
        sizes = [part.shape[axis] for part in step.args[0]]
        return g.narrow(axis, sum(sizes[:place]) + shift, sizes[place])

    return rule


def _repeated(position: Position, fault: Make) -> Iterator[Fault]:
    """Slips where some entries of the operand went to several places."""
    says = "an entry that is there several times keeps the {} of its contributions only; they must add"
    yield fault("overwritten", says.format("last"), _one_write(position, lambda places: places))
    yield fault("overwritten", says.format("first"), _one_write(position, lambda places: places.flip(0)))
    says = "the contributions to an entry that is there several times are averaged; they must add"
    yield fault("mean-for-sum", says, _averaged(position))


def _averaged(position: Position) -> Rule:
    return lambda trace, step, g: step.vjp(position, g) / _copies(step, position).clamp_min(1)


def _is_moved(step: Step, position: Position) -> bool:
    """Every entry of the value is one of the operand's."""
    return len(step.operands) == 1 and bool(torch.isin(step.value, step.operand(position)).all())


def _copies(step: Step, position: Position) -> torch.Tensor:
    """How often each entry of the operand is in the value; shape: that of the operand."""
    return step.vjp(position, torch.ones_like(step.value))


def _one_write(position: Position, order: Callable[[torch.Tensor], torch.Tensor]) -> Rule:
    """Each entry of the gradient is written to the place it belongs to, over what was there."""

    def rule(_trace: object, step: Step, g: torch.Tensor) -> torch.Tensor:
        operand = step.operand(position)
        places = torch.arange(operand.numel(), dtype=operand.dtype).reshape(operand.shape)
        sources = step.apply({position: places}).flatten().long()
        written = torch.zeros(operand.numel(), dtype=g.dtype).numpy()
        written[order(sources).numpy()] = order(g.flatten()).numpy()  # the last of several writes to one place stays
        return torch.from_numpy(written).reshape(operand.shape)

    return rule


def _from_the_other_end(position: Position) -> Rule:
    def rule(_trace: object, step: Step, g: torch.Tensor) -> torch.Tensor:
        parts = list(step.args[0])
        place = position[-1]
        assert isinstance(place, int)
        turned = step.func(parts[::-1], *step.args[1:], **step.kwargs)
        if turned.shape != g.shape:
            raise ValueError("the upstream gradient has another shape than the value")
        marked = [torch.full_like(part, float(i == place)) for i, part in enumerate(parts)]
        mask = step.func(marked[::-1], *step.args[1:], **step.kwargs) == 1
        return g[mask].reshape(parts[place].shape)

    return rule
