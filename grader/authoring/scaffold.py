"""Writes what a new course and a new exercise begin with: declaration, solution, a page of submissions, lesson, wheel.

What is written is a whole exercise, of `out = inp**2`, that can be built and audited before a word of it is changed.
"""

from __future__ import annotations

import ast
import keyword
import re
from pathlib import Path
from typing import Any

import yaml

from grader import INSTALL, __version__
from grader.course.course import COURSE_FILE, Course, load_course
from grader.errors import UsageError
from grader.files import write_atomically

from .build import PYTEST_OPTIONS, build

# --- a course ------------------------------------------------------------------------------------------------------

UNIT, FIRST = "01_first", "square_grad"
TAKEN = frozenset(("handgrad", "grader"))  # packages of handgrad's own
CONFIG = """\
# The course: units in the order they are taught, and the exercises of each. Data only.
# What an exercise is stands in solutions/<unit>/spec.py; its lesson in exercises/<unit>/README.md.
course: {package}
title: {title}
package: {package}     # what is installed beside handgrad, and holds the right answers: learners never see them

units:
  - id: {unit}
    title: The first unit
    exercises:
      - id: {first}
        points: 1
"""
PROJECT = """\
# pip wheel . --no-deps makes what learners install beside handgrad ({install}):
# pip install the wheel, and handgrad init my-folder --from {package}
[build-system]
requires = ["hatchling>=1.24"]
build-backend = "hatchling.build"

[project]
name = "{project}"
version = "0.1"
requires-python = ">=3.11"
dependencies = ["handgrad>={version}"]

[tool.hatch.build.targets.wheel]
bypass-selection = true

[tool.hatch.build.targets.wheel.force-include]
"course.yaml" = "{package}/course.yaml"
"exercises" = "{package}/exercises"
"solutions" = "{package}/solutions"
"""
LESSON = """\
# The first unit

Say here what a learner should see first: one entry, one number that can be followed by hand, a picture, and then the
formula.

## Where you meet this

In every loss that is a square.

## Exercises

| exercise | what is asked |
|---|---|
| [`{first}`]({first}.py) | the gradient of `out = inp**2` |
"""
FILES = {COURSE_FILE: CONFIG, "pyproject.toml": f"{PROJECT}\n{PYTEST_OPTIONS}", f"exercises/{UNIT}/README.md": LESSON}


def new_course(folder: Path) -> Course:
    """Write a course of one unit and one exercise into a new folder, build its stubs, and return it.

    Its package is named after the folder.

    Raises:
        UsageError: there is something in the folder already.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder.resolve()} already holds something: name a new folder for your course.")
    name = folder.resolve().name
    package = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_")
    is_free = package.isidentifier() and package not in TAKEN
    package = package if is_free else f"course_{package}".rstrip("_")
    fields = {
        "package": package,
        "project": package.replace("_", "-"),
        "version": __version__,
        "unit": UNIT,
        "install": INSTALL,
        "first": FIRST,
        "title": re.sub(r"[-_]+", " ", package).capitalize(),
    }
    of_course = {folder / path: text.format(**fields) for path, text in FILES.items()}
    of_exercise = _exercise_files(folder, FIRST, UNIT, f'"""The exercises of {UNIT}."""\n')
    for path, text in (of_course | of_exercise).items():
        write_atomically(path, text.encode())
    course = load_course(folder)
    build(course)
    return course


# --- an exercise ---------------------------------------------------------------------------------------------------

NEEDED = ("Exercise", "normal", "output", "stored")
DECLARATION = """

{name} = Exercise(
    title="{title}, backwards",
    forward=lambda inp: inp**2,
    inputs={{"inp": normal("bs n"), "out": output()}},
    answers=stored("inp.g"),
    hints={{
        "inp.g": (
            "A question: nudge one entry of inp. Which entries of out move?",
            "Where to look: which line of the lesson is this?",
            "Almost there: everything but the formula.",
        )
    }},
)
"""
SOLUTION = '''"""{title}, backwards. The lesson is README.md in this folder."""


def {name}(inp, out):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp**2`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n), and so is inp.g
    out: (bs, n), and so is out.g
    """
    ### BEGIN SOLUTION
    # Why: each entry of inp is used once, and out moves 2 * inp times as far.
    inp.g = 2 * inp * out.g
    ### END SOLUTION
'''
PAGE = """# {name}: out = inp**2

# %% right: in the other order
def {name}(inp, out):
    inp.g = out.g * 2 * inp


# %% wrong: upstream gradient forgotten | inp.g: missing-upstream
def {name}(inp, out):
    inp.g = 2 * inp
"""


def add_exercise(course: Course, name: str, unit: str) -> list[Path]:
    """Add an exercise to a unit, and return the files that were written, to be filled in.

    Args:
        course: the course.
        name: the id of the exercise and the name of its function, such as `square_grad`.
        unit: the id of the unit.

    Raises:
        UsageError: there is no such unit, or the name is taken or is no name of a function.
        SpecError: the unit's declarations cannot be used.
    """
    listed, spec = course.root / COURSE_FILE, course.spec(unit)
    _expect_new(course, name, unit)
    written = {
        **_exercise_files(course.root, name, unit, spec.read_text(encoding="utf-8")),
        listed: _with_entry(listed.read_text(encoding="utf-8"), name, unit),
    }
    for path, text in written.items():
        write_atomically(path, text.encode())
    return [*written, *build(load_course(course.root))]


def _exercise_files(root: Path, name: str, unit: str, spec: str) -> dict[Path, str]:
    """Return the text of each file that a new exercise changes or adds, by path.

    Args:
        root: the folder of the course.
        name: the id of the exercise.
        unit: the id of its unit.
        spec: the text of the unit's `spec.py`.
    """
    fields = {"name": name, "title": name.removesuffix("_grad").replace("_", " ").capitalize()}
    return {
        root / "solutions" / unit / "spec.py": _with_imports(spec).rstrip("\n") + "\n" + DECLARATION.format(**fields),
        root / "solutions" / unit / f"{name}.py": SOLUTION.format(**fields),
        root / "tests/learners" / unit / f"{name}.py": PAGE.format(**fields),
    }


def _expect_new(course: Course, name: str, unit: str) -> None:
    """Check that an exercise of this name can be added to the unit.

    Raises:
        UsageError: it cannot.
    """
    units = [known.id for known in course.config.units]
    if unit not in units:
        raise UsageError(f"{unit} is no unit of this course: name one of {', '.join(units)}.")
    if not name.isidentifier() or keyword.iskeyword(name) or name != name.lower():
        raise UsageError(f"{name} is no name for a function: use small letters, digits and _, such as square_grad.")
    if name in {exercise.id for exercise in course.exercises} or name in course.declarations(unit):
        raise UsageError(f"There is an exercise {name} already.")
    files = _exercise_files(course.root, name, unit, "")
    if existing := next((path for path in files if path.exists() and path.stem == name), None):
        raise UsageError(f"{existing} is there already: move it away, or choose another name.")


def _with_imports(text: str) -> str:
    """Return the text of a spec with an import of the names that `DECLARATION` uses and that it does not import yet."""
    body = ast.parse(text).body
    imports = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    known = {alias.asname or alias.name for node in imports for alias in node.names}
    missing = [name for name in NEEDED if name not in known]
    added = [f"from handgrad import {', '.join(missing)}"] if missing else []
    lines = text.split("\n")
    if not imports and ast.get_docstring(ast.parse(text)) is not None:
        last, added = body[0].end_lineno or 0, ["", *added]
    else:
        last = max((node.end_lineno or 0 for node in imports), default=0)
    return "\n".join([*lines[:last], *added, *lines[last:]])


def _with_entry(text: str, name: str, unit: str) -> str:
    """Return the text of a `course.yaml` with the exercise added as the last of its unit; nothing else is changed.

    Raises:
        UsageError: the unit has no line for each exercise, so that there is no place to add one.
    """
    units = _value(yaml.compose(text), "units").value
    exercises = _value(next(node for node in units if _value(node, "id").value == unit), "exercises")
    if exercises.flow_style or not exercises.value:
        raise UsageError(f"{COURSE_FILE} has no line for each exercise of {unit}: add {name} to it by hand.")
    lines, last = text.split("\n"), exercises.value[-1]
    end = last.end_mark.line + bool(last.flow_style)  # a block ends where the next line begins
    while not lines[end - 1].strip() or lines[end - 1].lstrip().startswith(
        "#"
    ):  # blank lines and comments belong to what comes after
        end -= 1
    dash = " " * (exercises.start_mark.column) + "- "
    return "\n".join([*lines[:end], f"{dash}id: {name}", f"{' ' * len(dash)}points: 1", *lines[end:]])


def _value(node: Any, key: str) -> Any:
    """Return the node under a key of a YAML mapping node; it knows its place in the text."""
    return next(value for name, value in node.value if name.value == key)
