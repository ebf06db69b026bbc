"""Facts about a wrong answer's numbers as candidates of the search, each with a likelihood rank.

They are reported where no likelier edit gives the numbers. Most are computed by `facts` from the answer alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from grader.course.exercise import Answer
from grader.program.forward import SINK, Place
from grader.program.operation import Array, NoCandidate, unbroadcast
from grader.program.program import EdgeContext, Program
from grader.reference.compare import MATCH, scaled_error
from grader.reference.trial import Samples

from . import facts
from .case import Candidate, Case, ProgramSample
from .factors import common_ratio
from .hints import STORED_AND_NEW
from .mistake import Fact, FactKind, Mistake, fact_kind
from .operators.branches import masking
from .operators.places import Spot
from .other_programs import NumberMistaken, edits_of_right_answers
from .quotients import wrong_quotient
from .words import list_in_words
from .wrong_values import BehindRightAnswers, FirstWrongGradient

CLOSE = 2e-3  # an error, in proportion to the largest entry, that is no accident of two mistakes
MOST_ROWS = 9  # of which every choice is tried
MOST_WORK_OF_ROWS = 20_000.0  # calls of numpy, for the sweeps of all rows in one trial
FEW_ENTRIES = 1_000  # so many refute nearly every choice of rows
LEAST_ROW_ENTRIES, LEAST_ROW_TRIALS = 4, 2  # of answers in which some rows do not count: more of them are no accident
LEAST_SPARE = 2  # equations more than unknowns, so that a solution is no accident

PRIOR_LOST = fact_kind(
    "prior-lost",
    "the gradient that was already stored in {answer} is lost: add the new gradient to it",
)
PRIOR_KEPT = fact_kind(
    "prior-kept",
    "the gradient that was already stored in {answer} is unchanged: add the new gradient to it",
)
PRIOR_SUBTRACTED = fact_kind(
    "prior-subtracted",
    "the gradient that was already stored is subtracted: add the new gradient to it",
    hints=STORED_AND_NEW,
)
NEW_TWICE_WITHOUT_PRIOR = fact_kind(
    "new-twice-without-prior",
    "where no gradient was stored before, the new gradient is added twice",
    hints=STORED_AND_NEW,
)
ADDED_TO_VARIABLE = fact_kind(
    "added-to-variable",
    "the new gradient is added to {variable} itself: add it to the gradient stored in {answer}",
    hints=STORED_AND_NEW,
)
MEAN_WITH_PRIOR = fact_kind(
    "mean-with-prior",
    "this is the mean of the stored and the new gradient: add the two",
    hints=STORED_AND_NEW,
)
NOT_ACCEPTED = fact_kind(
    "not-accepted",
    "it does not meet the conditions that the exercise states",
)
ERROR_TOO_LARGE = fact_kind(
    "error-too-large",
    "the error of this answer is far larger than necessary",
)


@dataclass(frozen=True, eq=False)
class Observation:
    """A candidate: a fact about the numbers of one answer, which needs no program.

    Args:
        rank: the likelihood rank.
        observe: takes the answer and its samples; returns the fact as a mistake, or `None` where it is not true.
        name: the target of the answer.
    """

    rank: float
    observe: Callable[[Answer, Samples], Mistake | None]
    name: str

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return the fact as the mistake in its answer: `{target: mistake}`; an empty mapping where it is not true."""
        mistake = self.observe(*case.answers[self.name])
        return {} if mistake is None else {self.name: mistake}

    def changes_right_answer(self, case: Case) -> bool:
        """Return False: a fact about one answer changes no other answer."""
        return False


@dataclass(frozen=True, eq=False)
class SharedObservation:
    """A candidate: a fact about the numbers of all answers of which it is true, as one mistake.

    Args:
        rank: the likelihood rank.
        observe: takes the case and an answer's samples; returns the fact as a mistake, or `None` where it is not true.
    """

    rank: float
    observe: Callable[[Case, Samples], Mistake | None]

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return by target the fact as the mistake in each answer of which it is true."""
        mistakes = {target: self.observe(case, samples) for target, (_, samples) in case.answers.items()}
        return {target: mistake for target, mistake in mistakes.items() if mistake is not None}

    def changes_right_answer(self, case: Case) -> bool:
        """Return False: a fact about wrong answers changes no other answer."""
        return False


def observations(case: Case, *, accepts: bool = False) -> list[Candidate]:
    """Return all facts that may be true of the wrong answers, as candidates: one for each fact and answer.

    Whether a fact is true is computed when the search asks. The last candidates tell where the mistake is, one for each
    answer.

    Args:
        case: the wrong answers.
        accepts: whether the exercise accepts more than one answer as right: then one fact is that the answer is not
            accepted, and no candidate edits the right array.
    """
    observed = {not_accepted: 0.0, **OBSERVED} if accepts else OBSERVED
    every = [Observation(rank, observe, name) for name in case.answers for observe, rank in observed.items()]
    by_program = [
        ProgramObservation(rank, observe, name) for name in case.answers for observe, rank in SEEN_IN_PROGRAM.items()
    ]
    of_right = [] if accepts else edits_of_right_answers(case)  # of several none is *the* one
    behind = map(BehindRightAnswers, case.answers)
    shared = [SharedObservation(rank, observe) for observe, rank in OBSERVED_TOGETHER.items()]
    return [*every, *by_program, *of_right, NumberMistaken(), *shared, FirstWrongGradient(), *behind]


def not_accepted(answer: Answer, samples: Samples) -> Mistake | None:
    """Return the fact that an answer is not accepted; or that its error is too large, if it is a number in every trial.

    `None` where it is no number, and in some trial has another number of axes than `expected`.

    Args:
        answer: not read.
        samples: for each trial the learner's array and, as `expected`, one of the several answers that are right.
    """
    if all(sample.given.ndim == 0 for sample in samples):
        return ERROR_TOO_LARGE("imprecise")
    return NOT_ACCEPTED("unknown") if all(sample.given.ndim == sample.expected.ndim for sample in samples) else None


def _observe_stored(
    combine: Callable[[Array, Array, Array], Array],
    code: str,
    kind: FactKind,
    alone: Callable[[Array, Array], Array] = lambda new, variable: new,
) -> Callable[[Answer, Samples], Mistake | None]:
    """Return a function that sees whether a wrong combination was stored in place of new gradient plus prior gradient.

    With `lambda new, prior, variable: new`: the new gradient alone was stored, so that the prior one is lost.

    Args:
        combine: takes the new gradient, the prior one, and the variable, all of one shape; returns what was stored.
        code: the public code of the mistake.
        kind: the kind of the fact.
        alone: takes the new gradient and the variable; returns what was stored in trials without a prior gradient.

    Returns:
        A function of the answer and its samples: the fact, or `None` where it is not true in every trial, or no trial
        has a prior gradient.
    """

    def observe(answer: Answer, samples: Samples) -> Mistake | None:
        """Return the fact, or `None` where it is not true in every trial."""
        if all(sample.trial.prior(answer) is None for sample in samples):
            return None
        for sample in samples:
            new, prior = sample.trial.new(answer), sample.trial.prior(answer)
            variable = np.asarray(sample.trial.inputs.get(answer.wrt, np.zeros(())))
            stored = alone(new, variable) if prior is None else combine(new, prior, variable)
            if scaled_error(sample.given, stored) > MATCH:
                return None
        return kind(code, variable=answer.wrt, answer=answer.name)

    return observe


def _of_samples(
    observe: Callable[[Samples], Mistake | None],
) -> Callable[[Answer, Samples], Mistake | None]:
    """Return a function of an answer and its samples that calls `observe` with the samples alone."""
    return lambda answer, samples: observe(samples)


def _wrong_shape_fact(answer: Answer, samples: Samples) -> Mistake | None:
    """Return the fact that the learner's array has a wrong shape in some trial; `None` if its shapes are all right."""
    return None if facts.have_right_shapes(samples) else facts.wrong_shape(answer, samples)


def _broadcast_fact(answer: Answer, samples: Samples) -> Mistake | None:
    """Return the fact that the learner's array has the shape of two inputs broadcast against each other, or `None`.

    Only the first trial is looked at; `None` where its shape is right, or there is no trial.
    """
    return None if not samples or samples[0].has_shape else facts.broadcast_accident(answer, samples)


def _unknown_fact(answer: Answer, samples: Samples) -> Mistake | None:
    """Return the fact that the answer is wrong, with the number of wrong entries and the error; it is never `None`.

    If the answer is right in all given trials, return the fact that there is nothing to compare.
    """
    return facts.nothing_to_compare() if all(sample.agrees for sample in samples) else facts.unknown_mistake(samples)


def _constant_fact(samples: Samples) -> Mistake | None:
    """Return the fact that an answer of the right shape is one number in all entries of all trials, perhaps 0 or 1.

    Return `None` where it is not.
    """
    return facts.constant_answer(samples, trivial=True) if facts.have_right_shapes(samples) else None


def _typed_in_fact(answer: Answer, samples: Samples) -> Mistake | None:
    """Return the fact that a value (no gradient or Jacobian) is one number in all entries of all trials; else `None`.

    Gradients are left out, as one may be 1 everywhere because its upstream gradient is missing.
    """
    return _constant_fact(samples) if answer.kind == "value" else None


def _training_step_fact(answer: Answer, samples: Samples) -> Mistake | None:
    """Return the fact that an answer is the variable after a step of training, such as w - 0.1 * dw; else `None`.

    It is `None`, too, where the variable is a multiple of its right gradient, so that a step is no more than a factor.
    """
    inputs = [np.asarray(sample.trial.inputs.get(answer.wrt, np.zeros(()))) for sample in samples]
    if any(common_ratio(own, sample.expected) is not None for own, sample in zip(inputs, samples, strict=True)):
        return None
    return facts.training_step(answer, samples)


# The rank of each fact that needs no program: after the edits that are likelier, before those that are not.
OBSERVED: Mapping[Callable[[Answer, Samples], Mistake | None], float] = {
    _of_samples(facts.constant_answer): 0.5,
    _typed_in_fact: 0.6,
    _observe_stored(lambda new, prior, variable: new, "overwritten", PRIOR_LOST): 0.8,
    _observe_stored(lambda new, prior, variable: prior, "overwritten", PRIOR_KEPT): 0.9,
    _observe_stored(lambda new, prior, variable: new - prior, "wrong-sign", PRIOR_SUBTRACTED): 1.0,
    _observe_stored(lambda new, prior, variable: (new + prior) / 2, "mean-for-sum", MEAN_WITH_PRIOR): 1.0,
    _observe_stored(
        lambda new, prior, variable: new + variable,
        "overwritten",
        ADDED_TO_VARIABLE,
        lambda new, variable: new + variable,
    ): 1.0,
    _observe_stored(
        lambda new, prior, variable: new + prior,
        "wrong-factor",
        NEW_TWICE_WITHOUT_PRIOR,
        lambda new, variable: 2 * new,
    ): 1.0,
    facts.weighted_with_prior: 2.9,
    _of_samples(facts.same_shape_in_every_trial): 3.0,
    _broadcast_fact: 3.0,
    _of_samples(facts.zero_answer): 2.2,
    wrong_quotient: 2.0,
    _of_samples(facts.offset_answer): 3.2,
    _of_samples(facts.rounded_answer): 3.2,
    _training_step_fact: 3.2,
    _of_samples(facts.nonzero_where_zero): 4.0,
    _of_samples(partial(facts.imprecise_answer, most=CLOSE)): 4.4,
    facts.right_in_some_trials: 4.5,
    _of_samples(_constant_fact): 5.0,
    _wrong_shape_fact: 4.9,
    _of_samples(facts.wrong_for_function_part): 6.9,
    _of_samples(facts.varying_ratio): 7.5,
    _unknown_fact: 10.0,
}


# Both before the first wrong gradient, which says less.
OBSERVED_TOGETHER: Mapping[Callable[[Case, Samples], Mistake | None], float] = {
    lambda case, samples: facts.not_linear_in_upstream(case.listing.upstream_name or "1", samples): 6.9,
    lambda case, samples: facts.imprecise_answer(samples): 6.95,
}


@dataclass(frozen=True, eq=False)
class ProgramObservation:
    """A candidate: a fact about the numbers of one answer that is read from the program.

    Args:
        rank: the likelihood rank.
        observe: takes the case, the target, the answer and its samples; returns the fact as a mistake, or `None` where
            it is not true.
        name: the target of the answer.
    """

    rank: float
    observe: Callable[[Case, str, Answer, Samples], Mistake | None]
    name: str

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return by target the fact as a mistake; an empty mapping where it is not true.

        It is empty, too, where the answer is no gradient, or there is no program.
        """
        answer, samples = case.answers[self.name]
        if answer.kind != "gradient" or not case.samples:
            return {}
        mistake = self.observe(case, self.name, answer, samples)
        return {} if mistake is None else {self.name: mistake}

    def changes_right_answer(self, case: Case) -> bool:
        """Return False: a fact about one answer changes no other answer."""
        return False


def _observe_upstream(*names: str) -> Callable[[Case, str, Answer, Samples], Mistake | None]:
    """Return a function that returns the fact of `facts.misused_upstream` if it has one of some names; else `None`.

    Such a fact is that the answer does not depend on the upstream gradient, or is divided by it.

    Args:
        names: the names of facts, such as `"upstream-not-in-it"`.

    Returns:
        A function of the case, the target, the answer and its samples.
    """

    def observe(case: Case, name: str, answer: Answer, samples: Samples) -> Mistake | None:
        """Return the fact, or `None` where none with these names is true."""
        mistake = facts.misused_upstream(answer, case.listing.upstream_name or "1", samples)
        return mistake if mistake is not None and mistake.facts[0].operator in names else None

    return observe


def wrong_mask_fact(case: Case, name: str, answer: Answer, samples: Samples) -> Mistake | None:
    """Return the fact that the backward pass uses a wrong mask, such as z < 0 for z > 0 in that of relu; else `None`.

    Each entry of the answer is then 0 or what it would be without any mask, but not at the right entries. The first
    mask of the forward pass that fits is taken. `None` is also returned where the case lacks the program of a sample.

    Args:
        case: the case, whose forward pass has the masks.
        name: the target of the answer.
        answer: the answer.
        samples: for each trial the learner's and the right array.
    """
    programs = {id(sample.trial): sample.program for sample in case.samples}
    if len(programs) != len(samples):
        return None
    for spot in masking.spots(case.listing):
        closed = [_gradient_behind_masks(programs[id(sample.trial)], spot, name) for sample in samples]
        if all(array is not None for array in closed):
            mistake = facts.wrong_mask(answer, samples, [[array for array in closed if array is not None]])
            if mistake is not None:
                return mistake
    return None


def _gradient_behind_masks(program: Program, spot: Spot, name: str) -> Array | None:
    """Return the gradient of a target without the masks at a spot, minus its right gradient.

    Without them an upstream gradient is passed on unchanged. Return `None` where that cannot be computed.

    Args:
        program: the right program of a trial.
        spot: the nodes that mask a gradient, such as relu(z).
        name: the target.

    Returns:
        Shape: that of the target.
    """
    edited = program
    for node, _ in spot.places(program):
        for slot, _ in program.forward.edges[node]:
            edited = edited.with_vjp((node, slot), lambda at: unbroadcast(at.g, at.x))
    try:
        return np.asarray(edited.gradients()[name] - program.gradients()[name])
    except NoCandidate:
        return None


def _uneven_rows_fact(case: Case, name: str, answer: Answer, samples: Samples) -> Mistake | None:
    """Return the fact that some rows of an output's axis are left out of an answer, or have wrong weights; else `None`.

    Such as that only the first example of a batch contributes to `w.g`. The first edge and axis of `_row_splits` that
    fit are taken, and rows that are left out come before weights.

    Args:
        case: the case.
        name: the target of the answer.
        answer: not read.
        samples: not read.
    """
    program = case.listing
    for place, axis in _row_splits(program):
        axis_name = program.name_of_axis(program.source(place), axis)
        split = [
            _row_contributions(sample, place, axis, axis_name, name) for sample in case.samples if name in sample.given
        ]
        parts = [each for each in split if each is not None]
        if len(parts) == len(split):
            mistake = _uncounted_rows_fact(parts) or _weighted_rows_fact(parts)
            if mistake is not None:
                return mistake
    return None


@dataclass(frozen=True)
class RowContributions:
    """The contribution of each row of an axis, such as the rows of a batch, to an answer in one trial.

    Args:
        axis: the name of the axis of the rows.
        parts: the contributions; shape: (rows, entries of the answer). Their sum over the rows is the right answer.
        array: the learner's array; shape: (entries of the answer,).
        width: the number of entries of a row.
    """

    axis: str
    parts: Array
    array: Array
    width: int

    def counted_rows(self) -> Array | None:
        """Return 1 for each row whose contribution the learner's array counts, and 0 for the others; shape: (rows,).

        The array is the sum of the counted contributions, but for rounding. Where several choices of rows give it, the
        one with the most rows is returned; `None` where no choice does.
        """
        choices, bound = _row_choices(len(self.parts)), MATCH * np.abs(self.parts).max()
        for entries in (slice(None, None, 1 + self.array.size // FEW_ENTRIES), slice(None)):  # first a few of them
            off = np.abs(choices @ self.parts[:, entries] - self.array[entries]).max(1)
            choices = choices[off <= bound]
        return np.asarray(choices[0]) if len(choices) else None

    def weights(self) -> Array | None:
        """Return the weight that the learner's array gives to the contribution of each row; shape: (rows,).

        The array is the weighted sum of the contributions, but for rounding. Return `None` where no weights give it, or
        several do, or where they are all equal.
        """
        if not (np.isfinite(self.parts).all() and np.isfinite(self.array).all()):  # LAPACK may never end
            return None
        weights, _, rank, _ = np.linalg.lstsq(self.parts.T, self.array, rcond=1e-6)
        off = np.abs(weights @ self.parts - self.array).max()
        uneven = np.ptp(weights) > MATCH * np.abs(weights).max()
        fits = rank == len(self.parts) and off <= MATCH * np.abs(self.array).max() and uneven
        return weights if fits else None


@cache
def _row_choices(rows: int) -> Array:
    """Return every choice of some of `rows` rows as ones and zeros, the most rows first; shape: (choices, rows).

    For 2 rows: [[1, 1], [0, 1], [1, 0], [0, 0]].
    """
    return np.array(sorted(itertools.product((0.0, 1.0), repeat=rows), key=lambda way: -sum(way)))


def _row_splits(program: Program) -> Iterator[tuple[Place, int]]:
    """Yield where a gradient can be split into rows: pairs of an edge (reader, slot) and an axis of its operand.

    The edge is (SINK, k), of output k; or, where this is a number made by a reduction, such as a mean, the edge of the
    reduction's operand. The axis is counted from the back, as -1.
    """
    for number, output in enumerate(program.forward.outputs):
        node = program.nodes[output]
        if node.value.ndim:
            yield from (((SINK, number), axis) for axis in range(-node.value.ndim, 0))
        elif node.operation.family == "reduction":
            for slot, operand in program.forward.edges[output]:
                yield from (((output, slot), axis) for axis in range(-program.nodes[operand].value.ndim, 0))


def _row_contributions(
    sample: ProgramSample, place: Place, axis: int, axis_name: str, name: str
) -> RowContributions | None:
    """Return what each row of an edge's contribution alone adds to an answer in one trial.

    Row r is what has the index r along an axis: all other rows of the contribution are set to 0, and the gradient of
    the target is computed. These gradients are kept in the trial.

    Args:
        sample: the trial.
        place: the edge, as (reader, slot).
        axis: the axis of its operand that the rows are counted along.
        axis_name: its name.
        name: the target of the answer.

    Returns:
        These gradients, the learner's array, the name of the axis and the size of a row. `None` where there are more
        than `MOST_ROWS` rows, their sweeps are too much work, or the learner's array has the wrong shape.
    """
    program = sample.program
    value = program.source(place)
    count = program.nodes[value].value.shape[axis]
    if not sample.has_shape(name) or count > MOST_ROWS or sum(program.forward.costs) * count > MOST_WORK_OF_ROWS:
        return None

    def alone(row: int) -> Array:
        """Return the gradient of the target if only one row is passed on along the edge, flattened."""

        def rule(at: EdgeContext) -> Array:
            """Return the right contribution in this row, and zeros in all others."""
            g = np.zeros_like(at.right())
            np.moveaxis(g, axis, 0)[row] = np.moveaxis(at.right(), axis, 0)[row]
            return g

        return program.with_vjp(place, rule).gradients()[name].ravel()

    parts = sample.trial.remember(("rows", place, axis, name), lambda: np.array([alone(row) for row in range(count)]))
    width = program.nodes[value].value.size // count
    return RowContributions(axis_name, parts, sample.given[name].ravel(), width)


def _uncounted_rows_fact(splits: Sequence[RowContributions]) -> Mistake | None:
    """Return the fact that an answer is the sum of the contributions of some rows only; `None` where it is not.

    In every trial the answer must be such a sum, and in two trials or more rows must be left out of it.

    Args:
        splits: for each trial, the contribution of each row of an axis to the answer, and the learner's array.
    """
    counted = [each.counted_rows() for each in splits]
    uneven = [(own, each) for own, each in zip(splits, counted, strict=True) if each is not None and np.ptp(each)]
    enough = sum(own.array.size for own, _ in uneven) >= LEAST_ROW_ENTRIES and len(uneven) >= LEAST_ROW_TRIALS
    if not enough or any(each is None for each in counted):
        return None
    own, counts = uneven[0]
    rows = [str(i) for i in np.flatnonzero(counts)]
    some = f"of the indices 0 to {len(counts) - 1} here, only {list_in_words(rows)}"
    says = f"not all entries along {own.axis} contribute: {some}"
    return Mistake("partial-batch", facts=(Fact("rows-once", {"axis": own.axis, "rows": ", ".join(rows)}, says),))


def _weighted_rows_fact(splits: Sequence[RowContributions]) -> Mistake | None:
    """Return the fact that an answer is the sum of the rows' contributions with unequal weights; `None` if it is not.

    Trials with a single row or too few entries, less than `LEAST_SPARE` more than rows, are left out; so are those
    whose rows have one entry each, where a wrong derivative has the same effect as a weight of each row. Each trial
    that is left must have weights, of its own; `None` also if these are fewer than `LEAST_ROW_TRIALS`. The fact tells
    the first and the last weight of the first of them.

    Args:
        splits: for each trial, the contribution of each row of an axis to the answer, and the learner's array.
    """
    several = [each for each in splits if 1 < len(each.parts) <= each.array.size - LEAST_SPARE and each.width > 1]
    weights = [each.weights() for each in several]
    if len(several) < LEAST_ROW_TRIALS or any(each is None for each in weights):
        return None
    first, last = (facts.weight_text(float(weights[0][i])) for i in (0, -1))  # type: ignore[index]
    axis = several[0].axis
    how = f"here {first} for the first and {last} for the last; all must be 1"
    says = f"the contributions of the entries along {axis} have unequal weights, {how}"
    return Mistake("wrong-factor", facts=(Fact("rows-weighed", {"axis": axis, "first": first}, says),))


SEEN_IN_PROGRAM: Mapping[Callable[[Case, str, Answer, Samples], Mistake | None], float] = {
    _observe_upstream("slope-typed-in"): 3.5,
    wrong_mask_fact: 3.9,
    _uneven_rows_fact: 6.4,
    _observe_upstream("upstream-not-in-it", "upstream-in-denominator", "own-upstream-only"): 6.8,
    _observe_upstream("another-slope"): 7.6,
}
