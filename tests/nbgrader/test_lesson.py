"""A lesson in a notebook: every link leads somewhere, and nobody is sent to a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.course.course import Course, load_course
from grader.course.course_file import Unit
from grader.errors import CourseError
from grader.nbgrader.source_notebook import HOW_TO_CHECK, Lesson, notebook_lesson

ROOT = Path(__file__).resolve().parents[2]
REAL = load_course(ROOT)
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
COURSE = """
course: small
title: A small course
units:
  - {id: 01_first, title: First, exercises: [{id: relu_grad}], quiz: 1}
  - {id: 02_second, title: Second, exercises: [{id: mse_grad}]}
"""


@pytest.fixture
def small(tmp_path: Path) -> Course:
    (tmp_path / "course.yaml").write_text(COURSE)
    (tmp_path / "exercises" / "01_first" / "pictures").mkdir(parents=True)
    return load_course(tmp_path)


def lesson(course: Course, text: str) -> Lesson:
    (course.root / "exercises" / "01_first" / "README.md").write_text(text, encoding="utf-8")
    return notebook_lesson(course, course.config.units[0])


@pytest.mark.parametrize("unit", REAL.config.units, ids=lambda unit: unit.id)
def test_a_real_lesson_is_complete_and_has_no_terminal_commands(unit: Unit):
    text = notebook_lesson(REAL, unit).text
    written = (ROOT / "exercises" / unit.id / "README.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {int(unit.id[:2])}. ")
    assert text.count("\n## ") == written.count("\n## ")
    assert text.count("```pycon") == written.count("```pycon")
    assert text.endswith(HOW_TO_CHECK)
    assert not any(word in text for word in ("pytest", "handgrad", "README.md", ".py`", "Next: "))


def test_a_link_to_another_lesson_becomes_text(small: Course):
    """Students have the notebooks that they fetched, and a feedback page lies elsewhere."""
    text = lesson(small, "As in [unit\n2](../02_second/README.md#slopes), or [unit 1](README.md).").text
    assert text == "As in unit\n2, or unit 1."


@pytest.mark.parametrize("unit", REAL.config.units, ids=lambda unit: unit.id)
def test_every_link_of_a_released_lesson_leads_to_a_file_beside_it_or_to_the_web(unit: Unit):
    found = notebook_lesson(REAL, unit)
    targets = {target for _, target in LINK.findall(found.text) if not target.startswith("https://")}
    assert targets == {file.as_posix() for file in found.files}
    assert all((ROOT / "exercises" / unit.id / target).is_file() for target in targets)


def test_a_picture_of_the_unit_is_copied_and_other_links_become_text(small: Course):
    (small.root / "exercises" / "01_first" / "pictures" / "relu.png").write_bytes(b"png")
    (small.root / "secret.txt").write_text("not for a notebook")
    found = lesson(
        small,
        "![A kink](pictures/relu.png 'at 0') ![gone](gone.png) [secret](../../secret.txt) "
        "[web](https://example.org/a.png) [mail](mailto:a@example.org) [here](#top)",
    )
    assert found.text == (
        "![A kink](pictures/relu.png) gone secret "
        "[web](https://example.org/a.png) [mail](mailto:a@example.org) [here](#top)"
    )
    assert found.files == (Path("pictures/relu.png"),)


def test_a_link_to_a_stub_or_an_answer_sheet_becomes_text(small: Course):
    """A student would take the file beside the notebook for the place of the answer."""
    folder = small.root / "exercises" / "01_first"
    names = [exercise.name for exercise in small.exercises if exercise.unit == "01_first"]
    for name in (*names, "helper.py"):
        (folder / name).write_text("x = 1\n")
    found = lesson(small, " ".join(f"[{name}]({name})" for name in (*names, "helper.py")))
    assert found.files == (Path("helper.py"),)
    assert not any(f"]({name})" in found.text for name in names)


def test_only_a_block_of_commands_alone_is_replaced(small: Course):
    kept = "```\nout = inp\npytest_is_no_command = 1\n```\n\n```text\n   handgrad is named here\n```\n"
    text = lesson(small, f"{kept}\n```sh\npytest exercises/01_first/\n\nhandgrad check relu_grad\n```\n").text
    assert text == f"{kept}\n{HOW_TO_CHECK}"


def test_a_missing_lesson_is_named(small: Course):
    with pytest.raises(CourseError, match=r"exercises/01_first/README\.md cannot be read .*write the unit's lesson"):
        notebook_lesson(small, small.config.units[0])
