"""Chooses among the candidates that explain wrong answers: as few as explain all of them, the likeliest first.

Several candidates often give the same numbers. What is told is true of the one that is chosen; where nothing tells two
of equal likelihood apart, both are named.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.program.forward import Forward, Place
from grader.program.queries import steps_to_minus

from .case import Case
from .edits import clause_of_equals, missing_number, with_places_of
from .mistake import Mistake
from .operators.places import WHOLE
from .words import list_in_words

TIED = 0.5  # how much rarer another explanation may be that is told beside the likeliest
SHARED = 1.0  # how much rarer a common cause of several answers may be than what explains each of them alone
CHANGES_RIGHT_ANSWER = 1.0  # what it adds to the rank of a candidate that an answer is right which it leads to
SIGN = "wrong-sign"  # the code of mistakes that a minus sign makes
OF_SIZE = ("mean-for-sum", "sum-for-mean")  # codes of mistakes that are a factor as large as an axis


@dataclass(frozen=True)
class Fit:
    """A candidate that explains one answer or more.

    Args:
        rank: the candidate's likelihood rank, and more where the candidate makes an answer wrong that is right.
        mistakes: by target the mistake in the answer.
        changes_right_answer: whether the candidate makes an answer wrong that is right.
    """

    rank: float
    mistakes: Mapping[str, Mistake]
    changes_right_answer: bool = False


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


def fewest_causes(case: Case, fits: Sequence[Fit]) -> dict[str, Mistake]:
    """Return the mistake in each answer by as few of the candidates as explain all answers, the likeliest of these.

    A candidate that explains several answers is reported at the one nearest to the loss, and the mistakes of the others
    name that answer as their cause. Such a candidate may be a little rarer than those that explain one of the answers
    alone, unless it makes an answer wrong that is right. Where the same mistake on another path gives the same numbers,
    both are told; so are a missing number and a mean over an axis of that size, the number first. A mistake that edits
    no operation gets the places of another candidate for the answer that is hardly less likely, if there is one.

    Args:
        case: the wrong answers.
        fits: all candidates that explain an answer, each as its rank and, by target, its mistakes.

    Returns:
        By target; answers that no fit explains are missing.
    """
    ranks, mistakes = _least_ranks(fits), dict[str, Mistake]()

    def explained(fit: Fit) -> list[str]:
        """Return the targets that a fit explains, that have no mistake yet, and for which it is likely enough."""
        rarer = 0.0 if fit.changes_right_answer else SHARED
        return [n for n in fit.mistakes if n not in mistakes and fit.rank <= ranks[n] + rarer]

    while len(mistakes) < len(ranks):
        best = max(fits, key=lambda fit: (len(explained(fit)), -fit.rank))  # of equal ones, the first
        cause, *followers = sorted(explained(best), key=case.distance)
        twin = next((fit for fit in fits if _is_on_parallel_path(case, best, fit, (cause, *followers))), None)
        if twin is None and (plain := _fit_of_number(fits, best, (cause, *followers))) is not None:
            best, twin = plain, best
        if twin is None:
            best, twin = _fits_at_minus(case, best, fits, (cause, *followers))
        likely = [best, *(fit for fit in fits if fit is not best and fit.rank <= best.rank + TIED)]
        for name in (cause, *followers):
            at = next((fit.mistakes[name].at for fit in likely if name in fit.mistakes and fit.mistakes[name].at), ())
            mistake = best.mistakes[name] if twin is None else _either(best.mistakes[name], twin.mistakes[name])
            if best.changes_right_answer and mistake.code == SIGN and case.samples:
                mistake = _on_way_to(case, mistake, (cause, *followers))
            mistakes[name] = replace(mistake, at=at, cause="" if name == cause else cause)
        names = {cause, *followers}
        tied = [fit.mistakes[cause] for fit in likely[1:] if fit.mistakes.keys() >= names]
        if twin is None and tied and case.samples:
            mistakes[cause] = with_places_of(mistakes[cause], tied, case.samples[0].program)
    return mistakes


def _fit_of_number(fits: Iterable[Fit], best: Fit, names: Collection[str]) -> Fit | None:
    """Return the likeliest fit by which a number is missing, such as the factor 2 of a square, if one is as good.

    Only if `best` is a mean for a sum, or the reverse: where an axis has the size 2 in every trial, nothing tells a
    mean over it from a missing factor 2. `None` if there is no such fit. One is as good if its rank is at most `TIED`
    above that of `best`, and it changes a right answer if and only if `best` does.

    Args:
        fits: all candidates that explain an answer.
        best: the candidate that is to be told.
        names: the targets that both must explain.
    """
    if any(best.mistakes[name].code not in OF_SIZE for name in names):
        return None
    numbers = (
        fit
        for fit in fits
        if fit.rank <= best.rank + TIED
        and fit.changes_right_answer == best.changes_right_answer
        and all(name in fit.mistakes and _is_missing_number(fit.mistakes[name]) for name in names)
    )
    return min(numbers, key=lambda fit: fit.rank, default=None)


def _is_missing_number(mistake: Mistake) -> bool:
    """Return whether a mistake is that a number is missing, and no mean for a sum, nor the reverse."""
    return mistake.code not in OF_SIZE and len(mistake.facts) == 1 and missing_number(mistake.facts[0]) is not None


def _is_on_parallel_path(case: Case, fit: Fit, other: Fit, names: Iterable[str]) -> bool:
    """Return whether a second fit is the same mistake at other edges, so that nothing tells the two apart.

    For the gradient of z in `f(z[:, None] - z)`, where f is symmetric: the path through `z[:, None]` is missing, or the
    other one. False for edits of nodes, and where an edge of one fit lies behind an edge of the other on a path: then
    both are about the same path.

    Args:
        case: the wrong answers.
        fit: a candidate that explains the answers `names`, which has a single edit.
        other: another candidate.
        names: the targets.
    """
    if other is fit or other.rank != fit.rank or other.changes_right_answer != fit.changes_right_answer:
        return False
    forward = case.samples[0].program.forward if case.samples else None
    for name in names:
        pair = fit.mistakes[name], other.mistakes.get(name)
        if forward is None or pair[1] is None or pair[0].code != pair[1].code:
            return False
        own, others = ([(fact.operator, fact.says) for fact in mistake.facts] for mistake in pair if mistake)
        is_same_edit = len(own) == len(others) == 1 and own[0][0] == others[0][0] and own[0][1] != others[0][1]
        if not (is_same_edit and pair[0].at and pair[1].at):
            return False
        for first, second in itertools.product(pair[0].at, pair[1].at):
            in_series = forward.leads_to(first, second) or forward.leads_to(second, first)
            if WHOLE in (first[1], second[1]) or first == second or in_series:
                return False
    return True


def _fits_at_minus(case: Case, best: Fit, fits: Iterable[Fit], names: Sequence[str]) -> tuple[Fit, Fit | None]:
    """Return the fits by which a sign is wrong where it was most likely lost, if `best` is one of a wrong sign.

    A wrong sign gives the same numbers at each of the operations that follow each other: in `u - tanh(x)` at the
    subtraction and at the tanh. A learner loses it where the vjp has a minus sign, or close behind that. (If `best`
    changes a right answer, the sign was lost behind it, on the way to the others.)

    Args:
        case: the wrong answers.
        best: the candidate that is to be told.
        fits: all candidates that explain an answer.
        names: the targets that `best` is told for, first the one nearest to the loss.

    Returns:
        The fit with the fewest operations between its place and a minus sign; `best` where there is no minus sign. And
        a second one, if two places have a minus sign each; else `None`.
    """
    mistake = best.mistakes[names[0]]
    if (
        mistake.code != SIGN
        or len(mistake.facts) != 1
        or best.changes_right_answer
        or not (case.samples and mistake.at)
    ):
        return best, None
    forward, place = case.samples[0].program.forward, mistake.at[0]
    steps = list[tuple[float, Fit]]()
    for fit in fits if place in forward.sources else ():
        other = fit.mistakes.get(names[0])
        if other is None or not fit.mistakes.keys() >= set(names) or not other.at or len(other.facts) != 1:
            continue
        is_as_likely = fit.rank == best.rank and not fit.changes_right_answer
        if is_as_likely and other.facts[0].operator == mistake.facts[0].operator:
            at = other.at[0]
            if fit is best or forward.leads_to(at, place) or forward.leads_to(place, at):
                steps.append((steps_to_minus(forward, at), fit))
    least = min((count for count, _ in steps), default=math.inf)
    if least == math.inf:
        return best, None
    nearest = [fit for count, fit in steps if count == least]
    nearest.sort(key=lambda fit: -fit.mistakes[names[0]].at[0][0])  # first the one nearest to the loss
    has_twin = least == 0 and len(nearest) > 1 and nearest[0].mistakes[names[0]] != nearest[1].mistakes[names[0]]
    return nearest[0], nearest[1] if has_twin else None


def _on_way_to(case: Case, mistake: Mistake, names: Iterable[str]) -> Mistake:
    """Return a mistake with a clause that says for which targets it was made, and for which it was not.

    For the gradient of v2, from which those of th and of mu are made: "... has the wrong sign on the way to th; on the
    way to mu it is right". The mistake is unchanged where no right gradient is made of what the edge contributes.

    Args:
        case: the wrong answers, and the targets whose answers are right.
        mistake: a mistake at an edge, with a single fact.
        names: the targets whose answers it explains.
    """
    forward = case.samples[0].program.forward
    behind = [name for name in case.right_names if any(_is_behind(forward, place, name) for place in mistake.at)]
    if len(mistake.facts) != 1 or not behind:
        return mistake
    (fact,) = mistake.facts
    says = f"{fact.says} on the way to {list_in_words(names)}; on the way to {list_in_words(behind)} it is right"
    return replace(mistake, facts=(replace(fact, says=says),))


def _is_behind(forward: Forward, place: Place, name: str) -> bool:
    """Return whether the gradient of a target is made of what an edge contributes."""
    return place in forward.sources and bool(forward.ancestors[forward.sources[place]] >> forward.targets[name] & 1)


def _either(mistake: Mistake, twin: Mistake) -> Mistake:
    """Return a mistake with a clause that names two mistakes: "..., or ...; the two give the same numbers".

    Args:
        mistake: the mistake, with a single fact.
        twin: the same mistake on another path, with a single fact.
    """
    fact, other = mistake.facts[0], twin.facts[0]
    return replace(mistake, facts=(replace(fact, says=clause_of_equals((fact.says, other.says), 2)),))


def _least_ranks(fits: Sequence[Fit]) -> dict[str, float]:
    """Return by target the least rank of all fits with a mistake for it: that of the likeliest explaining candidate.

    Targets that no fit explains are missing.
    """
    ranks: dict[str, float] = {}
    for fit in fits:
        for name in fit.mistakes:
            ranks[name] = min(fit.rank, ranks.get(name, fit.rank))
    return ranks
