"""The axis sizes of each trial: pairwise different sizes first, then others, and a few special cases."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from .shapes import ANY, BATCH, FIRST_OF_ANY, Axes, Sizes, axes_of, named_axes

if TYPE_CHECKING:
    import numpy as np

DISTINCT_SIZES = (2, 3, 4, 5, 6, 7)  # of ordinary trials
Allowed = Mapping[str, tuple[int, ...]]  # by axis, the sizes that it may have
SIDES = (3, 4, 5)  # of a square
DIFFERENT_KIND = "pairwise different sizes"  # but for fixed ones, and those of an axis with few sizes to choose from
ONE_KIND = "a batch of one"
LARGE_UPSTREAM_KIND = "a large upstream gradient"
OTHER_UPSTREAM_KIND = "another upstream gradient"
SAME_SIZES_KIND = "other numbers of the same sizes"
EXACT_KIND = "a trial in which some entries are exactly 0, or equal to each other"
LARGER_KIND = "a larger case"
WATCHED_SIZES = (5, 6, 8, 9, 4, 10)
EXACT_SIZES = {1: (32, 40), 2: (8, 9, 10)}  # by the number of axes: room for zeros and ties beside other entries
MANY_EXACT_SIZES = (5, 6, 7, 8, 4, 9)
LARGE_SIZES = (40, 48, 56, 44, 52)
TWICE, BESIDE = 4, 6  # how much longer an axis is that the array has twice; the size of one that it does not have
ONE_INDEX = 2
SPECIAL_TURNS = {ONE_INDEX: 0, 3: 1, 4: 0}  # by index of a special trial, the ordinary one whose turn it repeats


@dataclass(frozen=True)
class Setting:
    """Hold the sizes of one trial: its place in the series, its axis sizes, and the rank of `...`.

    Args:
        index: 0 for the first trial.
        kind: a phrase that a learner reads, such as `"a batch of one"`.
        sizes: the size of each named axis.
        rank: how many axes `...` stands for.
    """

    index: int
    kind: str
    sizes: Sizes
    rank: int = 2

    @property
    def is_special(self) -> bool:
        """Return whether the trial has special sizes, a special upstream gradient or exact entries."""
        return self.index in SPECIAL_TURNS or self.kind in (LARGER_KIND, ONE_KIND, EXACT_KIND)

    @property
    def turn(self) -> int:
        """Return the index of the value that has its turn in this trial, for arguments that take several in turn.

        A special trial (a batch of one, a square, a large upstream gradient) repeats the turn of an ordinary one, so
        that an answer that is wrong in it is wrong for what makes it special.
        """
        if self.kind == ONE_KIND:
            return SPECIAL_TURNS[ONE_INDEX]
        ordinary = self.index if self.index < 2 else self.index - len(SPECIAL_TURNS)
        return SPECIAL_TURNS.get(self.index, ordinary)


def settings(
    specs: tuple[str, ...], rng: np.random.Generator, least: int = 0, allowed: Allowed = MappingProxyType({})
) -> list[Setting]:
    """Return the settings of a series of trials.

    They are two with pairwise different sizes, one with a batch of one (if there is a batch), one square, one with a
    large upstream gradient, then other sizes; `...` has rank 2, 1, 3, 2 in the first four, and 2 in all others. The
    least and the largest size that an axis may have come first, so that an answer which fits one of them only, such as
    the code of a kernel of three taps, is wrong in some trial.

    Args:
        specs: the axes of each array argument.
        rng: the random numbers.
        least: how many settings there must be at least.
        allowed: by axis, the sizes that the axis may have, except in the batch of one; any if the axis is missing.
    """
    axes = _axes(specs)
    batch = {axis: 1 for axis in (BATCH, FIRST_OF_ANY) if axis in axes}
    side = _side(int(rng.integers(3, 6)), allowed)
    due = {axis: {min(sizes), max(sizes)} for axis, sizes in allowed.items()}

    def different(fixed: Sizes = MappingProxyType({})) -> dict[str, int]:
        """Return pairwise different sizes, except the fixed ones, with those that no setting has had yet."""
        sizes = {**_different_sizes(axes, rng, allowed, due=due), **fixed}
        for axis, extremes in due.items():
            extremes.discard(sizes.get(axis, 0))
        return sizes

    kinds = [
        (DIFFERENT_KIND, different(), 2),
        ("a trial with other sizes", different(), 1),
        (ONE_KIND if batch else "a trial with further sizes", different(batch), 3),
        ("a square case", {axis: _allowed_size(side, allowed.get(axis, ())) for axis in axes}, 2),
        (LARGE_UPSTREAM_KIND, different(), 2),
    ]
    kinds += [("a trial with further sizes", different(), 2) for _ in range(least - len(kinds))]
    return [Setting(i, kind, sizes, rank) for i, (kind, sizes, rank) in enumerate(kinds)]


def second_batch_of_one(
    series: Sequence[Setting], rng: np.random.Generator, allowed: Allowed = MappingProxyType({})
) -> Setting | None:
    """Return another setting with a batch of one and other sizes; `None` if the series has no batch of one.

    Args:
        series: the settings of the trials.
        rng: the random numbers.
        allowed: by axis, the sizes that the axis may have; any if the axis is missing.
    """
    first = next((setting for setting in series if setting.kind == ONE_KIND), None)
    if first is None:
        return None
    axes = tuple(first.sizes)
    batch = {axis: 1 for axis in (BATCH, FIRST_OF_ANY) if axis in axes}
    return Setting(len(series), ONE_KIND, {**_different_sizes(axes, rng, allowed), **batch}, first.rank)


def exact_setting(
    specs: tuple[str, ...], index: int, rng: np.random.Generator, allowed: Allowed = MappingProxyType({})
) -> Setting:
    """Return the setting of the trial in which arrays have exact zeros, ties and repeated entries.

    Args:
        specs: the axes of each array.
        index: the number of the trial in its series.
        rng: the random numbers.
        allowed: by axis, the sizes that the axis may have; any if the axis is missing.
    """
    axes = _axes(specs)
    free = EXACT_SIZES.get(len(axes), MANY_EXACT_SIZES)
    return Setting(index, EXACT_KIND, _different_sizes(axes, rng, allowed, free))


def large_setting(specs: tuple[str, ...], index: int, never_holds: str = "") -> Setting:
    """Return the setting of a trial in which an array that must never be held is far larger than the arguments.

    An axis that this array has twice is longer than the others, and one that it does not have is short.

    Args:
        specs: the axes of each array argument.
        index: the number of the trial in its series.
        never_holds: the axes of the array, such as `"n n"`; if empty, all axes are long.
    """
    sizes, held = dict(zip(named_axes(specs), LARGE_SIZES, strict=False)), axes_of(never_holds)
    if held:
        sizes = {
            axis: size * TWICE if held.count(axis) > 1 else size if axis in held else BESIDE
            for axis, size in sizes.items()
        }
    return Setting(index, LARGER_KIND, sizes)


def watched_sizes(specs: tuple[str, ...], rng: np.random.Generator, allowed: Allowed) -> Setting:
    """Return a setting with sizes that no other trial has, pairwise different as far as the allowed ones suffice.

    Args:
        specs: the axes of each array.
        rng: the random numbers.
        allowed: by axis, the sizes that the axis may have; any if the axis is missing.
    """
    return Setting(0, "a trial of its own", _different_sizes(_axes(specs), rng, allowed, WATCHED_SIZES))


def _axes(specs: tuple[str, ...]) -> Axes:
    """Return every named axis of these specs, and the anonymous ones that `...` may stand for."""
    return named_axes(specs) + tuple(f"_{i}" for i in range(3) if any(ANY in axes_of(spec) for spec in specs))


def _different_sizes(
    axes: Axes,
    rng: np.random.Generator,
    allowed: Allowed,
    free: tuple[int, ...] = DISTINCT_SIZES,
    due: Mapping[str, Collection[int]] = MappingProxyType({}),
) -> dict[str, int]:
    """Return a size for each axis, pairwise different as far as the allowed ones suffice.

    An axis for which no size of `free` is left is missing.

    Args:
        axes: the names of the axes.
        rng: the random numbers.
        allowed: by axis, the sizes that the axis may have; any if the axis is missing.
        free: the sizes of the other axes.
        due: by axis, the allowed sizes that must still occur in some trial; an axis gets one of them if it can.
    """
    sizes: dict[str, int] = {}
    restricted = sorted((axis for axis in axes if axis in allowed), key=lambda axis: len(allowed[axis]))
    for axis in sorted(restricted, key=lambda axis: not due.get(axis)):
        drawn, extremes = [int(size) for size in rng.permutation(allowed[axis])], due.get(axis, ())
        possible = [size for size in drawn if size in extremes] + [size for size in drawn if size not in extremes]
        sizes[axis] = next((size for size in possible if size not in sizes.values()), possible[0])
    unused = [int(size) for size in rng.permutation(free) if size not in sizes.values()]
    others = dict(zip((axis for axis in axes if axis not in allowed), unused, strict=False))
    return {**{axis: sizes[axis] for axis in restricted}, **others}


def _side(side: int, allowed: Allowed) -> int:
    """Return a size for all axes of a square trial: `side`, or else the least of `SIDES` that every axis may have.

    `side` is returned as well if there is no size that every axis may have.
    """
    common = set(SIDES).intersection(*allowed.values())
    return side if side in common or not common else min(common)


def _allowed_size(size: int, allowed: tuple[int, ...]) -> int:
    """Return `size` if it is one of the allowed sizes, or if none are given; else the largest of them."""
    return size if size in allowed or not allowed else max(allowed)
