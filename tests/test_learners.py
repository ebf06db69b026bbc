"""Check the checker: many small submissions, each with one known outcome; `corpus` says how they are written."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from conftest import SEED, with_policy
from corpus import PAGES, RIGHT, SUBMISSIONS, WRONG, Submission, found_codes

from grader.course import Course
from grader.judging.grading import Grader
from grader.quiz.questions import codes_of
from grader.results import CODES, VALUE_CODES
from grader.sandbox.worker import Worker

OTHER_SEEDS = (1, 77, 2**40 + 5)
SAMPLE = sorted(SUBMISSIONS, key=lambda name: hashlib.sha256(name.encode()).digest())[:60]
WITHOUT_MISCONCEPTIONS = 0.9
NAMED = frozenset(VALUE_CODES) - {"unknown"}


@pytest.mark.parametrize("submission", SUBMISSIONS.values(), ids=SUBMISSIONS)
def test_every_answer_gets_its_expected_code(
    submission: Submission, course: Course, grader: Grader, worker: Worker
) -> None:
    assert submission.mismatches(found_codes(submission, course, grader, worker)) == {}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_speaks_of_its_exercise(name: str, course: Course) -> None:
    """Its heads name answers of the exercise and known codes, and some of its submissions are right, others wrong."""
    unit, _, exercise = name.partition("/")
    assert course.find(exercise).unit == unit
    answers = {answer.name for answer in course.find(exercise).function.answers}
    expected = [submission.expected for submission in PAGES[name]]
    assert set().union(*expected) <= {"*", *answers}
    assert set().union(*(allowed for one in expected for allowed in one.values())) <= CODES
    assert {bool(one) for one in expected} == {False, True}


def test_the_corpus_is_large_enough() -> None:
    assert len(WRONG) >= 100
    assert len(RIGHT) >= 50


def test_every_code_has_a_submission_or_an_answer_that_earns_it(course: Course) -> None:
    expected = set().union(*(allowed for wrong in WRONG.values() for allowed in wrong.expected.values()))
    quizzes = [exercise.quiz for exercise in course.exercises if exercise.is_quiz]
    asked = set().union(*(codes_of(question) for quiz in quizzes for question in quiz.questions.values()))
    assert CODES - expected - asked == set()


def test_every_exercise_has_a_page(course: Course) -> None:
    functions = {f"{exercise.unit}/{exercise.id}" for exercise in course.exercises if not exercise.is_quiz}
    assert set(PAGES) == functions


@pytest.fixture(scope="session")
def first_verdicts(course: Course, grader: Grader, worker: Worker) -> dict[str, dict[str, str | None]]:
    """The codes of the sample under the session's own seed and worker."""
    return {name: found_codes(SUBMISSIONS[name], course, grader, worker) for name in SAMPLE}


@pytest.mark.parametrize("seed", OTHER_SEEDS)
def test_verdicts_do_not_depend_on_the_seed_or_the_worker(
    seed: int, each_worker: Worker, course: Course, first_verdicts: dict[str, dict[str, str | None]]
) -> None:
    """The same codes for a sample of sixty submissions, whatever inputs are drawn, forked or spawned."""
    other = Grader(seed)
    found = {name: found_codes(SUBMISSIONS[name], course, other, each_worker) for name in SAMPLE}
    assert found == first_verdicts


def without_misconceptions(course: Course) -> Course:
    """The same course, in which no exercise declares a misconception."""
    bare = with_policy(course)
    for unit in course.config.units:
        found = course.declarations(unit.id).items()
        bare._specs[unit.id] = {name: replace(declaration, misconceptions=()) for name, declaration in found}
    return bare


def test_most_mistakes_are_named_without_declared_misconceptions(course: Course, worker: Worker) -> None:
    """The forward graph and generic relations alone still name at least 90 % of the wrong numbers."""
    bare, grader = without_misconceptions(course), Grader(SEED)
    named, missed = 0, []
    for name, wrong in WRONG.items():
        if not any(allowed <= NAMED for allowed in wrong.expected.values()):
            continue
        for answer, code in found_codes(wrong, bare, grader, worker).items():
            allowed = wrong.allowed(answer)
            if not allowed or not allowed <= NAMED:
                continue
            named += code in allowed
            missed += [f"{name} | {answer}: {code}, not {' or '.join(sorted(allowed))}"] if code not in allowed else []
    share = named / (named + len(missed))
    print("\n".join(missed))
    print(f"without declared misconceptions: {named} of {named + len(missed)} wrong answers named ({share:.1%})")
    assert share >= WITHOUT_MISCONCEPTIONS
