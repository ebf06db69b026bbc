"""Compares arrays by scaled error: max|err| / max|reference|, with one tolerance per precision."""

from __future__ import annotations

import numpy as np

MATCH = 1e-4  # in proportion to the largest entry: equal but for what is lost on the way
RTOL = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-9}
ATOL_FOR_ZERO = {"float16": 1e-3, "float32": 1e-6, "float64": 1e-10}


def scaled_error(array: np.ndarray, reference: np.ndarray) -> float:
    """max|array - reference| / max|reference|; where the reference is all zeros, max|array|.

    `inf` for different shapes or for entries that are not finite. Both are compared as float64.
    """
    if array.shape != reference.shape:
        return float("inf")
    if array.size == 0:
        return 0.0
    with np.errstate(all="ignore"):
        right = _double(reference)
        difference, scale = np.abs(_double(array) - right).max(), np.abs(right).max()
    if not np.isfinite(difference):
        return float("inf")
    return float(difference / scale) if scale > 0 else float(difference)


def agrees(array: np.ndarray, reference: np.ndarray, precision: str = "float32") -> bool:
    """The scaled error is within the tolerance of `precision`."""
    return scaled_error(array, reference) <= tolerance(reference, precision)


def tolerance(reference: np.ndarray, precision: str = "float32") -> float:
    """Return the largest scaled error of what agrees with a reference in this precision."""
    return RTOL[precision] if reference.any() else ATOL_FOR_ZERO[precision]


def wrong_entries(array: np.ndarray, reference: np.ndarray, precision: str = "float32") -> np.ndarray:
    """Return where an array is further off than `agrees` allows.

    Args:
        array: of the same shape as `reference`.

    Returns:
        A mask of that shape.
    """
    right = _double(reference)
    scale = float(np.abs(right).max(initial=0.0))
    bound = RTOL[precision] * scale if scale > 0 else ATOL_FOR_ZERO[precision]
    with np.errstate(all="ignore"):
        return np.asarray(~(np.abs(_double(array) - right) <= bound))


def worst_entry(array: np.ndarray, reference: np.ndarray) -> tuple[int, ...]:
    """Index of the entry that is furthest off; both have the same, non-empty shape."""
    with np.errstate(all="ignore"):
        gap = np.nan_to_num(np.abs(_double(array) - _double(reference)), nan=np.inf, posinf=np.inf)
    return tuple(int(i) for i in np.unravel_index(int(gap.argmax()), gap.shape))


def share_wrong(array: np.ndarray, reference: np.ndarray, precision: str = "float32") -> float:
    """The share of entries further off than the tolerance of the largest entry."""
    scale = max(float(np.abs(_double(reference)).max()), ATOL_FOR_ZERO[precision])
    gap = np.abs(_double(array) - _double(reference))
    return float((~(gap <= RTOL[precision] * scale)).mean())


def _double(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)
