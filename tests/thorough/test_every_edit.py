"""What is named is never untrue: more of the edits of every small forward pass, and of any other one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_every_operator import EVERY, PASSES, explaining_the_right_answer, small_exercise, small_trials, untrue_names
from test_trace import Program, programs

from grader.reference.references import make_trials

MOST = 12


@pytest.mark.parametrize(("name", "answer"), EVERY)
def test_what_is_named_gives_the_learners_numbers(name: str, answer: int) -> None:
    exercise = PASSES[name]
    every = make_trials(exercise, np.random.default_rng(11))
    trials = [trial for trial in every if trial.expected[exercise.answers[answer].name] is not None]
    assert list(untrue_names(exercise, answer, trials, MOST)) == []


@pytest.mark.parametrize(("name", "answer"), EVERY)
def test_nothing_explains_the_right_answer(name: str, answer: int) -> None:
    assert explaining_the_right_answer(name, answer, every=5) == []


@settings(max_examples=12, deadline=None)
@given(programs, st.integers(0, 2**31))
def test_what_is_named_in_any_forward_pass_gives_the_learners_numbers(program: Program, seed: int) -> None:
    exercise = small_exercise(program, True)
    assert list(untrue_names(exercise, 0, small_trials(exercise, seed), most=10)) == []
