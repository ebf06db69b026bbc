"""A submission that is lost with its grading process says so, and no other one notices."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from helpers.courses import solution, with_policy
from helpers.grading import codes

from grader.course.course import Course
from grader.diagnosis.mistake import Mistake
from grader.judging import grading_pool
from grader.judging.grading import Grader
from grader.judging.grading_pool import GradingPool
from grader.judging.judge import Judge
from grader.results.records import ExerciseResult
from grader.sandbox.source_text import Part
from grader.sandbox.worker import Worker

LIMIT = 1.5
NAME = "lin_grad"
HOSTILE = b"# the grading process is to blame\n"


def burn() -> None:
    """As a source that Python reads in time that grows with the square of its length: no signal handler is asked."""
    pow(3, 10**9)


def bloat() -> None:
    held = []
    while True:
        held.append(np.empty(64 << 20, dtype=np.uint8))


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def freeze() -> None:
    time.sleep(1000)


def leave() -> None:
    os._exit(0)


def fail() -> None:
    raise ZeroDivisionError("division by zero")


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Have whatever judges a hostile submission do something first, in its grading process."""

    def let(happen: Callable[[], None]) -> None:
        grade = Grader.grade

        def attacked(self: Grader, exercise: object, content: bytes, *rest: object, **more: object) -> ExerciseResult:
            if content.startswith(HOSTILE):
                happen()
            return grade(self, exercise, content, *rest, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(Grader, "grade", attacked)

    return let


def graded(course: Course, *students: list[Part]) -> dict[int, list[ExerciseResult]]:
    """The results of a class that one process grades, by the number of the student."""
    with GradingPool(with_policy(course, time_limit=LIMIT), "none", 1, seed=1) as pool:
        pool.prepare([course.find(NAME), course.find("tanh_grad")])
        return {found.key: found.results for found in pool.grade(enumerate(students)) if found is not None}


def a_class(course: Course) -> list[list[Part]]:
    honest = [Part(NAME, solution(course, NAME)), Part("tanh_grad", solution(course, "tanh_grad"))]
    return [honest, honest, [Part(NAME, HOSTILE), honest[1]], honest, honest, honest]


def attack(happen: Callable[[], None], status: str, says: str, course: Course, hostile: Callable[..., None]) -> None:
    """One submission of a class loses its grading process: that exercise says so, and all others are graded."""
    hostile(happen)
    results = graded(course, *a_class(course))
    attacked, after = results.pop(2)
    assert attacked.status == status
    assert attacked.answers[0].message.startswith(says)
    assert after.status == "passed"
    assert len(results) == 5
    assert {result.status for found in results.values() for result in found} == {"passed"}


@pytest.mark.usefixtures("warm_pool")
def test_who_loses_the_grading_process_loses_that_exercise_alone(course: Course, hostile: Callable[..., None]) -> None:
    """By SIGKILL; `thorough/test_every_loss.py` has every other way."""
    attack(kill, "error", "the grading process was lost (it ended with -9)", course, hostile)


def lose_the_search(happen: Callable[[], None], why: str, course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that right answers keep their points, and that wrong ones have their facts, where every search is lost."""
    causes = Judge._causes
    monkeypatch.setattr(grading_pool, "SEARCH_TIME", 1.5)

    def lost(self: Judge, failures: Mapping[str, Mistake | None]) -> dict[str, Mistake | None]:
        if self.source.cells[0].startswith(HOSTILE.decode()):
            happen()
        return causes(self, failures)

    monkeypatch.setattr(Judge, "_causes", lost)
    wrong = HOSTILE + solution(course, NAME).replace(b"out.g.sum(0)", b"out.g.mean(0)")
    honest = Part("tanh_grad", solution(course, "tanh_grad"))
    results = graded(course, [Part(NAME, wrong), honest], [honest])
    found, after = results[0]
    assert codes(found) == {"inp.g": None, "w.g": None, "b.g": "unknown"}
    assert found.status == "failed"
    assert found.score == pytest.approx(found.max_score * 2 / 3)
    assert found.answers[2].message.startswith("all 7 entries are wrong")
    assert any(why in note for note in found.notes), found.notes
    assert after.status == results[1][0].status == "passed"


@pytest.mark.usefixtures("warm_pool")
def test_results_are_what_the_grader_itself_says(course: Course, grade: Callable[..., ExerciseResult]) -> None:
    """Notes and what was printed come along, and those who hand in nothing wait for nobody."""
    wrong = "print('hello')\n" + solution(course, NAME).decode().replace("out.g.sum(0)", "out.g.mean(0)")
    results = graded(course, [], [Part(NAME, wrong.encode())], [])
    assert results[0] == results[2] == []
    (found,) = results[1]
    alone = grade(NAME, wrong)
    assert codes(found) == codes(alone)
    assert found.printed == alone.printed == "hello\n"


SPOILS = """
import torch

torch.Tensor.sum = lambda *args, **kwargs: torch.zeros(())
torch.Tensor.__matmul__ = lambda *args: args[0]


def relu_grad(inp, out):
    inp.g = out.g * (inp > 0)
"""


def test_one_exercise_cannot_spoil_another(course: Course, worker: Worker) -> None:
    """They share a child where all goes well; what is not plainly right is asked again, alone."""
    grader = Grader(1)
    right = Part(NAME, solution(course, NAME))
    sharing = grader.together(course, [Part("relu_grad", SPOILS.encode()), right], worker)
    together = sharing.results_of(sharing.run())
    assert NAME not in together
    assert grader.grade(course.find(NAME), right.content, worker).status == "passed"


def test_what_is_all_right_takes_one_child(course: Course, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["tanh_grad", NAME, "lin_grad_accumulate"]
    run, jobs = type(worker).run, []
    monkeypatch.setattr(type(worker), "run", lambda self, *job: jobs.append(job) or run(self, *job))
    sharing = Grader(1).together(course, [Part(name, solution(course, name)) for name in names], worker)
    passed = sharing.results_of(sharing.run())
    assert [passed[name].status for name in names] == ["passed"] * 3
    assert len(jobs) == 1
