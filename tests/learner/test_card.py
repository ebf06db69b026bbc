"""The card of a unit: what was solved, and which mistakes were met and overcome, as text and as a picture."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from xml.dom import minidom

import pytest
import torch
from test_session import RIGHT

from grader.cli.learner import card
from grader.course.course import Course, CourseExercise
from grader.errors import UsageError
from grader.learner.card import (
    Card,
    CardMistake,
    card_lines,
    card_of,
    card_svg,
    certificate_lines,
    certificate_page,
    certificate_svg,
    exercises_by_code,
)
from grader.learner.progress import Progress, file_hash
from grader.learner.training import Curve, Training
from grader.learner.training_view import svg_of
from grader.results.records import AnswerResult, ExerciseResult

DAY = date(2026, 1, 31)


@pytest.fixture
def course(tmp_path: Path, new_workspace: Callable[..., Course]) -> Course:
    return new_workspace(tmp_path / "ws", before="08_shapes")


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
    assert (card.solved, card.mistakes, card.exercises) == ((), (), 7)
    assert "0 of 7 exercises solved, 0 of 20 answers, quiz 0 of 19" in _text(card)
    assert "No mistake was met here." in _text(card)


def test_a_mistake_is_overcome_once_the_answer_is_right(course: Course) -> None:
    progress, exercise = Progress.load(course.root), course.find("lin_grad")
    progress.record(exercise, _verdict(exercise, w_g="mean-for-sum", b_g="transposed"))
    progress.record(exercise, _verdict(exercise, b_g="transposed"))
    progress.save()
    card = card_of(course, Progress.load(course.root), "04_linear")
    assert card.mistakes == (
        CardMistake("mean-for-sum", "lin_grad", True),
        CardMistake("transposed", "lin_grad", False),
    )
    assert _text(card).index("Met and overcome:") < _text(card).index("Met, not yet overcome:")


def test_what_is_solved_is_named_in_the_text_and_in_the_picture(course: Course) -> None:
    progress, exercise = Progress.load(course.root), course.find("lin_grad")
    progress.record(exercise, _verdict(exercise, w_g="mean-for-sum"))
    exercise.path.write_text(RIGHT)
    progress.record(exercise, _verdict(exercise))
    card = card_of(course, progress, "04_linear")
    assert (card.solved, [each.is_overcome for each in card.mistakes]) == (("lin_grad",), [True])
    words = [node.firstChild.data for node in minidom.parseString(card_svg(card)).getElementsByTagName("text")
             if node.firstChild]  # fmt: skip
    assert {
        "1 of 7 exercises solved, 3 of 20 answers, quiz 0 of 19",
        "lin_grad",
        "Met and overcome",
        "\N{CHECK MARK} mean-for-sum",
    } <= {*words}
    assert card_of(course, progress, "05_activations").mistakes == ()
    assert str(course.root) not in card_svg(card)


def test_the_certificate_has_every_unit_and_counts_mistakes_as_the_cards_do(course: Course) -> None:
    progress = Progress.load(course.root)
    lin_grad, linear_grad, relu_grad = map(course.find, ("lin_grad", "linear_grad", "relu_grad"))
    progress.record(lin_grad, _verdict(lin_grad, w_g="mean-for-sum", b_g="transposed"))
    progress.record(linear_grad, _verdict(linear_grad, bias_g="transposed"))
    progress.record(relu_grad, _verdict(relu_grad, inp_g="transposed"))
    progress.record(lin_grad, _verdict(lin_grad))
    cards = [card_of(course, progress, unit.id) for unit in course.config.units]
    (own,) = (card for card in cards if card.unit == "04_linear")
    assert exercises_by_code(own.mistakes, is_overcome=True) == {
        "mean-for-sum": ["lin_grad"],
        "transposed": ["lin_grad"],
    }
    assert exercises_by_code(own.mistakes, is_overcome=False) == {"transposed": ["linear_grad"]}
    page = certificate_page(cards, {}, DAY)
    labels = ("overcome in", "not yet overcome in")  # which a phone has in place of the head of the table
    cells = "".join(f'<td data-label="{label}">([^<]*)</td>' for label in labels)
    rows = re.findall(f"<code>([^<]*)</code>.*?</th>{cells}", page)
    assert "[data-label]:not(:empty)::before { content: attr(data-label)" in page
    assert rows == [("transposed", "lin_grad", "linear_grad, relu_grad"), ("mean-for-sum", "lin_grad", "")]
    text = "\n".join("".join(part for part, _ in line) for line in certificate_lines(cards))
    assert f"1 of {sum(card.exercises for card in cards)} exercises solved" in text
    assert "mistakes met: 4, overcome: 2" in text
    picture = certificate_svg(cards, DAY)
    words = [node.firstChild.data for node in minidom.parseString(picture).getElementsByTagName("text")]  # type: ignore[union-attr]
    assert [word[:2] for word in words if word[:2].isdigit() and "  " in word] == [card.unit[:2] for card in cards]
    assert DAY.isoformat() in words


def test_the_certificate_page_is_a_document_with_the_curves_that_were_drawn(course: Course) -> None:
    progress = Progress.load(course.root)
    cards = [card_of(course, progress, unit.id) for unit in course.config.units]
    curves = {"07_network": "<?xml version='1.0'?>\n<svg><text>a curve</text></svg>"}
    page = certificate_page(cards, curves, DAY, "Ada <b> Lovelace")
    assert "default-src 'none'" in page
    assert [
        base64.b64decode(data).decode() for data in re.findall('src="data:image/svg.xml;base64,([^"]*)"', page)
    ] == ["<svg><text>a curve</text></svg>"]
    text = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", page.partition("<body")[2]))
    for words in (
        "Certificate Ada &lt;b&gt; Lovelace 0 of", "31 January 2026", "Slopes 0 of 5", "Losses 0 of 14",
        "Trained with these gradients (blue, thin) and with torch's (orange, wide), on a logarithmic scale: "
        "A whole network", "Nothing yet.", "None was met.",
    ):  # fmt: skip
        assert words in text
    assert "<?xml" not in page
    assert page.count("<h1>") == 1


def test_a_certificate_without_a_name_has_a_line_for_it_and_without_a_training_no_curve(course: Course) -> None:
    cards = [card_of(course, Progress.load(course.root), unit.id) for unit in course.config.units]
    page = certificate_page(cards, {}, DAY)
    assert '<p class="name"><small>name</small></p>' in page
    assert "<img" not in page
    assert "Trained with" not in page


def test_the_picture_of_a_training_stands_on_the_certificate_without_the_plane(course: Course) -> None:
    cards = [card_of(course, Progress.load(course.root), unit.id) for unit in course.config.units]
    model = SimpleNamespace(title="A model", goal=0.5, steps=2)
    curve = Curve(torch.tensor([[math.nan]]), [2.0, 1.0])
    drawn = svg_of(Training("07_network", model, (), (), {}, curve, curve))  # type: ignore[arg-type]
    assert 'width="900"' in drawn
    page = certificate_page(cards, {"07_network": drawn}, DAY)
    (shown,) = re.findall('src="data:image/svg.xml;base64,([^"]*)"', page)
    small = base64.b64decode(shown).decode()
    assert 'width="900"' not in small
    assert "A whole network: loss 1" in page
    words = [node.firstChild.data for node in minidom.parseString(small).getElementsByTagName("text")]  # type: ignore[union-attr]
    assert words == ["0.5", "1", "2", "goal 0.5", "0", "2 steps"]
    assert ".small { font-size: 20px; }" in small


def test_a_name_is_for_the_certificate_of_the_course(course: Course, monkeypatch, capsys) -> None:
    monkeypatch.chdir(course.root)
    with pytest.raises(UsageError, match="handgrad card all --name"):
        card("04_linear", name="Ada")
    card("all", name="Ada")
    assert '<p class="name">Ada</p>' in (course.root / ".handgrad/certificate.html").read_text()
    assert "Ada" not in capsys.readouterr().out + (course.root / ".handgrad/certificate.svg").read_text()


def test_the_command_writes_the_certificate_beside_the_curves(course: Course, monkeypatch, capsys) -> None:
    monkeypatch.chdir(course.root)
    (course.root / ".handgrad").mkdir(exist_ok=True)
    (course.root / ".handgrad/train_07_network.svg").write_text("<svg><text>a curve</text></svg>")
    card("all")
    said = capsys.readouterr().out
    assert "01_slopes  0 of 5" in said
    curve = base64.b64encode(b"<svg><text>a curve</text></svg>").decode()
    assert curve in (course.root / ".handgrad/certificate.html").read_text()
    assert (course.root / ".handgrad/certificate.svg").read_text().startswith("<svg")
