"""Lists the candidates of a search: the edits with each operator, their variants, and what combinators make of them.

A combinator looks at the edits that have been tried, and at what each changes of the gradients' projections on random
directions. It makes candidates only of those that can explain an answer: an edit in some rows or on one path, times a
factor, or two edits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from grader.program.forward import SINK
from grader.program.operation import Array, NoCandidate
from grader.program.program import Program, zero_vjp
from grader.program.queries import edges_by_kind, idle_edges, product_of_weights
from grader.reference.compare import MATCH

from .case import Candidate, Case, Rewriting, ScreeningTrial, reaches_targets
from .edits import (
    FACTOR_RANK,
    IDLE_RANK,
    OUTPUT_RANK,
    PAIR_RANK,
    PATH_RANK,
    ROWS,
    ROWS_RANK,
    SCALED_PATH_RANK,
    STRUCTURE_RANK,
    Edit,
    EditInRows,
    EditOfContribution,
    EditOffPath,
    EditOfOtherStructure,
    EditOnPath,
    EditVariant,
    FactorOnPath,
    NoEdit,
    NoGradient,
    Rows,
    TwoEdits,
    WithFactor,
    WithoutIdleEdges,
    WithRightLogSums,
    WithRightOutput,
    WithRightRowSums,
    are_one_slip,
)
from .operators.contract import Operator
from .operators.places import WHOLE, Spot, edges

LIKELY = 2.5  # what holds in some rows only is one of the likelier edits
LIKELIEST = 1.5  # and what holds on one path only, or interacts with another edit, one of the likeliest
MOST_INTERACTING, MOST_SUMS = 40, 60  # edits of which every two are tried together; pairs whose changes add up
MOST_RANK_OF_SUM = 4.6  # of two edits whose changes add up: of rare ones, two may well do so by chance
MOST_KNOWN = 2  # edits that explain an answer, and are tried with others
MOST_RANK_OF_SECOND = 4.5  # the rank of an operator that is tried with such an edit
LIKELY_FORMULA, MOST_USES = 2.0, 4  # what concerns the contribution of one of a few uses, a mistake in a vjp
LEAST_ROWS = 3  # of an answer in which some may be wrong: the first of two is all but the last
MOST_KEPT = 100  # edits with one operator that are kept for other answers: longer lists would take much memory
LEAST = 1.0  # no operator has a lesser rank


class CandidateSource(NamedTuple):
    """A source of candidates in rising rank, such as all edits with one operator.

    Args:
        rank: a rank that no candidate falls below.
        candidates: returns an iterator over the candidates.
    """

    rank: float
    candidates: Callable[[], Iterator[Candidate]]


def sources_of_edits(case: Case, operators: Sequence[Operator[Hashable]]) -> list[CandidateSource]:
    """Return the sources of all candidates that are made of edits, in a case whose programs are recorded.

    They are every edit, as it is, without idle edges, and with the right output; edits that only trials of another
    structure have; and what the combinators make of the edits that have been tried by then: edits in rows or on a path,
    with a factor, and pairs.

    Args:
        case: the wrong answers.
        operators: the operators of which edits are made.
    """
    variants: list[tuple[Callable[[Operator[Hashable], Program], Iterator[Candidate]], float]]
    variants = [(lambda operator, program: iter(edits_of_wrong_answers_first(case, operator)), 0.0)]
    if idle_edges(case.listing):
        variants.append((edits_without_idle_edges, IDLE_RANK))
    if has_output_in_derivative(case.listing):
        variants.append((partial(edits_of_forward_pass, variant=WithRightOutput), OUTPUT_RANK))
    if any(product_of_weights(case.listing, node.id) is not None for node in case.listing.nodes):
        variants.append((partial(edits_of_forward_pass, variant=WithRightRowSums), OUTPUT_RANK))
    if any(node.name == "log_softmax" for node in case.listing.nodes):
        variants.append((edits_with_right_log_sums, OUTPUT_RANK))
    sources = [
        CandidateSource(operator.rank + added_rank, partial(make, operator, case.listing))
        for make, added_rank in variants
        for operator in operators
    ]
    if case.further_listings:
        sources += [
            CandidateSource(operator.rank + STRUCTURE_RANK, partial(edits_of_other_structures, operator, case))
            for operator in operators
        ]
    return sources + [CandidateSource(LEAST + rank, partial(make, case)) for make, rank in COMBINATORS.items()]


def edits(operator: Operator[Hashable], program: Program) -> Iterator[Edit]:
    """Yield every edit with an operator in a program: one for each spot of the operator's kind, and each choice there.

    A spot is a set of places that are edited together. Spots of lower rank come first: one operation in all iterations,
    then wider spots. A list of at most `MOST_KEPT` edits is kept for the program and the operator.
    """
    known = _EDITS.setdefault(program, {})
    listed = known.get(operator)
    if listed is None:
        spots = sorted(operator.at.spots(program), key=lambda each: each.rank)
        listed = [Edit(operator, spot, choice) for spot in spots for choice in operator.choices_at(program, spot)]
        if len(listed) <= MOST_KEPT:
            known[operator] = listed
    yield from listed


def edits_of_wrong_answers_first(case: Case, operator: Operator[Hashable]) -> list[Edit]:
    """Return the `edits` of an operator in the listed program; of a rank, first those that lead to no right answer."""
    return sorted(edits(operator, case.listing), key=lambda edit: (edit.rank, leads_to_right_answer(case, edit)))


def leads_to_right_answer(case: Case, candidate: Candidate) -> bool:
    """Return whether a candidate is an edit, or a variant of one, from whose place a path leads to a right answer.

    Most such edits change that answer; but one of a contribution that is computed in place may change others alone.
    """
    if not case.samples or not case.right_mask or not isinstance(candidate, Edit | EditVariant):
        return False
    forward = case.listing.forward
    return any(
        forward.ancestors[reader if slot == WHOLE else forward.sources[reader, slot]] & case.right_mask
        for spot in candidate.spots
        for reader, slot in spot.places(case.listing)
        if slot == WHOLE or (reader, slot) in forward.sources
    )


def edits_of_other_structures(operator: Operator[Hashable], case: Case) -> Iterator[EditOfOtherStructure]:
    """Yield the edits with an operator that the usual trial does not have, but a trial of another structure has.

    Trials differ in structure where an exercise broadcasts in several ways. `case.listing` is the program of the usual
    trial, and each of `case.further_listings` that of another structure. Edits with one operator are the same if their
    places have the same selector, and their choices are equal.
    """
    listed = {(edit.spot.selector, edit.choice) for edit in edits(operator, case.listing)}
    for program in case.further_listings:
        for edit in edits(operator, program):
            if (edit.spot.selector, edit.choice) not in listed:
                listed.add((edit.spot.selector, edit.choice))
                yield EditOfOtherStructure(edit)


_EDITS: WeakKeyDictionary[Program, dict[Operator[Hashable], list[Edit]]] = WeakKeyDictionary()


def edits_without_idle_edges(operator: Operator[Hashable], program: Program) -> Iterator[Candidate]:
    """Yield every edit with an operator in a program as `WithoutIdleEdges`.

    These combine the edit with a backward pass that lacks the edges whose right contribution is zero.
    """
    yield from map(WithoutIdleEdges, edits(operator, program))


def edits_with_right_log_sums(operator: Operator[Hashable], program: Program) -> Iterator[Candidate]:
    """Yield the edits with an operator of what selects entries of a log_softmax, each as `WithRightLogSums`.

    Args:
        operator: the operator.
        program: the right program whose spots and choices are listed.
    """
    forward = program.forward
    selections = {edge for node in program.nodes if node.name == "log_softmax" for edge in forward.uses[node.id]
                  if edge[0] != SINK and program.reader(edge).operation.family == "selection"}  # fmt: skip
    if selections and operator.at.kind == "edge":
        for edit in edits(operator, program):
            if any(not selections.isdisjoint(spot.places(program)) for spot in edit.spots):
                yield WithRightLogSums(edit)


def has_output_in_derivative(program: Program) -> bool:
    """Return whether the operation of an output has a vjp in terms of its value, as tanh has: g * (1 - out**2)."""
    return any(program.nodes[i].operation.value_vjp is not None for i in program.forward.outputs)


def edits_of_forward_pass(
    operator: Operator[Hashable], program: Program, variant: Callable[[Edit], Candidate]
) -> Iterator[Candidate]:
    """Yield the edits of the forward pass with an operator, each as a variant; none for one of the backward pass alone.

    An operator is one of the backward pass alone if its first edit that can be made leaves the forward pass as it is.

    Args:
        operator: the operator.
        program: the right program whose spots and choices are listed.
        variant: makes the variant of an edit, such as `WithRightOutput`.
    """
    works_in_forward_pass = False
    for edit in edits(operator, program):
        try:
            changes_forward_pass = edit.apply(program).forward is not program.forward
        except NoCandidate:
            continue
        works_in_forward_pass |= changes_forward_pass
        if not works_in_forward_pass:
            return  # an operator of the backward pass; of those that work in both, the forward pass comes first
        if changes_forward_pass:
            yield variant(edit)


def edits_in_rows(case: Case) -> Iterator[Candidate]:
    """Yield edits that hold for some rows of an answer alone, for each answer that is wrong in exactly these rows.

    The rows are a key of `ROWS`, such as the last one. First, as `EditInRows`, a gradient of 0 in these rows; then each
    single edit so far with a rank up to `LIKELY` that changes the gradient of the answer's target.
    """
    names = [name for screen in case.screens for name in screen.names]
    wrong_rows = {name: rows for name in names if (rows := _wrong_rows(case, name))}
    yield from (EditInRows(NoGradient(), name, rows) for name, rows in wrong_rows.items())
    for edit, screen, change in _changes_by_screen(case):
        if isinstance(edit, Edit) and edit.rank <= LIKELY:
            yield from (
                EditInRows(edit, name, wrong_rows[name])
                for name in _moved_targets(screen, change)
                if name in wrong_rows
            )


def _wrong_rows(case: Case, name: str) -> Rows | None:
    """Return which rows (entries along the first axis) of an answer are wrong, as a key of `ROWS`.

    These are "first", "last", "all but the first" and "all but the last", as they are in the first trial in which the
    answer is wrong and has at least `LEAST_ROWS` rows. Return `None` where the wrong rows are none of these, or no
    trial has so many rows.

    Args:
        case: the wrong answers.
        name: the target of the answer.
    """
    usable = (sample for sample in case.samples if sample.is_wrong(name) and sample.has_shape(name))
    sample = next((s for s in usable if s.given[name].ndim and len(s.given[name]) >= LEAST_ROWS), None)
    if sample is None:
        return None
    given, right = sample.given[name], sample.right[name]
    bound = MATCH * np.abs(right).max(initial=0.0)
    wrong = np.array([bool((np.abs(a - b) > bound).any()) for a, b in zip(given, right, strict=True)])
    for rows, part in ROWS.items():
        expected = np.zeros(len(given), dtype=bool)
        expected[part] = True
        if (wrong == expected).all():
            return rows
    return None


def edits_on_path(case: Case) -> Iterator[Candidate]:
    """Yield `EditOnPath`s: a likely edit that takes effect along the edges of one spot only.

    The edits are those tried so far whose rank is at most `LIKELIEST`. The edges are those of an operation with several
    operands, if the edit lies between them and the loss, and they lead to a target whose gradient the edit changes: for
    a wrong derivative of tanh in tanh(x @ w), the edge of x, or that of w.
    """
    program = case.listing
    forks = _forks(program)
    for edit, screen, change in _changes_by_screen(case):
        if isinstance(edit, Edit) and edit.rank <= LIKELIEST and screen.sample.program is program:
            for spot in _forks_from_edit(program, forks, edit, _moved_targets(screen, change)):
                yield EditOnPath(edit, spot)


def edits_of_contributions(case: Case) -> Iterator[Candidate]:
    """Yield `EditOfContribution`s: a likely edit that concerns only what one of several operations contributes.

    The edits are those tried so far whose rank is at most `LIKELY_FORMULA`, at edges of one operation whose value is
    read by two to `MOST_USES` kinds of edges.
    """
    program = case.listing
    for edit in [edit for edit in case.changes if isinstance(edit, Edit) and edit.rank <= LIKELY_FORMULA]:
        reader, slot = edit.spot.places(program)[0] if edit.spot.places(program) else (SINK, WHOLE)
        if edit.spot.rank or slot == WHOLE or reader == SINK:
            continue
        kinds = edges_by_kind(program, reader)
        if 2 <= len(kinds) <= MOST_USES:
            yield from (EditOfContribution(edit, kind) for kind in kinds)


def _forks(program: Program) -> list[tuple[Spot, int]]:
    """Return the edges of the operations with several operands, with a bit mask of the values that they depend on.

    Args:
        program: the program of a trial.

    Returns:
        Pairs of a spot, which is one edge in all iterations, and the mask, see `_ancestors_of_edges`.
    """
    spots = edges.where(_is_fork).spots(program)
    return [(spot, _ancestors_of_edges(program, spot)) for spot in spots if not spot.rank]


def _forks_from_edit(
    program: Program, forks: Iterable[tuple[Spot, int]], edit: Edit, names: Iterable[str]
) -> Iterator[Spot]:
    """Yield those of the edges `forks` that lie between an edit and one of the targets `names`.

    Args:
        program: the program of a trial.
        forks: pairs of a spot, which is one edge in all iterations, and a bit mask of the values that it depends on.
        edit: the edit.
        names: the targets.
    """
    targets, reached = sum(1 << program.forward.targets[name] for name in names), 0
    for reader, slot in edit.spot.places(program):
        if (reader, slot) in program.forward.sources:
            reached |= program.forward.ancestors[program.source((reader, slot))]
        elif slot == WHOLE:
            reached |= program.forward.ancestors[reader]
    for spot, sources in forks:
        if sources & targets and any(reached >> reader & 1 for reader, _ in spot.places(program)):
            yield spot


def _is_fork(program: Program, place: tuple[int, int]) -> bool:
    """Return whether the reader of the edge `place` has further edges: for `x @ w` True, for tanh(x) False."""
    return len(program.forward.edges[place[0]]) > 1


def _ancestors_of_edges(program: Program, spot: Spot) -> int:
    """Return a bit mask of the operands of a spot's edges and of all values that these depend on.

    Bit i stands for the value with the id i, as in `Forward.ancestors`.

    Args:
        program: the program.
        spot: the edges.
    """
    mask = 0
    for place in spot.places(program):
        mask |= program.forward.ancestors[program.source(place)]
    return mask


def right_with_factor(case: Case) -> Iterator[Candidate]:
    """Yield one candidate, the right gradient times a factor, as a `WithFactor`; none where it fits no answer.

    It is for the answers whose products with random directions (projections) are a multiple of those of the right
    gradient, perhaps another one for each answer; for all answers if these are values of the forward pass.
    """
    names = [name for screen in case.screens for name in _targets_with_multiple(screen, screen.tangents.right[None])[0]]
    if names or case.samples[0].is_value:
        yield WithFactor(NoEdit(), tuple(names) or case.names)


def edits_with_factor(case: Case) -> Iterator[Candidate]:
    """Yield `WithFactor`s: an edit of those tried so far, with the answers that may be its gradient times a factor.

    These are the answers whose products with random directions (projections) are one multiple of those of the edited
    program's gradient. Edits that are tried while this generator runs follow in a later round.
    """
    tried = set[Rewriting]()
    while new := (case.changes.keys() | case.results.keys()) - tried:
        tried |= new
        batch = [
            WithFactor(edit, tuple(names))
            for changes in (case.changes, case.results)
            for number in range(len(case.screens))
            for edit, names in _edits_of_multiples(case, {e: c for e, c in changes.items() if e in new}, number)
            if names
        ]
        yield from sorted(batch, key=lambda candidate: candidate.rank)
    for result, shapeless in list(case.reshaping.items()):  # what is tried meanwhile adds to it
        if isinstance(result, Edit) and result.rank <= LIKELY:
            yield WithFactor(result, shapeless)


def _edits_of_multiples(
    case: Case, changes: Mapping[Rewriting, tuple[Array, ...]], number: int
) -> Iterator[tuple[Edit, list[str]]]:
    """Yield the `Edit`s among some rewritings, each with the targets whose answers are a multiple of its gradient.

    This is judged by the projections in one screen: the products of a gradient with random directions in one trial.

    Args:
        case: the wrong answers.
        changes: for each rewriting, for each screen, what it adds to the projections there; shape: (rows,).
        number: the number of the screen among `case.screens`.
    """
    screen = case.screens[number]
    made, table = _change_table(case, changes, number)
    yield from zip(made, _targets_with_multiple(screen, screen.tangents.right + table), strict=True)


def factors_on_paths(case: Case) -> Iterator[Candidate]:
    """Yield `FactorOnPath`s: an edit that drops edges, with the answers to which these edges may contribute a multiple.

    The edits are those tried so far. For the answer minus the right gradient, the products with random directions
    (projections) must be one multiple of what dropping the edges adds to them: then the edges may have been counted,
    say, twice.
    """
    candidates = []
    for number, screen in enumerate(case.screens):
        made, table = _change_table(case, case.changes, number)
        for edit, names in zip(made, _targets_with_multiple(screen, table, screen.wanted), strict=True):
            if names and _only_drops_edges(edit.apply(screen.sample.program)):
                candidates.append(FactorOnPath(edit, tuple(names)))
    yield from sorted(candidates, key=lambda candidate: candidate.rank)


def _only_drops_edges(program: Program) -> bool:
    """Return whether the only edits of a program are that one edge or more is dropped."""
    drops = bool(program.edited_vjps) and all(rule is zero_vjp for rule in program.edited_vjps.values())
    return drops and not program.added and program.forward is program.right.forward


def edits_at_two_places(case: Case) -> Iterator[Candidate]:
    """Yield pairs of edits that are one slip at two places, and together may explain an answer, the likeliest first.

    They are `TwoEdits` whose effects add up to what an answer is off by.
    """
    yield from sorted(_pairs_adding_up(case, are_one_slip), key=lambda both: both.rank)


def pairs_of_edits(case: Case) -> Iterator[Candidate]:
    """Yield pairs of unlike edits that together may explain an answer, as `TwoEdits`, the likeliest first.

    They are those of `_pairs_adding_up`, whose effects add up to what an answer is off by, and those of
    `_interacting_pairs`, whose joint effect may be any.
    """
    candidates = [*_pairs_adding_up(case, _are_two_likely_slips), *_interacting_pairs(case)]
    yield from sorted(candidates, key=lambda both: both.rank)


def _are_two_likely_slips(first: Edit, second: Edit) -> bool:
    """Return whether two edits differ in more than their places, and are likely enough to be made together."""
    return not are_one_slip(first, second) and first.rank + second.rank <= MOST_RANK_OF_SUM


def explaining_edits(case: Case) -> list[Edit]:
    """Return the edits that explain an answer, as the case has recorded, and may change an unexplained answer too.

    At most `MOST_KNOWN`, the likeliest first. An edit may change every answer to which a path of edges leads from it.
    """
    edits = (edit for edit in case.explaining if isinstance(edit, Edit))
    return [edit for edit in edits if may_change(edit, case, case.unexplained)][:MOST_KNOWN]


def pairs_with_explaining_edit(case: Case, operators: Iterable[Operator[Hashable]]) -> Iterator[Candidate]:
    """Yield rewritings made of an edit that explains an answer: they may explain the other answers as well.

    First come `EditOnPath`s: the edit has an effect along some edges only, which may be all that lead to the explained
    answer; and `EditOffPath`s, where it has none along these. Then `TwoEdits`: a second edit may change an answer that
    is still unexplained, and changes none that is explained.

    Args:
        case: the wrong answers, after the search for single edits.
        operators: the operators of the second edit; those with a rank above `MOST_RANK_OF_SECOND` are left out.
    """
    firsts, unexplained = explaining_edits(case), case.unexplained
    explained = set(case.names) - unexplained
    forks = _forks(case.listing) if firsts else []
    for edit in firsts:
        between = list(_forks_from_edit(case.listing, forks, edit, unexplained))
        for spot in reversed(between):  # nearest to the edit first
            yield EditOnPath(edit, spot, edit_explains=True)
        for spot in reversed(between):
            yield EditOffPath(edit, spot, edit_explains=True)
    for operator in sorted(operators, key=lambda each: each.rank) if firsts else ():
        for second in edits(operator, case.listing) if operator.rank <= MOST_RANK_OF_SECOND else ():
            if may_change(second, case, unexplained) and not may_change(second, case, explained):
                yield from (TwoEdits(first, second, first_explains=True) for first in firsts)


def may_change(edit: Edit, case: Case, names: Iterable[str]) -> bool:
    """Return whether an edit may change the gradient of one of the targets `names` in the program `case.listing`.

    False where the edited program cannot be computed.
    """
    try:
        return reaches_targets(edit.apply(case.listing), names)
    except NoCandidate:
        return False


def _pairs_adding_up(case: Case, are_likely: Callable[[Edit, Edit], bool]) -> Iterator[TwoEdits]:
    """Yield `TwoEdits` of edits tried so far that together change an answer's projections as the learner's mistake.

    The changes of the two are added up. Only edits of a rank up to `LIKELY` are paired. Of each answer only the
    likeliest `MOST_SUMS` pairs are yielded.

    Args:
        case: the wrong answers.
        are_likely: returns whether two edits are likely enough to be made together.
    """
    for number, screen in enumerate(case.screens):
        made, table = _change_table(case, case.changes, number, LIKELY)
        for name in screen.names if len(made) > 1 else ():
            rows = screen.tangents.rows[name]
            own, wanted, bound = table[:, rows], screen.wanted[rows], screen.bounds[rows]
            moves = (np.abs(own) > bound).any(1)
            order = np.argsort(own[:, 0], kind="stable")
            column, missing = own[order, 0], wanted[0] - own[:, 0]
            low, high = np.searchsorted(column, missing - bound[0]), np.searchsorted(column, missing + bound[0])
            matches: list[tuple[int, int]] = []
            for i in map(int, np.flatnonzero(moves & (low < high))):
                for j in map(int, order[low[i] : high[i]]):
                    adds_up = i < j and moves[j] and (np.abs(own[i] + own[j] - wanted) <= bound).all()
                    if adds_up and are_likely(made[i], made[j]):
                        matches.append((i, j))
            matches.sort(key=lambda pair: made[pair[0]].rank + made[pair[1]].rank)
            for a, b in matches[:MOST_SUMS]:
                first, second = sorted((made[a], made[b]), key=lambda edit: edit.rank)
                yield TwoEdits(first, second)


def _interacting_pairs(case: Case) -> Iterator[TwoEdits]:
    """Yield every two of the likeliest edits tried so far as `TwoEdits`, if they have no place in common.

    The likeliest are the edits with a rank up to `LIKELIEST` that change a gradient; of these the first
    `MOST_INTERACTING`, in the order in which they were tried.
    """
    likely = [edit for edit in case.changes if isinstance(edit, Edit) and edit.rank <= LIKELIEST][:MOST_INTERACTING]
    for first, second in itertools.combinations(likely, 2):
        if not set(first.spot.places(case.listing)) & set(second.spot.places(case.listing)):
            yield TwoEdits(first, second)


# Each with the least that it adds to the rank of an edit.
COMBINATORS: dict[Callable[[Case], Iterator[Candidate]], float] = {
    edits_in_rows: ROWS_RANK,
    edits_on_path: PATH_RANK,
    edits_of_contributions: PATH_RANK,
    right_with_factor: FACTOR_RANK - LEAST,  # the rank of what is right is 0
    edits_with_factor: FACTOR_RANK,
    factors_on_paths: SCALED_PATH_RANK,
    edits_at_two_places: LIKELY + 0.1 - LEAST,  # all edits of which it makes pairs have been tried then
    pairs_of_edits: PAIR_RANK + LEAST,
}


def _changes_by_screen(case: Case) -> list[tuple[object, ScreeningTrial, Array]]:
    """Return tuples (rewriting, screen, change) of all rewritings that were tried so far, the likeliest first.

    A screen is a trial that projects each gradient on random directions. A change is what the rewriting adds to each
    of these projections; shape: (rows,). Rewritings without a change in each screen are left out.
    """
    return [
        (edit, screen, change)
        for edit, changes in case.changes.items()
        for screen, change in zip(case.screens, changes, strict=True)
    ]


def _moved_targets(screen: ScreeningTrial, change: Array) -> list[str]:
    """Return the targets for whose gradients a rewriting changes a projection by more than rounding.

    A projection is the product of a gradient with a random direction.

    Args:
        screen: the trial, with the directions.
        change: what the rewriting adds to each projection; shape: (rows,).
    """
    moves = np.abs(change) > screen.bounds
    return [name for name in screen.names if moves[screen.tangents.rows[name]].any()]


def _change_table(
    case: Case, changes: Mapping[Rewriting, tuple[Array, ...]], number: int, most: float = np.inf
) -> tuple[list[Edit], Array]:
    """Return the `Edit`s among some rewritings, and an array of what each adds to the projections in one screen.

    A screen is a trial in which gradients are compared by projections: their products with random directions.

    Args:
        case: the case.
        changes: for each rewriting, for each screen, what it adds to the projections there; shape: (rows,).
        number: the number of the screen among `case.screens`.
        most: the greatest rank that an edit may have.

    Returns:
        The edits, and an array of shape (edits, rows of the screen).
    """
    made = [edit for edit in changes if isinstance(edit, Edit) and edit.rank <= most]
    table = np.array([changes[edit][number] for edit in made])
    return made, table.reshape(len(made), len(case.screens[number].wanted))


def _targets_with_multiple(screen: ScreeningTrial, projections: Array, given: Array | None = None) -> list[list[str]]:
    """Return for each edit the targets for which given projections are a multiple of the edit's, but not 1 times.

    A projection is the product of a gradient with a random direction.

    Args:
        screen: the trial, with the directions.
        projections: a vector of projections for each edit; shape: (edits, rows).
        given: the projections that may be a multiple; shape: (rows,). By default those of the learner's arrays.
    """
    given = screen.tangents.right + screen.wanted if given is None else given
    names: list[list[str]] = [[] for _ in projections]
    for name in screen.names:
        rows = screen.tangents.rows[name]
        own, others, bound = given[rows], projections[:, rows], screen.bounds[rows]
        best = np.abs(others).argmax(1)
        greatest = others[np.arange(len(others)), best]
        counts = np.abs(greatest) > bound[best]
        ratio = (own[best] / np.where(counts, greatest, 1.0))[:, None]
        fits = (np.abs(own - ratio * others) <= bound * (1 + np.abs(ratio))).all(1)
        once = (np.abs(own - others) <= bound).all(1)
        for i in np.flatnonzero(counts & fits & ~once):
            names[i].append(name)
    return names
