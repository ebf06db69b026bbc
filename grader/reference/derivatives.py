"""Vector-Jacobian products of the commonest operations, written by hand.

Torch's own is as right, and takes ten times as long for a single operation on a few numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

Args = tuple[Any, ...]
Options = Mapping[str, Any]
Entrywise = Callable[[torch.Tensor], torch.Tensor]


def vjp(
    func: Callable[..., Any], name: str, args: Args, options: Options, position: tuple[int | str, ...], g: torch.Tensor
) -> torch.Tensor | None:
    """Return what an upstream gradient contributes to an argument of an operation; shaped like that argument.

    Args:
        func: the operation; one with several results has the `index` of the one that is meant.
        name: the operation's torch name, such as `matmul`.
        args: its arguments, the tensors among them.
        options: its keyword arguments.
        position: which argument, or which member of a list that is one.
        g: shaped like the operation's value.

    Returns:
        The contribution; `None` where no rule is written here for such arguments.
    """
    i, *member = position
    if not isinstance(i, int) or len(member) > 1:
        return None
    x: torch.Tensor = args[i][member[0]] if member else args[i]
    if g.dtype != x.dtype:
        return None
    if member:
        return _joined(name, args, options, member[0], g) if i == 0 else None
    if name in ENTRYWISE and len(args) == 1 and not options:
        return g * ENTRYWISE[name](x)
    if name in REDUCING and i == 0:
        return _reduced(x, g, args[1:], options, average=name == "mean")
    if name == "softmax" and i == 0:
        return _softmax(x, g, *args[1:], **options)
    if name == "chunk" and i == 0:
        return _chunk(x, g, getattr(func, "index", None), *args[1:], **options)
    if options:
        return None
    if name in RESHAPING and i == 0:
        return g.reshape(x.shape)
    if name in TRANSPOSING and i == 0:
        moved: torch.Tensor = g.transpose(*args[1:]) if len(args) == 3 else func(g)  # `.T` and `.mT` undo themselves
        return moved
    if name in PRODUCTS and len(args) == 2:
        return _product(args, i, g)
    if name == "masked_fill" and i == 0 and len(args) == 3:
        return g.masked_fill(args[1], 0).sum_to_size(x.shape)
    return _arithmetic(name, args, i, g)


REDUCING = {"sum", "mean"}
RESHAPING = {"reshape", "view", "flatten", "unflatten", "unsqueeze", "squeeze"}
TRANSPOSING = {"transpose", "t"}
PRODUCTS = {"matmul", "mm", "bmm", "__matmul__"}
ENTRYWISE: Mapping[str, Entrywise] = {
    "neg": lambda x: x.new_full((), -1.0),
    "exp": torch.exp,
    "log": torch.reciprocal,
    "sqrt": lambda x: 0.5 / x.sqrt(),
    "tanh": lambda x: 1 - x.tanh() ** 2,
    "sigmoid": lambda x: x.sigmoid() * (1 - x.sigmoid()),
    "square": lambda x: 2 * x,
}


def _arithmetic(name: str, args: Args, i: int, g: torch.Tensor) -> torch.Tensor | None:
    if len(args) != 2:
        return None
    x, other = args[i], args[1 - i]
    match name, i:
        case "add", _:
            part = g
        case "sub", _:
            part = -g if i else g
        case "__rsub__", _:
            part = g if i else -g
        case "mul", _:
            part = g * other
        case "div", 0:
            part = g / other
        case "div", 1:
            part = -g * (other / x / x)
        case "pow", 0 if type(other) in (int, float) and other:
            part = g * (other * x ** (other - 1))
        case _:
            return None
    return part if part.shape == x.shape else part.sum_to_size(x.shape)


def _product(args: Args, i: int, g: torch.Tensor) -> torch.Tensor | None:
    a, b = args
    if a.ndim < 2 or b.ndim < 2:
        return None
    part = a.mT @ g if i else g @ b.mT
    found: torch.Tensor = part.sum_to_size(args[i].shape)
    return found


def _chunk(x: torch.Tensor, g: torch.Tensor, index: int | None, chunks: int, dim: int = 0) -> torch.Tensor | None:
    """Return zeros with the gradient of one of several equal parts in its place; the last part may be smaller."""
    if index is None:
        return None
    found = torch.zeros_like(x)
    found.narrow(dim, index * -(-x.shape[dim] // chunks), g.shape[dim]).copy_(g)
    return found


def _joined(name: str, args: Args, options: Options, k: int | str, g: torch.Tensor) -> torch.Tensor | None:
    """Return the part of the gradient of a `stack` or a `cat` that belongs to the member `k`."""
    given = dict(zip(("dim",), args[1:], strict=False)) | dict(options)
    dim = given.pop("dim", 0)
    if given or len(args) > 2 or not isinstance(k, int) or not isinstance(dim, int) or name not in ("stack", "cat"):
        return None
    if name == "stack":
        return g.select(dim, k)
    sizes = [member.shape[dim] for member in args[0]]
    return g.narrow(dim, sum(sizes[:k]), sizes[k])


def _softmax(x: torch.Tensor, g: torch.Tensor, dim: int, *more: object, **others: object) -> torch.Tensor | None:
    if more or others:
        return None
    out: torch.Tensor = x.softmax(dim)
    return out * (g - (out * g).sum(dim, keepdim=True))


def _reduced(x: torch.Tensor, g: torch.Tensor, rest: Args, options: Options, *, average: bool) -> torch.Tensor | None:
    """What a sum or a mean hands back: to each entry the same."""
    given = dict(zip(("dim", "keepdim"), rest, strict=False)) | dict(options)
    dim, kept = given.pop("dim", None), given.pop("keepdim", False)
    if given or len(rest) > 2:
        return None
    axes = range(x.ndim) if dim is None else [axis % x.ndim for axis in ([dim] if isinstance(dim, int) else dim)]
    if not kept:
        for axis in sorted(axes):
            g = g.unsqueeze(axis)
    found = g.expand(x.shape)
    return found / (x.numel() // max(g.numel(), 1)) if average else found
