"""Check the checker: many small submissions, each with one known outcome; `corpus` says how they are written.

One in ninety-six of them; `thorough/test_every_check_and_grade.py` has all.
"""

from __future__ import annotations

import pytest
from helpers.corpus import FEW, PAGES, RIGHT, SUBMISSIONS, WRONG, graded_result
from helpers.grading import codes
from helpers.sentences import faults_of_sentences

from grader.course.course import Course
from grader.course.questions import NOT_READ, codes_of
from grader.judging.grading import Grader
from grader.results.codes import CODES, TWO_ANSWERS
from grader.sandbox.worker import Worker


@pytest.mark.parametrize("name", FEW)
def test_every_answer_gets_its_expected_code(name: str, course: Course, grader: Grader, worker: Worker) -> None:
    submission = SUBMISSIONS[name]
    result = graded_result(submission, course, grader, worker)
    assert submission.mismatches(codes(result)) == {}
    assert faults_of_sentences(submission, course.find(submission.exercise), result) == []


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
    elsewhere = {
        "measured",  # where a course refuses what others flag (`test_measuring`)
        NOT_READ,  # in a quiz alone
        TWO_ANSWERS,  # in a class alone
    }
    assert CODES - expected - asked == elsewhere


def test_every_exercise_has_a_page(course: Course) -> None:
    functions = {f"{exercise.unit}/{exercise.id}" for exercise in course.exercises if not exercise.is_quiz}
    assert set(PAGES) == functions
