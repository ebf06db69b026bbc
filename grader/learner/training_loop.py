"""The training loop, gradient descent with momentum; its text is sent to the child, where the learner's code runs.

It imports nothing of the grader. `training` is a unit's `training.py`: `weights()`, `batch(data, step)`,
`loss(weights, batch)`, and `gradients(weights, batch)`, which lets the learner's functions store them. It may import
`stored` from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

MOMENTUM = 0.9
Tensors = dict[str, torch.Tensor]
Gradients = Callable[[Any, Tensors, Tensors], None]


def begin(training: Any) -> torch.Tensor:
    """Return the weights and their speeds, the running sums of gradients, before the first step.

    Args:
        training: the unit's `training.py`.

    Returns:
        The weights, and the speeds, which are 0; shape: `(2, weights)`.
    """
    values = torch.cat([weight.flatten() for weight in training.weights().values()])
    return torch.stack((values, torch.zeros_like(values)))


def unpacked(training: Any, state: torch.Tensor) -> Tensors:
    """Return a copy of the weights by their names.

    Args:
        training: the unit's `training.py`.
        state: the weights and their speeds, the running sums of gradients; shape: `(2, weights)`.
    """
    like = training.weights()
    parts = torch.split(state[0].clone(), [weight.numel() for weight in like.values()])
    return {name: part.reshape(weight.shape) for (name, weight), part in zip(like.items(), parts, strict=True)}


def stored(tensor: Any) -> torch.Tensor:
    """Return the gradient stored on a tensor as `.g`, in float32; zeros if there is none of the tensor's shape."""
    gradient = vars(tensor).get("g")
    if isinstance(gradient, np.ndarray):
        gradient = torch.from_numpy(gradient)
    if isinstance(gradient, torch.Tensor) and gradient.shape == tensor.shape:
        return gradient.to(torch.float32)
    return torch.zeros_like(tensor)


def by_autograd(training: Any, weights: Tensors, batch: Tensors) -> None:
    """Store the gradients that torch's autograd computes as `.g` of the weights.

    Args:
        training: the unit's `training.py`, whose `loss` is differentiated.
        weights: the weights by name.
        batch: the data of one step by name.
    """
    copies = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    gradients = torch.autograd.grad(training.loss(copies, batch), list(copies.values()))
    for weight, gradient in zip(weights.values(), gradients, strict=True):
        weight.g = gradient  # type: ignore[attr-defined]


def by_the_learner(training: Any, weights: Tensors, batch: Tensors) -> None:
    """Store the gradients that the learner's functions compute as `.g` of the weights.

    Args:
        training: the unit's `training.py`, whose `gradients` calls the learner's functions.
        weights: the weights by name.
        batch: the data of one step by name.
    """
    training.gradients(weights, batch)


def advance(
    training: Any, state: torch.Tensor, data: Tensors, steps: range, gradients: Gradients
) -> tuple[torch.Tensor, torch.Tensor]:
    """Make some steps; end early if a loss is not finite or a gradient raises an exception.

    A loss that is not finite is the last one, and no step is made from it. The step at which a gradient raised an
    exception is neither made nor has a loss.

    Args:
        training: the unit's `training.py`.
        state: the weights and their speeds, the running sums of gradients, before these steps; shape: `(2, weights)`.
        data: the training data, by name.
        steps: the numbers of the steps.
        gradients: stores the gradients of a batch on the weights.

    Returns:
        The state after the last step, and the loss before each step; shape: `(steps,)`.

    Raises:
        Exception: a gradient raised it in the first of the steps.
    """
    losses: list[float] = []
    for step in steps:
        weights, batch = unpacked(training, state), training.batch(data, step)
        with torch.no_grad():
            loss = float(training.loss(weights, batch))
        if math.isfinite(loss):
            try:
                gradients(training, weights, batch)
            except Exception:
                if not losses:
                    raise
                break
            gradient = torch.cat([stored(weight).flatten() for weight in weights.values()])
            speed = MOMENTUM * state[1] + gradient
            state = torch.stack((state[0] - training.rate * speed, speed))
        losses.append(loss)
        if not math.isfinite(loss):
            break
    return state, torch.tensor(losses, dtype=torch.float64)


def run(
    state: torch.Tensor, first: int, last: int, names: Sequence[str], data: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Make some steps with the learner's gradients, as `advance` does; this is the function that the child calls.

    Args:
        state: the weights and their speeds, the running sums of gradients, before these steps; shape: `(2, weights)`.
        first: the number of the first step.
        last: the number after that of the last step.
        names: the names of the training data.
        data: the tensors of the training data, in the same order.

    Returns:
        The state after the last step, and the loss before each step; shape: `(steps,)`.

    Raises:
        Exception: a gradient raised it in the first of the steps.
    """
    import training  # type: ignore[import-not-found]

    return advance(training, state, dict(zip(names, data, strict=True)), range(first, last), by_the_learner)
