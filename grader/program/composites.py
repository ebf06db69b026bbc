"""Losses and layers of torch written out in simpler operations, which are recorded in place of the one call.

Each function here has the name and the parameters of torch's own, and computes the same value. For arguments that it
cannot write out it raises a ValueError, or `has_special_numbers` says so before it is called: then the call is recorded
as one operation that torch computes. In the shapes, bs stands for the examples and c for the classes or the channels.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

Composite = Callable[..., Tensor]
NO_CLASS = -100  # torch's own `ignore_index`


def _reduce(terms: Tensor, reduction: str) -> Tensor:
    """Return the mean of a loss's terms, their sum, or all terms, for the `reduction` `"mean"`, `"sum"` or `"none"`.

    Raises:
        ValueError: `reduction` is another word.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"there is no reduction {reduction}")
    return terms.mean() if reduction == "mean" else terms.sum() if reduction == "sum" else terms


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: None = None,
                  ignore_index: int = NO_CLASS, reduce: None = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:  # fmt: skip
    """Return the cross entropy of scores with class numbers or class probabilities, as torch's `cross_entropy` does.

    Args:
        input: the scores; shape: (bs, c, ...) or (c,).
        target: class numbers, without the axis of the classes; or probabilities, shaped like input.
        weight: a weight for each class; shape: (c,).
        size_average: must be `None`.
        ignore_index: ignored: a call with examples of this class is not written out, see `has_special_numbers`.
        reduce: must be `None`.
        reduction: `"mean"`, `"sum"` or `"none"` of the terms of all examples.
        label_smoothing: the share of the probability that is spread over all classes.

    Raises:
        ValueError: it cannot be written out: class weights or label smoothing with probabilities, or both with numbers;
            class numbers with scores of shape (c,), or that are not int64; or `size_average` or `reduce` is set.
    """
    _refuse_arguments(size_average, reduce)
    axis = 0 if input.dim() == 1 else 1
    if target.dtype.is_floating_point:
        if weight is not None or label_smoothing:
            raise ValueError("weights of classes are not taken apart")
        terms = -(target * input.log_softmax(axis)).sum(axis)
        return terms.sum() / (terms.numel() or 1) if reduction == "mean" else _reduce(terms, reduction)
    if label_smoothing and weight is None:
        logs = input.log_softmax(axis)
        right = nll_loss(logs, target, None, None, ignore_index, None, reduction)
        smooth = _reduce(-logs.mean(axis), reduction)
        return (1 - label_smoothing) * right + label_smoothing * smooth
    if label_smoothing:
        raise ValueError("weights of smoothed classes are not taken apart")
    return nll_loss(input.log_softmax(axis), target, weight, None, ignore_index, None, reduction)


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: None = None,
             ignore_index: int = NO_CLASS, reduce: None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Return the negative log-probability of the right classes, as torch's `nll_loss` does.

    Args:
        input: log-probabilities; shape: (bs, c, ...).
        target: class numbers, without the axis of the classes.
        weight: a weight for each class; shape: (c,). A mean divides by the sum of the examples' weights.
        size_average: must be `None`.
        ignore_index: ignored: a call with examples of this class is not written out, see `has_special_numbers`.
        reduce: must be `None`.
        reduction: `"mean"`, `"sum"` or `"none"` of the terms of all examples.

    Raises:
        ValueError: it cannot be written out: `target` holds no class numbers, `input` has one axis, or an argument is
            set that must be `None`.
    """
    if target.dtype != torch.int64 or input.dim() < 2 or reduce or size_average:
        raise ValueError("only one class for each example is taken apart")
    logs = input.gather(1, target.unsqueeze(1)).squeeze(1)
    if weight is None:
        return -_reduce(logs, reduction)
    weights = weight[target]
    total = weights * logs
    return -total.sum() / weights.sum() if reduction == "mean" else -_reduce(total, reduction)


def mse_loss(input: Tensor, target: Tensor, size_average: None = None, reduce: None = None, reduction: str = "mean",
             weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """Return the squared differences of predictions and targets, of any one shape, averaged or summed by `reduction`.

    Raises:
        ValueError: `size_average`, `reduce` or `weight` is set, which cannot be written out.
    """
    _refuse_arguments(size_average, reduce, weight)
    return _reduce((input - target) ** 2, reduction)


def l1_loss(input: Tensor, target: Tensor, size_average: None = None, reduce: None = None,
            reduction: str = "mean", weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """Return the absolute differences of predictions and targets, of any one shape, averaged or summed by `reduction`.

    Raises:
        ValueError: `size_average`, `reduce` or `weight` is set, which cannot be written out.
    """
    _refuse_arguments(size_average, reduce, weight)
    return _reduce((input - target).abs(), reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: None = None, reduce: None = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:  # fmt: skip
    """Return the smooth L1 loss of predictions and targets, of any one shape, averaged or summed by `reduction`.

    A difference d costs d**2 / (2 beta) where abs(d) < beta, and abs(d) - beta / 2 where it is not.

    Raises:
        ValueError: `size_average` or `reduce` is set, which cannot be written out.
    """
    _refuse_arguments(size_average, reduce)
    difference = input - target
    size = difference.abs()
    return _reduce(torch.where(size < beta, 0.5 * difference**2 / beta, size - 0.5 * beta), reduction)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
               weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """Return the Huber loss of predictions and targets, of any one shape, averaged or summed by `reduction`.

    A difference d costs d**2 / 2 where abs(d) <= delta, and delta (abs(d) - delta / 2) where it is not.

    Raises:
        ValueError: `weight` is set, which cannot be written out.
    """
    _refuse_arguments(weight)
    difference = input - target
    size = difference.abs()
    return _reduce(torch.where(size <= delta, 0.5 * difference**2, delta * (size - 0.5 * delta)), reduction)


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: None = None,
                         reduce: None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Return the cross entropy of probabilities with targets from 0 to 1, averaged or summed by `reduction`.

    Input and target have one shape; a weight, which multiplies the terms, broadcasts with it.

    Raises:
        ValueError: `size_average` or `reduce` is set, which cannot be written out.
    """
    _refuse_arguments(size_average, reduce)
    terms = -(target * input.log() + (1 - target) * (1 - input).log())
    return _reduce(terms if weight is None else weight * terms, reduction)


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     size_average: None = None, reduce: None = None, reduction: str = "mean",
                                     pos_weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """Return the cross entropy of sigmoid(input) with targets from 0 to 1, averaged or summed by `reduction`.

    Input and target have one shape; a weight, which multiplies the terms, broadcasts with it.

    Raises:
        ValueError: `size_average`, `reduce` or `pos_weight` is set, which cannot be written out.
    """
    _refuse_arguments(size_average, reduce, pos_weight)
    terms = torch.nn.functional.softplus(input) - input * target
    return _reduce(terms if weight is None else weight * terms, reduction)


def kl_div(input: Tensor, target: Tensor, size_average: None = None, reduce: None = None, reduction: str = "mean",
           log_target: bool = False) -> Tensor:  # fmt: skip
    """Return the Kullback-Leibler divergence of targets from log-probabilities, entry by entry, and reduced.

    Args:
        input: log-probabilities, of any shape.
        target: probabilities; log-probabilities if `log_target`.
        size_average: must be `None`.
        reduce: must be `None`.
        reduction: `"mean"`, `"sum"` or `"none"`; or `"batchmean"`, the sum divided by the length of the first axis.
        log_target: whether the targets are logarithms.

    Raises:
        ValueError: `size_average` or `reduce` is set, which cannot be written out.
    """
    _refuse_arguments(size_average, reduce)
    terms = target.exp() * (target - input) if log_target else target * (target.log() - input)
    return terms.sum() / len(terms) if reduction == "batchmean" else _reduce(terms, reduction)


def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Return the input standardized over its last axes, times a weight and plus a bias where these are given.

    Args:
        input: shape: (..., *normalized_shape).
        normalized_shape: the sizes of the axes that are standardized over.
        weight: shape: normalized_shape.
        bias: shape: normalized_shape.
        eps: is added to the variance.
    """
    value = _standardize(input, tuple(range(-len(normalized_shape), 0)), eps)
    return _scale_and_shift(value, weight, bias)


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:  # fmt: skip
    """Return the input divided by the root of its mean square over its last axes, times a weight where it is given.

    Args:
        input: shape: (..., *normalized_shape).
        normalized_shape: the sizes of the axes that the mean is taken over.
        weight: shape: normalized_shape.
        eps: is added to the mean square; `None` for the machine epsilon of the input's dtype.
    """
    axes = tuple(range(-len(normalized_shape), 0))
    eps = torch.finfo(input.dtype).eps if eps is None else eps
    return _scale_and_shift(input / (input.square().mean(axes, keepdim=True) + eps).sqrt(), weight, None)


def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.1,
               eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Return the input standardized for each channel: over the examples if `training`, else by the running statistics.

    Args:
        input: shape: (bs, c, ...).
        running_mean: shape: (c,).
        running_var: shape: (c,).
        weight: is multiplied; shape: (c,).
        bias: is added; shape: (c,).
        training: whether mean and variance are those of the input.
        momentum: ignored: the running statistics are not updated.
        eps: is added to the variance.

    Raises:
        ValueError: `training` is False, and a running statistic is `None`.
    """
    shape = (-1, *(1,) * (input.dim() - 2))
    weight, bias = (None if row is None else row.reshape(shape) for row in (weight, bias))
    if training:
        return _scale_and_shift(_standardize(input, (0, *range(2, input.dim())), eps), weight, bias)
    if running_mean is None or running_var is None:
        raise ValueError("there are no statistics")
    value = (input - running_mean.reshape(shape)) / (running_var.reshape(shape) + eps).sqrt()
    return _scale_and_shift(value, weight, bias)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Return the input standardized over groups of its channels, times a weight and plus a bias where these are given.

    Args:
        input: shape: (bs, c, ...).
        num_groups: how many groups of adjoining channels, of one size, there are; each is standardized for itself.
        weight: shape: (c,).
        bias: shape: (c,).
        eps: is added to the variance.
    """
    shape = (-1, *(1,) * (input.dim() - 2))
    grouped = input.reshape(len(input), num_groups, -1)
    value = _standardize(grouped, (-1,), eps).reshape(input.shape)
    return _scale_and_shift(value, *(None if row is None else row.reshape(shape) for row in (weight, bias)))


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: None = None) -> Tensor:
    """Return the input divided by its p-norm along the axis `dim`, or by `eps` where the norm is less; same shape.

    Raises:
        ValueError: `out` is given.
    """
    _refuse_arguments(out)
    length: Tensor = torch.linalg.vector_norm(input, p, dim, keepdim=True).clamp_min(eps)
    return input / length.expand_as(input)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return sum(x1 * x2) / (norm(x1) * norm(x2)) along the axis `dim`, which the result lacks.

    The two arrays broadcast, and a norm less than `eps` counts as `eps`.
    """
    lengths = (torch.linalg.vector_norm(x, 2, dim, keepdim=True).clamp_min(eps) for x in (x1, x2))
    unit1, unit2 = (x / length for x, length in zip((x1, x2), lengths, strict=True))
    products: Tensor = unit1 * unit2
    return products.sum(dim)


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:  # fmt: skip
    """Return the values weighted by the softmax of the scores q·k, as torch's function of this name does.

    Args:
        query: shape: (..., queries, n).
        key: shape: (..., keys, n).
        value: shape: (..., keys, m).
        attn_mask: True where a query may see a key, or numbers that are added to the scores; shape: (..., queries,
            keys).
        dropout_p: must be 0.
        is_causal: whether each query sees only the keys up to its own position.
        scale: the factor of the scores; 1 / sqrt(n) by default.
        enable_gqa: must be False.

    Returns:
        Shape: (..., queries, m).

    Raises:
        ValueError: it cannot be written out: there is dropout, or keys are shared between heads.
    """
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
    """Return `beta * input + alpha * mat1 @ mat2`, as torch's `addmm` and `baddbmm` do."""
    product = mat1 @ mat2
    return (input if beta == 1 else beta * input) + (product if alpha == 1 else alpha * product)


def has_special_numbers(name: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> bool:
    """Return whether a call of a loss holds numbers that torch treats in a special way, unlike its plain formula.

    Such a call is not written out in simpler operations. The numbers are examples with the class `ignore_index`,
    probabilities of exactly 0 or 1, and 0 log 0 in `kl_div`.

    Args:
        name: torch's name of the function, such as `cross_entropy`.
        args: its arguments by position.
        kwargs: its arguments by name.

    Raises:
        TypeError: these are not arguments that the function takes.
    """
    given = inspect.signature(COMPOSITES[name]).bind(*args, **kwargs).arguments
    x, target = given.get("input"), given.get("target")
    if name in ("cross_entropy", "nll_loss"):  # examples that do not count
        return isinstance(target, Tensor) and bool((target == given.get("ignore_index", NO_CLASS)).any())
    if name == "binary_cross_entropy":  # logarithms are cut off
        return isinstance(x, Tensor) and bool(((x == 0) | (x == 1)).any())
    if name == "kl_div":  # 0 log 0 is 0
        return isinstance(target, Tensor) and not given.get("log_target") and bool((target <= 0).any())
    return False


def _refuse_arguments(*arguments: object) -> None:
    """Raise an error if any of the arguments is not `None`: a call with it cannot be written out in operations.

    Raises:
        ValueError: one of them is set.
    """
    if any(argument is not None for argument in arguments):
        raise ValueError("an argument is not taken apart")


def _standardize(x: Tensor, axes: tuple[int, ...], eps: float) -> Tensor:
    """Return (x - mean) / sqrt(variance + eps), with mean and variance over the given axes; shape: that of x.

    The variance is the mean of the squared deviations, without torch's correction by 1.
    """
    centred = x - x.mean(axes, keepdim=True)
    return centred / (centred.square().mean(axes, keepdim=True) + eps).sqrt()


def _scale_and_shift(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Return `x * weight + bias`; a weight or a bias that is `None` is left out."""
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
