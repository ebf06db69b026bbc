"""What student code does to take points in stock nbgrader, and what it gets here: nothing, and nobody's score changes.

Both courses ask for the same function. Stock nbgrader tests it in the kernel, with hidden tests as instructors write
them; here the same cells are graded by the preprocessors.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbgrader_class import (
    COMMENTS,
    GRADES,
    RIGHT,
    UNIT,
    answered,
    cell,
    hand_in,
    nbgrader,
    read,
    released,
    released_folder,
    rows,
    scores,
)

from grader.notebook.source_notebook import grade_id

TESTS = {
    "inp.g": "inp.g == out.g @ w.t()",
    "w.g": "w.g == inp.t() @ out.g",
    "b.g": "b.g == out.g.sum(0)",
}
HIDDEN = """
import torch
inp, w, b = torch.rand(4, 3), torch.rand(3, 2), torch.rand(2)
out = inp @ w + b
out.g = torch.rand(4, 2)
points = 0.0
### BEGIN HIDDEN TESTS
lin_grad(inp, out, w, b)
assert ({test}).all()
points = 1.0
### END HIDDEN TESTS
points
"""
"""A test as an instructor writes it: an answer that is not right raises; the last line gives the points."""

FORGERIES = {
    "empties later cells": """
        def lin_grad(inp, out, w, b): ...
        get_ipython().input_transformers_cleanup.append(lambda lines: [])
    """,
    "equals everything": """
        class Anything:
            def __eq__(self, other): return self
            def __ne__(self, other): return False
            def all(self): return True
            def __bool__(self): return True
        def lin_grad(inp, out, w, b): inp.g = w.g = b.g = Anything()
    """,
    "shows its points": """
        import sys
        def lin_grad(inp, out, w, b):
            sys.displayhook(1.0)
    """,
    "reads the tests": """
        import re, sqlite3
        from pathlib import Path
        def lin_grad(inp, out, w, b):
            book = next(p for p in (folder / "gradebook.db" for folder in Path.cwd().parents) if p.exists())
            for (text,) in sqlite3.connect(book).execute("select source from source_cell"):
                for name, rule in re.findall(r"assert [(](.*?) == (.*)[)][.]all", text or ""):
                    exec(f"{name} = {rule}")
            print("I READ THE TESTS")
    """,
    "writes everybody's scores": """
        import sqlite3
        from pathlib import Path
        def lin_grad(inp, out, w, b): ...
        book = next(p for p in (folder / "gradebook.db" for folder in Path.cwd().parents) if p.exists())
        with sqlite3.connect(book) as db:
            db.execute("update grade set manual_score = 1.0, needs_manual_grade = 0")
    """,
}
MORE = {
    "gives its own score": """
        def lin_grad(inp, out, w, b): ...
        def score(*_): return 1.0
        check = score
    """,
    "rewrites its notebook": """
        def lin_grad(inp, out, w, b): ...
        import json
        from pathlib import Path
        for path in Path("FOLDER").rglob("*.ipynb"):
            path.write_text(path.read_text().replace('"outputs": []', '"outputs": [1]'))
    """,
    "asks the grader": """
        def lin_grad(inp, out, w, b):
            import gc, sys
            from grader.reference.references import make_trials
            from grader.course import load_course
            inp.g, w.g, b.g = [o for o in gc.get_objects() if type(o).__name__ == "Trial"][0].expected.values()
    """,
    "answers for the worker": """
        import os
        def lin_grad(inp, out, w, b):
            for fd in range(3, 64):
                try: os.write(fd, b'HGF1' + bytes(12) + b'{"score": 1.0, "passed": true}')
                except OSError: pass
            os._exit(0)
    """,
    "differentiates": """
        import torch
        def lin_grad(inp, out, w, b):
            x = [t.clone().requires_grad_() for t in (inp, w, b)]
            inp.g, w.g, b.g = torch.autograd.grad(x[0] @ x[1] + x[2], x, out.g)
    """,
    "fills the disk and starts programs": """
        def lin_grad(inp, out, w, b):
            import os, subprocess
            subprocess.Popen(["sleep", "1000"])
        import os
        os.system("touch /tmp/handgrad-was-here")
        open("/tmp/handgrad-was-here", "w").write("x" * 10**9)
    """,
    "puts HTML into its message": """
        def lin_grad(inp, out, w, b):
            raise ValueError("</code></div><script>document.title = 'mine'</script>")
    """,
}
NEIGHBOUR, OTHER = "ann", "zoe"


def hostile(notebook: NotebookNode, source: str) -> NotebookNode:
    return answered(notebook, lin_grad=textwrap.dedent(source))


def hand_in_all(folder: Path, forgeries: dict[str, str]) -> None:
    """One student for each forgery, and two honest ones before and after them."""
    for student in (NEIGHBOUR, OTHER):
        hand_in(folder, student, answered(released(folder), lin_grad=RIGHT.replace("sum(0)", "mean(0)")))
    for name, source in forgeries.items():
        hand_in(folder, name.replace(" ", "-"), hostile(released(folder), source.replace("FOLDER", str(folder))))


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course graded by nbgrader as it comes."""
    folder = released_folder(tmp_path_factory.mktemp("stock"))
    (folder / "nbgrader_config.py").unlink()
    path = folder / "source" / UNIT / f"{UNIT}.ipynb"
    notebook = read(path)
    kept = ["lin_grad", *(f"lin_grad-{name.replace('.', '-')}" for name in TESTS)]
    notebook.cells = [each for each in notebook.cells if grade_id(each) in kept]
    for name, test in TESTS.items():
        cell(notebook, f"lin_grad-{name.replace('.', '-')}").source = HIDDEN.format(test=test)
    nbformat.write(notebook, path)
    (folder / "gradebook.db").unlink()
    nbgrader("generate_assignment", UNIT, "--force", cwd=folder)
    hand_in_all(folder, FORGERIES)
    nbgrader("autograde", UNIT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course graded by our preprocessors."""
    folder = released_folder(tmp_path_factory.mktemp("ours"))
    hand_in_all(folder, {**FORGERIES, **MORE})
    nbgrader("autograde", UNIT, cwd=folder)
    nbgrader("generate_feedback", UNIT, cwd=folder)
    return folder


def points(folder: Path) -> dict[str, float]:
    """Each student's points for lin_grad, as nbgrader counts them: what a person gave comes first."""
    found: dict[str, float] = {}
    for student, name, auto, manual, _ in rows(folder, GRADES):
        if name.startswith("lin_grad"):
            found[student] = found.get(student, 0.0) + (auto if manual is None else manual)
    return found


@pytest.mark.parametrize("name", FORGERIES)
def test_stock_nbgrader_falls_for_it(stock: Path, name: str):
    assert points(stock)[name.replace(" ", "-")] == 3.0


def test_stock_nbgrader_lets_a_student_write_everybodys_scores(stock: Path):
    """The honest student who was graded before had two points of three."""
    assert points(stock)[NEIGHBOUR] == 3.0
    assert sum(scores(stock)[NEIGHBOUR].values()) == 2.0  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [*FORGERIES, *MORE])
def test_here_it_scores_nothing(ours: Path, name: str):
    student = name.replace(" ", "-")
    assert points(ours)[student] == 0.0
    page = (ours / "feedback" / student / UNIT / f"{UNIT}.html").read_text(encoding="utf-8").partition("<body")[2]
    assert "I READ THE TESTS" not in re.sub(r"<div class=\"(?:highlight|input).*?</pre>", "", page, flags=re.DOTALL)
    assert "<script>document" not in page


def test_here_the_gradebook_holds_what_everybody_earned_and_nothing_else(ours: Path):
    for student in (NEIGHBOUR, OTHER):
        assert points(ours)[student] == 2.0
    assert {manual for _, _, _, manual, _ in rows(ours, GRADES)} == {None}
    assert {waits for *_, waits in rows(ours, GRADES)} == {0}
    told = {student: text for student, name, text, *_ in rows(ours, COMMENTS) if name == "lin_grad"}
    assert set(told) == {name.replace(" ", "-") for name in (*FORGERIES, *MORE)} | {NEIGHBOUR, OTHER}
    assert all((text and "Hint" in text) or "todo" in (text or "") for text in told.values())


def test_here_nothing_is_left_behind(ours: Path):
    assert not Path("/tmp/handgrad-was-here").exists()
    for name in MORE:
        path = ours / "submitted" / name.replace(" ", "-") / UNIT / f"{UNIT}.ipynb"
        assert '"outputs": [1]' not in path.read_text()
