"""Writes what a new exercise begins with: its declaration, its solution, a page of submissions, its line in the course.

What is written is a whole exercise, of `out = inp**2`, that can be built and audited before a word of it is changed.
"""

from __future__ import annotations

import ast
import keyword
from pathlib import Path
from typing import Any

import yaml

from grader.course.course import COURSE_FILE, Course, load_course
from grader.errors import UsageError
from grader.files import write_atomically

from .build import build

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
    """Add an exercise to a unit; returns the files that were written, to be filled in.

    Raises:
        UsageError: there is no such unit, or the name is taken or is no name of a function.
        SpecError: the unit's declarations cannot be used.
    """
    listed, spec = course.root / COURSE_FILE, course.spec(unit)
    _expect_new(course, name, unit)
    written = {
        **beginning(course.root, name, unit, spec.read_text(encoding="utf-8")),
        listed: _with_entry(listed.read_text(encoding="utf-8"), name, unit),
    }
    for path, text in written.items():
        write_atomically(path, text.encode())
    return [*written, *build(load_course(course.root))]


def beginning(root: Path, name: str, unit: str, spec: str) -> dict[Path, str]:
    """What an exercise of the course in `root` begins with, by file.

    Args:
        spec: the text of the unit's `spec.py`.
    """
    words = {"name": name, "title": name.removesuffix("_grad").replace("_", " ").capitalize()}
    return {
        root / "solutions" / unit / "spec.py": _with_imports(spec).rstrip("\n") + "\n" + DECLARATION.format(**words),
        root / "solutions" / unit / f"{name}.py": SOLUTION.format(**words),
        root / "tests/learners" / unit / f"{name}.py": PAGE.format(**words),
    }


def _expect_new(course: Course, name: str, unit: str) -> None:
    units = [each.id for each in course.config.units]
    if unit not in units:
        raise UsageError(f"{unit} is no unit of this course: name one of {', '.join(units)}.")
    if not name.isidentifier() or keyword.iskeyword(name) or name != name.lower():
        raise UsageError(f"{name} is no name for a function: use small letters, digits and _, such as square_grad.")
    if name in {each.id for each in course.exercises} or name in course.declarations(unit):
        raise UsageError(f"There is an exercise {name} already.")
    files = beginning(course.root, name, unit, "")
    if there := next((path for path in files if path.exists() and path.stem == name), None):
        raise UsageError(f"{there} is there already: move it away, or choose another name.")


def _with_imports(text: str) -> str:
    """The text of a spec that imports what a declaration needs."""
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
    """The text of a `course.yaml` that lists the exercise as the last of its unit, and is otherwise as it was."""
    units = _value(yaml.compose(text), "units").value
    exercises = _value(next(node for node in units if _value(node, "id").value == unit), "exercises")
    if exercises.flow_style or not exercises.value:
        raise UsageError(f"{COURSE_FILE} has no line for each exercise of {unit}: add {name} to it by hand.")
    lines, last = text.split("\n"), exercises.value[-1]
    end = last.end_mark.line + bool(last.flow_style)  # a block ends where the next line begins
    while not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#"):  # what follows belongs to what follows
        end -= 1
    dash = " " * (exercises.start_mark.column) + "- "
    return "\n".join([*lines[:end], f"{dash}id: {name}", f"{' ' * len(dash)}points: 1", *lines[end:]])


def _value(node: Any, key: str) -> Any:
    """What a mapping of YAML nodes has under a key, with its place in the text."""
    return next(value for name, value in node.value if name.value == key)
