"""Two arrays agree by their scaled error; a zero reference gets an absolute bound; nan and inf never agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.reference.compare import agrees, scaled_error, worst_entry, wrong_entries

finite = hnp.arrays(
    "float64",
    hnp.array_shapes(min_dims=0, max_dims=3, max_side=5),
    elements=st.floats(-1e6, 1e6, allow_subnormal=False),
)


@given(finite)
def test_an_array_agrees_with_itself(array: np.ndarray) -> None:
    assert scaled_error(array, array) == 0
    assert agrees(array, array, "float64")


@given(finite, st.floats(1e-3, 1e3))
@example(np.array(-2.0), 0.5)
def test_the_scale_of_the_problem_does_not_matter(array: np.ndarray, scale: float) -> None:
    """But for a reference of zeros, which has none."""
    found, reference = array + 1, array + 2
    error = scaled_error(found, reference) * (1 if np.any(reference) else scale)
    assert scaled_error(scale * found, scale * reference) == pytest.approx(error, rel=1e-6)


def test_an_error_is_measured_against_the_largest_entry() -> None:
    assert scaled_error(np.array([0.0, 100.5]), np.array([0.0, 100.0])) == pytest.approx(0.005)
    assert scaled_error(np.array([0.5, 100.0]), np.array([0.0, 100.0])) == pytest.approx(0.005)


@pytest.mark.parametrize(("precision", "inside", "outside"), [("float32", 5e-6, 3e-5), ("float64", 5e-10, 3e-9)])
def test_each_precision_has_its_tolerance(precision: str, inside: float, outside: float) -> None:
    reference = np.array([1.0, 2.0])
    assert agrees(reference * (1 + inside), reference, precision)
    assert not agrees(reference * (1 + outside), reference, precision)


def test_a_zero_reference_has_an_absolute_bound() -> None:
    assert agrees(np.full(3, 1e-7), np.zeros(3))
    assert not agrees(np.full(3, 1e-5), np.zeros(3))


def test_zeros_do_not_agree_with_a_tiny_reference() -> None:
    """Solved by zeros is not solved: the bound follows the reference."""
    assert not agrees(np.zeros(3), np.full(3, 1e-12))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_never_agrees(bad: float) -> None:
    array = np.array([1.0, bad])
    assert scaled_error(array, np.array([1.0, 2.0])) == np.inf
    assert scaled_error(np.array([1.0, 2.0]), array) == np.inf or not agrees(np.array([1.0, 2.0]), array)
    assert not agrees(array, array)


@pytest.mark.parametrize("shape", [(3, 2), (6,), (2, 3, 1), ()])
def test_another_shape_never_agrees(shape: tuple[int, ...]) -> None:
    assert scaled_error(np.ones(shape), np.ones((2, 3))) == np.inf


def test_empty_arrays_of_one_shape_agree() -> None:
    assert agrees(np.ones((0, 3)), np.ones((0, 3)))


def test_complex_and_integer_arrays_can_be_compared() -> None:
    assert agrees(np.array([1, 2]), np.array([1.0, 2.0]))
    assert not agrees(np.array([1 + 1j]), np.array([1.0]))


def test_large_values_do_not_overflow() -> None:
    assert agrees(np.array([3e38], "float32"), np.array([3e38], "float32"))


def test_the_worst_entry_is_the_one_furthest_off() -> None:
    reference = np.zeros((2, 3))
    array = reference.copy()
    array[1, 2], array[0, 1] = 5, -7
    assert worst_entry(array, reference) == (0, 1)
    array[1, 0] = np.nan
    assert worst_entry(array, reference) == (1, 0)
    assert worst_entry(np.array(1.0), np.array(2.0)) == ()


def test_a_wrong_entry_is_further_off_than_agreement_allows() -> None:
    reference = np.arange(1.0, 5.0)
    assert not wrong_entries(reference, reference).any()
    assert wrong_entries(reference + np.array([0, 0, 0, 1]), reference).tolist() == [False, False, False, True]
    assert wrong_entries(np.full(4, np.nan), reference).all()
    assert wrong_entries(np.array([1e-8, 0.5]), np.zeros(2)).tolist() == [False, True]
