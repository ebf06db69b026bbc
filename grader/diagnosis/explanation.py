"""The search: the likeliest candidates that explain every wrong answer of a function, as few of them as possible."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .case import Candidate, Case
from .mistake import Mistake
from .operators.contract import Operator
from .stream import stream, stream_of

MOST_WORK = 250_000.0  # calls of numpy: some seconds
WORK_FOR_TIES = 50_000.0  # what may be spent on others once every answer is explained
TIED = 0.5  # how much rarer another explanation may be that is told beside the likeliest
SHARED = 1.0  # how much rarer a common cause of several answers may be than what explains each of them alone
DISTURBS = 1.0  # what it adds to the rank of a candidate that an answer is right which it leads to


@dataclass(frozen=True)
class Explanation:
    """What a wrong answer comes from.

    Args:
        mistake: the likeliest.
        others: what gives the same numbers in every trial, and is hardly less likely.
        cause: the answer nearer to the loss that has the same cause; empty where there is none.
    """

    mistake: Mistake
    others: tuple[Mistake, ...] = ()
    cause: str = ""


@dataclass(frozen=True)
class Fit:
    """A candidate that explains some answers.

    Args:
        rank: the candidate's, and more where a right answer should be wrong by it.
        mistakes: by answer.
    """

    rank: float
    mistakes: Mapping[str, Mistake]


def explain(
    case: Case,
    operators: Iterable[Operator[Hashable]],
    others: Iterable[Candidate] = (),
    budget: float = MOST_WORK,
    earlier: Case | None = None,
) -> dict[str, Explanation]:
    """Return an explanation of each wrong answer that has one.

    Args:
        case: the wrong answers.
        operators: what edits are made of.
        others: further candidates: facts, and what an author declares.
        budget: how much may be computed, in calls of numpy: counted, so that an answer is always told the same.
        earlier: a case with more trials that has been explained, and was screened as this one would be; then only
            what passed its screens is tried again.
    """
    others, fits, last = list(others), list[Fit](), float("inf")
    candidates = stream(case, operators, others) if earlier is None else stream_of(earlier.suspects, others)
    affordable = itertools.takewhile(lambda _: case.work <= budget, candidates)
    for candidate in itertools.chain(affordable, others):  # a budget ends in facts
        if candidate.rank > last:
            break
        comparisons = case.comparisons
        mistakes = candidate.explain(case)
        if case.comparisons > comparisons:
            case.suspects.append(candidate)
        if mistakes:
            fits.append(Fit(candidate.rank + DISTURBS * candidate.disturbs(case), mistakes))
            last = last_rank(case, fits)
            if last < float("inf"):  # every answer is explained
                budget = min(budget, case.work + WORK_FOR_TIES)
    return fewest(case, fits)


def is_explained(case: Case, fits: Sequence[Fit]) -> bool:
    """Return whether every answer is explained."""
    return len(_least_ranks(fits)) == len(case.names)


def last_rank(case: Case, fits: Sequence[Fit]) -> float:
    """Return the rank beyond which no candidate changes the explanations; infinite while an answer has none."""
    if not is_explained(case, fits):
        return float("inf")
    ranks = _least_ranks(fits)
    is_shared = any(len(fit.mistakes) == len(case.names) for fit in fits)
    return max(ranks.values()) + (TIED if is_shared else SHARED)


def fewest(case: Case, fits: Sequence[Fit]) -> dict[str, Explanation]:
    """Return as few of the candidates that fit as explain all answers, the likeliest of them.

    A candidate that explains several answers is told at the one nearest to the loss, and may be a little rarer than
    what explains one of them alone.
    """
    ranks, explanations = _least_ranks(fits), dict[str, Explanation]()

    def explained(fit: Fit) -> list[str]:
        return [n for n in fit.mistakes if n not in explanations and fit.rank <= ranks[n] + SHARED]

    while len(explanations) < len(ranks):
        best = max(fits, key=lambda fit: (len(explained(fit)), -fit.rank))  # of equal ones, the first
        cause, *followers = sorted(explained(best), key=case.distance)
        likely = [fit for fit in fits if fit is not best and fit.rank <= best.rank + TIED]
        for name in (cause, *followers):
            ties = [fit.mistakes[name] for fit in likely if name in fit.mistakes]
            explanations[name] = Explanation(best.mistakes[name], tuple(ties), "" if name == cause else cause)
    return explanations


def _least_ranks(fits: Sequence[Fit]) -> dict[str, float]:
    """Return for each answer the rank of the likeliest candidate that explains it."""
    ranks: dict[str, float] = {}
    for fit in fits:
        for name in fit.mistakes:
            ranks[name] = min(fit.rank, ranks.get(name, fit.rank))
    return ranks
