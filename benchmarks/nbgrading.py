"""nbgrader's own `autograde` beside the same command with handgrad's preprocessors, on the same notebooks."""

from __future__ import annotations

import copy
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROUNDS = 3
# nbgrader starts alembic by its name.
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
STOCK_CONFIG = 'import os\n\nos.environ["HANDGRAD_COURSE"] = {course!r}\nc = get_config()\n'
SCORES = """
    select student_id, sum(auto_score) from grade
    join submitted_notebook on grade.notebook_id = submitted_notebook.id
    join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
    group by student_id order by student_id
"""


@dataclass(frozen=True)
class Seconds:
    """What `autograde` takes: the whole command for one notebook, and one notebook more."""

    first: float
    more: float

    def of(self, notebooks: int) -> float:
        """Return the time of the whole command for some notebooks, in seconds."""
        return self.first + (notebooks - 1) * self.more


@dataclass(frozen=True)
class Pace:
    """Hold the times of stock nbgrader, and of nbgrader with handgrad's preprocessors."""

    stock: Seconds
    ours: Seconds


def pace(course: Path, unit: str, students: int, few: int) -> Pace:
    """Grade a class both ways, in turn; every second student has made a mistake in `lin_grad`.

    Args:
        course: a course folder; two nbgrader folders are made beside it.
        unit: the assignment.
        students: how many notebooks there are, all of them graded with handgrad's preprocessors.
        few: how many of them are graded by nbgrader as it comes, ten at most.
    """
    ours, stock = course.parent / "nb", course.parent / "nb-stock"
    _make(course, unit, ours, students)
    shutil.copytree(ours, stock)
    (stock / "nbgrader_config.py").write_text(STOCK_CONFIG.format(course=str(course)))
    rounds = [(_each(stock, unit, few), _each(ours, unit, students)) for _ in range(ROUNDS)]
    if _scores(stock) != _scores(ours)[:few]:
        raise SystemExit(f"both ways must give the same scores:\n{_scores(stock)}\n{_scores(ours)[:few]}")
    each = zip(*rounds, strict=True)
    return Pace(*(Seconds(median(t.first for t in times), median(t.more for t in times)) for times in each))


def _make(course: Path, unit: str, folder: Path, students: int) -> None:
    import nbformat

    from grader.course.course import load_course
    from grader.nbgrader.course_folder import build_folder
    from grader.nbgrader.source_notebook import grade_id, stub_of

    build_folder(load_course(course), folder)
    _nbgrader(folder, "generate_assignment", unit)
    source, notebook = (
        nbformat.read(folder / kind / unit / f"{unit}.ipynb", as_version=4) for kind in ("source", "release")
    )
    answers = {grade_id(cell): cell.source for cell in source.cells if stub_of(cell) is not None}
    right = {name: "\n".join(line for line in text.split("\n") if "### " not in line) for name, text in answers.items()}
    wrong = {**right, "lin_grad": right["lin_grad"].replace("out.g.sum(0)", "out.g.mean(0)")}
    for i in range(students):
        handed = copy.deepcopy(notebook)
        for cell in handed.cells:
            cell.source = (wrong if i % 2 else right).get(grade_id(cell), cell.source)
        path = folder / "submitted" / f"s{i:03}" / unit / f"{unit}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(handed, path)


def _each(folder: Path, unit: str, students: int) -> Seconds:
    """One notebook, and what one more takes: many against one."""
    one = _nbgrader(folder, "autograde", unit, "--force", "--student=s000")
    pattern = f"s00[0-{students - 1}]" if students <= 10 else "*"
    many = _nbgrader(folder, "autograde", unit, "--force", f"--student={pattern}")
    return Seconds(one, (many - one) / (students - 1))


def _nbgrader(folder: Path, *arguments: str) -> float:
    """Wall time of a command that succeeds."""
    own = dict.fromkeys(("JUPYTER_CONFIG_DIR", "IPYTHONDIR", "JUPYTER_DATA_DIR"), str(folder / ".jupyter"))
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments], cwd=folder, env={**os.environ, "PATH": PATH, **own},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"nbgrader {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - started


def _scores(folder: Path) -> list[tuple[str, float]]:
    with sqlite3.connect(folder / "gradebook.db") as gradebook:
        return gradebook.execute(SCORES).fetchall()
