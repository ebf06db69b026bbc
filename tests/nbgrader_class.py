"""What the tests of nbgrader share: a small course as an nbgrader folder, its students, and the real commands."""

from __future__ import annotations

import copy
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from grader.course import Course, load_course
from grader.nbgrader.course_folder import build_folder
from grader.notebook.source_notebook import grade_id

ROOT = Path(__file__).resolve().parent.parent
UNIT = "04_linear"
SMALL = """
course: small
title: Two exercises
policy: {time_limit: 3}
units:
  - id: 04_linear
    title: A linear layer
    exercises:
      - {id: lin_grad, points: 3}
      - {id: bmm_grad, points: 2}
"""
RIGHT = """
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)
"""
BMM = """
def bmm_grad(a, b, out):
    a.g = out.g @ b.transpose(-1, -2)
    b.g = a.transpose(-1, -2) @ out.g
"""
GRADES = """
    select student_id, cells.name, auto_score, manual_score, needs_manual_grade from grade
    join base_cell cells on grade.cell_id = cells.id
    join submitted_notebook on grade.notebook_id = submitted_notebook.id
    join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
"""
COMMENTS = GRADES.replace(
    "auto_score, manual_score, needs_manual_grade from grade", "auto_comment from comment"
).replace("grade.", "comment.")
Edit = Callable[[NotebookNode], object]


def small_course(root: Path) -> Course:
    """A course of two exercises of the real one."""
    for part in ("exercises", "solutions"):
        shutil.copytree(ROOT / part / UNIT, root / part / UNIT, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "course.yaml").write_text(SMALL)
    return load_course(root)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """An environment away from the machine's own Jupyter settings."""
    own = {name: str(folder / ".jupyter") for name in ("JUPYTER_CONFIG_DIR", "IPYTHONDIR", "JUPYTER_DATA_DIR")}
    return {**os.environ, **own, **more}


def nbgrader(*arguments: str, cwd: Path, fails: bool = False) -> str:
    """Run an nbgrader command; returns what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=cwd, env=environment(cwd), capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def cell(notebook: NotebookNode, name: str) -> NotebookNode:
    (found,) = (cell for cell in notebook.cells if grade_id(cell) == name)
    return found


def released_folder(root: Path, config: str = "") -> Path:
    """An nbgrader folder of the small course, its one assignment released.

    Args:
        config: lines to add to the configuration.
    """
    folder = root / "nb"
    build_folder(small_course(root), folder)
    with (folder / "nbgrader_config.py").open("a") as settings:
        settings.write(config)
    nbgrader("generate_assignment", UNIT, cwd=folder)
    return folder


def released(folder: Path) -> NotebookNode:
    return read(folder / "release" / UNIT / f"{UNIT}.ipynb")


def answered(notebook: NotebookNode, **answers: str) -> NotebookNode:
    """A copy of a notebook with the cells of some exercises written in."""
    notebook = copy.deepcopy(notebook)
    for name, source in answers.items():
        cell(notebook, name).source = source
    return notebook


def hand_in(folder: Path, student: str, content: NotebookNode | bytes, name: str = UNIT) -> Path:
    """Put a notebook where nbgrader collects submissions."""
    path = folder / "submitted" / student / UNIT / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode("utf-8", "surrogatepass"))
    return path


def rows(folder: Path, query: str) -> list[Any]:
    """What the gradebook says."""
    with sqlite3.connect(folder / "gradebook.db") as gradebook:
        found = gradebook.execute(query).fetchall()
    gradebook.close()
    return found


def scores(folder: Path) -> dict[str, dict[str, float | None]]:
    """Each student's automatic score in each cell."""
    found: dict[str, dict[str, float | None]] = {}
    for student, name, score, *_ in rows(folder, GRADES):
        found.setdefault(student, {})[name] = score
    return found


def totals(folder: Path) -> dict[str, float | None]:
    """Each student's sum of automatic scores, `None` where one is missing."""
    return {
        student: None if None in cells.values() else sum(filter(None, cells.values()))
        for student, cells in scores(folder).items()
    }


def comments(folder: Path) -> dict[str, dict[str, str | None]]:
    """Each student's automatic comment on each solution."""
    found: dict[str, dict[str, str | None]] = {}
    for student, name, text in rows(folder, COMMENTS):
        found.setdefault(student, {})[name] = text
    return found
