"""nbgrader's own commands on a class: right, wrong, untouched, broken, late and hostile."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from helpers.nbgrader_class import (
    GRADES,
    RIGHT,
    UNIT,
    answered,
    cell,
    comments,
    copied,
    hand_in,
    nbgrader,
    read,
    released,
    released_folder,
    rows,
    scores,
    totals,
)
from helpers.nbgrader_students import ALL, SOME_WORTH, NbgraderClass, Worth, feedback

from grader.course.course import CourseExercise
from grader.diagnosis.mistake import Mistake
from grader.judging.grading import Grader
from grader.judging.judge import same_for_every_answer
from grader.results.records import ExerciseResult
from grader.sandbox.worker import Worker

pytestmark = pytest.mark.slow

LOOP = "def lin_grad(inp, out, w, b):\n    while True: pass\n"


@pytest.fixture(scope="module")
def course(graded_class: NbgraderClass) -> Path:
    """The nbgrader folder of the class."""
    return graded_class.folder


@pytest.fixture(scope="module")
def students() -> Worth:
    """Some of those who hand in; all are in thorough/test_nbgrader_processes.py."""
    return SOME_WORTH


@pytest.fixture(scope="module")
def pages() -> Iterable[str]:
    """Some of those whose feedback is read: nbgrader makes a page when it is first asked for."""
    return [*SOME_WORTH][::4]


def test_everybody_gets_the_points_they_earned(course: Path, students: Worth):
    found = totals(course)
    assert {student: found[student] for student in students} == {
        student: points for student, (points, _) in students.items()
    }
    assert len(found) > len(students), "who forges, and who lays traps, is graded too"
    waiting = {student for student, *_, manual in rows(course, GRADES) if manual}
    assert waiting == {student for student, points in found.items() if points is None}


def test_each_answer_has_its_own_points(course: Path):
    assert scores(course)["wrong"] == {
        "lin_grad-inp-g": 1.0, "lin_grad-w-g": 1.0, "lin_grad-b-g": 0.0, "bmm_grad-a-g": 1.0, "bmm_grad-b-g": 1.0,
    }  # fmt: skip


def test_a_comment_names_the_mistake_and_gives_a_hint(course: Path):
    told = comments(course)
    assert told["right"] == {"lin_grad": None, "bmm_grad": None}
    assert re.fullmatch(
        r"- b\.g: every entry is 1/\d+ of what it should be, and bs = \d+ here \[mean-for-sum\]\n"
        r"  Hint: Does the forward pass take a mean .*\?",
        told["wrong"]["lin_grad"] or "",
    )
    assert told["untouched"]["lin_grad"] == "- inp.g, w.g, b.g: not attempted yet [todo]"
    assert told["partly"]["lin_grad"].startswith("- inp.g: not attempted yet [todo]\n- b.g: not attempted")  # type: ignore[union-attr]
    assert "(cell 2, line 6: (" in (told["broken-syntax"]["lin_grad"] or "")
    assert "no cell of the notebook defines lin_grad" in (told["answer-deleted"]["lin_grad"] or "")
    assert "The file is no notebook that can be read" in (told["broken-json"]["bmm_grad"] or "")
    assert "[" not in (told["broken-json"]["bmm_grad"] or ""), "it is no mistake, and a person has to look"


def test_feedback_shows_scores_comments_and_reports_and_gives_nothing_away(course: Path, pages: Iterable[str]):
    page = feedback(course, "wrong")
    assert "Score: 4.0 / 5.0" in page
    assert "Does the forward pass take a mean here at all?" in page
    assert "mean-for-sum" in page
    for student in pages:
        body = feedback(course, student).partition("<body")[2]
        assert not re.search(r"\bseed|reference|BEGIN (SOLUTION|HIDDEN)|Traceback|/grader/", body), student
    assert "inp.t() @ out.g" not in feedback(course, "untouched")


def test_feedback_begins_with_the_points_of_each_exercise(course: Path):
    page = feedback(course, "wrong").partition("<body")[2]
    first, last = page.index('<div class="points">'), page.index("Student's answer")
    assert '<a href="#comment-lin_grad">lin_grad</a></th>' in page[first:last]
    assert "<b>4</b> of 5 points" in page[first:last]
    assert "The lesson</summary>" in page[:last]


def test_nothing_is_warned_of_while_feedback_is_made(course: Path):
    said = nbgrader("generate_feedback", UNIT, "--student=right", cwd=course)
    assert [line for line in said.splitlines() if "WARNING" in line and "Removing existing" not in line] == []


def test_a_students_text_is_escaped_in_the_feedback(course: Path):
    page = feedback(course, "answer-scripts")
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_the_graded_notebook_is_sound_and_shows_each_report_beside_its_answer(course: Path, students: Worth):
    for student, (earned, _) in students.items():
        notebook = read(course / "autograded" / student / UNIT / f"{UNIT}.ipynb")
        nbformat.validate(notebook)
        if earned is None:
            continue
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
    assert {student: float(line["raw_score"]) for student, line in lines.items()} == {
        student: points or 0.0 for student, points in totals(course).items()
    }
    assert {float(line["max_score"]) for line in lines.values()} == {ALL}
    assert (lines["late"]["late_submission_penalty"], lines["late"]["score"]) == ("5.0", "0.0")
    assert lines["right"]["score"] == "5.0"


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


def left_to_a_person(folder: Path, said: str) -> None:
    """Check that the instructor's own cells wait for a person, and that ours do not."""
    assert "to be graded by hand: mine" in said
    waiting = {(student, name): (score, manual) for student, name, score, _, manual in rows(folder, GRADES)}
    for student in ("ann", "bob"):
        assert waiting[student, "mine"] == waiting[student, "essay"] == (None, 1)
    assert waiting["ann", "lin_grad-w-g"] == (1.0, 0)
    assert waiting["bob", "lin_grad-w-g"] == (0.0, 0)


def a_copy_of(extended: Path, root: Path) -> Path:
    """The course with the instructor's own cells, to be graded; nothing of it is yet."""
    return copied(extended, root, "ann", "bob")


def fail_at_value_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the grader itself fail at each notebook that raises a `ValueError`."""
    whole = Grader.grade

    def graded(
        self: Grader, exercise: CourseExercise, content: list[str], worker: Worker, **options: Any
    ) -> ExerciseResult:
        if any("ValueError" in cell for cell in content):
            return same_for_every_answer(exercise, Mistake("error", "no disk"), "error")
        return whole(self, exercise, content, worker, **options)

    monkeypatch.setattr(Grader, "grade", graded)
