"""Shapes with named axes are read from specs, computed from sizes, and written as text."""

from __future__ import annotations

import pytest

from grader.course.shapes import (
    alternatives,
    axes_in_all,
    axes_of,
    describe,
    describe_guessed,
    expand_any,
    guess_axes,
    named_axes,
    shape_of,
)

SIZES = {"bs": 7, "n": 5, "m": 4}


@pytest.mark.parametrize(
    ("spec", "axes"), [("", ()), ("bs n", ("bs", "n")), ("  bs   1 ", ("bs", "1")), ("...", ("...",))]
)
def test_a_spec_names_its_axes(spec: str, axes: tuple[str, ...]) -> None:
    assert axes_of(spec) == axes


def test_named_axes_come_once_in_order_without_numbers() -> None:
    assert named_axes(["bs n", "n m", "h 1", "... bs"]) == ("bs", "n", "m", "h")


def test_an_axis_may_be_made_of_others() -> None:
    assert named_axes(["bs n+m", "4*m 2*h*n"]) == ("bs", "n", "m", "h")
    assert shape_of(axes_of("n+m 4*m 2*n*m+3"), SIZES) == (9, 16, 43)
    assert describe((9,), ("n+m",)) == "(n+m=9,)"


def test_a_spec_may_go_through_alternatives() -> None:
    assert alternatives("bs n | n|1 n") == ("bs n", "n", "1 n")
    assert alternatives("bs n") == ("bs n",)
    assert named_axes(["bs n | n k", "1 | m"]) == ("bs", "n", "k", "m")


def test_dots_stand_for_any_number_of_axes() -> None:
    assert expand_any("bs ... n", 2) == ("bs", "_0", "_1", "n")
    assert expand_any("...", 0) == ()
    assert expand_any("n m", 3) == ("n", "m")


def test_a_number_is_an_axis_of_that_size() -> None:
    assert shape_of(("bs", "1", "n"), SIZES) == (7, 1, 5)


@pytest.mark.parametrize(
    ("shape", "axes", "text"),
    [
        ((7, 5), ("bs", "n"), "(bs=7, n=5)"),
        ((5,), ("n",), "(n=5,)"),
        ((7, 1), ("bs", "1"), "(bs=7, 1)"),
        ((7, 3), ("bs", "_0"), "(bs=7, 3)"),
        ((), (), "()"),
        ((7, 5), None, "(7, 5)"),
        ((7, 5), ("bs",), "(7, 5)"),
    ],
)
def test_a_shape_is_described_with_its_axes(shape: tuple[int, ...], axes: tuple[str, ...] | None, text: str) -> None:
    assert describe(shape, axes) == text


def test_axes_are_guessed_where_one_axis_alone_has_that_size() -> None:
    assert guess_axes((7, 9, 4), SIZES) == ("bs", "_1", "m")
    assert guess_axes((3, 3), {"a": 3, "b": 3}) == ("_0", "_1")
    assert describe_guessed((5, 7, 2), SIZES) == "(n=5, bs=7, 2)"


def test_an_axis_has_one_name_in_all_trials() -> None:
    """In the first trial alone, the last axis would be called `k`."""
    trials = [{"bs": 2, "n": 5, "k": 3}, {"bs": 4, "n": 3, "k": 2}]
    assert guess_axes((2, 5, 3), trials[0]) == ("bs", "n", "k")
    assert axes_in_all([(2, 5, 3), (4, 3, 5)], trials) == ("bs", "n", "_2")
    square = {"bs": 3, "n": 3, "k": 3}
    assert axes_in_all([(3, 3), (2, 5)], [square, trials[0]]) == ("bs", "n")
