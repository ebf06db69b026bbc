"""nbgrader's own commands on a class of more than thirty: right, wrong, untouched, broken, late and hostile."""

from __future__ import annotations

import copy
import csv
import json
import re
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbgrader_class import (
    BMM,
    GRADES,
    RIGHT,
    UNIT,
    answered,
    cell,
    comments,
    hand_in,
    nbgrader,
    read,
    released,
    released_folder,
    rows,
    scores,
    totals,
)

from grader.notebook.source_notebook import grade_id

WRONG = RIGHT.replace("sum(0)", "mean(0)")
PARTLY = "def lin_grad(inp, out, w, b):\n    inp.g = ...\n    w.g = inp.t() @ out.g\n    b.g = ...\n"
DUE = datetime(2030, 1, 10, 12)
ALL = 5.0
Make = Callable[[NotebookNode], NotebookNode | bytes]


def without(*names: str) -> Make:
    def make(notebook: NotebookNode) -> NotebookNode:
        notebook.cells = [each for each in notebook.cells if grade_id(each) not in names]
        return notebook

    return make


def edited(edit: Callable[[NotebookNode], object]) -> Make:
    def make(notebook: NotebookNode) -> NotebookNode:
        edit(notebook)
        return notebook

    return make


def in_another_cell(notebook: NotebookNode) -> None:
    cell(notebook, "lin_grad").source = ""
    notebook.cells.append(nbformat.v4.new_code_cell("%matplotlib inline\n!pip install torch\n" + RIGHT))


def faked(notebook: NotebookNode) -> None:
    """What a kernel would have left behind for full points, and points beyond them."""
    for each in notebook.cells:
        if each.cell_type == "code":
            each.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "3.0"}, execution_count=1)]
            each.metadata.nbgrader["points"] = 100


def retyped(notebook: NotebookNode) -> None:
    for i, each in enumerate(notebook.cells):
        if grade_id(each) in ("lin_grad", "lin_grad-w-g"):
            notebook.cells[i] = nbformat.v4.new_markdown_cell(each.source, metadata=each.metadata)


def stripped(notebook: NotebookNode) -> None:
    for each in notebook.cells:
        each.metadata = {}


def noisy(notebook: NotebookNode) -> None:
    output = nbformat.v4.new_output("stream", text="0123456789\n" * 1_000_000)
    cell(notebook, "lin_grad").outputs = [output]


def schema(notebook: NotebookNode) -> None:
    for each in notebook.cells:
        each.metadata.nbgrader["schema_version"] = 99


SCRIPT = (
    "def lin_grad(inp, out, w, b):\n    raise ValueError('<script>alert(1)</script> <img src=x onerror=alert(2)>')\n"
)
LOOP = "def lin_grad(inp, out, w, b):\n    while True: pass\n"
REPAIRED: dict[str, Make] = {
    "cells-deleted": without("lin_grad-check", "lin_grad-w-g", "lin_grad-b-g", "handgrad", "lesson"),
    "cells-twice": edited(lambda notebook: notebook.cells.extend(copy.deepcopy(notebook.cells))),
    "cells-reversed": edited(lambda notebook: notebook.cells.reverse()),
    "cells-stripped": edited(stripped),
    "cell-retyped": edited(retyped),
    "cell-elsewhere": edited(in_another_cell),
    "cells-edited": edited(lambda notebook: cell(notebook, "lin_grad-w-g").update(source="1 / 0")),
    "output-huge": edited(noisy),
    "output-faked": edited(faked),
    "schema-newer": edited(schema),
}
"""All of these did both exercises right; what else they did to their notebook changes no score."""

WORTH: dict[str, tuple[float, Callable[[NotebookNode], NotebookNode | bytes]]] = {
    **{f"right-{i}": (ALL, lambda notebook: answered(notebook, lin_grad=RIGHT, bmm_grad=BMM)) for i in range(6)},
    **{f"wrong-{i}": (4.0, lambda notebook: answered(notebook, lin_grad=WRONG, bmm_grad=BMM)) for i in range(4)},
    **{f"partly-{i}": (1.0, lambda notebook: answered(notebook, lin_grad=PARTLY)) for i in range(3)},
    **{f"untouched-{i}": (0.0, lambda notebook: notebook) for i in range(2)},
    **{name: (ALL, lambda notebook, make=make: make(answered(notebook, lin_grad=RIGHT, bmm_grad=BMM)))
       for name, make in REPAIRED.items()},
    "broken-json": (0.0, lambda notebook: json.dumps(answered(notebook, lin_grad=RIGHT)).encode()[:-100]),
    "broken-syntax": (2.0, lambda notebook: answered(notebook, lin_grad=RIGHT + "(", bmm_grad=BMM)),
    "broken-nothing": (0.0, lambda notebook: b""),
    "answer-deleted": (2.0, lambda notebook: without("lin_grad")(answered(notebook, bmm_grad=BMM))),
    "answer-emptied": (2.0, lambda notebook: answered(notebook, lin_grad="", bmm_grad=BMM)),
    "answer-loops": (2.0, lambda notebook: answered(notebook, lin_grad=LOOP, bmm_grad=BMM)),
    "answer-scripts": (2.0, lambda notebook: answered(notebook, lin_grad=SCRIPT, bmm_grad=BMM)),
    "late": (ALL, lambda notebook: answered(notebook, lin_grad=RIGHT, bmm_grad=BMM)),
    "renamed": (ALL, lambda notebook: answered(notebook, lin_grad=RIGHT, bmm_grad=BMM)),
}  # fmt: skip


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course in the middle of the term: released, handed in through the exchange, collected, graded, exported."""
    root = tmp_path_factory.mktemp("class")
    folder = released_folder(
        root,
        f"""
c.Exchange.root = {str(root / "exchange")!r}
c.ExchangeCollect.check_owner = False
c.LateSubmissionPlugin.penalty_method = "zero"
c.GenerateFeedback.force = True
""",
    )
    nbgrader("db", "assignment", "add", UNIT, f"--duedate={DUE.isoformat(' ')} UTC", cwd=folder)
    nbgrader("release_assignment", UNIT, cwd=folder)
    assert (root / "exchange" / "small" / "outbound" / UNIT / f"{UNIT}.ipynb").is_file()
    for student, (_, make) in WORTH.items():
        submit(root / "exchange" / "small" / "inbound", student, make(released(folder)))
    nbgrader("collect", UNIT, cwd=folder)
    said = nbgrader("autograde", UNIT, cwd=folder)
    assert "ERROR" not in said, said
    nbgrader("generate_feedback", UNIT, cwd=folder)
    nbgrader("export", cwd=folder)
    return folder


def submit(inbound: Path, student: str, content: NotebookNode | bytes) -> None:
    """Lay a submission into the exchange as `nbgrader submit` does; the late one comes an hour late."""
    when = DUE + timedelta(hours=1 if student == "late" else -1)
    stamp = f"{when.isoformat(' ')}.000000 UTC"
    folder = inbound / f"{student}+{UNIT}+{stamp}+0"
    folder.mkdir()
    name = "Homework (final).ipynb" if student == "renamed" else f"{UNIT}.ipynb"
    (folder / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    (folder / "timestamp.txt").write_text(stamp)


def feedback(course: Path, student: str) -> str:
    return (course / "feedback" / student / UNIT / f"{UNIT}.html").read_text(encoding="utf-8")


def test_everybody_gets_the_points_they_earned(course: Path):
    assert totals(course) == {student: points for student, (points, _) in WORTH.items()}
    assert not any(manual for *_, manual in rows(course, GRADES))


def test_each_answer_has_its_own_points(course: Path):
    assert scores(course)["wrong-0"] == {
        "lin_grad-inp-g": 1.0, "lin_grad-w-g": 1.0, "lin_grad-b-g": 0.0, "bmm_grad-a-g": 1.0, "bmm_grad-b-g": 1.0,
    }  # fmt: skip


def test_a_comment_names_the_mistake_and_gives_a_hint(course: Path):
    told = comments(course)
    assert told["right-0"] == {"lin_grad": None, "bmm_grad": None}
    assert re.fullmatch(
        r"- b\.g: every entry is 1/\d+ of what it should be, and bs = \d+ here \[mean-for-sum\]\n  Hint: Does the .*\?",
        told["wrong-0"]["lin_grad"] or "",
    )
    assert told["untouched-0"]["lin_grad"] == "- inp.g, w.g, b.g: not attempted yet [todo]"
    assert told["partly-0"]["lin_grad"].startswith("- inp.g: not attempted yet [todo]\n- b.g: not attempted")  # type: ignore[union-attr]
    assert "(cell 2, line 6: (" in (told["broken-syntax"]["lin_grad"] or "")
    assert "no cell of the notebook defines lin_grad" in (told["answer-deleted"]["lin_grad"] or "")
    assert "[timeout]" in (told["answer-loops"]["lin_grad"] or "")
    assert "The file is no notebook that can be read" in (told["broken-json"]["bmm_grad"] or "")
    assert "[syntax-error]" in (told["broken-json"]["bmm_grad"] or "")


def test_what_was_repaired_is_explained_in_the_feedback(course: Path):
    for student, says in {
        "cells-deleted": "Missing, and added back: <code>handgrad</code>, <code>lin_grad-check</code>",
        "cells-twice": "are there more than once: all copies are run, the last one counts",
        "cell-retyped": "of another type, which was put right",
        "cells-edited": "<code>lin_grad-w-g</code> was changed",
        "broken-json": "is no notebook that can be read",
        "broken-nothing": "is no notebook that can be read",
        "renamed": "handed in as <code>Homework (final).ipynb</code>",
    }.items():
        assert says in feedback(course, student), student


def test_feedback_shows_scores_comments_and_reports_and_gives_nothing_away(course: Path):
    page = feedback(course, "wrong-1")
    assert "Score: 4.0 / 5.0" in page
    assert "Does the layer average over the batch, or does the loss?" in page
    assert "mean-for-sum" in page
    for student in WORTH:
        body = feedback(course, student).partition("<body")[2]
        assert not re.search(r"\bseed|reference|BEGIN (SOLUTION|HIDDEN)|Traceback|/grader/", body), student
    assert "inp.t() @ out.g" not in feedback(course, "untouched-0")


def test_a_students_text_stays_text_in_the_feedback(course: Path):
    page = feedback(course, "answer-scripts")
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_the_graded_notebook_is_sound_and_shows_each_report_beside_its_answer(course: Path):
    for student in WORTH:
        notebook = read(course / "autograded" / student / UNIT / f"{UNIT}.ipynb")
        nbformat.validate(notebook)
        for name in ("lin_grad", "bmm_grad"):
            (shown,) = cell(notebook, f"{name}-check").outputs
            assert name in shown.data["text/plain"]
        for each in notebook.cells:
            if each.metadata.get("nbgrader", {}).get("grade"):
                (points,) = each.outputs
                assert re.fullmatch(r"[01]\.0", points.data["text/plain"])


def test_the_export_has_scores_and_the_late_penalty(course: Path):
    with open(course / "grades.csv", newline="") as file:
        lines = {line["student_id"]: line for line in csv.DictReader(file)}
    assert len(lines) == len(WORTH) >= 30
    assert {student: float(line["raw_score"]) for student, line in lines.items()} == totals(course)
    assert {float(line["max_score"]) for line in lines.values()} == {ALL}
    assert (lines["late"]["late_submission_penalty"], lines["late"]["score"]) == ("5.0", "0.0")
    assert lines["right-0"]["score"] == "5.0"


def test_graded_again_manual_scores_and_comments_stay(course: Path):
    from nbgrader.api import Gradebook

    url = f"sqlite:///{course / 'gradebook.db'}"
    with Gradebook(url) as gradebook:
        gradebook.find_grade("lin_grad-b-g", UNIT, UNIT, "wrong-2").manual_score = 0.5
        gradebook.find_comment("lin_grad", UNIT, UNIT, "wrong-2").manual_comment = "Nearly."
        gradebook.db.commit()
    nbgrader("autograde", UNIT, "--force", "--student=wrong-2", cwd=course)
    with Gradebook(url) as gradebook:
        grade = gradebook.find_grade("lin_grad-b-g", UNIT, UNIT, "wrong-2")
        assert (grade.auto_score, grade.manual_score, grade.score, grade.needs_manual_grade) == (0.0, 0.5, 0.5, True)
        comment = gradebook.find_comment("lin_grad", UNIT, UNIT, "wrong-2")
        assert comment.comment == "Nearly."
        assert "mean-for-sum" in comment.auto_comment


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course whose instructor added cells of their own: a question, and a test with a secret."""
    folder = released_folder(tmp_path_factory.mktemp("extended"))
    path = folder / "source" / UNIT / f"{UNIT}.ipynb"
    notebook = read(path)
    record = {"schema_version": 3, "grade": True, "solution": True, "locked": False, "task": False, "points": 2}
    essay = nbformat.v4.new_markdown_cell("Why?", metadata={"nbgrader": {**record, "grade_id": "essay"}})
    secret = "assert lin_grad.__name__ != 'the-secret'"
    test = nbformat.v4.new_code_cell(
        secret, metadata={"nbgrader": {**record, "solution": False, "locked": True, "grade_id": "mine"}}
    )
    notebook.cells += [essay, test]
    nbformat.write(notebook, path)
    nbgrader("generate_assignment", UNIT, "--force", cwd=folder)
    for student, answer in {"ann": RIGHT, "bob": "raise ValueError(open('/proc/self/maps').read())"}.items():
        handed = answered(released(folder), lin_grad=answer)
        cell(handed, "essay").source = "Because."
        hand_in(folder, student, handed)
    return folder


def test_what_is_not_handgrads_to_grade_is_left_to_a_person(extended: Path):
    said = nbgrader("autograde", UNIT, cwd=extended)
    assert "to be graded by hand: mine" in said
    waiting = {(student, name): (score, manual) for student, name, score, _, manual in rows(extended, GRADES)}
    for student in ("ann", "bob"):
        assert waiting[student, "mine"] == waiting[student, "essay"] == (None, 1)
    assert waiting["ann", "lin_grad-w-g"] == (1.0, 0)
    assert waiting["bob", "lin_grad-w-g"] == (0.0, 0)


FAILING = """
import sys
from grader.judging import grading
from grader.diagnosis.diagnose import Diagnosis
from grader.judging.judge import same_for_every_answer

whole = grading.Grader.grade_cells

def graded(self, exercise, cells, worker):
    if any("ValueError" in cell for cell in cells):
        return same_for_every_answer(exercise, Diagnosis("error", "no disk"), "error")
    return whole(self, exercise, cells, worker)

grading.Grader.grade_cells = graded
"""


def under_another_configuration(extended: Path, folder: Path, more: str) -> Path:
    """A copy of the course, with lines added to its configuration."""
    shutil.copytree(extended, folder, ignore=shutil.ignore_patterns("autograded"))
    with (folder / "nbgrader_config.py").open("a") as settings:
        settings.write(more)
    return folder


def test_a_grader_that_fails_gives_no_zero_and_the_next_student_is_graded(extended: Path, tmp_path: Path):
    """nbgrader reports the submission as one that could not be graded, and its points stay open."""
    folder = under_another_configuration(extended, tmp_path / "nb", FAILING)
    (folder / "gradebook.db").unlink()
    nbgrader("generate_assignment", UNIT, "--force", cwd=folder)
    said = nbgrader("autograde", UNIT, cwd=folder, fails=True)
    assert "There was an error processing assignment '04_linear' for student 'bob'" in said
    assert "for student 'ann'" not in said
    assert "lin_grad could not be graded: no disk" in said
    found = {(student, name): (score, manual) for student, name, score, _, manual in rows(folder, GRADES)}
    assert found["bob", "lin_grad-w-g"] == (None, 1)
    assert found["ann", "lin_grad-w-g"] == (1.0, 0)
    assert (folder / "autograded" / "ann" / UNIT / f"{UNIT}.ipynb").exists()
    assert not (folder / "autograded" / "bob" / UNIT).exists()


def test_without_isolation_nothing_is_graded_and_one_sentence_says_why(extended: Path, tmp_path: Path):
    lacking = "\nimport grader.child.landlock\ngrader.child.landlock.abi = lambda: 0\n"
    folder = under_another_configuration(extended, tmp_path / "nb", lacking)
    before = rows(folder, GRADES)
    said = nbgrader("autograde", UNIT, cwd=folder, fails=True)
    assert "the kernel offers no Landlock" in said
    assert 'c.SecureExecute.isolation = "none"' in said
    assert "Traceback" not in said
    assert not (folder / "autograded").exists()
    assert rows(folder, GRADES) == before
    said = nbgrader("autograde", UNIT, "--SecureExecute.isolation=none", "--SecureExecute.seed=7", cwd=folder)
    assert "NO ISOLATION" in said
    assert "Trials are drawn from seed 7" in said
    assert {student: cells["lin_grad-w-g"] for student, cells in scores(folder).items()} == {"ann": 1.0, "bob": 0.0}
