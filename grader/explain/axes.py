"""The axes that the inputs of a forward pass have in common, found by running it at other sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.course.shapes import BATCH, Axes

Place = tuple[str, int]  # the name of an input, and the number of one of its axes
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
    """An axis of the inputs, which several of them may share.

    Args:
        name: a short name for messages, such as "bs" or "n".
        size: its size in the given inputs.
        places: pairs (name of an input, number of its axis), such as ("x", 0), that can only change together.
        others: other sizes of the axis that forward and the code under test take; empty where they take no other.
        refused: a size that forward takes and the code under test does not; 0 where there is none.
    """

    name: str
    size: int
    places: tuple[Place, ...]
    others: tuple[int, ...] = ()
    refused: int = 0


def find_axes(shapes: Shapes, out_shape: OutShape, code_takes: Takes, least: Mapping[str, int]) -> list[Axis]:
    """Return the axes of the inputs: groups of places that have one size and can only change together.

    A place is a pair (name of an input, number of its axis). Places of one size that cannot change at all are one axis,
    without other sizes.

    Args:
        shapes: by name, the shape of each given input.
        out_shape: returns the shape of the (first) output for inputs of other shapes; `None` where forward raises.
        code_takes: returns whether the code under test runs on inputs of other shapes.
        least: by name of an input of indices, the smallest size of an axis for which all its indices are valid.
    """
    given = out_shape(shapes)
    assert given is not None

    def forward_takes(shapes: Shapes) -> bool:
        """Return whether forward runs on inputs of these shapes, and its output has as many axes as before."""
        out = out_shape(shapes)
        return out is not None and len(out) == len(given)

    sizes = {
        size: [place for place in _places(shapes) if shapes[place[0]][place[1]] == size] for size in _sizes(shapes)
    }
    axes: list[Axis] = []
    for size, places in sizes.items():
        groups, fixed = _groups_and_fixed(shapes, places, forward_takes, out_shape)
        for group in groups:
            smallest = min(size, max((n for name, n in least.items() if name not in dict(group)), default=1))
            candidates = [n for n in _candidates(shapes, group) if n != size and n >= smallest]
            tried = ((n, with_sizes(shapes, {group: n})) for n in candidates)
            is_taken_by_code = {n: code_takes(other) for n, other in tried if forward_takes(other)}
            others = tuple(n for n, is_taken in is_taken_by_code.items() if is_taken)
            of_forward = [n for n in (_larger(shapes, group), *is_taken_by_code) if n > 1 and n in is_taken_by_code]
            refused = next(iter(of_forward), 0) if max(others, default=1) == 1 else 0
            axes.append(Axis("", size, group, others, refused))
        if fixed:
            axes.append(Axis("", size, tuple(fixed)))
    return _with_names(axes, shapes, lambda axis: _is_batch(axis, shapes, out_shape, given))


def with_small_sizes(shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """Return the shapes with a small size in place of each size; unchanged if the inputs are not large.

    Equal sizes become the same small size, so that an axis remains one. With small inputs axes are found sooner.
    """
    if sum(map(math.prod, shapes.values())) <= LARGE:
        return dict(shapes)
    sizes = {size: SMALL[0] + number for number, size in enumerate(size for size in _sizes(shapes) if size > 1)}
    return {name: tuple(sizes.get(size, size) for size in shape) for name, shape in shapes.items()}


def axes_of_inputs(axes: list[Axis], shapes: Shapes) -> dict[str, Axes]:
    """Return, by the name of each input, the names of its axes in order.

    For `x` of shape (4, 3), whose axes are the places ("x", 0) and ("x", 1) of `bs` and `n`, the result has `{"x":
    ("bs", "n")}`.

    Args:
        axes: the axes; each axis of each input is among their `places`.
        shapes: by name, the shape of each input.
    """
    name_of = {place: axis.name for axis in axes for place in axis.places}
    return {name: tuple(name_of[name, i] for i in range(len(shape))) for name, shape in shapes.items()}


def with_sizes(shapes: Shapes, sizes: Mapping[tuple[Place, ...], int]) -> dict[str, tuple[int, ...]]:
    """Return the shapes with other sizes at some places.

    Args:
        shapes: by name, the shape of each input.
        sizes: by a group of places, pairs (name of an input, number of its axis), their new size.
    """
    new = {name: list(shape) for name, shape in shapes.items()}
    for places, size in sizes.items():
        for name, i in places:
            new[name][i] = size
    return {name: tuple(shape) for name, shape in new.items()}


def other_sizes(axes: Sequence[Axis], rng: np.random.Generator, *, like_given: bool) -> dict[str, int]:
    """Return, by the name of each axis, a size to try: its own or one of its `others`, which the code takes.

    An axis with no other size above 1 keeps its own. The other axes get sizes above 1, preferably at most 7 and
    pairwise different.

    Args:
        axes: the axes.
        rng: chooses among the sizes.
        like_given: whether to prefer the smallest size above the given one that keeps the small divisors of that (even
            remains even), even if it is above 7; else, a size that does not keep them.
    """
    chosen = {axis.name: axis.size for axis in axes if not _can_vary(axis)}
    for axis in sorted(filter(_can_vary, axes), key=lambda axis: len(axis.others)):
        sizes = [n for n in (*axis.others, axis.size) if n > 1]
        larger_multiples: list[int] = []
        if like_given:
            larger_multiples = [n for n in axis.others if n > axis.size and _keeps_divisors(axis.size, n)]
        unused = [n for n in larger_multiples or sizes if n not in chosen.values()] or larger_multiples or sizes
        small = [n for n in unused if n <= max(SMALL)] or unused
        if not like_given:
            small = [n for n in small if not _keeps_divisors(axis.size, n)] or small
        chosen[axis.name] = min(unused) if larger_multiples else int(rng.choice(small))
    return {axis.name: chosen[axis.name] for axis in axes}


def _keeps_divisors(size: int, n: int) -> bool:
    """Return whether `n` is a multiple of the small divisors of `size`, by which code may split the axis: 8 for 4."""
    return n % _divisor(size) == 0


def _divisor(size: int) -> int:
    """Return the least common multiple of those of 2, 3, 4 and 8 that divide a size: 6 for 18, 8 for 16, 1 for 7."""
    return math.lcm(*(divisor for divisor in DIVISORS if size % divisor == 0))


def _can_vary(axis: Axis) -> bool:
    """Return whether forward and the code run with another size of an axis than the given one, and above 1."""
    return any(n > 1 for n in axis.others)


def _places(shapes: Shapes) -> Iterator[Place]:
    """Yield every axis of every input, in order, as (name of the input, number of the axis)."""
    return ((name, i) for name, shape in shapes.items() for i in range(len(shape)))


def _sizes(shapes: Shapes) -> list[int]:
    """Return the distinct sizes of all axes, in order of appearance."""
    return list(dict.fromkeys(shapes[name][i] for name, i in _places(shapes)))


def _groups_and_fixed(
    shapes: Shapes, places: list[Place], takes: Takes, out_shape: OutShape
) -> tuple[list[tuple[Place, ...]], list[Place]]:
    """Return two lists: the groups of places that can change together, and the places that cannot change.

    Args:
        shapes: by name, the shape of each given input.
        places: pairs (name of an input, number of its axis), all of one size.
        takes: returns whether forward runs on inputs of other shapes.
        out_shape: returns the shape of the output for inputs of other shapes; `None` where forward raises.
    """
    groups: list[tuple[Place, ...]] = []
    fixed: list[Place] = []
    if places and _may_be_one_axis(shapes, tuple(places), out_shape) and _can_change(shapes, tuple(places), takes):
        return [tuple(places)], fixed
    while places:
        group = next((group for group in _groups(places) if _can_change(shapes, group, takes)), ())
        if group:
            groups.append(group)
        else:
            fixed.append(places[0])
        places = [place for place in places[1:] if place not in group]
    return groups, fixed


def _may_be_one_axis(shapes: Shapes, places: tuple[Place, ...], out_shape: OutShape) -> bool:
    """Return whether places of equal size may all be one axis.

    They may be if no input has two of the places, and at most one axis of the output changes when all of the places get
    a larger size. Whether a single place can change alone is not tried here: not every kernel checks shapes before it
    reads.

    Args:
        shapes: by name, the shape of each input.
        places: the places.
        out_shape: returns the shape of the output for inputs of other shapes; `None` where forward raises.
    """
    if len({name for name, _ in places}) < len(places):
        return False
    before, after = out_shape(shapes), out_shape(with_sizes(shapes, {places: _larger(shapes, places)}))
    return before is None or after is None or sum(m != n for m, n in zip(before, after, strict=False)) < 2


def _groups(places: list[Place]) -> Iterator[tuple[Place, ...]]:
    """Yield the groups of places to try as one axis, each with the first of `places`.

    A place is a pair (name of an input, number of its axis). The group of all places with the same number as the first
    one comes first, then the others, the smallest first. A group has at most `MOST_TOGETHER` places beside the first
    one, or all of them.
    """
    first, *others = places
    yield (first, *(place for place in others if place[1] == first[1]))
    for count in range(len(others) + 1):
        if count <= MOST_TOGETHER or count == len(others):
            yield from ((first, *more) for more in itertools.combinations(others, count))


def _can_change(shapes: Shapes, group: tuple[Place, ...], takes: Takes) -> bool:
    """Return whether inputs are taken in which the places of a group, and no others, have a larger size.

    Two sizes are tried: that of `_larger`, and twice their size.

    Args:
        shapes: by name, the shape of each given input.
        group: pairs (name of an input, number of its axis), all of one size.
        takes: returns whether a forward pass, or a backward pass, runs on inputs of the given shapes.
    """
    sizes = _larger(shapes, group), 2 * max(shapes[group[0][0]][group[0][1]], 2)
    return any(takes(with_sizes(shapes, {group: n})) for n in sizes)


def _larger(shapes: Shapes, group: tuple[Place, ...]) -> int:
    """Return the least size that no axis of the inputs has, above the size of one axis and above 2.

    Args:
        shapes: by name, the shape of each input.
        group: that axis, as the places (input, number of the axis) at which the inputs have it.
    """
    (name, i), *_ = group
    return next(n for n in itertools.count(max(shapes[name][i], 2) + 1) if n not in _sizes(shapes))


def _candidates(shapes: Shapes, group: tuple[Place, ...]) -> tuple[int, ...]:
    """Return sizes to try for an axis, each once: 1, those in `SMALL`, a larger one that no axis has, and multiples.

    The multiples are twice and three times the size of the axis; and, of the divisor of this size (see `_divisor`), the
    divisor itself and its next multiple above the size.

    Args:
        shapes: by name, the shape of each input.
        group: the axis, as the places (input, number of the axis) at which the inputs have it.
    """
    size = shapes[group[0][0]][group[0][1]]
    alike = (n * _divisor(size) for n in (1, size // _divisor(size) + 1))
    return tuple(dict.fromkeys((1, *SMALL, _larger(shapes, group), *alike, 2 * size, 3 * size)))


def _is_batch(axis: Axis, shapes: Shapes, out_shape: OutShape, given: tuple[int, ...]) -> bool:
    """Return whether an axis may be the batch.

    It is the first axis of each input that has it, one of them a matrix or of more axes; it can have other sizes, and
    the first axis of the output changes with it.

    Args:
        axis: the axis.
        shapes: by name, the shape of each input.
        out_shape: returns the shape of the output for inputs of other shapes; `None` where forward raises.
        given: the shape of the output for the given inputs; empty for a number.
    """
    if not _can_vary(axis) or any(i for _, i in axis.places) or all(len(shapes[name]) < 2 for name, _ in axis.places):
        return False
    out = out_shape(with_sizes(shapes, {axis.places: max(axis.others)}))
    return not given or (out is not None and out[0] != given[0])


def _with_names(axes: list[Axis], shapes: Shapes, is_batch: Callable[[Axis], bool]) -> list[Axis]:
    """Return the axes in the order of the inputs, named `n`, `m`, ...; `bs` for the first that `is_batch` accepts.

    Names of inputs are passed over; after the last of `LETTERS` come `n0`, `n1`, ...

    Args:
        axes: the axes, without names.
        shapes: by name, the shape of each input.
        is_batch: returns whether an axis may be the batch.
    """
    order = {place: number for number, place in enumerate(_places(shapes))}
    in_order = sorted(axes, key=lambda axis: order[axis.places[0]])
    batch = next(filter(is_batch, in_order), None)
    letters = iter([name for name in (*LETTERS, *(f"n{i}" for i in range(99))) if name not in shapes])
    return [replace(axis, name=BATCH if axis is batch else next(letters)) for axis in in_order]
