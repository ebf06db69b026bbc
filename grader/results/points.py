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
    """Return the number that a float was rounded from: a short decimal as it is, else the simplest fraction.

    A short decimal has at most `MOST_DECIMALS` decimals. Of all fractions that round to the float, the simplest has the
    smallest denominator: 0.3333333333333333 is a third.

    Raises:
        ValueError, OverflowError: the float is not finite.
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
    """Return the fraction with the smallest denominator between two positive fractions, bounds included."""
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    return whole - 1 + 1 / _simplest(1 / (high - (whole - 1)), 1 / (low - (whole - 1)))


def total(points: Iterable[float]) -> float:
    """Return the exact sum of points, rounded once to a float; the float sum if any number is not finite."""
    all_points = [score for score in points if score]  # most answers of a class are not begun
    try:
        return float(sum(map(exact, all_points)))
    except (ValueError, OverflowError):
        return sum(all_points)


def part(points: float, answers: int, share: float = 1.0) -> float:
    """Return the points of one of `answers` equal answers, times `share`, computed exactly and rounded once."""
    return float(exact(points) / answers * exact(share))


def shown(points: float) -> str:
    """Return points as text for people, such as "0.333" or "12.5", without trailing zeros.

    They have at most 3 decimals, or 3 significant digits below a tenth.
    """
    rounded = round(points, SHOWN) if abs(points) >= 0.1 else float(f"{points:.{SHOWN}g}")
    return f"{rounded:.12g}"
