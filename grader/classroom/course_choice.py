"""The course that a class is graded with, if the command is run inside a course folder or outside of any."""

from __future__ import annotations

import ast
import os
import re
import sys
from pathlib import Path

from grader.course.course import COURSE_VARIABLE, Course, bundled_folder, find_root, load_course, notebook_course

CONFIG_FILE = "nbgrader_config.py"
COURSE_LINE = re.compile(rf"""^os\.environ\.setdefault\("{COURSE_VARIABLE}", (['"].*['"])\)$""", re.MULTILINE)


def open_for_class(start: Path, folder: Path | None = None) -> Course:
    """Return the course that a class is graded with; name it on stderr if `start` lies in no course folder.

    Args:
        start: the folder that the command is run in.
        folder: the folder of the course, as `class.yaml` names it, relative to `start`; `None` if it names none.

    Raises:
        CourseError: the course's `course.yaml` cannot be used.
    """
    course = class_course(start, folder)
    if folder is None and find_root(start) is None:
        which = "the course that came with handgrad" if course.root == bundled_folder().resolve() else str(course.root)
        print(f"No course.yaml here: grading with {which}.", file=sys.stderr)
    return course


def class_course(start: Path, folder: Path | None = None) -> Course:
    """Return the course that a class is graded with.

    It is the course in `folder`, or else the one that `start` lies in, or else the one that the variable
    HANDGRAD_COURSE names, or else the one that `nbgrader_config.py` in `start` names, or else the one that came with
    this package.

    Args:
        start: the folder that the command is run in.
        folder: the folder of the course, as `class.yaml` names it, relative to `start`; `None` if it names none.

    Raises:
        CourseError: the course's `course.yaml` cannot be used.
    """
    if folder is not None:
        return load_course(start / folder)
    root = find_root(start)
    if root is None and COURSE_VARIABLE not in os.environ and (configured := _configured_course(start)):
        root = configured
    return notebook_course(start) if root is None else load_course(root)


def course_of_notebooks(start: Path, folder: Path) -> Course:
    """Return the course that an nbgrader course folder is made from, and print a line if the folder itself names it.

    It is the course that the variable HANDGRAD_COURSE names, or else the one that `start` lies in, or else the one that
    `nbgrader_config.py` in `folder` names, as an earlier `handgrad nbgrader init` has written it, or else the one that
    came with this package.

    Args:
        start: the folder that the command is run in.
        folder: the nbgrader course folder; it need not exist.

    Raises:
        CourseError: the course's `course.yaml` cannot be used.
    """
    is_named = find_root(start) is not None or COURSE_VARIABLE in os.environ
    configured = None if is_named else _configured_course(folder)
    if configured is None:
        return notebook_course(start)
    print(f"No course.yaml here: making the notebooks of {configured}.", file=sys.stderr)
    return load_course(configured)


def _configured_course(folder: Path) -> Path | None:
    """Return the course folder that a folder's `nbgrader_config.py` names; `None` if there is none.

    `handgrad nbgrader init` writes the line that names it; the file is searched for this line, and not run.
    """
    path = folder / CONFIG_FILE
    line = COURSE_LINE.search(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else None
    try:
        return Path(str(ast.literal_eval(line[1]))) if line else None
    except (ValueError, SyntaxError):
        return None
