"""Every submission of the corpus and every honest variant, in every isolation; `test_check_and_grade` has a part."""

from __future__ import annotations

import pytest
import test_check_and_grade as short
from conftest import strongest
from corpus import IN_NO_ORDER, SUBMISSIONS, found_codes
from honest_variants import FAILS, PASSES

from grader.course import Course
from grader.judging.grading import Grader
from grader.sandbox.isolation import Isolation
from grader.sandbox.worker import Worker

both = short.both
WEAKER = tuple(mode for mode in ("box", "kernel") if mode != strongest())
GROUPS = 40  # a test each: one corpus takes as long as many tests


@pytest.fixture(params=("box", "kernel"))
def isolation(request: pytest.FixtureRequest) -> Isolation:
    """Each isolation that keeps learner code in."""
    return request.param


weaker = pytest.mark.parametrize("isolation", WEAKER)


@weaker
@pytest.mark.parametrize("name", PASSES)
def test_an_honest_file_passes_in_both(name: str, both: short.Both) -> None:
    short.test_an_honest_file_passes_in_both(name, both)


@weaker
@pytest.mark.parametrize("name", FAILS)
def test_what_neither_has_is_told_by_both(name: str, both: short.Both) -> None:
    short.test_what_neither_has_is_told_by_both(name, both)


@pytest.mark.parametrize("group", range(GROUPS))
def test_a_submission_of_the_corpus_gets_the_same_in_both(
    group: int, course: Course, grader: Grader, worker: Worker, isolated: Worker
) -> None:
    for one in (SUBMISSIONS[name] for name in IN_NO_ORDER[group::GROUPS]):
        check, graded = (found_codes(one, course, grader, each) for each in (worker, isolated))
        assert graded == check, one.id
