"""The lessons' examples print what they say, each lesson has its parts, and each worked solution says why."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.courses import ROOT
from markdown_it import MarkdownIt

from grader.authoring.audit import example_problems
from grader.authoring.build import read_worked
from grader.course.course import CourseExercise, load_course

LESSONS = sorted((ROOT / "exercises").glob("*/README.md"))
EXERCISES = [exercise for exercise in load_course(ROOT).exercises if not exercise.is_quiz]
WIDEST_CODE = 76  # columns
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.parent.name)
# What the course has another word for: numerator and denominator, upstream gradient, path and contribution.
OTHER_WORDS = re.compile(
    r"(above|below|under) (the|its|every|each) (own )?line\b|\b(comes?|sent|sends?) back\b|slope that arrives"
    r"|\blet through\b|\bblocked\b|\bopen gate"
)


@each_lesson
def test_the_examples_of_a_lesson_print_what_it_says(lesson: Path) -> None:
    assert ">>> " in lesson.read_text("utf-8")
    assert list(example_problems(lesson)) == []


@each_lesson
def test_a_lesson_ends_with_where_it_is_met_and_its_exercises(lesson: Path) -> None:
    """What is shown there is run, like any example."""
    text = lesson.read_text("utf-8")
    assert re.findall(r"^## (.*)", text, re.MULTILINE)[-2:] == ["Where you meet this", "Exercises"]
    assert "```pycon" in text.partition("\n## Where you meet this\n")[2]


@each_lesson
def test_code_and_what_it_prints_fit_a_narrow_terminal_and_a_page(lesson: Path) -> None:
    blocks = re.findall(r"^```\w*\n(.*?)^```", lesson.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert [line for block in blocks for line in block.splitlines() if len(line) > WIDEST_CODE] == []


@each_lesson
def test_comments_beside_code_stand_below_each_other(lesson: Path) -> None:
    """They begin two blanks behind the longest of their lines; if that is too wide, behind each line."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", lesson.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for block in blocks:
        beside = re.findall(r"^((?!(?:>>>|\.\.\.)?\s*#).*?\S)\s+(# .*)$", block, re.MULTILINE)
        width = max((len(code) for code, _ in beside), default=0)
        fits = width + 2 + max((len(comment) for _, comment in beside), default=0) <= WIDEST_CODE
        for code, comment in beside:
            assert f"{code:{width if fits else 0}}  {comment}\n" in block


@each_lesson
def test_no_line_of_a_paragraph_is_taken_for_a_list(lesson: Path) -> None:
    """A line that happens to begin with `1.` or `+` begins a list, which has no empty line before it then."""
    tokens = MarkdownIt("commonmark").enable("table").parse(lesson.read_text("utf-8"))
    ends = {token.map[1] for token in tokens if token.type == "paragraph_open" and token.level == 0 and token.map}
    begins = [token.map[0] for token in tokens if token.type.endswith("_list_open") and token.level == 0 and token.map]
    assert [line + 1 for line in begins if line in ends] == []


@each_lesson
def test_no_power_of_a_lesson_is_taken_for_bold_letters(lesson: Path) -> None:
    bold = {"strong_open": "[bold]", "softbreak": " "}
    tokens = MarkdownIt("commonmark").enable("table").parse(lesson.read_text("utf-8"))
    texts = ["".join(bold.get(part.type, part.content) for part in token.children or ()) for token in tokens]
    assert [text for text in texts if re.search(r"\w\[bold\]", text)] == []


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
