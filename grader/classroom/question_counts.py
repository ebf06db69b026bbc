"""What a class makes of one question of a quiz: its wrong answers, and whether the strong know better."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from grader.results.records import AnswerResult, ExerciseResult

from .graded_exercise import UNREAD

NOT_IT = " is not it. "
FEWEST = 10


@dataclass
class QuestionCounts:
    """Running sums over the students who answered any question of the quiz.

    Args:
        given: how often each wrong answer was given.
        students: how many students there are whose answer could be read.
        right: how many of them have this question right.
        rest: how many other questions they have right, added up; `rest_squared` the squares of that.
        both: `rest` of those who have this question right.
    """

    given: Counter[str] = field(default_factory=Counter)
    students: int = 0
    right: int = 0
    rest: int = 0
    rest_squared: int = 0
    both: int = 0

    def add(self, answer: AnswerResult, rest: int) -> None:
        """Count one student, who has `rest` of the other questions right; what cannot be read tells nothing."""
        if answer.status == "failed" and answer.code in UNREAD:
            return
        self.students += 1
        self.rest += rest
        self.rest_squared += rest * rest
        if answer.status == "passed":
            self.right += 1
            self.both += rest
        elif answer.status == "failed":
            given, is_it, _ = answer.message.partition(NOT_IT)
            self.given[given if is_it else answer.code or ""] += 1

    @property
    def separation(self) -> float | None:
        """How well it separates strong from weak: the correlation between having it right and the rest of the quiz.

        The item-rest correlation, from -1 to 1; `None` for fewer than ten students, or where all are alike.
        """
        n = self.students
        spread = (n * self.right - self.right**2) * (n * self.rest_squared - self.rest**2)
        if n < FEWEST or spread <= 0:
            return None
        return (n * self.both - self.right * self.rest) / math.sqrt(spread)


def count_questions(counts: dict[str, QuestionCounts], quiz: ExerciseResult) -> None:
    """Count one student's quiz, unless nothing in it was answered, or it could not be graded."""
    if quiz.status == "error" or all(answer.status == "todo" for answer in quiz.answers):
        return
    right = sum(answer.status == "passed" for answer in quiz.answers)
    for answer in quiz.answers:
        counts.setdefault(answer.name, QuestionCounts()).add(answer, right - (answer.status == "passed"))
