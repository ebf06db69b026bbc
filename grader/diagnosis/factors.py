"""Reads the factor between two arrays as an expression of the sizes and plain numbers of the forward pass."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.course.sampling import Array
from grader.reference.compare import MATCH, scaled_error
from grader.reference.trial import Trial

from .hints import COMPUTE_ONE_ENTRY
from .mistake import Fact, FactKind, Mistake, fact_kind

CLOSE = 1e-4  # the largest relative difference of two factors that count as equal
LOOSE = 10.0  # how much further a factor may be off a form that is still looked at closely
LARGEST_DENOMINATOR, LARGEST_OVER_ONE = 12, 5  # of the fractions, and the numbers above 1, that are written as one
SIZE_FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "sqrt({})": math.sqrt,
    "1 / sqrt({})": lambda n: 1 / math.sqrt(n),
    "{}**2": lambda n: n * n,
    "1 / {}**2": lambda n: 1 / n**2,
    "({0} - 1) / {0}": lambda n: (n - 1) / n,
    "{0} / ({0} - 1)": lambda n: n / (n - 1),
    "({} - 1)": lambda n: n - 1,
    "1 / ({} - 1)": lambda n: 1 / (n - 1),
    "({} + 1)": lambda n: n + 1,
}


FACTOR_SIGN = fact_kind(
    "factor-sign",
    "{subject} has the wrong sign",
    besides="the sign is wrong",
    times="times -1",
)
FACTOR_NUMBER = fact_kind(
    "factor-number",
    "{subject} is {multiple} what it should be",
    besides="the answer is wrongly multiplied by {factor}",
    times="times {factor}",
)
FACTOR_DIVIDED = fact_kind(
    "factor-divided",
    "{subject} is {minus}1/{size} of what it should be, and {quantity} = {size} here",
    besides="the answer is wrongly divided by {minus}{size}, and {quantity} = {size} here",
    times="divided by {minus}{quantity}, {quantity} = {size} here",
)
FACTOR_MULTIPLIED = fact_kind(
    "factor-multiplied",
    "{subject} is {minus}{size} times what it should be, and {quantity} = {size} here",
    besides="the answer is wrongly multiplied by {minus}{size}, and {quantity} = {size} here",
    times="times {minus}{quantity}, {quantity} = {size} here",
)
FACTOR_TYPED_IN = fact_kind(
    "factor-typed-in",
    "{subject} is divided by {minus}{number}, whatever the size: {quantity} = {size} here",
    besides="the answer is wrongly divided by {minus}{number}, whatever the size: {quantity} = {size} here",
)
FACTOR_EXPRESSION = fact_kind(
    "factor-expression",
    "{subject} is {minus}{expression} times what it should be; {quantity} = {size} here",
    besides="the answer is wrongly multiplied by {minus}{expression}; {quantity} = {size} here",
    times="times {minus}{expression}, {quantity} = {size} here",
    hints=(
        "Only the scale is wrong. Where could such a factor come from?",
        "Where does that size or number appear in the forward pass, and how many times?",
        COMPUTE_ONE_ENTRY,
    ),
)
FACTOR_OTHER_SIZE = fact_kind(
    "factor-other-size",
    "{subject} is divided by {minus}{wrong} ({wrong_size} here); it must be divided by {right} ({right_size} here)",
    besides=(
        "the answer is divided by {minus}{wrong} ({wrong_size} here); it must be divided by {right} ({right_size} here)"
    ),
)
FACTOR_NUMBER_TYPED_IN = fact_kind(
    "factor-number-typed-in",
    "{subject} is {minus}{factor} times what it should be: a number was typed in for {quantity}, which is {size} here",
    besides=(
        "the answer is wrongly multiplied by {minus}{factor}: a number was typed in for {quantity}, which is"
        " {size} here"
    ),
)


@dataclass(frozen=True)
class Factor:
    """A factor between a wrong answer and the right one that is explained in every trial.

    Args:
        code: the public code of an answer that is off by it, such as `mean-for-sum`.
        kind: the kind of the fact that states it.
        parameters: what its sentence speaks of, such as the expression of the factor.
    """

    code: str
    kind: FactKind
    parameters: Mapping[str, Any]

    def fact(self, **more: Any) -> Fact:
        """Return the fact that states the factor.

        Args:
            more: further message fields: `part`, the part of an answer that has the factor, or `besides`, whether
                another mistake is told before it.
        """
        return Fact(self.kind.name, {**self.parameters, **more})

    def mistake(self, part: str) -> Mistake:
        """Return the mistake that a part of an answer, such as "the contribution of `x @ w`", is off by the factor."""
        return self.kind(self.code, **self.parameters, part=part)


TrialRatios = Sequence[tuple[Trial, float]]


def number_text(value: float) -> str:
    """Return a number as a person would write it: "3", a fraction such as "2/3", or three significant digits."""
    for denominator in range(1, LARGEST_DENOMINATOR + 1):
        numerator = value * denominator
        if denominator > 1 and abs(value) > LARGEST_OVER_ONE:
            break
        if abs(numerator - round(numerator)) < CLOSE * max(1, abs(numerator)) and round(numerator):
            return f"{round(numerator)}" if denominator == 1 else f"{round(numerator)}/{denominator}"
    return f"{value:.3g}"


def times_text(constant: float, expression: str) -> str:
    """Return a constant times an expression as a person would write it: `1 / (2 * h)` for 1/2 and `1 / h`, or `n / 2`.

    Args:
        constant: the constant.
        expression: the expression.
    """
    number, quotient = number_text(constant), expression.removeprefix("1 / ")
    numerator, _, denominator = number.partition("/")
    if quotient != expression:
        return f"{numerator} / ({denominator} * {quotient})" if denominator else f"{numerator} / {quotient}"
    product = expression if numerator == "1" else f"{numerator} * {expression}"
    return f"{product} / {denominator}" if denominator else product


def in_brackets(expression: str) -> str:
    """Return a product such as `n * m` in brackets, so that it can be divided by; another expression unchanged."""
    return f"({expression})" if " * " in expression else expression


def argument_numbers(trial: Trial) -> dict[str, tuple[str, float]]:
    """Return the expressions that a factor may be, made of the float arguments p of a trial: p, 1 / p, p**2, 1 / p**2.

    For a p between 0 and 1, 1 - p and the quotients and the product with it are among them.

    Returns:
        By expression, such as `"1 / (1 - p)"`: the name of the argument and the value of the expression.
    """
    values: dict[str, tuple[str, float]] = {}
    for name, p in trial.arguments.items():
        if type(p) is float and p:
            values |= {name: (name, p), f"1 / {name}": (name, 1 / p)}
            values |= {f"{name}**2": (name, p * p), f"1 / {name}**2": (name, 1 / p**2)}
            if 0 < p < 1:
                values |= {f"(1 - {name})": (name, 1 - p), f"1 / (1 - {name})": (name, 1 / (1 - p))}
                values |= {
                    f"{name} / (1 - {name})": (name, p / (1 - p)),
                    f"(1 - {name}) / {name}": (name, (1 - p) / p),
                    f"{name} * (1 - {name})": (name, p * (1 - p)),
                }
    return values


def named_axis_sizes(trial: Trial) -> dict[str, int]:
    """Return the size of each axis of a trial that has a name, by its name; names that begin with "_" do not count."""
    return {axis: size for axis, size in trial.setting.sizes.items() if not axis.startswith("_")}


def quantities(trial: Trial) -> dict[str, int]:
    """Return the whole numbers that a factor may be made of, by expression, the likeliest first.

    They are sizes of axes, whole-number arguments, products of two axes, numbers of entries, and the number of entries
    of an array divided by that of the output. They are kept in the trial.
    """
    known: dict[str, int] = trial.remember("quantities", lambda: _quantities(trial))
    return known


def _quantities(trial: Trial) -> dict[str, int]:
    """Compute for a trial the whole numbers that a factor may be made of, by expression: {"bs": 4, "x.numel()": 12}."""
    sizes = named_axis_sizes(trial)
    arrays = {name: value.values for name, value in trial.arguments.items() if isinstance(value, Array)}
    output_entries = 1 if trial.out is None else trial.out.numel()
    return {
        **sizes,
        **{
            f"{first}.shape[{name}]": array.shape[axis]
            for first, array in itertools.islice(arrays.items(), 1)
            for name, axis in trial.arguments.items()
            if type(axis) is int and -array.ndim <= axis < array.ndim
        },
        **{name: value for name, value in trial.arguments.items() if type(value) is int and value > 0},
        **{f"{a} * {b}": m * n for (a, m), (b, n) in itertools.combinations(sizes.items(), 2)},
        **{f"{name}.numel()": array.size for name, array in arrays.items()},
        **{
            f"({name}.numel() / out.numel())": array.size // output_entries
            for name, array in arrays.items()
            if array.size > output_entries and array.size % output_entries == 0
        },
    }


def common_ratio(array: np.ndarray, right: np.ndarray) -> float | None:
    """Return the number f with array = f * right in every entry but for rounding.

    Return `None` where there is none, either array is all zero, or the shapes differ.

    Args:
        array: an array of any shape.
        right: the array to compare with.
    """
    if array.shape != right.shape or not np.any(right):
        return None
    with np.errstate(all="ignore"):
        value = float((array * right).sum() / (right * right).sum())
    return value if value and math.isfinite(value) and scaled_error(array, value * right) < MATCH else None


def explained_factor(ratios: TrialRatios, averages: bool) -> Factor | None:
    """Return a factor, whose value in each trial is known, as a `Factor`: a code and an expression such as 1 / n.

    The expressions are a number, a size n or 1 / n, n / m, a root, a square or n - 1, and those of plain arguments.

    Args:
        ratios: pairs of a trial and the factor's value in it.
        averages: whether the forward pass takes a mean, so that a factor n is a sum in its place.

    Returns:
        `None` where the factor is 1 in every trial, where no expression gives its values, or for a single trial.
    """
    if len(ratios) < 2 or all(math.isclose(r, 1, rel_tol=1e-2) for _, r in ratios):
        return None
    ratios = sorted(ratios, key=lambda pair: math.isclose(abs(pair[1]), 1, rel_tol=CLOSE))  # "twice" is not told of 1
    first = ratios[0][1]
    if _all_close(r for _, r in ratios):
        if math.isclose(first, -1, rel_tol=CLOSE):
            return Factor("wrong-sign", FACTOR_SIGN, {})
        return Factor("wrong-factor", FACTOR_NUMBER, {"factor": number_text(first)})
    if all(r < 0 for _, r in ratios):
        turned = explained_factor([(t, -r) for t, r in ratios], averages)
        return None if turned is None else Factor(turned.code, turned.kind, {**turned.parameters, "negative": True})
    return (
        _size_factor(ratios, averages)
        or _size_ratio_factor(ratios, averages)
        or _size_function_factor(ratios)
        or _argument_factor(ratios)
    )


class FactorForms:
    """The value in each trial of every expression that `explained_factor` tries, to reject factors after few trials."""

    @np.errstate(all="ignore")  # a size may be 0
    def __init__(self, trials: Sequence[Trial]) -> None:
        """Compute the value in each trial of every expression that `explained_factor` tries.

        It is NaN where a trial lacks a size or an argument of the expression. An expression without values in at least
        two trials is left out.
        """
        sizes, shares = [quantities(trial) for trial in trials], [argument_numbers(trial) for trial in trials]
        every = [np.ones(len(trials))]
        for name in dict.fromkeys(name for own in sizes for name in own):
            size = np.array([own.get(name, 1) for own in sizes], dtype=float)
            is_known = np.array([name in own for own in sizes])
            every += [size, 1 / size]
            every += [np.where(is_known, _form_values(shape, size), np.nan) for shape in SIZE_FUNCTIONS.values()]
        named = [divisors(trial) for trial in trials]
        common = {
            name: np.array([own[name] for own in named]) for name in named[0] if all(name in own for own in named)
        }
        every += [common[a] / common[b] for a, b in pairs_of_divisors(common)]
        for name in dict.fromkeys(name for own in shares for name in own):
            every.append(np.array([own[name][1] if name in own else np.nan for own in shares]))
        values = np.array(every)
        self._values = values[(~np.isnan(values)).sum(1) > 1]  # what one trial has alone is no expression of a factor

    def may_give(self, places: Sequence[int], ratios: Sequence[float]) -> bool:
        """Return whether any expression of the table, times a constant, has a factor's value in each of some trials.

        Trials in which an expression has no value are ignored for this expression.

        Args:
            places: the positions of the trials in the list that the table was made for.
            ratios: the factor in each of them.
        """
        own = self._values[:, places]
        with np.errstate(all="ignore"):
            quotients = own / np.array(ratios)
            known = ~np.isnan(quotients)
            off = np.abs(quotients / quotients[np.arange(len(own)), known.argmax(1), None] - 1)
        return bool(((off <= LOOSE * CLOSE) | ~known).all(1).any())


def _form_values(shape: Callable[[float], float], sizes: np.ndarray) -> list[float]:
    """Return the value of an expression of a size n, such as n - 1, in each trial; NaN where it divides by 0.

    Args:
        shape: the expression: takes n; returns the value.
        sizes: n in each trial; shape: (trials,).
    """
    values = []
    for size in sizes:
        try:
            values.append(shape(float(size)))
        except ZeroDivisionError:
            values.append(math.nan)
    return values


def _all_close(values: Iterator[float]) -> bool:
    """Return whether all of one or more values are equal, but for rounding."""
    first, *others = values
    return all(math.isclose(value, first, rel_tol=CLOSE) for value in others)


def _size_factor(ratios: TrialRatios, averages: bool) -> Factor | None:
    """Return the factor as c * n or c / n for one of the `quantities` n and a constant c, such as 2 / bs.

    The first quantity that fits in every trial is taken, and c / n before c * n.
    If the forward pass takes a mean, n / k for a whole number k from 3 on is read as a k typed in for n, or as the
    ratio of n and an axis of size k. Return `None` where no quantity fits.

    Args:
        ratios: pairs of a trial and the factor's value in it.
        averages: whether the forward pass takes a mean.
    """
    for name, size in quantities(ratios[0][0]).items():
        for power in (-1, 1):
            constants = [r * quantities(t).get(name, 1) ** -power for t, r in ratios]
            if not _all_close(iter(constants)):
                continue
            fields = {"quantity": name, "size": size, "factor": number_text(ratios[0][1])}
            if math.isclose(constants[0], 1, rel_tol=CLOSE):
                if power < 0:
                    return Factor("mean-for-sum", FACTOR_DIVIDED, fields)
                return Factor("sum-for-mean" if averages else "wrong-factor", FACTOR_MULTIPLIED, fields)
            typed_in = 1 / constants[0]  # a 2 may as well be one that the forward pass has, left out
            if power > 0 and averages and math.isclose(typed_in, round(typed_in), rel_tol=CLOSE) and typed_in > 2.5:
                if other := _size_ratio_factor(ratios, averages):  # of an axis that is as long in every trial
                    return other
                return Factor("hard-coded", FACTOR_TYPED_IN, {**fields, "number": round(typed_in)})
            expression = times_text(constants[0], f"1 / {in_brackets(name)}" if power < 0 else name)
            return Factor("wrong-factor", FACTOR_EXPRESSION, {**fields, "expression": expression})
    return None


def divisors(trial: Trial) -> dict[str, float]:
    """Return the numbers by which a mean or a variance may be divided, by expression, the likeliest first.

    They are sizes of axes, and numbers of entries; then each of them minus 1, and minus each argument that is true or
    false, such as `(n - unbiased)`. NaN stands for numbers below 1.
    """
    sizes = named_axis_sizes(trial)
    sizes |= {name: n for name, n in quantities(trial).items() if ".shape[" in name or ".numel()" in name}
    flags = {"1": 1, **{name: int(value) for name, value in trial.arguments.items() if type(value) is bool}}
    lessened = {f"({name} - {flag})": n - less for flag, less in flags.items() for name, n in sizes.items()}
    return {name: n if n > 0 else math.nan for name, n in (sizes | lessened).items()}


def pairs_of_divisors(names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each two of some `divisors` from which the same is subtracted, `(n - 1)` and `(m - 1)`, in both orders.

    Two numbers of entries are no pair: their quotient is the number of copies that a broadcast makes.
    """
    for right, wrong in itertools.permutations(names, 2):
        subtract_the_same = right.partition(" - ")[1:] == wrong.partition(" - ")[1:]
        if subtract_the_same and not (".numel()" in right and ".numel()" in wrong):
            yield right, wrong


def _size_ratio_factor(ratios: TrialRatios, averages: bool) -> Factor | None:
    """Return the factor as n / m for two sizes: the learner has divided by m where n is right.

    Both are sizes of axes; or, if the forward pass takes a mean, other `divisors`, and what is subtracted from one is
    subtracted from the other, too. Return `None` where no two sizes give it in every trial.

    Args:
        ratios: pairs of a trial and the factor's value in it.
        averages: whether the forward pass takes a mean.
    """
    sizes = divisors if averages else named_axis_sizes
    divisors_and_ratios = [(sizes(trial), ratio) for trial, ratio in ratios]
    common = [name for name in divisors_and_ratios[0][0] if all(name in own for own, _ in divisors_and_ratios)]
    for right, wrong in pairs_of_divisors(common):
        if all(math.isclose(ratio, own[right] / own[wrong], rel_tol=CLOSE) for own, ratio in divisors_and_ratios):
            own = divisors_and_ratios[0][0]
            fields = {"wrong": wrong, "right": right, "wrong_size": own[wrong], "right_size": own[right]}
            return Factor("wrong-factor", FACTOR_OTHER_SIZE, fields)
    return None


def _size_function_factor(ratios: TrialRatios) -> Factor | None:
    """Return the factor as a constant times an expression of one size n: its root, its square, n - 1, and so on.

    Return `None` where no size gives it in every trial. Trials with n = 1 do not count for n - 1: the learner may have
    replaced a division by 0 there.

    Args:
        ratios: pairs of a trial and the factor's value in it.
    """
    sizes = [quantities(trial) for trial, _ in ratios]
    for name, size in sizes[0].items():
        if not all(name in own for own in sizes):
            continue
        counted = [(own[name], ratio) for own, (_, ratio) in zip(sizes, ratios, strict=True)]
        above_one = [(n, ratio) for n, ratio in counted if n > 1]
        for shape, value in SIZE_FUNCTIONS.items():
            known = above_one if "- 1)" in shape else counted
            if len({n for n, _ in known}) > 1 and _all_close(r / value(n) for n, r in known):
                constants = [r / value(n) for n, r in known]
                form = shape.format(name if "sqrt" in shape else in_brackets(name))
                is_one = math.isclose(constants[0], 1, rel_tol=CLOSE)
                whole = form if is_one else times_text(constants[0], form)
                fields = {"expression": whole, "quantity": name, "size": size}
                return Factor("wrong-factor", FACTOR_EXPRESSION, fields)
    return None


def _argument_factor(ratios: TrialRatios) -> Factor | None:
    """Return the factor as an expression of a plain number that the function takes, such as 1 - p.

    An expression times a constant counts, too: then the learner may have typed in the number of one trial. Return
    `None` where no expression gives the factor in every trial.

    Args:
        ratios: pairs of a trial and the factor's value in it.
    """
    trial, first = ratios[0]
    made = [argument_numbers(t) for t, _ in ratios]
    quotient_of: dict[str, float] = {}
    for expression in made[0]:
        if all(expression in numbers for numbers in made):
            quotients = [r / numbers[expression][1] for (_, r), numbers in zip(ratios, made, strict=True)]
            if _all_close(iter(quotients)):
                quotient_of[expression] = quotients[0]
    for expression, left in sorted(quotient_of.items(), key=lambda pair: not math.isclose(pair[1], 1, rel_tol=CLOSE)):
        name, _ = made[0][expression]
        fields = {"quantity": name, "size": float(f"{trial.arguments[name]:.4g}")}
        if math.isclose(left, 1, rel_tol=CLOSE):
            return Factor("wrong-factor", FACTOR_EXPRESSION, {"expression": expression, **fields})
        if trial.out is None:
            return Factor("wrong-factor", FACTOR_EXPRESSION, {"expression": times_text(left, expression), **fields})
        return Factor("hard-coded", FACTOR_NUMBER_TYPED_IN, {"factor": number_text(first), **fields})
    return None
