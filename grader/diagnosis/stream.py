"""The one stream of candidates, in the order of their likelihood ranks.

Each source yields candidates in rising rank, and is begun only when its least rank has its turn. So a combinator finds
in the case what all likelier edits change, and makes its candidates from those that can be the cause.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from grader.program.operation import Array, NoCandidate
from grader.program.program import Program, zero_vjp
from grader.program.queries import idle_edges
from grader.reference.compare import MATCH

from .case import Candidate, Case, Rewriting, Screen
from .edits import (
    FACTOR_RANK,
    IDLE_RANK,
    OUTPUT_RANK,
    PAIR_RANK,
    PATH_RANK,
    ROWS,
    ROWS_RANK,
    SCALED_PATH_RANK,
    Both,
    Edit,
    InRows,
    Nothing,
    OnPath,
    Right,
    Rows,
    Times,
    TimesOnPath,
    WithoutIdle,
    WithRightOutput,
)
from .operators.contract import Operator
from .operators.places import WHOLE, Spot, edges

LIKELY = 2.5  # what holds in some rows only is one of the likelier edits
LIKELIEST = 1.5  # and what holds on one path only, or interacts with another edit, one of the likeliest
MOST_INTERACTING, MOST_SUMS = 40, 60  # edits of which every two are tried together; pairs whose changes add up
MOST_KNOWN = 3  # edits that explain an answer, and are tried with others
LEAST_ROWS = 3  # of an answer in which some may be wrong: the first of two is all but the last
LEAST = 1.0  # no operator has a lesser rank


@dataclass(frozen=True)
class Source:
    """Candidates in rising rank.

    Args:
        rank: no candidate has a lesser one.
        candidates: begins to yield them.
    """

    rank: float
    candidates: Callable[[], Iterator[Candidate]]


def stream(
    case: Case, operators: Iterable[Operator[Hashable]], others: Iterable[Candidate] = ()
) -> Iterator[Candidate]:
    """Yield every candidate, the likeliest first; of the same rank, in the order in which they are declared here.

    Args:
        case: the wrong answers.
        operators: what edits are made of.
        others: facts, and what the author of an exercise declares.
    """
    sources = [Source(candidate.rank, partial(iter, [candidate])) for candidate in others]
    if case.samples:
        operators = list(operators)
        sources += [Source(operator.rank, partial(edits, operator, case.listing)) for operator in operators]
        if idle_edges(case.listing):
            sources += [
                Source(operator.rank + IDLE_RANK, partial(without_idle, operator, case.listing))
                for operator in operators
            ]
        if has_output_in_derivative(case.listing):
            sources += [
                Source(operator.rank + OUTPUT_RANK, partial(with_right_output, operator, case.listing))
                for operator in operators
            ]
        sources += [Source(LEAST + rank, partial(make, case)) for make, rank in COMBINATORS.items()]
    return merged(sources)


def stream_of(suspects: Iterable[Candidate], others: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield candidates that are known, in rising rank.

    Args:
        suspects: the edits that another case compared in full, in rising rank.
        others: facts, and what the author of an exercise declares.
    """
    sources = [Source(candidate.rank, partial(iter, [candidate])) for candidate in others]
    return merged([*sources, Source(LEAST, partial(iter, suspects))])


def merged(sources: Iterable[Source]) -> Iterator[Candidate]:
    """Yield the candidates of several sources in rising rank; a source is begun when its own rank has its turn."""
    number = itertools.count()  # of the same rank, the one that came first
    begun: list[tuple[float, int, Candidate | None, Iterator[Candidate]]]
    begun = [(source.rank, next(number), None, _begin(source)) for source in sources]
    heapq.heapify(begun)
    while begun:
        rank, order, candidate, more = heapq.heappop(begun)
        if candidate is not None:
            yield candidate
        following = next(more, None)
        if following is not None:
            heapq.heappush(begun, (max(rank, following.rank), order, following, more))


def _begin(source: Source) -> Iterator[Candidate]:
    """Yield what a source yields; the source is asked only for the first of them."""
    yield from source.candidates()


def edits(operator: Operator[Hashable], program: Program) -> Iterator[Edit]:
    """Yield every edit with an operator that is seen in a program, those at narrower places first."""
    for spot in sorted(operator.at.spots(program), key=lambda each: each.rank):
        for choice in operator.choices_at(program, spot):
            yield Edit(operator, spot, choice)


def without_idle(operator: Operator[Hashable], program: Program) -> Iterator[Candidate]:
    """Yield every edit with an operator in a backward pass without the paths that contribute nothing."""
    yield from map(WithoutIdle, edits(operator, program))


def has_output_in_derivative(program: Program) -> bool:
    """Return whether the derivative of an operation that makes an output is written in terms of it, as 1 - tanh**2."""
    return any(program.nodes[i].operation.value_vjp is not None for i in program.forward.outputs)


def with_right_output(operator: Operator[Hashable], program: Program) -> Iterator[Candidate]:
    """Yield every edit of the forward pass with an operator, where the last derivative is taken at the right output."""
    for edit in edits(operator, program):
        try:
            if edit.apply(program).forward is program.forward:
                return  # an operator of the backward pass; of those that work in both, the forward pass comes first
        except NoCandidate:
            continue
        yield WithRightOutput(edit)


def in_rows(case: Case) -> Iterator[Candidate]:
    """Yield the likelier edits for some rows of an answer, where the other rows are right."""
    wrong_rows = {name: rows for screen in case.screens for name in screen.names if (rows := _wrong_rows(screen, name))}
    yield from (InRows(Nothing(), name, rows) for name, rows in wrong_rows.items())
    for edit, screen, change in _changes(case):
        if isinstance(edit, Edit) and edit.rank <= LIKELY:
            yield from (InRows(edit, name, wrong_rows[name]) for name in _moved(screen, change) if name in wrong_rows)


def _wrong_rows(screen: Screen, name: str) -> Rows | None:
    """Return which rows of an answer are wrong, where the others are right; `None` where all are, or none of these."""
    given, right = screen.sample.given[name], screen.sample.right[name]
    if not given.ndim or len(given) < LEAST_ROWS:
        return None
    bound = MATCH * np.abs(right).max(initial=0.0)
    wrong = np.array([bool((np.abs(a - b) > bound).any()) for a, b in zip(given, right, strict=True)])
    for rows, part in ROWS.items():
        expected = np.zeros(len(given), dtype=bool)
        expected[part] = True
        if (wrong == expected).all():
            return rows
    return None


def on_path(case: Case) -> Iterator[Candidate]:
    """Yield edits that count along one of several kinds of edges by which they lead to an answer."""
    program = case.listing
    forks = [(spot, _leads_to(program, spot)) for spot in edges.where(_is_fork).spots(program) if not spot.rank]
    for edit, screen, change in _changes(case):
        if isinstance(edit, Edit) and edit.rank <= LIKELIEST and screen.sample.program is program:
            targets = sum(1 << program.forward.targets[name] for name in _moved(screen, change))
            reached = 0
            for reader, slot in edit.spot.places(program):
                if (reader, slot) in program.forward.sources:
                    reached |= program.forward.ancestors[program.source((reader, slot))]
                elif slot == WHOLE:
                    reached |= program.forward.ancestors[reader]
            for spot, sources in forks:
                readers = {reader for reader, _ in spot.places(program)}
                if sources & targets and any(reached >> reader & 1 for reader in readers):
                    yield OnPath(edit, spot)


def _is_fork(program: Program, place: tuple[int, int]) -> bool:
    """Return whether an edge is one of several by which a gradient goes on from its reader, or comes to its value."""
    return len(program.forward.edges[place[0]]) > 1


def _leads_to(program: Program, spot: Spot) -> int:
    """Return the values that some edges lead to, as a bit mask."""
    mask = 0
    for place in spot.places(program):
        mask |= program.forward.ancestors[program.source(place)]
    return mask


def right_times_factor(case: Case) -> Iterator[Candidate]:
    """Yield what is right, where the answer is that but for a factor."""
    names = [name for screen in case.screens for name in _multiples(screen, screen.tangents.right[None])[0]]
    if names or case.samples[0].is_value:
        yield Times(Right(), tuple(names) or case.names)


def times_factor(case: Case) -> Iterator[Candidate]:
    """Yield what edits give, where the answer is that but for a factor; those of rarer edits once these were tried."""
    tried = set[Rewriting]()
    while new := (case.changes.keys() | case.results.keys()) - tried:
        tried |= new
        for changes in (case.changes, case.results):
            own = {edit: change for edit, change in changes.items() if edit in new}
            for number, screen in enumerate(case.screens):
                made, table = _table(case, own, number)
                for edit, names in zip(made, _multiples(screen, screen.tangents.right + table), strict=True):
                    if names:
                        yield Times(edit, tuple(names))
    for result, shapeless in list(case.reshaping.items()):  # what is tried meanwhile adds to it
        if isinstance(result, Edit) and result.rank <= LIKELY:
            yield Times(result, shapeless)


def times_on_path(case: Case) -> Iterator[Candidate]:
    """Yield a factor in one path, where the answer differs by a multiple of what the path contributes."""
    for number, screen in enumerate(case.screens):
        made, table = _table(case, case.changes, number)
        for edit, names in zip(made, _multiples(screen, table, screen.wanted), strict=True):
            if names and _drops(edit.apply(screen.sample.program)):
                yield TimesOnPath(edit, tuple(names))


def _drops(program: Program) -> bool:
    """Return whether nothing but edges without any contribution is edited."""
    return bool(program.edited_vjps) and all(rule is zero_vjp for rule in program.edited_vjps.values())


def pairs(case: Case) -> Iterator[Candidate]:
    """Yield two edits: those whose changes add up to the learner's, then likely ones that may interact."""
    candidates = [*_sums(case), *_interacting(case)]
    yield from sorted(candidates, key=lambda both: both.rank)


def beside_known(case: Case) -> Iterator[Candidate]:
    """Yield what explains another answer, and with it a likely edit that leaves that answer as it is."""
    explained = {name for names in case.explaining.values() for name in names}
    if explained >= set(case.names):
        return
    known = [(edit, set(names)) for edit, names in case.explaining.items() if isinstance(edit, Edit)][:MOST_KNOWN]
    likely = dict[Edit, set[str]]()
    for edit, screen, change in _changes(case):
        if isinstance(edit, Edit) and edit.rank <= LIKELY:
            likely.setdefault(edit, set()).update(_moved(screen, change))
    for edit, moved in sorted(likely.items(), key=lambda item: item[0].rank):
        yield from (Both(first, edit, is_known=True) for first, names in known if not names & moved)


def _sums(case: Case) -> Iterator[Both]:
    """Yield two edits whose changes of the projections add up to what the learner's differ by."""
    for number, screen in enumerate(case.screens):
        made, table = _table(case, case.changes, number, LIKELY)
        for name in screen.names if len(made) > 1 else ():
            rows = screen.tangents.rows[name]
            own, wanted, bound = table[:, rows], screen.wanted[rows], screen.bounds[rows]
            moves = (np.abs(own) > bound).any(1)
            order = np.argsort(own[:, 0], kind="stable")
            column, missing = own[order, 0], wanted[0] - own[:, 0]
            low, high = np.searchsorted(column, missing - bound[0]), np.searchsorted(column, missing + bound[0])
            found: list[tuple[int, int]] = []
            for i in map(int, np.flatnonzero(moves & (low < high))):
                for j in map(int, order[low[i] : high[i]]):
                    if i < j and moves[j] and (np.abs(own[i] + own[j] - wanted) <= bound).all():
                        found.append((i, j))
            found.sort(key=lambda pair: made[pair[0]].rank + made[pair[1]].rank)
            for a, b in found[:MOST_SUMS]:
                first, second = sorted((made[a], made[b]), key=lambda edit: edit.rank)
                yield Both(first, second)


def _interacting(case: Case) -> Iterator[Both]:
    """Yield every two of the likeliest edits that change something."""
    likely = [edit for edit in case.changes if isinstance(edit, Edit) and edit.rank <= LIKELIEST][:MOST_INTERACTING]
    for first, second in itertools.combinations(likely, 2):
        if not set(first.spot.places(case.listing)) & set(second.spot.places(case.listing)):
            yield Both(first, second)


# Each with the least that it adds to the rank of an edit.
COMBINATORS: dict[Callable[[Case], Iterator[Candidate]], float] = {
    in_rows: ROWS_RANK,
    on_path: PATH_RANK,
    right_times_factor: FACTOR_RANK - LEAST,  # the rank of what is right is 0
    times_factor: FACTOR_RANK,
    times_on_path: SCALED_PATH_RANK,
    beside_known: PAIR_RANK,
    pairs: PAIR_RANK + LEAST,
}


def _changes(case: Case) -> list[tuple[object, Screen, Array]]:
    """Return what each edit so far changes of the projections, screen by screen, the likeliest edit first."""
    return [
        (edit, screen, change)
        for edit, changes in case.changes.items()
        for screen, change in zip(case.screens, changes, strict=True)
    ]


def _moved(screen: Screen, change: Array) -> list[str]:
    """Return the answers whose projections a change moves."""
    moves = np.abs(change) > screen.bounds
    return [name for name in screen.names if moves[screen.tangents.rows[name]].any()]


def _table(
    case: Case, changes: Mapping[Rewriting, tuple[Array, ...]], number: int, most: float = np.inf
) -> tuple[list[Edit], Array]:
    """Return edits, and what each changes of the projections of a screen; shape: (edits, rows).

    Args:
        case: the case.
        changes: by edit, as `Case.changes`.
        number: which of the screens.
        most: the greatest rank that an edit may have.
    """
    made = [edit for edit in changes if isinstance(edit, Edit) and edit.rank <= most]
    table = np.array([changes[edit][number] for edit in made])
    return made, table.reshape(len(made), len(case.screens[number].wanted))


def _multiples(screen: Screen, projections: Array, given: Array | None = None) -> list[list[str]]:
    """Return for each of some projections the answers whose projections are a multiple of them, other than once.

    Args:
        screen: the trial.
        projections: shape: (edits, rows).
        given: the projections of the answers; by default of what the learner gave.
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
