"""What a forward pass detaches is a constant: autograd takes it for one, so a nudge must not move it either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class _Detaching(TorchFunctionMode):
    """Notes what is detached, in order; with values to hold, each of them is given in its place."""

    def __init__(self, held: Sequence[torch.Tensor] = ()) -> None:
        super().__init__()
        self.held = list(held)
        self.found: list[torch.Tensor] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is torch.Tensor.detach and torch.is_grad_enabled():  # and not inside a function of its own derivative
            self.found.append(result)
            return self.held[len(self.found) - 1] if self.held else result
        return result


def detached(forward: Callable[[], torch.Tensor]) -> list[torch.Tensor]:
    """The values that a forward pass detaches, in order."""
    with _Detaching() as mode:
        forward()
    found: list[torch.Tensor] = mode.found
    return found


def with_held(forward: Callable[[], torch.Tensor], held: Sequence[torch.Tensor]) -> torch.Tensor:
    """The output of a forward pass in which what it detaches has these values."""
    if not held:
        return forward()
    with _Detaching(held):
        return forward()
