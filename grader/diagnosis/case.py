"""The wrong answers of one function as a `Case`, which compares what a candidate gives with the learner's arrays.

A rewriting is compared in two steps: a `ScreeningTrial` asks in one trial whether it moves the projections of the
gradients on random directions to those of the learner's arrays, which costs one vjp and one product; and the gradients
of what passes are computed in full in every trial.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from grader.course.exercise import Answer
from grader.program.forward import SINK, Forward, bits
from grader.program.operation import Array, NoCandidate, Vague
from grader.program.probes import draw_tangents, tolerances
from grader.program.program import EdgeVjp, Program, Tangents
from grader.reference.compare import MATCH, agrees, scaled_error
from grader.reference.trial import Samples, Trial

from .factors import FactorForms
from .mistake import Mistake

LARGE = 100_000  # entries of all values: of more, tangents in single precision are enough, in half of the memory
MOST_ROUNDING = 0.05  # a trial in which rounding may move an answer further tells nothing of it
DELICATE = 1e-3  # a trial in which rounding moves an answer further is no good for screening
TINY, ZERO = 1e-9, 1e-5  # what is computed as zero, in proportion to the right answer; what a learner may have for it
CANCELLED = 0.1  # below this share of the right answer, rounding of what cancels may be a large part of an array
NEARLY_RIGHT, SHARE_OF_ERROR = 2e-3, 0.01  # an error that may be a small term; how exactly a mistake must give it
MOST_COPIES = 100  # of an upstream gradient with further axes, for each of which a gradient is computed
SPREAD = 4.0  # standard deviations that the projection of an error may have
WrongAnswers = Mapping[str, tuple[Answer, Samples]]  # by target


class Candidate(Protocol):
    """Describes what the search tries as an explanation: a rewriting of the program, or a fact about the numbers."""

    @property
    def rank(self) -> float:
        """Return the likelihood rank (less is likelier); of all candidates that explain an answer, the least wins."""

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return by target the mistake in each answer that the candidate explains; empty where it explains none.

        Args:
            case: the wrong answers of one function, with the learner's array for each in every trial.
        """

    def changes_right_answer(self, case: Case) -> bool:
        """Return whether the candidate changes a gradient that the learner got right, which makes it less likely.

        Args:
            case: the wrong answers of one function, and the targets whose answers are right.
        """


class Rewriting(Protocol):
    """Describes an edit, or a combination of edits: what makes of the right program the one that the learner wrote."""

    def apply(self, program: Program) -> Program:
        """Return the program that a learner with this mistake wrote in a trial, from the right program of that trial.

        Raises:
            NoCandidate: the edited program cannot be computed, as where an array gets a wrong shape.
        """


@dataclass(frozen=True, eq=False)
class ProgramSample:
    """One trial of a case: its right program, and the learner's array for each wrong answer.

    Args:
        trial: the sizes, the inputs and the upstream gradient.
        program: the right program.
        given: by target the learner's array for each wrong answer, without the prior gradient; a target is missing
            where nothing may be stored in this trial.
    """

    trial: Trial
    program: Program
    given: Mapping[str, Array]

    @property
    def is_value(self) -> bool:
        """Return whether the answers are the value of the forward pass, and no gradients."""
        return self.program.is_value

    @cached_property
    def right(self) -> dict[str, Array]:
        """Return the right arrays: {"w": right gradient of w} by target, or {"return": right value} for a value."""
        return self._value_of(self.program) if self.is_value else self.program.gradients()

    def answers(self, program: Program) -> dict[str, Array]:
        """Return what a program gives for each answer: {"w": gradient of w}, or {"return": value} for a value.

        Args:
            program: the right program of this trial, or one edited from it.

        Returns:
            By target the gradient of each of the program's targets; where the answers are values, the program's value
            by the name of the answer.

        Raises:
            NoCandidate: the gradients cannot be computed.
        """
        if self.is_value:
            return self._value_of(program)
        return self.right if program is self.program else program.gradients()

    def answer(self, program: Program, name: str) -> Array:
        """Return the gradient that a program gives for one target; or its value, where the answers are values.

        Args:
            program: the program, perhaps edited.
            name: the target.

        Raises:
            NoCandidate: the gradient cannot be computed.
        """
        if self.is_value or program is self.program:
            return self.answers(program)[name]
        return program.gradient(name)

    def _value_of(self, program: Program) -> dict[str, Array]:
        """Return the value of a program's first output under the name of each answer: {"return": value}."""
        return dict.fromkeys(self.given, program.nodes[program.forward.outputs[0]].value)

    @cached_property
    def rounding(self) -> dict[str, float]:
        """Return by target the greatest error that rounding may make in its gradient, divided by its greatest entry.

        It is 0 where the answers are values.
        """
        if self.is_value:
            return dict.fromkeys(self.given, 0.0)
        targets = tuple(self.program.forward.targets)  # of a routine, those that are wrong in this submission
        known: dict[str, float] = self.trial.remember(
            ("rounding", *targets), lambda: tolerances(self.program, np.random.default_rng(0))
        )
        return known

    def is_wrong(self, name: str) -> bool:
        """Return whether the learner's array for the target `name` is wrong in this trial; False if there is none."""
        return name in self.given and not agrees(self.given[name], self.right[name])

    def has_shape(self, name: str) -> bool:
        """Return whether the learner's array for the target `name` has the right shape here; False if there is none."""
        return name in self.given and self.given[name].shape == self.right[name].shape

    def is_vague(self, name: str) -> bool:
        """Return whether rounding may change the gradient of the target `name` here so much that no array is judged."""
        return self.rounding[name] > MOST_ROUNDING

    def matches_learner(self, name: str, array: Array) -> bool:
        """Return whether an array is the learner's for a target, but for rounding.

        Where the right gradient is nothing but rounding, as of terms that cancel, two such small arrays are alike.

        Args:
            name: the target, for which `self.given` must have an array.
            array: the array, such as the gradient in an edited program.
        """
        if is_near(self.given[name], array, self.right[name], self.match_tolerances[name]):
            return True
        if self.rounding[name] >= 1 and self.given[name].shape == array.shape:
            noise = self.rounding[name] * float(np.abs(self.right[name]).max(initial=0.0))
            return float(np.abs(self.given[name] - array).max(initial=0.0)) <= noise
        error = scaled_error(self.given[name], array)
        return error <= MOST_ROUNDING and error <= self.rounding[name]

    def differs_from_right(self, name: str, array: Array) -> bool:
        """Return whether an array differs from the right one for a target by more than rounding explains.

        Args:
            name: the target.
            array: the array, such as the gradient in an edited program.
        """
        right = self.right[name]
        error = scaled_error(array, right)
        is_other = not is_near(array, right, right, self.match_tolerances[name])
        return error > MOST_ROUNDING or (is_other and error > self.rounding[name])

    @cached_property
    def match_tolerances(self) -> dict[str, float]:
        """Return by target the greatest scaled error at which a candidate's array counts as the learner's."""
        return {name: self._tolerance(name) for name in self.given}

    def _tolerance(self, name: str) -> float:
        """Return the greatest scaled error at which a candidate's array counts as the learner's for a target.

        It is `MATCH`; for a learner's array that is nearly right, a small share of its error, but no less than
        rounding. So a missing small term is distinguished from an imprecise answer.

        Args:
            name: the target.
        """
        if self.is_value or not self.has_shape(name) or not self.is_wrong(name):
            return MATCH
        error = scaled_error(self.given[name], self.right[name])
        if error >= NEARLY_RIGHT:
            return MATCH
        return min(MATCH, max(SHARE_OF_ERROR * error, self.rounding[name]))


def is_near(array: Array, other: Array, right: Array, tolerance: float = MATCH) -> bool:
    """Return whether a learner's array is the one that a candidate gives, but for rounding.

    Where the candidate gives zeros, or entries far below the right ones, an error that is tiny beside the right array
    counts as rounding, for that is what cancelling leaves.

    Args:
        array: the learner's array.
        other: the array that a candidate gives.
        right: the right array, whose size says what counts as zero.
        tolerance: the greatest difference of an entry, in proportion to the greatest entry.
    """
    size = float(np.abs(right).max(initial=0.0))
    largest = float(np.abs(other).max(initial=0.0))
    if largest > TINY * size:
        # A single number, such as a step, is no entry among larger ones that cancel.
        rounds_alike = largest <= CANCELLED * size and array.shape == other.shape and array.size > 1
        is_alike = rounds_alike and float(np.abs(array - other).max(initial=0.0)) <= ZERO * size
        return is_alike or scaled_error(array, other) <= tolerance
    return scaled_error(array, np.zeros_like(other)) <= ZERO * (size or 1.0)


def _follows(sample: ProgramSample, name: str, nearer: Sequence[str]) -> bool:
    """Return whether the learner's array for a target is what the chain rule makes of the learner's other arrays.

    Args:
        sample: the trial.
        name: the target.
        nearer: those targets on whose gradients that of `name` depends, and whose arrays are wrong in some trial: the
            learner's arrays are taken as their gradients.
    """
    if not any(map(sample.is_wrong, (name, *nearer))):
        return True
    if not sample.given.keys() >= {name, *nearer}:
        return False
    try:
        arrays = _consequences(sample, name, nearer)
    except (NoCandidate, ValueError):
        return False
    given, zero = sample.given[name], ZERO * float(np.abs(sample.right[name]).max(initial=0.0))
    for array in arrays:
        while array.ndim > given.ndim and len(array) and bool((array == array[:1]).all()):
            array = array[0]
        cancels = max(float(np.abs(values).max(initial=0.0)) for values in (array, given)) <= zero
        if array.shape == given.shape and (cancels or sample.matches_learner(name, array)):
            return True
    return False


def _consequences(sample: ProgramSample, name: str, nearer: Iterable[str]) -> list[Array]:
    """Return what right lines may make of the learner's arrays for other targets, as the gradient of a target.

    An array is broadcast to the shape of its target. If one has further axes in front, as where it is not summed over
    the batch, there is an upstream gradient for each index of these. A line keeps these axes, or they meet the first
    axes of its variable, as in broadcasting.

    Args:
        sample: the trial.
        name: the target.
        nearer: the other targets, for each of which the learner has an array.

    Returns:
        The gradient with the further axes in front; and, if the variable begins with these, that at equal indices.

    Raises:
        NoCandidate: the gradient cannot be computed, or there is no upstream gradient, or more than `MOST_COPIES`.
        ValueError: an array cannot be broadcast to the shape of its target, nor to that behind further axes.
    """
    targets = {other: sample.right[other] for other in nearer}
    spare = {other: max(sample.given[other].ndim - right.ndim, 0) for other, right in targets.items()}
    front = np.broadcast_shapes(*(sample.given[other].shape[:count] for other, count in spare.items()))
    if not 1 <= math.prod(front) <= MOST_COPIES:
        raise NoCandidate
    upstreams: dict[str, Array] = {}
    for other, right in targets.items():
        upstream = np.broadcast_to(sample.given[other], (*front, *right.shape))
        if not agrees(upstream, np.broadcast_to(right, upstream.shape)):
            upstreams[other] = upstream

    def upstream_at(other: str, index: tuple[int, ...]) -> EdgeVjp:
        """Return the rule by which the upstream gradient at the target `other` is the learner's array at an index."""
        return lambda at: upstreams[other][index]

    gradients: dict[tuple[int, ...], Array] = {}
    for index in np.ndindex(front):
        program = sample.program
        for other in upstreams:
            program = program.with_upstream(program.forward.targets[other], upstream_at(other, index))
        gradients[index] = program.gradient(name)
    shape = sample.right[name].shape
    arrays = [np.reshape(list(gradients.values()), (*front, *shape))]
    if front and shape[: len(front)] == front:
        arrays.append(np.reshape([gradient[index] for index, gradient in gradients.items()], shape))
    return arrays


MATRIX_PRODUCTS: tuple[Callable[[Array, Array], Array], ...] = (
    lambda other, array: other @ array,
    lambda other, array: other @ array.swapaxes(-1, -2),
    lambda other, array: array @ other,
    lambda other, array: array.swapaxes(-1, -2) @ other,
)


def _follows_by_product(samples: Sequence[ProgramSample], name: str, other: str) -> bool:
    """Return whether the gradient of a target is a matrix product of that of another with the output.

    It must be so in the learner's arrays as in the right ones. In `x = solve(a, b)` the gradient of a is -b.g @ x.T,
    which a learner computes from their own b.g. A product with an input, such as -t.g @ w.T in `x @ w - t`, does not
    count: there both gradients are computed from that of the difference.

    Args:
        samples: the trials of a case.
        name: the target whose array may be the product.
        other: the target whose array is a factor of it.
    """

    def holds(sample: ProgramSample, product: Callable[[Array, Array], Array], sign: int) -> bool:
        """Return whether a product with the output gives the right array and the learner's in a trial."""
        factor = sample.program.nodes[sample.program.forward.outputs[-1]].value
        if factor.dtype.kind != "f" or factor.ndim < 2:
            return False
        try:
            right, given = (sign * product(arrays[other], factor) for arrays in (sample.right, sample.given))
        except ValueError:
            return False
        expected = sample.right[name]
        if right.shape != expected.shape or not is_near(expected, right, expected):
            return False
        return sample.matches_learner(name, given)

    wrong_samples = [sample for sample in samples if name in sample.given]
    if not all(
        sample.has_shape(each) and sample.right[each].ndim >= 2 for sample in wrong_samples for each in (name, other)
    ):
        return False
    kinds = itertools.product(MATRIX_PRODUCTS, (1, -1))
    return bool(wrong_samples) and any(all(holds(sample, *kind) for sample in wrong_samples) for kind in kinds)


class Effect(NamedTuple):
    """The effect of a rewriting in one trial.

    Args:
        work: the calls of numpy that computing it takes.
        change: what it changes of the projections of the gradients, shape: (rows,); `None` if it changes none of these
            gradients, or gives no gradient.
        is_vague: whether rounding hides the change.
        results: the targets whose gradients it replaces at the end, as `Program.with_result` does.
    """

    work: float = 0.0
    change: Array | None = None
    is_vague: bool = False
    results: Collection[str] = ()


Effects = WeakKeyDictionary[Rewriting, Effect]
_EFFECTS: WeakKeyDictionary[Program, dict[tuple[str, ...], Effects]] = WeakKeyDictionary()  # by the right program


class ScreeningTrial:
    """One trial in which it is cheap to see whether a rewriting gives the learner's gradients.

    It compares projections on random directions: a rewriting passes for a target if it moves each of the target's
    projections from the right one to that of the learner's array.

    Attributes:
        sample: the trial, with its program and the learner's arrays.
        names: the targets that are compared.
        tangents: the random directions of these targets, and the derivatives of all values along them.
        targets: the same targets as a bit mask of ids.
        wanted: what a rewriting must add to each projection of the right gradients; shape: (rows,).
        bounds: how far off each projection may be; shape: (rows,).
    """

    def __init__(self, sample: ProgramSample, names: Sequence[str]) -> None:
        """Draw two random directions of each target, and project the learner's arrays on them.

        A direction is an array shaped like the target, and the projection on it the sum of its products with a
        gradient.

        Args:
            sample: a trial in which the answers are wrong.
            names: their targets; the learner's array for each has the right shape here.
        """
        self.sample, self.names = sample, tuple(names)
        key = ("tangents", self.names)
        is_large = sum(map(math.prod, sample.program.forward.shapes)) > LARGE
        dtype = np.float32 if is_large else np.float64
        self.tangents: Tangents = sample.trial.remember(
            key, lambda: draw_tangents(sample.program, np.random.default_rng(0), self.names, dtype=dtype)
        )
        given = {name: sample.given[name] for name in names}
        self._effects = _EFFECTS.setdefault(sample.program, {}).setdefault(self.names, WeakKeyDictionary())
        self.targets = sum(1 << sample.program.forward.targets[name] for name in names)  # as a bit mask
        self.wanted = self.tangents.project(given) - self.tangents.right
        self.bounds = np.zeros(len(self.wanted))
        for name, rows in self.tangents.rows.items():
            array = sample.given[name]
            size, own = (np.abs(each).max(initial=0.0) for each in (sample.right[name], array))
            least = max(sample.match_tolerances[name], min(sample.rounding[name], DELICATE))
            error = ZERO * size if own <= ZERO * size else least * own
            self.bounds[rows] = SPREAD * error * np.sqrt(array.size) + TINY * np.abs(self.tangents.right[rows])

    def effect_of(self, edit: Rewriting) -> Effect:
        """Return the `Effect` of a rewriting in this trial: what it adds to the projections, and the work for that.

        A projection is the sum of a gradient times a random direction. The effect does not depend on the learner's
        arrays. It is cached for further answers of the same function.
        """
        effect = self._effects.get(edit)
        if effect is None:
            effect = self._effects[edit] = self._compute_effect(edit)
        return effect

    def _compute_effect(self, edit: Rewriting) -> Effect:
        """Return the `Effect` of a rewriting on this trial's right program, without a cache.

        Its `change` is `None` where the rewriting changes no gradient of `self.names`, or cannot be computed.
        """
        effect = Effect()
        try:
            program = edit.apply(self.sample.program)
            effect = effect._replace(results=tuple(program.results))
            if not program.reach[0] & self.targets:
                return effect
            effect = effect._replace(work=work_of(program))
            return effect._replace(change=program.change(self.tangents))
        except Vague:
            return effect._replace(is_vague=True)
        except NoCandidate:
            return effect

    def matched_targets(self, change: Array) -> tuple[str, ...]:
        """Return the targets for which a rewriting gives the projections of the learner's array.

        A projection is the sum of a gradient times a random direction.

        Args:
            change: what the rewriting adds to each projection of the right gradients; shape: (rows,).
        """
        fits = abs(change - self.wanted) <= self.bounds
        return tuple(name for name in self.names if fits[self.tangents.rows[name]].all()) if fits.any() else ()


@dataclass(eq=False)
class Case:
    """The wrong answers of one function in all trials, and what the search has learned about them so far.

    Args:
        samples: the trials, the first one of the run first.
        names: the targets whose answers are wrong.
        right_names: the targets whose answers are known to be right.
        answers: by target the wrong answer, with the learner's array in each trial as it was given: what observations
            and declared mistakes read.
        work: what has been computed so far, in calls of numpy.
        work_of_matches: the part of it that took the full comparison of rewritings which explain an answer.
        changes: for each rewriting that changes gradients, for each screen, what it adds to the projections there;
            shape: (rows,).
        results: the same for each rewriting that replaces a target's gradient at the end, as `Program.with_result`.
        reshaping: for each rewriting that replaces gradients at the end, those of their targets whose answers have a
            wrong shape.
        explaining: for each rewriting that explains answers, their targets.
        comparisons: how many times gradients were computed in full and compared.
        suspects: the candidates whose gradients were compared in full, in the order in which they were tried.
    """

    samples: Sequence[ProgramSample]
    names: tuple[str, ...]
    right_names: tuple[str, ...] = ()
    answers: WrongAnswers = field(default_factory=dict)
    work: float = 0.0
    work_of_matches: float = 0.0
    changes: dict[Rewriting, tuple[Array, ...]] = field(default_factory=dict)
    results: dict[Rewriting, tuple[Array, ...]] = field(default_factory=dict)
    reshaping: dict[Rewriting, tuple[str, ...]] = field(default_factory=dict)
    explaining: dict[Rewriting, tuple[str, ...]] = field(default_factory=dict)
    comparisons: int = 0
    suspects: list[Candidate] = field(default_factory=list)

    @property
    def work_of_trying(self) -> float:
        """Return the work without what the full comparison of the rewritings took that explain an answer."""
        return self.work - self.work_of_matches

    @cached_property
    def listing(self) -> Program:
        """Return the right program whose spots and choices the search lists as edits.

        It is the program of the first of `screens`; of the first trial where there are none.
        """
        return self.screens[0].sample.program if self.screens else self.samples[0].program

    @cached_property
    def _best_for_screens_first(self) -> list[ProgramSample]:
        """Return the samples sorted by `_screening_order`: those with usual sizes and a quick forward pass first."""
        return sorted(self.samples, key=_screening_order)

    @cached_property
    def further_listings(self) -> tuple[Program, ...]:
        """Return right programs of other structure than `listing`: one for each structure that usual trials have.

        A structure is the number of axes of each value of the forward pass, and which axes have one entry. The result
        is empty unless an exercise broadcasts in several ways, or takes arrays of any number of axes.
        """
        programs = {_structure(self.listing): self.listing}
        for sample in self._best_for_screens_first:
            if not sample.trial.setting.is_special:
                programs.setdefault(_structure(sample.program), sample.program)
        return tuple(programs.values())[1:]

    @cached_property
    def screens(self) -> tuple[ScreeningTrial, ...]:
        """Return the screens: a few trials in which answers are compared by projections, which costs no backward pass.

        A projection is the sum of a gradient times a random direction; see `ScreeningTrial`. Each target has one
        screen, in which its answer is wrong, by more than a little where there is such a trial. A target has none if
        its answer has the wrong shape wherever it is wrong, or is 0 everywhere, or may have none if rounding is large
        wherever it is wrong; and there are no screens for answers that are values, which need no backward pass.
        """
        if self.samples and self.samples[0].is_value:
            return ()
        screens, open_names = [], [name for name in self.names if name not in self.zeros]
        samples = self._best_for_screens_first
        while open_names:
            tell = {
                id(sample): [n for n in open_names if sample.is_wrong(n) and sample.has_shape(n)] for sample in samples
            }
            clear = {
                id(each): sum(scaled_error(each.given[n], each.right[n]) >= NEARLY_RIGHT for n in tell[id(each)])
                for each in samples
            }
            sample = max(samples, key=lambda each: (clear[id(each)], len(tell[id(each)])))
            if not (names := tell[id(sample)]):
                break
            samples = [each for each in samples if each is not sample]
            if all(sample.rounding[name] <= DELICATE for name in names) or not samples:
                screens.append(ScreeningTrial(sample, names))
                open_names = [name for name in open_names if name not in names]
        return tuple(screens)

    @cached_property
    def forms(self) -> FactorForms:
        """Return a table of expressions such as 1 / n, with their values in each trial, to find one for a factor."""
        return FactorForms([sample.trial for sample in self.samples])

    def is_screened_as(self, other: Case) -> bool:
        """Return whether another case has all answers of this one, and each has its screen in the same trial in both.

        A screen is the trial in which an answer is compared by projections first. What passes the screens of this case
        has then passed those of the other.

        Args:
            other: a case of the same function.
        """
        return bool(self.samples) and self._screen_trials.items() <= other._screen_trials.items()

    @cached_property
    def _screen_trials(self) -> dict[str, int | None]:
        """Return by target Python's `id` of the trial that is the screen of its answer; `None` if it has no screen."""
        screened = {name: id(screen.sample.trial) for screen in self.screens for name in screen.names}
        return {name: screened.get(name) for name in self.names}

    @cached_property
    def roots_of_followers(self) -> dict[str, tuple[str, ...]]:
        """Return the targets whose wrong arrays are the right consequence of the learner's arrays nearer to the loss.

        The gradient of `mean` follows from that of `centred = inp - mean` if it is what the chain rule makes of the
        learner's own gradient of `centred`, in every trial. So does a gradient that is a matrix product of another one
        with the output.

        Returns:
            For each of these targets, the targets with wrong arrays that it depends on, nearest to the loss first,
            without those that follow from others themselves.
        """
        if not self.samples or self.samples[0].is_value:
            return {}
        forward = self.samples[0].program.forward
        roots: dict[str, tuple[str, ...]] = {}
        for name in sorted(self.names, key=self.distance):
            nearer = [
                other
                for other in self.names
                if other != name and forward.ancestors[forward.targets[other]] >> forward.targets[name] & 1
            ]
            if nearer and all(_follows(sample, name, nearer) for sample in self.samples if name in sample.given):
                roots[name] = tuple(sorted((n for n in nearer if n not in roots), key=self.distance))
        for name, other in itertools.permutations(self.names, 2):
            if not {name, other} & roots.keys() and _follows_by_product(self.samples, name, other):
                roots[name] = (other,)
        return roots

    def distance(self, name: str) -> tuple[int, int]:
        """Return how far from the loss the target `name` is, as a pair that sorts: (0, -5) is nearer than (0, -3).

        The first number is minus the id of a named value, 0 for an input; the second is minus the id of its last
        reader. So named values come before inputs, and of the inputs that one is nearest which is read last. For
        values, and in a case without programs, it is (0, 0).
        """
        if not self.samples or self.samples[0].is_value:
            return 0, 0
        forward = self.samples[0].program.forward
        target = forward.targets[name]
        made = -target if target not in forward.inputs.values() else 0
        return made, -max((reader % len(forward.nodes) for reader, _ in forward.uses[target]), default=0)

    @cached_property
    def right_mask(self) -> int:
        """Return a bit mask of the targets in `listing` whose answers are known to be right."""
        targets = self.listing.forward.targets
        return sum(1 << targets[name] for name in self.right_names if name in targets)

    @property
    def unexplained(self) -> frozenset[str]:
        """Return the targets of the answers that no rewriting explains so far."""
        return frozenset(self.names).difference(*self.explaining.values())

    def targets_explained_by(self, edit: Rewriting, names: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return the targets whose answers a rewriting explains.

        It is judged by the projections in the screens first, and where it passes these by all its gradients. Trials in
        which rounding hides the answer (see `ProgramSample.is_vague`) are left out. An answer of zeros alone counts
        only beside another that is explained. What the rewriting adds to the projections is stored in the field
        `changes` or `results`.

        Args:
            edit: the rewriting.
            names: the targets that are compared; `None` for all wrong answers.
        """
        compared = set(self.names if names is None else names)
        names = self.confirm(edit, [name for name in self._screen(edit) if name in compared])
        zeros = self.zeros & compared
        return names + self._zeros_explained_by(edit, zeros) if names and zeros else names

    def _zeros_explained_by(self, edit: Rewriting, names: Collection[str]) -> tuple[str, ...]:
        """Return those of the targets `names`, whose answers are zeros alone, that a rewriting makes zero, too.

        It must do so in each trial whose program it changes, but for those in which rounding hides what it gives. Many
        edits make a gradient zero, so that an answer of zeros alone has no certain cause: this is asked only of a
        rewriting that explains another answer, and so is known to have gradients.

        Args:
            edit: the rewriting.
            names: the targets, all of them in `zeros`.
        """
        for sample in self.samples:
            if not names:
                break
            try:
                program = edit.apply(sample.program)
                answers = {} if program is sample.program else sample.answers(program)
            except Vague:
                continue
            compared = answers.keys() & sample.given.keys()
            names = [name for name in names if name not in compared or sample.matches_learner(name, answers[name])]
        return tuple(names)

    def confirm(self, edit: Rewriting, names: Sequence[str]) -> tuple[str, ...]:
        """Return those of the targets `names` whose answers a rewriting explains, by all its gradients in every trial.

        Trials in which rounding hides the answer are left out; a target with more than half of such trials counts as
        not explained. So does one for which the rewriting gives the right array in every trial, and an answer in
        `noise` where in no trial both the right array and the rewriting's are nonzero. Work and comparison are counted.

        Args:
            edit: the rewriting.
            names: the targets.
        """
        if not names:
            return ()
        self.comparisons += 1
        before = self.work
        names, apart, vague = list(names), set[str](), dict.fromkeys(names, 0)
        empty = {name for name in names if name in self.noise}  # no noise comes from nothing at all
        for sample in self._smallest_first:
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
                if sample.matches_learner(name, answers[name]):
                    if sample.differs_from_right(name, answers[name]):
                        apart.add(name)
                elif sample.is_vague(name):
                    vague[name] += 1
                else:
                    names.remove(name)
        names = [name for name in names if name in apart - empty and 2 * vague[name] <= len(self.samples)]
        if not names or self.is_refuted(edit):
            return ()
        self.work_of_matches += self.work - before
        return tuple(names)

    def is_refuted(self, edit: Rewriting) -> bool:
        """Return whether a rewriting lets the forward pass read other values, and thereby changes a right answer.

        A forward pass reads the same values for all gradients. So if another one seems to be read for one answer alone,
        as where a missing path cancels it, the learner's right answers tell that something else is wrong.

        Args:
            edit: the rewriting, which explains an answer.
        """
        for sample in self._smallest_first if self.right_names and not self.samples[0].is_value else ():
            program = edit.apply(sample.program)
            if _reads_other_values(program.forward, sample.program.forward):
                gradients = sample.answers(program)
                if not all(agrees(gradients[name], sample.right[name]) for name in self.right_names):
                    return True
        return False

    @cached_property
    def _smallest_first(self) -> list[ProgramSample]:
        """Return the samples, those first whose forward pass has the fewest numbers in all its values together.

        Most rewritings fail in the cheapest trial.
        """
        return sorted(self.samples, key=lambda sample: sum(map(math.prod, sample.program.forward.shapes)))

    def changes_right_answer(self, edit: Rewriting) -> bool:
        """Return whether a rewriting may change a gradient that the learner got right, as a path leads to its target.

        False if the answers are values.

        Raises:
            NoCandidate: the edited program cannot be computed.
        """
        if self.samples[0].is_value:
            return False
        return reaches_targets(edit.apply(self.listing), self.right_names)

    def _screen(self, edit: Rewriting) -> tuple[str, ...]:
        """Return the targets whose answers a rewriting may explain, judged by the projections in the screens alone.

        What the rewriting adds to the projections is stored in the field `changes`, or `results`, if it has an effect
        in each screen.
        """
        self.work += 1
        if not self.screens:
            return self._without_screen(edit)
        names: list[str] = []
        changes: list[Array] = []
        for number, screen in enumerate(self.screens):
            effect = screen.effect_of(edit)
            self.work += effect.work
            if number == 0 and effect.results:
                names.extend(self._record_reshaping(edit, effect.results))
            if effect.is_vague:
                names.extend(screen.names)
            elif effect.change is not None and (abs(effect.change) > screen.bounds).any():
                changes.append(effect.change)
                names.extend(screen.matched_targets(effect.change))
        if changes and len(changes) == len(self.screens) and all(np.isfinite(change).all() for change in changes):
            (self.results if effect.results else self.changes)[edit] = tuple(changes)
        return tuple(names)

    def _without_screen(self, edit: Rewriting) -> tuple[str, ...]:
        """Return the targets whose answers a rewriting may explain, in a case without screens.

        If the answers are values: all, where it changes the forward pass. Else those whose answers have a wrong shape,
        where it replaces their gradients at the end, as `Program.with_result` does.
        """
        program = self.samples[0].program
        try:
            edited = edit.apply(program)
        except NoCandidate:
            return ()
        if self.samples[0].is_value:
            return self.names if edited.forward is not program.forward else ()
        return self._record_reshaping(edit, edited.results)

    def _record_reshaping(self, edit: Rewriting, results: Collection[str]) -> tuple[str, ...]:
        """Return those of the targets `results` whose answers have a wrong shape; store them in the field `reshaping`.

        Args:
            edit: the rewriting.
            results: the targets whose gradients it replaces at the end.
        """
        names = tuple(name for name in self.targets_of_wrong_shape if name in results)
        if names:
            self.reshaping[edit] = names
        return names

    @cached_property
    def targets_of_wrong_shape(self) -> tuple[str, ...]:
        """Return the targets without a screen that are not in `zeros`: as a rule, of a wrong shape wherever wrong."""
        screened = {name for screen in self.screens for name in screen.names}
        return tuple(name for name in self.names if name not in screened and name not in self.zeros)

    @cached_property
    def zeros(self) -> frozenset[str]:
        """Return the targets whose answers are exactly 0 in all entries in each trial in which the right one is not."""
        return frozenset(n for n in self.names if all(given.size and not given.any() for given, _ in self._arrays(n)))

    @cached_property
    def noise(self) -> frozenset[str]:
        """Return the targets, except those in `zeros`, whose learner's array is 0 but for rounding in each trial."""
        return frozenset(
            name
            for name in self.names
            if name not in self.zeros
            and all(a.size and np.abs(a).max() <= ZERO * np.abs(right).max() for a, right in self._arrays(name))
        )

    def _arrays(self, name: str) -> list[tuple[Array, Array]]:
        """Return pairs (learner's array, right array) for a target.

        They are those of all trials that have a learner's array for it and a right array with an entry other than 0.
        """
        samples = [sample for sample in self.samples if name in sample.given and sample.right[name].any()]
        return [(sample.given[name], sample.right[name]) for sample in samples]


def reaches_targets(program: Program, names: Iterable[str]) -> bool:
    """Return whether the edits of a program may change the gradient of at least one of the targets `names`.

    They may where a path leads from the target through an edit to the loss.
    """
    right = program.right.forward
    into, _ = program.reach
    return any(into >> right.targets[name] & 1 for name in names)


def _reads_other_values(forward: Forward, other: Forward) -> bool:
    """Return whether two forward passes differ in the value of an input, or in the operands of an operation."""
    if forward is other:
        return False
    pairs = zip(forward.nodes, other.nodes, strict=False)
    return any(
        node.operands != same.operands if node.operands else node.value is not same.value for node, same in pairs
    )


def _screening_order(sample: ProgramSample) -> tuple[bool, bool, bool, float]:
    """Return a key that sorts samples by how well answers can be compared in them, the best first.

    It is (has an output that is not finite, has a special setting such as a batch of one, has a loop of two iterations,
    time that a forward pass takes): of small arrays, the number of iterations counts more than the number of entries.
    """
    forward = sample.program.forward
    iterations = max(map(len, forward.by_key.values()))
    is_number = all(np.isfinite(forward.nodes[output].value).all() for output in forward.outputs)  # or no tangent is
    return (
        not is_number,
        sample.trial.setting.is_special,
        iterations == 2,
        sum(forward.costs),
    )


def _structure(program: Program) -> tuple[tuple[bool, ...], ...]:
    """Return for each axis of each value of a program whether it has one entry: ((False, True),) for shape (4, 1).

    The values are those of all nodes, in their order, inputs first.
    """
    return tuple(tuple(size == 1 for size in shape) for shape in program.forward.shapes)


def work_of(program: Program, full: bool = False) -> float:
    """Return an estimate of the work to compute what an edited program changes, in calls of numpy.

    It is the same on any machine.

    Args:
        program: the edited program.
        full: whether all its gradients are computed, as `Program.gradients` does; else only what the edits add to the
            gradients' products with random directions, as `Program.change` does.
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
