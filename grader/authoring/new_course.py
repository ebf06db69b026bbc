"""Writes a course of an author's own: one unit, one exercise, and what makes a wheel of it."""

from __future__ import annotations

import re
from pathlib import Path

from grader import INSTALL, __version__
from grader.course.course import COURSE_FILE, Course, load_course
from grader.errors import UsageError
from grader.files import write_atomically

from .build import PYTEST_OPTIONS, build
from .new_exercise import beginning

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
    """Make a course in a new folder, sound from the first moment.

    Raises:
        UsageError: there is something in the folder already.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder.resolve()} already holds something: name a new folder for your course.")
    name = folder.resolve().name
    package = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_")
    is_free = package.isidentifier() and package not in TAKEN
    package = package if is_free else f"course_{package}".rstrip("_")
    words = {"package": package, "project": package.replace("_", "-"), "version": __version__, "unit": UNIT,
             "install": INSTALL, "first": FIRST, "title": re.sub(r"[-_]+", " ", package).capitalize()}  # fmt: skip
    written = {folder / path: text.format(**words) for path, text in FILES.items()}
    for path, text in (written | beginning(folder, FIRST, UNIT, f'"""The exercises of {UNIT}."""\n')).items():
        write_atomically(path, text.encode())
    course = load_course(folder)
    build(course)
    return course
