"""What an exercise asks, in one line: the forward pass as its author wrote it, and shapes with axis names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.course.course import Course, load_course
from grader.learner import workspace
from grader.rendering.exercise_summary import describe_answer, formula

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def course() -> Course:
    return load_course(ROOT)


@pytest.mark.parametrize(
    ("exercise_id", "expected"),
    [
        ("lin_grad", "out = inp @ w + b"),
        ("linear_grad", "out = inp @ weight.t() + bias"),
        ("bmm_grad", "out = a @ b"),
        ("mse_grad", "(inp.squeeze(-1) - targ).pow(2).mean()"),
    ],
)
def test_the_forward_pass_is_shown_as_its_author_wrote_it(course: Course, exercise_id: str, expected: str) -> None:
    assert formula(course.find(exercise_id)) == expected


def test_the_last_of_several_named_steps_is_shown(course: Course) -> None:
    exercise = course.find("batchnorm_steps_grad")
    answer = next(answer for answer in exercise.function.answers if answer.name == "inv.g")
    assert formula(exercise) == "out = gamma * hat + beta"
    assert describe_answer(exercise, answer) == (
        "inv.g, the gradient of the loss, shape (n,), for out = gamma * hat + beta"
    )


def test_a_routine_is_shown_by_its_title(course: Course) -> None:
    exercise = course.find("slope")
    assert formula(exercise) == exercise.declaration.title


def test_a_forward_pass_that_is_no_lambda_is_shown_by_its_first_docstring_line(course: Course) -> None:
    text = formula(course.find("forward_and_backward"))
    assert text
    assert "\n" not in text
    assert not text.endswith(".")


def test_no_line_breaks_off(course: Course) -> None:
    texts = [formula(exercise) for exercise in course.exercises if not exercise.is_quiz]
    assert [text for text in texts if not re.search(r"[\w)\]`]$", text) or "..." in text] == []


@pytest.mark.parametrize(
    ("exercise_id", "answer", "expected"),
    [
        ("lin_grad", "w.g", "w.g, the gradient of the loss, shape (n, m), for out = inp @ w + b"),
        ("lin_grad", "b.g", "b.g, the gradient of the loss, shape (m,), for out = inp @ w + b"),
        ("lin_grad_nd", "inp.g", "inp.g, the gradient of the loss, shape (bs, t, n), for out = inp @ w + b"),
        ("slope", "return", "slope(f, x, h): The slope by a forward difference"),
    ],
)
def test_an_answer_is_described_with_its_name_and_shape(
    course: Course, exercise_id: str, answer: str, expected: str
) -> None:
    exercise = course.find(exercise_id)
    assert describe_answer(exercise, next(a for a in exercise.declaration.answers if a.name == answer)) == expected


def test_every_answer_of_the_course_is_described_in_one_line(course: Course) -> None:
    for exercise in course.exercises:
        for answer in exercise.declaration.answers:
            text = describe_answer(exercise, answer)
            assert "\n" not in text
            assert "lambda" not in text
            assert answer.wrt in text, exercise.id
            if exercise.is_quiz:
                continue
            if answer.kind == "jacobian":
                assert text.startswith("the Jacobian of ")
            if answer.kind == "value" and not text.startswith(exercise.id):
                assert text.startswith("the function returns the value of ")


def test_a_wildcard_shape_is_the_shape_of_its_owner(course: Course) -> None:
    exercise = course.find("relu_grad")
    assert "shaped like inp" in describe_answer(exercise, exercise.declaration.answers[0])


def test_a_workspace_without_solutions_describes_answers_alike(course: Course, tmp_path: Path) -> None:
    mine = workspace.init(tmp_path / "ws")
    assert [formula(exercise) for exercise in mine.exercises] == [formula(exercise) for exercise in course.exercises]


def test_a_formula_names_nothing_private_to_the_declaration(course: Course) -> None:
    """A number has its value; a function of the author's own is spoken of by the exercise's title."""
    exercises = [exercise for exercise in course.exercises if not exercise.is_quiz]
    assert not [exercise.id for exercise in exercises if re.search(r"(?<!\w)_\w", formula(exercise))]
    assert "+ 1e-5" in formula(course.find("rmsnorm_grad"))
    assert formula(course.find("rnn_grad")) == course.find("rnn_grad").function.title
