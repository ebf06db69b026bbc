"""The card of a unit: what was solved, and which mistakes were met and overcome, as text and as a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.dom import minidom

import pytest
from test_session import RIGHT

from grader.course import Course, CourseExercise
from grader.learner.card import Card, Met, card_lines, card_of, card_svg
from grader.learner.progress import Progress, file_hash
from grader.results import AnswerResult, ExerciseResult


@pytest.fixture
def course(tmp_path: Path, new_workspace: Callable[[Path], Course]) -> Course:
    return new_workspace(tmp_path / "ws")


def _verdict(exercise: CourseExercise, **codes: str) -> ExerciseResult:
    """A verdict on the file as it is: the answers that are named are wrong, and so called."""
    answers = []
    for answer in exercise.declaration.answers:
        code = codes.get(answer.name.replace(".", "_"))
        answers.append(AnswerResult(answer.name, "failed" if code else "passed", not code, 1, code))
    return ExerciseResult(exercise.id, exercise.unit, tuple(answers), made_from=file_hash(exercise.path))


def _text(card: Card) -> str:
    return "\n".join("".join(text for text, _ in line) for line in card_lines(card))


def test_a_new_folder_has_a_card_without_mistakes(course: Course) -> None:
    card = card_of(course, Progress.load(course.root), "04_linear")
    assert (card.solved, card.met, card.exercises) == ((), (), 7)
    assert "0 of 7 exercises solved, 0 of 20 answers, quiz 0 of 19" in _text(card)
    assert "No mistake was met here." in _text(card)


def test_a_mistake_is_overcome_once_the_answer_is_right(course: Course) -> None:
    progress, exercise = Progress.load(course.root), course.find("lin_grad")
    progress.record(exercise, _verdict(exercise, w_g="mean-for-sum", b_g="transposed"))
    progress.record(exercise, _verdict(exercise, b_g="transposed"))
    progress.save()
    card = card_of(course, Progress.load(course.root), "04_linear")
    assert card.met == (Met("mean-for-sum", ("lin_grad",), True), Met("transposed", ("lin_grad",), False))
    assert _text(card).index("Met and overcome:") < _text(card).index("Met, not yet overcome:")


def test_what_is_solved_is_named_in_the_text_and_in_the_picture(course: Course) -> None:
    progress, exercise = Progress.load(course.root), course.find("lin_grad")
    progress.record(exercise, _verdict(exercise, w_g="mean-for-sum"))
    exercise.path.write_text(RIGHT)
    progress.record(exercise, _verdict(exercise))
    card = card_of(course, progress, "04_linear")
    assert (card.solved, [each.overcome for each in card.met]) == (("lin_grad",), [True])
    words = [node.firstChild.data for node in minidom.parseString(card_svg(card)).getElementsByTagName("text")
             if node.firstChild]  # fmt: skip
    assert {
        "1 of 7 exercises solved, 3 of 20 answers, quiz 0 of 19",
        "lin_grad",
        "Met and overcome",
        "mean-for-sum",
    } <= {*words}
    assert card_of(course, progress, "05_activations").met == ()
    assert str(course.root) not in card_svg(card)
