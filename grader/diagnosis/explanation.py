"""Searches for the likeliest candidates that explain every wrong answer of a function, as few as possible."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .case import Candidate, Case
from .mistake import Mistake
from .operators.contract import Operator
from .stream import explaining_edits, pairs_with_explaining_edit, stream, stream_of_suspects

MOST_WORK = 200_000.0  # calls of numpy: some seconds
SHARE_FOR_SECOND = 0.5  # what share of it is kept for second mistakes, once an edit explains some of the answers
WORK_FOR_TIES = 50_000.0  # what may be spent on others once every answer is explained
TIED = 0.5  # how much rarer another explanation may be that is told beside the likeliest
SHARED = 1.0  # how much rarer a common cause of several answers may be than what explains each of them alone
CHANGES_RIGHT_ANSWER = 1.0  # what it adds to the rank of a candidate that an answer is right which it leads to


@dataclass(frozen=True)
class ExplainedMistake:
    """The explanation of one wrong answer.

    Args:
        mistake: the likeliest mistake that gives the learner's numbers in every trial.
        others: further mistakes that do, and that are hardly less likely.
        cause: the target nearer to the loss whose wrong answer has the same cause; empty where there is none.
    """

    mistake: Mistake
    others: tuple[Mistake, ...] = ()
    cause: str = ""


@dataclass(frozen=True)
class Fit:
    """A candidate that explains one answer or more.

    Args:
        rank: the candidate's likelihood rank, and more where the candidate makes an answer wrong that is right.
        mistakes: by target the mistake in the answer.
    """

    rank: float
    mistakes: Mapping[str, Mistake]


def explain(
    case: Case,
    operators: Iterable[Operator[Hashable]],
    others: Iterable[Candidate] = (),
    budget: float = MOST_WORK,
    earlier: Case | None = None,
) -> dict[str, ExplainedMistake]:
    """Search for the likeliest candidates that explain the wrong answers, and return an explanation of each, by target.

    An `ExplainedMistake` is the likeliest mistake, further ones that are hardly less likely, and the target nearer to
    the loss whose wrong answer has the same cause. Answers without any are missing.

    Args:
        case: the wrong answers.
        operators: the operators of which edits are made.
        others: further candidates: observations of the numbers, and mistakes that the exercise declares.
        budget: the most work of the search, counted in calls of numpy, so that it ends at the same candidate on any
            machine.
        earlier: an explained case of the same answers in more trials, screened in the same trials as this one: then
            only the candidates are tried that passed its screens; `None` for all candidates.
    """
    operators, others, fits = list(operators), list(others), list[Fit]()
    last, most = float("inf"), budget
    candidates = stream(case, operators, others) if earlier is None else stream_of_suspects(earlier.suspects, others)
    affordable = itertools.takewhile(lambda _: case.work <= budget, candidates)
    seconds = pairs_with_explaining_edit(case, operators) if earlier is None else iter(())
    affordable_seconds = itertools.takewhile(lambda _: case.work <= most, seconds)
    for candidate in itertools.chain(affordable, affordable_seconds, others):  # a budget ends in facts
        if candidate.rank > last:
            break
        comparisons = case.comparisons
        try:
            mistakes = candidate.explain(case)
        except Exception:  # a bug in an operator costs its candidate alone: test_every_course_edit.py finds bugs
            continue
        if case.comparisons > comparisons:
            case.suspects.append(candidate)
        if mistakes:
            fits.append(Fit(candidate.rank + CHANGES_RIGHT_ANSWER * candidate.changes_right_answer(case), mistakes))
            last = last_rank(case, fits)
            if last < float("inf"):  # every answer is explained
                budget = most = min(budget, case.work + WORK_FOR_TIES)
            elif explaining_edits(case):
                budget = (1 - SHARE_FOR_SECOND) * most
    return fewest_causes(case, fits)


def is_explained(case: Case, fits: Sequence[Fit]) -> bool:
    """Return whether every wrong answer of a case is explained.

    Args:
        case: the wrong answers.
        fits: the candidates that explain an answer so far, each as its rank and, by target, its mistakes.
    """
    return len(_least_ranks(fits)) == len(case.names)


def last_rank(case: Case, fits: Sequence[Fit]) -> float:
    """Return the rank beyond which no candidate changes the explanations; infinite while an answer is unexplained.

    It is the highest rank of the answers' likeliest candidates, plus a constant for ties and common causes.

    Args:
        case: the wrong answers.
        fits: the candidates that explain an answer so far, each as its rank and, by target, its mistakes.
    """
    if not is_explained(case, fits):
        return float("inf")
    ranks = _least_ranks(fits)
    is_shared = any(len(fit.mistakes) == len(case.names) for fit in fits)
    return max(ranks.values()) + (TIED if is_shared else SHARED)


def fewest_causes(case: Case, fits: Sequence[Fit]) -> dict[str, ExplainedMistake]:
    """Return an explanation of each answer by as few of the candidates as explain all answers, the likeliest of these.

    A candidate that explains several answers is reported at the one nearest to the loss, and the explanations of the
    others name that one as their cause. It may be a little rarer than the candidates that explain one of them alone.

    Args:
        case: the wrong answers.
        fits: all candidates that explain an answer, each as its rank and, by target, its mistakes.

    Returns:
        By target; answers that no fit explains are missing.
    """
    ranks, explanations = _least_ranks(fits), dict[str, ExplainedMistake]()

    def explained(fit: Fit) -> list[str]:
        """Return the targets that a fit explains, that have no explanation yet, and for which it is likely enough."""
        return [n for n in fit.mistakes if n not in explanations and fit.rank <= ranks[n] + SHARED]

    while len(explanations) < len(ranks):
        best = max(fits, key=lambda fit: (len(explained(fit)), -fit.rank))  # of equal ones, the first
        cause, *followers = sorted(explained(best), key=case.distance)
        likely = [fit for fit in fits if fit is not best and fit.rank <= best.rank + TIED]
        for name in (cause, *followers):
            ties = [fit.mistakes[name] for fit in likely if name in fit.mistakes]
            explanations[name] = ExplainedMistake(best.mistakes[name], tuple(ties), "" if name == cause else cause)
    return explanations


def _least_ranks(fits: Sequence[Fit]) -> dict[str, float]:
    """Return by target the least rank of all fits with a mistake for it: that of the likeliest explaining candidate."""
    ranks: dict[str, float] = {}
    for fit in fits:
        for name in fit.mistakes:
            ranks[name] = min(fit.rank, ranks.get(name, fit.rank))
    return ranks
