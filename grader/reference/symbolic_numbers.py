"""Numbers that remember how they were made, so that a message can say `/ (1 - p)` and not `/ 0.7269`."""

from __future__ import annotations


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
