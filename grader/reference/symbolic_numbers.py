"""Numbers that remember how they were made, so that a message can say `/ (1 - p)` and not `/ 0.7269`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

CLOSE = 1e-4
LARGEST_DENOMINATOR, LARGEST_OVER_ONE = 12, 30
SHAPES_OF_FACTORS: Mapping[str, Callable[[float], float]] = {
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


def bracketed(name: str) -> str:
    return f"({name})" if " * " in name else name


class SymbolicNumber(float):
    """A float with its expression; arithmetic with another number gives one again."""

    text: str

    def __new__(cls, value: float, text: str) -> SymbolicNumber:
        self = super().__new__(cls, value)
        self.text = text
        return self

    def __add__(self, other: float) -> float:
        return _combined(super().__add__(other), self, "+", other)

    def __radd__(self, other: float) -> float:
        return _combined(super().__radd__(other), other, "+", self)

    def __sub__(self, other: float) -> float:
        return _combined(super().__sub__(other), self, "-", other)

    def __rsub__(self, other: float) -> float:
        return _combined(super().__rsub__(other), other, "-", self)

    def __mul__(self, other: float) -> float:
        return _combined(super().__mul__(other), self, "*", other)

    def __rmul__(self, other: float) -> float:
        return _combined(super().__rmul__(other), other, "*", self)

    def __truediv__(self, other: float) -> float:
        return _combined(super().__truediv__(other), self, "/", other)

    def __rtruediv__(self, other: float) -> float:
        return _combined(super().__rtruediv__(other), other, "/", self)


def spelling(value: float) -> str:
    """A number as a learner would write it: its expression, or its digits."""
    return value.text if isinstance(value, SymbolicNumber) else f"{value:g}"


def _combined(value: float, left: float, symbol: str, right: float) -> float:
    """The value with its expression; as it is (`NotImplemented`) where the other side is no plain number."""
    return (
        SymbolicNumber(value, f"({spelling(left)} {symbol} {spelling(right)})") if isinstance(value, float) else value
    )


def spelt(value: float) -> str:
    """A number as a person would write it: a whole one, a small fraction, or three digits."""
    for denominator in range(1, LARGEST_DENOMINATOR + 1):
        numerator = value * denominator
        if denominator > 1 and abs(value) > LARGEST_OVER_ONE:
            break
        if abs(numerator - round(numerator)) < CLOSE * max(1, abs(numerator)) and round(numerator):
            return f"{round(numerator)}" if denominator == 1 else f"{round(numerator)}/{denominator}"
    return f"{value:.3g}"
