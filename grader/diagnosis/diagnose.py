"""Which mistake a wrong answer is: the first candidate whose numbers are the learner's, on every trial.

Every explanation is computed. Where none matches, the answer is `unknown` and the facts are all that is said.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.exercise import Answer, Misconception
from grader.reference.compare import agrees, scaled_error, share_wrong
from grader.reference.option_arguments import describe_options
from grader.reference.trial import IMPOSSIBLE, Candidate, Trial, Vague
from grader.shapes import describe, describe_guessed
from grader.trial_sizes import ONE_KIND

from .both import a_step, mixed_in, spread_out, two_slips
from .partly import another_mask, by_upstream, not_zero, one_path, replaced_by_a_path, rows_of_a_path
from .prior import mixed_with_prior
from .ratios import offset, ratio, slope_typed_in, varying_ratio
from .relations import MATCH, Pair, constant, nothing, passes_where, right_in, same_shape

if TYPE_CHECKING:
    from grader.reference.trace import Place

IMPRECISE = 0.02
TINY, ZERO = 1e-9, 1e-5
SPECIFIC = (
    "inverted-mask overwritten transposed missing-upstream sum-for-mean mean-for-sum missing-batch-sum "
    "extra-batch-sum missing-path wrong-sign missing-local forward-value value-for-gradient extra-factor "
    "reshape-for-transpose inverse-for-transpose sum-of-products partial-batch wrong-operand wrong-point "
    "elementwise-for-matmul diagonal-only summed-wrong-axis broadcast-accident shape-special wrong-factor wrong-local "
    "hard-coded"
).split()


@dataclass(frozen=True)
class Diagnosis:
    """A named mistake.

    Args:
        code: from the public vocabulary.
        says: the fact, a clause about the answer.
        hints: hints of its own, if any.
        at: the places of the forward graph that it names; empty where it names none.
    """

    code: str
    says: str
    hints: tuple[str, ...] = ()
    at: tuple[Place, ...] = ()


def diagnose(
    answer: Answer, pairs: Sequence[Pair], candidates: Iterable[Candidate], *,
    averages: bool = False, rarer: Iterable[Candidate] = (),
) -> Diagnosis:  # fmt: skip
    """Name the mistake in a wrong answer.

    Args:
        pairs: each trial with the learner's array in it (float64), the first one first.
        candidates: computable mistakes, the most specific first.
        averages: the forward pass takes a mean.
        rarer: more of them, for which a plain relation to the right answer is a likelier explanation.
    """
    if not pairs:
        return Diagnosis("unknown", "there is nothing to compare")
    candidates = list(candidates)
    if not any(np.any(array) for _, array in pairs):  # zeros come from anywhere
        candidates, rarer = [one for one in candidates if one.code == "missing-upstream"], ()
    same_shapes = all(array.shape == right_in(answer, trial).shape for trial, array in pairs)
    if same_shapes and (typed_in := constant(pairs)):
        return Diagnosis("hard-coded", typed_in)
    return matching(answer, pairs, candidates) or _without_candidates(answer, pairs, candidates, averages, rarer)


def matching(answer: Answer, pairs: Sequence[Pair], candidates: Iterable[Candidate]) -> Diagnosis | None:
    """The first candidate whose numbers are the learner's; the arguments are those of `diagnose`."""
    found = (candidate for candidate in candidates if _matches(candidate, answer, pairs))
    return next((Diagnosis(one.code, one.says, one.hints, one.at) for one in found), None)


def places(answer: Answer, pairs: Sequence[Pair], candidates: Iterable[Candidate], code: str) -> tuple[Place, ...]:
    """Where in the forward graph a mistake with this code gives the learner's numbers; empty if nowhere."""
    found = (candidate for candidate in candidates if candidate.at and candidate.code == code)
    return next((candidate.at for candidate in found if _matches(candidate, answer, pairs)), ())


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The most specific first: where several fit the same numbers, that one is told."""
    return sorted(candidates, key=lambda candidate: SPECIFIC.index(candidate.code))


def _matches(candidate: Candidate, answer: Answer, pairs: Sequence[Pair]) -> bool:
    told_apart = False
    for trial, array in pairs:
        try:
            computed = candidate.compute(trial)
        except Vague:
            continue
        except IMPOSSIBLE:
            return False
        right = right_in(answer, trial)
        if not _near(array, computed, right):
            return False
        told_apart = told_apart or not _near(computed, right, right)
    return told_apart


def _near(array: np.ndarray, other: np.ndarray, right: np.ndarray) -> bool:
    """Equal but for rounding; what a mistake computes as zero, next to the right answer, may be rounding too."""
    size = float(np.abs(right).max(initial=0.0))
    if np.abs(other).max(initial=0.0) > TINY * size:
        return scaled_error(array, other) <= MATCH
    return scaled_error(array, np.zeros_like(other)) <= ZERO * (size or 1.0)


def _without_candidates(
    answer: Answer, pairs: Sequence[Pair], candidates: Sequence[Candidate], averages: bool, rarer: Iterable[Candidate]
) -> Diagnosis:
    wrong_shape = next(((t, a) for t, a in pairs if a.shape != right_in(answer, t).shape), None)
    if wrong_shape is not None and (says := same_shape(answer, pairs)):
        return Diagnosis("hard-coded", says)
    everywhere = wrong_shape is not None and wrong_shape[0] is pairs[0][0]
    if wrong_shape is not None and everywhere and (spread := _broadcast_accident(answer, *wrong_shape)):
        return spread
    special = passes_where(answer, pairs, agrees)
    if found := another_mask(answer, pairs, candidates) or not_zero(answer, pairs):
        return Diagnosis(*(special if special and special[0] == "hard-coded" else found))
    if found := mixed_with_prior(answer, pairs):
        return Diagnosis(*found)
    if related := _by_factors(answer, pairs, candidates, averages):
        return related
    of_paths = replaced_by_a_path(answer, pairs, candidates) or rows_of_a_path(answer, pairs, candidates)
    if found := of_paths or a_step(answer, pairs):
        return Diagnosis(*found)
    if rare := matching(answer, pairs, rarer):
        return rare
    if found := by_upstream(answer, pairs) or special or spread_out(answer, pairs, candidates):
        return Diagnosis(*found)
    if both := two_slips(answer, pairs, candidates, averages) or mixed_in(answer, pairs, candidates):
        code, says, at = both
        return Diagnosis(code, says, at=at)
    if wrong_shape is not None:
        return _wrong_shape(answer, *wrong_shape)
    if says := constant(pairs, trivial=True):
        return Diagnosis("hard-coded", says)
    if varying := varying_ratio(answer, pairs):
        return Diagnosis(*varying)
    alone = ", and none in a batch of one" if _right_for_one_alone(answer, pairs) else ""
    return Diagnosis("unknown", f"{_facts(answer, pairs)}{alone}")


def _by_factors(
    answer: Answer, pairs: Sequence[Pair], candidates: Sequence[Candidate], averages: bool
) -> Diagnosis | None:
    """Nothing at all, nearly right, or right but for a factor or a summand."""
    if says := nothing(answer, pairs):
        return Diagnosis("hard-coded", says)
    if all(scaled_error(array, right_in(answer, trial)) < IMPRECISE for trial, array in pairs):
        worst = max(scaled_error(array, right_in(answer, trial)) for trial, array in pairs)
        return Diagnosis("imprecise", f"it is nearly right, off by {worst:.1e} of the largest entry")
    if decoded := ratio(answer, pairs, averages):
        return Diagnosis(*decoded)
    if says := slope_typed_in(answer, pairs):
        return Diagnosis("hard-coded", says)
    if says := offset(answer, pairs):
        return Diagnosis("wrong-local", says)
    if on_path := one_path(answer, pairs, candidates, averages):
        code, says, at = on_path
        return Diagnosis(code, says, at=at)
    return None


def _right_for_one_alone(answer: Answer, pairs: Sequence[Pair]) -> bool:
    """Right in every batch of one and nowhere else: what belongs to one example is mixed with others."""
    right = [agrees(array, right_in(answer, trial)) for trial, array in pairs]
    return any(right) and right == [trial.setting.kind == ONE_KIND for trial, _ in pairs]


def _wrong_shape(answer: Answer, trial: Trial, array: np.ndarray) -> Diagnosis:
    owner = f"the shape of {answer.wrt}, " if answer.kind == "gradient" and answer.wrt else ""
    shape, expected = _shapes(answer, trial, array)
    where = f", where {chosen}" if (chosen := describe_options(trial)) else ""
    return Diagnosis("wrong-shape", f"its shape is {shape}; it should be {owner}{expected}{where}")


def _shapes(answer: Answer, trial: Trial, array: np.ndarray) -> tuple[str, str]:
    """The learner's shape and the right one, with axis names."""
    sizes, right = trial.setting.sizes, right_in(answer, trial)
    axes = trial.axes(answer.wrt) if answer.kind == "gradient" else None
    expected = describe(right.shape, axes) if axes else describe_guessed(right.shape, sizes)
    return describe_guessed(array.shape, sizes), expected


def _broadcast_accident(answer: Answer, trial: Trial, array: np.ndarray) -> Diagnosis | None:
    """The answer has the shape that two inputs make when they are broadcast against each other."""
    arrays = {name: value for name, value in trial.inputs.items() if hasattr(value, "shape")}
    for a, b in _pairs(arrays):
        if _broadcast(arrays[a].shape, arrays[b].shape) == array.shape and array.ndim > 0:
            shape, expected = _shapes(answer, trial, array)
            says = f"its shape is {shape}: {a} and {b} were broadcast against each other; it should be {expected}"
            return Diagnosis("broadcast-accident", says)
    return None


def _pairs(arrays: dict[str, Any]) -> Iterator[tuple[str, str]]:
    names = list(arrays)
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            if _broadcast(arrays[first].shape, arrays[second].shape) not in (
                None, tuple(arrays[first].shape), tuple(arrays[second].shape),
            ):  # fmt: skip
                yield first, second


def _broadcast(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        return None


def _facts(answer: Answer, pairs: Sequence[Pair]) -> str:
    trial, array = next((t, a) for t, a in pairs if not agrees(a, right_in(answer, t)))
    right = right_in(answer, trial)
    wrong = round(share_wrong(array, right) * array.size)
    error = scaled_error(array, right)
    entries = f"{wrong} of {array.size} entries are wrong" if array.size > 1 else "the value is wrong"
    return f"{entries}, by up to {error:.2g} times the largest one"


def declared(misconceptions: Sequence[Misconception], answer: Answer) -> Iterator[Candidate]:
    """The exercise's own misconceptions about one answer, as candidates."""
    for misconception in misconceptions:
        if misconception.answer == answer.name:
            says = misconception.says or f"this is what a known slip gives ({misconception.code})"
            yield Candidate(misconception.code, says, _runner(misconception), misconception.hints)


def _runner(misconception: Misconception) -> Any:
    names = tuple(inspect.signature(misconception.rule).parameters)

    def compute(trial: Trial) -> np.ndarray:
        known = {**trial.inputs, "out": trial.out, "out_g": trial.out_g}
        wrong = misconception.rule(**{name: known[name] for name in names})
        return np.asarray(wrong.detach().numpy() if hasattr(wrong, "detach") else wrong, dtype="float64")

    return lambda trial: trial.remember(misconception, lambda: compute(trial))
