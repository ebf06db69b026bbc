"""Other values of the same kind as some given ones, as far as numbers alone show of what kind they are."""

from __future__ import annotations

import numpy as np

Shape = tuple[int, ...]
SUMS_TO_ONE = 1e-4


def redrawn(values: np.ndarray, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Other values of the same kind; shape: `shape`.

    Indices stay between the least and the greatest given, and in order if they are; a permutation stays one. Masks and
    marks keep their share. Rows that sum to 1 do so again, a symmetric matrix is one again, and other measurements stay
    in their range, so that what is positive remains positive.
    """
    if not values.size:
        return np.zeros(shape, values.dtype)
    unique, count = np.unique(values), int(np.prod(shape))
    if values.dtype.kind in "iu":
        found = _indices(values.ravel(), unique, count, rng)
    elif len(unique) == 1 and values.dtype.kind == "f" and np.isfinite(unique[0]):
        found = rng.uniform(0.5, 1.5, count) * unique[0] if unique[0] else 0.5 * rng.standard_normal(count)
    elif is_symmetric(values) and shape[-1:] == shape[-2:-1] and (len(unique) > 2 or _is_positive_definite(values)):
        found = _symmetric(values, shape, rng)
    elif _sums_to_one(values) and len(shape) == values.ndim:
        found = _rows(shape, len(unique) == 2, rng)
    elif len(unique) == 2 < values.size:
        found = np.where(_marks(values == unique[1], shape, rng), unique[1], unique[0])
    elif values.dtype.kind == "f" and np.isfinite(values).all():
        found = rng.uniform(unique[0], unique[-1], count)
    else:
        found = rng.permutation(np.resize(values.ravel(), count))
    return found.reshape(shape).astype(values.dtype)


def is_symmetric(values: np.ndarray) -> bool:
    """Matrices that are their own transposes, of more than one row."""
    square = values.ndim > 1 and values.shape[-1] == values.shape[-2] > 1
    return square and bool(np.array_equal(values, values.swapaxes(-1, -2)))


def _indices(given: np.ndarray, unique: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers in the same range; shape: `(count,)`."""
    if len(unique) > 2 and (np.diff(given) >= 0).all():
        between = rng.integers(unique[0], unique[-1], max(count - 2, 0), endpoint=True)
        return np.concatenate([unique[:1], np.sort(between), unique[-1:]])[-count:]
    if len(unique) == given.size == count:
        return rng.permutation(given)
    return rng.integers(unique[0], unique[-1], count, endpoint=True)


def _marks(given: np.ndarray, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """A mask with the same share of True; where each given row has some, or some False, so has each row here."""
    found = rng.permutation(np.resize(given.ravel(), int(np.prod(shape)))).reshape(shape)
    if shape and shape[-1] > 1 and given.ndim:
        for value in (False, True):
            if (given == value).any(-1).all():
                rows = (found != value).all(-1)
                places = np.eye(shape[-1], dtype=bool)[rng.integers(shape[-1], size=shape[:-1])]
                found = np.where(rows[..., None] & places, value, found)
    return found


def _symmetric(values: np.ndarray, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Symmetric matrices; positive definite ones, where the given ones are."""
    found = rng.uniform(values.min(), values.max(), shape)
    if _is_positive_definite(values):
        least = float(np.linalg.eigvalsh(values).min())
        found = found @ found.swapaxes(-1, -2) / float(np.abs(values).max()) + least * np.eye(shape[-1])
    return np.asarray((found + found.swapaxes(-1, -2)) / 2)


def _is_positive_definite(values: np.ndarray) -> bool:
    return values.dtype.kind == "f" and bool((np.linalg.eigvalsh(values) > 0).all())


def _sums_to_one(values: np.ndarray) -> bool:
    rows = values.ndim > 0 and values.shape[-1] > 1 and bool((values >= 0).all())
    return rows and bool(np.allclose(values.sum(-1), 1, atol=SUMS_TO_ONE))


def _rows(shape: Shape, marks: bool, rng: np.random.Generator) -> np.ndarray:
    """Rows along the last axis that sum to 1: one mark in each, or shares."""
    if marks:
        return np.eye(shape[-1])[rng.integers(shape[-1], size=shape[:-1])]
    return rng.dirichlet(np.ones(shape[-1]), shape[:-1])
