"""The same submission gets the same verdict under every seed, and in either kind of worker; and the same sentence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

import pytest
from helpers.corpus import IN_NO_ORDER, SAMPLE, SUBMISSIONS, WRONG, graded_codes, graded_result
from helpers.grading import Grade, codes
from helpers.sentences import without_numbers
from helpers.workers import MODES
from test_grading import SAME_VERDICT

from grader.course.course import Course
from grader.judging.grading import Grader
from grader.sandbox.worker import Worker

SEEDS = 30
OTHER_SEEDS = (1, 77, 2**40 + 5)
SEEDS_OF_SENTENCES = range(5, 11)
DRAWN = [name for name in IN_NO_ORDER if name in WRONG][:80]
SAME_SENTENCES = 0.99  # of the answers under all seeds
TRYING = {  # submission: what chance might change
    "01_slopes/pick_h: a table at the top of the file, with a star import": "far from the reference, and as good",
    "02_chain_rule/div_grad: from the derivative of the logarithm, which no 0 has": "divides by values near zero",
    "03_one_example/input_grad: products of rows with df, summed": "sums in float32, one product after the other",
    "05_activations/relu_grad: heaviside with a half at the kink": "another subgradient at the kink",
    "01_slopes/central_difference: heights rounded to float32": "hardly worse than what is right",
    "01_slopes/slope: rounded to two decimals": "nearly right in some trials, far off in others",
    "10_convolution/conv1d_grad: three taps typed in": "a kernel of three taps or two in all trials",
    "04_linear/bmm_grad: pseudo-inverse of b in place of its transpose": "inverts what may be nearly singular",
    "04_linear/lin_grad: out.g squeezed before the sum in b.g": "right but for one shape",
    "04_linear/lin_grad_needed: needs ignored": "its work is measured",
    "05_activations/tanh_grad: the last row left out": "a trial of two rows, where the last is all but the first",
    "07_network/forward_and_backward: entries of inp that are 0 get no gradient": "right where all gradients are 0",
    "08_shapes/index_grad: first pick left out": "an index that chance repeats in the rows behind it",
    "08_shapes/mul_grad: the other factor summed to one number": "each trial broadcasts in another way",
}


@pytest.mark.parametrize("name", TRYING)
def test_thirty_seeds_give_one_verdict(name: str, course: Course, worker: Worker) -> None:
    submission = SUBMISSIONS[name]
    exercise, content = course.find(submission.exercise), submission.source.encode()
    verdicts = {}
    for seed in range(SEEDS):
        result = Grader(seed).grade(exercise, content, worker)
        assert submission.mismatches(codes(result)) == {}, f"seed {seed}"
        verdicts[tuple((answer.name, answer.status, answer.code) for answer in result.answers)] = seed
    assert len(verdicts) == 1, f"verdicts, and a seed that gives each: {verdicts}"


@pytest.mark.parametrize("submission", SAME_VERDICT)
def test_the_verdict_is_the_same_for_thirty_seeds(submission: str, grade: Grade) -> None:
    exercise_id, source, expected = SAME_VERDICT[submission]
    assert [codes(grade(exercise_id, source, seed=seed)) for seed in range(SEEDS)] == [expected] * SEEDS


@pytest.mark.parametrize("seed", OTHER_SEEDS)
def test_verdicts_do_not_depend_on_the_seed_or_the_worker(
    seed: int, warm: Callable[[str], Worker], course: Course
) -> None:
    """The expected codes for a sample of forty submissions, whatever inputs are drawn, forked or spawned."""
    other = Grader(seed)
    for submission in (SUBMISSIONS[name] for name in SAMPLE):
        for mode in MODES:
            assert submission.mismatches(graded_codes(submission, course, other, warm(mode))) == {}, (
                f"{submission.id} in a worker that is to {mode}"
            )


def test_codes_are_always_the_same_and_sentences_but_for_numbers(course: Course, worker: Worker) -> None:
    """Of a drawn sample of the wrong submissions: no code depends on the seed, and hardly a sentence does."""
    verdicts: dict[tuple[str, str], Counter[tuple[str | None, str]]] = defaultdict(Counter)
    for seed in SEEDS_OF_SENTENCES:
        seeded = Grader(seed)
        for name in DRAWN:
            for answer in graded_result(SUBMISSIONS[name], course, seeded, worker).answers:
                verdicts[name, answer.name][answer.code, without_numbers(answer.message or "")] += 1
    assert [place for place, counts in verdicts.items() if len({code for code, _ in counts}) > 1] == []
    failed = [counts for counts in verdicts.values() if any(code is not None for code, _ in counts)]
    same = sum(max(counts.values()) for counts in failed)
    varying = {place: counts for place, counts in verdicts.items() if len(counts) > 1}
    assert same >= SAME_SENTENCES * len(SEEDS_OF_SENTENCES) * len(failed), varying
