"""One answer in a trial: the right array, and everything that is at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from grader.course.exercise import Answer
from grader.course.sampling import Array

from .trial import Trial


@dataclass(frozen=True)
class End:
    """The end of a pass: the right answer, and everything that is at hand.

    Args:
        right: the right array; a zero where nothing may be stored.
    """

    answer: Answer
    trial: Trial
    output_name: str = "out"
    upstream_name: str = "out.g"

    @cached_property
    def right(self) -> np.ndarray:
        expected = self.trial.expected[self.answer.name]
        return np.zeros(()) if expected is None else expected

    @cached_property
    def prior(self) -> np.ndarray | None:
        """What was stored before, which a gradient must be added to."""
        argument = self.trial.arguments.get(self.answer.wrt)
        return argument.g if self.answer.stored and isinstance(argument, Array) else None

    @cached_property
    def new(self) -> np.ndarray:
        """The right answer without what was stored before."""
        return self.right if self.prior is None else self.right - self.prior

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """The floating-point arrays at hand: what the forward pass took, its output and the upstream gradient."""
        tensors: Mapping[str, Any] = {
            **self.trial.inputs, self.output_name: self.trial.out, self.upstream_name: self.trial.out_g
        }  # fmt: skip
        return {
            name: value.numpy()
            for name, value in tensors.items()
            if name and hasattr(value, "is_floating_point") and value.is_floating_point()
        }

    @property
    def is_gradient(self) -> bool:
        return self.answer.kind == "gradient"

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the variable's axes, if they are known."""
        return self.trial.axes(self.answer.wrt) or ()
