"""The training loop: gradient descent with momentum. Its text is sent to the child, where the learner's gradients are.

It imports nothing of the grader. `training` is a unit's `training.py`: `weights()`, `batch(data, step)`,
`loss(weights, batch)`, and `gradients(weights, batch)`, which lets the learner's functions store them.
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
    """The weights and their speeds before the first step, each in one row: (2, weights)."""
    values = torch.cat([weight.flatten() for weight in training.weights().values()])
    return torch.stack((values, torch.zeros_like(values)))


def unpacked(training: Any, state: torch.Tensor) -> Tensors:
    """A copy of the weights by their names."""
    like = training.weights()
    parts = torch.split(state[0].clone(), [weight.numel() for weight in like.values()])
    return {name: part.reshape(weight.shape) for (name, weight), part in zip(like.items(), parts, strict=True)}


def stored(tensor: Any) -> torch.Tensor:
    """The gradient stored on a tensor; 0 where there is none, or one that does not fit: then nothing moves."""
    gradient = vars(tensor).get("g")
    if isinstance(gradient, np.ndarray):
        gradient = torch.from_numpy(gradient)
    if isinstance(gradient, torch.Tensor) and gradient.shape == tensor.shape:
        return gradient.to(torch.float32)
    return torch.zeros_like(tensor)


def by_autograd(training: Any, weights: Tensors, batch: Tensors) -> None:
    """Store what torch's autograd says."""
    asked = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    found = torch.autograd.grad(training.loss(asked, batch), list(asked.values()))
    for weight, gradient in zip(weights.values(), found, strict=True):
        weight.g = gradient  # type: ignore[attr-defined]


def by_the_learner(training: Any, weights: Tensors, batch: Tensors) -> None:
    """Store what the learner's functions say."""
    training.gradients(weights, batch)


def advance(
    training: Any, state: torch.Tensor, data: Tensors, steps: range, gradients: Gradients
) -> tuple[torch.Tensor, torch.Tensor]:
    """The state after these steps, and the loss before each of them.

    It ends early where a loss is not finite, or a gradient raises; in the first of the steps, that is raised.
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
    """What the child is asked for: some steps with the learner's gradients."""
    import training  # type: ignore[import-not-found]

    return advance(training, state, dict(zip(names, data, strict=True)), range(first, last), by_the_learner)
