"""Plain files graded into nbgrader's gradebook: scores, comments, late penalties, pages, feedback, export."""

from __future__ import annotations

import csv
import json
import os
import shutil
import unicodedata
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
import pytest
from helpers.grading import words_of
from helpers.nbgrader_class import (
    BMM,
    GRADES,
    RIGHT,
    ROOT,
    UNIT,
    cell,
    comments,
    handgrad,
    nbgrader,
    read,
    rows,
    scores,
    small_course,
    totals,
)
from nbgrader.api import Gradebook

from grader.authoring.build import worked_text
from grader.classroom.class_folder import find_submissions
from grader.classroom.exercise_names import ExerciseNames
from grader.classroom.results_folder import result_file
from grader.classroom.student_results import Note
from grader.classroom.submissions import SubmissionContent
from grader.course.course import Course, load_course
from grader.nbgrader.course_folder import build_folder
from grader.nbgrader.gradebook_entry import open_gradebook, write_class
from grader.nbgrader.gradebook_results import read_gradebook
from grader.results.records import AnswerResult, ExerciseResult

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_pool")]

WRONG = RIGHT.replace("sum(0)", "mean(0)")
ODD = "zoë <b>&'"
URL = "sqlite:///gradebook.db"
LIN = ("lin_grad-inp-g", "lin_grad-w-g", "lin_grad-b-g")


def hand_in(course: Path, student: str, **files: str) -> Path:
    folder = course / "submissions" / student / UNIT
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.py").write_text(content)
    return folder


def open_book(course: Path) -> Any:
    return Gradebook(f"sqlite:///{course / 'gradebook.db'}", "small")


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course folder that is an nbgrader course folder too, a class handed in and graded into its gradebook."""
    root = tmp_path_factory.mktemp("book") / "course"
    build_folder(small_course(root), root)
    with (root / "nbgrader_config.py").open("a") as settings:
        settings.write('\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    hand_in(root, "ann", lin_grad=RIGHT, bmm_grad=BMM)
    hand_in(root, "bob", lin_grad=WRONG)
    (hand_in(root, ODD, lin_grad="raise ValueError('<script>alert(1)</script>')\n", extra="") / "timestamp.txt").touch()
    late = hand_in(root, "late", lin_grad=RIGHT, bmm_grad=BMM)
    (late / "timestamp.txt").write_text("2030-01-10 13:00:00.000000 UTC")
    with open_book(root) as gradebook:
        gradebook.add_assignment(UNIT, duedate=datetime(2030, 1, 10, 12))
    said = handgrad("grade", "submissions", "--workers", "1", "--out", "out", "--gradebook", URL, cwd=root)
    assert f"Entered in {URL}: 4 students ({UNIT})." in said
    return root


@pytest.fixture
def own(graded: Path, tmp_path: Path) -> Path:
    """A copy of the graded course, to change something in."""
    return shutil.copytree(graded, tmp_path / "own")


def test_scores_and_comments_are_those_of_the_results(graded: Path):
    assert totals(graded) == {"ann": 5.0, "bob": 2.0, ODD: 0.0, "late": 5.0}
    assert scores(graded)["bob"] == dict(zip(LIN, (1.0, 1.0, 0.0), strict=True)) | {
        "bmm_grad-a-g": 0,
        "bmm_grad-b-g": 0,
    }
    told = comments(graded)
    assert told["ann"] == {"lin_grad": None, "bmm_grad": None}
    assert "[mean-for-sum]\n  Hint: " in (told["bob"]["lin_grad"] or "")
    assert "[todo]" in (told["bob"]["bmm_grad"] or "")
    assert "`ValueError: <script>" in (told[ODD]["lin_grad"] or "")
    assert {manual for _, _, _, manual, _ in rows(graded, GRADES)} == {None}


def test_late_penalties_feedback_and_export_are_nbgraders_own(own: Path):
    nbgrader("generate_feedback", UNIT, cwd=own)
    nbgrader("export", cwd=own)
    with open(own / "grades.csv", newline="") as file:
        lines = {line["student_id"]: line for line in csv.DictReader(file)}
    assert {name: (line["raw_score"], line["score"]) for name, line in lines.items()} == {
        "ann": ("5.0", "5.0"), "bob": ("2.0", "2.0"), ODD: ("0.0", "0.0"), "late": ("5.0", "0.0"),
    }  # fmt: skip
    page = (own / "feedback" / "bob" / UNIT / f"{UNIT}.html").read_text(encoding="utf-8")
    assert "Score: 2.0 / 5.0" in page
    assert "Does the forward pass take a mean here at all?" in page
    assert "<script>alert" not in (own / "feedback" / ODD / UNIT / f"{UNIT}.html").read_text(encoding="utf-8")


def test_a_page_shows_the_files_with_their_verdicts(graded: Path):
    for student in ("ann", "bob", ODD, "late"):
        nbformat.validate(read(graded / "autograded" / student / UNIT / f"{UNIT}.ipynb"))
    page = read(graded / "autograded" / "bob" / UNIT / f"{UNIT}.ipynb")
    assert cell(page, "lin_grad").source == WRONG
    assert cell(page, "bmm_grad").source == "# Nothing was handed in for this exercise."
    assert cell(page, "lin_grad-b-g").outputs[0].data["text/plain"] == "0.0"
    assert "[mean-for-sum]" in cell(page, "lin_grad-check").outputs[0].data["text/plain"]
    assert "every entry is 1/" in cell(page, "lin_grad-check").outputs[0].data["text/plain"]
    odd = read(graded / "autograded" / ODD / UNIT / f"{UNIT}.ipynb")
    assert f"{UNIT}/extra.py was ignored" in odd.cells[0].source


def test_entering_a_class_again_keeps_manual_scores(own: Path):
    before = rows(own, GRADES)
    with open_book(own) as gradebook:
        gradebook.find_grade("lin_grad-b-g", UNIT, UNIT, "bob").manual_score = 0.5
        gradebook.find_grade("lin_grad-w-g", UNIT, UNIT, "bob").extra_credit = 0.25
        gradebook.find_comment("lin_grad", UNIT, UNIT, "bob").manual_comment = "Nearly."
        gradebook.db.commit()
    said = handgrad("grade", "submissions", "--workers", "1", "--out", "out", "--gradebook", URL, cwd=own)
    assert "0 submissions graded, 4 unchanged and kept" in said
    with open_book(own) as gradebook:
        grade = gradebook.find_grade("lin_grad-b-g", UNIT, UNIT, "bob")
        assert (grade.auto_score, grade.manual_score, grade.score, grade.needs_manual_grade) == (0.0, 0.5, 0.5, True)
        assert gradebook.find_grade("lin_grad-w-g", UNIT, UNIT, "bob").score == 1.25
        assert gradebook.find_comment("lin_grad", UNIT, UNIT, "bob").comment == "Nearly."
        for name in ("lin_grad-b-g", "lin_grad-w-g"):
            grade = gradebook.find_grade(name, UNIT, UNIT, "bob")
            grade.manual_score = grade.extra_credit = None
            grade.needs_manual_grade = False
        gradebook.db.commit()
    assert rows(own, GRADES) == before


def test_a_student_whom_the_gradebook_has_in_another_unicode_spelling_is_no_second_one(own: Path):
    """nbgrader keeps the name of a folder that macOS made."""
    spelling = unicodedata.normalize("NFD", "käthe")
    with open_book(own) as gradebook:
        gradebook.update_or_create_student(spelling)
    hand_in(own, "käthe", lin_grad=RIGHT)
    handgrad("grade", "submissions", "--workers", "1", "--out", "out", "--gradebook", URL, cwd=own)
    with open_book(own) as gradebook:
        students = [student.id for student in gradebook.students if student.id.endswith("the")]
        assert students == [spelling]
        assert gradebook.find_submission(UNIT, spelling).score == 3.0


def test_a_quiz_alone_is_entered_with_a_score_for_each_question(tmp_path: Path):
    listed = small_course(tmp_path).root / "course.yaml"
    listed.write_text(listed.read_text() + "    quiz: 4.75\n")
    course = load_course(tmp_path)
    build_folder(course, tmp_path)
    quiz = course.find(f"quiz_{UNIT}")
    solved = worked_text(quiz).replace("what_is_g: attribute", "what_is_g: grad")
    folder = hand_in(course.root, "ann")
    (folder / "quiz.yaml").write_text(solved)
    handgrad("grade", "submissions", "--workers", "1", "--out", "out", "--gradebook", URL, cwd=tmp_path)
    found = {name: score for name, score in scores(tmp_path)["ann"].items() if name.startswith(quiz.id)}
    assert found == {f"{quiz.id}-{name}": 0.0 if name == "what_is_g" else 0.25 for name in quiz.quiz.questions}
    said = comments(tmp_path)["ann"][quiz.id] or ""
    assert said.startswith(
        '- what_is_g: `grad` is not it: "Another name for inp.grad, which PyTorch fills." PyTorch knows nothing of .g.'
    )
    assert "[wrong-attribute]" in said
    page = read(tmp_path / "autograded" / "ann" / UNIT / f"{UNIT}.ipynb")
    assert cell(page, quiz.id).source == solved


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return small_course(tmp_path / "course")


def lin_grad_results(*answers: AnswerResult) -> list[ExerciseResult]:
    return [ExerciseResult("lin_grad", UNIT, answers)]


def entered(
    course: Course, url: str, student: str, submission: SubmissionContent, results: list[ExerciseResult]
) -> None:
    with open_gradebook(course, url) as entry:
        entry.write_student(student, course.root, submission, results)


def test_an_error_is_left_to_manual_grading(course: Course, tmp_path: Path):
    failed = AnswerResult("w.g", "error", 0.0, 1.0, "error", "no worker")
    right = AnswerResult("b.g", "passed", 1.0, 1.0)
    submission = SubmissionContent({"lin_grad": b""})
    entered(course, f"sqlite:///{tmp_path / 'gradebook.db'}", "ann", submission, lin_grad_results(failed, right))
    found = {name: (score, waits) for _, name, score, _, waits in rows(tmp_path, GRADES)}
    assert found["lin_grad-w-g"] == (None, 1)
    assert found["lin_grad-b-g"] == (1.0, 0)


def test_a_unit_without_a_submission_stays_unchanged(course: Course, tmp_path: Path):
    entered(course, f"sqlite:///{tmp_path / 'gradebook.db'}", "ann", SubmissionContent({}), lin_grad_results())
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as gradebook:
        assert gradebook.assignments == []
        assert [student.id for student in gradebook.students] == ["ann"], "everybody has a row"


def test_whose_points_become_fewer_is_named(own: Path):
    """A file beside a notebook replaces its points, and so may a wrong answer those of a right one."""
    with open_book(own) as gradebook:
        gradebook.find_grade("lin_grad-b-g", UNIT, UNIT, "late").manual_score = 1.0
        gradebook.find_grade("lin_grad-b-g", UNIT, UNIT, "ann").manual_score = 0.5
        gradebook.find_grade("lin_grad-w-g", UNIT, UNIT, "ann").extra_credit = 0.25
        gradebook.db.commit()
    for student in ("ann", "late"):
        (own / "submissions" / student / UNIT / "bmm_grad.py").unlink()
    hand_in(own, "late", lin_grad=WRONG, bmm_grad=BMM)
    said = handgrad("grade", "submissions", "--workers", "1", "--out", "out", "--gradebook", URL, cwd=own)
    told = f"Fewer points than before in {URL}: ann {UNIT} (4.75 before, 2.75 now); of a notebook and files of the same"
    assert told in said
    assert "Fewer points" not in handgrad(
        "grade", "submissions", "--workers", "1", "--out", "out", "--gradebook", URL, cwd=own
    )


def test_blanks_do_not_replace_what_was_graded_before(course: Course, tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    submission, todo = SubmissionContent({"lin_grad": b""}), AnswerResult("w.g", "todo", 0.0, 1.0, "todo", "to do")
    entered(course, url, "ann", submission, lin_grad_results(AnswerResult("w.g", "passed", 1.0, 1.0)))
    with open_gradebook(course, url) as entry:
        entry.write_student("ann", course.root, submission, lin_grad_results(todo))
        entry.write_student("bob", course.root, submission, lin_grad_results(todo))
        assert entry.blank == [("ann", UNIT)]
    assert [scores(tmp_path)[name]["lin_grad-w-g"] for name in ("ann", "bob")] == [1.0, 0.0]
    entered(
        course, url, "ann", submission, lin_grad_results(AnswerResult("w.g", "failed", 0.0, 1.0, "unknown", "wrong"))
    )
    assert scores(tmp_path)["ann"]["lin_grad-w-g"] == 0.0


def test_names_that_are_not_utf_8_are_different_students(course: Course, tmp_path: Path):
    (tmp_path / "out").mkdir()
    for name, score in ((b"eve\xfe", 1.0), (b"eve\xff", 0.0), (rb"eve\xfe", 0.0)):
        folder = tmp_path / "in" / os.fsdecode(name)
        (folder / UNIT).mkdir(parents=True)
        (folder / UNIT / "lin_grad.py").touch()
        results = lin_grad_results(AnswerResult("w.g", "passed" if score else "failed", score, 1.0))
        result_file(tmp_path / "out", folder.name).write_text(
            json.dumps({"exercises": [result.record for result in results]})
        )
    submissions = find_submissions(course, tmp_path / "in", tmp_path / "out").submissions
    names = ExerciseNames(course, course.exercises)
    write_class(names, f"sqlite:///{tmp_path / 'gradebook.db'}", submissions, tmp_path / "out")
    found = {name: each["lin_grad-w-g"] for name, each in scores(tmp_path).items()}
    assert found == {r"eve\xfe": 1.0, r"eve\xff": 0.0, r"eve\\xfe": 0.0}


def test_points_that_an_instructor_changed_are_used(course: Course, tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    answers = AnswerResult("w.g", "passed", 1.0, 1.0), AnswerResult("b.g", "failed", 0.0, 1.0, "unknown", "wrong")
    entered(course, url, "ann", SubmissionContent({"lin_grad": b""}), lin_grad_results(*answers))
    with Gradebook(url) as gradebook:
        gradebook.find_grade_cell("lin_grad-w-g", UNIT, UNIT).max_score = 10.0
        gradebook.db.commit()
    entered(course, url, "ann", SubmissionContent({"lin_grad": b""}), lin_grad_results(*answers))
    assert scores(tmp_path)["ann"]["lin_grad-w-g"] == 10.0


def test_an_exercise_missing_from_a_released_notebook_is_added_for_all(course: Course, tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    submission = SubmissionContent({"lin_grad": b""})
    results = lin_grad_results(AnswerResult("w.g", "passed", 1.0, 1.0))
    whole = (course.root / "course.yaml").read_text()
    (course.root / "course.yaml").write_text(whole.replace("      - {id: bmm_grad, points: 2}\n", ""))
    entered(load_course(course.root), url, "ann", submission, results)
    assert set(scores(tmp_path)["ann"]) == set(LIN)
    entered(course, url, "bob", submission, results)
    for student in ("ann", "bob"):
        assert set(scores(tmp_path)[student]) == {*LIN, "bmm_grad-a-g", "bmm_grad-b-g"}
        assert set(comments(tmp_path)[student]) == {"lin_grad", "bmm_grad"}


def change_points(root: Path, old: str, new: str) -> None:
    listed = root / "course.yaml"
    assert old in listed.read_text()
    listed.write_text(listed.read_text().replace(old, new))


def maxima(root: Path) -> dict[str, float]:
    with open_book(root) as gradebook:
        return {cell.name: cell.max_score for cell in gradebook.find_notebook(UNIT, UNIT).grade_cells}


def outdated(root: Path) -> list[str]:
    url = f"sqlite:///{root / 'gradebook.db'}"
    return [entry.text for entry in read_gradebook(url) if isinstance(entry, Note)]


def test_points_that_changed_in_the_course_are_entered_and_named_until_then(tmp_path: Path):
    """A class of plain files kept the old points and maximum for ever, and no command said so."""
    root = small_course(tmp_path / "course").root
    for student in ("ann", "bob"):
        hand_in(root, student, lin_grad=RIGHT)
    hand_in(root, "cat", lin_grad=WRONG, bmm_grad=BMM)
    words = ("grade", "submissions", "--workers", "1", "--gradebook", URL)
    handgrad(*words, cwd=root)
    assert totals(root) == {"ann": 3.0, "bob": 3.0, "cat": 4.0}
    change_points(root, "points: 3", "points: 9")
    told = f"handgrad: {UNIT}: graded with other points than the course has now: ann, bob, cat. To enter them: "
    assert told in handgrad("report", "--gradebook", URL, cwd=root)
    assert told in handgrad("export", "--gradebook", URL, "--to", "vpl", cwd=root, code=1)
    shutil.rmtree(root / "submissions" / "bob")
    hand_in(root, "dan", lin_grad=RIGHT)
    handgrad(*words, cwd=root)
    assert maxima(root) == dict.fromkeys(LIN, 3.0) | {"bmm_grad-a-g": 1.0, "bmm_grad-b-g": 1.0}
    assert totals(root) == {"ann": 9.0, "bob": 9.0, "cat": 8.0, "dan": 9.0}, "bob's work is not in this run"
    assert outdated(root) == []
    assert "other points" not in handgrad("report", "--gradebook", URL, cwd=root)
    handgrad("export", "--gradebook", URL, "--to", "vpl", cwd=root)
    change_points(root, "points: 9", "points: 1.5")
    handgrad(*words, cwd=root)
    assert totals(root) == {"ann": 1.5, "bob": 1.5, "cat": 3.0, "dan": 1.5}


def test_changed_points_change_late_penalties_and_no_manual_scores(own: Path):
    """The folder is one that init made, and nothing of it was released."""
    with open_book(own) as gradebook:
        gradebook.find_grade("lin_grad-b-g", UNIT, UNIT, "bob").manual_score = 0.5
        gradebook.db.commit()
    change_points(own, "points: 3", "points: 9")
    shutil.rmtree(own / "submissions" / "late")
    handgrad("grade", "submissions", "--workers", "1", "--out", "out", "--gradebook", URL, cwd=own)
    assert totals(own) == {"ann": 11.0, "bob": 6.0, ODD: 0.0, "late": 11.0}
    with open_book(own) as gradebook:
        late = gradebook.find_submission(UNIT, "late")
        assert (late.score, late.late_submission_penalty) == (11.0, 11.0)
        assert gradebook.find_grade("lin_grad-b-g", UNIT, UNIT, "bob").score == 0.5
    assert outdated(own) == []


def test_points_of_an_exercise_that_was_added_later_are_entered(course: Course, tmp_path: Path):
    """Its title is not in the gradebook, which could tell what its points were."""
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    submission = SubmissionContent({"lin_grad": b"", "bmm_grad": b""})
    results = [*lin_grad_results(), ExerciseResult("bmm_grad", UNIT, (AnswerResult("a.g", "passed", 1.0, 1.0),))]
    line = "      - {id: bmm_grad, points: 2}\n"
    change_points(course.root, line, "")
    entered(load_course(course.root), url, "ann", submission, lin_grad_results())
    listed = course.root / "course.yaml"
    listed.write_text(listed.read_text() + line)
    entered(load_course(course.root), url, "ann", submission, results)
    change_points(course.root, "points: 2", "points: 8")
    entered(load_course(course.root), url, "bob", submission, results)
    assert {student: each["bmm_grad-a-g"] for student, each in scores(tmp_path).items()} == {"ann": 4.0, "bob": 4.0}


def test_two_assignments_with_one_unit_are_not_entered_in_one_gradebook(tmp_path: Path):
    """The one that was graded last replaced the points of the other, without a word."""
    root = small_course(tmp_path / "course").root
    hand_in(root, "ann", lin_grad=RIGHT)
    shutil.copytree(root / "submissions", root / "later")
    (root / "later" / "ann" / UNIT / "lin_grad.py").write_text(WRONG)
    assignments = f"  one: {{submissions: submissions, units: [4]}}\n  two: {{submissions: later, units: [{UNIT}]}}\n"
    (root / "class.yaml").write_text(f"assignments:\n{assignments}")
    handgrad("grade", "one", "--workers", "1", "--gradebook", URL, cwd=root)
    says = f"has the points of one for {UNIT}, and two would replace them: name another gradebook for two, such as"
    for url in (URL, f"sqlite:///{root / 'gradebook.db'}"):
        said = handgrad("grade", "two", "--workers", "1", "--gradebook", url, cwd=root, code=2)
        assert f"{says} sqlite:///two.db" in said
    assert not (root / "grades" / "two").exists(), "it is refused before anything is graded"
    handgrad("grade", "two", "--workers", "1", "--gradebook", "sqlite:///two.db", cwd=root)
    handgrad("grade", "one", "--workers", "1", "--gradebook", URL, cwd=root)
    assert totals(root) == {"ann": 3.0}
    (root / "gradebook.db").unlink()
    handgrad("grade", "two", "--workers", "1", "--gradebook", URL, cwd=root)
    assert totals(root) == {"ann": 2.0}


@pytest.mark.parametrize("what", ["copied", "renamed", "without its grades", "another name", "a folder"])
def test_a_gradebook_knows_whose_points_it_has_wherever_it_is(tmp_path: Path, what: str):
    """They were known by the absolute path of the gradebook alone, and replaced after a move, without a word."""
    root, book = small_course(tmp_path / "course").root, "gradebook.db"
    hand_in(root, "ann", lin_grad=RIGHT)
    shutil.copytree(root / "submissions", root / "later")
    (root / "later" / "ann" / UNIT / "lin_grad.py").write_text(WRONG)
    assignments = "assignments:\n  one: {submissions: submissions}\n  two: {submissions: later}\n"
    (root / "class.yaml").write_text(assignments)
    handgrad("grade", "one", "--workers", "1", "--gradebook", URL, cwd=root)
    name, says = "two", f"has the points of one for {UNIT}, and two would replace them: name another gradebook for two"
    if what == "copied":
        root = Path(shutil.copytree(root, tmp_path / "server" / "course"))
    elif what == "renamed":
        (root / "gradebook.db").rename(root / (book := "restored.db"))
    elif what == "without its grades":
        shutil.rmtree(root / "grades")
    elif what == "another name":
        (root / "class.yaml").write_text(assignments.replace("one:", "uno:"))
        says += ", such as sqlite:///two.db; or, if two was called one, call it so again in class.yaml"
    else:
        name = "later"
        says = f"has the points of one for {UNIT}, and these submissions, which are no assignment's, would replace them"
    said = handgrad("grade", name, "--workers", "1", "--gradebook", f"sqlite:///{book}", cwd=root, code=2)
    assert says in said
    with Gradebook(f"sqlite:///{root / book}", "small") as gradebook:
        assert gradebook.find_submission(UNIT, "ann").score == 3.0
        gradebook.remove_submission(UNIT, "ann")
    handgrad("grade", name, "--workers", "1", "--gradebook", f"sqlite:///{book}", cwd=root)
    with Gradebook(f"sqlite:///{root / book}", "small") as gradebook:
        assert gradebook.find_submission(UNIT, "ann").score == 2.0


def test_points_of_a_person_can_be_entered_in_formgrader(tmp_path: Path):
    """Who had points from a person, and no file of the unit, had nothing in the gradebook to give the points for."""
    root = small_course(tmp_path / "course").root
    listing = root / "course.yaml"
    listing.write_text(
        f"{listing.read_text()}  - id: 01_slopes\n    title: S\n    exercises:\n      - {{id: slope, points: 1}}\n"
    )
    for part in ("exercises", "solutions"):
        shutil.copytree(ROOT / part / "01_slopes", root / part / "01_slopes")
    hand_in(root, "ann", lin_grad=WRONG)
    students = ("emp", *(f"gus{number}" for number in range(5)))
    for student in students:
        hand_in(root, student)
    due = "due: 2026-04-01, late: {per_day: 0.5}"
    (root / "class.yaml").write_text(f"roster: people.csv\nassignments:\n  hw: {{submissions: submissions, {due}}}\n")
    (root / "people.csv").write_text("login,handed_in\nann,2026-04-02T09:00\nemp,\n")
    lines = "".join(f"hw,{student},,1,oral\n" for student in students)
    (root / "adjustments.csv").write_text(f"assignment,student,exercise,points,reason\nhw,ann,slope,1,oral\n{lines}")
    said = handgrad("grade", "hw", "--workers", "1", "--gradebook", URL, cwd=root)
    named = "ann, emp, gus0, gus1, gus2, gus3, gus4"
    assert f"Adjustments are not entered in {URL}: enter them in formgrader, for {named}." in said
    assert f"Lateness is not entered in {URL}, where nbgrader's late penalty counts: here it costs 1 student" in said
    with open_book(root) as gradebook:
        for unit, points in ((UNIT, 2.0), ("01_slopes", 0.0)):
            assert gradebook.find_submission(unit, "ann").score == points
            assert {gradebook.find_submission(unit, student).score for student in students} == {0.0}


ADDRESSES = {
    "no address": ("gradebook.db", "takes the address of a database, such as sqlite:///gradebook.db"),
    "another address": ("http://example.org/gradebook", "takes the address of a database"),
    "a folder that is not there": (
        "sqlite:///nowhere/g.db",
        "cannot be written (unable to open database file)",
    ),
    "no file": ("sqlite:///", "names no file: name the gradebook to write, such as sqlite:///gradebook.db"),
    "only memory": ("sqlite:///:memory:", "names no file"),
    "no database": ("sqlite:///course.yaml", "cannot be written (file is not a database)"),
    "a package that is missing": ("postgresql://teacher:secret@localhost/grades", "needs the Python package psycopg"),
}


def test_adjustments_are_named_and_left_to_formgrader(tmp_path: Path):
    """They were in every output but the gradebook, where nobody was told of it."""
    root = small_course(tmp_path / "course").root
    hand_in(root, "ann", lin_grad=WRONG)
    (root / "class.yaml").write_text("assignments:\n  hw:\n    submissions: submissions\n")
    (root / "adjustments.csv").write_text("assignment,student,exercise,points,reason\nhw,ann,lin_grad,3,by hand\n")
    said = handgrad("grade", "hw", "--workers", "1", "--gradebook", URL, cwd=root)
    assert f"Adjustments are not entered in {URL}: enter them in formgrader, for ann." in said
    assert totals(root) == {"ann": 2.0}


def test_zeros_are_entered_and_who_has_no_score_is_not_counted(tmp_path: Path):
    """They were in every output but the gradebook, whose last line counted these students all the same."""
    root = small_course(tmp_path / "course").root
    hand_in(root, "ann", lin_grad=WRONG)
    hand_in(root, "emp")
    (root / "submissions/zed").mkdir()
    (root / "submissions/zed/hw.rar").write_text("Rar!")
    (root / "people.csv").write_text("login,name\nann,A\nemp,E\nzed,Z\ngus,G\n")
    words = ("grade", "submissions", "--workers", "1", "--roster", "people.csv", "--gradebook", URL)
    assert f"Entered in {URL}: 1 student ({UNIT})." in handgrad(*words, cwd=root, code=1)
    assert totals(root) == {"ann": 2.0}
    assert f"Entered in {URL}: 4 students ({UNIT})." in handgrad(*words, "--yes", cwd=root)
    assert totals(root) == {"ann": 2.0, "emp": 0.0, "zed": 0.0, "gus": 0.0}
    said = handgrad("export", "--gradebook", URL, "--to", "vpl", cwd=root)
    assert "no score" not in said
    (root / "submissions/zed/lin_grad.py").write_text(RIGHT)
    handgrad(*words, cwd=root)
    assert totals(root) == {"ann": 2.0, "emp": 0.0, "zed": 3.0, "gus": 0.0}


@pytest.mark.parametrize("what", ADDRESSES)
def test_a_gradebook_that_cannot_be_written_is_refused_before_grading(course: Course, what: str):
    url, says = ADDRESSES[what]
    hand_in(course.root, "ann", lin_grad=RIGHT)
    said = handgrad("grade", "submissions", "--workers", "1", "--gradebook", url, cwd=course.root, code=2)
    assert says in said
    assert "secret" not in said
    assert not (course.root / "grades").exists()


def test_a_broken_configuration_is_named(course: Course):
    hand_in(course.root, "ann", lin_grad=RIGHT)
    (course.root / "nbgrader_config.py").write_text("c = get_config()\nc.Exchange.root = nowhere\n")
    said = handgrad("grade", "submissions", "--workers", "1", "--gradebook", URL, cwd=course.root, code=2)
    assert f"nbgrader_config.py cannot be used (NameError: {words_of('nowhere')})" in said
