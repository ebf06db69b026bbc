"""Watches one call for a measurement: at how many points right beside its arguments are operations made?

A formula works with the arguments that it is given. Whoever measures a gradient runs the forward pass beside them: once
or twice for each entry, or a few times with all entries moved at once. What is seen is counted, whatever time it took.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

NEAR = 1e-2  # of the largest entry: no derivative is measured with a larger step, unless it is that of a straight line
ALIKE = 0.2  # how far two steps that are meant to be the same may be apart: x + 1e-3 is rounded to float32
LEAST = 3  # points; one or two may be near by chance, as x - x.mean() is
SCALARS_ALIKE, LEAST_SCALARS, SHARE = 1e-3, 8, 1 / 50  # numbers alone are often near an entry, and few by the same step
COPYING = ("array", "asarray", "ascontiguousarray", "copy")  # what makes plain arrays of watched ones
MOST_LOOKS, MOST_POINTS, MOST_ENTRIES = 20_000, 4096, 1 << 16


class SeenEnough(BaseException):
    """The call may end: it has gone on for so long that nobody looks any more."""


class _Beside:
    """The points beside one argument that were seen so far."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values.astype(complex).ravel()
        self.near = NEAR * float(np.abs(values).max(initial=0.0))
        self.lines: list[np.ndarray] = []
        if values.ndim > 1:
            self.lines += [self.values.reshape(-1, values.shape[-1]), self.values.reshape(len(values), -1).T]
        self.points: set[bytes] = set()
        self.shifts: set[bytes] = set()  # the points whose moved entries are moved by one step
        self.shifted = np.zeros(values.size, bool)
        self.alone: dict[int, set[int]] = defaultdict(set)  # the size of a step -> the entries that it moved alone
        self.scalars: dict[int, set[int]] = defaultdict(set)  # the same, of numbers outside of any array
        self.numbers = 0

    @property
    def count(self) -> int:
        """How many points were seen, if they are enough to measure a gradient of the argument; otherwise 0."""
        half = self.values.size / 2
        alone, scalars = (max(map(len, moved.values()), default=0) for moved in (self.alone, self.scalars))
        enough = len(self.points) >= max(LEAST, half) or alone >= max(LEAST, half)
        enough |= len(self.shifts) > 1 and bool(self.shifted.sum() >= half)
        enough |= scalars >= max(LEAST_SCALARS, half, SHARE * self.numbers)
        return max(len(self.points), alone, scalars) if enough else 0

    def look(self, array: np.ndarray) -> None:
        """Count the points in an array: this argument, or a row or a column of it, but for a step."""
        size = self.values.size
        if array.size == 1 < size:
            steps = array.reshape(()) - self.values
            place = int(np.abs(steps).argmin())
            self.numbers += 1
            if 0 < abs(steps[place]) <= self.near:
                self.scalars[_size(steps[place], SCALARS_ALIKE)].add(place)
        elif 0 < size <= array.size <= MOST_POINTS * size and size in accumulate(array.shape[::-1], mul, initial=1):
            steps = array.reshape(-1, size) - self.values
            lengths = np.abs(steps)
            if lengths.any():  # most arrays are arguments as they are
                moved, longest = (lengths > 0).sum(1), lengths.max(1)
                for row in ((moved == 1) | ((moved > 0) & (longest <= self.near))).nonzero()[0]:
                    self._count(steps[row], lengths[row])
        elif array.ndim == 1:
            for lines in self.lines:
                if lines.shape[1] == array.size >= LEAST:
                    steps = array - lines
                    most = np.abs(steps).max(1)
                    self.points |= {step.tobytes() for step in steps[(most > 0) & (most <= self.near)]}

    def _count(self, step: np.ndarray, lengths: np.ndarray) -> None:
        moved = np.flatnonzero(lengths)
        if len(moved) == 1:
            self.alone[_size(step[moved[0]], ALIKE)].add(int(moved[0]))
        if lengths.max() <= self.near:
            self.points.add(step.tobytes())
            if lengths.max() <= (1 + ALIKE) * lengths[moved].min():
                self.shifts.add(step.tobytes())
                self.shifted[moved] = True


def _size(step: complex, alike: float) -> int:
    """A number for the size of a step, the same for sizes that are alike."""
    return round(math.log(abs(step)) / alike)


class NudgeWatch(TorchFunctionMode):
    """A context that sees every array which goes into an operation of torch or numpy, or comes out of it."""

    def __init__(self, arguments: Mapping[str, np.ndarray]) -> None:
        super().__init__()
        self.beside = {name: _Beside(values) for name, values in arguments.items() if values.dtype.kind == "f"}
        self.looks = 0
        self._plain = {name: getattr(np, name) for name in COPYING}

    def __enter__(self) -> NudgeWatch:
        for name, function in self._plain.items():
            setattr(np, name, partial(_copied, self, function))
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)  # type: ignore[no-untyped-call]
        vars(np).update(self._plain)

    @property
    def counts(self) -> dict[str, int]:
        """How many points were seen beside an argument whose gradient was measured."""
        return {name: beside.count for name, beside in self.beside.items() if beside.count}

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.look((args, result))
        return watched(result, self)

    def look(self, value: Any) -> None:
        """Look at every array in a value, until there is nothing more to learn."""
        for array in _arrays(value):
            self.looks += 1
            for beside in self.beside.values():
                beside.look(array)
        if self.looks > MOST_LOOKS:
            raise SeenEnough


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, (tuple, list)):
        for one in value[:MOST_POINTS]:
            yield from _arrays(one)
    elif isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
        if value.numel() <= MOST_ENTRIES and value.layout is torch.strided:
            with torch._C.DisableTorchFunction(), suppress(RuntimeError, TypeError):  # one of vmap's, or of bfloat16
                yield value.detach().resolve_conj().resolve_neg().numpy()
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fc" and value.size <= MOST_ENTRIES:
        yield value.view(np.ndarray)
    elif isinstance(value, (np.floating, np.complexfloating)):
        yield np.asarray(value)


class _Watched(np.ndarray):
    """An array that shows a watch what numpy does with it, and with whatever comes of it."""

    watch: NudgeWatch | None = None

    def __array_finalize__(self, made_from: Any) -> None:
        self.watch = getattr(made_from, "watch", None)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        result = self.__array_function__(getattr(ufunc, method), (), inputs, kwargs)
        return kwargs["out"][0] if "out" in kwargs else result

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        plain = [_plain(value) for value in args]
        result = func(*plain, **{name: _plain(value) for name, value in kwargs.items()})
        if self.watch is not None:
            self.watch.look((*plain, result))
        return watched(result, self.watch)


def watched(value: Any, watch: NudgeWatch | None) -> Any:
    """Arrays that a watch sees the operations of, in a tuple too; anything else as it is."""
    if type(value) is tuple:
        return tuple(watched(one, watch) for one in value)
    if watch is None or type(value) is not np.ndarray:
        return value
    seen = value.view(_Watched)
    seen.watch = watch
    return seen


def _plain(value: Any) -> Any:
    if isinstance(value, _Watched):
        return value.view(np.ndarray)
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value


def _copied(watch: NudgeWatch, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function of numpy makes of a tensor, or of a watched array, is watched too."""
    result = function(*args, **kwargs)
    return watched(result, watch) if args and isinstance(args[0], (torch.Tensor, _Watched)) else result
