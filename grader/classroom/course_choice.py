"""Finds the course that a class is graded with: an instructor need not stand in a course folder."""

from __future__ import annotations

import ast
import os
import re
import sys
from pathlib import Path

from grader.course.course import COURSE_VARIABLE, Course, bundled_folder, find_root, load_course, notebook_course

CONFIG_FILE = "nbgrader_config.py"
OWN_COURSE = re.compile(rf"""^os\.environ\.setdefault\("{COURSE_VARIABLE}", (['"].*['"])\)$""", re.MULTILINE)


def open_for_class(start: Path) -> Course:
    """The course of `class_course`; it is named on stderr where it is not the one around this folder.

    Raises:
        CourseError: its `course.yaml` cannot be used.
    """
    course = class_course(start)
    if find_root(start) is None:
        which = "the course that came with handgrad" if course.root == bundled_folder().resolve() else str(course.root)
        print(f"No course.yaml here: grading with {which}.", file=sys.stderr)
    return course


def class_course(start: Path) -> Course:
    """The course that a class is graded with in `start`: the one that `start` lies in, else the one that its
    `nbgrader_config.py` or HANDGRAD_COURSE names, else the one that came with this package.

    Raises:
        CourseError: its `course.yaml` cannot be used.
    """
    root = find_root(start)
    if root is None and COURSE_VARIABLE not in os.environ and (configured := _configured(start)):
        root = configured
    return notebook_course(start) if root is None else load_course(root)


def _configured(folder: Path) -> Path | None:
    """The course in the line that `handgrad nbgrader init` wrote for a course of one's own; nothing is run."""
    path = folder / CONFIG_FILE
    found = OWN_COURSE.search(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else None
    try:
        return Path(str(ast.literal_eval(found[1]))) if found else None
    except (ValueError, SyntaxError):
        return None
