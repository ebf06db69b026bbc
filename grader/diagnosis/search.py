"""Searches for the likeliest candidates that explain every wrong answer of a function, as few as possible.

`stream` yields all candidates in the order of their likelihood ranks, and `explain` tries one after the other, until no
likelier explanation can follow. `fewest_causes` chooses among those that explain an answer. Each source of the stream
(`candidates`) yields candidates in rising rank, and is begun only when its least rank has its turn. So a combinator
finds in the case what all likelier edits change, and makes its candidates from those that can explain an answer.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial

from .candidates import (
    LEAST,
    LIKELY,
    CandidateSource,
    explaining_edits,
    leads_to_right_answer,
    may_change,
    pairs_with_explaining_edit,
    sources_of_edits,
)
from .case import Candidate, Case
from .causes import CHANGES_RIGHT_ANSWER, Fit, fewest_causes, last_rank
from .edits import Edit
from .mistake import Mistake
from .operators.contract import Operator

MOST_WORK = 132_000.0  # calls of numpy: some seconds
SHARE_FOR_SECOND = 0.5  # what share of it is kept for second mistakes, once an edit explains some of the answers
WORK_FOR_CONTRADICTED = 60_000.0  # what may be spent before the places that lead to a right answer come later
LONG_DELAY = 3.0  # how much they come later
WORK_FOR_TIES = 50_000.0  # what may be spent on others once every answer is explained
SHARE_OF_SOURCE = 14_000.0  # the work of a source, such as one operator, after which its further candidates come later
SPENT_RANK = 1.0  # and how much later: what each such share adds to their ranks


def explain(
    case: Case,
    operators: Iterable[Operator[Hashable]],
    others: Iterable[Candidate] = (),
    budget: float = MOST_WORK,
    earlier: Case | None = None,
) -> dict[str, Mistake]:
    """Search for the likeliest mistakes that explain the wrong answers, and return them by target.

    The `cause` of a mistake is the target nearer to the loss whose wrong answer has the same cause. Answers that
    nothing explains are missing. A candidate that raises an exception is passed over. The case notes what is tried, the
    work that it takes, and its `suspects`.

    Args:
        case: the wrong answers.
        operators: the operators of which edits are made.
        others: further candidates: observations of the numbers, and mistakes that the exercise declares.
        budget: the most work of the search, counted in calls of numpy, so that it ends at the same candidate on any
            machine.
        earlier: an explained case of the same answers in more trials, compared first in the same trials as this one
            (see `Case.is_screened_as`): then only the candidates are tried whose gradients it has compared in full;
            `None` for all candidates.
    """
    operators, others, fits = list(operators), list(others), list[Fit]()
    last, most = float("inf"), budget
    candidates = stream(case, operators, others) if earlier is None else stream_of_suspects(earlier.suspects, others)
    affordable = itertools.takewhile(lambda _: case.work_of_trying <= budget, candidates)
    seconds = _by_own_rank(pairs_with_explaining_edit(case, operators)) if earlier is None else iter(())
    affordable_seconds = itertools.takewhile(lambda _: case.work <= most, seconds)
    is_complete = False  # whether no candidate is left that may change the explanations
    for part in (affordable, affordable_seconds, _by_own_rank(others)):  # it ends in facts, whatever the budget
        if is_complete and part is not affordable_seconds:  # a fact may explain what a second edit explains better
            break
        for rank, candidate in part:
            if rank > last:
                is_complete = True
                break
            comparisons = case.comparisons
            try:
                mistakes = candidate.explain(case)
            except Exception:  # a bug in an operator costs its candidate alone: test_every_course_edit.py finds bugs
                continue
            if case.comparisons > comparisons:
                case.suspects.append(candidate)
            if mistakes:
                contradicted = candidate.changes_right_answer(case)
                fits.append(Fit(candidate.rank + CHANGES_RIGHT_ANSWER * contradicted, mistakes, contradicted))
                last = last_rank(case, fits)
                if last < float("inf"):  # every answer is explained
                    budget = most = min(budget, case.work + WORK_FOR_TIES)
                elif explaining_edits(case):
                    budget = (1 - SHARE_FOR_SECOND) * most
    return fewest_causes(case, fits)


def _by_own_rank(candidates: Iterable[Candidate]) -> Iterator[tuple[float, Candidate]]:
    """Yield each candidate with its own likelihood rank, in the given order."""
    return ((candidate.rank, candidate) for candidate in candidates)


def stream(
    case: Case, operators: Iterable[Operator[Hashable]], others: Iterable[Candidate] = ()
) -> Iterator[tuple[float, Candidate]]:
    """Yield every candidate of a search with its rank, in rising rank; of the same rank, in the order of the list here.

    They are `others` and, where programs are recorded, all that `sources_of_edits` lists. The rank of one that
    may change a right answer includes its `_delay`.

    Args:
        case: the wrong answers.
        operators: the operators of which edits are made.
        others: further candidates: observations of the numbers, and mistakes that the exercise declares.
    """
    sources = [CandidateSource(candidate.rank, partial(iter, [candidate])) for candidate in others]
    if case.samples:
        sources += sources_of_edits(case, list(operators))
    return merge_sources(sources, partial(_delay, case), lambda: case.work_of_trying)


def _delay(case: Case, candidate: Candidate) -> float:
    """Return what is added to the rank of a candidate, because it may change an answer which is right; else 0.

    Likelier edits, with a rank below `LIKELY`, are not asked at first: that takes as long as to try them. Of the rarer
    ones only those are, from whose place a path leads to such an answer; and there an edit may still change other
    answers alone, as a contribution computed in place does. Once `WORK_FOR_CONTRADICTED` is spent, which happens in
    large programs alone, such a path is enough.
    """
    if case.work_of_trying > WORK_FOR_CONTRADICTED:
        return LONG_DELAY if leads_to_right_answer(case, candidate) else 0.0
    is_contradicted = (
        isinstance(candidate, Edit)
        and candidate.rank >= LIKELY
        and leads_to_right_answer(case, candidate)
        and may_change(candidate, case, case.right_names)
    )
    return CHANGES_RIGHT_ANSWER if is_contradicted else 0.0


def stream_of_suspects(suspects: Iterable[Candidate], others: Iterable[Candidate]) -> Iterator[tuple[float, Candidate]]:
    """Yield the candidates that an earlier search has compared in full, and `others`, together in rising rank.

    Args:
        suspects: the field `suspects` of the earlier search's case: these candidates.
        others: observations of the numbers, and mistakes that the exercise declares.
    """
    sources = [CandidateSource(candidate.rank, partial(iter, [candidate])) for candidate in others]
    return merge_sources([*sources, CandidateSource(LEAST, partial(iter, suspects))])


def merge_sources(
    sources: Iterable[CandidateSource],
    delay: Callable[[Candidate], float] = lambda _: 0.0,
    work: Callable[[], float] = lambda: 0.0,
) -> Iterator[tuple[float, Candidate]]:
    """Yield the candidates of several sources with their ranks, in rising rank.

    A source is begun when its own rank has its turn. A source that fails ends there, which costs its further candidates
    alone. So that no source uses up a search's budget, the further candidates of one whose candidates have taken much
    work come later: `SPENT_RANK` is added to their ranks for each `SHARE_OF_SOURCE`.

    Args:
        sources: each a least rank, and a function that returns an iterator over its candidates.
        delay: returns what is added to the rank of a candidate so that it is tried later, if anything.
        work: returns the work that the search has done so far, in calls of numpy.
    """
    number = itertools.count()  # of the same rank, the one that came first
    spent = defaultdict[int, float](float)  # the work of each source, by its number
    waiting: list[tuple[float, int, Candidate | None, CandidateSource | Iterator[Candidate] | None]]
    waiting = [(source.rank, next(number), None, source) for source in sources]
    heapq.heapify(waiting)
    while waiting:
        rank, order, candidate, source = heapq.heappop(waiting)
        before = work()
        if candidate is not None:
            yield rank, candidate
        if source is None:
            continue
        try:
            candidates = source.candidates() if isinstance(source, CandidateSource) else source
            for following in candidates:
                own = max(rank, following.rank)
                if not (later := delay(following)):
                    shares, spent[order] = spent[order] // SHARE_OF_SOURCE, spent[order] + work() - before
                    own += SPENT_RANK * (spent[order] // SHARE_OF_SOURCE - shares)
                    heapq.heappush(waiting, (own, order, following, candidates))
                    break
                heapq.heappush(waiting, (own + later, next(number), following, None))
        except Exception:  # such as a bug in an operator that lists its choices; test_every_course_edit.py finds bugs
            continue
