"""Right answers: torch autograd in float64, and finite differences of the forward pass, which confirm them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from grader.course.exercise import Answer, Exercise, is_differentiable
from grader.errors import SpecError

from . import finite_differences
from .compare import scaled_error
from .trial import Trial, prior_gradient, requested_gradients

AGREEMENT = 1e-6  # the largest scaled error between autograd and finite differences
FEW = 6  # entries: of more, one is not mostly rounding
SINGLE_ERROR = 5e-7  # the largest scaled error of torch's own gradient in float32, in a trial that is kept
NEARLY_LINEAR = 1e-9  # the largest rounding error of a linear loss, in proportion
SAME_MOVE = 1e-2  # how far two moves of a loss may differ, in proportion, that are the same: they show three digits
ROUNDINGS = 3  # how often inputs are rounded at random to measure the error of torch's own gradient
ROUNDING_MARGIN = 10  # times torch's own error: another right formula rounds in other places


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use only the calling thread within the block: its pool is slower for tensors as small as a trial's."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def right_answers(
    exercise: Exercise,
    arguments: Mapping[str, Any],
    inputs: Mapping[str, Any],
    out_g: torch.Tensor,
    out: torch.Tensor,
) -> dict[str, np.ndarray | None]:
    """Return the right array of each answer by name, in the precision of `inputs`; `None` where nothing may be stored.

    Args:
        exercise: the exercise.
        arguments: the arguments of the learner's function, by name; arrays as `Array`.
        inputs: the inputs of the forward pass and its declared steps, by name; arrays as tensors.
        out_g: the upstream gradient.
        out: the output of the forward pass, of the shape of `out_g`.
    """
    requested = requested_gradients(arguments)
    stored = [answer for answer in derivative_answers(exercise) if requested is None or answer.wrt in requested]
    derivatives = autograd_answers(exercise, stored, inputs, out_g)
    right: dict[str, np.ndarray | None] = {
        answer.name: out.numpy() if answer.kind == "value" else None for answer in exercise.answers
    }
    return right | {answer.name: plus_prior(derivatives[answer.name], answer, arguments) for answer in stored}


def plus_prior(gradient: np.ndarray, answer: Answer, arguments: Mapping[str, Any]) -> np.ndarray:
    """Return a gradient plus the `.g` that the answer's argument had before the call, if it had one."""
    prior = prior_gradient(answer, arguments)
    return gradient if prior is None else gradient + prior


def autograd_answers(
    exercise: Exercise, answers: Sequence[Answer], inputs: Mapping[str, Any], out_g: torch.Tensor | None
) -> dict[str, np.ndarray]:
    """Return several answers by torch autograd, in the precision of `inputs`; gradients of inputs by one backward pass.

    Args:
        exercise: the exercise.
        answers: gradients and Jacobians.
        inputs: the inputs of the forward pass and its declared steps, by name; arrays as tensors.
        out_g: the upstream gradient, shaped like the output; `None` for 1 everywhere.

    Returns:
        By name of the answer, its array: a gradient shaped like its input, a Jacobian (*out.shape, *wrt.shape).

    Raises:
        SpecError: the output is not of a floating-point type.
    """
    together = [answer for answer in answers if answer.kind == "gradient" and answer.wrt not in exercise.step_names]
    alone = [answer for answer in answers if answer not in together]
    arrays = {answer.name: autograd_answer(exercise, answer, inputs, out_g) for answer in alone}
    if together:
        leaves = {answer.wrt: inputs[answer.wrt].detach().requires_grad_() for answer in together}
        gradients = _gradients(exercise.run({**inputs, **leaves}), tuple(leaves.values()), out_g)
        by_input = dict(zip(leaves, gradients, strict=True))
        arrays |= {answer.name: by_input[answer.wrt] for answer in together}
    return arrays


def autograd_answer(
    exercise: Exercise, answer: Answer, inputs: Mapping[str, Any], out_g: torch.Tensor | None
) -> np.ndarray:
    """Return an answer by torch autograd, in the precision of `inputs`.

    Args:
        exercise: the exercise.
        answer: a gradient or a Jacobian.
        inputs: the inputs of the forward pass and its declared steps, by name; arrays as tensors.
        out_g: the upstream gradient, shaped like the output; `None` for 1 everywhere.

    Returns:
        Shape: that of the input `answer.wrt`; of a Jacobian `(*out.shape, *wrt.shape)`.

    Raises:
        SpecError: the output is not of a floating-point type.
    """
    leaf = inputs[answer.wrt].detach().requires_grad_()
    out = exercise.run({**inputs, answer.wrt: leaf}, answer.wrt)
    if answer.kind == "gradient":
        return _gradients(out, [leaf], out_g)[0]
    rows = [_gradients(out, [leaf], basis.reshape(out.shape))[0] for basis in torch.eye(out.numel(), dtype=out.dtype)]
    return np.stack(rows).reshape(*out.shape, *leaf.shape)


def _gradients(out: torch.Tensor, leaves: Sequence[torch.Tensor], out_g: torch.Tensor | None) -> list[np.ndarray]:
    """Return the gradient of `(out * out_g).sum()` with respect to each leaf, by torch autograd, shaped like it.

    For `None` as `out_g`, that of `out.sum()`; zeros for a leaf that `out` does not depend on.

    Raises:
        SpecError: `out` is not of a floating-point type.
    """
    if not out.is_floating_point():
        raise SpecError(f"forward returns a tensor of {out.dtype}, which has no gradient")
    if not out.requires_grad:
        return [np.zeros(leaf.shape) for leaf in leaves]
    scalar = out.sum() if out_g is None else (out * out_g).sum()  # torch imports sympy for an upstream gradient
    gradients = torch.autograd.grad(scalar, leaves, retain_graph=True, allow_unused=True)
    return [
        np.zeros(leaf.shape) if gradient is None else gradient.numpy()
        for leaf, gradient in zip(leaves, gradients, strict=True)
    ]


def derivative_answers(exercise: Exercise) -> list[Answer]:
    """Return the answers of an exercise that are gradients or Jacobians, in order, without values such as the loss."""
    return [answer for answer in exercise.answers if answer.kind != "value"]


# Finite differences


def agrees_with_finite_differences(exercise: Exercise, trial: Trial) -> bool:
    """Return whether finite differences of `forward` agree with the autograd gradient of every answer."""
    answers = derivative_answers(exercise)
    exact = autograd_answers(exercise, answers, trial.inputs, trial.out_g)
    return all(
        scaled_error(finite_difference_answer(exercise, answer, trial), exact[answer.name]) <= AGREEMENT
        for answer in answers
    )


def finite_difference_answer(exercise: Exercise, answer: Answer, trial: Trial) -> np.ndarray:
    """Return an answer by finite differences of `forward`, without a prior gradient.

    Args:
        exercise: the exercise.
        answer: a gradient or a Jacobian.
        trial: a trial of the exercise.

    Returns:
        Shape: that of the input `answer.wrt`; of a Jacobian `(*out.shape, *wrt.shape)`.
    """
    values = trial.inputs[answer.wrt].numpy()
    if answer.kind == "gradient":
        return finite_differences.gradient(lambda v: loss_of(exercise, trial, answer.wrt, v), values)
    assert trial.out is not None
    shape = tuple(trial.out.shape)

    def output_entry(index: tuple[int, ...], values: np.ndarray) -> float:
        """Return the entry of the output at an index, with the input set to `values`."""
        return float(_output_with(exercise, trial, answer.wrt, values)[index])

    rows = [finite_differences.gradient(partial(output_entry, index), values) for index in np.ndindex(shape)]
    return np.stack(rows).reshape(*shape, *values.shape)


def loss_of(exercise: Exercise, trial: Trial, name: str, values: np.ndarray) -> float:
    """Return `(out * out_g).sum()`, whose gradient with respect to the input or step `name` is `name.g`.

    Tensors that the forward pass detaches are as they are in the trial.

    Args:
        exercise: the exercise.
        trial: a trial of the exercise, whose other inputs are used.
        name: the input, or the step, that is set to `values`.
        values: an array shaped like it.
    """
    return loss_with(exercise, trial, {name: values})


def is_linear_in(exercise: Exercise, trial: Trial, name: str) -> bool:
    """Return whether the loss is linear in an input, up to a constant: its gradient does not depend on its entries.

    Args:
        exercise: the exercise.
        trial: a trial of the exercise.
        name: the input, or the step.
    """
    values = trial.inputs[name].numpy()
    step = np.random.default_rng(0).normal(size=values.shape)
    before, up, down = (loss_of(exercise, trial, name, values + sign * step) for sign in (0, 1, -1))
    return abs(up + down - 2 * before) <= NEARLY_LINEAR * (abs(up) + abs(down) + abs(before))


def detaching_matters(exercise: Exercise, trial: Trial, name: str, values: np.ndarray) -> bool:
    """Return whether it matters for the loss at `values` that the forward pass detaches tensors.

    The loss is computed with each detached tensor as it is in the trial, and with it computed from `values`. Where the
    two differ, the right gradient is, on purpose, not that of the forward pass: a straight-through estimator, say.
    False if nothing is detached.

    Args:
        exercise: the exercise.
        trial: a trial of the exercise.
        name: the input, or the step, that is set to `values`.
        values: an array shaped like it, near the trial's own.
    """
    step = name if name in exercise.step_names else ""
    if not _detached_tensors(exercise, trial, step):
        return False
    changed = {name: torch.from_numpy(values)}
    before = exercise.run(trial.inputs, step)
    outputs = _output_with_constants(exercise, trial, changed), exercise.run({**trial.inputs, **changed}, step)
    moves = [float(((out - before) * trial.out_g).sum()) for out in outputs]
    return abs(moves[0] - moves[1]) > SAME_MOVE * max(map(abs, moves))


def loss_with(exercise: Exercise, trial: Trial, changed: Mapping[str, np.ndarray]) -> float:
    """Return `(out * out_g).sum()` with some inputs, or one step, of a trial set to other arrays, by name.

    Tensors that the forward pass detaches are as they are in the trial.
    """
    assert trial.out_g is not None
    tensors = {name: torch.from_numpy(values) for name, values in changed.items()}
    return float((_output_with_constants(exercise, trial, tensors) * trial.out_g).sum())


def gradcheck(exercise: Exercise, trial: Trial, *, fast: bool = False) -> bool:
    """Return whether `torch.autograd.gradcheck` accepts the forward pass at a trial's inputs.

    Args:
        exercise: the exercise.
        trial: a trial of the exercise.
        fast: whether it compares one random projection of the Jacobian only.
    """
    names = [name for name in exercise.forward_names if is_differentiable(exercise.inputs[name])]
    leaves = tuple(trial.inputs[name].detach().clone().requires_grad_() for name in names)

    def forward(*values: torch.Tensor) -> torch.Tensor:
        """Return the output for these values of the differentiable inputs."""
        return _output_with_constants(exercise, trial, dict(zip(names, values, strict=True)))

    return bool(torch.autograd.gradcheck(forward, leaves, raise_exception=False, fast_mode=fast))


def _output_with(exercise: Exercise, trial: Trial, name: str, values: np.ndarray) -> torch.Tensor:
    """Return the output with the input or step `name` set to an array of its shape, and detached tensors as before."""
    return _output_with_constants(exercise, trial, {name: torch.from_numpy(values)})


def _output_with_constants(exercise: Exercise, trial: Trial, changed: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Return the output with some inputs, or one step, changed, and every detached tensor as it is without the change.

    For autograd a detached tensor is a constant, so finite differences must not move it either.

    Args:
        exercise: the exercise.
        trial: a trial of the exercise.
        changed: inputs, or one step of the forward pass, by name.
    """
    wrt = next((name for name in changed if name in exercise.step_names), "")
    constants = _detached_tensors(exercise, trial, wrt)
    inputs = {**trial.inputs, **changed}
    if not constants:
        return exercise.run(inputs, wrt)  # type: ignore[no-any-return]
    with _Detaching(constants):
        return exercise.run(inputs, wrt)  # type: ignore[no-any-return]


def _detached_tensors(exercise: Exercise, trial: Trial, wrt: str) -> list[torch.Tensor]:
    """Return every tensor that the forward pass of a trial detaches, in order; empty if there is none.

    Args:
        exercise: the exercise.
        trial: a trial of the exercise.
        wrt: the step from which on the forward pass is run; empty for all of it.
    """

    def detached() -> list[torch.Tensor]:
        """Run the forward pass."""
        with _Detaching() as mode:
            exercise.run(trial.inputs, wrt)
        return list(mode.detached)

    tensors: list[torch.Tensor] = trial.remember(("constants", wrt), detached)
    return tensors


class _Detaching(TorchFunctionMode):
    """Record every tensor that is detached, in order, in `detached`; so is every result inside `torch.no_grad()`.

    Args:
        constants: the tensors that these calls return instead, in order; empty to leave their results.
    """

    def __init__(self, constants: Sequence[torch.Tensor] = ()) -> None:
        """Begin before the first call that detaches; such calls return the tensors `constants`, in order, if any."""
        super().__init__()
        self.constants = list(constants)
        self.detached: list[torch.Tensor] = []
        self.is_without_grad = False

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Call a function of torch; record what it detaches, and return the next constant in its place, if any."""
        result = func(*args, **(kwargs or {}))
        if func is torch._C._set_grad_enabled:  # called by no_grad, and not by a function of its own derivative
            self.is_without_grad = not args[0]
        detaches = func is torch.Tensor.detach and torch.is_grad_enabled()
        is_new = isinstance(result, torch.Tensor) and all(result is not value for value in args)
        if detaches or (self.is_without_grad and is_new):
            self.detached.append(result)
            return self.constants[len(self.detached) - 1] if self.constants else result
        return result


# Rounding


def right_in_single_precision(exercise: Exercise, trial: Trial) -> bool:
    """Return whether torch computes the right gradients of a trial in single precision too, in which the learner works.

    A gradient that is a small difference of large numbers is mostly rounding. Only gradients of at most `FEW` entries
    are compared: of more entries, the largest is not mostly rounding.
    """
    rights = [(answer, trial.expected[answer.name]) for answer in exercise.answers if answer.kind == "gradient"]
    small = [(answer, right) for answer, right in rights if right is not None and right.size <= FEW]
    if not small:
        return True
    inputs, out_g = {name: _single(value) for name, value in trial.inputs.items()}, _single(trial.out_g)
    gradients = autograd_answers(exercise, [answer for answer, _ in small], inputs, out_g)
    return all(
        scaled_error(plus_prior(gradients[answer.name], answer, trial.arguments), right) <= SINGLE_ERROR
        for answer, right in small
    )


def rounding(exercise: Exercise, answer: Answer, trial: Trial) -> float:
    """Return the largest scaled error that a right gradient in single precision may have in a trial.

    It is several times the error that torch's gradient has there: a variance of two nearly equal numbers, for example,
    loses so many digits that no right answer has them. It is computed once for a trial.

    Raises:
        ValueError: torch cannot compute the gradient in single precision.
    """

    def worst() -> float:
        """Return the bound by the largest error of torch's own gradient at inputs that differ in their last digits."""
        right, rng = trial.expected[answer.name], torch.Generator().manual_seed(0)
        assert right is not None
        errors = []
        for _ in range(ROUNDINGS):
            inputs = {name: _rounded_at_random(value, rng) for name, value in trial.inputs.items()}
            gradient = autograd_answer(exercise, answer, inputs, _single(trial.out_g))
            errors.append(scaled_error(plus_prior(gradient, answer, trial.arguments), right))
        return ROUNDING_MARGIN * max(errors)

    return float(trial.remember(("rounding", answer.name), worst))


def _rounded_at_random(value: Any, rng: torch.Generator) -> Any:
    """Return a floating-point tensor in single precision, with a random last digit in each entry; others unchanged."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    last = torch.finfo(torch.float32).eps * (torch.rand(value.shape, generator=rng, dtype=value.dtype) - 0.5)
    return (value * (1 + last)).float()


def _single(value: Any) -> Any:
    """Return a floating-point tensor in single precision, and any other value unchanged."""
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
