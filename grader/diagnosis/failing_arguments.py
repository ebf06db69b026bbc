"""Which arguments distinguish the trials in which an answer is wrong from those in which it is right.

Such arguments are options, as `keepdim`, and functions, by the operations in their source.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from grader.course.exercise import Answer
from grader.course.sampling import Function
from grader.reference.trial import Trial, options

SIGNS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
SPECIAL = (-1, 0, 1)  # whole numbers that code may treat in another way than all others


def options_of_right_trials(answer: Answer, right: Sequence[Trial], wrong: Sequence[Trial]) -> str:
    """Return where options have what they have in every right trial and in no wrong one: "right only when `k` is 3".

    Where they have another value than one that each wrong trial has: "wrong when `k` is 0".

    Where several options do so, such as two that change together, nobody can tell which one is the reason: then the
    trials are described by all of them, "right only in the trials in which `j` is 1 and `k` is 3".

    Args:
        answer: the answer that is right in some trials and wrong in others.
        right: the trials in which it is right; at least one.
        wrong: those in which it is wrong.

    Returns:
        What can stand behind "it is". Empty where no option distinguishes the trials.
    """
    conditions = []
    for name in options(right[0]):
        if all(options(trial)[name] == _shape(answer, trial) for trial in (*right, *wrong)):
            continue  # the shape of the answer is another one in every trial
        condition = (
            _comparison_with_axis(name, right, wrong, operator.eq, ("equal to", "not equal to"))
            or _distinguishing_condition(name, right, wrong)
            or _comparison_with_axis(name, right, wrong, operator.le, ("at most", "greater than"))
        )
        if condition:
            conditions.append(f"`{name}` is {condition}")
    if len(conditions) == 1 and " is not " in conditions[0]:
        return f"wrong when {conditions[0].replace(' is not ', ' is ')}"
    where = "when" if len(conditions) == 1 else "in the trials in which"
    return f"right only {where} {' and '.join(conditions)}" if conditions else ""


def _shape(answer: Answer, trial: Trial) -> tuple[int, ...]:
    """Return the shape of the right array of an answer in a trial; `()` if its right value is `None`."""
    expected = trial.expected[answer.name]
    return () if expected is None else expected.shape


def _distinguishing_condition(name: str, right: Sequence[Trial], wrong: Sequence[Trial]) -> str:
    """Return a condition that an option meets in each right trial and in no wrong one: `3`, `not 0`, or on its sign.

    A whole number that is not special must occur in several trials: in one alone it may be so by chance.

    Args:
        name: the name of the option.
        right: the trials in which the answer is right.
        wrong: those in which it is wrong.

    Returns:
        The condition; empty where there is none of these three kinds. The third is "negative" or "not negative".
    """
    in_right, in_wrong = ({options(trial)[name] for trial in trials} for trials in (right, wrong))
    if in_right & in_wrong:
        return ""
    for values, trials, condition in ((in_right, right, "{}"), (in_wrong, wrong, "not {}")):
        if len(values) == 1:
            (value,) = values
            if type(value) is not int or value in SPECIAL or _have_several_settings(trials):
                return condition.format(value)
    if any(type(value) is not int for value in in_right | in_wrong):
        return ""
    return (
        "not negative"
        if min(in_right) >= 0 > max(in_wrong)
        else "negative"
        if min(in_wrong) >= 0 > max(in_right)
        else ""
    )


def _have_several_settings(trials: Sequence[Trial]) -> bool:
    """Return whether trials differ in their sizes."""
    return any(trial.setting.sizes != trials[0].setting.sizes for trial in trials)


def _comparison_with_axis(
    name: str,
    right: Sequence[Trial],
    wrong: Sequence[Trial],
    holds: Callable[[int, int], bool],
    says: tuple[str, str],
) -> str:
    """Return how an option compares with the size of an axis in the right trials alone, such as `at most t`, or empty.

    There must be right trials of two sizes, and wrong ones of two, as in one it may be so by chance; and the option
    must compare so with a single axis.

    Args:
        name: the name of the option.
        right: the trials in which the answer is right.
        wrong: those in which it is wrong.
        holds: whether a comparison holds of the option and the size of an axis.
        says: what is said of the right trials where it holds in all of them and in no wrong one, and where it is the
            reverse.
    """
    are_enough = _have_several_settings(right) and _have_several_settings(wrong)
    if not are_enough or type(options(right[0])[name]) is not int:
        return ""
    comparisons = []
    for axis in right[0].setting.sizes:
        held = [{holds(options(t)[name], t.setting.sizes[axis]) for t in trials} for trials in (right, wrong)]
        if not axis.startswith("_") and held in ([{True}, {False}], [{False}, {True}]):
            comparisons.append(f"{says[held[0] == {False}]} {axis}")
    return comparisons[0] if len(comparisons) == 1 else ""


def operations_of_wrong_trials(right: Sequence[Trial], wrong: Sequence[Trial]) -> tuple[str, list[str]]:
    """Return an argument that is a function, and the operations that it has in every wrong trial and in no right one.

    It is the first such argument. If no operation, such as `x / number`, distinguishes the trials, the signs that do
    are returned, such as `/`.

    Returns:
        The name of the argument, and the operations in sorted order; an empty name and no operations where there are
        none, or no right or no wrong trials.
    """
    for name, value in wrong[0].arguments.items() if right and wrong else ():
        if isinstance(value, Function):
            for parts_of in (operations_of, _signs_of):
                in_wrong, in_right = (
                    [parts_of(trial.arguments[name].source) for trial in trials] for trials in (wrong, right)
                )
                if parts := frozenset.intersection(*in_wrong) - frozenset().union(*in_right):
                    return name, sorted(parts)
    return "", []


@cache
def operations_of(source: str) -> frozenset[str]:
    """Return the operations in a lambda's source that use its argument: `x / number`, `number / x`, `x / x`, `x.sin()`.

    Every operand that uses the argument x is written as `x`, and every other one as `number`; for a source that is no
    lambda, or one without arguments, there are none.
    """
    (statement,) = ast.parse(source).body
    function = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(function, ast.Lambda) or not function.args.args:
        return frozenset()
    return frozenset(_operations(function.body, function.args.args[0].arg))


def _operations(body: ast.expr, argument: str) -> Iterator[str]:
    """Yield the operations in an expression that use the variable `argument`, such as `x / number` or `x.sin()`.

    They come from the outside inwards; one that the expression has twice comes twice.
    """
    for node in ast.walk(body):
        if not _uses(node, argument):
            continue
        if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
            left, right = (argument if _uses(side, argument) else "number" for side in (node.left, node.right))
            yield f"{left} {SIGNS[type(node.op)]} {right}"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield f"-{argument}"
        elif isinstance(node, ast.Subscript):
            yield f"{argument}[...]"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _uses(node.func, argument):
            yield f"{argument}.{node.func.attr}()"


def _uses(node: ast.AST, name: str) -> bool:
    """Return whether an expression reads or sets the variable of this name anywhere."""
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _signs_of(source: str) -> frozenset[str]:
    """Return the signs of the operations that have a lambda's argument in an operand: `{"/", "+"}` for `(x + 1) / 2`.

    Only operations with two operands have one, so that `x.exp()` and `-x` are left out.

    Args:
        source: the source of the lambda; of another expression the result is empty.
    """
    return frozenset(operation.split()[1] for operation in operations_of(source) if " " in operation)
