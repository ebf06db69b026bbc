"""Facts about a wrong answer's numbers, as candidates of the stream: each has a likelihood rank of its own.

They are told where no likelier edit gives the numbers. Most are computed by `facts` from the answer alone; *where* asks
the program which value's gradient is wrong, so that all that follows from it on the way to the inputs is right.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from grader.exercise import Answer
from grader.program.forward import SINK, Node, Place
from grader.program.operation import Array, NoCandidate, unbroadcast
from grader.program.probes import draw_tangents
from grader.program.program import EdgeContext, Program, Tangents
from grader.reference.answer_view import End
from grader.reference.compare import MATCH, scaled_error

from . import facts
from .case import Candidate, Case, Sample
from .factors import one_ratio
from .facts import AnswerSamples, TrialArray, make_fact
from .mistake import Fact, Mistake
from .operators.branches import masking
from .operators.places import Spot, expression_of
from .quotients import wrong_quotient
from .right_answers import edits_of_right_answers

CLOSE = 2e-3  # an error, in proportion to the largest entry, that is no accident of two mistakes
MOST_ENTRIES = 200  # of a value whose gradient is solved for
PROBES = 24  # random directions of each target: two runs of the forward pass for each
RESIDUAL = 1e-5  # what least squares leave where the gradient can be told, in proportion to what is explained
LOOSE = 100.0  # how much more may be left of projections, whose derivatives are differences: the Jacobian decides
TINY_SHARE = 1e-9  # of the greatest singular value: what is less is the error of a difference
MOST_ROWS = 9  # of which every choice is tried
LEAST_ROW_ENTRIES, LEAST_ROW_TRIALS = 4, 2  # of answers in which some rows do not count: more of them are no accident
LEAST_SPARE = 2  # equations more than unknowns, so that a solution is no accident


@dataclass(frozen=True, eq=False)
class Observation:
    """A fact of the numbers.

    Args:
        rank: the likelihood rank.
        observe: takes an answer and its trials; returns the fact as a mistake, or `None` where it is not true.
        name: the target that the answer is about.
        answer: the answer.
        given: the trials with the learner's arrays as they were given.
    """

    rank: float
    observe: Callable[[Answer, AnswerSamples], Mistake | None]
    name: str
    answer: Answer
    given: AnswerSamples

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return the fact, if it is true of the answer."""
        mistake = self.observe(self.answer, self.given)
        return {} if mistake is None else {self.name: mistake}

    def changes_right_answer(self, case: Case) -> bool:
        """Return that a fact about one answer leads to no other."""
        return False


def observations(
    wrong: Mapping[str, tuple[Answer, Sequence[TrialArray]]], *, accepts: bool = False, recorded: bool = True
) -> list[Candidate]:
    """Return all facts that may be true of some wrong answers, the likeliest first.

    Args:
        wrong: for each target the answer, with each trial and the learner's array in it.
        accepts: whether more than one answer is right.
        recorded: whether the forward pass is there as a program.
    """
    observed = {not_accepted: 0.0, **OBSERVED} if accepts else OBSERVED
    given = {name: (answer, facts.answer_samples(answer, pairs)) for name, (answer, pairs) in wrong.items()}
    every = [
        Observation(rank, observe, name, *own) for name, own in given.items() for observe, rank in observed.items()
    ]
    by_program = [
        FromProgram(rank, observe, name, *own)
        for name, own in given.items()
        for observe, rank in SEEN_IN_PROGRAM.items()
    ]
    of_right = [] if accepts else edits_of_right_answers(given, recorded=recorded)  # of several none is *the* one
    return [*every, *by_program, *of_right, Where()]


def not_accepted(answer: Answer, given: AnswerSamples) -> Mistake | None:
    """Return the fact that an answer is not accepted, where more than one is right; `None` where its rank is wrong."""
    if all(sample.array.ndim == 0 for sample in given):
        return make_fact("imprecise", "error-too-large")
    return (
        make_fact("unknown", "not-accepted")
        if all(sample.array.ndim == sample.right.ndim for sample in given)
        else None
    )


def _stored(
    combine: Callable[[Array, Array, Array], Array],
    code: str,
    name: str,
    alone: Callable[[Array, Array], Array] = lambda new, variable: new,
) -> Callable[[Answer, AnswerSamples], Mistake | None]:
    """Return an observation of what was stored in place of the sum of the gradient and what was there before.

    Args:
        combine: returns what was stored, from the gradient, from what was there before, and from the variable.
        code: the mistake's public code.
        name: the name of the fact.
        alone: returns what was stored where nothing was before, from the gradient and the variable.
    """

    def observe(answer: Answer, given: AnswerSamples) -> Mistake | None:
        ends = [End(answer, sample.trial) for sample in given]
        if all(end.prior is None for end in ends):
            return None
        for sample, end in zip(given, ends, strict=True):
            variable = np.asarray(sample.trial.inputs.get(answer.wrt, np.zeros(())))
            stored = alone(end.new, variable) if end.prior is None else combine(end.new, end.prior, variable)
            if scaled_error(sample.array, stored) > MATCH:
                return None
        return make_fact(code, name, variable=answer.wrt, answer=answer.name)

    return observe


def _by_trials(observe: Callable[[AnswerSamples], Mistake | None]) -> Callable[[Answer, AnswerSamples], Mistake | None]:
    """Return an observation that asks nothing of the answer."""
    return lambda answer, given: observe(given)


def _misshapen(answer: Answer, given: AnswerSamples) -> Mistake | None:
    """Return what is wrong with the shape, if it is wrong in a trial."""
    sample = next((each for each in given if not each.has_shape), None)
    return None if sample is None else facts.wrong_shape(answer, sample)


def _broadcast(answer: Answer, given: AnswerSamples) -> Mistake | None:
    """Return by which accident two inputs were broadcast, if the shape is that of such a one."""
    return None if not given or given[0].has_shape else facts.broadcast_accident(answer, given[0])


def _unknown(answer: Answer, given: AnswerSamples) -> Mistake | None:
    """Return how many entries are wrong, and how far."""
    return facts.nothing_to_compare() if all(sample.agrees for sample in given) else facts.unknown_mistake(given)


def _trivial(given: AnswerSamples) -> Mistake | None:
    """Return the constant that an answer of the right shape is, 0 and 1 among them."""
    return facts.constant_answer(given, trivial=True) if facts.have_right_shapes(given) else None


def _typed_in(answer: Answer, given: AnswerSamples) -> Mistake | None:
    """Return the constant that a value is; a gradient may be 1 for its upstream gradient is forgotten."""
    return _trivial(given) if answer.kind == "value" else None


def _step(answer: Answer, given: AnswerSamples) -> Mistake | None:
    """Return the step that was taken with a gradient, where the variable is no multiple of its own gradient."""
    inputs = [np.asarray(sample.trial.inputs.get(answer.wrt, np.zeros(()))) for sample in given]
    if any(one_ratio(own, sample.right) is not None for own, sample in zip(inputs, given, strict=True)):
        return None
    return facts.training_step(answer, given)


# The rank of each fact that needs no program: after the edits that are likelier, before those that are not.
OBSERVED: Mapping[Callable[[Answer, AnswerSamples], Mistake | None], float] = {
    _by_trials(facts.constant_answer): 0.5,
    _typed_in: 0.6,
    _stored(lambda new, prior, variable: new, "overwritten", "prior-lost"): 0.8,
    _stored(lambda new, prior, variable: prior, "overwritten", "prior-kept"): 0.9,
    _stored(lambda new, prior, variable: new - prior, "wrong-sign", "prior-subtracted"): 1.0,
    _stored(lambda new, prior, variable: (new + prior) / 2, "mean-for-sum", "mean-with-prior"): 1.0,
    _stored(
        lambda new, prior, variable: new + variable,
        "overwritten",
        "added-to-variable",
        lambda new, variable: new + variable,
    ): 1.0,
    _stored(
        lambda new, prior, variable: new + prior,
        "wrong-factor",
        "new-twice-without-prior",
        lambda new, variable: 2 * new,
    ): 1.0,
    facts.weighted_with_prior: 2.9,
    _by_trials(facts.same_shape_in_every_trial): 3.0,
    _broadcast: 3.0,
    _by_trials(facts.zero_answer): 2.2,
    wrong_quotient: 2.0,
    _by_trials(facts.offset_answer): 3.2,
    _step: 3.2,
    _by_trials(facts.nonzero_where_zero): 4.0,
    _by_trials(partial(facts.imprecise_answer, most=CLOSE)): 4.4,
    facts.right_in_some_trials: 4.5,
    _by_trials(_trivial): 5.0,
    _misshapen: 4.9,
    _by_trials(facts.wrong_for_function_part): 7.0,
    _by_trials(facts.imprecise_answer): 7.2,
    _by_trials(facts.varying_ratio): 7.5,
    _unknown: 10.0,
}


@dataclass(frozen=True, eq=False)
class FromProgram:
    """A fact of the numbers that the forward pass tells.

    Args:
        rank: the likelihood rank.
        observe: takes the case, an answer and its trials; returns the fact, or `None` where it is not true.
        name: the target that the answer is about.
        answer: the answer.
        given: the trials with the learner's arrays as they were given.
    """

    rank: float
    observe: Callable[[Case, str, Answer, AnswerSamples], Mistake | None]
    name: str
    answer: Answer
    given: AnswerSamples

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return the fact, if it is true of the answer; none where there is no program."""
        if self.answer.kind != "gradient" or not case.samples:
            return {}
        mistake = self.observe(case, self.name, self.answer, self.given)
        return {} if mistake is None else {self.name: mistake}

    def changes_right_answer(self, case: Case) -> bool:
        """Return that a fact about one answer leads to no other."""
        return False


def _by_upstream(*names: str) -> Callable[[Case, str, Answer, AnswerSamples], Mistake | None]:
    """Return an observation of how the answer follows the upstream gradient: of those facts that have some names."""

    def observe(case: Case, name: str, answer: Answer, given: AnswerSamples) -> Mistake | None:
        program = case.listing
        end = End(answer, given[0].trial, program.output_name, program.upstream_name)
        mistake = facts.misused_upstream(end, given)
        return mistake if mistake is not None and mistake.facts[0].operator in names else None

    return observe


def _another_mask(case: Case, name: str, answer: Answer, given: AnswerSamples) -> Mistake | None:
    """Return that each entry is handed on whole or not at all, as it must be, but not the right ones."""
    samples = {id(sample.trial): sample for sample in case.samples}
    if len(samples) != len(given):
        return None
    for spot in masking.spots(case.listing):
        closed = [_of_closed(samples[id(sample.trial)].program, spot, name) for sample in given]
        if all(array is not None for array in closed):
            mistake = facts.wrong_mask(answer, given, [[array for array in closed if array is not None]])
            if mistake is not None:
                return mistake
    return None


def _of_closed(program: Program, spot: Spot, name: str) -> Array | None:
    """Return what some masks stop of a gradient in a trial; `None` where they cannot be opened."""
    edited = program
    for node, _ in spot.places(program):
        for slot, _ in program.forward.edges[node]:
            edited = edited.with_vjp((node, slot), lambda at: unbroadcast(at.g, at.x))
    try:
        return np.asarray(edited.gradients()[name] - program.gradients()[name])
    except NoCandidate:
        return None


def _rows(case: Case, name: str, answer: Answer, given: AnswerSamples) -> Mistake | None:
    """Return that some rows count and others do not, or that each has a weight of its own."""
    for place, axis in _splits(case.listing):
        split = [_of_rows(sample, place, axis, name) for sample in case.samples if name in sample.given]
        parts = [each for each in split if each is not None]
        if len(parts) == len(split):
            mistake = _in_counts(parts) or _in_weights(parts)
            if mistake is not None:
                return mistake
    return None


@dataclass(frozen=True)
class RowParts:
    """What each row contributes to an answer in a trial.

    Args:
        axis: the name of the axis of the rows.
        parts: shape: (rows, entries of the answer).
        array: the learner's; shape: (entries of the answer,).
        width: how many entries a row has.
    """

    axis: str
    parts: Array
    array: Array
    width: int

    def counting(self) -> Array | None:
        """Return which rows count, as few as possible left out; `None` where no choice of them gives the array."""
        fits = np.abs(_ways(len(self.parts)) @ self.parts - self.array).max(1) <= MATCH * np.abs(self.parts).max()
        return np.asarray(_ways(len(self.parts))[fits.argmax()]) if fits.any() else None

    def weights(self) -> Array | None:
        """Return the weights with which the rows give the array, not all alike; `None` where there are none."""
        weights, _, rank, _ = np.linalg.lstsq(self.parts.T, self.array, rcond=1e-6)
        off = np.abs(weights @ self.parts - self.array).max()
        uneven = np.ptp(weights) > MATCH * np.abs(weights).max()
        fits = rank == len(self.parts) and off <= MATCH * np.abs(self.array).max() and uneven
        return weights if fits else None


@cache
def _ways(rows: int) -> Array:
    """Return every choice of so many rows, those of the most rows first; shape: (choices, rows)."""
    return np.array(sorted(itertools.product((0.0, 1.0), repeat=rows), key=lambda way: -sum(way)))


def _splits(program: Program) -> Iterator[tuple[Place, int]]:
    """Yield where a gradient is split into rows: an upstream gradient, or that of the terms of a loss, by its axes."""
    for number, output in enumerate(program.forward.outputs):
        node = program.nodes[output]
        if node.value.ndim:
            yield from (((SINK, number), axis) for axis in range(-node.value.ndim, 0))
        elif node.operation.family == "reduction":
            for slot, operand in program.forward.edges[output]:
                yield from (((output, slot), axis) for axis in range(-program.nodes[operand].value.ndim, 0))


def _of_rows(sample: Sample, place: Place, axis: int, name: str) -> RowParts | None:
    """Return what each row contributes; `None` where there are too many, or the answer has the wrong shape."""
    program = sample.program
    value = program.source(place)
    count = program.nodes[value].value.shape[axis]
    if not sample.has_shape(name) or count > MOST_ROWS:
        return None

    def alone(row: int) -> Array:
        def rule(at: EdgeContext) -> Array:
            g = np.zeros_like(at.right())
            np.moveaxis(g, axis, 0)[row] = np.moveaxis(at.right(), axis, 0)[row]
            return g

        return program.with_vjp(place, rule).gradients()[name].ravel()

    parts = sample.trial.remember(("rows", place, axis, name), lambda: np.array([alone(row) for row in range(count)]))
    width = program.nodes[value].value.size // count
    return RowParts(program.name_of_axis(value, axis), parts, sample.given[name].ravel(), width)


def _in_counts(known: Sequence[RowParts]) -> Mistake | None:
    """Return that each row counts or not, where some do not in two trials or more."""
    counting = [each.counting() for each in known]
    uneven = [(own, each) for own, each in zip(known, counting, strict=True) if each is not None and np.ptp(each)]
    enough = sum(own.array.size for own, _ in uneven) >= LEAST_ROW_ENTRIES and len(uneven) >= LEAST_ROW_TRIALS
    if not enough or any(each is None for each in counting):
        return None
    own, counts = uneven[0]
    rows = ", ".join(str(i) for i in np.flatnonzero(counts)) or "none"
    says = f"along {own.axis}, not all rows count: here only those with the numbers {rows} of 0 to {len(counts) - 1}"
    return Mistake("partial-batch", (Fact("rows-once", {"axis": own.axis, "rows": rows}, says),))


def _in_weights(known: Sequence[RowParts]) -> Mistake | None:
    """Return that each row has a weight of its own, where the answers have entries enough to tell.

    Rows of one entry are left out: a wrong derivative is a factor of each entry, too.
    """
    several = [each for each in known if 1 < len(each.parts) <= each.array.size - LEAST_SPARE and each.width > 1]
    weights = [each.weights() for each in several]
    if len(several) < LEAST_ROW_TRIALS or any(each is None for each in weights):
        return None
    first, last = (f"{float(weights[0][i]):.3g}" for i in (0, -1))  # type: ignore[index]
    says = f"along {several[0].axis}, the rows count differently: here the first {first} times, the last {last} times"
    return Mistake("wrong-factor", (Fact("rows-weighed", {"axis": several[0].axis, "first": first}, says),))


SEEN_IN_PROGRAM: Mapping[Callable[[Case, str, Answer, AnswerSamples], Mistake | None], float] = {
    _by_upstream("slope-typed-in"): 3.5,
    _another_mask: 3.9,
    _rows: 6.4,
    _by_upstream("upstream-not-in-it", "upstream-in-denominator", "own-upstream-only"): 6.8,
    _by_upstream("another-slope"): 7.6,
}


@dataclass(frozen=True)
class Where:
    """From which value on the way to the inputs is right, because its gradient alone explains what is wrong.

    Answers that are all explained by one gradient have one cause; what is left is placed for each answer alone.
    """

    rank: float = 7.0

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return for each answer the value nearest to the loss whose gradient explains it; none where there is none."""
        mistakes: dict[str, Mistake] = {}
        for screen in case.screens:
            case.work += 2.0 * PROBES * len(case.names) * len(screen.sample.program.nodes)  # also where they are known
            for names in (screen.names, *((name,) for name in screen.names)):
                if not mistakes.keys() & set(names):
                    value = wrong_value(case, screen.sample, names)
                    if value is not None:
                        mistakes |= dict.fromkeys(names, _where(screen.sample.program, value))
        return mistakes

    def changes_right_answer(self, case: Case) -> bool:
        """Return that a fact says nothing of other answers."""
        return False


def wrong_value(case: Case, sample: Sample, names: tuple[str, ...]) -> Node | None:
    """Return the value nearest to the loss whose gradient explains some answers, in a trial and in another one."""
    program = sample.program
    if not all(map(sample.has_shape, names)):
        return None
    twins = [each for each in case.samples if each is not sample and all(map(each.is_wrong, names))][:1]
    for node in reversed(program.nodes):
        if not _is_between(program, node, names) or not may_explain(case, sample, node.id, names):
            continue
        if explains_by_gradient(case, sample, node.id, names):
            ids = [(twin, same_value(node, twin.program)) for twin in twins]
            if all(i is None or explains_by_gradient(case, twin, i, names) for twin, i in ids):
                return _before_bijections(program, node)
    return None


def _before_bijections(program: Program, node: Node) -> Node:
    """Return the value that is certain: past an invertible function any gradient is explained by one behind it."""
    while node.operation.family == "pointwise" and len(program.forward.edges[node.id]) == 1:
        ((slot, operand),) = program.forward.edges[node.id]
        if program.nodes[operand].value.shape != node.value.shape or operand in program.inputs.values():
            break
        if not node.vjp(slot, np.ones(node.value.shape)).all():
            break
        node = program.nodes[operand]
    return node


def same_value(node: Node, program: Program) -> int | None:
    """Return the value of the same operation in the program of another trial; in a loop, of the same iteration."""
    same = program.forward.by_key.get(node.key, ())
    return same[node.iteration] if node.iteration < len(same) else None


def _is_between(program: Program, node: Node, names: tuple[str, ...]) -> bool:
    """Return whether a value is on the way from the loss to all of some targets, and its gradient can be solved for."""
    forward = program.forward
    targets = [forward.targets[name] for name in names]
    spare = sum(program.nodes[target].value.size for target in targets) - node.value.size
    between = all(node.id != target and forward.ancestors[node.id] >> target & 1 for target in targets)
    return between and bool(forward.uses[node.id]) and spare >= LEAST_SPARE and node.value.size <= MOST_ENTRIES


def may_explain(case: Case, sample: Sample, value: int, names: tuple[str, ...]) -> bool:
    """Return whether another gradient at a value gives the learner's projections for some answers; it costs no sweep.

    Along a direction of a target, the answer moves by the product of the value's derivatives and what its gradient
    lacks. More directions than the value has entries tell whether there is such a gradient.

    Args:
        case: the answers for which directions are drawn.
        sample: the trial.
        value: the id of the value.
        names: the answers.
    """
    probes = probes_of(sample, case.names)
    if value not in probes.tangents:
        return False
    blocks, moved = [], []
    for name in names:
        scale = float(np.abs(sample.given[name] - sample.right[name]).max(initial=0.0)) or 1.0
        directions = probes.directions[name].reshape(len(probes.directions[name]), -1)
        moved.append(directions @ (sample.given[name] - sample.right[name]).ravel() / scale)
        blocks.append(probes.tangents[value][probes.rows[name]] / scale)
    jacobian, difference = np.concatenate(blocks), np.concatenate(moved)
    if not np.isfinite(jacobian).all():
        return False
    rounding = max(sample.rounding[name] for name in names)
    return left_over(jacobian, difference, rcond=TINY_SHARE) <= LOOSE * (RESIDUAL + rounding)


def left_over(jacobian: Array, difference: Array, rcond: float | None = None) -> float:
    """Return the greatest entry that least squares leave of a difference; infinite with too few equations to tell.

    Args:
        jacobian: shape: (equations, unknowns).
        difference: shape: (equations,).
        rcond: the share of the greatest singular value up to which others count as zero, see `numpy.linalg.lstsq`.
    """
    solution, _, rank, _ = np.linalg.lstsq(jacobian, difference, rcond=rcond)
    if difference.size - rank < LEAST_SPARE:
        return float("inf")
    return float(np.abs(difference - jacobian @ solution).max())


def probes_of(sample: Sample, targets: tuple[str, ...]) -> Tangents:
    """Return the derivatives of a trial's smaller values along many directions of some targets, worked out once."""

    def drawn() -> Tangents:
        return draw_tangents(sample.program, np.random.default_rng(1), targets, PROBES, largest=MOST_ENTRIES)

    probes: Tangents = sample.trial.remember(("probes", targets), drawn)
    return probes


def explains_by_gradient(case: Case, sample: Sample, value: int, names: tuple[str, ...]) -> bool:
    """Return whether another gradient at a value gives what the learner has for some answers, with all the rest right.

    Args:
        case: counts the work.
        sample: the trial.
        value: the id of the value.
        names: the answers.
    """
    if not all(map(sample.has_shape, names)):
        return False
    program = sample.program
    size = program.nodes[value].value.size
    case.work += 4.0 * size * len(program.nodes)
    try:
        jacobians = program.jacobians_of(value)
    except NoCandidate:
        return False
    # each answer is measured by its own size: an entry of one may be a million times that of another
    scales = [np.abs(sample.given[n] - sample.right[n]).max(initial=0.0) or 1.0 for n in names]
    jacobian = np.concatenate([jacobians[n].reshape(size, -1) / s for n, s in zip(names, scales, strict=True)], axis=1)
    moved = [(sample.given[n] - sample.right[n]).ravel() / s for n, s in zip(names, scales, strict=True)]
    difference = np.concatenate(moved)
    rounding = max(sample.rounding[n] * np.abs(sample.right[n]).max() / s for n, s in zip(names, scales, strict=True))
    return bool(left_over(jacobian.T, difference) <= RESIDUAL + rounding)


def _where(program: Program, node: Node) -> Mistake:
    """Return the fact: from a value to the inputs all is right, and the gradient that arrives at the value is wrong."""
    value, step = program.name_of(node.id), expression_of(program, node)
    says = f"from {step} to the inputs all is right: the gradient that arrives at {value} is wrong already"
    return Mistake("unknown", (Fact("where", {"value": value, "step": step}, says),))
