"""References: for each trial the right answers, by torch autograd in float64, which finite differences confirm."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from grader.child.call_arguments import function_of, grouped
from grader.course.exercise import (
    Answer,
    Declaration,
    Exercise,
    InSteps,
    Routine,
    is_differentiable,
    sizes_of,
    specs_of,
)
from grader.course.sampling import HALVES, Array, Dtype, Function, Marker, draw, exact_entries, with_exact_entries
from grader.course.shapes import Axes, axes_of, guess_axes
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

from . import finite_differences
from .compare import scaled_error
from .held_constants import detached, with_held
from .trial import Trial, requested_gradients

AGREEMENT = 1e-6
REDRAWS = 5
LARGE_UPSTREAM = 50.0
FEW, ROUNDING = 6, 5e-7
ROUNDED, TIMES = 3, 10
NEAR = 1e-12
EXACT_DRAWS = 3


def make_trials(declaration: Declaration, rng: np.random.Generator) -> list[Trial]:
    """Draw the trials of one graded run: sizes, inputs and upstream gradients.

    Raises:
        SpecError: the forward pass cannot be run or differentiated.
    """
    if isinstance(declaration, Routine) and declaration.is_test:
        return _test_trials(declaration, rng)
    specs, allowed = specs_of(declaration), sizes_of(declaration)
    trials = [make_trial(declaration, setting, rng) for setting in _series(declaration, rng)]
    trials += [_without_gradient(trials[0], name, sampler.chosen, left_out)
               for name, sampler in declaration.samplers.items() for left_out in sampler.chosen]  # fmt: skip
    if (another := second_batch_of_one([trial.setting for trial in trials], rng, allowed)) and _right_by_chance(trials):
        trials.append(make_trial(declaration, another, rng))
    if declaration.never_holds:
        large = large_setting(specs, len(trials), declaration.never_holds)
        trials.append(make_trial(declaration, large, rng, metered=True))
    if isinstance(declaration, Exercise) and _like_its_upstream(declaration, trials[0]):
        trials.append(_with_other_upstream(declaration, trials[0], len(trials), rng))
    usual = [trial for trial in trials if not trial.metered]
    largest = max(usual, key=lambda trial: trial.entries)  # in a small one, what is kept may be right by chance
    if (exact := exact_trial(declaration, exact_setting(specs, len(trials), rng, allowed), rng)) is not None:
        trials.append(exact)
    return [*trials, make_trial(declaration, replace(largest.setting, kind=SAME_SIZES_KIND), rng)]


def _test_trials(routine: Routine, rng: np.random.Generator) -> list[Trial]:
    """What a learner's test is called with: the author's last, which is wrong in any case, and the others in any order.

    So a test that takes the first one that it meets for a pattern of all others has taken a wrong one.
    """
    (sampler,) = routine.samplers.values()
    turns = [sampler.turns - 1, *map(int, rng.permutation(sampler.turns - 1))]
    return [make_trial(routine, Setting(turn, "its turn", {}), rng) for turn in turns]


def first_trial(exercise: Exercise, rng: np.random.Generator) -> Trial:
    """A trial of the sizes that the first one of `make_trials` has, made quickly: its numbers are not confirmed."""
    return exercise_trial(exercise, _series(exercise, rng)[0], rng)


def _series(declaration: Declaration, rng: np.random.Generator) -> list[Setting]:
    least = max((sampler.least_trials for sampler in declaration.samplers.values()), default=0)
    return settings(specs_of(declaration), rng, least, sizes_of(declaration))


def random_numbers(seed: int, exercise: str, *stream: int) -> np.random.Generator:
    """What the trials of one exercise are drawn from in the run of a seed."""
    return np.random.default_rng([seed, zlib.crc32(exercise.encode()), *stream])


def watched_trial(declaration: Declaration, rng: np.random.Generator) -> Trial | None:
    """A trial with sizes and numbers of its own, in which nothing that was kept from another one can be used.

    None for a routine: it may be one that measures.
    """
    if isinstance(declaration, Routine):
        return None
    sizes = watched_sizes(specs_of(declaration), rng, sizes_of(declaration))
    return replace(exercise_trial(declaration, sizes, rng), inputs={}, out=None, out_g=None)


def _right_by_chance(trials: Sequence[Trial]) -> bool:
    """In the batch of one some answer has so few numbers that a wrong rule may hit them."""
    of_one = (trial for trial in trials if trial.setting.kind == ONE_KIND)
    return any(
        array is not None and np.count_nonzero(array) <= FEW for trial in of_one for array in trial.expected.values()
    )


def _like_its_upstream(exercise: Exercise, trial: Trial) -> bool:
    """The upstream gradient is given, and some answer has its shape: it may be used entry by entry."""
    assert trial.out_g is not None
    shape = tuple(trial.out_g.shape)
    return exercise.gives_upstream and any(
        array is not None and array.shape == shape for array in trial.expected.values()
    )


def _with_other_upstream(exercise: Exercise, trial: Trial, index: int, rng: np.random.Generator) -> Trial:
    """The same inputs with another upstream gradient: what an answer makes of it can be seen entry by entry."""
    assert trial.out is not None
    upstream = _upstream(exercise, trial.setting, tuple(trial.out.shape), rng)
    return with_upstream(exercise, trial, upstream, replace(trial.setting, index=index, kind=OTHER_UPSTREAM_KIND))


def with_upstream(exercise: Exercise, trial: Trial, upstream: np.ndarray, setting: Setting) -> Trial:
    """The same inputs with this upstream gradient, shaped like the output."""
    assert trial.out is not None
    arguments = dict(trial.arguments)
    for name, argument in exercise.inputs.items():
        if isinstance(argument, Marker) and argument.role != "step":
            given = trial.arguments[name]
            arguments[name] = (
                replace(given, g=upstream) if argument.role == "output" else replace(given, values=upstream)
            )
    out_g = torch.from_numpy(upstream.astype("float64"))
    expected = {
        answer.name: right_answer(exercise, answer, arguments, trial.inputs, out_g, trial.out)
        for answer in exercise.answers
    }
    return replace(trial, setting=setting, arguments=arguments, expected=expected, out_g=out_g, memo={})


def _without_gradient(trial: Trial, argument: str, chosen: tuple[str, ...], left_out: str) -> Trial:
    """The same trial, asking for every gradient but one: the same sizes, so that the work can be compared."""
    arguments = {**trial.arguments, argument: frozenset(chosen) - {left_out}}
    return replace(trial, arguments=arguments, expected={**trial.expected, f"{left_out}.g": None}, memo={})


def make_trial(declaration: Declaration, setting: Setting, rng: np.random.Generator, *, metered: bool = False) -> Trial:
    """Draw one trial; it is drawn again a few times if rounding alone could spoil a right answer."""
    if isinstance(declaration, Routine):
        return _routine_trial(declaration, setting, rng)
    if setting.kind == EXACT_KIND and (exact := exact_trial(declaration, setting, rng)) is not None:
        return exact
    for _ in range(REDRAWS):
        trial = exercise_trial(declaration, setting, rng, metered=metered)
        if metered or right_in_single_precision(declaration, trial):
            break
    return trial


def exact_trial(declaration: Declaration, setting: Setting, rng: np.random.Generator) -> Trial | None:
    """Return a trial with exact zeros, ties and repeated entries, in as many arrays as the right answer allows.

    The right answer must be finite there. For a routine, it must also be unchanged when the inputs are moved slightly;
    for an exercise it may be one of several conventions at a kink.

    Returns:
        The trial; `None` where no array can have such entries.
    """
    named = {name: sampler.exact_in(setting) for name, sampler in declaration.samplers.items()}
    numbers = {name: exact for name, exact in named.items() if exact}
    has_upstream = isinstance(declaration, Exercise) and declaration.gives_upstream
    if not (numbers or has_upstream) or (isinstance(declaration, Routine) and declaration.accepts is not None):
        return None
    for _ in range(EXACT_DRAWS):
        drawn = draw(declaration.samplers, rng, setting)
        result = _trial_with_exact(declaration, setting, numbers, drawn, rng)
        if result is None:
            chosen: dict[str, tuple[float, ...]] = dict.fromkeys(numbers, ())
            result = _trial_with_exact(declaration, setting, chosen, drawn, rng)
            for name, exact in numbers.items():
                if (trial := _trial_with_exact(declaration, setting, {**chosen, name: exact}, drawn, rng)) is not None:
                    chosen[name], result = exact, trial
        if result is not None and (isinstance(declaration, Routine) or right_in_single_precision(declaration, result)):
            return result
    return None


def _trial_with_exact(
    declaration: Declaration,
    setting: Setting,
    numbers: Mapping[str, tuple[float, ...]],
    drawn: Mapping[str, Any],
    rng: np.random.Generator,
) -> Trial | None:
    """Return a trial with exact entries in some arrays; `None` where its right answer is not defined.

    Args:
        numbers: by array, the exact values that its entries may get besides zeros and ties.
        drawn: all sampled arguments by name.
    """
    exact = with_exact_entries(drawn, numbers, rng)
    try:
        if isinstance(declaration, Routine):
            trial = _trial_of_routine(declaration, setting, exact)
            moved = {name: _slightly_moved(value, rng) if name in numbers else value for name, value in exact.items()}
            beside = _trial_of_routine(declaration, setting, moved).expected
            is_unchanged = all(scaled_error(array, beside[name]) <= AGREEMENT for name, array in trial.expected.items())  # type: ignore[arg-type]
            return trial if is_unchanged else None
        trial = _trial_from(declaration, setting, exact, rng)
        return trial if all(array is None or np.isfinite(array).all() for array in trial.expected.values()) else None
    except SpecError:
        return None


def _slightly_moved(value: Array, rng: np.random.Generator) -> Array:
    """Return an array with every entry moved up or down by a tiny step."""
    return replace(value, values=value.values + NEAR * rng.choice([-1.0, 1.0], value.values.shape))


def holds_in_one_like(
    exercise: Exercise, trial: Trial, rng: np.random.Generator, claim: Callable[[Trial], bool]
) -> bool:
    """Something holds in a trial, or in one of a few that are drawn like it, for an input may lie on a kink."""
    redrawn = (make_trial(exercise, trial.setting, rng) for _ in range(REDRAWS))
    return any(map(claim, itertools.chain([trial], redrawn)))


def confirm(declaration: Declaration, trial: Trial, rng: np.random.Generator) -> None:
    """Check that a trial's right answers agree with finite differences of the forward pass; a routine has none.

    Raises:
        SpecError: they disagree in this trial and in others like it.
    """
    if isinstance(declaration, Routine):
        return
    if holds_in_one_like(declaration, trial, rng, lambda drawn: agrees_with_finite_differences(declaration, drawn)):
        return
    measured = (finite_difference_answer(declaration, answer, trial) for answer in derivative_answers(declaration))
    if not all(np.isfinite(array).all() for array in measured):
        raise SpecError("forward is nan or infinite somewhere: draw its inputs from where it is defined")
    raise SpecError("autograd and finite differences of forward disagree")


def agrees_with_finite_differences(exercise: Exercise, trial: Trial) -> bool:
    """Return whether finite differences of `forward` agree with the autograd gradient of every answer."""
    for answer in derivative_answers(exercise):
        exact = autograd_answer(exercise, answer, trial.inputs, trial.out_g)
        if scaled_error(finite_difference_answer(exercise, answer, trial), exact) > AGREEMENT:
            return False
    return True


def derivative_answers(exercise: Exercise) -> list[Answer]:
    """Return the answers that are gradients or Jacobians, leaving out the loss."""
    return [answer for answer in exercise.answers if answer.kind != "value"]


def right_in_single_precision(exercise: Exercise, trial: Trial) -> bool:
    """Return whether torch itself computes the same gradients in single precision, in which the learner works.

    A gradient that is a small difference of large numbers is mostly rounding. With more than a few entries, the largest
    is not, so only small gradients are checked.
    """
    rights = [(answer, trial.expected[answer.name]) for answer in exercise.answers if answer.kind == "gradient"]
    small = [(answer, right) for answer, right in rights if right is not None and right.size <= FEW]
    if not small:
        return True
    inputs, out_g = {name: _single(value) for name, value in trial.inputs.items()}, _single(trial.out_g)
    return all(
        scaled_error(
            autograd_answer(exercise, answer, inputs, out_g) + carried_gradient(answer, trial.arguments), right
        )
        <= ROUNDING
        for answer, right in small
    )


def rounding(exercise: Exercise, answer: Answer, trial: Trial) -> float:
    """Return how far a right gradient in single precision may be from the reference, as a scaled error.

    It is several times the error of torch's own: a variance of two nearly equal numbers, say, loses so many digits that
    no right answer has them.
    """

    def worst() -> float:
        """Return the bound by the largest error of torch's own gradient at inputs that differ in their last digits."""
        right, rng = trial.expected[answer.name], torch.Generator().manual_seed(0)
        assert right is not None
        errors = []
        for _ in range(ROUNDED):
            inputs = {name: _nudged(value, rng) for name, value in trial.inputs.items()}
            gradient = autograd_answer(exercise, answer, inputs, _single(trial.out_g))
            errors.append(scaled_error(gradient + carried_gradient(answer, trial.arguments), right))
        return TIMES * max(errors)

    return float(trial.remember(("rounding", answer.name), worst))


def _nudged(value: Any, rng: torch.Generator) -> Any:
    """In single precision, the last digit of every entry another one."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    last = torch.finfo(torch.float32).eps * (torch.rand(value.shape, generator=rng, dtype=value.dtype) - 0.5)
    return (value * (1 + last)).float()


def _single(value: Any) -> Any:
    """A floating-point tensor in single precision; anything else as it is."""
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def carried_gradient(answer: Answer, arguments: Mapping[str, Any]) -> np.ndarray:
    """Return the `.g` that an answer's argument already carries and the answer is added to; a zero if it has none."""
    prior = arguments[answer.wrt].g if answer.stored else None
    return np.zeros(()) if prior is None else prior


def loss_of(exercise: Exercise, trial: Trial, name: str, values: np.ndarray) -> float:
    """`(out * out_g).sum()` with the input `name` set to `values`: what `name.g` is the gradient of."""
    assert trial.out_g is not None
    return float((_forward_with(exercise, trial, name, values) * trial.out_g).sum())


def autograd_answer(
    exercise: Exercise, answer: Answer, inputs: Mapping[str, Any], out_g: torch.Tensor | None
) -> np.ndarray:
    """The answer by torch autograd; shape: that of `answer.wrt`, or `(*out.shape, *wrt.shape)`."""
    leaf = inputs[answer.wrt].detach().requires_grad_()
    out = exercise.run({**inputs, answer.wrt: leaf}, answer.wrt)
    if answer.kind == "gradient":
        return _gradient(out, leaf, out_g)
    rows = [_gradient(out, leaf, basis.reshape(out.shape)) for basis in torch.eye(out.numel(), dtype=out.dtype)]
    return np.stack(rows).reshape(*out.shape, *leaf.shape)


def _gradient(out: torch.Tensor, leaf: torch.Tensor, out_g: torch.Tensor | None) -> np.ndarray:
    if not out.is_floating_point():
        raise SpecError(f"forward returns a tensor of {out.dtype}, which has no gradient")
    if not out.requires_grad:
        return np.zeros(leaf.shape)
    scalar = out.sum() if out_g is None else (out * out_g).sum()  # torch imports sympy for an upstream gradient
    (gradient,) = torch.autograd.grad(scalar, leaf, retain_graph=True, allow_unused=True)
    return np.zeros(leaf.shape) if gradient is None else gradient.numpy()


def finite_difference_answer(exercise: Exercise, answer: Answer, trial: Trial) -> np.ndarray:
    """The answer by finite differences of `forward`; shape: that of `autograd`."""
    values = trial.inputs[answer.wrt].numpy()
    if answer.kind == "gradient":
        return finite_differences.gradient(lambda v: loss_of(exercise, trial, answer.wrt, v), values)
    assert trial.out is not None
    shape = tuple(trial.out.shape)

    def entry(index: tuple[int, ...], values: np.ndarray) -> float:
        return float(_forward_with(exercise, trial, answer.wrt, values)[index])

    rows = [finite_differences.gradient(partial(entry, index), values) for index in np.ndindex(shape)]
    return np.stack(rows).reshape(*shape, *values.shape)


def _forward_with(exercise: Exercise, trial: Trial, name: str, values: np.ndarray) -> torch.Tensor:
    return _forward_held(exercise, trial, {name: torch.from_numpy(values)}, name)


def _forward_held(exercise: Exercise, trial: Trial, changed: Mapping[str, torch.Tensor], wrt: str = "") -> torch.Tensor:
    """The output with some inputs changed, and with what the forward pass detaches as it was."""
    held = trial.remember(("held", wrt), lambda: detached(lambda: exercise.run(trial.inputs, wrt)))
    return with_held(lambda: exercise.run({**trial.inputs, **changed}, wrt), held)


def exercise_trial(exercise: Exercise, setting: Setting, rng: np.random.Generator, *, metered: bool = False) -> Trial:
    """Draw one trial of an exercise, which is not yet confirmed by finite differences."""
    return _trial_from(exercise, setting, draw(exercise.samplers, rng, setting), rng, metered=metered)


def _trial_from(
    exercise: Exercise, setting: Setting, sampled: Mapping[str, Any], rng: np.random.Generator, *, metered: bool = False
) -> Trial:
    """Return the trial with these sampled arguments; its upstream gradient is drawn from `rng`."""
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
    expected = {
        answer.name: right_answer(exercise, answer, arguments, inputs, out_g, out) for answer in exercise.answers
    }
    return Trial(setting, arguments, expected, inputs, out, out_g, metered)


def _output_axes(exercise: Exercise, shape: tuple[int, ...], setting: Setting) -> Axes:
    """The axes of the output: as declared, or as its sizes tell them."""
    declared = next((given.spec for given in exercise.inputs.values() if isinstance(given, Marker)), "")
    return axes_of(declared) or guess_axes(shape, setting.sizes)


def _upstream(exercise: Exercise, setting: Setting, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw an upstream gradient from a normal distribution, in one kind of trial far larger; shape: `shape`, float32.

    A backward pass is linear in its upstream gradient, which the larger one tests. Without one it is all ones.
    """
    if not exercise.gives_upstream:
        return np.ones(shape, "float32")
    scale = LARGE_UPSTREAM if setting.kind == LARGE_UPSTREAM_KIND else 1.0
    drawn = np.asarray(scale * rng.standard_normal(shape), "float32")
    if setting.kind == EXACT_KIND:  # a row of zeros would hide what becomes of that row
        return exact_entries(drawn, HALVES, rng, zero_lines=False)
    return drawn


def _run_forward(exercise: Exercise, inputs: Mapping[str, Any]) -> torch.Tensor:
    try:
        out = exercise.forward(**inputs)
    except Exception as error:
        raise SpecError(f"forward fails on sampled inputs: {type(error).__name__}: {error}") from error
    if not isinstance(out, torch.Tensor):
        raise SpecError(f"forward returns {type(out).__name__}, not a tensor")
    return out


def right_answer(
    exercise: Exercise,
    answer: Answer,
    arguments: Mapping[str, Any],
    inputs: Mapping[str, Any],
    out_g: torch.Tensor,
    out: torch.Tensor,
) -> np.ndarray | None:
    """Return the right array of one answer, in the precision of `inputs`; `None` where nothing may be stored.

    Args:
        arguments: what the learner's function is called with, by name.
        inputs: the inputs of the forward pass, by name.
        out: the output of the forward pass, of the shape of `out_g`.
    """
    if answer.kind == "value":
        return out.numpy()
    asked = requested_gradients(arguments)
    if asked is not None and answer.wrt not in asked:
        return None
    gradient: np.ndarray = autograd_answer(exercise, answer, inputs, out_g) + carried_gradient(answer, arguments)
    return gradient


def _as_double(value: Any) -> Any:
    if not isinstance(value, Array):
        return value
    floating = value.values.dtype.kind == "f"
    return torch.from_numpy(value.values.astype("float64") if floating else value.values.copy())


def _routine_trial(routine: Routine, setting: Setting, rng: np.random.Generator) -> Trial:
    """Draw one trial of a routine."""
    return _trial_of_routine(
        routine, setting, {name: sampler.sample(rng, setting) for name, sampler in routine.samplers.items()}
    )


def _trial_of_routine(routine: Routine, setting: Setting, arguments: Mapping[str, Any]) -> Trial:
    """Return the trial of a routine with these arguments and the answers of its reference.

    Raises:
        SpecError: the reference raises.
    """
    inputs = grouped({name: as_python(value) for name, value in arguments.items()})
    try:
        right = routine.reference(**inputs)
    except Exception as error:
        raise SpecError(f"the reference fails on sampled inputs: {type(error).__name__}: {error}") from error
    parts = (right,) if routine.returns == 1 else right
    answers = zip(routine.answers, parts, strict=True)
    return Trial(
        setting, arguments, {answer.name: np.asarray(part, dtype="float64") for answer, part in answers}, inputs
    )


def as_python(value: Any) -> Any:
    """An argument of a routine as its reference takes it: tensors, callables, dtypes."""
    if isinstance(value, Function):
        return function_of(value.source)
    if isinstance(value, Dtype):
        return getattr(torch, value.name)
    return _as_double(value)


def gradcheck(exercise: Exercise, trial: Trial, *, fast: bool = False) -> bool:
    """`torch.autograd.gradcheck` accepts the forward pass at this trial's inputs, in its fast mode if that will do."""
    names = [n for n in exercise.forward_names if is_differentiable(exercise.inputs[n])]
    leaves = tuple(trial.inputs[name].detach().clone().requires_grad_() for name in names)

    def forward(*values: torch.Tensor) -> torch.Tensor:
        return _forward_held(exercise, trial, dict(zip(names, values, strict=True)))

    return bool(torch.autograd.gradcheck(forward, leaves, raise_exception=False, fast_mode=fast))
