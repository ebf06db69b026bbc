"""The trials of one exercise in one run: those that are judged, and those in which the code is only watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grader.course.exercise import Declaration
from grader.course.trial_sizes import EXACT_KIND

from .references import confirm, make_trials, random_numbers, watched_trial
from .tight_memory import tight_memory_trial
from .trial import Trial


def with_some_repeated(declaration: Declaration, trials: Sequence[Trial]) -> list[Trial]:
    """Return every trial, then the last of them again, then the largest again, which has the same sizes.

    What depends on an earlier call gives another answer in one of these, or a wrong one in the last trial. What a test
    answers may depend on chance or on the order: all of its trials are there again from last to first, and once more.
    """
    if declaration.is_test:
        return [*trials, *reversed(trials), *trials]
    alike = (trial for trial in trials if trial.setting.kind != EXACT_KIND)
    return [*trials, trials[-1], max(alike, key=lambda trial: trial.entries)]


@dataclass(frozen=True)
class TrialsOfRun:
    """An exercise's trials, each made once, when it is first asked for.

    Args:
        name: of the exercise; all of them come from it and from the seed.
    """

    declaration: Declaration
    name: str
    seed: int

    @cached_property
    def judged(self) -> list[Trial]:
        return make_trials(self.declaration, self._random())

    @cached_property
    def asked(self) -> list[Trial]:
        """The trials of a job that are judged, in its order."""
        return with_some_repeated(self.declaration, self.judged)

    def confirm(self) -> None:
        """Measure the references by finite differences, once: a right answer has confirmed them already.

        Raises:
            SpecError: they disagree.
        """
        _ = self._confirmed

    @cached_property
    def _confirmed(self) -> bool:
        confirm(self.declaration, self.judged[0], self._random(3))
        return True

    @cached_property
    def watched(self) -> Trial | None:
        """The one in which it is watched whether a gradient is measured."""
        return watched_trial(self.declaration, self._random(1))

    @cached_property
    def tight(self) -> Trial | None:
        """The one with no room for the array that must never be held."""
        return tight_memory_trial(self.declaration, self.judged[0], self._random(2))

    def _random(self, *stream: int) -> np.random.Generator:
        return random_numbers(self.seed, self.name, *stream)
