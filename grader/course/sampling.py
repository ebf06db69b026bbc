"""Samplers, from which the arguments of a learner's function are drawn.

A sampler names the axes of its array (`normal("bs n")`) and draws with the trial's sizes, so that every
exercise is tried at several sizes. numpy is imported on first use: reading a spec stays cheap.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from grader.errors import SpecError

from .shapes import ANY, Axes, alternatives, axes_of, expand_any, parts_of, shape_of
from .trial_sizes import SPECIAL_TURNS, Setting

if TYPE_CHECKING:
    import numpy as np


SHARE_EXACT = 0.5  # of the entries, in an array with exact ones: the others distinguish one rule from another
SHARE_ALIKE = 0.3  # of the entries in the range of both, equal in two arrays of one size
TIED_LINES = 3  # of each axis; more would leave no line without a tie
HALVES = tuple(i / 2 for i in range(-6, 7))
REACHES = (0.5, 2.0)  # of the entries below the lowest kink, and above the highest
WITHOUT_LAST_INDEX = 1  # the index of the trial in which no sampled index is the last one
MOST_PASSES = 50  # each is called three times, and a reply has room for 160 calls


@dataclass(frozen=True)
class Array:
    """Hold a tensor argument.

    Args:
        values: its entries, of a floating-point or an integer type.
        axes: the names of its axes.
        g: the `.g` that it has before the call, shaped like `values`; `None` if it has none.
    """

    values: np.ndarray
    axes: Axes
    g: np.ndarray | None = None


@dataclass(frozen=True)
class Function:
    """Hold a function argument by its source.

    Args:
        source: a Python expression, which the worker evaluates, or a `def`, which it runs.
    """

    source: str


@dataclass(frozen=True)
class BackwardPass(Function):
    """Hold a backward pass with which a learner's test is called; the test gets its function only.

    A probe is a backward pass whose verdict is not counted. It explains why the test is mistaken about others, if it
    got the same verdict as they did.

    Args:
        source: its source, a `def`.
        says: a clause about it after "one that", such as "forgets the sum"; of a probe, the explanation.
        name: the name of a probe; empty if it is none.
        probes: the names of the probes that may explain a mistake about it, the likeliest first.
        hint: of a probe, the question that follows its explanation.
    """

    says: str = ""
    name: str = ""
    probes: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True)
class Dtype:
    """Hold a torch dtype argument.

    Args:
        name: its name, such as `"float32"`.
    """

    name: str


@dataclass(frozen=True)
class Sampler:
    """Draw one argument.

    Args:
        spec: the axes of an array argument, or several alternatives that take turns; empty for anything else.
        draw: takes the random numbers, the setting, and the shape of an array argument; returns the value.
        differentiable: whether gradients with respect to this argument exist.
        carries_g: whether the argument may have a `.g` before the call, which the gradient must be added to.
        chosen: the names whose gradients this argument, a set of names, can request.
        turns: how many different values it has, trial by trial.
        withheld: whether only the forward pass takes it, and the learner's function does not.
        sizes: by axis, the sizes that it may have; any if it is missing. A batch of one is always tried.
        exact: the levels at which many entries lie exactly in one of the trials, one tuple for each of its turns; none
            if every entry must be drawn.

    Raises:
        SpecError: an axis of `spec` is no axis.
    """

    spec: str
    draw: Callable[[np.random.Generator, Setting, tuple[int, ...]], Any]
    differentiable: bool = False
    carries_g: bool = False
    chosen: tuple[str, ...] = ()
    turns: int = 1
    withheld: bool = False
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    exact: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        """Check every axis of the spec.

        Raises:
            SpecError: a part of an axis is neither a number nor a name.
        """
        for axis in (axis for part in alternatives(self.spec) for axis in axes_of(part)):
            if axis != ANY and not all(part.isdigit() or part.isidentifier() for part in parts_of(axis)):
                raise SpecError(f"{axis!r} is no axis: write names, numbers or ..., with blanks between them")

    def sample(self, rng: np.random.Generator, setting: Setting) -> Any:
        """Return a value for a trial of this setting: an `Array` for an array argument, else what `draw` returns."""
        if not self.spec:
            return self.draw(rng, setting, ())
        axes = _axes_in(self.spec, setting)
        shape = shape_of(axes, setting.sizes)
        return Array(self.draw(rng, setting, shape), axes, self._prior(rng, setting, shape))

    def exact_in(self, setting: Setting) -> tuple[float, ...]:
        """Return the numbers at which entries may lie exactly in a trial of this setting; empty if there are none."""
        return self.exact[setting.turn % len(self.exact)] if self.exact else ()

    @property
    def least_trials(self) -> int:
        """Return the least number of trials in which each value that the sampler takes in turn is taken once."""
        turns = max(self.turns, len(alternatives(self.spec)))
        return turns if turns <= 2 else turns + len(SPECIAL_TURNS)

    def _prior(self, rng: np.random.Generator, setting: Setting, shape: tuple[int, ...]) -> np.ndarray | None:
        """Return the `.g` that the argument may have before the call: normal numbers of this shape.

        `None` unless `self.carries_g`, and in the second trial (index 1). The function `draw` takes some away again.
        """
        return _normal(rng, setting, shape) if self.carries_g and setting.index != 1 else None


def draw(samplers: Mapping[str, Sampler], rng: np.random.Generator, setting: Setting) -> dict[str, Any]:
    """Return a drawn value of each argument, by name.

    In the first trial every argument that may have a `.g` does, in the second none, and then one after the other, so
    that code which looks at only one of them is wrong in some trial.

    Args:
        samplers: the sampler of each argument, by name.
        rng: the random numbers.
        setting: the sizes of the trial.
    """
    drawn = {name: sampler.sample(rng, setting) for name, sampler in samplers.items()}
    carrying = [name for name, sampler in samplers.items() if sampler.carries_g]
    if setting.index > 1 and carrying:
        only = carrying[setting.index % len(carrying)]
        drawn |= {name: replace(drawn[name], g=None) for name in carrying if name != only}
    return drawn


def with_exact_entries(
    drawn: Mapping[str, Any], numbers: Mapping[str, tuple[float, ...]], rng: np.random.Generator
) -> dict[str, Any]:
    """Return the same arguments with exact zeros, ties and repeated entries in some arrays.

    Arrays with the same number of entries get some equal entries in the same places.

    Args:
        drawn: a value of every argument, by name.
        numbers: for each array to change, by name, the levels that its entries may have; with no levels, it gets only
            ties.
        rng: the random numbers.
    """
    changed_by_size: dict[int, np.ndarray] = {}
    changed = dict(drawn)
    for name, levels in numbers.items():
        array = drawn[name].values
        values = exact_entries(array, levels, rng, alike=changed_by_size.get(array.size))
        changed_by_size[values.size] = values
        changed[name] = replace(drawn[name], values=values)
    return changed


def exact_entries(
    array: np.ndarray,
    numbers: tuple[float, ...],
    rng: np.random.Generator,
    *,
    zero_lines: bool = True,
    alike: np.ndarray | None = None,
) -> np.ndarray:
    """Return a copy with about half of the entries rounded to the nearest of `numbers`, and with ties along each axis.

    If 0 is among the numbers, at least one of several entries is 0. Each of the other numbers is an entry, or, if a
    quarter of the array has no room for all, the smallest and the largest are. A number far from all entries is left
    out. If two entries or more are not 0, two of them are equal.

    Args:
        array: the array to copy.
        numbers: the levels; if empty, there are only ties.
        rng: the random numbers.
        zero_lines: whether a whole row and a whole column become 0 as well, in an array with more than two of them.
        alike: an array of the same size; some entries become equal to the one in the same place.
    """
    import numpy as np

    values, levels = array.copy(), np.sort(np.asarray(numbers, array.dtype))
    if numbers:
        exact = rng.random(values.shape) < SHARE_EXACT
        exact.flat[rng.integers(values.size)] = True
        values[exact] = levels[abs(values[exact][:, None] - levels).argmin(-1)]
    for axis in range(values.ndim):
        lines = np.moveaxis(values, axis, -1)
        for _ in range(TIED_LINES):
            line = lines[tuple(rng.integers(lines.shape[:-1]))]
            line[(line.argmax() + 1 + rng.integers(max(line.size - 1, 1))) % line.size] = line.max()
    if not numbers:
        return values
    if alike is not None:
        others = alike.ravel()
        in_range = rng.permutation(np.flatnonzero((levels[0] <= others) & (others <= levels[-1])))
        shared = in_range[: math.ceil(SHARE_ALIKE * in_range.size)]
        values.flat[shared] = others[shared]
    zeros = np.zeros(values.shape, bool)
    if 0 in numbers:
        zeros.flat[rng.integers(values.size)] = values.size > 1
        for axis in {0, values.ndim - 1} if zero_lines and values.ndim > 1 else ():
            if values.shape[axis] > 2:
                zeros.swapaxes(0, axis)[rng.integers(values.shape[axis])] = True
    _place_levels(values, levels, np.flatnonzero(~zeros))
    values[zeros] = 0
    _tie_two_entries(values, levels)
    return values


def _tie_two_entries(values: np.ndarray, levels: np.ndarray) -> None:
    """Make two entries other than 0 equal, in place, if there are two such entries and no two are equal.

    The one that changes lies at no level, if there is such an entry.

    Args:
        values: the array to change.
        levels: the numbers at which entries may lie exactly.
    """
    import numpy as np

    places = np.flatnonzero(values)
    entries = values.flat[places]
    if places.size > 1 and np.unique(entries).size == places.size:
        changed = np.isin(entries, levels).argmin()
        values.flat[places[changed]] = entries[changed - 1]


def _place_levels(values: np.ndarray, levels: np.ndarray, free: np.ndarray) -> None:
    """Set the entry nearest to each level to that level, in place, the outermost levels first and in several rounds.

    A quarter of the entries is set at most; an entry that lies exactly at a level counts as set.

    Args:
        values: the array to change.
        levels: in rising order; one that is farther from the nearest entry than from the next level is left out.
        free: the flat indices of the entries that may be changed.
    """
    import numpy as np

    reach = np.diff(levels).max() if levels.size > 1 else np.inf
    outermost_first = sorted(levels[levels != 0], key=lambda level: min(level - levels[0], levels[-1] - level))
    for level in itertools.islice(itertools.cycle(outermost_first), values.size // 4):
        distances = abs(values.flat[free] - level)
        if distances.size and distances.min() <= reach:
            values.flat[free[distances.argmin()]] = level
            free = np.delete(free, distances.argmin())


@dataclass(frozen=True)
class Marker:
    """Mark an argument that the grader computes: the output, the upstream gradient, or a named step.

    Args:
        role: `"output"`, `"upstream"` or `"step"`.
        spec: its axes; empty if they follow from its sizes.
    """

    role: str
    spec: str = ""


def output(spec: str = "") -> Marker:
    """Mark an argument as the forward pass's output, carrying the upstream gradient in `.g`.

    Args:
        spec: the axes of the argument, if one of them is no axis of the inputs (`"2 bs m"`); else empty.
    """
    return Marker("output", spec)


def upstream() -> Marker:
    """Mark an argument as the upstream gradient itself, shaped like the forward pass's output."""
    return Marker("upstream")


def step(spec: str) -> Marker:
    """Mark an argument as the value of the forward pass's step of this name (see `exercise.InSteps`); shape: `spec`."""
    return Marker("step", spec)


def normal(spec: str, dtype: str = "float32", scale: float = 1.0) -> Sampler:
    """Sample normal entries around 0 with all the digits of `dtype`; shape: `spec`.

    If float64 entries had few digits, a step could be added and subtracted again without a change.

    Args:
        spec: the axes.
        dtype: the name of the floating-point type.
        scale: the standard deviation.
    """

    def draw(rng: np.random.Generator, _: Setting, shape: tuple[int, ...]) -> np.ndarray:
        return (scale * rng.standard_normal(shape)).astype(dtype)

    return Sampler(spec, draw, differentiable=True, exact=(tuple(scale * number for number in HALVES),))


def weights(spec: str) -> Sampler:
    """Sample normal entries with the variance 1 / rows, so that a product with them stays of size 1; shape: `spec`."""

    def draw(rng: np.random.Generator, _: Setting, shape: tuple[int, ...]) -> np.ndarray:
        return (rng.standard_normal(shape) / math.sqrt(shape[0])).astype("float32")

    return Sampler(spec, draw, differentiable=True)


def uniform(spec: str, low: float, high: float) -> Sampler:
    """Sample entries with a uniform distribution between `low` and `high`; shape: `spec`."""

    def draw(rng: np.random.Generator, _: Setting, shape: tuple[int, ...]) -> np.ndarray:
        return rng.uniform(low, high, shape).astype("float32")

    quarters = (i / 4 for i in range(math.ceil(4 * low), math.floor(4 * high) + 1))
    return Sampler(spec, draw, differentiable=True, exact=(tuple(quarters),))


def positive(spec: str) -> Sampler:
    """Sample entries between 0.5 and 2.5, for logarithms and quotients; shape: `spec`."""
    return uniform(spec, 0.5, 2.5)


def away_from(kinks: float | tuple[float, ...], spec: str, gap: float = 0.05) -> Sampler:
    """Sample equally many entries between, below and above some kinks; shape: `spec`.

    No entry is nearer to a kink than `gap`, so two kinks must lie more than twice as far apart. In each trial one of
    the outer pieces reaches far and the other does not, so that the mean of the entries is no kink.

    Args:
        kinks: the number, or the numbers in rising order, at which a function has a kink.
        spec: the axes.
        gap: the least distance of an entry from a kink.
    """
    kink_places = kinks if isinstance(kinks, tuple) else (kinks,)

    def draw(rng: np.random.Generator, setting: Setting, shape: tuple[int, ...]) -> np.ndarray:
        near, far = (gap + scale * rng.exponential(0.8, shape) for scale in REACHES)
        reach = (near, far) if setting.index % 2 else (far, near)
        between = [rng.uniform(low + gap, high - gap, shape) for low, high in itertools.pairwise(kink_places)]
        pieces = [kink_places[0] - reach[0], *between, kink_places[-1] + reach[1]]
        entries: np.ndarray = pieces[0].astype("float32")
        turns = _in_turn(rng, len(pieces), shape)
        for i, piece in enumerate(pieces):
            entries[turns == i] = piece[turns == i]
        return entries

    zero = () if any(abs(kink) < gap for kink in kink_places) else (0.0,)
    return Sampler(spec, draw, differentiable=True, exact=((*kink_places, *zero),))


def signs(spec: str) -> Sampler:
    """Sample as many 1 as -1, up to one more of either, the labels of two classes in random places; shape: `spec`."""
    return Sampler(spec, lambda rng, _, shape: (2 * _in_turn(rng, 2, shape) - 1).astype("float32"))


def mask(spec: str) -> Sampler:
    """Sample as many ones as zeros, up to one more of either, in random places; shape: `spec`."""
    return Sampler(spec, lambda rng, _, shape: _in_turn(rng, 2, shape).astype("float32"))


def spaced(spec: str, gap: float = 0.05) -> Sampler:
    """Sample entries around 0 in a random order, no two nearer than `gap` except for exact ties; shape: `spec`."""

    def draw(rng: np.random.Generator, _: Setting, shape: tuple[int, ...]) -> np.ndarray:
        count = math.prod(shape)
        places = rng.permutation(count) - count / 2 + rng.uniform(0, 0.5, count)
        return (2 * gap * places).reshape(shape).astype("float32")

    return Sampler(spec, draw, differentiable=True, exact=(tuple(60 * gap * i for i in range(-9, 10)),))


def indices(spec: str, axis: str) -> Sampler:
    """Sample int64 indices into an axis, the last index among them if there are three or more; shape: `spec`.

    In the second trial the last index is left out, so that an array which is only as long as the largest index needs is
    too short there.

    Entries are repeated: with i the first entry and k the last index, the flat array is `[i, i, k, ..., k, k, i]` for
    six entries or more, `[i, i, k, i]` and `[i, k, k, i]` in alternate trials for four, and `[i, k, i]` for three. So
    code that adds up only some of the gradients of a repeated index is wrong, whichever it leaves out.

    Args:
        spec: the axes of the indices.
        axis: the name of the axis that they index.
    """

    def draw(rng: np.random.Generator, setting: Setting, shape: tuple[int, ...]) -> np.ndarray:
        size, count = setting.sizes[axis], math.prod(shape)
        if setting.index == WITHOUT_LAST_INDEX and size > 2:
            size -= 1
        places = rng.integers(size, size=count)
        second = int(places[1]) if count > 1 else 0
        if count > 2 and size > 1:
            places[:2] = rng.integers(size - 1), size - 1
        places[-1] = places[0]
        if count >= 6 or (count >= 4 and not setting.index % 2):
            places[1:3] = places[0], places[1]
        if count >= 6 or (count >= 4 and setting.index % 2):
            other = places[2] if count >= 6 else places[1]
            if count == 5:
                places[1] = second
            places[-3:-1] = other
        return places.reshape(shape)

    return Sampler(spec, draw)


def shape(spec: str) -> Sampler:
    """Sample a shape, as a tuple: the one that an array argument with this spec has."""
    turns = len(alternatives(spec))
    return Sampler("", lambda _rng, setting, _: shape_of(_axes_in(spec, setting), setting.sizes), turns=turns)


def withheld(sampler: Sampler) -> Sampler:
    """Return the sampler for an argument of the forward pass that the learner's function does not get."""
    return replace(sampler, withheld=True)


def sized(sampler: Sampler, **sizes: tuple[int, ...]) -> Sampler:
    """Return the sampler with axes that only take these sizes: `sized(normal("n d"), d=(2, 4))`."""
    return replace(sampler, sizes=sizes)


def accumulating(sampler: Sampler) -> Sampler:
    """Return the sampler with a `.g` before the call in some trials, which the gradient must be added to."""
    return replace(sampler, carries_g=True)


def taking_turns(*samplers: Sampler) -> Sampler:
    """Sample the array of each trial from the next of these samplers, in turn; they must have the same spec."""

    def draw(rng: np.random.Generator, setting: Setting, shape: tuple[int, ...]) -> Any:
        return samplers[setting.turn % len(samplers)].draw(rng, setting, shape)

    exact = tuple(numbers for sampler in samplers for numbers in sampler.exact)
    return replace(samplers[0], draw=draw, turns=len(samplers), exact=exact)


def tried(turns: int, sampler: Sampler) -> Sampler:
    """Return the sampler with which an exercise gets at least this many trials.

    For an array so short that it may not have an entry of every kind in one trial, such as one below a kink and one
    above it: `tried(9, normal("bs"))` makes it unlikely that a kind is missing in all nine.

    Args:
        turns: the least number of trials, without the special ones (`SPECIAL_TURNS`).
        sampler: the sampler.
    """
    return replace(sampler, turns=turns)


def number(low: float, high: float) -> Sampler:
    """Sample a Python float between `low` and `high` that float32 holds exactly."""

    def draw(rng: np.random.Generator, _setting: Setting, _shape: tuple[int, ...]) -> float:
        return float(rng.uniform(low, high, ()).astype("float32"))

    return Sampler("", draw)


def each_of(*values: Any) -> Sampler:
    """Sample the next of these values in each trial, in turn; there are enough trials for all of them."""
    return Sampler("", lambda _rng, setting, _shape: values[setting.turn % len(values)], turns=len(values))


def backward_passes(*given: BackwardPass) -> Sampler:
    """Sample each of these backward passes once, as the argument of a learner's test, in an order set by the seed.

    The last of them is passed first. Let it be one that is wrong for any inputs.

    Raises:
        SpecError: there are more than 50.
    """
    if len(given) > MOST_PASSES:
        raise SpecError(f"a test is called with {MOST_PASSES} backward passes at most, probes among them")
    return Sampler("", lambda _rng, setting, _shape: given[setting.index], turns=len(given))


def wanted(names: str) -> Sampler:
    """Sample a set of argument names, whose gradients are requested: all of them first, then each alone.

    Args:
        names: the names, with blanks between them.
    """
    every = tuple(names.split())

    def draw(rng: np.random.Generator, setting: Setting, _shape: tuple[int, ...]) -> frozenset[str]:
        if setting.index == 0:
            return frozenset(every)
        return frozenset(name for i, name in enumerate(every) if (i + setting.index) % len(every) == 0)

    return Sampler("", draw, chosen=every)


def _normal(rng: np.random.Generator, _: Setting, shape: tuple[int, ...]) -> np.ndarray:
    """Return standard normal float32 entries; shape: `shape`."""
    return rng.standard_normal(shape).astype("float32")


def _in_turn(rng: np.random.Generator, count: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return the integers below `count`, about equally often and in random places; shape: `shape`."""
    places = rng.permutation(math.prod(shape)) + rng.integers(count)
    return (places % count).reshape(shape)


def _axes_in(spec: str, setting: Setting) -> Axes:
    """Return the axes that an array of this spec has in a trial; alternatives in the spec have their turns."""
    specs = alternatives(spec)
    return expand_any(specs[setting.turn % len(specs)], setting.rank)
