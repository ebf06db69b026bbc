"""Losses of torch that are one call and several operations: they are recorded as what they are made of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import functional

NO_CLASS = -100  # torch's own `ignore_index`


def _reduced(each: torch.Tensor, reduction: str) -> torch.Tensor:
    return each.mean() if reduction == "mean" else each.sum() if reduction == "sum" else each


def _cross_entropy(scores: torch.Tensor, classes: torch.Tensor, reduction: str = "mean") -> torch.Tensor:
    return _nll_loss(scores.log_softmax(1), classes, reduction=reduction)


def _nll_loss(logs: torch.Tensor, classes: torch.Tensor, reduction: str = "mean") -> torch.Tensor:
    if logs.dim() != 2 or classes.dtype != torch.int64 or NO_CLASS in classes.tolist():
        raise TypeError("only one row of scores and one class for each example are taken apart")
    return -_reduced(logs.gather(1, classes[:, None]).squeeze(1), reduction)


def _mse_loss(inp: torch.Tensor, target: torch.Tensor, reduction: str = "mean") -> torch.Tensor:
    return _reduced((inp - target) ** 2, reduction)


def _bce_with_logits(scores: torch.Tensor, target: torch.Tensor, reduction: str = "mean") -> torch.Tensor:
    return _reduced(functional.softplus(scores) - scores * target, reduction)


COMPOSITES: Mapping[Callable[..., Any], Callable[..., torch.Tensor]] = {
    functional.cross_entropy: _cross_entropy, functional.nll_loss: _nll_loss, functional.mse_loss: _mse_loss,
    functional.binary_cross_entropy_with_logits: _bce_with_logits,
}  # fmt: skip


def in_parts(func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> torch.Tensor | None:
    """What a call gives, by the operations that it is made of; `None` where it is one, or has further options."""
    if (made_of := COMPOSITES.get(func)) is None:
        return None
    usual = inspect.signature(func).parameters
    try:
        return made_of(*args, **{name: value for name, value in kwargs.items() if value != usual[name].default})
    except TypeError:  # an option that is not taken apart
        return None
