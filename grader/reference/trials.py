"""The trials of an exercise, drawn at random: sizes, inputs, upstream gradients, and the right answers."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from grader.child.call_arguments import function_of, group_arguments
from grader.course.exercise import Declaration, Exercise, InSteps, Routine, sizes_of, specs_of
from grader.course.sampling import HALVES, Array, Dtype, Function, Marker, draw, exact_entries, with_exact_entries
from grader.course.shapes import Axes, axes_in_all, axes_of, guess_axes
from grader.course.trial_sizes import (
    EXACT_KIND,
    LARGE_UPSTREAM_KIND,
    ONE_KIND,
    OTHER_UPSTREAM_KIND,
    SAME_SIZES_KIND,
    Setting,
    exact_setting,
    large_setting,
    second_batch_of_one,
    settings,
    watched_sizes,
)
from grader.errors import SpecError

from .compare import scaled_error
from .references import (
    AGREEMENT,
    agrees_with_finite_differences,
    derivative_answers,
    finite_difference_answer,
    right_answers,
    right_in_single_precision,
)
from .trial import Trial

REDRAWS = 5  # trials like one whose inputs may lie on a kink, or whose gradient is mostly rounding
LARGE_UPSTREAM = 50.0  # times a normal upstream gradient
FEW = 6  # entries that a wrong rule may have right by chance
EXACT_DRAWS = 3  # before an exercise is taken for one that allows no exact zeros and ties
TINY_STEP = 1e-12  # moves an input off a kink, and changes the result elsewhere by less than `AGREEMENT`
FREE_MEMORY = 300  # MiB: more than a worker holds already, which code may write over
OVERSIZE, SINGLE_BYTES = 1.9, 4  # times the free memory, so that half of the array still fits; bytes of a float32
MOST_SENT = 4 << 20  # entries


@dataclass(frozen=True)
class TrialsOfRun:
    """The trials of one exercise in one run, each drawn when it is first needed.

    Args:
        declaration: the exercise.
        name: its id; with the seed it determines all trials.
        seed: the seed of the run.
    """

    declaration: Declaration
    name: str
    seed: int

    @cached_property
    def judged_trials(self) -> list[Trial]:
        """Return the trials in which answers are judged, each once."""
        return make_trials(self.declaration, self._random())

    @cached_property
    def trials_in_call_order(self) -> list[Trial]:
        """Return the trials in the order of the calls of the learner's function, in which some are repeated."""
        return repeat_some(self.declaration, self.judged_trials)

    def confirm(self) -> None:
        """Check the right answers by finite differences of the forward pass, in the first call only.

        Raises:
            SpecError: the answers and the finite differences disagree.
        """
        _ = self._confirmed

    @cached_property
    def _confirmed(self) -> bool:
        """Check the right answers by finite differences once; return `True`, which is then cached."""
        confirm(self.declaration, self.judged_trials[0], self._random(3))
        return True

    @cached_property
    def watched_trial(self) -> Trial | None:
        """Return the trial in which the worker looks for finite differences by the learner.

        `None` for a `Routine`, whose answer is no gradient and may be a difference quotient.
        """
        return watched_trial(self.declaration, self._random(1))

    @cached_property
    def tight_memory_trial(self) -> Trial | None:
        """Return the trial that runs with too little memory for the array that the exercise forbids to hold.

        `None` where the exercise forbids none, or the array is held in any case: as an argument or by the forward pass.
        """
        return tight_memory_trial(self.declaration, self.judged_trials[0], self._random(2))

    def _random(self, *stream: int) -> np.random.Generator:
        """Return a new generator of a stream of random numbers, which the seed and the id of the exercise determine."""
        return random_numbers(self.seed, self.name, *stream)


def random_numbers(seed: int, exercise: str, *stream: int) -> np.random.Generator:
    """Return a new generator of the random numbers of one exercise in a run.

    Args:
        seed: the seed of the run.
        exercise: the id of the exercise.
        *stream: numbers that distinguish several streams of one exercise.
    """
    return np.random.default_rng([seed, zlib.crc32(exercise.encode()), *stream])


def repeat_some(declaration: Declaration, trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials in the order of the calls: each of them once, then the last one again, and the largest again.

    The largest is, of the trials without exact zeros and ties, the one whose arguments have most entries. Unless it is
    metered, the last trial has its sizes, so that an answer that is cached by sizes differs in a repeated call, or is
    wrong in the last trial. The trials of a learner's test, whose answer may depend on chance or on the order, are
    repeated from last to first, and once more in order.
    """
    if declaration.is_test:
        return [*trials, *reversed(trials), *trials]
    ordinary = (trial for trial in trials if trial.setting.kind != EXACT_KIND)
    return [*trials, trials[-1], max(ordinary, key=lambda trial: trial.entries)]


# The trials of a run


def make_trials(declaration: Declaration, rng: np.random.Generator) -> list[Trial]:
    """Draw the trials in which the answers of one run are judged.

    The ordinary ones come first, then the special ones, and last one with the sizes of the largest.

    Raises:
        SpecError: the forward pass cannot be run or differentiated.
    """
    if isinstance(declaration, Routine) and declaration.is_test:
        return _test_trials(declaration, rng)
    specs, allowed = specs_of(declaration), sizes_of(declaration)
    trials = [make_trial(declaration, setting, rng) for setting in _series(declaration, rng)]
    for name, sampler in declaration.samplers.items():
        trials += [_without_gradient(trials[0], name, sampler.chosen, left_out) for left_out in sampler.chosen]
    another = second_batch_of_one([trial.setting for trial in trials], rng, allowed)
    if another is not None and _may_be_right_by_chance(trials):
        trials.append(make_trial(declaration, another, rng))
    if declaration.never_holds:
        large = large_setting(specs, len(trials), declaration.never_holds)
        trials.append(make_trial(declaration, large, rng, metered=True))
    if isinstance(declaration, Exercise) and _has_answer_like_upstream(declaration, trials[0]):
        trials.append(_with_other_upstream(declaration, trials[0], len(trials), rng))
    unmetered = [trial for trial in trials if not trial.metered]
    largest = max(unmetered, key=lambda trial: trial.entries)  # in a small one, a cached array may be right by chance
    if (exact := exact_trial(declaration, exact_setting(specs, len(trials), rng, allowed), rng)) is not None:
        trials.append(exact)
    trials.append(make_trial(declaration, replace(largest.setting, kind=SAME_SIZES_KIND), rng))
    return _with_axes_of_output(declaration, trials)


def _with_axes_of_output(declaration: Declaration, trials: list[Trial]) -> list[Trial]:
    """Return the trials with names for the axes of the output where the exercise declares none.

    An axis is named after an input axis that has its size in every trial. Other exercises keep their trials.
    """
    markers = declaration.inputs.items() if isinstance(declaration, Exercise) else ()
    name = next(
        (name for name, each in markers if isinstance(each, Marker) and each.role == "output" and not each.spec), ""
    )
    if not name:
        return trials
    named = []
    for trial in trials:
        output = trial.arguments[name]
        alike = [other for other in trials if other.arguments[name].values.ndim == output.values.ndim]
        shapes = [output.values.shape, *(other.arguments[name].values.shape for other in alike)]
        axes = axes_in_all(shapes, [trial.setting.sizes, *(other.setting.sizes for other in alike)])
        named.append(replace(trial, arguments={**trial.arguments, name: replace(output, axes=axes)}))
    return named


def first_trial(exercise: Exercise, rng: np.random.Generator) -> Trial:
    """Draw a trial of the sizes that the first trial of `make_trials` has for the same random numbers.

    Rounding may spoil a right answer in it: `make_trials` draws such a trial again, this function does not.
    """
    return exercise_trial(exercise, _series(exercise, rng)[0], rng)


def _series(declaration: Declaration, rng: np.random.Generator) -> list[Setting]:
    """Draw the settings of the ordinary trials, such as those of different sizes, a batch of one and a square case.

    Those of the special trials that `make_trials` adds, such as one with exact zeros, are not among them.
    """
    least = max((sampler.least_trials for sampler in declaration.samplers.values()), default=0)
    return settings(specs_of(declaration), rng, least, sizes_of(declaration))


def _test_trials(routine: Routine, rng: np.random.Generator) -> list[Trial]:
    """Return the trials of a `Routine` in which the learner writes a test: one for each backward pass to be tested.

    The author's last backward pass comes first, and the others follow in random order. The last one is always wrong, so
    a test that takes its first call for right, and compares the others with it, fails.
    """
    (sampler,) = routine.samplers.values()
    turns = [sampler.turns - 1, *map(int, rng.permutation(sampler.turns - 1))]
    return [make_trial(routine, Setting(turn, "its turn", {}), rng) for turn in turns]


def make_trial(declaration: Declaration, setting: Setting, rng: np.random.Generator, *, metered: bool = False) -> Trial:
    """Draw one trial; it is drawn again a few times if rounding alone could spoil a right answer.

    A metered trial and one of a routine are drawn once.

    Args:
        declaration: the exercise.
        setting: the sizes; a setting of the kind `EXACT_KIND` gives a trial with exact zeros and ties, if that exists.
        rng: the random numbers.
        metered: whether the worker measures the work and the peak memory of the call.
    """
    if isinstance(declaration, Routine):
        return _routine_trial(declaration, setting, rng)
    if setting.kind == EXACT_KIND and (exact := exact_trial(declaration, setting, rng)) is not None:
        return exact
    for _ in range(REDRAWS):
        trial = exercise_trial(declaration, setting, rng, metered=metered)
        if metered or right_in_single_precision(declaration, trial):
            break
    return trial


def watched_trial(declaration: Declaration, rng: np.random.Generator) -> Trial | None:
    """Draw a trial whose sizes and numbers no other trial has, so that no array cached by the learner's code fits.

    Returns:
        The trial with its setting and the learner's arguments alone: no gradients are compared in it, so that it keeps
        no inputs of the forward pass, output or upstream gradient. `None` for a `Routine`, whose answer is no gradient
        and may be a difference quotient.
    """
    if isinstance(declaration, Routine):
        return None
    sizes = watched_sizes(specs_of(declaration), rng, sizes_of(declaration))
    return replace(exercise_trial(declaration, sizes, rng), inputs={}, out=None, out_g=None)


def tight_memory_trial(declaration: Declaration, first: Trial, rng: np.random.Generator) -> Trial | None:
    """Draw a trial with so little memory that the array which must never be held does not fit.

    So the kernel detects whether it was held, and not a meter in the learner's process.

    Args:
        declaration: the exercise.
        first: the first ordinary trial.
        rng: the random numbers.

    Returns:
        The trial; `None` where there is no such array, where it is an argument, or where the forward pass holds as much
        memory.
    """
    axes = axes_of(declaration.never_holds)
    if not isinstance(declaration, Exercise) or not axes or declaration.held_by_forward:
        return None
    side = math.ceil((OVERSIZE * (FREE_MEMORY << 20) / SINGLE_BYTES) ** (1 / len(axes)))
    sizes = {**dict.fromkeys(first.setting.sizes, 1), **dict.fromkeys(axes, side)}
    if sum(math.prod(sizes.get(axis, 1) for axis in first.axes(name) or ()) for name in first.arguments) > MOST_SENT:
        return None
    trial = exercise_trial(declaration, Setting(0, "an input without room", sizes), rng)
    return replace(trial, inputs={}, out=None, out_g=None)


def _may_be_right_by_chance(trials: Sequence[Trial]) -> bool:
    """Return whether a wrong rule may be right by chance in a batch of one: an answer has few nonzero entries there."""
    of_one = (trial for trial in trials if trial.setting.kind == ONE_KIND)
    return any(
        array is not None and np.count_nonzero(array) <= FEW for trial in of_one for array in trial.expected.values()
    )


# Variations of a trial


def _has_answer_like_upstream(exercise: Exercise, trial: Trial) -> bool:
    """Return whether an answer has the shape of the upstream gradient, so that a rule may use it entry by entry.

    `False` where the learner is given no upstream gradient.
    """
    assert trial.out_g is not None
    shape = tuple(trial.out_g.shape)
    return exercise.gives_upstream and any(
        array is not None and array.shape == shape for array in trial.expected.values()
    )


def _with_other_upstream(exercise: Exercise, trial: Trial, index: int, rng: np.random.Generator) -> Trial:
    """Return the trial with the same inputs and another upstream gradient, drawn at random.

    Args:
        exercise: the exercise.
        trial: the trial.
        index: the number of the new trial in its series.
        rng: the random numbers.
    """
    assert trial.out is not None
    upstream = _upstream(exercise, trial.setting, tuple(trial.out.shape), rng)
    return with_upstream(exercise, trial, upstream, replace(trial.setting, index=index, kind=OTHER_UPSTREAM_KIND))


def with_upstream(exercise: Exercise, trial: Trial, upstream: np.ndarray, setting: Setting) -> Trial:
    """Return the trial with the same inputs, another upstream gradient, and the right answers for it.

    Args:
        exercise: the exercise.
        trial: the trial.
        upstream: the upstream gradient, shaped like the output, float32.
        setting: the setting of the new trial: the same sizes, under another index and kind.
    """
    assert trial.out is not None
    arguments = dict(trial.arguments)
    for name, argument in exercise.inputs.items():
        if isinstance(argument, Marker) and argument.role != "step":
            given = trial.arguments[name]
            arguments[name] = (
                replace(given, g=upstream) if argument.role == "output" else replace(given, values=upstream)
            )
    out_g = torch.from_numpy(upstream.astype("float64"))
    expected = right_answers(exercise, arguments, trial.inputs, out_g, trial.out)
    return replace(trial, setting=setting, arguments=arguments, expected=expected, out_g=out_g, memo={})


def _without_gradient(trial: Trial, argument: str, chosen: tuple[str, ...], left_out: str) -> Trial:
    """Return a trial that requests every gradient but one, at the same sizes so that the work can be compared.

    Args:
        trial: the trial that requests all of them.
        argument: the name of the argument that requests gradients.
        chosen: the names whose gradients can be requested.
        left_out: the name whose gradient is not requested.
    """
    arguments = {**trial.arguments, argument: frozenset(chosen) - {left_out}}
    return replace(trial, arguments=arguments, expected={**trial.expected, f"{left_out}.g": None}, memo={})


def exact_trial(declaration: Declaration, setting: Setting, rng: np.random.Generator) -> Trial | None:
    """Draw a trial with exact zeros, ties and repeated entries, in as many arrays as the right answer allows.

    The right answer must be finite there. For a `Routine`, which is not differentiated, it must also be unchanged when
    the inputs are moved slightly; for an exercise it may be one of several conventions at a kink. A trial where an
    answer is 0 everywhere, which says nothing about that answer, is only taken if several draws give no other.

    Args:
        declaration: the exercise or routine.
        setting: the sizes.
        rng: the random numbers.

    Returns:
        The trial; `None` where no array can have such entries, or a routine accepts several answers as right.
    """
    levels_by_name = {name: sampler.exact_in(setting) for name, sampler in declaration.samplers.items()}
    levels_by_name = {name: levels for name, levels in levels_by_name.items() if levels}
    has_upstream = isinstance(declaration, Exercise) and declaration.gives_upstream
    if not (levels_by_name or has_upstream) or (isinstance(declaration, Routine) and declaration.accepts is not None):
        return None
    silent: Trial | None = None
    for _ in range(EXACT_DRAWS):
        drawn = draw(declaration.samplers, rng, setting)
        result = _trial_with_exact(declaration, setting, levels_by_name, drawn, rng)
        if result is None:
            chosen: dict[str, tuple[float, ...]] = dict.fromkeys(levels_by_name, ())
            result = _trial_with_exact(declaration, setting, chosen, drawn, rng)
            for name, levels in levels_by_name.items():
                trial = _trial_with_exact(declaration, setting, {**chosen, name: levels}, drawn, rng)
                if trial is not None:
                    chosen[name], result = levels, trial
        if result is not None and (isinstance(declaration, Routine) or right_in_single_precision(declaration, result)):
            if all(array is None or array.any() for array in result.expected.values()):
                return result
            silent = silent or result
    return silent


def _trial_with_exact(
    declaration: Declaration,
    setting: Setting,
    levels_by_name: Mapping[str, tuple[float, ...]],
    drawn: Mapping[str, Any],
    rng: np.random.Generator,
) -> Trial | None:
    """Return a trial with exact entries in some arrays; `None` where its right answer is not defined.

    Args:
        declaration: the exercise.
        setting: the sizes.
        levels_by_name: by name of an array, the exact values that its entries may get besides zeros and ties.
        drawn: all sampled arguments by name; arrays as `Array`.
        rng: the random numbers.
    """
    exact = with_exact_entries(drawn, levels_by_name, rng)
    try:
        if isinstance(declaration, Exercise):
            trial = _trial_from(declaration, setting, exact, rng)
            arrays = trial.expected.values()
            return trial if all(array is None or np.isfinite(array).all() for array in arrays) else None
        trial = _trial_of_routine(declaration, setting, exact)
        moved = {name: _move_slightly(value, rng) if name in levels_by_name else value for name, value in exact.items()}
        beside = _trial_of_routine(declaration, setting, moved).expected
        errors = [scaled_error(array, beside[name]) for name, array in trial.expected.items()]  # type: ignore[arg-type]
        return trial if max(errors) <= AGREEMENT else None
    except SpecError:
        return None


def _move_slightly(value: Array, rng: np.random.Generator) -> Array:
    """Return an array with every entry moved up or down by a tiny step."""
    return replace(value, values=value.values + TINY_STEP * rng.choice([-1.0, 1.0], value.values.shape))


# Confirmation by finite differences


def confirm(declaration: Declaration, trial: Trial, rng: np.random.Generator) -> None:
    """Check that a trial's right answers agree with finite differences of the forward pass.

    A `Routine`, which has no forward pass, is not checked.

    Raises:
        SpecError: they disagree in this trial and in others like it.
    """
    if isinstance(declaration, Routine):
        return
    if holds_in_a_similar_trial(
        declaration, trial, rng, lambda similar: agrees_with_finite_differences(declaration, similar)
    ):
        return
    measured = (finite_difference_answer(declaration, answer, trial) for answer in derivative_answers(declaration))
    if not all(np.isfinite(array).all() for array in measured):
        raise SpecError("forward is nan or infinite somewhere: draw its inputs from where it is defined")
    raise SpecError("autograd and finite differences of forward disagree")


def holds_in_a_similar_trial(
    exercise: Exercise, trial: Trial, rng: np.random.Generator, claim: Callable[[Trial], bool]
) -> bool:
    """Return whether a claim holds in a trial, or in one of a few others of its setting, as an input may lie on a kink.

    Args:
        exercise: the exercise.
        trial: the trial.
        rng: the random numbers.
        claim: takes a trial; returns whether the claim holds in it.
    """
    redrawn = (make_trial(exercise, trial.setting, rng) for _ in range(REDRAWS))
    return any(map(claim, itertools.chain([trial], redrawn)))


# One trial of an exercise, which has a forward pass


def exercise_trial(exercise: Exercise, setting: Setting, rng: np.random.Generator, *, metered: bool = False) -> Trial:
    """Draw one trial of an exercise, which is not yet confirmed by finite differences.

    Args:
        exercise: the exercise.
        setting: the sizes.
        rng: the random numbers that its inputs and its upstream gradient are drawn from.
        metered: whether the worker measures the work and the peak memory of the call.

    Raises:
        SpecError: the forward pass raises, returns no tensor, or has no gradient.
    """
    return _trial_from(exercise, setting, draw(exercise.samplers, rng, setting), rng, metered=metered)


def _trial_from(
    exercise: Exercise, setting: Setting, sampled: Mapping[str, Any], rng: np.random.Generator, *, metered: bool = False
) -> Trial:
    """Return the trial with the given sampled arguments.

    Args:
        exercise: the exercise.
        setting: the sizes.
        sampled: the arguments that have a sampler, by name; arrays as `Array`.
        rng: the random numbers that the upstream gradient is drawn from.
        metered: whether the worker measures the work and the peak memory of the call.
    """
    inputs = {name: _as_double(sampled[name]) for name in exercise.forward_names}
    out = _run_forward(exercise, inputs)
    if isinstance(exercise.forward, InSteps):
        steps = exercise.forward.values(**inputs)
        inputs |= {name: steps[name] for name in exercise.step_names}
    upstream = _upstream(exercise, setting, tuple(out.shape), rng)
    out_g = torch.from_numpy(upstream.astype("float64"))
    axes = _output_axes(exercise, tuple(out.shape), setting)
    marked = {
        "output": Array(out.numpy().astype("float32"), axes, upstream),
        "upstream": Array(upstream, axes),
    }
    arguments = {}
    for name in exercise.argument_names:
        argument = exercise.inputs[name]
        if isinstance(argument, Marker) and argument.role == "step":
            arguments[name] = Array(inputs[name].numpy().astype("float32"), axes_of(argument.spec))
        else:
            arguments[name] = marked[argument.role] if isinstance(argument, Marker) else sampled[name]
    expected = right_answers(exercise, arguments, inputs, out_g, out)
    return Trial(setting, arguments, expected, inputs, out, out_g, metered)


def trial_of_entries(exercise: Exercise, trial: Trial, mask: np.ndarray) -> Trial | None:
    """Return a trial of some entries alone, where the forward pass treats each entry by itself; else `None`.

    Args:
        exercise: the exercise.
        trial: the trial.
        mask: which entries to keep, shaped like the output.

    Returns:
        The trial, in which every array has the shape (entries,); `None` too where an array has another shape than the
        output, or no entry is kept.
    """
    arrays = {name: value for name, value in trial.inputs.items() if isinstance(value, torch.Tensor)}
    if trial.out is None or trial.out_g is None or isinstance(exercise.forward, InSteps) or not mask.any():
        return None
    shapes = [array.shape for array in (trial.out, *arrays.values())]
    if any(shape != mask.shape for shape in (*shapes, *(e.shape for e in trial.expected.values() if e is not None))):
        return None
    inputs = {**trial.inputs, **{name: array[mask] for name, array in arrays.items()}}
    try:
        is_same = torch.equal(_run_forward(exercise, inputs), trial.out[mask])
    except SpecError:
        is_same = False
    if not is_same:
        return None
    kept = {
        name: Array(value.values[mask], ("_0",), None if value.g is None else value.g[mask])
        for name, value in trial.arguments.items()
        if isinstance(value, Array)
    }
    expected = {name: None if array is None else array[mask] for name, array in trial.expected.items()}
    setting = replace(trial.setting, sizes={"_0": int(mask.sum())}, rank=1)
    return Trial(setting, {**trial.arguments, **kept}, expected, inputs, trial.out[mask], trial.out_g[mask])


def _run_forward(exercise: Exercise, inputs: Mapping[str, Any]) -> torch.Tensor:
    """Return the output of the forward pass for some inputs.

    Raises:
        SpecError: the forward pass raises, or returns no tensor.
    """
    try:
        out = exercise.forward(**inputs)
    except Exception as error:
        raise SpecError(f"forward fails on sampled inputs{_shapes(inputs)}: {type(error).__name__}: {error}") from error
    if not isinstance(out, torch.Tensor):
        raise SpecError(f"forward returns {type(out).__name__}, not a tensor")
    return out


def _shapes(inputs: Mapping[str, Any]) -> str:
    """Return the shapes of the arrays among some inputs, for a message: ` (x of shape (3, 4), w of shape (4,))`.

    It begins with a space; it is empty if none of the inputs is an array.
    """
    arrays = {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}
    shapes = ", ".join(f"{name} of shape {tuple(value.shape)}" for name, value in arrays.items())
    return shapes and f" ({shapes})"


def _output_axes(exercise: Exercise, shape: tuple[int, ...], setting: Setting) -> Axes:
    """Return the axes of the output: those declared with `output("bs m")`, else named by their sizes in the trial.

    An axis whose size belongs to no axis of the trial, or to more than one, is called `_0`, `_1`, ..., by its place.

    Args:
        exercise: the exercise.
        shape: the shape of the output in the trial.
        setting: the setting of the trial, which has the size of each named axis.
    """
    markers = (given for given in exercise.inputs.values() if isinstance(given, Marker))
    declared = next((marker.spec for marker in markers if marker.role == "output"), "")
    return axes_of(declared) or guess_axes(shape, setting.sizes)


def _upstream(exercise: Exercise, setting: Setting, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw an upstream gradient from a normal distribution; all ones if the learner is given none.

    Args:
        exercise: the exercise.
        setting: the setting; one of the kind `LARGE_UPSTREAM_KIND` gives far larger entries, which show whether a
            backward pass is linear in them, and one of the kind `EXACT_KIND` gives zeros and repeated entries as well.
        shape: the shape of the output.
        rng: the random numbers.

    Returns:
        Shape: `shape`; float32.
    """
    if not exercise.gives_upstream:
        return np.ones(shape, "float32")
    scale = LARGE_UPSTREAM if setting.kind == LARGE_UPSTREAM_KIND else 1.0
    drawn = np.asarray(scale * rng.standard_normal(shape), "float32")
    if setting.kind == EXACT_KIND:  # a row of zeros would hide what becomes of that row
        return exact_entries(drawn, HALVES, rng, zero_lines=False)
    return drawn


def _as_double(value: Any) -> Any:
    """Return an `Array` as a tensor, a floating-point one in float64; any other value unchanged."""
    if not isinstance(value, Array):
        return value
    floating = value.values.dtype.kind == "f"
    return torch.from_numpy(value.values.astype("float64") if floating else value.values.copy())


# One trial of a routine, which has a reference


def _routine_trial(routine: Routine, setting: Setting, rng: np.random.Generator) -> Trial:
    """Draw one trial of a routine, whose answers are those of a reference implementation and not of autograd.

    Raises:
        SpecError: the reference raises.
    """
    return _trial_of_routine(
        routine, setting, {name: sampler.sample(rng, setting) for name, sampler in routine.samplers.items()}
    )


def _trial_of_routine(routine: Routine, setting: Setting, arguments: Mapping[str, Any]) -> Trial:
    """Return the trial of a routine with given arguments, and with the answers of its reference implementation.

    Args:
        routine: the routine.
        setting: the sizes.
        arguments: the arguments of the learner's function, by name; arrays as `Array`.

    Raises:
        SpecError: the reference raises.
    """
    inputs = group_arguments({name: _as_python(value) for name, value in arguments.items()})
    try:
        right = routine.reference(**inputs)
    except Exception as error:
        raise SpecError(f"the reference fails on sampled inputs: {type(error).__name__}: {error}") from error
    parts = (right,) if routine.returns == 1 else right
    answers = zip(routine.answers, parts, strict=True)
    return Trial(
        setting, arguments, {answer.name: np.asarray(part, dtype="float64") for answer, part in answers}, inputs
    )


def _as_python(value: Any) -> Any:
    """Return an argument of a routine as its reference takes it: a tensor, a function, a torch dtype, or unchanged."""
    if isinstance(value, Function):
        return function_of(value.source)
    if isinstance(value, Dtype):
        return getattr(torch, value.name)
    return _as_double(value)
