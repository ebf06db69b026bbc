"""Trainings in the tests: a course folder, what is written into it, and the run that comes of it."""

from __future__ import annotations

from collections.abc import Mapping

from grader.course.course import Course
from grader.learner.training import Training, load_training, train
from grader.results.records import AnswerResult, ExerciseResult
from grader.sandbox.worker import Worker

NETWORK, ATTENTION, ENGINE = "07_network", "12_attention", "13_engine"
WRONG: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    NETWORK: (
        ("forward_and_backward", "l1.g = (l1 > 0) * l2.g", "l1.g = (l1 <= 0) * l2.g"),
        ("forward_and_backward", "w1.g = inp.t() @ l1.g", "w1.g = inp.t() @ l1.g / len(inp)"),
        ("forward_and_backward", "out.g = 2 * diff / len(inp)", "out.g = 2 * diff"),
        ("forward_and_backward", "w2.g = l2.t() @ out.g", "w2.g = -l2.t() @ out.g"),
        ("forward_and_backward", "l2.g = out.g @ w2.t()", "l2.g = out.g.expand_as(l2)"),
    ),
    ATTENTION: (
        ("causal_attention_grad", "v.g = weights.mT @ out.g", "v.g = -(weights.mT @ out.g)"),
        ("swiglu_grad", "value_g = out.g * gate * share", "value_g = out.g"),
        ("cross_entropy_grad", "inp.g /= len(targ)", ""),
    ),
    ENGINE: (
        ("tensor_engine", "lambda g: (g * (self.data > 0),)", "lambda g: (g * (self.data <= 0),)"),
        ("tensor_engine", "parent.grad += unbroadcast", "parent.grad -= unbroadcast"),
        ("tensor_engine", "(g * other.data, g * self.data)", "(g * other.data, g * 0)"),
        ("tensor_engine", "return g.sum(copied, keepdim=True) if copied else g", "return g / 194"),
        ("tensor_engine", "self.data.t() @ g)", "self.data.t() @ g * 0)"),
    ),
}
"""By unit three or five wrong gradients: in the worked solution of an exercise, these words give way to those."""


def write_solutions(course: Course, unit: str, wrong: tuple[str, str, str] | None = None) -> list[str]:
    """Write the worked solutions that a training uses into the learner's files; the exercises that it uses.

    Args:
        wrong: an exercise, and which of its words give way to which.
    """
    names = list(load_training(course, unit).exercises)
    for exercise in map(course.find, names):
        text = exercise.solution.read_text(encoding="utf-8")
        if wrong is not None and wrong[0] == exercise.id:
            assert text.count(wrong[1]) == 1
            text = text.replace(*wrong[1:])
        exercise.path.write_text(text, encoding="utf-8")
    return names


def verdicts(course: Course, names: list[str], **statuses: str) -> list[ExerciseResult]:
    """Verdicts as a check would have given them, passed unless another status is given."""
    found = []
    for name in names:
        answer = AnswerResult("return", statuses.get(name, "passed"), 1, 1)  # type: ignore[arg-type]
        found.append(ExerciseResult(name, course.find(name).unit, (answer,)))
    return found


def trained(course: Course, unit: str, worker: Worker, wrong: tuple[str, str, str] | None = None) -> Training:
    """A training with the worked solutions, one of them wrong if it is said how."""
    names = write_solutions(course, unit, wrong)
    return train(course, unit, verdicts(course, names), worker)
