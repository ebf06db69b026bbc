"""Evaluates a formula step by step: what each step does is given, so that nothing else can happen."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from grader.errors import ExpressionError

from .formula_parser import Index, Name, Node, Number, Operation, parse

LARGEST_POWER = 64
CONSTANTS: Mapping[str, Any] = {"True": True, "False": False, "None": None}
Apply = Callable[[str, list[Any], dict[str, Any]], Any]


@dataclass(frozen=True)
class Evaluation:
    """How a formula is worked out.

    Args:
        values: the variables by name.
        apply: gives the value of an operator, function or method, by its name, its arguments and its options.
    """

    values: Mapping[str, Any]
    apply: Apply

    def of(self, node: Node) -> Any:
        """The value of a formula.

        Raises:
            ExpressionError: a name is unknown, or a step cannot be done.
        """
        if isinstance(node, Number):
            return node.value
        if isinstance(node, Name):
            return self._value(node.name)
        if isinstance(node, Operation):
            return self.apply(node.sign, [self.of(operand) for operand in node.operands], {})
        if isinstance(node, Index):
            return self.apply("[]", [self.of(node.owner)], {"parts": node.parts})
        options = {name: self._option(value) for name, value in node.options}
        return self.apply(node.name, [self.of(argument) for argument in node.arguments], options)

    def _option(self, node: Node) -> Any:
        return CONSTANTS[node.name] if isinstance(node, Name) and node.name in CONSTANTS else self.of(node)

    def _value(self, name: str) -> Any:
        if name not in self.values:
            shown, *others = (re.sub("_g$", ".g", each) for each in (name, *self.values))
            known = ", ".join(others)
            wanted = f"there is no {shown} here; there is {known}"
            raise ExpressionError(wanted if known else f"a number is wanted, and {shown} is none")
        return self.values[name]


def arithmetic(text: str, values: Mapping[str, float] | None = None) -> float:
    """The value of a formula of numbers.

    Raises:
        ExpressionError: it is more than `+ - * / **` on numbers and these values, or has no finite value.
    """
    value = float(Evaluation(values or {}, _on_numbers).of(parse(text)))
    if not math.isfinite(value):
        raise ExpressionError("its value is far too large", "error")
    return value


def _on_numbers(name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
    if name not in _OPERATORS or options:
        raise ExpressionError("a number is wanted, so only + - * / ** and brackets can be read")
    if len(arguments) == 1:
        return -arguments[0]
    if name == "**":
        check_power(abs(arguments[1]))
    try:
        result = _OPERATORS[name](*arguments)
    except ZeroDivisionError as error:
        raise ExpressionError("it divides by zero", "error") from error
    except OverflowError as error:
        raise ExpressionError("its value is far too large", "error") from error
    if isinstance(result, complex):
        raise ExpressionError("it takes a root of a negative number", "error")
    return result


def check_power(largest: float) -> None:
    """Refuse an exponent that no answer needs."""
    if not largest <= LARGEST_POWER:
        raise ExpressionError(f"its exponent is larger than {LARGEST_POWER}: the answer needs no such power")


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}
