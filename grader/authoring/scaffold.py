"""Writes what a new course and a new exercise begin with: declaration, solution, a page of submissions, lesson, wheel.

What is written is a whole exercise, of `out = inp**2`, that can be built and audited before a word of it is changed.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import re
from pathlib import Path
from typing import Any

import yaml

from grader import INSTALL, __version__
from grader.course.course import COURSE_FILE, Course, load_course
from grader.course.course_file import QUIZ_FILE, UNIT_ID
from grader.errors import UsageError
from grader.files import write_atomically

from .build import PYTEST_OPTIONS, build

# --- a course ------------------------------------------------------------------------------------------------------

UNIT, FIRST = "01_first", "square_grad"
TAKEN = frozenset(("handgrad", "grader"))  # packages of handgrad's own
CONFIG = """\
# The course: units in the order they are taught, and the exercises of each. Data only.
# What an exercise is stands in solutions/<unit>/spec.py; its lesson in exercises/<unit>/README.md.
# `points` are shared equally by all answers of an exercise. `stretch: true` below them makes it optional. A unit's
# `quiz: 1` are the points of its quiz: handgrad new --quiz --unit {unit}. How exercises are graded, unless it is set:
# policy: {{time_limit: 10, memory_limit: 1024, show_expected: false, measuring: flag}}  # seconds, MiB; or `refuse`
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
# {title}

Say here what a learner should see first: one entry, one number that can be followed by hand, a picture, and then the
formula.

## Where you meet this

In every loss that is a square.

## Exercises

| exercise | what is asked |
|---|---|
| [`{first}`]({first}.py) | the gradient of `out = inp**2` |
"""
FILES = {COURSE_FILE: CONFIG, "pyproject.toml": f"{PROJECT}\n{PYTEST_OPTIONS}"}


def new_course(folder: Path) -> Course:
    """Write a course of one unit and one exercise into a new folder, build its stubs, and return the course.

    The course's package is named after the folder.

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
    of_course[folder / "exercises" / UNIT / "README.md"] = LESSON.format(title="The first unit", first=FIRST)
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


QUIZ = """\
slope_of_a_square:
  kind: number
  ask: "Here out = inp**2. What is the slope of out where inp is {3}?"
  right: "6"
  wrong:
    "9":
      code: forward-value
      says: That is out itself. How much does it move when inp is nudged?
  hints: [Nudge inp by 0.001. By how much does out move?]
  because: The slope of inp**2 is 2 * inp.
"""
QUIZ_LINE = "The questions of this unit are in [`quiz.yaml`](quiz.yaml)."


def add_exercise(course: Course, name: str, unit: str, *, quiz: bool = False) -> list[Path]:
    """Add an exercise, a quiz or both to a unit, and return the files that were written, to be filled in.

    A unit that the course does not have is begun, with its lesson, at the place that its number gives it. What
    `handgrad build` derives from them is written too, and is among the files returned.

    Args:
        course: the course.
        name: the id of the exercise and the name of its function, such as `square_grad`; empty for a quiz alone.
        unit: the id of the unit.
        quiz: whether to add a quiz of one question.

    Raises:
        UsageError: the unit cannot be begun, or the name is taken or is no name of a function, or there is a quiz.
        SpecError: the unit's declarations cannot be used.
    """
    listed, spec = course.root / COURSE_FILE, course.spec(unit)
    text, is_new = listed.read_text(encoding="utf-8"), unit not in (known.id for known in course.config.units)
    if is_new:
        _expect_new_unit(course, unit)
        text = _with_unit(text, unit)
    written: dict[Path, str] = {}
    if name:
        _expect_new(course, name, unit)
        declared = spec.read_text(encoding="utf-8") if spec.is_file() else f'"""The exercises of {unit}."""\n'
        written |= _exercise_files(course.root, name, unit, declared)
        if not any(exercise.id == name for exercise in course.exercises):
            text = _with_entry(text, name, unit)
    elif is_new:
        raise UsageError(f"{unit} is no unit of this course yet: name its first exercise as well.")
    lesson = course.root / "exercises" / unit / "README.md"
    if name and not lesson.is_file():
        written[lesson] = LESSON.format(title=_title(unit), first=name)
    if quiz:
        path = course.solutions / unit / QUIZ_FILE
        if path.exists() or any(known.id == unit and known.quiz is not None for known in course.config.units):
            raise UsageError(f"{unit} has a quiz already: write its questions in {path}.")
        text, written[path] = _with_quiz(text, unit), QUIZ.replace("{3}", "3")
        before = written.get(lesson) or (lesson.read_text(encoding="utf-8") if lesson.is_file() else "")
        written[lesson] = f"{before.rstrip()}\n\n{QUIZ_LINE}\n".lstrip()
    for path, content in {**written, listed: text}.items():
        write_atomically(path, content.encode())
    return [*written, listed, *build(load_course(course.root))]


def _title(unit: str) -> str:
    """Return the title of a new unit: `02_robust` -> `Robust`."""
    return unit[3:].replace("_", " ").capitalize()


def _exercise_files(root: Path, name: str, unit: str, spec: str) -> dict[Path, str]:
    """Return the text of each file that a new exercise changes or adds, by path.

    Args:
        root: the folder of the course.
        name: the id of the exercise.
        unit: the id of the exercise's unit.
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

    One that `course.yaml` lists in this unit, and that has no solution yet, can be.

    Raises:
        UsageError: the exercise cannot be added; the message gives the reason.
    """
    if not name.isidentifier() or keyword.iskeyword(name) or name != name.lower():
        raise UsageError(
            f"{name} is no name for a function: use letters from a to z, digits and _, such as square_grad."
        )
    listed = next((exercise for exercise in course.exercises if exercise.id == name), None)
    is_begun = listed is not None and (listed.unit != unit or listed.solution.exists())
    if is_begun or (course.spec(unit).is_file() and name in course.declarations(unit)):
        raise UsageError(f"There is an exercise {name} already.")
    files = _exercise_files(course.root, name, unit, "")
    if existing := next((path for path in files if path.exists() and path.stem == name), None):
        raise UsageError(f"{existing} is there already: move it away, or choose another name.")


def _expect_new_unit(course: Course, unit: str) -> None:
    """Check that a unit of this id can be begun.

    Raises:
        UsageError: the unit cannot be begun; names the units that there are, and what a new one may be called.
    """
    units = sorted(known.id for known in course.config.units)
    free = f"{min(int(units[-1][:2]) + 1, 99):02}"
    name = re.sub(r"\W+", "_", re.sub(r"^\d*_?", "", unit.lower()), flags=re.ASCII).strip("_") or "next"
    if not re.fullmatch(UNIT_ID, unit) or any(known[:2] == unit[:2] for known in units):
        near = difflib.get_close_matches(unit, units, 1)
        known = f"did you mean {near[0]}?" if near else f"name one of {', '.join(units)}."
        raise UsageError(
            f"{unit} is no unit of this course: {known} A new unit has a number of its own: --unit {free}_{name}"
        )


def _with_unit(text: str, unit: str) -> str:
    """Return the text of a `course.yaml` with a new unit, empty, before the first unit with a higher number.

    Raises:
        UsageError: the units have no lines of their own, so that there is no place to add one.
    """
    units = _value(yaml.compose(text), "units")
    lines, after = text.split("\n"), next((node for node in units.value if _value(node, "id").value > unit), None)
    if units.flow_style:
        raise UsageError(f"{COURSE_FILE} has no line for each unit: add {unit} to it by hand.")
    end = after.start_mark.line if after is not None else _last_line(lines, units.value[-1])
    if after is None:
        added = [""]
    else:
        while end and lines[end - 1].lstrip().startswith("#"):  # a comment belongs to what comes after
            end -= 1
        added = []
    margin = " " * units.start_mark.column
    added += [f"{margin}- id: {unit}", f"{margin}  title: {_title(unit)}", f"{margin}  exercises: []"]
    return "\n".join([*lines[:end], *added, *([""] if after is not None else []), *lines[end:]])


def _with_quiz(text: str, unit: str) -> str:
    """Return the text of a `course.yaml` with a quiz of one point as the last line of its unit.

    Raises:
        UsageError: the parts of the unit have no lines of their own, so that there is no place to add one.
    """
    node = next(node for node in _value(yaml.compose(text), "units").value if _value(node, "id").value == unit)
    if node.flow_style:
        raise UsageError(f"{COURSE_FILE} has no line for each part of {unit}: write `quiz: 1` there by hand.")
    lines, end = text.split("\n"), _last_line(text.split("\n"), node)
    return "\n".join([*lines[:end], f"{' ' * node.start_mark.column}quiz: 1", *lines[end:]])


def _last_line(lines: list[str], node: Any) -> int:
    """Return the number of the last line of a YAML node, from 1, without blank lines and comments that come after it.

    Args:
        lines: the lines of the file.
        node: a node of `yaml.compose`.
    """
    end = node.end_mark.line + bool(node.flow_style)  # a block ends where the next line begins
    while not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#"):
        end -= 1
    return int(end)


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
    node = next(node for node in _value(yaml.compose(text), "units").value if _value(node, "id").value == unit)
    key = next((key for key, _ in node.value if key.value == "exercises"), None)
    lines = text.split("\n")
    if key is None or (not _value(node, "exercises").value and not node.flow_style):  # there is none yet
        line = node.start_mark.line + 1 if key is None else key.start_mark.line
        margin = " " * node.start_mark.column
        added = [f"{margin}exercises:", f"{margin}  - id: {name}", f"{margin}    points: 1"]
        return "\n".join([*lines[:line], *added, *lines[line + (key is not None) :]])
    exercises = _value(node, "exercises")
    if exercises.flow_style or not exercises.value:
        raise UsageError(f"{COURSE_FILE} has no line for each exercise of {unit}: add {name} to it by hand.")
    end = _last_line(lines, exercises.value[-1])
    dash = " " * (exercises.start_mark.column) + "- "
    return "\n".join([*lines[:end], f"{dash}id: {name}", f"{' ' * len(dash)}points: 1", *lines[end:]])


def _value(node: Any, key: str) -> Any:
    """Return the node under a key of a mapping node of `yaml.compose`; the mapping must have the key."""
    return next(value for name, value in node.value if name.value == key)
