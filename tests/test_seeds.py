"""The same submission gets the same verdict under every seed: files for which chance matters most, 200 seeds each."""

from __future__ import annotations

import pytest
from conftest import codes
from test_learners import FILES, expectations, mismatches

from grader.course import Course
from grader.judging.grading import Grader
from grader.sandbox.worker import Worker

SEEDS = 200
TRYING = {  # file: what chance might change
    "right/01_slopes/pick_h/lookup-table.py": "far from the reference, and as good",
    "right/02_chain_rule/div_grad/log-derivative-trick.py": "divides by values near zero",
    "right/03_one_example/input_grad/sums_products.py": "sums in float32, one product after the other",
    "right/05_activations/relu_grad/where-and-half-at-zero.py": "another subgradient at the kink",
    "wrong/01_slopes/central_difference/in-float32.py": "hardly worse than what is right",
    "wrong/01_slopes/slope/two-decimals.py": "nearly right in some trials, far off in others",
    "wrong/04_linear/bmm_grad/batched-pinv.py": "inverts what may be nearly singular",
    "wrong/04_linear/lin_grad/squeezed-before-the-sum.py": "right but for one shape",
    "wrong/04_linear/lin_grad_needed/ignores-needs.py": "its work is measured",
}


@pytest.mark.parametrize("name", TRYING)
def test_two_hundred_seeds_give_one_verdict(name: str, course: Course, worker: Worker) -> None:
    path = FILES[name]
    exercise, content, expected = course.find(path.parent.name), path.read_bytes(), expectations(path)
    verdicts = {}
    for seed in range(SEEDS):
        result = Grader(seed).grade(exercise, content, worker)
        assert mismatches(expected, codes(result)) == {}, f"seed {seed}"
        verdicts[tuple((answer.name, answer.status, answer.code) for answer in result.answers)] = seed
    assert len(verdicts) == 1, f"verdicts, and a seed that gives each: {verdicts}"
