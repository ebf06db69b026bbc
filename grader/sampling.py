"""Samplers: what each argument of a learner's function is drawn from.

A sampler names the axes of its array (`normal("bs n")`) and draws with the trial's sizes, so that every
exercise is tried at several sizes. numpy is imported on first use: reading a spec stays cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .shapes import ANY, BATCH, Axes, Sizes, axes_of, expand_any, named_axes, shape_of

if TYPE_CHECKING:
    import numpy as np

DISTINCT_SIZES = (2, 3, 4, 5, 6, 7)
LARGE_UPSTREAM_KIND = "a large upstream gradient"
LARGE_SIZES = (40, 48, 56, 44, 52)


@dataclass(frozen=True)
class Setting:
    """Where one trial takes place: its place in the series, its axis sizes, and the rank of `...`.

    Args:
        index: 0 for the first trial.
        kind: a phrase a learner reads, such as `"a batch of one"`.
        sizes: the size of each named axis.
        rank: how many axes `...` stands for.
    """

    index: int
    kind: str
    sizes: Sizes
    rank: int = 2


@dataclass(frozen=True)
class Array:
    """A tensor argument: `values`, float32 or an integer type, and the `.g` it already carries, if any."""

    values: np.ndarray
    axes: Axes
    g: np.ndarray | None = None


@dataclass(frozen=True)
class Function:
    """A function argument, as the Python expression the worker evaluates."""

    source: str


@dataclass(frozen=True)
class Dtype:
    """A torch dtype argument, by name."""

    name: str


@dataclass(frozen=True)
class Sampler:
    """Draws one argument.

    Args:
        spec: the axes of an array argument; empty for anything else.
        draw: `(rng, setting, shape) -> value`.
        differentiable: gradients with respect to this argument exist.
        carries_g: the argument may already have a `.g`, to be added to.
        chosen: the argument is a set, of some of these names, that asks for their gradients only.
        least_trials: how many trials it takes to meet every kind of value.
    """

    spec: str
    draw: Callable[[np.random.Generator, Setting, tuple[int, ...]], Any]
    differentiable: bool = False
    carries_g: bool = False
    chosen: tuple[str, ...] = ()
    least_trials: int = 0

    def sample(self, rng: np.random.Generator, setting: Setting) -> Any:
        """One value: an `Array` for array arguments, else what `draw` returns."""
        if not self.spec:
            return self.draw(rng, setting, ())
        axes = expand_any(self.spec, setting.rank)
        shape = shape_of(axes, setting.sizes)
        return Array(self.draw(rng, setting, shape), axes, self._prior(rng, setting, shape))

    def _prior(self, rng: np.random.Generator, setting: Setting, shape: tuple[int, ...]) -> np.ndarray | None:
        wanted = setting.index == 0 or (setting.index > 1 and rng.random() < 0.5)
        return _normal(rng, setting, shape) if self.carries_g and wanted else None


@dataclass(frozen=True)
class Marker:
    """Stands in a signature for something the grader computes: the output, or the upstream gradient."""

    role: str


def output() -> Marker:
    """The forward pass's output, carrying the upstream gradient in `.g`."""
    return Marker("output")


def upstream() -> Marker:
    """The upstream gradient itself, as an argument shaped like the forward pass's output."""
    return Marker("upstream")


def normal(spec: str, dtype: str = "float32") -> Sampler:
    """Standard normal entries; shape: `spec`."""

    def draw(rng: np.random.Generator, setting: Setting, shape: tuple[int, ...]) -> np.ndarray:
        return _normal(rng, setting, shape).astype(dtype)

    return Sampler(spec, draw, differentiable=True)


def positive(spec: str) -> Sampler:
    """Entries between 0.5 and 2.5, for logarithms and quotients; shape: `spec`."""
    return Sampler(spec, lambda rng, _, shape: rng.uniform(0.5, 2.5, shape).astype("float32"), differentiable=True)


def away_from(kink: float, spec: str, gap: float = 0.2) -> Sampler:
    """Entries on both sides of `kink`, none nearer than `gap`; shape: `spec`."""

    def draw(rng: np.random.Generator, _: Setting, shape: tuple[int, ...]) -> np.ndarray:
        sign = rng.choice([-1.0, 1.0], shape)
        return (kink + sign * (gap + rng.gamma(2.0, 0.4, shape))).astype("float32")

    return Sampler(spec, draw, differentiable=True)


def accumulating(sampler: Sampler) -> Sampler:
    """The same array, with a `.g` already there in some trials and none in others."""
    return replace(sampler, carries_g=True)


def number(low: float, high: float) -> Sampler:
    """A Python float between `low` and `high`."""
    return Sampler("", lambda rng, _setting, _shape: float(rng.uniform(low, high)))


def each_of(*values: Any) -> Sampler:
    """`values[i % len(values)]` in trial i; there are at least as many trials as values."""
    return Sampler("", lambda _rng, setting, _shape: values[setting.index % len(values)], least_trials=len(values))


def wanted(names: str) -> Sampler:
    """A set of argument names: all of them first, then each alone."""
    every = tuple(names.split())

    def draw(rng: np.random.Generator, setting: Setting, _shape: tuple[int, ...]) -> frozenset[str]:
        if setting.index == 0:
            return frozenset(every)
        return frozenset(name for i, name in enumerate(every) if (i + setting.index) % len(every) == 0)

    return Sampler("", draw, chosen=every)


def _normal(rng: np.random.Generator, _: Setting, shape: tuple[int, ...]) -> np.ndarray:
    return rng.standard_normal(shape).astype("float32")


def settings(specs: tuple[str, ...], rng: np.random.Generator, least: int = 0) -> list[Setting]:
    """The series of trials for arguments with these specs, at least `least` of them.

    Two with pairwise different sizes, one with a batch of one (where there is a batch), one square, one with a
    large upstream gradient, then other sizes; `...` has rank 2, 1, 3, 2 in the first four, 2 in the rest.
    """
    anonymous = tuple(f"_{i}" for i in range(3)) if any(ANY in axes_of(spec) for spec in specs) else ()
    axes = named_axes(specs) + anonymous
    batch = {axis: 1 for axis in (BATCH, "_0") if axis in axes}
    side = int(rng.integers(3, 6))
    kinds = [
        ("pairwise different sizes", _different(axes, rng), 2),
        ("other sizes", _different(axes, rng), 1),
        ("a batch of one" if batch else "more sizes", {**_different(axes, rng), **batch}, 3),
        ("a square case", dict.fromkeys(axes, side), 2),
        (LARGE_UPSTREAM_KIND, _different(axes, rng), 2),
    ]
    kinds += [("more sizes", _different(axes, rng), 2) for _ in range(least - len(kinds))]
    return [Setting(i, kind, sizes, rank) for i, (kind, sizes, rank) in enumerate(kinds)]


def large_setting(specs: tuple[str, ...], index: int) -> Setting:
    """One trial large enough to tell an intermediate of every axis from the arguments themselves."""
    return Setting(index, "a larger case", dict(zip(named_axes(specs), LARGE_SIZES, strict=False)))


def _different(axes: Axes, rng: np.random.Generator) -> dict[str, int]:
    return {axis: int(size) for axis, size in zip(axes, rng.permutation(DISTINCT_SIZES), strict=False)}
