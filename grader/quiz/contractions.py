"""Products that sum over axes: `@` and its other names, einsum, outer products."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .entrywise_operations import ENTRYWISE
from .formula_work import Work, whole, wholes

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _matmul(work: Work, a: Any, b: Any) -> Any:
    a, b = work.array(a), work.array(b)
    if a.ndim and b.ndim:  # it is the work that counts: a formula has room for dozens of products
        work.room((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), math.prod(a.shape[-2:]), *b.shape[-1:]))
    return np.matmul(a, b)


def _of_ranks(*ranks: int) -> Callable[..., Any]:
    """A matrix product that torch allows for arrays of so many axes only."""

    def step(work: Work, a: Any, b: Any) -> Any:
        if (work.array(a).ndim, work.array(b).ndim) != ranks:
            raise ValueError("another number of axes")
        return _matmul(work, a, b)

    return step


def _dot(work: Work, a: Any, b: Any) -> Any:
    """numpy's: a matrix product, or a plain one where one is a number."""
    scalar = not work.array(a).ndim or not work.array(b).ndim
    return ENTRYWISE["*"](work, a, b) if scalar else _matmul(work, a, b)


def _einsum(work: Work, first: Any, *others: Any) -> Any:
    """`"bi,bj->ij"` and its arrays; or einops' way, the arrays first and words for axes."""
    spec, arrays = (first, others) if isinstance(first, str) else (others[-1], (first, *others[:-1]))
    if not isinstance(spec, str):
        raise TypeError("no text says which axes are summed")
    if len(arrays) == 1 and isinstance(arrays[0], tuple):
        arrays = arrays[0]
    return contraction(work, spec if isinstance(first, str) else _with_letters(spec), [work.array(a) for a in arrays])


def _with_letters(spec: str) -> str:
    words = dict.fromkeys(re.findall(r"\w+", spec))
    letters = dict(zip(words, LETTERS, strict=False))
    return re.sub(r"\w+", lambda word: letters[word[0]], spec)


def contraction(work: Work, spec: str, arrays: list[np.ndarray]) -> Any:
    """torch's einsum, its work counted: the product of the sizes of all letters; `...` may be summed.

    Raises:
        ValueError: the letters do not fit the arrays.
    """
    plain = spec.replace(" ", "")
    if not re.fullmatch(r"[A-Za-z.,]*(->[A-Za-z.]*)?", plain, re.ASCII):
        raise TypeError("no einsum")
    parts, arrow, result = plain.partition("->")
    inputs = parts.split(",")
    if len(inputs) != len(arrays):
        raise TypeError("another number of arrays")
    rest = [array.ndim - len(part.replace("...", "")) for part, array in zip(inputs, arrays, strict=True)]
    spare = "".join(letter for letter in LETTERS.upper() if letter not in plain)[: max(0, *rest)]
    spelled = [part.replace("...", spare[len(spare) - count :]) for part, count in zip(inputs, rest, strict=True)]
    sizes: dict[str, int] = {}
    for part, array in zip(spelled, arrays, strict=True):
        if len(part) != array.ndim:
            raise ValueError("the letters do not fit the axes")
        for letter, size in zip(part, array.shape, strict=True):
            sizes[letter] = max(size, sizes.get(letter, 1))
    work.room((math.prod(sizes.values()),))
    if not arrow and spare:  # numpy puts them in front, and then what occurs once
        once = sorted(letter for letter in parts if letter.isalpha() and parts.count(letter) == 1)
        arrow, result = "->", "..." + "".join(once)
    return np.einsum(",".join(spelled) + arrow + result.replace("...", spare), *arrays)


def _tensordot(work: Work, a: Any, b: Any, dims: Any = 2.0) -> Any:
    a, b = work.array(a), work.array(b)
    if isinstance(dims, tuple):
        first, second = (wholes(axes) if isinstance(axes, tuple) else (whole(axes),) for axes in dims)
    else:
        if not 0 <= whole(dims) <= min(a.ndim, b.ndim):
            raise ValueError("more axes than there are")
        first, second = tuple(range(a.ndim - whole(dims), a.ndim)), tuple(range(whole(dims)))
    shared = math.prod(a.shape[axis] for axis in first) or 1
    work.room((a.size * b.size // shared,))
    return np.tensordot(a, b, (first, second))


def _inner(work: Work, a: Any, b: Any) -> Any:
    a, b = work.array(a), work.array(b)
    work.room((a.size * (b.size // b.shape[-1] if b.ndim else 1),))
    return np.inner(a, b)


def _outer(work: Work, a: Any, b: Any) -> Any:
    a, b = work.array(a), work.array(b)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError("no vectors")
    work.room((a.size, b.size))
    return np.outer(a, b)


def _kron(work: Work, a: Any, b: Any) -> Any:
    a, b = work.array(a), work.array(b)
    work.room((a.size * b.size,))
    return np.kron(a, b)


def _linear(work: Work, inp: Any, weight: Any, bias: Any = None) -> Any:
    product = _matmul(work, inp, work.array(weight).T)
    return product if bias is None else ENTRYWISE["+"](work, product, bias)


def _added(product: Callable[..., Any]) -> Callable[..., Any]:
    """`addmm(c, a, b)` and its like."""

    def step(work: Work, c: Any, a: Any, b: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
        times = ENTRYWISE["*"]
        return ENTRYWISE["+"](work, times(work, beta, c), times(work, alpha, product(work, a, b)))

    return step


def _multi_dot(work: Work, arrays: Any) -> Any:
    first, *others = work.turns(arrays)
    for other in others:
        first = _matmul(work, first, other)
    return first


def _vecdot(work: Work, a: Any, b: Any, dim: Any = -1.0) -> Any:
    return np.sum(ENTRYWISE["*"](work, a, b), axis=whole(dim))


def _all(names: str, function: Callable[..., Any]) -> Iterable[tuple[str, Callable[..., Any]]]:
    return ((name, function) for name in names.split())


CONTRACTIONS: Mapping[str, Callable[..., Any]] = dict(
    [
        *_all("@ matmul", _matmul), *_all("dot vdot", _dot), ("mm", _of_ranks(2, 2)), ("bmm", _of_ranks(3, 3)),
        ("mv", _of_ranks(2, 1)), ("torch.dot", _of_ranks(1, 1)), ("einsum", _einsum), ("tensordot", _tensordot),
        ("inner", _inner), *_all("outer ger ⊗ multiply.outer", _outer), ("kron", _kron), ("linear", _linear),
        *_all("addmm addmv baddbmm", _added(_matmul)), ("addr", _added(_outer)),
        *_all("multi_dot chain_matmul", _multi_dot), *_all("vecdot", _vecdot),
    ]
)  # fmt: skip
