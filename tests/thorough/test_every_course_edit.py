"""No operator fails on a forward pass of the course, listed in its greatest trial and made in the least one, too."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.courses import ROOT

from grader.course.course import load_course
from grader.course.exercise import Exercise
from grader.diagnosis.candidates import edits
from grader.diagnosis.operators import OPERATORS
from grader.diagnosis.recorded_programs import program_of
from grader.program.operation import NoCandidate
from grader.reference.trials import make_trials

EXERCISES = {
    each.id: each.declaration for each in load_course(ROOT).exercises if isinstance(each.declaration, Exercise)
}
MOST = 25  # edits with one operator that are made


@pytest.mark.parametrize("name", EXERCISES)
@np.errstate(all="ignore")
def test_no_edit_of_the_course_fails(name: str) -> None:
    trials = make_trials(EXERCISES[name], np.random.default_rng(5))
    programs = sorted(
        (program_of(EXERCISES[name], trial) for trial in trials), key=lambda each: sum(each.forward.costs)
    )
    listing, made = programs[-1], 0
    for operator in OPERATORS:
        every = list(edits(operator, listing))
        for edit in every[:: len(every) // MOST + 1]:
            for program in (programs[0], listing):
                try:
                    edit.apply(program).gradients()
                    made += 1
                except NoCandidate:
                    continue
    assert made
