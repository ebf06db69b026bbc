"""Facts about the numbers of a wrong answer: each is returned as a `Mistake`, or `None` where it is not true.

A fact such as "it is 0 everywhere" needs no search. It serves where no edit of the right program gives the learner's
numbers. Most functions take the samples of one wrong answer, one for each trial.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from grader.course.exercise import Answer, Declaration
from grader.course.shapes import axes_in_all
from grader.course.trial_sizes import LARGE_UPSTREAM_KIND, ONE_KIND
from grader.reference.compare import MATCH, scaled_error, wrong_entries
from grader.reference.trial import Sample, Samples, Trial, options

from .factors import CLOSE, TrialRatios, common_ratio, number_text
from .failing_arguments import operations_of_wrong_trials, options_of_right_trials
from .hints import STORED_AND_NEW, ZERO_EVERYWHERE
from .mistake import FactKind, Mistake, fact_kind
from .words import with_words

IMPRECISE = 0.02
NOTHING = 1e-5
LEAST_ZEROS = 0.1
TOLERANCE = 1e-3
LEAST_ROUNDED = 4  # entries that are no whole numbers in the right answer; fewer may be whole by chance
HELD_DOWN = 0.25  # what share of its right size an answer has at most if the upstream gradient was clipped
MOST_LUCK = 0.01  # how likely a coincidence may be that is told as a rule
LEAST_TRIALS, LEAST_ENTRIES = 2, 5
MOST_LEVELS, LEAST_AT_LEVEL = 2, 2  # values that all wrong entries have; entries with each of them

CONSTANT = fact_kind(
    "constant",
    "{subject} is {number} in every trial",
)
ZERO_BUT_FOR_ROUNDING = fact_kind(
    "zero-but-for-rounding",
    "every entry is 0 up to rounding in every trial",
)
SAME_SHAPE = fact_kind(
    "same-shape",
    "its shape is always {shape}, whatever the sizes",
)
NEARLY_RIGHT = fact_kind(
    "nearly-right",
    "it is close, but not exact: {error}",
    hints=(
        (
            "Does your code take a small step, round a number, add a small one, stop an iteration early, or use an "
            "approximate formula, where nothing of the kind is asked for?"
        ),
        "In which dtype is each value computed, and with how many digits are your constants typed in?",
        "Print the values with all their digits, and compute the same values by hand. Which is the first that differs?",
    ),
)
ROUNDED = fact_kind(
    "rounded",
    "{subject} is {how}",
    hints=(
        "Which operation of your code returns whole numbers?",
        "Which of int(), round(), // and an integer dtype does your code use? Is it asked for?",
        "Print the value before and after that operation.",
    ),
)
SLOPE_TYPED_IN = fact_kind(
    "slope-typed-in",
    "every entry is {multiple} {upstream}, whatever {variable} is",
)
OFFSET = fact_kind(
    "offset",
    "{number} is {verb} every entry",
)
VARYING_FACTOR = fact_kind(
    "varying-factor",
    "{varying}",
    hints=(
        "Compare the factor with the numbers of that call. Which argument or intermediate value is it made of?",
        "Which value does your code compute and never use, or use twice?",
    ),
)
STEP_OF_TRAINING = fact_kind(
    "step-of-training",
    "this is {variable} {verb} {number} times its gradient: a step of training, not a gradient",
    hints=(
        "What is asked for: the gradient, or the variable after a step of training?",
        "Who uses the gradient afterwards, and takes the step?",
        "Which part of your formula is the gradient?",
    ),
)
WEIGHTS_OF_PRIOR = fact_kind(
    "weights-of-prior",
    "this is {mixture}; it must be the sum of the new gradient and the stored one",
    hints=STORED_AND_NEW,
)
RIGHT_ONLY_IN = fact_kind(
    "right-only-in",
    "it is right only {kinds}",
)
RIGHT_EXCEPT_IN = fact_kind(
    "right-except-in",
    "it is wrong {kinds}",
)
RIGHT_FOR_SMALL_UPSTREAM = fact_kind(
    "right-for-small-upstream",
    "it is right only for small upstream gradients, but must be linear in them",
)
WRONG_WITH = fact_kind(
    "wrong-with",
    "it is wrong when {name} uses {parts}",
    hints=("Take a function that uses nothing else, with numbers of your own, and work out the result by hand.",),
)
RIGHT_ONLY_WHERE = fact_kind(
    "right-only-where",
    "it is {where}",
    hints=(
        "Go through your code by hand with an argument for which it is wrong. Which line does not fit the forward"
        " pass?",
        "Print the value of every line, once where the answer is right and once where it is wrong.",
        "Which entries are wrong there: the first, the last, all of them? Which line computes these?",
    ),
)
RIGHT_ONLY_FOR_RANK = fact_kind(
    "right-only-for-rank",
    "it is right only for arrays of rank {rank}",
)
NOT_ZERO = fact_kind(
    "not-zero",
    "{wrong:zeros}",
)
ANOTHER_MASK = fact_kind(
    "another-mask",
    "{passes:mask}",
    hints=(
        "Print your mask beside the input. Which entries does it select, and which must it select?",
        "Which comparison makes your mask: of which array, with which number?",
        "Take the entry that is named, and nudge it. Does the output of this operation move?",
    ),
)
WRONG_WHERE_EXACT = fact_kind(
    "wrong-where-exact",
    "it is wrong only where entries of {arrays} are {exactly}: there, {wrong:exact}{example}",
    hints=(
        "Go through your code with an argument that has a row of zeros, and with one that has two equal entries.",
        "Which comparison or division in your code assumes that no entry is 0, or that no two are equal?",
        "Does every entry of your answer still get all its contributions when some entries are 0?",
    ),
)
WRONG_WHERE_TIED = fact_kind(
    "wrong-where-tied",
    "it is wrong only where {tied} are equal: in {wrong} of {entries} entries, for example where {pair} = {value}",
    hints=(
        "Go through your code with two entries that are equal. What does each of them get?",
        "Which comparison in your code assumes that no two entries are equal?",
        "What tells two equal entries apart in the forward pass: nothing, or their indices?",
    ),
)
WRONG_WHERE_CHOSEN = fact_kind(
    "wrong-where-chosen",
    "it is wrong only where {tied} are equal: in {wrong} of {entries} entries, for example where {pair} = {value};"
    " there, comparing values does not tell which of the two the output was taken from",
    hints=(
        "Go through your code with two entries that are equal. What does each of them get?",
        "Nudge one of two equal entries: does the output move? What decides that?",
        "What decides from which of the two an entry of the output is taken? Does your code use it?",
    ),
)
WRONG_WHERE_SHARED = fact_kind(
    "wrong-where-shared",
    "it is wrong only where {tied} are equal: in {wrong} of {entries} entries, for example where {pair} = {value};"
    " there, their gradients must add up to the upstream gradient",
    hints=(
        "Go through your code with two entries that are equal. What does each of them get?",
        "Which comparison in your code assumes that no two entries are equal?",
        "Add up what the two equal entries get. Is the sum the upstream gradient?",
    ),
)
WRONG_WHERE_OTHERS_TIED = fact_kind(
    "wrong-where-others-tied",
    "it is wrong only where {tied} are equal: in {wrong} of {entries} entries, for example where {pair} = {value}",
    hints=(
        "Go through your code with two entries of this input that are equal. What do you compute for each of them?",
        "Which comparison or grouping in your code assumes that no two entries are equal?",
        "An entry of this input must be treated in the same way, whether or not another one is equal to it.",
    ),
)
WRONG_AT_VALUE = fact_kind(
    "wrong-at-value",
    "it is wrong only where {name} is exactly {exactly}: in {wrong} of {entries} entries, such as {name}{index}",
    hints=(
        "Go through your code with an entry that has exactly this value. What is the result?",
        "Which comparison in your code has this value on one side?",
        "Nudge such an entry by hand. How far does the result move, and what does your code say?",
    ),
)
WRONG_WHERE_ZERO = fact_kind(
    "wrong-where-zero",
    "it is wrong only where {zero} is exactly 0: in {wrong} of {entries} entries, such as {name}{index}",
    hints=(
        "Go through your code with an entry that is exactly 0. What is the result?",
        "Which comparison, mask or division in your code treats an entry of 0 as a special case?",
        "Nudge such an entry by hand. How far does the result move, and what does your code say?",
    ),
)
UPSTREAM_NOT_IN_IT = fact_kind(
    "upstream-not-in-it",
    "it does not depend on {upstream}: it stays the same when {upstream} changes",
)
NOT_LINEAR_IN_UPSTREAM = fact_kind(
    "not-linear-in-upstream",
    "it is not linear in {upstream}: with {factor} times {upstream}, it must be {factor} times as large",
)
UPSTREAM_IN_DENOMINATOR = fact_kind(
    "upstream-in-denominator",
    "it is divided by {upstream}; it must be multiplied by {upstream}",
)
ANOTHER_SLOPE = fact_kind(
    "another-slope",
    "the derivative at {entry} is {slope}, but {used} is used",
)
OWN_UPSTREAM_ONLY = fact_kind(
    "own-upstream-only",
    "each entry uses only one entry of {upstream}, but each input entry affects other outputs as well",
)
BROADCAST = fact_kind(
    "broadcast",
    "its shape is {shape}: {a} and {b} were broadcast against each other; it should be {expected}",
    hints=(
        "Write the shape of every array next to its name. In which line do two of them become one of a larger shape?",
        "Is the larger shape wanted there? If so, what must be summed over after that line, and not before it?",
        "Print the shape after every line: one array is larger than the arrays it was made from.",
    ),
)
WRONG_SHAPE = fact_kind(
    "wrong-shape",
    "its shape is {shape}; it should be {owner}{expected}{options}",
)
UNKNOWN = fact_kind(
    "unknown",
    "{wrong:share}",
)
NOTHING_TO_COMPARE = fact_kind(
    "nothing-to-compare",
    "there is nothing to compare",
)


def differing_entries(array: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return a mask, True for each entry in which two arrays of one shape differ by more than rounding.

    Args:
        array: an array.
        other: the array to compare with, whose greatest entry says what counts as rounding.
    """
    differs: np.ndarray = np.abs(array - other) > MATCH * np.abs(other).max(initial=0.0)
    return differs


def have_right_shapes(samples: Samples) -> bool:
    """Return whether the learner's array has the right shape in every trial.

    Args:
        samples: an answer in each trial.
    """
    return all(sample.has_shape for sample in samples)


def constant_answer(samples: Samples, *, trivial: bool = False) -> Mistake | None:
    """Return the fact that an answer is one and the same number in every entry of every trial; `None` where it is not.

    Args:
        samples: the answer in each trial; for a single trial `None` is returned.
        trivial: whether the fact is also returned where this number is 0 or 1, which an edit often explains.
    """
    number = next((float(sample.given.flat[0]) for sample in samples if sample.given.size), None)
    if number is None or len(samples) < 2 or (not trivial and number in (0.0, 1.0)):
        return None
    if any((sample.given != number).any() for sample in samples):
        return None
    part = {} if any(sample.given.ndim for sample in samples) else {"part": "it"}
    mistake = CONSTANT("hard-coded", number=f"{number + 0.0:g}", **part)
    return mistake if number else replace(mistake, hints=ZERO_EVERYWHERE)


def zero_answer(samples: Samples) -> Mistake | None:
    """Return the fact that an answer is 0 but for rounding in every trial; `None` where it is not, or is exactly 0.

    For a single trial `None` is returned.
    """
    sizes = [(np.abs(sample.given).max(initial=0.0), np.abs(sample.expected).max(initial=0.0)) for sample in samples]
    tiny = all(array <= NOTHING * right for array, right in sizes)
    if len(samples) < 2 or not tiny or not any(array for array, _ in sizes):
        return None
    return ZERO_BUT_FOR_ROUNDING("hard-coded")


def same_shape_in_every_trial(samples: Samples) -> Mistake | None:
    """Return the fact that the learner's array has one shape in every trial, although that of the right array changes.

    Return `None` if its shape changes, if the right shape does not, or if the learner's array has one entry.
    """
    shapes, expected = {sample.given.shape for sample in samples}, {sample.expected.shape for sample in samples}
    if len(shapes) != 1 or len(expected) < 2 or max(next(iter(shapes)), default=1) == 1:
        return None
    return SAME_SHAPE("hard-coded", shape=list(shapes.pop()))


ROUNDINGS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "cut off to a whole number": np.trunc,
    "rounded down to a whole number": np.floor,
    "rounded to the nearest whole number": np.round,
    "rounded up to a whole number": np.ceil,
}


def rounded_answer(samples: Samples) -> Mistake | None:
    """Return the fact that every entry is that of the right answer, rounded to a whole number; `None` where it is not.

    `None` is returned, too, if fewer than `LEAST_ROUNDED` right entries are no whole numbers themselves. The first of
    `ROUNDINGS` that fits is told.
    """
    given = np.concatenate([np.ravel(sample.given) for sample in samples])
    right = np.concatenate([np.ravel(sample.expected) for sample in samples])
    is_whole = np.abs(right - np.round(right)) < 1e-4 * np.maximum(np.abs(right), 1)
    if given.shape != right.shape or np.count_nonzero(~is_whole) < LEAST_ROUNDED:
        return None
    for how, rounding in ROUNDINGS.items():
        if np.array_equal(given[~is_whole], rounding(right[~is_whole])) and np.all(np.abs(given - right) <= 1):
            is_number = all(sample.expected.ndim == 0 for sample in samples)
            return ROUNDED("imprecise", how=how, part="the answer" if is_number else "every entry")
    return None


def imprecise_answer(samples: Samples, *, most: float = IMPRECISE) -> Mistake | None:
    """Return the fact that an answer is nearly right in every trial; `None` where it is not.

    Args:
        samples: the answer in each trial.
        most: the greatest error of an entry that counts as nearly right, divided by the greatest entry.
    """
    error = max(scaled_error(sample.given, sample.expected) for sample in samples)
    if error >= most:
        return None
    if all(sample.expected.size == 1 for sample in samples):
        return NEARLY_RIGHT("imprecise", error=f"its relative error is up to {error:.1e}")
    return NEARLY_RIGHT(
        "imprecise", error=f"the largest error is {error:.1e} times the largest entry of the right answer"
    )


def offset_answer(samples: Samples) -> Mistake | None:
    """Return the fact that an answer is the right array plus a number c, the same in every entry of every trial.

    Return `None` where it is not, where c is 0, or where the right array is one number in all trials.
    """
    numbers = {float(end(sample.expected)) for sample in samples if sample.expected.size for end in (np.min, np.max)}
    if not have_right_shapes(samples) or len(numbers) == 1:
        return None
    differences = [sample.given - sample.expected for sample in samples]
    number = float(np.median(differences[0])) if differences and differences[0].size else 0.0
    bound = MATCH * max(abs(number), *(float(np.abs(sample.given).max(initial=0.0)) for sample in samples))
    if abs(number) <= bound or any(np.abs(difference - number).max(initial=0.0) > bound for difference in differences):
        return None
    verb = "added to" if number > 0 else "subtracted from"
    return OFFSET("wrong-local", number=number_text(abs(number)), verb=verb)


def ratio_in_each_trial(samples: Samples) -> TrialRatios:
    """Return the number f with learner's array = f * right array for each trial whose right array is not all zero.

    Returns:
        Pairs (trial, f); none at all if there is no such number in one of these trials.
    """
    ratios = [(sample, common_ratio(sample.given, sample.expected)) for sample in samples]
    if any(ratio is None and np.any(sample.expected) for sample, ratio in ratios):
        return []
    return [(sample.trial, ratio) for sample, ratio in ratios if ratio is not None]


def varying_ratio(samples: Samples) -> Mistake | None:
    """Return the fact that the learner's array is a multiple of the right one in each trial, by varying factors.

    Return `None` if it is no multiple or the factor is the same, or if fewer than two trials have three nonzero
    entries.
    """
    known = [ratio for _, ratio in ratio_in_each_trial(samples)]
    telling = sum(np.count_nonzero(sample.expected) >= 3 for sample in samples)
    off_by = [ratio for ratio in known if not math.isclose(ratio, 1, rel_tol=1e-2)]
    if not known or telling < 2 or not off_by or math.isclose(min(known), max(known), rel_tol=1e-2):
        return None
    right = len(known) - len(off_by)
    return VARYING_FACTOR("wrong-factor", factor=number_text(off_by[0]), right=right, trials=len(known))


def training_step(answer: Answer, samples: Samples) -> Mistake | None:
    """Return the fact that an answer is w + c * dw, for the variable w, its right gradient dw, and one number c.

    This is a step of training, such as w - 0.1 * dw. Return `None` if there is no such c, if it is 1 or -1, or if there
    is a single trial.

    Args:
        answer: the answer; `None` is returned where it is no gradient.
        samples: the answer in each trial.
    """
    if answer.kind != "gradient" or not have_right_shapes(samples):
        return None
    rates = [
        common_ratio(sample.given - np.asarray(sample.trial.inputs[answer.wrt]), sample.expected) for sample in samples
    ]
    rate = rates[0]
    if rate is None or len(rates) < 2 or any(r is None or not math.isclose(r, rate, rel_tol=1e-2) for r in rates):
        return None
    if math.isclose(abs(rate), 1, rel_tol=1e-2):  # more likely a sum than a step
        return None
    verb = "minus" if rate < 0 else "plus"
    return STEP_OF_TRAINING("wrong-local", variable=answer.wrt, verb=verb, number=f"{abs(rate):.3g}")


def weighted_with_prior(answer: Answer, samples: Samples) -> Mistake | None:
    """Return the fact that an answer is a * new + b * prior with unequal weights, not new + prior.

    Here prior is the gradient that was stored before, which must be added to. The weights, such as 0.1 and 0.9, are the
    same in every trial. Return `None` if there are no such weights, or too few trials to determine them.

    Args:
        answer: the answer.
        samples: the answer in each trial.
    """
    known = [
        (np.stack([trial.new(answer), prior]).reshape(2, -1), given.flatten())
        for trial, given, _ in samples
        if (prior := trial.prior(answer)) is not None and given.shape == prior.shape
    ]
    if len(known) < LEAST_TRIALS or sum(array.size for _, array in known) < LEAST_ENTRIES:
        return None
    parts, given = (np.concatenate(arrays, axis=-1) for arrays in zip(*known, strict=True))
    weights = np.linalg.lstsq(parts.T, given, rcond=None)[0]
    if scaled_error(given, weights @ parts) > MATCH or abs(weights[0] - weights[1]) < TOLERANCE:
        return None
    new, before = (weight_text(weight) for weight in weights)
    return WEIGHTS_OF_PRIOR("wrong-factor", new=new, before=before)


def weight_text(weight: float) -> str:
    """Return a weight that least squares found, with three digits; `0` for one that may be no more than rounding."""
    return f"{weight:.3g}" if abs(weight) > TOLERANCE else "0"


def right_in_some_trials(answer: Answer, samples: Samples) -> Mistake | None:
    """Return the fact that an answer is right in some trials only, and what is special about these; else `None`.

    Such as "only where all axes have the same size", "only where p is 0.5", or "only for small upstream gradients".
    `None` is returned where nothing is special about them, where they may be right by luck, as they have few entries,
    or where they are the batches of one, which hide many mistakes.

    Args:
        answer: the answer.
        samples: the answer in each trial.
    """
    right, wrong = _right_and_wrong_trials(_with_nonzero_answer(samples))
    if not right or not wrong or _may_be_right_by_luck(samples):
        return None
    kinds = [{trial.setting.kind for trial in trials} for trials in (right, wrong)]
    if kinds[0] == {ONE_KIND}:
        return None  # one example alone hides whatever mixes several
    if not kinds[0] & kinds[1]:
        for trials, kind in ((right, RIGHT_ONLY_IN), (wrong, RIGHT_EXCEPT_IN)):
            if {trial.setting.kind for trial in trials} <= {ONE_KIND, "a square case"}:
                return kind("shape-special", kinds=_setting_kinds_with_sizes(trials))
    if kinds[1] == {LARGE_UPSTREAM_KIND} and all(map(_is_right_or_shrunk, samples)):
        return RIGHT_FOR_SMALL_UPSTREAM("not-linear")
    where = options_of_right_trials(answer, right, wrong)
    is_choice = " and " in where  # one of several options is the reason: a wrong shape says more
    if where and (have_right_shapes(samples) or not is_choice):
        return RIGHT_ONLY_WHERE("hard-coded", where=where)
    ranks = [{trial.setting.rank for trial in trials} for trials in (right, wrong)]
    any_rank = any(axis.startswith("_") for axis in right[0].setting.sizes)
    if have_right_shapes(samples) and any_rank and not ranks[0] & ranks[1]:
        return RIGHT_ONLY_FOR_RANK("shape-special", rank=ranks[0].pop())
    return None


def _is_right_or_shrunk(sample: Sample) -> bool:
    """Return whether an answer is right, or smaller than it must be, as a clipped gradient is.

    It is smaller if each entry has the right sign and at most the right size, or if its norm is far too small, but not
    0. Return False for an array that is wrong in any other way, which the sizes of the trial may cause.
    """
    given, expected = sample.given, sample.expected
    if sample.agrees or not sample.has_shape:
        return sample.agrees
    shrunk = (given * expected > 0) & (np.abs(given) <= np.abs(expected) * (1 + MATCH))
    each = np.where(expected == 0, given == 0, shrunk)
    together = 0 < np.linalg.norm(given) < HELD_DOWN * np.linalg.norm(expected)
    return bool(each.all() or together)


def _may_be_right_by_luck(samples: Samples) -> bool:
    """Return whether an answer may be right in some trials only because these have few entries.

    If a tenth of the entries is wrong in the other trials, a trial of six entries is often right by luck.
    """
    if not have_right_shapes(samples):
        return False
    wrong = [sample for sample in samples if not sample.agrees]
    entries = sum(sample.expected.size for sample in wrong)
    differ = sum(int(differing_entries(sample.given, sample.expected).sum()) for sample in wrong)
    in_right_trials = sum(sample.expected.size for sample in samples if sample.agrees)
    return bool((1 - differ / entries) ** in_right_trials > MOST_LUCK)


def _with_nonzero_answer(samples: Samples) -> Samples:
    """Return the samples whose right array has a nonzero entry; all samples if there are none.

    In the others a wrong backward pass is often right, as it gives zeros, too.
    """
    return [sample for sample in samples if np.any(sample.expected)] or samples


def _right_and_wrong_trials(samples: Samples) -> tuple[list[Trial], list[Trial]]:
    """Return two lists: the trials in which the answer is right, and those in which it is wrong."""
    return [sample.trial for sample in samples if sample.agrees], [
        sample.trial for sample in samples if not sample.agrees
    ]


def wrong_for_function_part(samples: Samples) -> Mistake | None:
    """Return the fact that an answer is wrong exactly in the trials whose function argument uses certain operations.

    The learner's function takes a function f: the answer is wrong wherever f uses `tanh`, for example, and right
    wherever f does not. Return `None` where no operation distinguishes the trials in this way.
    """
    name, parts = operations_of_wrong_trials(*_right_and_wrong_trials(_with_nonzero_answer(samples)))
    spelled = " or ".join(f"`{part}`" for part in parts)
    return WRONG_WITH("wrong-local", name=name, parts=spelled) if parts else None


def _setting_kinds_with_sizes(trials: Sequence[Trial]) -> list[list[Any]]:
    """Return the kinds of the settings of some trials, each once, with the named axes and sizes of its first trial.

    A setting is the sizes of a trial, and its kind a phrase such as "a batch of one". Where all axes have one size, an
    option of this value is named, too. Kinds come in the order of their last trials.

    Returns:
        Lists of a kind and its sizes, as message fields: [["a batch of one", [["bs", 1], ["n", 4]]]].
    """
    known = {trial.setting.kind: _named_sizes(trial) for trial in reversed(trials)}
    return [[kind, sizes] for kind, sizes in reversed(known.items())]


def _named_sizes(trial: Trial) -> list[list[Any]]:
    """Return the named axes of a trial and their sizes; of one size, also the options of this value: [["n", 3]]."""
    sizes = {axis: size for axis, size in trial.setting.sizes.items() if not axis.startswith("_")}
    alike = {name: value for name, value in _sizes_given(trial).items() if {value} == {*sizes.values()}}
    return [[name, size] for name, size in (sizes | alike).items()]


def nonzero_where_zero(samples: Samples) -> Mistake | None:
    """Return the fact that an answer is wrong only in entries that must be exactly 0, and are not.

    Return `None` where no entry is wrong, a wrong entry must be another number, or few entries must be 0.
    """
    zeros = sum(int((sample.expected == 0).sum()) for sample in samples)
    if not have_right_shapes(samples) or zeros < LEAST_ZEROS * sum(sample.expected.size for sample in samples):
        return None
    differs = [(differing_entries(sample.given, sample.expected), sample.expected == 0) for sample in samples]
    if any(bool((here & ~zero).any()) for here, zero in differs):
        return None
    wrong = [sample for sample, (here, _) in zip(samples, differs, strict=True) if here.any()]
    return NOT_ZERO("wrong-local", **counted_zeros(stated_sample(wrong))) if wrong else None


def stated_numbers(mistake: Mistake | None, sample: Sample) -> bool:
    """Return whether a sample has the counts of entries, or the value, that the message of a mistake states.

    `False` where the message states no such numbers, or the answer has a wrong shape.

    Args:
        mistake: the mistake; `None` is one without such numbers.
        sample: the answer in a trial in which it is wrong.
    """
    fact = mistake.facts[0] if mistake is not None and mistake.facts else None
    count = None if fact is None else COUNTS.get(fact.operator)
    if fact is None or count is None or not sample.has_shape:
        return False
    return count(sample.in_double).items() <= fact.parameters.items()


def counted_zeros(sample: Sample) -> dict[str, int]:
    """Return the message fields of `NOT_ZERO` in one trial: `zeros` entries must be 0, and `wrong` of them are not.

    Args:
        sample: the answer in the trial, of the right shape.
    """
    zero = sample.expected == 0
    differs = differing_entries(sample.given, sample.expected)
    return {"wrong": int((differs & zero).sum()), "zeros": int(zero.sum())}


def stated_sample(wrong: Samples) -> Sample:
    """Return the sample whose numbers a message states: the first one, or of a routine that of the smallest arguments.

    Args:
        wrong: the samples in which an answer is wrong, at least one.
    """
    return min(wrong, key=lambda sample: sample.trial.largest_size if sample.trial.out is None else 0)


def wrong_mask(answer: Answer, samples: Samples, closed: Iterable[Sequence[np.ndarray]]) -> Mistake | None:
    """Return the fact that the backward pass uses a wrong mask, such as z < 0 in place of z > 0 for relu.

    Each entry of the answer is then 0, or the gradient without any mask. The fact names the first wrong entry of the
    first trial that has one. Return `None` where no item of `closed` fits.

    Args:
        answer: the answer.
        samples: the answer in each trial.
        closed: for each mask of the forward pass the gradient without it minus the right gradient, which the mask holds
            back; an array for each trial, shaped like the answer.
    """
    first = next(
        (sample for sample in samples if sample.has_shape and differing_entries(sample.given, sample.expected).any()),
        None,
    )
    if first is None or not any(np.any(sample.given) for sample in samples):
        return None
    for arrays in closed:
        opened = [(sample.given, sample.expected + more) for sample, more in zip(samples, arrays, strict=True)]
        if all(
            array.shape == full.shape and not (differing_entries(array, full) & (array != 0)).any()
            for array, full in opened
        ):
            place = tuple(int(i) for i in np.argwhere(differing_entries(first.given, first.expected))[0])
            fields = {"passes": bool(first.given[place]), **_entry_fields(answer, first.trial, place)}
            return ANOTHER_MASK("wrong-local", **fields)
    return None


def _entry_fields(answer: Answer, trial: Trial, place: tuple[int, ...]) -> dict[str, Any]:
    """Return the message fields for one entry of a gradient: {"name": "x", "place": [0, 2], "value": "0.5"}.

    They are the name of the variable, the index, and the variable's value there. For a Jacobian or a value, whose
    entries are not those of a variable, the name and the value are empty.

    Args:
        answer: the answer.
        trial: the trial in which the value is looked up.
        place: the index of the entry, a number for each axis.
    """
    if answer.kind != "gradient":
        return {"name": "", "place": list(place), "value": ""}
    value = float(trial.inputs[answer.wrt][place])
    return {"name": answer.wrt, "place": list(place), "value": f"{value:.3g}"}


def wrong_where_exact(answer: Answer, trial: Trial, wrong: np.ndarray, *, names_own: bool = True) -> Mistake:
    """Return a fact about an answer that is wrong only in the trial whose inputs have exact zeros and equal entries.

    It says what holds of every wrong entry: that its whole row of the variable is 0, that the variable is 0 there, that
    it is equal to another entry, that two entries of another input are equal there, or that the variable has one of a
    few values; of the second and the third, the one that fewer entries of the variable have. Else it names the trial
    alone. Its message fields are the number of wrong entries, and the index of the first one with the input's entry
    there.

    Args:
        answer: the answer.
        trial: the trial with exact zeros and equal entries.
        wrong: True for each wrong entry, shaped like the answer.
        names_own: whether the variable's own entries may explain it; they do not where it matters for neither the
            gradient nor the answer what they are.
    """
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    code = "wrong-local" if answer.wrt else "unknown"
    fields = {"wrong": int(wrong.sum()), "entries": wrong.size, **_entry_fields(answer, trial, place)}
    exact = _exact_arrays(trial)
    values = np.asarray(trial.inputs[answer.wrt]) if answer.kind == "gradient" else None
    if values is None or wrong.size == 1 or values.shape != wrong.shape:
        return WRONG_WHERE_EXACT(code, **fields, **exact)
    ties = [
        tie for tie in _ties(answer.wrt, trial, place) if tie.equal[wrong].all() and (names_own or tie.is_of_two_inputs)
    ]
    tie = min(ties, key=lambda each: each.equal.sum(), default=None)
    zeros, levels = values == 0, np.unique(values[wrong])
    if names_own and values.ndim > 1 and np.broadcast_to(zeros.all(-1, keepdims=True), wrong.shape)[wrong].all():
        return WRONG_WHERE_ZERO(code, zero=f"a whole row of {answer.wrt}", **fields)
    names_zeros = names_own or zeros.mean() ** wrong.sum() < MOST_LUCK
    if names_zeros and zeros[wrong].all() and (tie is None or zeros.sum() <= tie.equal.sum()):
        return WRONG_WHERE_ZERO(code, zero=answer.wrt, **fields)
    if tie is not None:
        return _kind_of_tie(answer, trial, wrong, tie)(code, tied=tie.names, pair=tie.pair, **fields)
    if others := _tie_of_another_input(answer, trial, wrong):
        return WRONG_WHERE_OTHERS_TIED(code, **{**fields, **others})
    if names_own and len(levels) <= MOST_LEVELS and wrong.sum() >= LEAST_AT_LEVEL * len(levels):
        return WRONG_AT_VALUE(code, exactly=" or ".join(f"{level:.3g}" for level in levels), **fields)
    return WRONG_WHERE_EXACT(code, **fields, **exact)


def _exact_arrays(trial: Trial) -> dict[str, str]:
    """Return the message fields `arrays` and `exactly`: "inp or out.g", and "exactly 0", "equal", or both with "or".

    The arrays are those of the inputs and the upstream gradient that have zeros or equal entries; "the inputs" where
    none has.

    Args:
        trial: the trial with exact zeros and equal entries.
    """
    upstream = {} if trial.out_g is None else {"out.g": trial.out_g}
    arrays = {name: np.asarray(value) for name, value in {**trial.inputs, **upstream}.items()}
    arrays = {name: array for name, array in arrays.items() if array.dtype.kind == "f" and array.ndim}
    zeros = [name for name, array in arrays.items() if (array == 0).any()]
    tied = [name for name, array in arrays.items() if np.unique(array[array != 0]).size < (array != 0).sum()]
    states = [words for words, names in (("exactly 0", zeros), ("equal", tied)) if names]
    names = [name for name in arrays if name in (*zeros, *tied)]
    return {
        "arrays": " or ".join(names) or "the inputs",
        "exactly": " or ".join(states) or "exactly 0 or equal",
    }


def _kind_of_tie(answer: Answer, trial: Trial, wrong: np.ndarray, tie: _Tie) -> FactKind:
    """Return the kind of the fact that an answer is wrong where entries are equal, by what they get when it is right.

    It is `WRONG_WHERE_CHOSEN` where each entry of one input gets all of the upstream gradient or nothing, as by a mask,
    and equal ones of the other the rest; `WRONG_WHERE_SHARED` where both get a half; else `WRONG_WHERE_TIED`.

    Args:
        answer: the answer.
        trial: the trial with equal entries.
        wrong: True for each wrong entry, shaped like the answer.
        tie: what is equal.
    """
    right, g = np.asarray(trial.new(answer)), trial.out_g
    if g is None or tuple(g.shape) != right.shape or not tie.is_of_two_inputs:
        return WRONG_WHERE_TIED
    shares = right[wrong] / np.where(np.asarray(g)[wrong] == 0, 1.0, np.asarray(g)[wrong])
    if np.isin(shares, (0.0, 1.0)).all():
        return WRONG_WHERE_CHOSEN
    return WRONG_WHERE_SHARED if np.allclose(shares, 0.5) else WRONG_WHERE_TIED


class _Tie(NamedTuple):
    """Hold where entries of an input are equal to others.

    Args:
        equal: True for each such entry; shaped like the input.
        names: what is equal, such as "a and b", or "entries of x".
        pair: one such entry and its equal: "a[0,1] = b[0,1]".
        is_of_two_inputs: whether the entries are equal to those of another input.
    """

    equal: np.ndarray
    names: str
    pair: str
    is_of_two_inputs: bool = False


def _ties(name: str, trial: Trial, place: tuple[int, ...]) -> Iterator[_Tie]:
    """Yield the ways in which an entry of an input is equal to another entry that its gradient may depend on.

    These other entries are: the one at the same index in each further input of the same shape, equal or not (see
    `_Tie.equal`), unless that is a mask of zeros and ones; and, unless the output has the input's shape, those along
    each axis of the input, and then all of its entries, where one of them is equal.

    Args:
        name: the name of the input.
        trial: the trial.
        place: the index of the entry.
    """
    values = np.asarray(trial.inputs[name])
    entry = f"{name}[{','.join(map(str, place))}]"
    for other, array in trial.inputs.items():
        is_mask = bool(np.isin(array, (0, 1)).all())
        if other != name and getattr(array, "shape", None) == values.shape and not is_mask:
            both = " and ".join(each for each in trial.inputs if each in (name, other))
            yield _Tie(values == np.asarray(array), both, f"{entry} = {entry.replace(name, other, 1)}", True)
    if trial.out is None or tuple(trial.out.shape) == values.shape:
        return
    for axes in (*((axis,) for axis in range(values.ndim)), tuple(range(values.ndim))):
        along = tuple(slice(None) if axis in axes else index for axis, index in enumerate(place))
        equals = np.zeros(values.shape, dtype=bool)
        equals[along] = values[along] == values[place]
        equals[place] = False
        if equals.any():
            other_place = ",".join(str(index) for index in np.argwhere(equals)[0])
            yield _Tie(_is_repeated(values, axes), f"entries of {name}", f"{entry} = {name}[{other_place}]")


def _tie_of_another_input(answer: Answer, trial: Trial, wrong: np.ndarray) -> dict[str, str]:
    """Return the message fields of equal entries of another input, if exactly what belongs to such entries is wrong.

    Wrong are then all entries of the gradient along an axis at two equal entries of the input, but for those that must
    be 0: for equal x[1] and x[5] and w in x @ w, the rows 1 and 5 of w.g. The fields are what is `tied`, a `pair` and
    the `value` of both; there are none where no input fits.

    Args:
        answer: the answer.
        trial: the trial.
        wrong: True for each wrong entry, shaped like the answer.
    """
    own, right = trial.axes(answer.wrt) or (), trial.new(answer)
    for name, array in trial.inputs.items():
        axes, values = trial.axes(name) or (), np.asarray(array)
        if name == answer.wrt or values.ndim == 0 or len(axes) != values.ndim or len(own) != wrong.ndim:
            continue
        if not set(axes) < set(own) or [axis for axis in own if axis in axes] != list(axes):
            continue
        equal = _is_repeated(values, tuple(range(values.ndim)))
        spread = np.broadcast_to(np.expand_dims(equal, [own.index(a) for a in own if a not in axes]), wrong.shape)
        if not np.array_equal(wrong, spread & (right != 0)):
            continue
        row = tuple(int(i) for i, axis in zip(np.argwhere(wrong)[0], own, strict=True) if axis in axes)
        first, second = row, next(tuple(i) for i in np.argwhere(values == values[row]).tolist() if tuple(i) != row)
        pair = " = ".join(f"{name}[{','.join(map(str, place))}]" for place in (first, second))
        return {"tied": f"entries of {name}", "pair": pair, "value": f"{float(values[row]):.3g}"}
    return {}


def _is_repeated(values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return a mask, shaped like an array, of the entries that have an equal one along some axes together.

    For [[1, 2], [2, 3]] and both axes, the two entries 2; for one of the axes, none.

    Args:
        values: the array.
        axes: the axes.
    """
    end = tuple(range(values.ndim - len(axes), values.ndim))
    moved = np.moveaxis(values, axes, end)
    rows = moved.reshape(*moved.shape[: values.ndim - len(axes)], -1)
    counts = (rows[..., :, None] == rows[..., None, :]).sum(-1)
    return np.moveaxis(counts.reshape(moved.shape) > 1, end, axes)


def _with_two_upstreams(
    pairs: Iterable[tuple[Sample, Sample]],
) -> Iterator[tuple[Sample, Sample, np.ndarray, np.ndarray]]:
    """Yield the pairs of trials with the same inputs and two upstream gradients, and these: (first, second, g, g).

    Args:
        pairs: pairs of samples of one answer.
    """
    for sample, other in pairs:
        g, other_g = sample.trial.out_g, other.trial.out_g
        if sample.trial.inputs is other.trial.inputs and g is not other_g and g is not None and other_g is not None:
            yield sample, other, np.asarray(g), np.asarray(other_g)


def misused_upstream(answer: Answer, upstream_name: str, samples: Samples) -> Mistake | None:
    """Return the fact that an answer depends on the upstream gradient g in a wrong way; `None` where it does not.

    It is seen in two trials that differ in g alone, and not by a factor; `None` is also returned where there are none.
    One of four is true: the answer does not depend on g; it is divided by g; it is g times a factor entry by entry,
    while the right answer mixes entries of g; or it is g times a factor, as it must be, and the factor is wrong.

    Args:
        answer: the answer.
        upstream_name: the learner's name of the upstream gradient; `"1"` where there is none.
        samples: the answer in each trial.
    """
    for sample, other, g, other_g in _with_two_upstreams(itertools.combinations(samples, 2)):
        if common_ratio(other_g, g) is not None:
            continue
        if (
            not sample.has_shape
            or not bool(differing_entries(sample.given, sample.expected).any())
            or not np.any(sample.given)
        ):
            continue
        if not bool(differing_entries(other.given, sample.given).any()) and bool(
            differing_entries(other.expected, sample.expected).any()
        ):
            return UPSTREAM_NOT_IN_IT("missing-upstream", upstream=upstream_name)
        arrays, rights = (sample.given, other.given), (sample.expected, other.expected)
        upstream = g, other_g
        if _is_entrywise(*arrays, *upstream[::-1]) and _is_entrywise(*rights, *upstream):
            return UPSTREAM_IN_DENOMINATOR("not-linear", upstream=upstream_name)
        if not _is_entrywise(*arrays, *upstream) or common_ratio(sample.given, sample.expected) is not None:
            continue
        if _is_entrywise(*rights, *upstream):
            constant = _constant_slope_fact(answer, upstream_name, samples)
            return constant or _wrong_slope_fact(answer, upstream_name, sample, upstream[0])
        return OWN_UPSTREAM_ONLY("diagonal-only", upstream=upstream_name)
    return None


def not_linear_in_upstream(upstream_name: str, samples: Samples) -> Mistake | None:
    """Return the fact that an answer is not proportional to the upstream gradient; `None` where that is not seen.

    It is seen in two trials with the same inputs, of which one has a multiple of the other's upstream gradient, and in
    which the answer is not right both times.

    Args:
        upstream_name: the learner's name of the upstream gradient; `"1"` where there is none.
        samples: the answer in each trial.
    """
    for sample, other, g, other_g in _with_two_upstreams(itertools.permutations(samples, 2)):
        factor = common_ratio(other_g, g)
        if factor is None or factor <= 1 or not (sample.has_shape and other.has_shape):
            continue
        if sample.agrees and other.agrees:  # a right gradient of 0 may be stored as two unlike roundings
            continue
        if not (np.isfinite(sample.given).all() and np.isfinite(other.given).all()):
            continue
        if bool(differing_entries(other.given, factor * sample.given).any()):
            return NOT_LINEAR_IN_UPSTREAM("not-linear", upstream=upstream_name, factor=number_text(factor))
    return None


def _is_entrywise(array: np.ndarray, changed: np.ndarray, g: np.ndarray, other: np.ndarray) -> bool:
    """Return whether array / g equals changed / other in each entry: the factor of g does not depend on g.

    Args:
        array: an answer for the upstream gradient `g`.
        changed: the answer for the upstream gradient `other`, with all else the same.
        g: an upstream gradient, shaped like the answer.
        other: another upstream gradient of this shape.
    """
    return array.shape == g.shape == changed.shape and not bool(differing_entries(array * other, changed * g).any())


def _constant_slope_fact(answer: Answer, upstream_name: str, samples: Samples) -> Mistake | None:
    """Return the fact that an answer is c * g for the upstream gradient g and a number c, the same in every trial.

    Return `None` where there is no such c.

    Args:
        answer: the answer.
        upstream_name: the learner's name of the upstream gradient; `"1"` where there is none.
        samples: the answer in each trial.
    """
    slopes = [common_ratio(sample.given, np.asarray(sample.trial.out_g)) or 0.0 for sample in samples]
    if not slopes[0] or np.ptp(slopes) > CLOSE * abs(slopes[0]):
        return None
    fields = {"upstream": upstream_name, "variable": answer.wrt}
    return SLOPE_TYPED_IN("hard-coded", factor=number_text(slopes[0]), **fields)


def _wrong_slope_fact(answer: Answer, upstream_name: str, sample: Sample, g: np.ndarray) -> Mistake:
    """Return the fact that an entry of an answer is its upstream gradient times a wrong number, with the right number.

    It is the entry with the largest error. The numbers are the learner's entry / g and the right entry / g, which is a
    derivative.

    Args:
        answer: the answer.
        upstream_name: the learner's name of the upstream gradient; `"1"` where there is none.
        sample: the answer in one trial.
        g: the upstream gradient, shaped like the answer.
    """
    place = tuple(
        int(i) for i in np.unravel_index(int(np.abs(sample.given - sample.expected).argmax()), sample.expected.shape)
    )
    used, slope = (float(values[place] / g[place]) for values in (sample.given, sample.expected))
    fields = {"used": f"{used + 0.0:.3g}", "slope": f"{slope + 0.0:.3g}", "upstream": upstream_name}
    return ANOTHER_SLOPE("wrong-local", **fields, **_entry_fields(answer, sample.trial, place))


def broadcast_accident(answer: Answer, samples: Samples) -> Mistake | None:
    """Return the fact that an answer has the shape of two inputs broadcast against each other, and of neither of them.

    With x of shape (4,) and y of shape (4, 1): (4, 4). Return `None` where no two inputs broadcast to its shape.

    Args:
        answer: the answer.
        samples: the answer in each trial; in the first one, which is looked at, it has a wrong shape.
    """
    sample = samples[0]
    shapes = {name: tuple(value.shape) for name, value in sample.trial.inputs.items() if hasattr(value, "shape")}
    for a, b in itertools.combinations(shapes, 2):
        try:
            wide = np.broadcast_shapes(shapes[a], shapes[b])
        except ValueError:
            continue
        if sample.given.ndim and wide == sample.given.shape and wide not in (shapes[a], shapes[b]):
            return BROADCAST("broadcast-accident", a=a, b=b, **_shape_fields(answer, samples))
    return None


def wrong_shape(answer: Answer, samples: Samples) -> Mistake:
    """Return the fact that an answer has a wrong shape, with this shape, the right one, and the trial's options.

    Args:
        answer: the answer.
        samples: the answer in each trial; in one or more the learner's array has a wrong shape, and the first of these
            is described.
    """
    owner = answer.wrt if answer.kind == "gradient" else ""
    sample = next(sample for sample in samples if not sample.has_shape)
    fields = _shape_fields(answer, samples)
    axes = {name for name, _ in (*fields["shape"], *fields["expected"])}
    chosen = [[name, str(value)] for name, value in options(sample.trial).items() if name not in axes]
    return WRONG_SHAPE("wrong-shape", owner=owner, options=chosen, **fields)


def _shape_fields(answer: Answer, samples: Samples) -> dict[str, Any]:
    """Return the message fields `shape` and `expected`: the learner's shape and the right one, with the names of axes.

    They are those of the first trial in which the learner's array has a wrong shape. An axis is named if its size is
    that of the named axis in all such trials.

    Args:
        answer: the answer.
        samples: the answer in each trial.

    Returns:
        {"shape": [["bs", 4], ["", 3]], "expected": [["bs", 4]]}: for each axis its name, or "", and its size.
    """
    wrong = [sample for sample in samples if not sample.has_shape]
    given, right = wrong[0].given, wrong[0].expected
    alike = [sample for sample in wrong if sample.given.ndim == given.ndim and sample.expected.ndim == right.ndim]
    sizes = [{**sample.trial.setting.sizes, **_sizes_given(sample.trial)} for sample in alike]
    axes = wrong[0].trial.axes(answer.wrt) if answer.kind == "gradient" else None
    if not axes or len(axes) != right.ndim:
        axes = axes_in_all([sample.expected.shape for sample in alike], sizes)
    return {
        "shape": _axis_fields(axes_in_all([sample.given.shape for sample in alike], sizes), given.shape),
        "expected": _axis_fields(axes, right.shape),
    }


def _sizes_given(trial: Trial) -> dict[str, int]:
    """Return the whole numbers from 2 on among a trial's options, by name: m, where the learner is given its size."""
    return {name: value for name, value in options(trial).items() if type(value) is int and value > 1}


def _axis_fields(names: Sequence[str], shape: Sequence[int]) -> list[list[Any]]:
    """Return the axes of an array as message fields: [["bs", 4], ["", 3]], with "" for an axis without a name.

    Args:
        names: for each axis a name; one that begins with "_", or is a number, counts as none.
        shape: the shape of the array.
    """
    return [
        ["" if name.startswith("_") or name.isdigit() else name, size] for name, size in zip(names, shape, strict=True)
    ]


def unknown_mistake(samples: Samples) -> Mistake:
    """Return the fact that an answer is wrong, with the number of wrong entries and the error in one wrong trial.

    Its message fields are those of `counted_entries`, and `alone`: whether the answer is right in batches of one
    example and in no other trial.

    Args:
        samples: the answer in each trial, wrong in one or more.
    """
    stated = stated_sample([sample for sample in samples if not sample.agrees])
    informative = _with_nonzero_answer(samples)
    alone = {sample.agrees for sample in informative} == {True, False} and all(
        sample.agrees == (sample.trial.setting.kind == ONE_KIND) for sample in informative
    )
    return UNKNOWN("unknown", **counted_entries(stated), alone=alone)


def counted_entries(sample: Sample) -> dict[str, Any]:
    """Return the message fields of `UNKNOWN` in one trial: how many entries are wrong, and by how much.

    Args:
        sample: the answer in the trial, of the right shape.

    Returns:
        `wrong` of the `entries` are wrong, and `error` is the scaled error as text; of a single entry also the numbers
        `given` and `right` as text.
    """
    _, array, right = sample
    error = scaled_error(array, right)
    wrong = int(wrong_entries(array, right).sum())
    fields = {"wrong": wrong, "entries": array.size, "error": f"{error:.2g}" if error < 100 else f"{error:.0f}"}
    if array.size == 1:
        digits = 3 if error > TOLERANCE else 9  # so many that the two numbers do not look the same
        fields |= {key: f"{each.item():.{digits}g}" for key, each in (("given", array), ("right", right))}
    return fields


COUNTS: Mapping[str, Callable[[Sample], dict[str, Any]]] = {UNKNOWN.name: counted_entries, NOT_ZERO.name: counted_zeros}


def nothing_to_compare() -> Mistake:
    """Return the fact that no trial is left in which the answer can be compared."""
    return NOTHING_TO_COMPARE("unknown")


def plain_facts(exercise: Declaration, samples: Mapping[str, Samples]) -> dict[str, Mistake]:
    """Return by name of each wrong answer what its numbers show without a search for the mistake.

    That is its wrong shape, or how many entries are wrong and by how much; see `plain_fact`.

    Args:
        exercise: the exercise.
        samples: by name of the wrong answer, such as `w.g`, its samples in float64.
    """
    return {
        answer.name: with_words(plain_fact(answer, samples[answer.name]))
        for answer in exercise.answers
        if answer.name in samples
    }


def plain_fact(answer: Answer, samples: Samples) -> Mistake:
    """Return what an answer's numbers show without a search for the mistake, as a fact.

    It has a wrong shape; or this many entries are wrong, by so much. If the answer is right in all given trials, it is
    the fact that there is nothing to compare.

    Args:
        answer: the answer.
        samples: the answer in each trial.
    """
    if not have_right_shapes(samples):
        return wrong_shape(answer, samples)
    return nothing_to_compare() if all(sample.agrees for sample in samples) else unknown_mistake(samples)
