"""Learners' own tests, from the best to the worst: their points are in the order of a careful reader."""

from __future__ import annotations

from itertools import pairwise

import pytest
from helpers.corpus import PAGES
from test_examination import TESTS, Grade, grade

# From the best to the worst, as somebody would rank them who reads them with care; those of a line are about as good.
RANKED = {
    "test_softmax": (
        ("a formula, four sizes, and out.g as it was", "nudges in double precision"),
        ("thorough, but out.g is not looked at again", "thorough, but a turned tensor is called wrong"),
        ("random and not square, at two sizes of several rows",),
        ("random, one size of three rows", "square sizes only", "a tolerance of a half, random", "one row only"),
        ("an upstream gradient of ones",),
        ("exact equality",),
        ("only the shape is looked at", "whether something was stored"),
        ("nothing is asserted", "it returns what it should assert", "backward is never called",
         "everything is rejected", "the diagonal is taken for the right answer",
         "nudges of 1e-7 in single precision", "out has no upstream gradient", "a name is misspelt"),
    ),
    "test_scale": (
        ("formulas, four sizes, everything as it was", "nudges of both inputs in double precision"),
        ("out.g is not looked at again",),
        ("never a square, never a single row", "all inputs are positive", "the tolerance is one tenth"),
        ("sums are compared",),
        ("an upstream gradient of ones, random inputs",),
        ("one small example of integers, by hand", "a single row", "scale.g is forgotten"),
        ("ones everywhere", "equality of floats"),  # what is equal to the last bit depends on the machine
        ("a mean is thought to be right", "it is called without out", "it never comes to an end"),
    ),
    "test_row_mean": (
        ("a formula at four sizes", "sums over rows and equal entries say it all"),
        ("never a square", "dtypes are made the same before they are compared"),
        ("small sizes only", "upstream gradients between 0 and 1", "shapes are not compared, and allclose broadcasts"),
        ("squares only",),
        ("the first entry alone", "an upstream gradient of ones", "a single row"),
        ("only nan would be noticed",),
        ("the division by n is forgotten in the test", "== for floats"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("exercise", TESTS)
def test_learners_tests_are_ranked_as_a_careful_reader_would(exercise: str, grade: Grade) -> None:
    sources = {submission.title: submission.source for submission in PAGES[f"15_clinic/{exercise}"]}
    lines = [
        [grade(exercise, sources[title]).score for title in line if "end" not in title] for line in RANKED[exercise]
    ]
    assert all(score == 4 for score in lines[0])
    assert all(min(better) > max(worse) for better, worse in pairwise(lines)), lines
    assert all(score == 0 for score in lines[-1])
