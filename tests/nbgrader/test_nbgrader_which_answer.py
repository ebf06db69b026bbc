"""Which of several definitions, and which of several notebooks, is graded: it is said wherever the grade is read."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
from helpers.nbgrader_class import (
    BMM,
    RIGHT,
    ROOT,
    UNIT,
    answered,
    cell,
    comments,
    hand_in,
    nbgrader,
    read,
    released,
    released_folder,
    totals,
)
from helpers.nbgrader_students import ALL, PARTLY, feedback
from nbformat import NotebookNode
from test_session import KeptWorker

from grader.classroom.student_results import StudentResults
from grader.course.course import load_course
from grader.export.graded_work import no_score
from grader.judging.grading import Grader
from grader.nbgrader.cells import KernelSession
from grader.nbgrader.gradebook_results import read_gradebook
from grader.nbgrader.plugin import answer_cells
from grader.nbgrader.source_notebook import grade_id, notebook_lesson, source_notebook
from grader.nbgrader.submission import has_answers, wrong_notebook
from grader.sandbox.worker import Worker

pytestmark = pytest.mark.slow
TWICE = "def lin_grad(inp, out, w, b): w.g = inp.t() @ out.g * 2"
COPY = f"{UNIT}-Copy1"


def right(notebook: NotebookNode) -> NotebookNode:
    return answered(notebook, lin_grad=RIGHT, bmm_grad=BMM)


def with_cell(notebook: NotebookNode, source: str, behind: str = "") -> NotebookNode:
    """Return a copy of a notebook with a new cell without metadata behind one with a name, or else at the end."""
    notebook = copy.deepcopy(notebook)
    place = [grade_id(each) for each in notebook.cells].index(behind) + 1 if behind else len(notebook.cells)
    notebook.cells.insert(place, nbformat.v4.new_code_cell(source))
    return notebook


@cache
def of_another_unit(name: str = "01_slopes") -> NotebookNode:
    """Return the notebook of another unit, with its worked solutions."""
    course = load_course(ROOT)
    unit = next(unit for unit in course.config.units if unit.id == name)
    return source_notebook(course, unit, notebook_lesson(course, unit))


def stripped(notebook: NotebookNode) -> NotebookNode:
    """Return a copy of a notebook whose cells have lost their metadata and their ids."""
    cells = [nbformat.v4.new_code_cell(each.source) for each in notebook.cells if each.cell_type == "code"]
    return nbformat.v4.new_notebook(cells=cells)


def with_cells(notebook: NotebookNode, *names: str) -> NotebookNode:
    """Return a copy of a notebook with these cells alone."""
    return NotebookNode({**notebook, "cells": [each for each in notebook.cells if grade_id(each) in names]})


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, warm_pool: None) -> tuple[Path, str]:
    """A graded class: the nbgrader folder, and what was said while it was graded."""
    folder = released_folder(tmp_path_factory.mktemp("which"))
    blank = released(folder)
    done = right(blank)
    stub_below = with_cell(done, cell(blank, "lin_grad").source)
    cell(stub_below, "lin_grad-check").source = "check('lin_grad')  # mine"
    hand_in(folder, "scratch-below", with_cell(done, TWICE))
    hand_in(folder, "number-below", with_cell(done, "lin_grad = 3\ntorch = None"))
    hand_in(folder, "stub-below", stub_below)
    hand_in(folder, "scratch-between", with_cell(done, TWICE, behind="lin_grad"))
    hand_in(folder, "number-between", with_cell(done, "lin_grad = 3", behind="lin_grad"))
    hand_in(folder, "only-below", with_cell(answered(blank, bmm_grad=BMM), RIGHT))
    hand_in(folder, "above-stubs", with_cell(blank, RIGHT + BMM, behind="handgrad"))
    hand_in(folder, "in-the-check", answered(answered(blank, bmm_grad=BMM), **{"lin_grad-check": RIGHT}))
    for student, content in FILES.items():
        hand_in(folder, student, done if student == "file-and-cell" else blank)
        (folder / "submitted" / student / UNIT / "lin_grad.py").write_text(content)
    hand_in(folder, "file-imported", answered(blank, lin_grad="from lin_grad import lin_grad", bmm_grad=BMM))
    (folder / "submitted" / "file-imported" / UNIT / "lin_grad.py").write_text(RIGHT)
    (folder / "source" / UNIT / "lin_grad.py").write_text(STUB)  # as a release has it: nbgrader puts it over theirs
    for student, beside in BESIDE.items():
        hand_in(folder, student, done if student == "work-in-both" else blank)
        for name, content in beside(blank).items():
            hand_in(folder, student, content, name)
    other = folder / "source" / OTHER_UNIT / f"{OTHER_UNIT}.ipynb"
    other.parent.mkdir()
    nbformat.write(of_another_unit(), other)
    for student, notebooks in WRONG_NOTEBOOKS.items():
        for name, content in notebooks(blank).items():
            hand_in(folder, student, content, name)
    (folder / "submitted" / "scratch-and-file" / UNIT / "lin_grad.py").write_text(RIGHT)
    (folder / "submitted" / "scratch-and-stub" / UNIT / "lin_grad.py").write_text(STUB)
    return folder, nbgrader("autograde", UNIT, cwd=folder)


BESIDE: dict[str, Any] = {
    "work-in-the-copy": lambda blank: {COPY: right(blank)},
    "work-in-two-copies": lambda blank: {COPY: right(blank), f"{UNIT}-Copy2": answered(blank, lin_grad=PARTLY)},
    "work-in-both": lambda blank: {COPY: answered(blank, lin_grad=PARTLY)},
    "work-in-none": lambda blank: {COPY: blank},
}
OTHER_UNIT = "01_slopes"
SCRATCH = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print(1)")])
WRONG_NOTEBOOKS: dict[str, Any] = {
    "another-unit": lambda blank: {UNIT: of_another_unit()},
    "another-unit-renamed": lambda blank: {OTHER_UNIT: of_another_unit()},
    "another-unit-stripped": lambda blank: {UNIT: stripped(of_another_unit())},
    "another-unit-beside-stub": lambda blank: {UNIT: blank, OTHER_UNIT: with_cell(of_another_unit(), "x = 1")},
    "another-unit-beside-mine": lambda blank: {OTHER_UNIT: of_another_unit(), "mine": right(blank)},
    "another-unit-above-mine": lambda blank: {UNIT: with_cell(of_another_unit(), "x = 1"), "mine": right(blank)},
    "scratch": lambda blank: {"scratch": SCRATCH},
    "scratch-and-file": lambda blank: {UNIT: SCRATCH},
    "scratch-and-stub": lambda blank: {UNIT: SCRATCH},
    "scratch-beside-stub": lambda blank: {UNIT: blank, "scratch": SCRATCH},
    "no-cells": lambda blank: {UNIT: nbformat.v4.new_notebook()},
    "stub-stripped": lambda blank: {"mine": stripped(blank)},
    "titles-alone": lambda blank: {UNIT: with_cells(blank, "lin_grad-title")},
    "lesson-alone": lambda blank: {UNIT: with_cells(blank, "lesson", "handgrad")},
    "both-units": lambda blank: {UNIT: NotebookNode({**blank, "cells": of_another_unit().cells + right(blank).cells})},
}
STUB = (ROOT / "exercises" / UNIT / "lin_grad.py").read_text()
FILES = {
    "file-alone": RIGHT, "file-wrong": RIGHT.replace("sum(0)", "mean(0)"), "file-blank": STUB, "file-and-cell": PARTLY
}  # fmt: skip
IN_THE_FILE = "lin_grad.py beside the notebook counts: no cell answers lin_grad"
BELOW = "cell {} defines lin_grad again below its scores, and is passed over: what stands in cell 2 counts"
BETWEEN = "cell 3 defines lin_grad again: it counts, and not cell 2"
IN_THE_COPY = f"It was handed in as `{COPY}.ipynb`, beside `{UNIT}.ipynb`, which holds no answers."
COPIES = f"`{COPY}.ipynb`, `{UNIT}-Copy2.ipynb`"
WHICH = f"It is not known which notebook is meant (`{UNIT}.ipynb` holds no answers, {COPIES} do)"
OF_ANOTHER = f"The notebook is of another assignment, `{OTHER_UNIT}`: hand in the notebook of `{UNIT}`."
OF_NONE = f"No cell of the notebook defines anything of this assignment: hand in the notebook of `{UNIT}`."
IN_A_CHECK = "Cell `lin_grad-check` was changed, and put back as released: an answer there does not count."
EXPECTED: dict[str, tuple[float | None, str]] = {
    "scratch-below": (ALL, BELOW.format(11)),
    "number-below": (ALL, BELOW.format(11)),
    "scratch-between": (ALL - 3, BETWEEN),
    "number-between": (ALL - 3, BETWEEN),
    "only-below": (ALL, "cell 11 answers lin_grad below its scores, where Validate does not see it"),
    "above-stubs": (ALL, ""),
    "in-the-check": (ALL - 3, IN_A_CHECK),
    "work-in-the-copy": (ALL, IN_THE_COPY),
    "work-in-two-copies": (None, WHICH),
    "work-in-both": (ALL, f"Beside it lies `{COPY}.ipynb`, which was not graded."),
    "work-in-none": (0.0, ""),
    "file-alone": (3.0, IN_THE_FILE),
    "file-wrong": (2.0, IN_THE_FILE),
    "file-blank": (0.0, ""),
    "file-and-cell": (ALL, "lin_grad.py beside the notebook was not graded: the answer in the notebook counts"),
    "file-imported": (ALL, ""),
    "another-unit": (None, OF_ANOTHER),
    "another-unit-renamed": (None, OF_ANOTHER),
    "another-unit-stripped": (None, OF_ANOTHER),
    "another-unit-beside-stub": (0.0, f"Beside it lies `{OTHER_UNIT}.ipynb`, which was not graded."),
    "another-unit-beside-mine": (ALL, f"It was handed in as `mine.ipynb`, not as `{UNIT}.ipynb`."),
    "another-unit-above-mine": (
        ALL,
        f"It was handed in as `mine.ipynb`, beside `{UNIT}.ipynb`, which is not of this assignment.",
    ),
    "scratch": (None, OF_NONE),
    "scratch-and-file": (3.0, IN_THE_FILE),
    "scratch-and-stub": (None, OF_NONE),
    "scratch-beside-stub": (0.0, "Beside it lies `scratch.ipynb`, which was not graded."),
    "no-cells": (None, OF_NONE),
    "stub-stripped": (0.0, f"It was handed in as `mine.ipynb`, not as `{UNIT}.ipynb`."),
    "titles-alone": (0.0, "Missing, and added back: `handgrad`, `lin_grad`"),
    "lesson-alone": (0.0, "Missing, and added back: `lin_grad`, `lin_grad-check`"),
    "both-units": (ALL, "Cells `handgrad`, `lesson` are there more than once"),
}


@pytest.mark.parametrize("student", EXPECTED)
def test_the_answer_that_counts_is_graded_and_others_are_noted_everywhere(graded: tuple[Path, str], student: str):
    folder, said = graded
    points, note = EXPECTED[student]
    assert totals(folder)[student] == points
    place = folder / "autograded" / student / UNIT / f"{UNIT}.ipynb"
    shown = json.dumps(read(place)).replace("\\n", " ")
    (reported,) = (
        entry.notes
        for entry in read_gradebook(f"sqlite:///{folder / 'gradebook.db'}")
        if isinstance(entry, StudentResults) and entry.student == student
    )
    told = comments(folder)[student]["lin_grad"] or ""
    if not note:
        assert "Note:" not in told
        assert reported == ()
        return
    assert note in told
    assert note in said
    assert "".join(note.split()) in "".join(shown.split())
    if points is not None:
        assert any(note in text for text in reported)


@pytest.mark.parametrize("student", ["another-unit-renamed", "scratch"])
def test_a_wrong_notebook_waits_with_one_sentence_that_also_the_student_gets(graded: tuple[Path, str], student: str):
    folder, _ = graded
    says = EXPECTED[student][1]
    assert set(comments(folder)[student].values()) == {says}
    entries = read_gradebook(f"sqlite:///{folder / 'gradebook.db'}")
    (result,) = (entry for entry in entries if isinstance(entry, StudentResults) and entry.student == student)
    assert result.score is None
    assert no_score(result) == f"This could not be graded. No points are lost. {says}"
    shown = read(folder / "autograded" / student / UNIT / f"{UNIT}.ipynb")
    assert "print(1)" in [each.source for each in shown.cells] or student != "scratch", "a person can look at it"


def test_an_assignment_without_exercises_of_handgrad_takes_any_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    own = with_cells(of_another_unit(), "lesson")
    for name, notebook in {"essay": own, OTHER_UNIT: of_another_unit()}.items():
        (tmp_path / "source" / name).mkdir(parents=True)
        nbformat.write(notebook, tmp_path / "source" / name / f"{name}.ipynb")
    assert wrong_notebook(SCRATCH, "essay") == wrong_notebook(of_another_unit(), "essay") == ""
    assert wrong_notebook(SCRATCH, OTHER_UNIT).startswith("No cell of the notebook")


def test_a_helper_that_is_named_like_an_exercise_makes_no_notebook_of_its_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    shapes, engine = "08_shapes", "13_engine"
    for name in (shapes, engine):
        (tmp_path / "source" / name).mkdir(parents=True)
        nbformat.write(of_another_unit(name), tmp_path / "source" / name / f"{name}.ipynb")
    assert "\ndef unbroadcast(" in cell(of_another_unit(engine), "tensor_engine").source
    assert wrong_notebook(of_another_unit(engine), shapes).startswith(
        f"The notebook is of another assignment, `{engine}`"
    )
    assert wrong_notebook(of_another_unit(engine), engine) == wrong_notebook(of_another_unit(shapes), shapes) == ""
    alone = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("def unbroadcast(x): ...")])
    assert wrong_notebook(alone, shapes) == ""


@pytest.mark.parametrize(
    "student", ["scratch-between", "work-in-the-copy", "work-in-two-copies", "another-unit", "scratch"]
)
def test_a_students_page_has_the_note(graded: tuple[Path, str], student: str):
    first = EXPECTED[student][1].partition("`")[0].strip(" (")
    assert first in feedback(graded[0], student)


def test_it_is_not_said_that_no_cell_defines_a_name_that_is_a_number(graded: tuple[Path, str]):
    told = comments(graded[0])["number-between"]["lin_grad"] or ""
    assert "cell 3 binds lin_grad to a value that is not a function: give that value another name" in told


VALIDATED = ("scratch-below", "number-below", "stub-below", "scratch-between", "number-between", "above-stubs")


@pytest.mark.parametrize("student", VALIDATED)
def test_a_kernel_that_runs_the_notebook_gives_the_same_verdicts(
    graded: tuple[Path, str], student: str, worker: Worker, grader: Grader, monkeypatch: pytest.MonkeyPatch
):
    """Validate asks for each score when the cells above it have run."""
    KeptWorker(worker).serve(grader, monkeypatch)
    folder, _ = graded
    notebook = read(folder / "autograded" / student / UNIT / f"{UNIT}.ipynb")
    monkeypatch.chdir(folder.parent)
    kernel, cells, points = KernelSession(), list[str](), 0.0
    try:
        for each in (each for each in notebook.cells if each.cell_type == "code"):
            if each.metadata.get("nbgrader", {}).get("grade"):
                exercise, _, answer = grade_id(each).partition("-")
                _, result = kernel.check(exercise, cells)
                points += next(a.score for a in result.answers if a.name == answer.replace("-", "."))
            else:
                cells.append("" if each.source.startswith("check(") else each.source)
    finally:
        kernel.session.close()
    assert points == totals(folder)[student]


def test_cells_in_reverse_order_are_all_run(graded: tuple[Path, str]):
    folder, _ = graded
    code = [each for each in right(released(folder)).cells if each.cell_type == "code"][::-1]
    exercise = load_course(folder.parent).find("lin_grad")
    assert answer_cells(exercise, code).cells.count("") == 5, "the five scores"


def test_answers_are_what_was_changed_or_added(graded: tuple[Path, str]):
    blank = released(graded[0])
    assert not has_answers(blank)
    assert has_answers(answered(blank, lin_grad=PARTLY))
    assert has_answers(with_cell(blank, "x = 1"))
    assert not has_answers(with_cell(blank, " "))
