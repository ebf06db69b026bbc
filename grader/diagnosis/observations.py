"""Facts about a wrong answer's numbers, as candidates of the stream: each has a likelihood rank of its own.

They are told where no likelier edit gives the numbers. Most are computed by `facts` from the answer alone; *where* asks
the program which value's gradient is wrong, so that all that follows from it on the way to the inputs is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.exercise import Answer
from grader.program.forward import Node
from grader.program.operation import Array, NoCandidate, unbroadcast
from grader.program.probes import draw_tangents
from grader.program.program import Program, Tangents
from grader.reference.answer_view import End
from grader.reference.compare import MATCH, scaled_error

from . import facts
from .case import Candidate, Case, Sample
from .factors import one_ratio
from .facts import Given, Pair, fact
from .mistake import Fact, Mistake
from .operators.branches import masking
from .operators.places import Spot, expression_of
from .quotients import other_quotient
from .right_answers import edits_of_right_answers

MOST_ENTRIES = 200  # of a value whose gradient is solved for
PROBES = 24  # random directions of each target: two runs of the forward pass for each
RESIDUAL = 1e-5  # what least squares leave where the gradient can be told, in proportion to what is explained
LOOSE = 100.0  # how much more may be left of projections, whose derivatives are differences: the Jacobian decides
TINY_SHARE = 1e-9  # of the greatest singular value: what is less is the error of a difference
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
    observe: Callable[[Answer, Given], Mistake | None]
    name: str
    answer: Answer
    given: Given

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return the fact, if it is true of the answer."""
        mistake = self.observe(self.answer, self.given)
        return {} if mistake is None else {self.name: mistake}

    def disturbs(self, case: Case) -> bool:
        """Return that a fact about one answer leads to no other."""
        return False


def observations(
    wrong: Mapping[str, tuple[Answer, Sequence[Pair]]], *, accepts: bool = False, recorded: bool = True
) -> list[Candidate]:
    """Return all facts that may be true of some wrong answers, the likeliest first.

    Args:
        wrong: for each target the answer, with each trial and the learner's array in it.
        accepts: whether more than one answer is right.
        recorded: whether the forward pass is there as a program.
    """
    observed = {not_accepted: 0.0, **OBSERVED} if accepts else OBSERVED
    given = {name: (answer, facts.wrong_in(answer, pairs)) for name, (answer, pairs) in wrong.items()}
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


def not_accepted(answer: Answer, given: Given) -> Mistake | None:
    """Return the fact that an answer is not accepted, where more than one is right; `None` where its rank is wrong."""
    if all(sample.array.ndim == 0 for sample in given):
        return fact("imprecise", "error-too-large")
    return fact("unknown", "not-accepted") if all(sample.array.ndim == sample.right.ndim for sample in given) else None


def _stored(
    combine: Callable[[Array, Array, Array], Array],
    code: str,
    name: str,
    alone: Callable[[Array, Array], Array] = lambda new, variable: new,
) -> Callable[[Answer, Given], Mistake | None]:
    """Return an observation of what was stored in place of the sum of the gradient and what was there before.

    Args:
        combine: returns what was stored, from the gradient, from what was there before, and from the variable.
        code: the mistake's public code.
        name: the name of the fact.
        alone: returns what was stored where nothing was before, from the gradient and the variable.
    """

    def observe(answer: Answer, given: Given) -> Mistake | None:
        ends = [End(answer, sample.trial) for sample in given]
        if all(end.prior is None for end in ends):
            return None
        for sample, end in zip(given, ends, strict=True):
            variable = np.asarray(sample.trial.inputs.get(answer.wrt, np.zeros(())))
            stored = alone(end.new, variable) if end.prior is None else combine(end.new, end.prior, variable)
            if scaled_error(sample.array, stored) > MATCH:
                return None
        return fact(code, name, variable=answer.wrt, answer=answer.name)

    return observe


def _by_trials(observe: Callable[[Given], Mistake | None]) -> Callable[[Answer, Given], Mistake | None]:
    """Return an observation that asks nothing of the answer."""
    return lambda answer, given: observe(given)


def _misshapen(answer: Answer, given: Given) -> Mistake | None:
    """Return what is wrong with the shape, if it is wrong in a trial."""
    sample = next((each for each in given if not each.has_shape), None)
    return None if sample is None else facts.wrong_shape(answer, sample)


def _broadcast(answer: Answer, given: Given) -> Mistake | None:
    """Return by which accident two inputs were broadcast, if the shape is that of such a one."""
    return None if not given or given[0].has_shape else facts.broadcast_accident(answer, given[0])


def _unknown(answer: Answer, given: Given) -> Mistake | None:
    """Return how many entries are wrong, and how far."""
    return facts.unknown(given) if any(not sample.agrees for sample in given) else fact("unknown", "nothing-to-compare")


def _typed_in(answer: Answer, given: Given) -> Mistake | None:
    """Return the constant that a value is; a gradient may be 1 for its upstream gradient is forgotten."""
    return facts.constant(given, trivial=True) if answer.kind == "value" and facts.same_shapes(given) else None


def _trivial(given: Given) -> Mistake | None:
    """Return the constant that an answer is, 0 and 1 among them."""
    return facts.constant(given, trivial=True)


def _step(answer: Answer, given: Given) -> Mistake | None:
    """Return the step that was taken with a gradient, where the variable is no multiple of its own gradient."""
    inputs = [np.asarray(sample.trial.inputs.get(answer.wrt, np.zeros(()))) for sample in given]
    if any(one_ratio(own, sample.right) is not None for own, sample in zip(inputs, given, strict=True)):
        return None
    return facts.a_step(answer, given)


# The rank of each fact that needs no program: after the edits that are likelier, before those that are not.
OBSERVED: Mapping[Callable[[Answer, Given], Mistake | None], float] = {
    _by_trials(facts.constant): 0.5,
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
    facts.mixed_with_prior: 2.9,
    _by_trials(facts.same_shape): 3.0,
    _broadcast: 3.0,
    _by_trials(facts.nothing): 3.0,
    other_quotient: 2.0,
    _by_trials(facts.offset): 3.2,
    _step: 3.2,
    _by_trials(facts.not_zero): 4.0,
    _by_trials(facts.imprecise): 4.4,
    facts.passes_where: 4.5,
    _by_trials(_trivial): 5.0,
    _misshapen: 6.0,
    _by_trials(facts.wrong_with): 7.0,
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
    observe: Callable[[Case, str, Answer, Given], Mistake | None]
    name: str
    answer: Answer
    given: Given

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return the fact, if it is true of the answer; none where there is no program."""
        if self.answer.kind != "gradient" or not case.samples:
            return {}
        mistake = self.observe(case, self.name, self.answer, self.given)
        return {} if mistake is None else {self.name: mistake}

    def disturbs(self, case: Case) -> bool:
        """Return that a fact about one answer leads to no other."""
        return False


def _by_upstream(*names: str) -> Callable[[Case, str, Answer, Given], Mistake | None]:
    """Return an observation of how the answer follows the upstream gradient: of those facts that have some names."""

    def observe(case: Case, name: str, answer: Answer, given: Given) -> Mistake | None:
        program = case.listing
        end = End(answer, given[0].trial, program.output_name, program.upstream_name)
        mistake = facts.by_upstream(end, given)
        return mistake if mistake is not None and mistake.facts[0].operator in names else None

    return observe


def _another_mask(case: Case, name: str, answer: Answer, given: Given) -> Mistake | None:
    """Return that each entry is handed on whole or not at all, as it must be, but not the right ones."""
    samples = {id(sample.trial): sample for sample in case.samples}
    if len(samples) != len(given):
        return None
    for spot in masking.spots(case.listing):
        closed = [_of_closed(samples[id(sample.trial)].program, spot, name) for sample in given]
        if all(array is not None for array in closed):
            mistake = facts.another_mask(answer, given, [[array for array in closed if array is not None]])
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


SEEN_IN_PROGRAM: Mapping[Callable[[Case, str, Answer, Given], Mistake | None], float] = {
    _by_upstream("slope-typed-in"): 3.5,
    _another_mask: 3.9,
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
            for names in (screen.names, *((name,) for name in screen.names)):
                if not mistakes.keys() & set(names):
                    value = wrong_value(case, screen.sample, names)
                    if value is not None:
                        mistakes |= dict.fromkeys(names, _where(screen.sample.program, value))
        return mistakes

    def disturbs(self, case: Case) -> bool:
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
        case: counts the work.
        sample: the trial.
        value: the id of the value.
        names: the answers.
    """
    program, targets = sample.program, case.names

    def drawn() -> Tangents:
        case.work += 2.0 * PROBES * len(targets) * len(program.nodes)
        generator = np.random.default_rng(1)
        return draw_tangents(program, generator, targets, PROBES, largest=MOST_ENTRIES)

    probes: Tangents = sample.trial.remember(("probes", targets), drawn)
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
    solution, _, rank, _ = np.linalg.lstsq(jacobian, difference, rcond=TINY_SHARE)
    residual = np.abs(difference - jacobian @ solution).max()
    rounding = max(sample.rounding[name] for name in names)
    return bool(difference.size - rank >= LEAST_SPARE and residual <= LOOSE * (RESIDUAL + rounding))


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
    solution, _, rank, _ = np.linalg.lstsq(jacobian.T, difference, rcond=None)
    rounding = max(sample.rounding[n] * np.abs(sample.right[n]).max() / s for n, s in zip(names, scales, strict=True))
    residual = np.abs(difference - jacobian.T @ solution).max()
    return bool(difference.size - rank >= LEAST_SPARE and residual <= RESIDUAL + rounding)


def _where(program: Program, node: Node) -> Mistake:
    """Return the fact: from a value to the inputs all is right, and the gradient that arrives at the value is wrong."""
    value, step = program.name_of(node.id), expression_of(program, node)
    says = f"from {step} to the inputs all is right: the gradient that arrives at {value} is wrong already"
    return Mistake("unknown", (Fact("where", {"value": value, "step": step}, says),))
