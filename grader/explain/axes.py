"""Which axes the inputs of a forward pass have in common, found by running it at other sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.course.shapes import BATCH, Axes

Place = tuple[str, int]  # an input, and which of its axes
Shapes = Mapping[str, tuple[int, ...]]
Takes = Callable[[Shapes], bool]
OutShape = Callable[[Shapes], tuple[int, ...] | None]
DIVISORS = (2, 3, 4, 8)
SMALL = (2, 3, 4, 5, 6, 7)
LETTERS = "n m k p q r s u v l d h t c w x y z a b e f g i j o".split()
MOST_TOGETHER = 3
LARGE = 20_000  # entries of all inputs


@dataclass(frozen=True)
class Axis:
    """One axis.

    Args:
        name: a short one.
        size: its size in the given inputs.
        places: the input axes that have this size together.
        others: other sizes that forward and the code under test take; none where it must have this one.
        refused: a size that forward takes and the code under test does not; 0 where there is none.
    """

    name: str
    size: int
    places: tuple[Place, ...]
    others: tuple[int, ...] = ()
    refused: int = 0


def find_axes(shapes: Shapes, out_shape: OutShape, code_takes: Takes, least: Mapping[str, int]) -> list[Axis]:
    """The axes of the inputs: places of equal size that can only change together.

    Args:
        shapes: those of the given inputs.
        out_shape: the shape of the (first) output for inputs of such shapes; `None` where the forward pass raises.
        code_takes: the code under test takes inputs of such shapes.
        least: the size that an axis must have for all indices of an input to be inside, by the input's name.
    """
    given = out_shape(shapes)
    assert given is not None

    def forward_takes(shapes: Shapes) -> bool:
        out = out_shape(shapes)
        return out is not None and len(out) == len(given)

    sizes = {
        size: [place for place in _places(shapes) if shapes[place[0]][place[1]] == size] for size in _sizes(shapes)
    }
    found: list[Axis] = []
    for size, places in sizes.items():
        groups, fixed = _together(shapes, places, forward_takes, out_shape)
        for group in groups:
            inside = min(size, max((n for name, n in least.items() if name not in dict(group)), default=1))
            fitting = (changed(shapes, {group: n}) for n in _candidates(shapes, group) if n != size and n >= inside)
            taken = [other for other in fitting if forward_takes(other) and code_takes(other)]
            (name, i), *_ = group
            others = tuple(other[name][i] for other in taken)
            found.append(Axis("", size, group, others, 0 if any(n > 1 for n in others) else _larger(shapes, group)))
        found += [Axis("", size, tuple(fixed))] if fixed else []
    return _named(found, shapes, lambda axis: _is_batch(axis, shapes, out_shape, given))


def smaller(shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """Return shapes in which each size is a small one, the same for the same size; as they are if they are not large.

    Axes are found as well with small inputs, and sooner.
    """
    if sum(map(math.prod, shapes.values())) <= LARGE:
        return dict(shapes)
    sizes = {size: SMALL[0] + number for number, size in enumerate(size for size in _sizes(shapes) if size > 1)}
    return {name: tuple(sizes.get(size, size) for size in shape) for name, shape in shapes.items()}


def axes_of_inputs(axes: list[Axis], shapes: Shapes) -> dict[str, Axes]:
    """The axis names of each input."""
    name_of = {place: axis.name for axis in axes for place in axis.places}
    return {name: tuple(name_of[name, i] for i in range(len(shape))) for name, shape in shapes.items()}


def changed(shapes: Shapes, sizes: Mapping[tuple[Place, ...], int]) -> dict[str, tuple[int, ...]]:
    """The shapes with other sizes at some places."""
    found = {name: list(shape) for name, shape in shapes.items()}
    for places, size in sizes.items():
        for name, i in places:
            found[name][i] = size
    return {name: tuple(shape) for name, shape in found.items()}


def other_sizes(axes: Sequence[Axis], rng: np.random.Generator, *, like_given: bool) -> dict[str, int]:
    """Return a size for each axis by name, small and pairwise different as far as the code takes such sizes.

    Args:
        like_given: whether to prefer sizes that are larger than the given one and keep its small divisors (even
            remains even).
    """
    chosen = {axis.name: axis.size for axis in axes if not _free(axis)}
    for axis in sorted(filter(_free, axes), key=lambda axis: len(axis.others)):
        sizes = [n for n in (*axis.others, axis.size) if n > 1]
        larger_multiples = (
            [n for n in axis.others if n > axis.size and _keeps_divisors(axis.size, n)] if like_given else []
        )
        unused = [n for n in larger_multiples or sizes if n not in chosen.values()] or larger_multiples or sizes
        small = [n for n in unused if n <= max(SMALL)] or unused
        chosen[axis.name] = min(unused) if larger_multiples else int(rng.choice(small))
    return {axis.name: chosen[axis.name] for axis in axes}


def _keeps_divisors(size: int, n: int) -> bool:
    """Return whether the size `n` can be divided by what code divides the size `size` by: 8 keeps the divisors of 4."""
    return n % _divisor(size) == 0


def _divisor(size: int) -> int:
    """Return what code is likely to divide a size by: the product of its small divisors, such as 6 of 18."""
    return math.lcm(*(divisor for divisor in DIVISORS if size % divisor == 0))


def _free(axis: Axis) -> bool:
    return any(n > 1 for n in axis.others)


def _places(shapes: Shapes) -> Iterator[Place]:
    return ((name, i) for name, shape in shapes.items() for i in range(len(shape)))


def _sizes(shapes: Shapes) -> list[int]:
    """Every size there is, in order of appearance."""
    return list(dict.fromkeys(shapes[name][i] for name, i in _places(shapes)))


def _together(
    shapes: Shapes, places: list[Place], takes: Takes, out_shape: OutShape
) -> tuple[list[tuple[Place, ...]], list[Place]]:
    """Places of one size in groups that can change together, and the places that cannot change."""
    groups: list[tuple[Place, ...]] = []
    left: list[Place] = []
    if places and _is_one(shapes, tuple(places), out_shape) and _can_change(shapes, tuple(places), takes):
        return [tuple(places)], left
    while places:
        group = next((group for group in _groups(places) if _can_change(shapes, group, takes)), ())
        if group:
            groups.append(group)
        else:
            left.append(places[0])
        places = [place for place in places[1:] if place not in group]
    return groups, left


def _is_one(shapes: Shapes, places: tuple[Place, ...], out_shape: OutShape) -> bool:
    """Nothing speaks for several axes of one size: no input has it twice, and at most one axis of the output follows.

    It is not tried without need whether each of them can change alone: not every kernel checks shapes before it reads.
    """
    if len({name for name, _ in places}) < len(places):
        return False
    before, after = out_shape(shapes), out_shape(changed(shapes, {places: _larger(shapes, places)}))
    return before is None or after is None or sum(m != n for m, n in zip(before, after, strict=False)) < 2


def _groups(places: list[Place]) -> Iterator[tuple[Place, ...]]:
    """The groups that the first place may belong to: those in the same position first, then the smallest first."""
    first, *rest = places
    yield (first, *(place for place in rest if place[1] == first[1]))
    for count in range(len(rest) + 1):
        if count <= MOST_TOGETHER or count == len(rest):
            yield from ((first, *more) for more in itertools.combinations(rest, count))


def _can_change(shapes: Shapes, group: tuple[Place, ...], takes: Takes) -> bool:
    sizes = _larger(shapes, group), 2 * max(shapes[group[0][0]][group[0][1]], 2)
    return any(takes(changed(shapes, {group: n})) for n in sizes)


def _larger(shapes: Shapes, group: tuple[Place, ...]) -> int:
    """The next larger size that no axis has."""
    (name, i), *_ = group
    return next(n for n in itertools.count(max(shapes[name][i], 2) + 1) if n not in _sizes(shapes))


def _candidates(shapes: Shapes, group: tuple[Place, ...]) -> tuple[int, ...]:
    """Return sizes to try for a group of axes: small ones, the next larger one, multiples of it and of its divisors."""
    size = shapes[group[0][0]][group[0][1]]
    alike = (n * _divisor(size) for n in (1, size // _divisor(size) + 1))
    return tuple(dict.fromkeys((1, *SMALL, _larger(shapes, group), *alike, 2 * size, 3 * size)))


def _is_batch(axis: Axis, shapes: Shapes, out_shape: OutShape, given: tuple[int, ...]) -> bool:
    """It comes first in a matrix, nowhere later, and first in the output, if that has axes."""
    if not _free(axis) or any(i for _, i in axis.places) or all(len(shapes[name]) < 2 for name, _ in axis.places):
        return False
    out = out_shape(changed(shapes, {axis.places: max(axis.others)}))
    return not given or (out is not None and out[0] != given[0])


def _named(axes: list[Axis], shapes: Shapes, is_batch: Callable[[Axis], bool]) -> list[Axis]:
    """The axes with names, in the order of the inputs; only one of them is the batch."""
    order = {place: number for number, place in enumerate(_places(shapes))}
    in_order = sorted(axes, key=lambda axis: order[axis.places[0]])
    batch = next(filter(is_batch, in_order), None)
    letters = iter([name for name in (*LETTERS, *(f"n{i}" for i in range(99))) if name not in shapes])
    return [replace(axis, name=BATCH if axis is batch else next(letters)) for axis in in_order]
