"""Grade right answers under many seeds; `python benchmarks/right_answers.py` does it from the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from grader.course.course import Course, CourseExercise
from grader.judging.grading import Grader
from grader.sandbox.worker import Worker
from helpers.corpus import BLIND, RIGHT
from helpers.courses import solution
from helpers.grading import codes


@dataclass(frozen=True)
class RightAnswer:
    """A right answer to an exercise: of the corpus, a worked solution, or written blind."""

    exercise: CourseExercise
    content: bytes


@dataclass(frozen=True)
class Deviation:
    """A right answer that was not simply passed, under one seed."""

    name: str
    seed: int
    outcome: str

    def __str__(self) -> str:
        return f"{self.name} [seed {self.seed}]: {self.outcome}"


def right_answers(course: Course) -> dict[str, RightAnswer]:
    """Return every right answer that there is, by name."""
    submissions = {
        name: RightAnswer(course.find(submission.exercise), submission.source.encode())
        for name, submission in (RIGHT | BLIND).items()
    }
    worked = (exercise for exercise in course.exercises if not exercise.is_quiz)
    solutions = {f"solutions/{each.id}": RightAnswer(each, solution(course, each.id)) for each in worked}
    return submissions | solutions


def deviations(answers: Mapping[str, RightAnswer], seeds: Iterable[int], worker: Worker) -> Iterator[Deviation]:
    """Grade every answer under each seed, and yield those that are flagged, fail or end in an error."""
    for seed in seeds:
        grader = Grader(seed)
        for name, answer in answers.items():
            result = grader.grade(answer.exercise, answer.content, worker)
            if result.status != "passed" or result.flags:
                says = [f"{each.name}: {each.code}: {each.message}" for each in result.answers if each.code is not None]
                yield Deviation(name, seed, f"{result.status} {codes(result)} {says} {list(result.flags)}")
