"""What a training is made from, and what became of it: two loss curves, and the weights at the end of each."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from grader.course.course import Course, load_module
from grader.errors import UsageError
from grader.results.records import ExerciseResult

if TYPE_CHECKING:
    import torch

FILE = "training.py"
SAME = 0.01  # how far a loss may be from torch's, as a share of it: rounding is a tenth of a percent at most
SMOOTHED = 50  # steps whose mean is the loss that was reached


@dataclass
class Curve:
    """The loss before each step, and the weights with their speeds after the last one."""

    state: torch.Tensor
    losses: list[float] = field(default_factory=list)

    @property
    def last(self) -> float:
        """The mean loss of the last steps; not finite where one of them is not."""
        shown = self.losses[-SMOOTHED:]
        return sum(shown) / len(shown) if shown else math.nan


@dataclass
class Trained:
    """A training: the learner's run beside torch's.

    Args:
        unit: whose gradients it uses.
        training: the unit's `training.py`.
        results: the verdict on each exercise that is used.
        solved: the exercises whose worked solution stands in, since nothing was written for them.
        why: what ended it before its last step; empty if nothing did.
        stopped: the learner did.
    """

    unit: str
    training: ModuleType
    results: Sequence[ExerciseResult]
    solved: Sequence[str]
    data: Mapping[str, torch.Tensor]
    yours: Curve
    torchs: Curve
    why: str = ""
    stopped: bool = False

    @property
    def reached(self) -> bool:
        """All steps were made, and the loss is at the goal or below."""
        return bool(len(self.yours.losses) == self.training.steps and self.yours.last <= self.training.goal)

    def weights_file(self) -> bytes:
        """The learner's weights as they are now, as numpy keeps several arrays: an .npz file."""
        from .training_loop import unpacked  # imports torch

        file = io.BytesIO()
        weights = {name: weight.numpy() for name, weight in unpacked(self.training, self.yours.state).items()}
        np.savez(file, allow_pickle=False, **weights)
        return file.getvalue()

    @property
    def parted(self) -> int | None:
        """The first step at which the curves do not lie on each other."""
        pairs = zip(self.yours.losses, self.torchs.losses, strict=False)
        apart = (step for step, (one, other) in enumerate(pairs) if not abs(one - other) <= SAME * other)
        return next(apart, len(self.yours.losses) if self.why and not self.stopped else None)

    @property
    def wrong(self) -> list[ExerciseResult]:
        """The verdicts on those of the learner's functions that were used and do not pass."""
        return [each for each in self.results if each.id not in self.solved and each.status != "passed"]


def trained_units(course: Course) -> list[str]:
    """The units that have a training."""
    return [unit.id for unit in course.config.units if (course.solutions / unit.id / FILE).is_file()]


def load_training(course: Course, unit: str) -> ModuleType:
    """A unit's `training.py`.

    Raises:
        UsageError: it has none; names those that have.
        SpecError: it cannot be run.
    """
    path: Path = course.solutions / unit / FILE
    if not path.is_file():
        others = " or ".join(f"handgrad train {each}" for each in trained_units(course))
        raise UsageError(f"{unit} has nothing to train. " + (f"Try: {others}" if others else "No unit of it has."))
    return load_module(path, f"handgrad_training_{unit}")
