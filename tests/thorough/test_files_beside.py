"""The files beside an exercise or a notebook can be imported, in a check as in every way to grade."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.grading import codes, words_of
from helpers.nbgrader_class import UNIT, answered, comments, hand_in, nbgrader, released, released_folder, totals
from helpers.workers import worker_of

from grader.classroom.class_grading import grade_folder
from grader.course.course import Course
from grader.judging.grading import Grader
from grader.learner.session import Session
from grader.learner.watch_checks import Checks
from grader.nbgrader.cells import KernelSession
from grader.results.records import ExerciseResult
from grader.sandbox.source_text import LONGEST_MODULES, MOST_MODULES, Source, importable_files
from grader.sandbox.worker import Worker

LIN = """
{}
def lin_grad(inp, out, w, b):
    inp.g = {}
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)
"""
HELPERS = "import numpy as np; import seaborn\nfrom products import *\ndef back(g, w):\n    return times(g, w.t())\n"
PRODUCTS = "def times(a, b):\n    return a @ b\n"
BESIDE = {"helpers.py": HELPERS.encode(), "products.py": PRODUCTS.encode()}
RIGHT = {
    "a name": LIN.format("from helpers import back", "back(out.g, w)"),
    "the module": LIN.format("import helpers as h", "h.back(out.g, w)"),
    "all of it": LIN.format("from helpers import *", "back(out.g, w)"),
    "inside the function": LIN.format("", "__import__('helpers').back(out.g, w)"),
    "again": LIN.format("import importlib, helpers\nimportlib.reload(helpers)", "helpers.back(out.g, w)"),
    "by name": LIN.format("import importlib\nh = importlib.import_module('helpers')", "h.back(out.g, w)"),
    "a path of its own": LIN.format("import sys; sys.path.append('.')\nimport helpers", "helpers.back(out.g, w)"),
}
WRONG = {
    "an error at its top": (
        "x = 1\ny = x / 0\n",
        f"ZeroDivisionError: {words_of('1 / 0')} (helpers.py, line 2: y = x / 0)",
    ),
    "no Python": (
        "def back(\n",
        f"Python cannot read the file: {words_of('def back(')} (helpers.py, line 1: def back()",
    ),
    "an error when it is called": (
        "def back(g, w):\n    return g.nothing\n",
        f"AttributeError: {words_of('import torch; torch.ones(1).nothing')} (helpers.py, line 2: return g.nothing)",
    ),
    "another name": (
        "def forth(): ...\n",
        "cannot import name 'back' from 'helpers' (exercises/04_linear/helpers.py) (lin_grad.py, line 4:",
    ),
}
Ask = Callable[..., tuple[ExerciseResult, ExerciseResult]]


@pytest.fixture
def ask(course: Course, grader: Grader, worker: Worker, isolated: Worker) -> Ask:
    """`ask(source, files)`: the verdict of a check, and that of a graded run."""

    def asked(source: str, beside: dict[str, bytes]) -> tuple[ExerciseResult, ExerciseResult]:
        exercise = course.find("lin_grad")
        check, graded = (grader.grade(exercise, source.encode(), each, beside=beside) for each in (worker, isolated))
        return check, graded

    return asked


@pytest.mark.parametrize("how", RIGHT)
def test_a_file_is_imported(how: str, ask: Ask) -> None:
    for result in ask(RIGHT[how], BESIDE):
        assert set(codes(result).values()) == {None}, result


@pytest.mark.parametrize("what", WRONG)
def test_an_error_is_told_with_its_file_and_line(what: str, ask: Ask) -> None:
    text, says = WRONG[what]
    for result in ask(RIGHT["a name"], {"helpers.py": text.encode()}):
        assert result.answers[0].message.startswith(says)


def test_what_it_needs_is_announced_too(ask: Ask) -> None:
    """In a check there may be such a library, and a file that can be read."""
    for result in ask(RIGHT["a name"], {"helpers.py": b"x = 1\nimport sympy\ndef back(g, w): return g @ w.t()\n"}):
        assert result.notes == ("sympy is not available in graded runs (helpers.py, line 2: import sympy)",)
    for result in ask(LIN.format("# not helpers", "out.g @ w.t()"), {"helpers.py": b"import sympy"}):
        assert result.notes == ()
    for result in ask(RIGHT["a name"], {"helpers.py": b"open('/etc/hostname')\n"}):
        assert "checks and graded runs have no files" in result.answers[0].message
        assert "(helpers.py, line 1: open('/etc/hostname'))" in result.answers[0].message


def test_two_files_may_import_each_other(ask: Ask) -> None:
    helpers = b"import lin_grad\ndef back(g, w):\n    return g @ lin_grad.turned(w)\n"
    source = LIN.format("import helpers\ndef turned(w): return w.t()", "helpers.back(out.g, w)")
    for result in ask(source, {"helpers.py": helpers, "lin_grad.py": b"1 / 0"}):
        assert set(codes(result).values()) == {None}


def test_a_module_of_python_keeps_its_meaning(ask: Ask) -> None:
    for result in ask(LIN.format("import random, torch\nrandom.seed(0)", "out.g @ w.t()"), {"random.py": b"1 / 0"}):
        assert set(codes(result).values()) == {None}


def test_what_is_not_there_is_told(ask: Ask) -> None:
    for result in ask(RIGHT["a name"], {}):
        (message,) = {answer.message for answer in result.answers if answer.code}
        assert message.startswith(
            "No module named 'helpers'; checks and graded runs have Python's modules, torch, numpy"
        )
        assert "the files in the same folder" in message
        assert result.notes == (
            "helpers is not available in graded runs (lin_grad.py, line 2: from helpers import back)",
        )


def test_only_what_is_spoken_of_is_sent_and_not_too_much() -> None:
    many = {f"m{i}.py": b"x = 1" for i in range(MOST_MODULES + 5)}
    text = " ".join(f"import m{i};" for i in range(MOST_MODULES + 5))
    assert len(Source.of(text.encode(), "a.py", many).modules) == MOST_MODULES
    assert Source.of(b"import m1", "a.py", many).modules.keys() == {"m1"}
    half = b"#" * (LONGEST_MODULES // 2 + 1)
    assert Source.of(b"import a, b", "c.py", {"a.py": half, "b.py": half}).modules.keys() == {"a"}
    odd = {"a.py": b"\xff\xfe", "b.txt": b"", "torch.py": b""}
    assert Source.of(b"import a, b, torch", "c.py", odd).modules == {}


def test_only_small_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "large.py").write_bytes(b"#" * (LONGEST_MODULES + 1))
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "gone.py").symlink_to(tmp_path / "nothing")
    assert importable_files(tmp_path) == {"a.py": b"x = 1"}


def write(folder: Path, source: str = RIGHT["a name"]) -> Path:
    """An exercise file, and what it imports."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in {**BESIDE, "lin_grad.py": source.encode()}.items():
        (folder / name).write_bytes(content)
    return folder / "lin_grad.py"


def test_a_check_reads_them_and_a_watch_sees_them_change(
    new_workspace: Callable[..., Course], tmp_path: Path, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = new_workspace(tmp_path / "ws")
    exercise = course.find("lin_grad")
    folder = write(exercise.path.parent).parent
    monkeypatch.setattr(worker, "close", lambda: None)
    with Session(course, worker) as session:
        checks = Checks(session, worker, lambda _: None)  # type: ignore[arg-type]
        assert session.check(exercise).status == "passed"
        assert checks.changed(exercise) == []
        (folder / "products.py").write_text("def times(a, b):\n    return a + b\n")
        assert checks.changed(exercise) == [exercise]
        assert session.check(exercise).answers[0].code == "error"


@pytest.mark.parametrize("kind", ["spawn"])
def test_a_process_that_answers_every_job_forgets_them(kind: str, course: Course, grader: Grader) -> None:
    exercise = course.find("lin_grad")
    with worker_of(kind) as one:
        found = [
            grader.grade(exercise, RIGHT["a name"].encode(), one, beside=files).answers[0].code
            for files in (BESIDE, {"helpers.py": b"def back(g, w):\n    return g @ w.t() / len(g)\n"}, {}, BESIDE)
        ]
    assert found == [None, "mean-for-sum", "error", None]


def test_nor_does_it_keep_what_they_set(course: Course, grader: Grader) -> None:
    settings = "torch.set_grad_enabled(False); torch.set_default_dtype(torch.float64); torch.set_default_device('meta')"
    first = LIN.format(f"import torch\n{settings}", "out.g @ w.t()")
    second = (
        "import torch\nassert torch.is_grad_enabled() and torch.ones(1).dtype is torch.float32\ntorch.ones(1).item()"
    )
    with worker_of("spawn") as one:
        for source in (first, LIN.format(second, "out.g @ w.t()")):
            assert grader.grade(course.find("lin_grad"), source.encode(), one).status == "passed"


@pytest.mark.parametrize("place", ["04_linear", "exercises/04_linear", ""])
def test_a_class_is_graded_with_them(place: str, course: Course, tmp_path: Path) -> None:
    """Those of the same unit; what nothing speaks of is noted, for it may be an exercise under a wrong name."""
    folder = tmp_path / "in" / "ann" / place
    write(folder)
    (folder / "lin_gard.py").write_text("x = 1")
    out = tmp_path / "out"
    assert grade_folder(course, tmp_path / "in", out, workers=1, isolation="none", seed=1).mean_score == 3.0
    record = json.loads((out / "ann.json").read_text())
    name = f"{place}/lin_gard.py" if place else "lin_gard.py"
    assert record["notes"] == [f"{name} was ignored: it is no exercise that is graded here"]
    assert grade_folder(course, tmp_path / "in", out, workers=1, isolation="none", seed=1).reused == 1
    (folder / "products.py").write_text("def times(a, b):\n    return a @ b / len(a)\n")
    assert grade_folder(course, tmp_path / "in", out, workers=1, isolation="none", seed=1).graded == 1
    assert json.loads((out / "ann.json").read_text())["score"] == 2.0


def test_an_exercise_imports_an_earlier_one(course: Course, tmp_path: Path) -> None:
    folder = tmp_path / "in" / "ann" / "01_slopes"
    folder.mkdir(parents=True)
    for name, content in {
        "numerical_grad": course.find("numerical_grad").solution.read_text(),
        "numerical_vjp": "from numerical_grad import numerical_grad\ndef numerical_vjp(f, x, v, h):\n"
        "    return numerical_grad(lambda x: (f(x) * v).sum(), x, h)\n",
    }.items():
        (folder / f"{name}.py").write_text(content)
    grade_folder(course, tmp_path / "in", tmp_path / "out", workers=1, isolation="none")
    record = json.loads((tmp_path / "out" / "ann.json").read_text())
    passed = {each["id"] for each in record["exercises"] if each["status"] == "passed"}
    assert passed == {"numerical_grad", "numerical_vjp"}


def test_a_file_of_another_unit_is_not_there(course: Course, tmp_path: Path) -> None:
    write(tmp_path / "in" / "ann" / "04_linear")
    (tmp_path / "in" / "ann" / "04_linear" / "products.py").rename(tmp_path / "in" / "ann" / "products.txt")
    (tmp_path / "in" / "ann" / "05_activations").mkdir()
    (tmp_path / "in" / "ann" / "05_activations" / "products.py").write_text(PRODUCTS)
    grade_folder(course, tmp_path / "in", tmp_path / "out", workers=1, isolation="none")
    assert "No module named 'products'" in (tmp_path / "out" / "ann.json").read_text()


def test_the_cells_of_a_notebook_import_them(tmp_path: Path, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A score is used again until a cell was run or such a file changed."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    kernel = KernelSession()
    kernel.session = Session(kernel.session.course, worker)
    cells = ["import torch", RIGHT["the module"]]
    assert kernel.check("lin_grad", cells)[1].status == "passed"
    assert kernel.check_with_pictures("lin_grad", cells)[1].status == "passed"
    (tmp_path / "products.py").write_text("1 / 0")
    answer = kernel.check("lin_grad", cells)[1].answers[0]
    assert "(products.py, line 1: 1 / 0)" in answer.message


@pytest.mark.slow
def test_nbgrader_grades_with_them(tmp_path: Path) -> None:
    """In `autograde`; a link to somebody else's file is none of the submission's own."""
    folder = released_folder(tmp_path, "c.SecureExecute.isolation = 'none'\n")
    notebook = answered(released(folder), lin_grad=RIGHT["a name"])
    for student in ("ann", "bob"):
        write(hand_in(folder, student, notebook).parent)
    helpers = folder / "submitted" / "bob" / UNIT / "helpers.py"
    helpers.unlink()
    helpers.symlink_to(folder / "submitted" / "ann" / UNIT / "helpers.py")
    nbgrader("autograde", UNIT, cwd=folder)
    assert totals(folder) == {"ann": 3.0, "bob": 0.0}
    assert "No module named 'helpers'" in str(comments(folder)["bob"])
