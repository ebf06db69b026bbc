"""Wrong answers of one function: what the learner's arrays are in every trial, beside the right programs.

A `Case` compares what an edit gives with what the learner gave. It does so in two steps: a `Screen` asks in one trial
whether the edit moves the projections of the gradients as the learner's differ, which costs one rule and one product,
and what passes is computed in full in every trial.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from grader.program.forward import SINK, bits
from grader.program.operation import Array, NoCandidate, Vague
from grader.program.probes import draw_tangents, tolerances
from grader.program.program import Program, Tangents
from grader.reference.compare import MATCH, agrees, scaled_error
from grader.reference.trial import Trial

from .factors import FactorForms
from .mistake import Mistake

LARGE = 100_000  # entries of all values: of more, tangents in single precision are enough, in half of the memory
MOST_ROUNDING = 0.05  # a trial in which rounding may move an answer further tells nothing of it
DELICATE = 1e-3  # a trial in which rounding moves an answer further is no good for screening
TINY, ZERO = 1e-9, 1e-5  # what is computed as zero, in proportion to the right answer; what a learner may have for it
SPREAD = 4.0  # standard deviations that the projection of an error may have


class Candidate(Protocol):
    """A possible cause of wrong answers: an edit of the program, or a fact about the numbers."""

    @property
    def rank(self) -> float:
        """Return the likelihood rank: of all candidates that fit, the one of the least is told."""

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return the mistake that it is in each answer whose numbers it gives, or is true of, in every trial."""

    def changes_right_answer(self, case: Case) -> bool:
        """Return whether it leads to an answer that is right, too: then the learner did it for some answers only."""


class Rewriting(Protocol):
    """A candidate that rewrites the program."""

    def apply(self, program: Program) -> Program:
        """Return the program that the learner wrote in a trial, from the right one.

        Raises:
            NoCandidate: nobody can have written it.
        """


@dataclass(frozen=True, eq=False)
class Sample:
    """A trial with the right program, and what the learner gave.

    Args:
        trial: the sizes, the inputs and the upstream gradient.
        program: the right one.
        given: the learner's array for some targets, those whose answers are wrong; without what was stored before.
    """

    trial: Trial
    program: Program
    given: Mapping[str, Array]

    @property
    def is_value(self) -> bool:
        """Return whether the answers are not gradients, but the value of the forward pass."""
        return self.program.is_value

    @cached_property
    def right(self) -> dict[str, Array]:
        """Return the right gradients of all targets; or the right value, under the name of each answer."""
        return self._value_of(self.program) if self.is_value else self.program.gradients()

    def answers(self, program: Program) -> dict[str, Array]:
        """Return what a program gives for every answer: the gradients of all targets, or the value.

        Raises:
            NoCandidate: as `Program.gradients`.
        """
        if self.is_value:
            return self._value_of(program)
        return self.right if program is self.program else program.gradients()

    def answer(self, program: Program, name: str) -> Array:
        """Return what a program gives for one answer; raises as `answers` does."""
        if self.is_value or program is self.program:
            return self.answers(program)[name]
        return program.gradient(name)

    def _value_of(self, program: Program) -> dict[str, Array]:
        """Return the value of a forward pass under the name of each answer."""
        return dict.fromkeys(self.given, program.nodes[program.forward.outputs[0]].value)

    @cached_property
    def rounding(self) -> dict[str, float]:
        """Return how far rounding to single precision may move each gradient, in proportion to its greatest entry."""
        if self.is_value:
            return dict.fromkeys(self.given, 0.0)
        targets = tuple(self.program.forward.targets)  # of a routine, those that are wrong in this submission
        known: dict[str, float] = self.trial.remember(
            ("rounding", *targets), lambda: tolerances(self.program, np.random.default_rng(0))
        )
        return known

    def is_wrong(self, name: str) -> bool:
        """Return whether the learner's array differs from the right one here."""
        return name in self.given and not agrees(self.given[name], self.right[name])

    def has_shape(self, name: str) -> bool:
        """Return whether the learner's array has the right shape here."""
        return name in self.given and self.given[name].shape == self.right[name].shape

    def is_vague(self, name: str) -> bool:
        """Return whether rounding hides here what an edit gives."""
        return self.rounding[name] > MOST_ROUNDING

    def gives(self, name: str, array: Array) -> bool:
        """Return whether an array is the learner's, but for rounding."""
        if near(self.given[name], array, self.right[name]):
            return True
        error = scaled_error(self.given[name], array)
        return error <= MOST_ROUNDING and error <= self.rounding[name]

    def tells_apart(self, name: str, array: Array) -> bool:
        """Return whether an array differs from the right one by more than rounding explains."""
        right = self.right[name]
        error = scaled_error(array, right)
        return error > MOST_ROUNDING or (not near(array, right, right) and error > self.rounding[name])


def near(array: Array, other: Array, right: Array) -> bool:
    """Return whether two arrays are equal but for rounding; what an edit gives as zero may be rounding, too.

    Args:
        array: the learner's.
        other: what an edit gives.
        right: the right array, whose size tells what is zero.
    """
    size = float(np.abs(right).max(initial=0.0))
    if np.abs(other).max(initial=0.0) > TINY * size:
        return scaled_error(array, other) <= MATCH
    return scaled_error(array, np.zeros_like(other)) <= ZERO * (size or 1.0)


class Screen:
    """One trial in which it is cheap to see whether an edit gives the learner's gradients."""

    def __init__(self, sample: Sample, names: Sequence[str]) -> None:
        """Draw two random directions of each target, and project what the learner gave on them.

        Args:
            sample: a trial in which the answers are wrong.
            names: their targets; each has the right shape here.
        """
        self.sample, self.names = sample, tuple(names)
        key = ("tangents", self.names)
        is_large = sum(map(math.prod, sample.program.forward.shapes)) > LARGE
        dtype = np.float32 if is_large else np.float64
        self.tangents: Tangents = sample.trial.remember(
            key, lambda: draw_tangents(sample.program, np.random.default_rng(0), self.names, dtype=dtype)
        )
        given = {name: sample.given[name] for name in names}
        self.targets = sum(1 << sample.program.forward.targets[name] for name in names)  # as a bit mask
        self.wanted = self.tangents.project(given) - self.tangents.right
        self.bounds = np.zeros(len(self.wanted))
        for name, rows in self.tangents.rows.items():
            array = sample.given[name]
            size, own = (np.abs(each).max(initial=0.0) for each in (sample.right[name], array))
            error = ZERO * size if own <= ZERO * size else max(MATCH, min(sample.rounding[name], DELICATE)) * own
            self.bounds[rows] = SPREAD * error * np.sqrt(array.size) + TINY * np.abs(self.tangents.right[rows])

    def fitting(self, change: Array) -> tuple[str, ...]:
        """Return the answers whose projections a change moves to those of the learner; shape of `change`: (rows,)."""
        fits = abs(change - self.wanted) <= self.bounds
        return tuple(name for name in self.names if fits[self.tangents.rows[name]].all()) if fits.any() else ()


@dataclass(eq=False)
class Case:
    """The wrong answers of one function in all trials.

    Args:
        samples: the trials, the first one of the run first.
        names: the targets whose answers are wrong.
        right_names: the targets whose answers are known to be right.
        work: what has been computed so far, in calls of numpy.
        changes: what each edit changes of the projections in each screen, where it changes anything.
        results: the same for what is made of the right gradient at the end, which nothing can follow.
        reshaping: such edits for answers that cannot be screened, with these answers.
        explaining: the edits so far that explain some answers, with these.
        comparisons: how many times arrays were compared in full.
        suspects: the edits so far whose arrays were compared in full, in the order in which they were tried.
    """

    samples: Sequence[Sample]
    names: tuple[str, ...]
    right_names: tuple[str, ...] = ()
    work: float = 0.0
    changes: dict[Rewriting, tuple[Array, ...]] = field(default_factory=dict)
    results: dict[Rewriting, tuple[Array, ...]] = field(default_factory=dict)
    reshaping: dict[Rewriting, tuple[str, ...]] = field(default_factory=dict)
    explaining: dict[Rewriting, tuple[str, ...]] = field(default_factory=dict)
    comparisons: int = 0
    suspects: list[Candidate] = field(default_factory=list)

    @property
    def listing(self) -> Program:
        """Return the right program that edits are listed in: one of three iterations or more, if there is one."""
        return self.screens[0].sample.program if self.screens else self.samples[0].program

    @cached_property
    def screens(self) -> tuple[Screen, ...]:
        """Return the trials for screening: for each answer one in which it is wrong, as few and cheap ones as possible.

        An answer that has the wrong shape wherever it is wrong, or is nothing but zeros, has none; nor has a value of
        the forward pass, which is there without any sweep.
        """
        if self.samples and self.samples[0].is_value:
            return ()
        screens, open_names = [], [name for name in self.names if name not in self.zeros]
        samples = sorted(self.samples, key=_unfit)
        while open_names:
            tell = {
                id(sample): [n for n in open_names if sample.is_wrong(n) and sample.has_shape(n)] for sample in samples
            }
            sample = max(samples, key=lambda each: len(tell[id(each)]))
            if not (names := tell[id(sample)]):
                break
            samples = [each for each in samples if each is not sample]
            if all(sample.rounding[name] <= DELICATE for name in names) or not samples:
                screens.append(Screen(sample, names))
                open_names = [name for name in open_names if name not in names]
        return tuple(screens)

    @cached_property
    def forms(self) -> FactorForms:
        """Return the shapes that a factor may have as it varies between the trials."""
        return FactorForms([sample.trial for sample in self.samples])

    def is_screened_as(self, other: Case) -> bool:
        """Return whether another case has screened all of these answers, in the same trials as this one would."""
        return bool(self.samples) and self._screen_trials.items() <= other._screen_trials.items()

    @cached_property
    def _screen_trials(self) -> dict[str, int | None]:
        """Return for each answer the identity of the trial in which it is screened; `None` where it is in none."""
        screened = {name: id(screen.sample.trial) for screen in self.screens for name in screen.names}
        return {name: screened.get(name) for name in self.names}

    def distance(self, name: str) -> tuple[int, int]:
        """Return how far from the loss an answer is: what is made or used the latest in the forward pass is nearest."""
        if not self.samples or self.samples[0].is_value:
            return 0, 0
        forward = self.samples[0].program.forward
        target = forward.targets[name]
        made = -target if target not in forward.inputs.values() else 0
        return made, -max((reader % len(forward.nodes) for reader, _ in forward.uses[target]), default=0)

    def explained_by(self, edit: Rewriting) -> tuple[str, ...]:
        """Return the answers whose numbers an edit gives in every trial that can tell."""
        names = self.confirmed(edit, self._screened(edit))
        return names + self._emptied_by(edit) if names and self.zeros else names

    def _emptied_by(self, edit: Rewriting) -> tuple[str, ...]:
        """Return the answers that are zero of which an edit leaves nothing in any trial in which it changes something.

        Many edits leave nothing of a gradient, so such an answer alone tells no cause.
        """
        names = set(self.zeros)
        for sample in self.samples:
            program = edit.apply(sample.program)
            if names and program is not sample.program:
                answers = sample.answers(program)
                names = {name for name in names if sample.gives(name, answers[name])}
        return tuple(names)

    def confirmed(self, edit: Rewriting, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of some answers whose numbers an edit gives in every trial that can tell, in full."""
        names, apart, vague = list(names), set[str](), dict.fromkeys(names, 0)
        self.comparisons += bool(names)
        empty = {name for name in names if name in self.noise}  # no noise comes from nothing at all
        for sample in self.samples:
            if not names:
                return ()
            try:
                program = edit.apply(sample.program)
                self.work += work_of(program, full=True)
                answers = sample.answers(program)
            except Vague:
                vague.update((name, vague[name] + 1) for name in names)
                continue
            except NoCandidate:
                return ()
            for name in [name for name in names if name in sample.given]:
                if sample.right[name].any() and answers[name].any():
                    empty.discard(name)
                if sample.gives(name, answers[name]):
                    if sample.tells_apart(name, answers[name]):
                        apart.add(name)
                elif sample.is_vague(name):
                    vague[name] += 1
                else:
                    names.remove(name)
        return tuple(name for name in names if name in apart - empty and 2 * vague[name] <= len(self.samples))

    def changes_right_answer(self, edit: Rewriting) -> bool:
        """Return whether an edit leads to an answer that is right; of a value the gradients tell nothing."""
        if self.samples[0].is_value:
            return False
        return reaches(edit.apply(self.listing), self.right_names)

    def _screened(self, edit: Rewriting) -> tuple[str, ...]:
        """Return the answers that an edit may explain, as far as the screens tell; note what it changes."""
        names: list[str] = []
        changes: list[Array] = []
        self.work += 1
        for number, (sample, screen) in enumerate(self._screenings):
            try:
                program = edit.apply(sample.program)
                if sample.is_value:
                    return self.names if program.forward is not sample.program.forward else ()
                if number == 0 and (shapeless := tuple(name for name in self.shapeless if name in program.results)):
                    self.reshaping[edit] = shapeless
                    names.extend(shapeless)
                if screen is None or not program.reach[0] & screen.targets:
                    continue
                self.work += work_of(program)
                change = program.change(screen.tangents)
            except Vague:
                names.extend(() if screen is None else screen.names)
                continue
            except NoCandidate:
                continue
            if (abs(change) > screen.bounds).any():
                changes.append(change)
                names.extend(screen.fitting(change))
        if changes and len(changes) == len(self.screens) and all(np.isfinite(change).all() for change in changes):
            (self.results if program.results else self.changes)[edit] = tuple(changes)
        return tuple(names)

    @cached_property
    def _screenings(self) -> list[tuple[Sample, Screen | None]]:
        """Return the screens with their trials; the first trial with none, where no answer can be screened."""
        return [(screen.sample, screen) for screen in self.screens] or [(self.samples[0], None)]

    @cached_property
    def shapeless(self) -> tuple[str, ...]:
        """Return the answers that cannot be screened for their shape is wrong wherever they are."""
        screened = {name for screen in self.screens for name in screen.names}
        return tuple(name for name in self.names if name not in screened and name not in self.zeros)

    @cached_property
    def zeros(self) -> frozenset[str]:
        """Return the answers that are exactly zero everywhere: many edits leave nothing of a gradient."""
        return frozenset(n for n in self.names if all(given.size and not given.any() for given, _ in self._arrays(n)))

    @cached_property
    def noise(self) -> frozenset[str]:
        """Return the answers that are zero up to rounding, because what was computed cancels."""
        return frozenset(
            name
            for name in self.names
            if name not in self.zeros
            and all(a.size and np.abs(a).max() <= ZERO * np.abs(right).max() for a, right in self._arrays(name))
        )

    def _arrays(self, name: str) -> list[tuple[Array, Array]]:
        """Return the learner's array and the right one in each trial in which the right one is not zero."""
        samples = [sample for sample in self.samples if name in sample.given and sample.right[name].any()]
        return [(sample.given[name], sample.right[name]) for sample in samples]


def reaches(program: Program, names: Iterable[str]) -> bool:
    """Return whether the edits of a program lead to one of some targets."""
    right = program.right.forward
    into, _ = program.reach
    return any(into >> right.targets[name] & 1 for name in names)


def _unfit(sample: Sample) -> tuple[bool, bool, bool, int]:
    """Return how little a trial is fit for screening: the least is the best."""
    forward = sample.program.forward
    iterations = max(map(len, forward.by_key.values()))
    is_number = all(np.isfinite(forward.nodes[output].value).all() for output in forward.outputs)  # or no tangent is
    return (
        not is_number,
        sample.trial.setting.is_special,
        iterations == 2,
        sum(node.value.size for node in forward.nodes),
    )


def work_of(program: Program, full: bool = False) -> float:
    """Return how much work a candidate is, in calls of numpy: the same for the same edit on any machine.

    Args:
        program: the edited one.
        full: all gradients are computed, and not what they change of projections.
    """
    forward, right = program.forward, program.right.forward
    costs, work = right.costs, 5.0
    work += sum(2.0 * costs[right.targets[name]] for name in program.results if name in right.targets)
    if not program.edited_vjps and not program.added and forward is right:
        return work
    if full:
        return work + 3.0 * sum(costs)
    into, out_of = program.reach
    for value in bits(
        into & out_of if forward is right else out_of
    ):  # what is computed between two edits, or run again
        work += costs[value]
    for reader, _ in program.edited_vjps:
        work += costs[reader] if reader != SINK else 0.0
    return work
