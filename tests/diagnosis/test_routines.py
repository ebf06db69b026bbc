"""Mistakes in what a routine returns: one trial serves submissions that are wrong in other answers."""

from __future__ import annotations

import numpy as np

from grader.course.course import Course
from grader.diagnosis.diagnose import find_mistakes
from grader.reference.trial import sample_of
from grader.reference.trials import make_trials


def test_a_trial_serves_submissions_that_are_wrong_in_other_answers(course: Course) -> None:
    routine = course.find("momentum_step").function
    trials = [trial for trial in make_trials(routine, np.random.default_rng(0)) if not trial.metered]
    parameters, momentum = routine.answers
    first = {"return.0": [sample_of(parameters, trial, trial.inputs["p"].numpy()) for trial in trials]}
    second = first | {"return.1": [sample_of(momentum, trial, trial.inputs["m"].numpy()) for trial in trials]}
    for wrong in (first, second, first):
        mistakes = find_mistakes(routine, wrong)
        assert {name: mistake.code for name, mistake in mistakes.items()} == dict.fromkeys(wrong, "forward-value")
