"""Points that add up exactly: a third of a point is a third in every sum, and is rounded only where it is shown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

MOST_DECIMALS = 9  # of points that somebody typed; more come from a division
SHOWN = 3


@lru_cache(1 << 12)
def exact(points: float) -> Fraction:
    """Return the number that a finite float was rounded from.

    That is the decimal that it is written as, if that is short; or else the fraction with the smallest denominator
    among all numbers that round to it: 0.3333333333333333 is a third.
    """
    decimal = Fraction(repr(float(points)))
    if 10**MOST_DECIMALS % decimal.denominator == 0:
        return decimal
    if points < 0:
        return -exact(-points)
    below, above = (math.nextafter(points, end) for end in (0.0, math.inf))
    if math.isinf(above):
        return decimal
    return _simplest((Fraction(below) + Fraction(points)) / 2, (Fraction(points) + Fraction(above)) / 2)


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction with the smallest denominator between two positive ones."""
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    return whole - 1 + 1 / _simplest(1 / (high - (whole - 1)), 1 / (low - (whole - 1)))


def total(points: Iterable[float]) -> float:
    """Add points exactly, and round the sum once; where a record holds what is not finite, the sum is not."""
    listed = list(points)
    try:
        return float(sum(map(exact, listed)))
    except (ValueError, OverflowError):
        return sum(listed)


def part(points: float, answers: int, share: float = 1.0) -> float:
    """Return what one of several equal answers is worth, or such a share of that, rounded once."""
    return float(exact(points) / answers * exact(share))


def shown(points: float) -> str:
    """Return points as people read them: 3 decimals, or as many digits where it is less than a tenth."""
    rounded = round(points, SHOWN) if abs(points) >= 0.1 else float(f"{points:.{SHOWN}g}")
    return f"{rounded:.12g}"
