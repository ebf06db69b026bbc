"""A step of a forward pass taken otherwise: another argument, another option."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from .operations import along
from .trace import Position, Step

Change = Callable[..., torch.Tensor]


def with_argument(step: Step, place: int, value: Any) -> Step:
    return replace(step, args=(*step.args[:place], value, *step.args[place + 1 :]))


def identity(step: Step) -> Step:
    return replace(step, func=lambda value, *_, **__: value)


def then(step: Step, change: Change) -> Step:
    """The step, with something done to its value."""
    return replace(step, func=lambda *args, **kwargs: change(step.func(*args, **kwargs)))


def with_constant(step: Step, change: Callable[[float], float]) -> Step:
    ((place, constant),) = step.constants.items()
    return with_argument(step, place, change(constant))


def less_one(step: Step) -> Step:
    """A mean that is divided by the number of its entries less one."""
    n = step.args[0].numel() / max(step.value.numel(), 1)
    return then(step, lambda mean: mean * n / (n - 1))


def along_or_all(step: Step, axis: int | None) -> Step:
    return along(step, tuple(range(step.value.dim())) if axis is None else axis)


def first_ones(step: Step) -> Step:
    """The first entries along the axis in place of the selected ones, or the places of these."""

    def first(x: torch.Tensor, k: int, dim: int = -1, **_: Any) -> torch.Tensor:
        return torch.arange(k).expand(*x.shape[:-1], k) if getattr(step.func, "index", 0) else x.narrow(dim, 0, k)

    return replace(step, func=first)


MASKING = {"masked_fill", "masked_fill_", "where", "mul"}


def mask_at(step: Step) -> int:
    return 0 if step.name == "where" else 1


def other_mask(change: Change) -> Callable[[Step], Step]:
    return lambda step: with_argument(step, mask_at(step), change(step.args[mask_at(step)]))


def shifted_mask(by: int) -> Change:
    """A mask whose diagonals have moved by one place."""

    def change(mask: torch.Tensor) -> torch.Tensor:
        rows, columns = mask.shape[-2:]
        wide = torch.nn.functional.pad(mask.to(torch.float64)[None], (1, 1, 0, 0), mode="replicate")[0]
        found = wide[..., :, 1 - by : 1 - by + columns] > 0.5
        return found.reshape(mask.shape) if found.shape == mask.shape else mask[..., :rows, :columns]

    return change


def with_option(step: Step, name: str, value: Any) -> Step:
    kwargs = {key: given for key, given in step.kwargs.items() if not (name == "correction" and key == "unbiased")}
    return replace(step, kwargs={**kwargs, name: value})


def only_summand(step: Step, where: Position) -> Step:
    """One of two summands in the place of their sum: the one that is not left out, which has the sum's shape."""
    one, two = step.args[:2]
    kept = two if where == (0,) else one
    if not torch.is_tensor(kept) or kept.shape != step.value.shape:
        raise ValueError("the other one is broadcast, or none is left")
    return replace(step, func=lambda one, two: one if where == (1,) else -two if step.name == "sub" else two)


def only_factor(step: Step, where: Position) -> Step:
    """A product without one of its factors, or a quotient without its denominator."""
    kept = step.args[1 - int(where[0])]
    if not torch.is_tensor(kept) or kept.shape != step.value.shape:
        raise ValueError("the other one is broadcast, or none is left")
    return replace(step, func=lambda one, two: one if where == (1,) else two)


# What may be used in the place of an input or of the upstream gradient.
INSTEAD: dict[str, Change] = {
    "mean-of-rows": lambda x: x.mean(0, keepdim=True).expand(x.shape), "mean": lambda x: x.mean().expand(x.shape),
    "sum-of-rows": lambda x: x.sum(0, keepdim=True).expand(x.shape), "sum": lambda x: x.sum().expand(x.shape),
    "first-row": lambda x: x[:1].expand(x.shape), "last-row": lambda x: x[-1:].expand(x.shape),
    "row-before": lambda x: x.roll(1, 0), "row-behind": lambda x: x.roll(-1, 0),
    "row-before-or-none": lambda x: torch.cat((torch.zeros_like(x[:1]), x[:-1])),
    "row-behind-or-none": lambda x: torch.cat((x[1:], torch.zeros_like(x[:1]))),
    "rows-turned-round": lambda x: x.flip(0), "sorted": lambda x: x.sort(0).values,
    "sum-of-columns": lambda x: x.sum(-1, keepdim=True).expand(x.shape),
    "mean-of-columns": lambda x: x.mean(-1, keepdim=True).expand(x.shape),
    "less-mean": lambda x: x - x.mean(0), "without-sign": torch.abs, "rounded": torch.round, "squared": torch.square,
}  # fmt: skip
