"""Find the value at which the backward pass goes wrong, as a candidate of the search for answers that no edit explains.

`FirstWrongGradient` asks from which value on the backward pass is right: by least squares, or by the answers that are
right.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.program.forward import SINK, Node
from grader.program.operation import Array, NoCandidate
from grader.program.probes import draw_tangents
from grader.program.program import Program, Tangents

from .case import Case, ProgramSample
from .mistake import Fact, Mistake
from .operators.places import expression_of, with_short_names

MOST_ENTRIES = 200  # of a value whose gradient is solved for
PROBES = 24  # random directions of each target: two runs of the forward pass for each
RESIDUAL = 1e-5  # what least squares leave where the gradient can be told, in proportion to what is explained
LOOSE = 100.0  # how much more may be left of projections, whose derivatives are differences: the Jacobian decides
TINY_SHARE = 1e-9  # of the greatest singular value: what is less is the error of a difference
MOST_UNPROBED = 3  # values of a loop that are solved for though they have too many entries for the projections
MOST_STEPS, MOST_NAMED = 8, 2  # of which one message says that the mistake is behind them, and which it names
MOST_WORK_OF_VALUES = 120_000.0  # calls of numpy, after which no further value is solved for
LEAST_SPARE = 2  # equations more than unknowns, so that a solution is no accident


@dataclass(frozen=True)
class FirstWrongGradient:
    """A candidate: the gradient of one value is wrong, and the backward pass from this value to the inputs is right.

    It is the value nearest to the loss for which that is so, or one that a loop computes in every iteration. Answers
    that the gradient of one value explains together have one cause; the others are looked at one by one.

    Args:
        rank: the likelihood rank.
    """

    rank: float = 7.0

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return by target the fact that the gradient of a certain value is wrong, and all from it to the target right.

        Answers are missing that the wrong gradient of no single value explains. All answers that are wrong in one trial
        are tried together first, then those that no edit explains, then each by itself.
        """
        mistakes: dict[str, Mistake] = {}
        most = case.work + MOST_WORK_OF_VALUES
        for screen in case.screens:
            sample, unexplained = screen.sample, tuple(name for name in screen.names if name in case.unexplained)
            case.work += 2.0 * PROBES * len(case.names) * len(sample.program.nodes)  # also where they are known
            for names in dict.fromkeys((screen.names, unexplained, *((name,) for name in screen.names))):
                if names and not mistakes.keys() & set(names):
                    mistake = _wrong_gradient_fact(case, sample, names, most)
                    if mistake is not None:
                        mistakes |= dict.fromkeys(names, mistake)
        return mistakes

    def changes_right_answer(self, case: Case) -> bool:
        """Return False: the fact says nothing about other answers."""
        return False


@dataclass(frozen=True)
class BehindRightAnswers:
    """A candidate: other answers are right, so that the mistake is likely nearer to the target than their operations.

    It says little, and is reported only where no other fact is true.

    Args:
        name: the target of the answer.
        rank: the likelihood rank.
    """

    name: str
    rank: float = 9.5

    def explain(self, case: Case) -> Mapping[str, Mistake]:
        """Return `{target: mistake}`: the fact from which operation on, towards the inputs, the answer is wrong.

        That operation is the last whose gradient must be right because another answer is; the result is empty if there
        is none.
        """
        if not case.screens:
            return {}
        mistake = step_behind_right_answers(case, case.listing, self.name)
        return {} if mistake is None else {self.name: mistake}

    def changes_right_answer(self, case: Case) -> bool:
        """Return False: the fact says nothing about other answers."""
        return False


def _wrong_gradient_fact(case: Case, sample: ProgramSample, names: tuple[str, ...], most: float) -> Mistake | None:
    """Return the fact that the gradient of a certain value is wrong, and all from it to the inputs is right.

    Return `None` where neither the gradient of one value nor that of a value in every iteration explains the answers.

    Args:
        case: the case.
        sample: the trial in which the value is looked for.
        names: the targets of the answers.
        most: the work of the case beyond which no further value is looked at.
    """
    program = sample.program
    node = wrong_value(case, sample, names, most)
    if node is not None:
        value, step = program.name_of(node.id), expression_of(program, node)
        says = f"the gradient of {value} is already wrong; everything from there back to the inputs is right"
        if all(reader == SINK for reader, _ in program.forward.uses[node.id]):  # that gradient is given
            upstream = program.upstream_name or "1"
            says = f"these are right gradients for another upstream gradient than {upstream}"
        says = with_short_names(program, says)
        return Mistake("unknown", facts=(Fact("where", {"value": value, "step": step}, says),))
    node = wrong_value_of_loop(case, sample, names, most)
    if node is not None:
        step = expression_of(program, node)
        says = f"the gradient of {step} is already wrong in the loop; what the inputs get from it is right"
        says = with_short_names(program, says)
        return Mistake("unknown", facts=(Fact("where-in-loop", {"step": step}, says),))
    return None


def wrong_value(case: Case, sample: ProgramSample, names: tuple[str, ...], most: float = float("inf")) -> Node | None:
    """Return the node nearest to the loss such that a wrong gradient of its value alone explains the answers `names`.

    That is: for some array G in place of this gradient, with all vjps from there to the inputs right, the gradients of
    the targets are the learner's. The same must hold in one more trial, if there is one in which all these answers are
    wrong. Of the nodes behind this one that the numbers do not tell from it, that nearest to the inputs is returned.

    Args:
        case: the case.
        sample: the trial in which the node is looked for.
        names: the targets of the answers.
        most: the work of the case beyond which no further node is looked at.

    Returns:
        The node; `None` where there is none, or an answer has the wrong shape.
    """
    program = sample.program
    if not all(map(sample.has_shape, names)):
        return None
    twins = [each for each in case.samples if each is not sample and all(map(each.is_wrong, names))][:1]
    for node in reversed(program.nodes):
        if case.work > most:
            return None
        if not _may_be_solved_for(program, (node.id,), names) or not may_explain(case, sample, (node.id,), names):
            continue
        if explains_by_gradient(case, sample, (node.id,), names):
            ids = [(twin, value_in_program(node, twin.program)) for twin in twins]
            if all(i is None or explains_by_gradient(case, twin, (i,), names) for twin, i in ids):
                return _before_bijections(program, _nearest_to_inputs(program, node, names))
    return None


def wrong_value_of_loop(
    case: Case, sample: ProgramSample, names: tuple[str, ...], most: float = float("inf")
) -> Node | None:
    """Return a node of a loop such that wrong gradients of its values, in all iterations, explain the answers `names`.

    As in `wrong_value`, these gradients are found by least squares; here there is one for each iteration. Of several
    nodes it is one with the fewest entries, which are the unknowns, because many unknowns explain any answer; of these,
    it is the one nearest to the loss.

    Args:
        case: the case.
        sample: the trial in which the node is looked for.
        names: the targets of the answers.
        most: the work of the case beyond which no further node is looked at.

    Returns:
        The node in the second iteration, or the operand of the pointwise functions that end in it; `None` where there
        is none, or an answer has the wrong shape.
    """
    program = sample.program
    if not all(map(sample.has_shape, names)):
        return None
    twins = [each for each in case.samples if each is not sample and all(map(each.is_wrong, names))][:1]
    loops = [ids for ids in program.forward.by_key.values() if len(ids) > 1 and _may_be_solved_for(program, ids, names)]
    directions = tangents_of_targets(sample, case.names).directions if loops else {}
    probes = sum(len(directions[name]) for name in names if loops)
    unprobed = itertools.count(1)
    for ids in sorted(loops, key=lambda ids: (_entries(program, ids), -ids[-1])):
        if case.work > most:
            return None
        are_enough = _entries(program, ids) + LEAST_SPARE <= probes
        likely = may_explain(case, sample, ids, names) if are_enough else next(unprobed) <= MOST_UNPROBED
        if likely and explains_by_gradient(case, sample, ids, names):
            node = program.nodes[ids[1]]
            own = [(twin, twin.program.forward.by_key.get(node.key, ())) for twin in twins]
            if all(explains_by_gradient(case, twin, twin_ids, names) for twin, twin_ids in own if twin_ids):
                return _before_bijections(program, node)
    return None


def step_behind_right_answers(case: Case, program: Program, name: str) -> Mistake | None:
    """Return the fact from which operation on an answer is likely wrong, judged by the answers that are right.

    A right answer is computed from the gradients of the operations that depend on its input. So the mistake in the
    wrong answer is likely made after these, nearer to its target: for tanh(x @ w) @ u with a right u.g and a wrong w.g,
    between tanh and w.

    Args:
        case: the case, with the targets whose answers are right.
        program: the right program of a trial.
        name: the target of the wrong answer.

    Returns:
        The fact; `None` where there is no right answer or no such operation, or there are more than `MOST_STEPS`.
    """
    forward = program.forward
    right = {other: 1 << forward.targets[other] for other in case.right_names if other in forward.targets}
    target, every = forward.targets[name], sum(right.values())
    steps, witnesses = dict[str, None](), set[str]()
    for (reader, _), operand in forward.sources.items():
        if forward.ancestors[operand] & every or not forward.ancestors[operand] >> target & 1:
            continue
        known = {other for other, mask in right.items() if reader != SINK and forward.ancestors[reader] & mask}
        if known:
            steps[expression_of(program, program.nodes[reader])] = None
            witnesses |= known
        elif reader == SINK:
            return None
    if not 0 < len(steps) <= MOST_STEPS:
        return None
    first, *others = sorted(witnesses, key=case.distance)
    who = f"the gradients of {first} and {others[0]} are" if others else f"the gradient of {first} is"
    named = list(steps)[: MOST_NAMED if len(steps) <= MOST_NAMED else 1]
    where = " and ".join(named if len(named) == len(steps) else [*named, f"{len(steps) - 1} more"])
    says = f"{who} right, and so, most likely, is that of {where}: look at the step from there to {name}"
    says = with_short_names(program, says)
    return Mistake("unknown", facts=(Fact("where-behind", {"step": where, "right": first}, says),))


def _nearest_to_inputs(program: Program, node: Node, names: tuple[str, ...]) -> Node:
    """Return the node nearest to the inputs whose wrong gradient explains the answers as well as that of a given node.

    The numbers then do not show whether the vjps between the two nodes are right. Every path from the given node to the
    targets passes the node, and either the gradients of both can give the same arrays, or there are only operations
    without weights between them, which keep the number of entries, as a softmax does.

    Args:
        program: the program of the trial.
        node: the given node.
        names: the targets of the answers.
    """
    try:
        rank = _rank_of_jacobian(program, node.id, names)
        for value, has_weights in _passed_by_all_paths(program, node.id, names):
            passed = program.nodes[value]
            if passed.value.size > MOST_ENTRIES:
                break
            own = _rank_of_jacobian(program, value, names)
            if own >= rank + LEAST_SPARE and (has_weights or passed.value.size != node.value.size):
                break
            node, rank = passed, own
    except NoCandidate:
        pass
    return node


def _passed_by_all_paths(program: Program, value: int, names: tuple[str, ...]) -> list[tuple[int, bool]]:
    """Return the values that every path of the backward pass from a value to the targets `names` passes, in this order.

    The value itself and the targets are not among them.

    Args:
        program: the program of a trial.
        value: the id of the value.
        names: the targets.

    Returns:
        Pairs of a value's id, and whether there is a contraction between it and the one before it.
    """
    forward, passed = program.forward, list[tuple[int, bool]]()
    targets = {forward.targets[name] for name in names}
    leading = sum(1 << target for target in targets)
    ahead, has_weights = {value}, False
    while not ahead & targets:
        latest = max(ahead)
        if ahead == {latest} and latest != value:
            passed.append((latest, has_weights))
            has_weights = False
        has_weights |= program.nodes[latest].operation.family == "contraction"
        ahead.remove(latest)
        ahead |= {operand for _, operand in forward.edges[latest] if forward.ancestors[operand] & leading}
    return passed


def _rank_of_jacobian(program: Program, value: int, names: tuple[str, ...]) -> int:
    """Return the rank of the right Jacobian of a value with respect to the targets `names` together.

    The part of each target is divided by its greatest entry first.

    Args:
        program: the program of a trial.
        value: the id of the value.
        names: the targets.

    Raises:
        NoCandidate: the Jacobian cannot be computed.
    """
    size, jacobians = program.nodes[value].value.size, program.jacobians_of(value)
    parts = [jacobians[name].reshape(size, -1) for name in names]
    jacobian = np.concatenate([part / (np.abs(part).max(initial=0.0) or 1.0) for part in parts], axis=1)
    return int(np.linalg.matrix_rank(jacobian, tol=np.linalg.norm(jacobian, 2) * TINY_SHARE))


def _before_bijections(program: Program, node: Node) -> Node:
    """Return the operand of the chain of pointwise functions that ends with a node; the node itself without a chain.

    For exp(tanh(x @ w)): the product x @ w. A function whose derivative is 0 somewhere ends the chain, as an input
    does. If the gradient of one of these values is wrong, so are all, so that the numbers do not show at which of them
    the mistake is.
    """
    while node.operation.family == "pointwise" and len(program.forward.edges[node.id]) == 1:
        ((slot, operand),) = program.forward.edges[node.id]
        if program.nodes[operand].value.shape != node.value.shape or operand in program.inputs.values():
            break
        if not node.vjp(slot, np.ones(node.value.shape)).all():
            break
        node = program.nodes[operand]
    return node


def value_in_program(node: Node, program: Program) -> int | None:
    """Return the id of a node's value in the program of another trial, in the same iteration.

    Return `None` where that trial has no such node.

    Args:
        node: the node, of the program of one trial.
        program: the program of the other trial.
    """
    same = program.forward.by_key.get(node.key, ())
    return same[node.iteration] if node.iteration < len(same) else None


def _entries(program: Program, values: Sequence[int]) -> int:
    """Return how many entries some values, given by their ids, have together."""
    return sum(program.nodes[value].value.size for value in values)


def _may_be_solved_for(program: Program, values: Sequence[int], names: tuple[str, ...]) -> bool:
    """Return whether the values depend on all targets `names`, whose gradients may determine those of the values.

    Together the values must depend on every target; none of them is a target, and at least one leads to an output. All
    targets together must have at least `LEAST_SPARE` entries more than all values, and these at most `MOST_ENTRIES`.

    Args:
        program: the program of a trial.
        values: the ids of the values.
        names: the targets.
    """
    forward = program.forward
    targets = [forward.targets[name] for name in names]
    entries = _entries(program, values)
    reached = sum(1 << target for target in targets) & ~_union(forward.ancestors[value] for value in values)
    between = not reached and not set(targets) & set(values) and any(forward.uses[value] for value in values)
    return between and entries <= min(MOST_ENTRIES, _entries(program, targets) - LEAST_SPARE)


def _union(masks: Iterable[int]) -> int:
    """Return the bit mask of what is in any of some bit masks."""
    return functools.reduce(operator.or_, masks, 0)


def may_explain(case: Case, sample: ProgramSample, values: Sequence[int], names: tuple[str, ...]) -> bool:
    """Return whether wrong gradients of values can give the projections of the learner's arrays; it costs no sweep.

    If the gradients are off by e, the projection of a target's gradient on a direction is off by sum(t * e), with the
    derivatives t of the values along this direction. These equations, one for each direction, are solved for e by least
    squares. Values without derivatives in `tangents_of_targets` are left out; if none has any, or one of the others is
    not finite, return False.

    Args:
        case: the case, for all of whose answers directions are drawn.
        sample: the trial.
        values: the ids of the values.
        names: the targets of the answers.
    """
    probes = tangents_of_targets(sample, case.names)
    values = [value for value in values if value in probes.tangents]
    blocks, moved = [], []
    for name in names if values else ():
        scale = float(np.abs(sample.given[name] - sample.right[name]).max(initial=0.0)) or 1.0
        directions = probes.directions[name].reshape(len(probes.directions[name]), -1)
        moved.append(directions @ (sample.given[name] - sample.right[name]).ravel() / scale)
        rows = probes.rows[name]
        blocks.append(np.concatenate([probes.tangents[value][rows] for value in values], axis=1) / scale)
    if not blocks or not all(np.isfinite(block).all() for block in blocks):
        return False
    rounding = max(sample.rounding[name] for name in names)
    error = least_squares_error(np.concatenate(blocks), np.concatenate(moved), rcond=TINY_SHARE)
    return error <= LOOSE * (RESIDUAL + rounding)


def least_squares_error(jacobian: Array, difference: Array, rcond: float | None = None) -> float:
    """Return the greatest absolute entry of `difference - jacobian @ v`, for the v that makes the sum of squares least.

    Infinite if there are fewer than `LEAST_SPARE` equations more than the rank of `jacobian`, so that there is always a
    solution. An equation whose unknowns all have the factor 0 does not count.

    Args:
        jacobian: shape: (equations, unknowns).
        difference: shape: (equations,).
        rcond: the share of the greatest singular value up to which others count as zero; see `numpy.linalg.lstsq`.
    """
    solution, _, rank, _ = np.linalg.lstsq(jacobian, difference, rcond=rcond)
    if np.count_nonzero(jacobian.any(axis=1)) - rank < LEAST_SPARE:
        return float("inf")
    return float(np.abs(difference - jacobian @ solution).max())


def tangents_of_targets(sample: ProgramSample, targets: tuple[str, ...]) -> Tangents:
    """Return `PROBES` random directions of each target in a trial, and the derivatives of the values along them.

    They are kept in the trial. A value of more than `MOST_ENTRIES` entries has no derivatives here.

    Args:
        sample: the trial.
        targets: the names of the targets.
    """

    def drawn() -> Tangents:
        """Draw the directions and compute the derivatives."""
        return draw_tangents(sample.program, np.random.default_rng(1), targets, PROBES, largest=MOST_ENTRIES)

    probes: Tangents = sample.trial.remember(("probes", targets), drawn)
    return probes


def explains_by_gradient(case: Case, sample: ProgramSample, values: Sequence[int], names: tuple[str, ...]) -> bool:
    """Return whether some gradients of values give the learner's arrays for the answers `names`, but for rounding.

    All other vjps are right: the arrays must be these gradients times the right Jacobians of the values, which is
    solved for the gradients by least squares. They must leave the gradients right that the learner got right. False if
    one of the arrays has a wrong shape, or the values have more than `MOST_ENTRIES` entries together.

    Args:
        case: the case, in whose field `work` the work is counted.
        sample: the trial.
        values: the ids of the values.
        names: the targets of the answers.
    """
    if not all(map(sample.has_shape, names)) or _entries(sample.program, values) > MOST_ENTRIES:
        return False
    program = sample.program
    case.work += 4.0 * _entries(program, values) * len(program.nodes)
    right_names = [name for name in case.right_names if name in program.forward.targets]
    # each answer is measured by its own size: an entry of one may be a million times that of another
    off = {name: sample.given[name] - sample.right[name] for name in names}
    off |= {name: np.zeros_like(sample.right[name]) for name in right_names}
    scales = {name: float(np.abs(off[name]).max(initial=0.0)) or 1.0 for name in names}
    scales |= {name: float(np.abs(sample.right[name]).max(initial=0.0)) or 1.0 for name in right_names}
    try:
        jacobian = np.concatenate([_scaled_jacobian(program, value, scales) for value in values])
    except NoCandidate:
        return False
    difference = np.concatenate([off[name].ravel() / scale for name, scale in scales.items()])
    rounding = max(sample.rounding[n] * np.abs(sample.right[n]).max() / scale for n, scale in scales.items())
    return bool(least_squares_error(jacobian.T, difference) <= RESIDUAL + rounding)


def _scaled_jacobian(program: Program, value: int, scales: Mapping[str, float]) -> Array:
    """Return the right Jacobian of a value with respect to targets, each divided by a number, side by side.

    Args:
        program: the program of a trial.
        value: the id of the value.
        scales: by target the number.

    Returns:
        Shape: (entries of the value, entries of all targets).

    Raises:
        NoCandidate: the Jacobian cannot be computed.
    """
    jacobians, size = program.jacobians_of(value), program.nodes[value].value.size
    return np.concatenate([jacobians[name].reshape(size, -1) / scale for name, scale in scales.items()], axis=1)
