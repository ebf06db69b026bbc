"""What the engine names by itself, once no exercise declares a misconception."""

from __future__ import annotations

from helpers.corpus import NAMED, SUBMISSIONS, graded_codes, without_misconceptions
from helpers.courses import SEED

from grader.course.course import Course
from grader.course.exercise import Exercise
from grader.diagnosis.quotients import offsets_of_right
from grader.judging.grading import Grader
from grader.sandbox.worker import Worker

WITHOUT_MISCONCEPTIONS = 0.85


def test_most_mistakes_are_named_without_declared_misconceptions(course: Course, worker: Worker) -> None:
    """The forward graph and generic relations alone still name at least 85 % of the wrong numbers.

    Asked where it is hardest, of every second submission to the exercises that declare a misconception: the others are
    named by these alone. What neither has a forward pass nor is a difference quotient, nobody but its author can know
    the mistakes of.
    """
    bare, grader = without_misconceptions(course), Grader(SEED)
    named, missed = 0, []
    declaring = {
        each.id for each in course.exercises
        if not each.is_quiz and each.function.misconceptions
        and (isinstance(each.function, Exercise) or offsets_of_right(grader.trials(each).judged_trials[0]))
    }  # fmt: skip
    asked = [name for name, wrong in SUBMISSIONS.items() if wrong.exercise in declaring]
    for name in asked[::2]:
        wrong = SUBMISSIONS[name]
        if not any(allowed <= NAMED for allowed in wrong.expected.values()):
            continue
        for answer, code in graded_codes(wrong, bare, grader, worker).items():
            allowed = wrong.allowed(answer)
            if not allowed or not allowed <= NAMED:
                continue
            named += code in allowed
            missed += [f"{name} | {answer}: {code}, not {' or '.join(sorted(allowed))}"] if code not in allowed else []
    share = named / (named + len(missed))
    print("\n".join(missed))
    print(f"without declared misconceptions: {named} of {named + len(missed)} wrong answers named ({share:.1%})")
    assert share >= WITHOUT_MISCONCEPTIONS
