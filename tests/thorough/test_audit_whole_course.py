"""The author's audit of the real course."""

from __future__ import annotations

from test_audit import ROOT, SEED

from grader.authoring.audit import audit
from grader.course import load_course
from grader.judging.grading import Grader
from grader.sandbox.worker import Worker


def test_the_real_course_is_sound(worker: Worker):
    seen: list[str] = []
    course = load_course(ROOT)
    assert audit(course, Grader(SEED), worker, lambda exercise: seen.append(exercise.id)) == []
    assert seen == [exercise.id for exercise in course.exercises]
