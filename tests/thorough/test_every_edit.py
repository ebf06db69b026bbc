"""What is named is never untrue: more of the edits of every small forward pass, and of any other one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.small_passes import (
    EVERY,
    Steps,
    explaining_the_right_answer,
    forward_of,
    right_case,
    some_edits,
    steps,
    untrue_names,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from test_every_operator import assert_can_be_said

from grader.course.trial_sizes import Setting
from grader.diagnosis.case import Case, ProgramSample
from grader.program.recording import record
from grader.reference.trial import Trial
from grader.results.codes import VALUE_CODES

MOST = 12
SIZES = ({"n": 2, "m": 3, "k": 4}, {"n": 4, "m": 2, "k": 3}, {"n": 3, "m": 5, "k": 2})


@pytest.mark.parametrize(("name", "answer"), EVERY)
def test_every_edit_can_be_said(name: str, answer: int) -> None:
    assert_can_be_said(right_case(name, answer))


@pytest.mark.parametrize(("name", "answer"), EVERY)
def test_what_is_named_gives_the_learners_numbers(name: str, answer: int) -> None:
    assert list(untrue_names(right_case(name, answer), MOST)) == []


@pytest.mark.parametrize(("name", "answer"), EVERY)
def test_nothing_explains_the_right_answer(name: str, answer: int) -> None:
    assert explaining_the_right_answer(name, answer, every=5) == []


def drawn_case(drawn: Steps, seed: int) -> Case:
    """The right gradient of x in any forward pass of x, w and b, at several sizes."""
    samples = []
    for number, sizes in enumerate(SIZES):
        n, m, k = sizes.values()
        generator = np.random.default_rng(seed + number)
        shapes = {"x": (n, m), "w": (m, k), "b": (k,)}
        inputs = {name: torch.from_numpy(generator.standard_normal(shape)) for name, shape in shapes.items()}
        out = forward_of(drawn)(**inputs)
        g = torch.from_numpy(generator.standard_normal(out.shape))
        trial = Trial(Setting(number, "a test", sizes), inputs, {}, inputs, out_g=g)
        program = record(forward_of(drawn), inputs, g)
        samples.append(ProgramSample(trial, program, {"x": program.gradients()["x"]}))
    return Case(samples, ("x",))


@settings(max_examples=40, deadline=None)
@given(steps, st.integers(0, 2**31))
def test_what_is_named_in_any_forward_pass_gives_the_learners_numbers(drawn: Steps, seed: int) -> None:
    """At other sizes it may take other steps; what an edit says there has a known code, and no loose ends."""
    with np.errstate(all="ignore"):
        case = drawn_case(drawn, seed)
        for edit in some_edits(case, every=17):
            assert edit.code in VALUE_CODES
            assert edit.message(case.listing)
        assert list(untrue_names(case, most=8)) == []
