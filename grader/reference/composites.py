"""Losses of torch that are one call and several operations: they are recorded as what they are made of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch.nn import functional

NO_CLASS = -100  # torch's own `ignore_index`


def _reduced(each: torch.Tensor, reduction: str) -> torch.Tensor:
    return each.mean() if reduction == "mean" else each.sum() if reduction == "sum" else each


def _cross_entropy(scores: torch.Tensor, classes: torch.Tensor, reduction: str) -> torch.Tensor:
    return _nll_loss(scores.log_softmax(1), classes, reduction)


def _nll_loss(logs: torch.Tensor, classes: torch.Tensor, reduction: str) -> torch.Tensor:
    return -_reduced(logs.gather(1, classes[:, None]).squeeze(1), reduction)


def _mse_loss(inp: torch.Tensor, target: torch.Tensor, reduction: str) -> torch.Tensor:
    return _reduced((inp - target) ** 2, reduction)


def _bce_with_logits(scores: torch.Tensor, target: torch.Tensor, reduction: str) -> torch.Tensor:
    return _reduced(functional.softplus(scores) - scores * target, reduction)


OF_CLASSES = {functional.cross_entropy: _cross_entropy, functional.nll_loss: _nll_loss}
COMPOSITES: Mapping[Callable[..., Any], Callable[..., torch.Tensor]] = {
    **OF_CLASSES, functional.mse_loss: _mse_loss, functional.binary_cross_entropy_with_logits: _bce_with_logits,
}  # fmt: skip


def parts_of(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Callable[[], torch.Tensor] | None:
    """What a call does, by the operations that it is made of; `None` where it is one, or has further options."""
    if func not in COMPOSITES:
        return None
    signature = inspect.signature(func)
    given = dict(signature.bind(*args, **kwargs).arguments)
    inp, target, reduction = given.pop("input"), given.pop("target"), given.pop("reduction", "mean")
    usual = {name: parameter.default for name, parameter in signature.parameters.items()}
    if any(isinstance(value, torch.Tensor) or value != usual[name] for name, value in given.items()):
        return None
    if func in OF_CLASSES and (inp.dim() != 2 or target.dtype != torch.int64 or NO_CLASS in target.tolist()):
        return None  # only one row of scores and one class for each example are taken apart
    return partial(COMPOSITES[func], inp, target, reduction)
