"""Losses and layers that are one call and several operations: they are recorded as what they are made of.

Each function here has the name and the parameters of torch's own. For arguments that are not taken apart it raises a
ValueError, or `is_special` says so before it is called; the call is then one operation.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

Composite = Callable[..., Tensor]
NO_CLASS = -100  # torch's own `ignore_index`


def _reduced(terms: Tensor, reduction: str) -> Tensor:
    """Return the mean or the sum of a loss's terms, or the terms."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"there is no reduction {reduction}")
    return terms.mean() if reduction == "mean" else terms.sum() if reduction == "sum" else terms


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: None = None,
                  ignore_index: int = NO_CLASS, reduce: None = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:  # fmt: skip
    """Return the cross entropy of scores with classes or with probabilities."""
    axis = 0 if input.dim() == 1 else 1
    if target.dtype.is_floating_point:
        if weight is not None or label_smoothing:
            raise ValueError("weights of classes are not taken apart")
        terms = -(target * input.log_softmax(axis)).sum(axis)
        return terms.sum() / (terms.numel() or 1) if reduction == "mean" else _reduced(terms, reduction)
    if label_smoothing and weight is None:
        logs = input.log_softmax(axis)
        right = nll_loss(logs, target, None, None, ignore_index, None, reduction)
        smooth = _reduced(-logs.mean(axis), reduction)
        return (1 - label_smoothing) * right + label_smoothing * smooth
    if label_smoothing:
        raise ValueError("weights of smoothed classes are not taken apart")
    return nll_loss(input.log_softmax(axis), target, weight, None, ignore_index, None, reduction)


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: None = None,
             ignore_index: int = NO_CLASS, reduce: None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Return the negative log-probability of the right classes."""
    if target.dtype != torch.int64 or input.dim() < 2 or reduce or size_average:
        raise ValueError("only one class for each example is taken apart")
    logs = input.gather(1, target.unsqueeze(1)).squeeze(1)
    if weight is None:
        return -_reduced(logs, reduction)
    weights = weight[target]
    total = weights * logs
    return -total.sum() / weights.sum() if reduction == "mean" else -_reduced(total, reduction)


def mse_loss(input: Tensor, target: Tensor, size_average: None = None, reduce: None = None, reduction: str = "mean",
             weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """Return the squared difference."""
    _refuse(size_average, reduce, weight)
    return _reduced((input - target) ** 2, reduction)


def l1_loss(input: Tensor, target: Tensor, size_average: None = None, reduce: None = None,
            reduction: str = "mean", weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """Return the absolute difference."""
    _refuse(size_average, reduce, weight)
    return _reduced((input - target).abs(), reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: None = None, reduce: None = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:  # fmt: skip
    """Return the absolute difference, squared near zero."""
    _refuse(size_average, reduce)
    difference = input - target
    size = difference.abs()
    return _reduced(torch.where(size < beta, 0.5 * difference**2 / beta, size - 0.5 * beta), reduction)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
               weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """Return the absolute difference times delta, squared near zero."""
    _refuse(weight)
    difference = input - target
    size = difference.abs()
    return _reduced(torch.where(size <= delta, 0.5 * difference**2, delta * (size - 0.5 * delta)), reduction)


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: None = None,
                         reduce: None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Return the cross entropy of probabilities with truth values."""
    _refuse(size_average, reduce)
    terms = -(target * input.log() + (1 - target) * (1 - input).log())
    return _reduced(terms if weight is None else weight * terms, reduction)


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     size_average: None = None, reduce: None = None, reduction: str = "mean",
                                     pos_weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """Return the cross entropy of the sigmoid of scores with truth values."""
    _refuse(size_average, reduce, pos_weight)
    terms = torch.nn.functional.softplus(input) - input * target
    return _reduced(terms if weight is None else weight * terms, reduction)


def kl_div(input: Tensor, target: Tensor, size_average: None = None, reduce: None = None, reduction: str = "mean",
           log_target: bool = False) -> Tensor:  # fmt: skip
    """Return the Kullback-Leibler divergence of log-probabilities from a target."""
    _refuse(size_average, reduce)
    terms = target.exp() * (target - input) if log_target else target * (target.log() - input)
    return terms.sum() / len(terms) if reduction == "batchmean" else _reduced(terms, reduction)


def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Return the input standardized over its last axes."""
    value = _standardized(input, tuple(range(-len(normalized_shape), 0)), eps)
    return _scaled(value, weight, bias)


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:  # fmt: skip
    """Return the input divided by the root of its mean square over its last axes."""
    axes = tuple(range(-len(normalized_shape), 0))
    eps = torch.finfo(input.dtype).eps if eps is None else eps
    return _scaled(input / (input.square().mean(axes, keepdim=True) + eps).sqrt(), weight, None)


def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.1,
               eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Return the input standardized over the examples, or by running statistics."""
    shape = (-1, *(1,) * (input.dim() - 2))
    weight, bias = (None if row is None else row.reshape(shape) for row in (weight, bias))
    if training:
        return _scaled(_standardized(input, (0, *range(2, input.dim())), eps), weight, bias)
    if running_mean is None or running_var is None:
        raise ValueError("there are no statistics")
    value = (input - running_mean.reshape(shape)) / (running_var.reshape(shape) + eps).sqrt()
    return _scaled(value, weight, bias)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Return the input standardized over groups of channels."""
    shape = (-1, *(1,) * (input.dim() - 2))
    grouped = input.reshape(len(input), num_groups, -1)
    value = _standardized(grouped, (-1,), eps).reshape(input.shape)
    return _scaled(value, *(None if row is None else row.reshape(shape) for row in (weight, bias)))


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: None = None) -> Tensor:
    """Return the input divided by its norm along an axis."""
    _refuse(out)
    length: Tensor = torch.linalg.vector_norm(input, p, dim, keepdim=True).clamp_min(eps)
    return input / length.expand_as(input)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the product of two vectors divided by their norms."""
    lengths = (torch.linalg.vector_norm(x, 2, dim, keepdim=True).clamp_min(eps) for x in (x1, x2))
    unit1, unit2 = (x / length for x, length in zip((x1, x2), lengths, strict=True))
    products: Tensor = unit1 * unit2
    return products.sum(dim)


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:  # fmt: skip
    """Return values weighted by the softmax of the products of queries and keys."""
    if dropout_p or enable_gqa:
        raise ValueError("dropout and shared keys are not taken apart")
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(attn_mask.logical_not(), -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return scores.softmax(-1) @ value


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Return a matrix product plus another matrix."""
    product = mat1 @ mat2
    return (input if beta == 1 else beta * input) + (product if alpha == 1 else alpha * product)


def is_special(name: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> bool:
    """Return whether a call has numbers that torch treats in a way of its own, so that it is not taken apart."""
    given = inspect.signature(COMPOSITES[name]).bind(*args, **kwargs).arguments
    x, target = given.get("input"), given.get("target")
    if name in ("cross_entropy", "nll_loss"):  # examples that do not count
        return isinstance(target, Tensor) and bool((target == given.get("ignore_index", NO_CLASS)).any())
    if name == "binary_cross_entropy":  # logarithms are cut off
        return isinstance(x, Tensor) and bool(((x == 0) | (x == 1)).any())
    if name == "kl_div":  # 0 log 0 is 0
        return isinstance(target, Tensor) and not given.get("log_target") and bool((target <= 0).any())
    return False


def _refuse(*arguments: object) -> None:
    """Refuse arguments that are not taken apart.

    Raises:
        ValueError: one of them is given.
    """
    if any(argument is not None for argument in arguments):
        raise ValueError("an argument is not taken apart")


def _standardized(x: Tensor, axes: tuple[int, ...], eps: float) -> Tensor:
    """Return x less its mean, divided by its standard deviation, over some axes."""
    centred = x - x.mean(axes, keepdim=True)
    return centred / (centred.square().mean(axes, keepdim=True) + eps).sqrt()


def _scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Return x times a gain and plus a shift, where they are given."""
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


COMPOSITES: dict[str, Composite] = {
    function.__name__: function
    for function in (
        cross_entropy, nll_loss, mse_loss, l1_loss, smooth_l1_loss, huber_loss, binary_cross_entropy,
        binary_cross_entropy_with_logits, kl_div, layer_norm, rms_norm, batch_norm, group_norm, normalize,
        cosine_similarity, scaled_dot_product_attention, addmm,
    )
} | {"baddbmm": addmm}  # fmt: skip
