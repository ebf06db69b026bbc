"""What the tests of nbgrader share: a small course as an nbgrader folder, and the real commands on it."""

from __future__ import annotations

import atexit
import copy
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat
from alembic.config import Config
from alembic.script import ScriptDirectory
from jinja2.bccache import Bucket, BytecodeCache
from jupyter_core.application import NoStart
from nbconvert.exporters import templateexporter
from nbformat import NotebookNode
from nbgrader import api
from nbgrader.apps import NbGraderApp
from nbgrader.dbutil import _temp_alembic_ini
from sqlalchemy.pool import NullPool

from grader.cli import main as cli
from grader.course.course import COURSE_VARIABLE, Course, load_course
from grader.nbgrader.course_folder import build_folder
from grader.nbgrader.source_notebook import grade_id

ROOT = Path(__file__).resolve().parents[2]
UNIT = "04_linear"
SMALL = """
course: small
title: Two exercises
policy: {time_limit: LIMIT}
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


@cache
def newest_version() -> str:
    """Return the version that a new gradebook has, for which nbgrader starts a process each time."""
    with _temp_alembic_ini("sqlite://") as settings:
        return ScriptDirectory.from_config(Config(settings)).get_current_head() or ""


api.get_alembic_version = newest_version
create_engine = api.create_engine


@cache
def engine(folder: str, url: str, options: tuple[tuple[str, Any], ...]) -> Any:
    """Return the engine for the database at a URL, which may be relative to a folder.

    Without a pool: closing one gradebook would replace the pool of another that is open on the same engine, whose
    connection would then be closed by nobody.
    """
    return create_engine(url, poolclass=NullPool, **dict(options))


# Every gradebook that is opened would have an engine of its own, which compiles the same statements again.
api.create_engine = lambda url, **options: engine(os.getcwd(), url, tuple(options.items()))


class TemplateCache(BytecodeCache):
    """Keep compiled templates, or else each page of feedback compiles them again."""

    def __init__(self) -> None:
        self.compiled: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if code := self.compiled.get(bucket.key):
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.compiled[bucket.key] = bucket.bytecode_to_string()


templateexporter.Environment = partial(templateexporter.Environment, bytecode_cache=TemplateCache())


def small_course(root: Path, time_limit: float = 60) -> Course:
    """Make a course of two exercises of the real one, with time for an honest answer on a busy machine."""
    for part in ("exercises", "solutions"):
        shutil.copytree(ROOT / part / UNIT, root / part / UNIT, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "course.yaml").write_text(SMALL.replace("LIMIT", f"{time_limit:g}"))
    return load_course(root)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment without the machine's own Jupyter settings."""
    own = {name: str(folder / ".jupyter") for name in ("JUPYTER_CONFIG_DIR", "IPYTHONDIR", "JUPYTER_DATA_DIR")}
    return {**os.environ, **own, **more}


def ended(run: Callable[[], object], cwd: Path) -> tuple[int, str]:
    """Run a command in this process, as if it were one of its own; returns how it ended and what it said."""
    said, code = io.StringIO(), 0
    with (
        mock.patch.dict(os.environ, environment(cwd)),
        mock.patch.object(sys, "excepthook", sys.__excepthook__),
        mock.patch.object(os, "cpu_count", return_value=1),  # each worker takes a second to start
        chdir(cwd),
        warnings.catch_warnings(),
        redirect_stdout(said),
        redirect_stderr(said),
    ):
        os.environ.pop(COURSE_VARIABLE, None)
        warnings.simplefilter("ignore")
        try:
            run()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    return code, said.getvalue()


def nbgrader(*arguments: str, cwd: Path, fails: bool = False) -> str:
    """Run an nbgrader command in this process; returns what it said."""
    app = NbGraderApp()

    def run() -> None:
        try:
            app.initialize(list(arguments))
            app.start()
        except NoStart:
            pass  # a command of its own did it

    try:
        code, said = ended(run, cwd)
    finally:
        running = app
        while running is not None:
            type(running).clear_instance()
            running = running.subapp
    assert (code != 0) == fails, said
    return said


def handgrad(*arguments: str, cwd: Path, code: int = 0) -> str:
    """Run a handgrad command in this process; returns what it said."""
    with mock.patch.object(sys, "argv", ["handgrad", *arguments]):
        exit_code, said = ended(cli.main, cwd)
    assert exit_code == code, said
    assert "Traceback" not in said
    return said


def nbgrader_process(*arguments: str, cwd: Path, fails: bool = False) -> str:
    """Run an nbgrader command in a process of its own; returns what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=cwd, env=environment(cwd), capture_output=True, text=True, timeout=1000,
    )  # fmt: skip
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def handgrad_process(*arguments: str, cwd: Path, code: int = 0, before: str = "") -> str:
    """Run a handgrad command in a process of its own, other code before it; returns what it said."""
    done = subprocess.run(
        [sys.executable, "-c", f"{before}\nfrom grader.cli.main import main; main()", *arguments],
        cwd=cwd, env=environment(cwd, PYTHONPATH=str(ROOT)), capture_output=True, text=True, timeout=1000,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def cell(notebook: NotebookNode, name: str) -> NotebookNode:
    (match,) = (cell for cell in notebook.cells if grade_id(cell) == name)
    return match


def released_folder(root: Path, config: str = "") -> Path:
    """Make an nbgrader folder of the small course with its released assignment: a copy of one that is made once.

    Args:
        config: lines to add to the configuration.
    """
    shutil.copytree(released_once(), root, dirs_exist_ok=True)
    with (root / "nb" / "nbgrader_config.py").open("a") as settings:
        settings.write(config)
    return root / "nb"


@cache
def released_once() -> Path:
    """Make the small course and its nbgrader folder, and release the assignment there."""
    root = Path(tempfile.mkdtemp(prefix="released-assignment-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    build_folder(small_course(root), root / "nb")
    nbgrader("generate_assignment", UNIT, cwd=root / "nb")
    return root


def copied(folder: Path, root: Path, *students: str) -> Path:
    """Copy an nbgrader folder of the small course for a test to change, with the submissions of some students only."""
    for part in ("exercises", "solutions", "course.yaml"):
        place = folder.parent / part
        if place.is_dir():
            shutil.copytree(place, root / part)
        else:
            shutil.copyfile(place, root / part)
    shutil.copytree(folder, root / "nb", ignore=lambda *_: ["submitted", "autograded", "feedback", ".jupyter"])
    for student in students:
        shutil.copytree(folder / "submitted" / student, root / "nb" / "submitted" / student)
    return root / "nb"


def released(folder: Path) -> NotebookNode:
    return read(folder / "release" / UNIT / f"{UNIT}.ipynb")


def answered(notebook: NotebookNode, **answers: str) -> NotebookNode:
    """Return a copy of a notebook with the cells of some exercises filled in."""
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
    """Return the rows of a query to the gradebook."""
    with sqlite3.connect(folder / "gradebook.db") as gradebook:
        rows_read = gradebook.execute(query).fetchall()
    gradebook.close()
    return rows_read


def scores(folder: Path) -> dict[str, dict[str, float | None]]:
    """Return the automatic score of each cell, by student."""
    scores_of_students: dict[str, dict[str, float | None]] = {}
    for student, name, score, *_ in rows(folder, GRADES):
        scores_of_students.setdefault(student, {})[name] = score
    return scores_of_students


def totals(folder: Path) -> dict[str, float | None]:
    """Return the sum of automatic scores by student, `None` where one is missing."""
    return {
        student: None if None in cells.values() else sum(filter(None, cells.values()))
        for student, cells in scores(folder).items()
    }


def comments(folder: Path) -> dict[str, dict[str, str | None]]:
    """Return the automatic comment on each solution, by student."""
    comments_of_students: dict[str, dict[str, str | None]] = {}
    for student, name, text in rows(folder, COMMENTS):
        comments_of_students.setdefault(student, {})[name] = text
    return comments_of_students


def points_for(exercise: str, folder: Path) -> dict[str, float]:
    """Return the points for an exercise by student, as nbgrader counts them: manual points replace automatic ones."""
    points: dict[str, float] = {}
    for student, name, auto, manual, _ in rows(folder, GRADES):
        if name.startswith(exercise):
            points[student] = points.get(student, 0.0) + ((auto or 0.0) if manual is None else manual)
    return points
