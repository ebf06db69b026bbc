"""The lessons' examples print what they say, each lesson has its parts, and each worked solution says why."""

from __future__ import annotations

import ast
import builtins
import doctest
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.courses import ROOT

from grader.authoring.build import read_worked
from grader.course.course import CourseExercise, load_course

LESSONS = sorted((ROOT / "exercises").glob("*/README.md"))
EXERCISES = [exercise for exercise in load_course(ROOT).exercises if not exercise.is_quiz]
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.parent.name)
# What the course has another word for: numerator and denominator, upstream gradient, path and contribution.
OTHER_WORDS = re.compile(
    r"(above|below|under) (the|its|every|each) (own )?line\b|\b(comes?|sent|sends?) back\b|slope that arrives"
    r"|\blet through\b|\bblocked\b|\bopen gate"
)


NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.])")


class SameMeaning(doctest.OutputChecker):
    """Takes what an example prints for what the lesson shows if it says the same.

    Releases of torch and numpy put other blanks into their arrays, and round the last digit otherwise.
    """

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Whether the text around the numbers is the same, blanks aside, and each number up to its last digit."""
        if super().check_output(want, got, optionflags | doctest.NORMALIZE_WHITESPACE):
            return True
        (words, numbers), (other_words, other_numbers) = _parts(want), _parts(got)
        same_text = super().check_output(words, other_words, optionflags)
        return same_text and len(numbers) == len(other_numbers) and all(map(_agree, numbers, other_numbers))


def _parts(text: str) -> tuple[str, list[str]]:
    """A text without its blanks and with a mark for each number; and its numbers."""
    return "".join(NUMBER.sub("#", text).split()) + "\n", NUMBER.findall(text)


def _agree(number: str, other: str) -> bool:
    """Whether two numbers are one, as far as the one with fewer digits goes; whole numbers are exact."""
    steps = [_last_digit(each) for each in (number, other) if "." in each or "e" in each.lower()]
    return abs(float(number) - float(other)) <= 1.01 * max(steps, default=0.0)


def _last_digit(number: str) -> float:
    """What one more in the last digit of a number is."""
    digits, _, exponent = number.lower().partition("e")
    return float(10.0 ** (int(exponent or 0) - len(digits.partition(".")[2])))


@each_lesson
def test_the_examples_of_a_lesson_print_what_it_says(lesson: Path) -> None:
    examples = doctest.DocTestParser().get_doctest(lesson.read_text("utf-8"), {}, lesson.parent.name, str(lesson), 0)
    runner = doctest.DocTestRunner(SameMeaning(), optionflags=doctest.ELLIPSIS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one lesson shows what PyTorch warns of
        result = runner.run(examples)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(
    ("want", "got", "is_same"),
    [
        ("tensor([1.0000, -0.5000])", "tensor([ 1.0000, -0.5000])", True),
        ("0.4313", "0.4314", True),
        ("0.4313", "0.4315", False),
        ("0.43", "0.4313", True),
        ("1.19e-07", "1.20e-07", True),
        ("1.19e-07", "1.19e-06", False),
        ("torch.Size([2, 3])", "torch.Size([2, 4])", False),
        ("tensor([1.0000])", "array([1.0000])", False),
        ("tensor([1., 2.])", "tensor([1., 2., 3.])", False),
        ("tensor(2., dtype=torch.float64)", "tensor(2., dtype=torch.float32)", False),
        ("a 0.5 ... z", "a 0.50 b c z", True),
        ("np.float64(0.5)", "0.5", False),
    ],
)
def test_what_an_example_prints_is_compared_in_meaning(want: str, got: str, is_same: bool) -> None:
    assert SameMeaning().check_output(f"{want}\n", f"{got}\n", doctest.ELLIPSIS) == is_same


@each_lesson
def test_a_lesson_ends_with_where_it_is_met_and_its_exercises(lesson: Path) -> None:
    """What is shown there is run, like any example."""
    text = lesson.read_text("utf-8")
    assert re.findall(r"^## (.*)", text, re.MULTILINE)[-2:] == ["Where you meet this", "Exercises"]
    assert "```pycon" in text.partition("\n## Where you meet this\n")[2]


@each_lesson
def test_a_lesson_has_a_picture(lesson: Path) -> None:
    assert list(lesson.parent.glob("*.svg"))


@each_lesson
def test_a_lesson_speaks_in_the_words_of_the_course(lesson: Path) -> None:
    assert [found[0] for found in OTHER_WORDS.finditer(" ".join(lesson.read_text("utf-8").split()))] == []


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_a_worked_solution_begins_with_why_and_a_stub_does_not_tell(exercise: CourseExercise) -> None:
    worked = read_worked(exercise)
    why = worked.lines[worked.begin].strip()
    assert why.startswith("# ")
    assert len(why.split()) >= 6
    assert why.endswith(".")
    assert why not in exercise.path.read_text("utf-8")


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_what_a_worked_solution_is_written_with_has_been_shown(exercise: CourseExercise) -> None:
    """By a lesson up to that of its unit, or by its own stub: a name that nobody has shown, nobody can write."""
    lessons = [lesson for lesson in LESSONS if lesson.parent.name <= exercise.unit]
    shown = " ".join(file.read_text("utf-8") for file in (*lessons, exercise.path))
    assert [name for name in _names(read_worked(exercise).function) if not re.search(rf"\b{name}\b", shown)] == []


def _names(function: ast.FunctionDef) -> Iterator[str]:
    """The functions, methods and attributes that are used, and the keywords they are called with."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not hasattr(builtins, node.func.id):
            yield node.func.id
