"""What the engine names by itself, once no exercise declares a misconception."""

from __future__ import annotations

from conftest import SEED
from corpus import NAMED, SUBMISSIONS, found_codes, without_misconceptions

from grader.course import Course
from grader.exercise import Exercise
from grader.judging.grading import Grader
from grader.sandbox.worker import Worker

WITHOUT_MISCONCEPTIONS = 0.9


def test_most_mistakes_are_named_without_declared_misconceptions(course: Course, worker: Worker) -> None:
    """The forward graph and generic relations alone still name at least 90 % of the wrong numbers.

    Asked where it is hardest, of the exercises that declare a misconception: the others are named by these alone. A
    routine has no forward graph: what can go wrong in it, only its author knows.
    """
    bare, grader = without_misconceptions(course), Grader(SEED)
    named, missed = 0, []
    functions = {each.id: each.function for each in course.exercises if not each.is_quiz}
    declaring = {name for name, each in functions.items() if isinstance(each, Exercise) and each.misconceptions}
    for name, wrong in SUBMISSIONS.items():
        if wrong.exercise not in declaring or not any(allowed <= NAMED for allowed in wrong.expected.values()):
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
