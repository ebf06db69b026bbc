"""The forward passes of exercises are recorded, and the programs have the right answers of every trial.

One in six of the exercises; `thorough/test_every_exercise.py` has all.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.course.course import load_course
from grader.course.exercise import Exercise, InSteps
from grader.program.program import Program
from grader.program.recording import record
from grader.reference.references import plus_prior
from grader.reference.trial import Trial
from grader.reference.trials import make_trials

COURSE = load_course(Path(__file__).parents[2])
EXERCISES = {each.id: each.declaration for each in COURSE.exercises if isinstance(each.declaration, Exercise)}


def program_of(exercise: Exercise, trial: Trial) -> Program:
    inputs = {name: trial.inputs[name] for name in exercise.forward_names}
    forward = exercise.forward.values if isinstance(exercise.forward, InSteps) else exercise.forward
    targets = [answer.wrt for answer in exercise.answers if answer.wrt in exercise.step_names]
    return record(forward, inputs, trial.out_g, targets=targets)


@pytest.mark.parametrize("name", list(EXERCISES)[::6])
def test_the_program_has_the_right_answers(name: str) -> None:
    assert_right_answers(EXERCISES[name])


def assert_right_answers(exercise: Exercise) -> None:
    """Check the gradients and Jacobians of the programs of some trials."""
    for trial in make_trials(exercise, np.random.default_rng(5)):
        program = program_of(exercise, trial)
        kinds = {answer.kind for answer in exercise.answers}
        gradients = program.gradients() if "gradient" in kinds else {}
        jacobians = program.jacobians() if "jacobian" in kinds else {}
        for answer in exercise.answers:
            expected = trial.expected[answer.name]
            if expected is not None and answer.kind in ("gradient", "jacobian"):
                got = (jacobians if answer.kind == "jacobian" else gradients)[answer.wrt]
                got = plus_prior(got, answer, trial.arguments)
                assert got.shape == expected.shape
                np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * (1 + np.abs(expected).max(initial=0)))
