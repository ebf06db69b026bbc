"""The making of figures that show the shape of a mistake: the operator that explains it chooses which.

All are computed from the samples of a wrong answer, and from the edit or the declared formula that gives its numbers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.course.exercise import Answer, Declaration, Exercise
from grader.course.sampling import Array
from grader.course.shapes import Axes, axes_in_all
from grader.course.trial_sizes import EXACT_KIND, LARGE_UPSTREAM_KIND
from grader.diagnosis.diagnose import wrong_array_of
from grader.diagnosis.factors import argument_numbers, common_ratio, in_brackets, named_axis_sizes, number_text
from grader.diagnosis.mistake import Mistake
from grader.diagnosis.operators import view_of
from grader.diagnosis.quotients import Quotient
from grader.diagnosis.recorded_programs import faithful_program_of
from grader.program.operation import NoCandidate
from grader.program.program import Program
from grader.program.queries import loops
from grader.reference.trial import IMPOSSIBLE, Sample, Trial

from .picture_data import Figure, Series

FEW = 8  # entries, of which a scatter shows those of every trial
LARGER = 30.0  # times that a trial's entries may be larger than those of the drawn one, of which the tables are
MOST_POINTS, MOST_LINES, MOST_BARS, MOST_STAMPS = 400, 12, 24, 24
SAME = 1e-4  # how far the points of a line may be off it, in proportion to the largest
LAW = 1e-6  # the largest sum that counts as 0, in proportion to the magnitudes that it is of
LARGEST_DIVISOR = 100  # of a factor that is written as a fraction: a larger one would often fit by chance
LONGEST = 30  # characters of a step that is named below a scatter
LEAST = 3  # points that a line is drawn through
OF_RIGHT = ("right", "nudged")  # titles of the right array
Response = Callable[[np.ndarray], np.ndarray]  # the answer to an upstream gradient


@dataclass(frozen=True)
class ComparedAnswer:
    """A wrong answer beside the array that it is compared with.

    Args:
        declaration: the exercise.
        answer: the answer.
        trial: a trial in which it is wrong.
        yours: the learner's array, float64.
        right: the array that it is compared with, of the same shape.
        title: the name of that array, `nudged` or `right`.
        axes: a name for each axis of both.
        samples: its samples in all trials in which the learner's array has the right shape.
        mistake: the mistake that explains it; `None` where none was looked for.
        own: the name of the learner's array.
    """

    declaration: Declaration
    answer: Answer
    trial: Trial
    yours: np.ndarray
    right: np.ndarray
    title: str
    axes: Axes
    samples: Sequence[Sample]
    mistake: Mistake | None = None
    own: str = "yours"

    def name_of_axis(self, axis: int) -> str:
        """Return the name of the axis with this index; "axis 0" if the axis has none."""
        name = self.axes[axis]
        return f"axis {axis}" if name.startswith("_") else name


def figures(compared: ComparedAnswer) -> tuple[Figure, ...]:
    """Return the figures of a wrong answer: the kind that its mistake's operator declares, then scatters and sums.

    For a mistake whose operator declares none, a stamp is first, unless the mistake only follows from another. Figures
    that cannot be computed are left out. If the points of the scatter against the right entries are on one line, only
    scatters whose points are on a line are returned.
    """
    mistake = compared.mistake
    view = view_of(mistake.facts[0].operator) if mistake is not None and mistake.facts else None
    if mistake is not None and mistake.code == "follows":
        view = None
    makers: Mapping[str, Callable[[ComparedAnswer], Iterator[Figure]]] = {
        "stamp": stamps, "steps": steps, "sums": sums, "scatter": scatters,
    }  # fmt: skip
    first = [view] if view is not None else ["stamp"] if mistake is not None and mistake.code != "follows" else []
    made: list[Figure] = []
    for kind in dict.fromkeys([*first, "scatter", "sums"]):
        try:
            made += makers[kind](compared)
        except (*IMPOSSIBLE, NoCandidate):  # a figure that cannot be computed is left out
            continue
    on_lines = [figure for figure in made if _is_on_one_line(figure)]
    is_explained = any(figure.series[0].name == compared.title for figure in on_lines)
    return tuple(on_lines if is_explained else made)


def _is_on_one_line(figure: Figure) -> bool:
    """Return whether a figure is a scatter with a single line, which `scatters` draws where all points are on it.

    The points are not looked at. No other figure says more.
    """
    return figure.kind == "scatter" and [line.values.ndim for line in figure.series[2:]] == [1]


# Scatter --------------------------------------------------------------------------------------------------------------


def scatters(compared: ComparedAnswer) -> Iterator[Figure]:
    """Yield the scatter of the learner's entries against the right ones.

    Nothing is yielded if there are too few entries, or those that are finite are all right. If the points are on no
    single line, two more are tried, and yielded if their points are on a line: against another array, and against the
    right entries times an argument. The latter is also tried if they are on a line with a number as its slope.
    """
    is_finite = np.isfinite(compared.right) & np.isfinite(compared.yours)
    right, yours = compared.right[is_finite], compared.yours[is_finite]
    lines = _lines(compared, right, yours) if right.size > 1 else []
    trials: tuple[str, ...] = ()
    is_on_one = any(line.values.ndim == 1 for line in lines)
    if (right.size < FEW and not lines) or (is_on_one and not _are_on_lines_in_every_trial(compared)):
        right, yours, lines = _entries_of_all_trials(compared)
        trials = _trial_of_each_entry(_usual_samples(compared))
        is_seen = _is_of_similar_size(compared, right, yours, trials)
        right, yours, trials = right[is_seen], yours[is_seen], tuple(itertools.compress(trials, is_seen))
        if right.size < LEAST:
            return
    if [line.name for line in lines] == [f"{compared.own} = {compared.title}"]:
        return  # what is wrong is too small to be seen, or in entries that are not finite
    yield _scatter(compared, compared.title, right, yours, lines, trials)
    if not is_on_one and (not lines or lines[0].values.ndim > 1):
        yield from _scatter_of_equal(compared)
    if all(line.values.ndim > 1 or line.name.endswith(f" * {compared.title}") for line in lines):
        yield from _scatter_by_argument(compared)  # no line, or one with a number as the factor


def _scatter(
    compared: ComparedAnswer,
    name: str,
    across: np.ndarray,
    yours: np.ndarray,
    lines: Sequence[Series],
    trials: Sequence[str] = (),
) -> Figure:
    """Return the scatter of the learner's entries against others, of which at most `MOST_POINTS` are shown.

    Args:
        compared: the answer.
        name: the name of the other entries.
        across: the other entries, of shape (entries,).
        yours: the learner's entries, of the same shape.
        lines: the lines that the points are on.
        trials: the trial of each entry; none if they are of one trial.
    """
    chosen = np.linspace(0, across.size - 1, min(across.size, MOST_POINTS)).round().astype(int)
    labels = tuple(trials[i] for i in chosen) if trials else ()
    points = (Series(name, across[chosen], labels), Series(compared.own, yours[chosen], labels))
    return Figure("scatter", f"{compared.own} against {name}", (*points, *lines))


def _are_on_lines_in_every_trial(compared: ComparedAnswer) -> bool:
    """Return whether the points of each usual trial are on lines, so that those of one trial are not on any by chance.

    Trials with a single entry, or whose right entries are all 0, do not count. True if none counts.
    """
    return all(
        _lines(
            replace(compared, trial=sample.trial, right=sample.expected, yours=sample.given.real.astype("float64")),
            sample.expected.ravel(),
            sample.given.real.astype("float64").ravel(),
        )
        for sample in _usual_samples(compared)
        if sample.expected.size > 1 and sample.expected.any()
    )


def _entries_of_all_trials(compared: ComparedAnswer) -> tuple[np.ndarray, np.ndarray, list[Series]]:
    """Return the right entries and the learner's in all usual trials, and the lines through 0 on which the points are.

    Without usual samples, the entries are the finite ones of `compared`, and there are no lines.

    Returns:
        The right entries and the learner's, of shape (entries,), and the lines: one for all trials, or the lines of
        single trials in one series, or none.
    """
    samples = [
        (np.ravel(sample.expected), np.ravel(sample.given.real).astype("float64"))
        for sample in _usual_samples(compared)
    ]
    if not samples:
        is_finite = np.isfinite(compared.right) & np.isfinite(compared.yours)
        return compared.right[is_finite], compared.yours[is_finite], []
    right, yours = (np.concatenate(arrays) for arrays in zip(*samples, strict=True))
    slope = common_ratio(yours, right)
    if slope is not None:
        name = f"{compared.own} = {_with_factor(compared, slope, False)}"
        return right, yours, [Series(name, np.array([slope, 0.0]))]
    slopes = [common_ratio(yours, right) for right, yours in samples if right.size > 1]
    if None in slopes or len(slopes) < 2:
        return right, yours, []
    lines = np.array([[slope, 0.0] for slope in slopes[:MOST_LINES]])
    return right, yours, [Series(f"{compared.own} = {compared.title} * a factor for each size", lines)]


def _trial_of_each_entry(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Return `trial 1` for each entry of the first sample, `trial 2` for each of the second; empty for one sample."""
    numbers = (f"trial {number}" for number, sample in enumerate(samples, 1) for _ in range(np.size(sample.expected)))
    return tuple(numbers) if len(samples) > 1 else ()


def _is_of_similar_size(
    compared: ComparedAnswer, right: np.ndarray, yours: np.ndarray, trials: Sequence[str]
) -> np.ndarray:
    """Return for each entry whether none of its trial is over `LARGER` times as large as any of the drawn trial.

    Beside such entries, those in the tables below the scatter would all be drawn as 0.

    Args:
        compared: the answer in the drawn trial.
        right: the right entries of all trials, of shape (entries,).
        yours: the learner's entries, of the same shape.
        trials: the trial of each entry; empty if they are of one trial.
    """
    drawn = np.concatenate([compared.right.ravel(), compared.yours.ravel()])
    most = LARGER * float(np.abs(drawn[np.isfinite(drawn)]).max(initial=0.0))
    sizes = np.maximum(np.abs(right), np.abs(yours))
    large = {trial for trial, size in zip(trials, sizes.tolist(), strict=True) if size > most} if trials else set()
    return np.array([trial not in large for trial in trials] if large else np.ones(right.size), dtype=bool)


def _usual_samples(compared: ComparedAnswer) -> list[Sample]:
    """Return the finite samples of the trials that have neither exact entries nor a large upstream gradient."""
    kinds = (EXACT_KIND, LARGE_UPSTREAM_KIND)
    return [sample for sample in compared.samples if sample.is_finite and sample.trial.setting.kind not in kinds]


def _scatter_by_argument(compared: ComparedAnswer) -> Iterator[Figure]:
    """Yield the scatter against the right entries times an argument, the first number that puts all points on one line.

    Nothing is yielded if no argument does.
    """
    samples = _usual_samples(compared)
    for name in argument_numbers(samples[0].trial) if len(samples) >= LEAST else ():
        numbers = [argument_numbers(sample.trial).get(name) for sample in samples]
        known = [(sample, number[1]) for sample, number in zip(samples, numbers, strict=True) if number is not None]
        if len(known) < LEAST or np.ptp([number for _, number in known]) == 0:
            continue
        right = np.concatenate([np.ravel(sample.expected) * number for sample, number in known])
        yours = np.concatenate([np.ravel(sample.given.real).astype("float64") for sample, _ in known])
        slope = common_ratio(yours, right)
        if slope is not None:
            by = replace(compared, title=f"{compared.title} * {name}")
            line = Series(f"{compared.own} = {_with_factor(by, slope, False)}", np.array([slope, 0.0]))
            trials = _trial_of_each_entry([sample for sample, _ in known])
            yield _scatter(compared, by.title, right, yours, [line], trials)
            return


def _lines(compared: ComparedAnswer, right: np.ndarray, yours: np.ndarray) -> list[Series]:
    """Return the line that all points are on, with its equation, or a line for each index of an axis; else no lines.

    The first kind that fits counts: a constant, a multiple of the right entries, these and a constant, a line for each
    index.

    Args:
        compared: the answer.
        right: the right entries, of shape (entries,).
        yours: the learner's entries, of the same shape.
    """
    scale = max(np.abs(right).max(initial=0.0), np.abs(yours).max(initial=0.0))
    is_of_one_trial = right.size == compared.right.size
    if np.ptp(yours) <= SAME * scale and np.ptp(right) > SAME * scale:
        return [Series(f"{compared.own} = {number_text(yours[0])}", np.array([0.0, yours[0]]))]
    slope = common_ratio(yours, right)
    if slope is not None:
        name = _with_factor(compared, slope, is_of_one_trial)
        return [Series(f"{compared.own} = {name}", np.array([slope, 0.0]))]
    offset = yours - right
    if np.ptp(offset) <= SAME * scale:
        sign, size = "+-"[int(offset[0] < 0)], number_text(abs(offset[0]))
        return [Series(f"{compared.own} = {compared.title} {sign} {size}", np.array([1.0, offset.mean()]))]
    return _lines_along_axes(compared, scale) if is_of_one_trial else []


def _with_factor(compared: ComparedAnswer, slope: float, is_of_one_trial: bool) -> str:
    """Return the array that the learner's is compared with times a number as a formula, such as `nudged / bs`.

    Args:
        compared: the answer.
        slope: the number.
        is_of_one_trial: whether the number was found in one trial alone, so that it may be the size of an axis.
    """
    sizes = named_axis_sizes(compared.trial) if is_of_one_trial else {}
    title, sign = compared.title, "-" if slope < 0 else ""
    if any(part in title for part in (" + ", " - ", " over ")):
        title = f"({title})"
    for axis, size in sizes.items():
        if size == 1 or list(sizes.values()).count(size) > 1:
            continue
        for power, name in ((1.0, axis), (0.5, f"sqrt({axis})")):
            if _is_size(slope, size**power) and _depends_on(compared, axis, power):
                return f"{sign}{title} {'*' if abs(slope) > 1 else '/'} {name}"
    if np.isclose(abs(slope), 1, rtol=SAME):
        return f"{sign}{title if sign else compared.title}"
    divisor = round(1 / abs(slope)) if abs(slope) >= 1 / LARGEST_DIVISOR else 0
    is_divisor = divisor > 1 and bool(np.isclose(abs(slope) * divisor, 1, rtol=SAME))
    return f"{f'{sign}1/{divisor}' if is_divisor else in_brackets(number_text(slope))} * {title}"


def _is_size(factor: float, count: float) -> bool:
    """Return whether a factor is a number or one over it, up to its sign."""
    return bool(np.isclose(abs(factor), [count, 1 / count], rtol=SAME).any())


def _depends_on(compared: ComparedAnswer, axis: str, power: float) -> bool:
    """Return whether the factor of a wrong answer is a power of the size of an axis, and not that number by chance.

    It is none if the factor of another trial is neither 1 nor that power, and one if the factor changes with the size
    between trials. Else it is one if the diagnosis names the axis, or there is no diagnosis.

    Args:
        compared: the answer.
        axis: the name of the axis.
        power: 1, or 0.5 for a root.
    """
    ratios = [
        (common_ratio(np.ravel(sample.given.real), np.ravel(sample.expected)), named_axis_sizes(sample.trial).get(axis))
        for sample in _usual_samples(compared)
    ]
    known = [(ratio, size) for ratio, size in ratios if ratio is not None and size is not None]
    wrong = [(ratio, size) for ratio, size in known if not np.isclose(ratio, 1, rtol=SAME)]
    if compared.title in OF_RIGHT and not all(_is_size(ratio, size**power) for ratio, size in wrong):
        return False
    if compared.title in OF_RIGHT and len({size for _, size in known}) > 1:
        return len(wrong) == len(known) or _is_named(compared, axis)
    return compared.mistake is None or _is_named(compared, axis)


def _is_named(compared: ComparedAnswer, axis: str) -> bool:
    """Return whether the mistake in a wrong answer names an axis."""
    said = [] if compared.mistake is None else [compared.mistake.says]
    said += [str(value) for fact in getattr(compared.mistake, "facts", ()) for value in fact.parameters.values()]
    return any(re.search(rf"\b{re.escape(axis)}\b", text) for text in said)


def _lines_along_axes(compared: ComparedAnswer, scale: float) -> list[Series]:
    """Return a series of lines, one for each index of the first axis at which the points of each index are on a line.

    Args:
        compared: the answer.
        scale: the largest magnitude of an entry, for the tolerance.

    Returns:
        The series as the only element; empty if there is no such axis.
    """
    right, yours = compared.right, compared.yours
    for axis in range(right.ndim):
        if not 1 < right.shape[axis] <= MOST_LINES or right.size < LEAST * right.shape[axis]:
            continue
        rows = [np.moveaxis(array, axis, 0).reshape(right.shape[axis], -1) for array in (right, yours)]
        name = compared.name_of_axis(axis)
        ratios = [common_ratio(own, expected) for expected, own in zip(*rows, strict=True)]
        if None not in ratios:
            lines = np.array([[ratio, 0.0] for ratio in ratios])
            return [Series(f"{compared.own} = {compared.title} * a factor for each {name}", lines)]
        offsets = rows[1] - rows[0]
        if np.ptp(offsets, axis=1).max() <= SAME * scale:
            lines = np.stack([np.ones(len(offsets)), offsets.mean(1)], axis=1)
            return [Series(f"{compared.own} = {compared.title} + a number for each {name}", lines)]
    return []


def _scatter_of_equal(compared: ComparedAnswer) -> Iterator[Figure]:
    """Yield the scatter against the first array of `_other_arrays` that the learner's equals, or is a multiple of.

    One that it equals goes before any that it is a multiple of.
    """
    yours = compared.yours
    if yours.size < LEAST or not yours.any() or not np.isfinite(yours).all():
        return
    best_fit: tuple[float, str, np.ndarray] | None = None
    for name, other in _other_arrays(compared):
        slope = common_ratio(yours, other) if other.shape == yours.shape and np.isfinite(other).all() else None
        is_equal = slope is not None and bool(np.isclose(slope, 1, rtol=SAME))
        if slope is not None and (best_fit is None or is_equal):
            best_fit = slope, name, other
        if is_equal:
            break
    if best_fit is not None:
        slope, name, other = best_fit
        by = replace(compared, title=name)
        line = Series(f"{compared.own} = {_with_factor(by, slope, True)}", np.array([slope, 0.0]))
        yield _scatter(compared, name, other.ravel(), yours.ravel(), [line])


def _other_arrays(compared: ComparedAnswer) -> Iterator[tuple[str, np.ndarray]]:
    """Yield arrays that a wrong answer may equal, each with its name in code before it, such as "right.t()"."""
    right, title, trial = compared.right, compared.title, compared.trial
    if right.ndim == 2:
        yield f"{title}.t()", right.T
        if right.shape[0] != right.shape[1]:
            yield f"{title}.t().reshape({right.shape[0]}, {right.shape[1]})", right.T.reshape(right.shape)
            turned = right.reshape(right.shape[::-1]).T
            yield f"{title}.reshape({right.shape[1]}, {right.shape[0]}).t()", turned
    for axis in range(right.ndim):
        yield f"{title}.flip({axis})", np.flip(right, axis)
        for by in (1, -1):
            yield f"{title}.roll({by}, {axis})", np.roll(right, by, axis)
        if right.shape[axis] > 1:
            over = f"over {compared.name_of_axis(axis)}"
            yield f"{title} averaged {over}", np.broadcast_to(right.mean(axis, keepdims=True), right.shape)
            yield f"{title} summed {over}", np.broadcast_to(right.sum(axis, keepdims=True), right.shape)
    if right.ndim > 1:
        yield f"{title}.flip(...)", np.flip(right)
    for name, value in trial.arguments.items():
        if isinstance(value, Array):
            if value.g is not None:
                yield f"{name}.g", np.asarray(value.g, dtype="float64")
            values = np.asarray(value.values, dtype="float64")
            yield name, values
            if values.ndim == 2:
                yield f"{name}.t()", values.T
    if trial.out is not None:
        yield "out", trial.out.numpy()
    if (before := trial.prior(compared.answer)) is not None:
        yield f"{title} - before", right - before
    if (quotient := Quotient.of(trial)) is not None:
        f, x, *_ = trial.inputs
        yield f"{f}({x})", np.asarray(quotient.f(quotient.x), dtype="float64")
    yield from _products(compared)
    yield from _gradients_of_steps(compared)
    if right.ndim:
        yield "ones", np.ones_like(right)
    yield f"{title}.abs()", np.abs(right)


def _products(compared: ComparedAnswer) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the right array times each array of the exercise, and divided by it, where the shape stays the same.

    Yields:
        The product or quotient in code, such as "right * inp", and its array.
    """
    trial, shape = compared.trial, compared.right.shape
    arrays = {name: value.values for name, value in trial.arguments.items() if isinstance(value, Array)}
    if trial.out is not None:
        arrays["out"] = trial.out.numpy()
    for name, array in arrays.items():
        values = np.asarray(array, dtype="float64")
        fits = all(own in (1, size) for own, size in zip(values.shape[::-1], shape[::-1], strict=False))
        if 0 < values.ndim <= len(shape) and fits:
            with np.errstate(all="ignore"):
                yield f"{compared.title} * {name}", compared.right * values
                yield f"{compared.title} / {name}", compared.right / values


def _gradients_of_steps(compared: ComparedAnswer) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and the right gradient of each step of the forward pass whose value has the shape of the answer.

    The name is such as "gradient of h" or "gradient of (x @ w)"; "gradient of a later step" for a step whose name has
    more than `LONGEST` characters. Nothing is yielded for an answer that is no gradient, or where
    `faithful_program_of` returns `None`.
    """
    if compared.answer.kind != "gradient":
        return
    program = faithful_program_of(compared.declaration, compared.trial)
    if program is None:
        return
    for node in program.nodes:
        if node.operands and node.value.shape == compared.right.shape and node.value.dtype.kind == "f":
            name = program.name_of(node.id).strip("`")
            name = "a later step" if len(name) > LONGEST else f"({name})" if " " in name else name
            yield f"gradient of {name}", program.sweep.gradient(node.id)


# Stamp ----------------------------------------------------------------------------------------------------------------


def stamps(compared: ComparedAnswer) -> Iterator[Figure]:
    """Yield a figure of both answers, the learner's and the right one, to an upstream gradient of 0 but for a single 1.

    The 1 is at the place, of at most `MOST_STAMPS`, at which the two answers differ most in proportion, and nearest the
    middle among equals. Nothing is yielded where they do not differ, the exercise gives no upstream gradient, the
    answer is no gradient, or neither an edit nor a declared formula explains it.
    """
    exercise, answer, trial = compared.declaration, compared.answer, compared.trial
    if not isinstance(exercise, Exercise) or not exercise.gives_upstream or answer.kind != "gradient":
        return
    if trial.out is None or compared.yours.ndim < 1:
        return
    program, shape = faithful_program_of(exercise, trial), tuple(trial.out.shape)
    wrong = None if program is None else _response(compared, program)
    if program is None or wrong is None or trial.out.numel() < 2:
        return
    best = None
    middle = np.array(shape) / 2
    for number in np.linspace(0, trial.out.numel() - 1, min(trial.out.numel(), MOST_STAMPS)).round().astype(int):
        place = np.unravel_index(number, shape)
        single = np.zeros(shape)
        single[place] = 1
        right, yours = replace(program, upstreams=(single,)).gradient(answer.wrt), np.asarray(wrong(single))
        if yours.shape != right.shape or not np.isfinite(yours).all():
            return
        size = max(np.abs(right).max(initial=0.0), np.abs(yours).max(initial=0.0))
        off = round(float(np.abs(yours - right).max(initial=0.0)) / size, 1) if size else 0.0
        rank = (off, -float(np.abs((np.array(place) - middle) / (middle + 1)).max()))
        if best is None or rank > best[0]:
            best = rank, single, yours, right
    if best is not None and best[0][0]:
        _, single, yours, right = best
        at = _index_of_largest(single)
        named = f"{exercise.upstream_name}[{', '.join(map(str, at))}]"
        off = _index_of_largest(yours - right)
        yield Figure(
            "stamp",
            f"the answer where {named} is 1 and all else of it 0",
            (
                _slice_series(exercise.upstream_name, single, _axes_of_output(compared), at),
                _slice_series("yours", yours, compared.axes, off),
                _slice_series("right", right, compared.axes, off),
            ),
        )


def _axes_of_output(compared: ComparedAnswer) -> Axes:
    """Return a name for each axis of the output: that of the only axis with its size in every trial."""
    outputs = [(sample.trial.out, sample.trial.setting.sizes) for sample in compared.samples]
    seen = [(compared.trial.out, compared.trial.setting.sizes), *outputs]
    known = [(tuple(out.shape), sizes) for out, sizes in seen if out is not None]
    known = [(shape, sizes) for shape, sizes in known if len(shape) == len(known[0][0])]
    return axes_in_all([shape for shape, _ in known], [sizes for _, sizes in known])


def _index_of_largest(array: np.ndarray) -> tuple[int, ...]:
    """Return the index of the entry with the largest magnitude, the first of several."""
    return tuple(int(i) for i in np.unravel_index(int(np.abs(array).argmax()), array.shape))


def _slice_series(name: str, array: np.ndarray, axes: Axes, at: tuple[int, ...]) -> Series:
    """Return a slice along the last two axes of an array as a series with a name such as "w.g[1]".

    An array of two axes or fewer is returned whole, under its own name.

    Args:
        name: the name of the array.
        array: the array.
        axes: the names of its axes.
        at: the index of an entry in the slice.
    """
    lead = array.ndim - 2
    if lead <= 0:
        return Series(name, array, axes)
    where = ", ".join(map(str, at[:lead]))
    return Series(f"{name}[{where}]", array[at[:lead]], axes[lead:])


def numbers_of_mistake(declaration: Exercise, answer: Answer, trial: Trial, mistake: Mistake) -> np.ndarray | None:
    """Return the array that a mistake gives for an answer in a trial, without a gradient that was stored before.

    `None` where the answer is no gradient, the trial has no upstream gradient, or the mistake has neither an edit nor a
    declared formula.

    Args:
        declaration: the exercise.
        answer: the answer.
        trial: the trial.
        mistake: the mistake that explains it.
    """
    program, right = faithful_program_of(declaration, trial), trial.new(answer)
    compared = ComparedAnswer(declaration, answer, trial, right, right, "", (), (), mistake)
    wrong = None if program is None or answer.kind != "gradient" else _response(compared, program)
    if wrong is None or trial.out_g is None:
        return None
    return np.asarray(wrong(np.asarray(trial.out_g, dtype="float64")))


def _response(compared: ComparedAnswer, program: Program) -> Response | None:
    """Return the function from an upstream gradient to the array that the learner's backward pass makes of it.

    It is computed with the edit, or the declared formula, that explains the answer; `None` where neither explains it.
    """
    mistake, answer, trial = compared.mistake, compared.answer, compared.trial
    if mistake is None:
        return None
    if (rewrite := mistake.rewrite) is not None:
        return lambda g: rewrite(replace(program, upstreams=(g,))).gradient(answer.wrt)
    if not mistake.facts or mistake.facts[0].operator != "declared":
        return None
    import torch

    for each in compared.declaration.misconceptions:
        if (each.code, each.says, each.answer) == (mistake.code, mistake.facts[0].says, answer.name):
            formula = each
            return lambda g: wrong_array_of(
                formula, answer, replace(trial, out_g=torch.from_numpy(g.copy()), memo={}), compared.yours
            )
    return None


# Steps of a loop ------------------------------------------------------------------------------------------------------


def steps(compared: ComparedAnswer) -> Iterator[Figure]:
    """Yield a figure of the norms of the gradient at each step of a loop, the learner's and the right ones.

    The gradient is that of the first loop-carried value at which the two differ. Without one, the bars are the norms of
    what each use of the input adds to the answer, in a loop or not. Nothing is yielded if these are equal too, if the
    input has a single use, or without an edit that explains the answer.
    """
    exercise, mistake, trial = compared.declaration, compared.mistake, compared.trial
    program = faithful_program_of(exercise, trial)
    if program is None or mistake is None or mistake.rewrite is None:
        return
    edited = mistake.rewrite(program)
    for loop in loops(program):
        for carried in loop.carried:
            values = program.forward.by_key[program.nodes[carried.made[0]].key]
            sizes = [
                np.array([float(np.linalg.norm(each.sweep.gradient(value))) for value in values])
                for each in (edited, program)
            ]
            if _differ(*sizes):
                yield _steps(f"{program.name_of(carried.made[0])}.g", sizes, compared)
                return
    target = program.forward.targets.get(compared.answer.wrt)
    places = () if target is None else program.forward.uses[target]
    if len(places) > 1:
        sizes = [
            np.array([float(np.linalg.norm(each.sweep.contribution(place))) for place in places])
            for each in (edited, program)
        ]
        if _differ(*sizes):
            yield _steps(f"what each use adds to {compared.answer.name}", sizes, compared)


def _differ(yours: np.ndarray, right: np.ndarray) -> bool:
    """Return whether two arrays differ by more than rounding."""
    return bool(np.abs(yours - right).max(initial=0.0) > SAME * max(np.abs(right).max(initial=0.0), 1e-12))


def _steps(what: str, sizes: Sequence[np.ndarray], compared: ComparedAnswer) -> Figure:
    """Return the figure with two bars for each of the first `MOST_BARS` steps: the learner's number and the right one.

    Args:
        what: the value whose norms the numbers are, for the title.
        sizes: the learner's numbers and the right ones, each of shape (steps,).
        compared: the answer.
    """
    labels = tuple(map(str, range(len(sizes[0]))))[:MOST_BARS]
    yours, right = sizes
    series = Series(compared.own, yours[:MOST_BARS], labels), Series("right", right[:MOST_BARS], labels)
    return Figure("steps", f"the size of {what} by step{_first_bars(len(yours))}", series)


def _first_bars(count: int) -> str:
    """Return ", the first 24 of 35" for 35 numbers, of which `MOST_BARS` are drawn; empty if all are."""
    return f", the first {MOST_BARS} of {count}" if count > MOST_BARS else ""


# Sums -----------------------------------------------------------------------------------------------------------------


def sums(compared: ComparedAnswer) -> Iterator[Figure]:
    """Yield a figure of the sums along an axis, the learner's and the right ones.

    It is the last axis along which the right answer adds up to 0 in every trial and the learner's does not; nothing is
    yielded without such an axis.
    """
    for axis in reversed(range(compared.right.ndim)):
        if compared.right.shape[axis] > 1 and all(_sums_to_zero(sample, axis) for sample in compared.samples):
            yours, right = compared.yours.sum(axis), compared.right.sum(axis)
            scale = np.abs(compared.yours).sum(axis).max(initial=0.0)
            if np.abs(yours).max(initial=0.0) > 1e-3 * scale and np.isfinite(yours).all():
                labels = tuple(",".join(map(str, index)) for index in np.ndindex(yours.shape))[:MOST_BARS]
                others = [compared.name_of_axis(other) for other in range(compared.right.ndim) if other != axis]
                each = f", for each {', '.join(others)}" if others else ""
                right = np.where(np.abs(right) <= 1e-4 * scale, 0.0, right)  # of the rounding of the measurement
                yield Figure(
                    "sums",
                    f"the sums along {compared.name_of_axis(axis)}{each}{_first_bars(yours.size)}",
                    (
                        Series(compared.own, yours.ravel()[:MOST_BARS], labels),
                        Series(compared.title, right.ravel()[:MOST_BARS], labels),
                    ),
                )
                return


def _sums_to_zero(sample: Sample, axis: int) -> bool:
    """Return whether the right array of a sample adds up to 0 along an axis, and is not 0 itself.

    Return False if it lacks this axis.
    """
    expected = sample.expected
    if axis >= expected.ndim:
        return False
    sizes = np.abs(expected).sum(axis)
    return bool((np.abs(expected.sum(axis)) <= LAW * sizes.max(initial=0.0)).all() and sizes.any())
