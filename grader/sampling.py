"""Samplers: what each argument of a learner's function is drawn from.

A sampler names the axes of its array (`normal("bs n")`) and draws with the trial's sizes, so that every
exercise is tried at several sizes. numpy is imported on first use: reading a spec stays cheap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .shapes import ANY, BATCH, Axes, Sizes, alternatives, axes_of, expand_any, named_axes, shape_of

if TYPE_CHECKING:
    import numpy as np

DISTINCT_SIZES = (2, 3, 4, 5, 6, 7)
LARGE_UPSTREAM_KIND = "a large upstream gradient"
LARGER_KIND = "a larger case"
LARGE_SIZES = (40, 48, 56, 44, 52)
SPECIAL_TURNS = {2: 0, 3: 1, 4: 0}


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

    @property
    def is_special(self) -> bool:
        """What is special about it is its sizes or its upstream gradient, never its options."""
        return self.index in SPECIAL_TURNS or self.kind == LARGER_KIND

    @property
    def turn(self) -> int:
        """Which value has its turn, where an argument goes through several.

        A special trial (a batch of one, a square, a large upstream gradient) repeats the turn of an ordinary one, so
        that an answer that is wrong in it is wrong for what makes it special.
        """
        ordinary = self.index if self.index < 2 else self.index - len(SPECIAL_TURNS)
        return SPECIAL_TURNS.get(self.index, ordinary)


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
        spec: the axes of an array argument, or several alternatives that have their turns; empty for anything else.
        draw: `(rng, setting, shape) -> value`.
        differentiable: gradients with respect to this argument exist.
        carries_g: the argument may already have a `.g`, to be added to.
        chosen: the argument is a set, of some of these names, that asks for their gradients only.
        turns: how many values it goes through, trial by trial.
        withheld: the forward pass takes it, the learner's function does not.
    """

    spec: str
    draw: Callable[[np.random.Generator, Setting, tuple[int, ...]], Any]
    differentiable: bool = False
    carries_g: bool = False
    chosen: tuple[str, ...] = ()
    turns: int = 1
    withheld: bool = False

    def sample(self, rng: np.random.Generator, setting: Setting) -> Any:
        """One value: an `Array` for array arguments, else what `draw` returns."""
        if not self.spec:
            return self.draw(rng, setting, ())
        axes = _axes_in(self.spec, setting)
        shape = shape_of(axes, setting.sizes)
        return Array(self.draw(rng, setting, shape), axes, self._prior(rng, setting, shape))

    @property
    def least_trials(self) -> int:
        """How many trials it takes until every value had its turn."""
        turns = max(self.turns, len(alternatives(self.spec)))
        return turns if turns <= 2 else turns + len(SPECIAL_TURNS)

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


def normal(spec: str, dtype: str = "float32", scale: float = 1.0) -> Sampler:
    """Normal entries around 0, `scale` their standard deviation; shape: `spec`."""

    def draw(rng: np.random.Generator, setting: Setting, shape: tuple[int, ...]) -> np.ndarray:
        return (scale * _normal(rng, setting, shape)).astype(dtype)

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


def spaced(spec: str, gap: float = 0.05) -> Sampler:
    """Entries around 0 in a random order, no two of them nearer than `gap`; shape: `spec`."""

    def draw(rng: np.random.Generator, _: Setting, shape: tuple[int, ...]) -> np.ndarray:
        count = math.prod(shape)
        places = rng.permutation(count) - count / 2 + rng.uniform(0, 0.5, count)
        return (2 * gap * places).reshape(shape).astype("float32")

    return Sampler(spec, draw, differentiable=True)


def indices(spec: str, axis: str) -> Sampler:
    """Places along the named axis, int64; some are there twice, where there are two or more; shape: `spec`."""

    def draw(rng: np.random.Generator, setting: Setting, shape: tuple[int, ...]) -> np.ndarray:
        places = rng.integers(setting.sizes[axis], size=math.prod(shape))
        places[-1] = places[0]
        return places.reshape(shape)

    return Sampler(spec, draw)


def shape(spec: str) -> Sampler:
    """A shape, as a tuple: the one that an array argument with this spec has."""
    turns = len(alternatives(spec))
    return Sampler("", lambda _rng, setting, _: shape_of(_axes_in(spec, setting), setting.sizes), turns=turns)


def withheld(sampler: Sampler) -> Sampler:
    """What the forward pass takes and the learner's function does not."""
    return replace(sampler, withheld=True)


def accumulating(sampler: Sampler) -> Sampler:
    """The same array, with a `.g` already there in some trials and none in others."""
    return replace(sampler, carries_g=True)


def number(low: float, high: float) -> Sampler:
    """A Python float between `low` and `high`."""
    return Sampler("", lambda rng, _setting, _shape: float(rng.uniform(low, high)))


def each_of(*values: Any) -> Sampler:
    """Each of these values in turn; there are enough trials for all of them."""
    return Sampler("", lambda _rng, setting, _shape: values[setting.turn % len(values)], turns=len(values))


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


def _axes_in(spec: str, setting: Setting) -> Axes:
    """The axes that an array of this spec has in a trial."""
    specs = alternatives(spec)
    return expand_any(specs[setting.turn % len(specs)], setting.rank)


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
    return Setting(index, LARGER_KIND, dict(zip(named_axes(specs), LARGE_SIZES, strict=False)))


def _different(axes: Axes, rng: np.random.Generator) -> dict[str, int]:
    return {axis: int(size) for axis, size in zip(axes, rng.permutation(DISTINCT_SIZES), strict=False)}
