"""The same submission gets the same verdict under every seed, and in either kind of worker."""

from __future__ import annotations

import pytest
from conftest import Grade, codes
from corpus import SAMPLE, SUBMISSIONS, found_codes
from test_grading import SAME_VERDICT

from grader.course import Course
from grader.judging.grading import Grader
from grader.sandbox.worker import Worker

SEEDS = 60
OTHER_SEEDS = (1, 77, 2**40 + 5)
TRYING = {  # submission: what chance might change
    "01_slopes/pick_h: a table at the top of the file, with a star import": "far from the reference, and as good",
    "02_chain_rule/div_grad: from the derivative of the logarithm, in a loop": "divides by values near zero",
    "03_one_example/input_grad: products of rows with df, summed": "sums in float32, one product after the other",
    "05_activations/relu_grad: heaviside with a half at the kink": "another subgradient at the kink",
    "01_slopes/central_difference: heights rounded to float32": "hardly worse than what is right",
    "01_slopes/slope: rounded to two decimals": "nearly right in some trials, far off in others",
    "04_linear/bmm_grad: pseudo-inverse of b in place of its transpose": "inverts what may be nearly singular",
    "04_linear/lin_grad: out.g squeezed before the sum in b.g": "right but for one shape",
    "04_linear/lin_grad_needed: needs ignored": "its work is measured",
}


@pytest.mark.parametrize("name", TRYING)
def test_sixty_seeds_give_one_verdict(name: str, course: Course, worker: Worker) -> None:
    submission = SUBMISSIONS[name]
    exercise, content = course.find(submission.exercise), submission.source.encode()
    verdicts = {}
    for seed in range(SEEDS):
        result = Grader(seed).grade(exercise, content, worker)
        assert submission.mismatches(codes(result)) == {}, f"seed {seed}"
        verdicts[tuple((answer.name, answer.status, answer.code) for answer in result.answers)] = seed
    assert len(verdicts) == 1, f"verdicts, and a seed that gives each: {verdicts}"


@pytest.mark.parametrize("submission", SAME_VERDICT)
def test_the_verdict_is_the_same_for_fifty_seeds(submission: str, grade: Grade) -> None:
    exercise_id, source, expected = SAME_VERDICT[submission]
    assert [codes(grade(exercise_id, source, seed=seed)) for seed in range(50)] == [expected] * 50


@pytest.fixture(scope="session")
def first_verdicts(course: Course, grader: Grader, worker: Worker) -> dict[str, dict[str, str | None]]:
    """The codes of the sample under the session's own seed and worker."""
    return {name: found_codes(SUBMISSIONS[name], course, grader, worker) for name in SAMPLE}


@pytest.mark.parametrize("seed", OTHER_SEEDS)
def test_verdicts_do_not_depend_on_the_seed_or_the_worker(
    seed: int, each_worker: Worker, course: Course, first_verdicts: dict[str, dict[str, str | None]]
) -> None:
    """The same codes for a sample of sixty submissions, whatever inputs are drawn, forked or spawned.

    Where two codes are true of an answer, the inputs may decide which of them it gets.
    """
    other = Grader(seed)
    found = {name: found_codes(SUBMISSIONS[name], course, other, each_worker) for name in SAMPLE}
    apart = (SUBMISSIONS[name] for name in SAMPLE if found[name] != first_verdicts[name])
    assert [(one.id, one.mismatches(found[one.id])) for one in apart if one.mismatches(found[one.id])] == []


def test_every_stub_is_still_to_do(course: Course, grade: Grade) -> None:
    for exercise in course.exercises:
        assert grade(exercise.id, exercise.path.read_bytes()).status in {"todo", "failed"}
        assert grade(exercise.id, exercise.path.read_bytes()).score == 0
