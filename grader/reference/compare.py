"""Comparison of arrays by scaled error, max|array - reference| / max|reference|, with tolerances by precision."""

from __future__ import annotations

import math

import numpy as np

MATCH = 1e-4  # of the largest entry: the rounding of a backward pass in single precision
RTOL = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-9}
ATOL_FOR_ZERO = {"float16": 1e-3, "float32": 1e-6, "float64": 1e-10}


def scaled_error(array: np.ndarray, reference: np.ndarray) -> float:
    """Return max|array - reference| / max|reference|; max|array| if the reference is all zeros.

    Args:
        array: the array to judge.
        reference: the right array.

    Returns:
        The error, computed in float64; infinity for another shape or an entry that is not finite.
    """
    if array.shape != reference.shape:
        return float("inf")
    if array.size == 0:
        return 0.0
    with np.errstate(all="ignore"):
        right = _double(reference)
        difference, scale = float(np.abs(_double(array) - right).max()), float(np.abs(right).max())
    if not math.isfinite(difference):
        return float("inf")
    return difference / scale if scale > 0 else difference


def agrees(array: np.ndarray, reference: np.ndarray, precision: str = "float32") -> bool:
    """Return whether the scaled error of an array is within the tolerance of a precision.

    False for another shape, or an entry that is not finite.

    Args:
        array: the array to judge, of any shape.
        reference: the right array.
        precision: the precision that sets the tolerance: `"float16"`, `"float32"` or `"float64"`.
    """
    return scaled_error(array, reference) <= tolerance(reference, precision)


def tolerance(reference: np.ndarray, precision: str = "float32") -> float:
    """Return the largest scaled error of an array that agrees with a reference.

    Args:
        reference: the right array; one of all zeros has a smaller tolerance, which is absolute.
        precision: the precision that sets the tolerance: `"float16"`, `"float32"` or `"float64"`.
    """
    return RTOL[precision] if reference.any() else ATOL_FOR_ZERO[precision]


def wrong_entries(array: np.ndarray, reference: np.ndarray, precision: str = "float32") -> np.ndarray:
    """Return a mask of the entries that are further from the reference than `agrees` allows, or no numbers.

    Args:
        array: the array to judge, of the same shape as `reference`.
        reference: the right array.
        precision: the precision that sets the tolerance: `"float16"`, `"float32"` or `"float64"`.

    Returns:
        The mask, shaped like `reference`.
    """
    right = _double(reference)
    scale = float(np.abs(right).max(initial=0.0))
    bound = RTOL[precision] * scale if scale > 0 else ATOL_FOR_ZERO[precision]
    with np.errstate(all="ignore"):
        return np.asarray(~(np.abs(_double(array) - right) <= bound))


def worst_entry(array: np.ndarray, reference: np.ndarray) -> tuple[int, ...]:
    """Return the index of the entry furthest from the reference; both arrays have the same, non-empty shape.

    An entry that is nan or infinite is the furthest; of equal ones it is the first.
    """
    with np.errstate(all="ignore"):
        gap = np.nan_to_num(np.abs(_double(array) - _double(reference)), nan=np.inf, posinf=np.inf)
    return tuple(int(i) for i in np.unravel_index(int(gap.argmax()), gap.shape))


def _double(array: np.ndarray) -> np.ndarray:
    """Return an array in float64, or in complex128 if it is complex."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)
