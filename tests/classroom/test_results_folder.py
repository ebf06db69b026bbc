"""A folder of results belongs to one set of exercises and holds everybody's record; changes of grades are listed."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest
from helpers.platforms import EXITS, MEAN, RIGHT, put, zipped
from test_class_grading import record, small_course, validator

from grader.classroom import results_folder
from grader.classroom.class_file import LatePolicy
from grader.classroom.class_folder import ClassFolder, find_submissions
from grader.classroom.class_grading import Grading, grade_class, grade_submission
from grader.classroom.exercise_names import ExerciseNames
from grader.classroom.grade_comparison import GradeComparison, StoredGrades, grades_from_json, grades_to_json
from grader.classroom.grade_terminal import print_summary, score_line
from grader.classroom.grades_table import ClassSummary, GradesTable, NothingToGrade
from grader.classroom.platform_names import Submission
from grader.classroom.roster import Roster, RosterStudent, keys_of_records, match_roster, read_roster
from grader.classroom.score_changes import NO_CHANGES, AdjustmentRow, ScoreChanges
from grader.course.course import PACKAGE, Course, load_course
from grader.errors import InfrastructureError, UsageError
from grader.quiz.answer_sheet import solved_sheet
from grader.results.records import (
    Adjustment,
    AnswerResult,
    ExerciseResult,
    Lateness,
    StudentResults,
    dumps,
    exit_code,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_pool")]
HEADING = {"student", "exercise", "before", "after", "why"}
RELU = "def relu_grad(inp, out):\n    inp.g = (inp > 0) * out.g\n"
Graded = Callable[..., ClassSummary]


@pytest.fixture(scope="module")
def course() -> Course:
    return small_course(PACKAGE.parent)


@pytest.fixture
def graded(course: Course, tmp_path: Path) -> Graded:
    """Return a function that grades `in/` into `out/`, with the options of a run."""

    def run(
        *targets: str, students: str = "", absent: tuple[str, ...] = (), yes: bool = False, course: Course = course,
        seed: int | None = None, changes: ScoreChanges = NO_CHANGES,
    ) -> ClassSummary:  # fmt: skip
        found: ClassFolder = replace(find_submissions(course, tmp_path / "in", tmp_path / "out"), absent=absent)
        grading = Grading(
            1, "none", seed, course.select(targets) if targets else (), frozenset(students.split()), changes=changes
        )
        return grade_class(course, found, tmp_path / "out", grading, ask=lambda nothing: yes)

    return run


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def scores(out: Path) -> dict[str, str]:
    return {row["student"]: row["score"] for row in rows(out / "grades.csv")}


def changes_in(out: Path) -> list[tuple[str, ...]]:
    return [tuple(row.values()) for row in rows(out / "changes.csv")]


def edited(course: Course, folder: Path, old: str, new: str) -> Course:
    """Return the course from a folder of its own, with a piece of its course.yaml replaced."""
    if not folder.is_dir():
        folder.mkdir()
        (folder / "solutions").symlink_to(course.solutions)
    text = (course.root / "course.yaml").read_text(encoding="utf-8")
    assert old in text
    (folder / "course.yaml").write_text(text.replace(old, new), encoding="utf-8")
    return replace(load_course(folder), config=course.config)


def test_results_never_lie_among_what_others_handed_in(course, graded, tmp_path) -> None:
    put(
        tmp_path,
        {"in/ada/lin_grad.py": RIGHT, "out/lab-eve/exercises/lin_grad.py": RIGHT, "flat/eve_1_2_lin_grad.py": ""},
    )
    with pytest.raises(UsageError, match="out holds lab-eve, which a student may have handed in: name another folder"):
        graded()
    with pytest.raises(UsageError, match=r"flat holds eve_1_2_lin_grad\.py, which a student may have handed in"):
        find_submissions(course, tmp_path / "in", tmp_path / "flat")
    put(tmp_path, {"all/week-1/grades.csv": "", "all/week-1/x/a.py": "", "all/notes.txt": "", "all/removed/a.py": ""})
    assert find_submissions(course, tmp_path / "in", tmp_path / "all").submissions


# --- everybody has a record ----------------------------------------------------------------------------------------


def test_everybody_has_a_record_and_nobody_without_work_a_silent_zero(graded, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/report.pdf": ""})
    summary, out = graded(absent=("fay",)), tmp_path / "out"
    assert scores(out) == {"ada": "3", "ben": "", "fay": ""}
    nothing = {
        "ben": "it holds report.pdf, and no file that is named after an exercise",
        "fay": "nothing was handed in",
    }
    assert summary.nothing == tuple(NothingToGrade(*entry) for entry in nothing.items())
    assert (summary.students, summary.scored, summary.mean_score, summary.entered) == (3, 1, 3, False)
    for name, reason in nothing.items():
        held = record(out, name)
        validator().validate(held)
        assert (held["score"], held["raw_score"], held["reason"], held["seed"]) == (None, None, reason, None)
        assert [unit["score"] for unit in held["units"]] == [None, None]
        assert {exercise["status"] for exercise in held["exercises"]} == {"todo"}
    held = {name: record(out, name) for name in ("ada", "ben", "fay")}
    assert len({each["course_digest"] for each in held.values()}) == 1
    assert len({tuple((e["id"], e["max_score"]) for e in each["exercises"]) for each in held.values()}) == 1


def test_zeros_that_were_entered_stay_and_are_written_for_the_absent_as_well(graded, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/report.pdf": ""})
    out = tmp_path / "out"
    summary = graded(absent=("fay",), yes=True)
    assert (summary.entered, len(summary.nothing), summary.mean_score) == (True, 2, 1)
    first = {path.name: path.read_bytes() for path in out.glob("*.json")}
    summary = graded(absent=("fay",))
    assert (summary.entered, len(summary.nothing), scores(out)) == (True, 2, {"ada": "3", "ben": "0", "fay": "0"})
    assert {path.name: path.read_bytes() for path in out.glob("*.json")} == first
    assert "reason" not in record(out, "ben")
    assert record(out, "fay")["notes"] == ["nothing was handed in"]
    put(tmp_path / "in", {"fay/lin_grad.py": MEAN})
    graded()
    assert scores(out) == {"ada": "3", "ben": "0", "fay": "2"}


def test_who_gets_a_zero_is_listed_with_older_submissions_that_do_not_count(course, tmp_path, capsys) -> None:
    """They hold all answers, perhaps, and only grades.csv said that there are any."""
    metadata = "".join(
        f"submission_{number}:\n  :submitters: [{{':email': dee}}]\n  :created_at: 2026-04-2{number} 10:00:00 Z\n"
        for number in (1, 2)
    )
    files = {"submission_1/lin_grad.py": RIGHT, "submission_2/notes.txt": "", "submission_metadata.yml": metadata}
    found, asked = find_submissions(course, put(tmp_path / "in", files), tmp_path / "out"), list[NothingToGrade]()

    def ask(nothing: Sequence[NothingToGrade]) -> bool:
        asked.extend(nothing)
        return len(asked) > 1

    for end in ("They have no points. To enter 0 for them: --yes\n", "They have 0 points.\n"):
        grading = Grading(1, "none", exercises=course.select(["lin_grad"]))
        summary = grade_class(course, found, tmp_path / "out", grading, ask=ask)
        print_summary(course, summary, tmp_path / "out")
        why = "it holds notes.txt, and no file that is named after an exercise"
        assert capsys.readouterr().out.endswith(f"  dee: {why}; the older submission_1 does not count\n{end}")
    assert [entry.earlier for entry in asked] == [("submission_1",)] * 2


def test_no_zero_is_entered_for_what_is_of_no_known_student(graded, course, tmp_path, capsys) -> None:
    """A loose notebook got 0 points, as if it were a student, and counted in the mean."""
    loose = {"hw.ipynb": "{}", "ada.ipynb": "{}", "cem.rar": "Rar!"}
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/report.pdf": "", **loose})
    expected = {"ada": "3", "ada.ipynb": "", "ben": "0", "cem": "0", "hw": ""}
    for yes in (True, False):
        summary = graded(yes=yes)
        assert scores(tmp_path / "out") == expected, "an archive has the name of its student, though it is not read"
        assert [entry.student for entry in summary.nothing] == ["ben", "cem"]
        assert [entry.student for entry in summary.unclaimed] == ["ada.ipynb", "hw"]
        assert (summary.students, summary.scored, summary.mean_score, summary.entered) == (3, 3, 1, True)
    print_summary(course, summary, tmp_path / "out")
    said = capsys.readouterr().out
    why = "it lies outside of any student's folder; put it into a folder with the student's name"
    assert said.endswith(
        f"They have 0 points.\n2 entries are of no known student, and without points:\n"
        f"  ada.ipynb: ada.ipynb: {why}\n  hw: hw.ipynb: {why}\n"
    )
    put(tmp_path / "in", {"hw/hw.ipynb": ""})
    (tmp_path / "in/hw.ipynb").unlink()
    assert [entry.student for entry in graded(yes=True).unclaimed] == ["ada.ipynb"]
    assert scores(tmp_path / "out")["hw"] == "0"


def test_a_zero_of_an_older_run_for_what_is_of_no_known_student_is_taken_back(graded, tmp_path, monkeypatch) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "hw.ipynb": "{}"})
    with monkeypatch.context() as older:
        older.setattr("grader.classroom.platform_names.CODE", ())
        graded(yes=True)
    assert scores(tmp_path / "out") == {"ada": "3", "hw": "0"}
    graded()
    assert scores(tmp_path / "out") == {"ada": "3", "hw": ""}


def test_who_was_given_points_by_a_person_is_not_among_those_who_get_zeros(graded, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/report.pdf": ""})
    changes = ScoreChanges({"fay": [AdjustmentRow(2, "w", "fay", "", 1.5, "was ill")]})
    for _ in range(2):
        summary = graded(absent=("fay",), yes=True, changes=changes)
        assert [entry.student for entry in summary.nothing] == ["ben"]
        assert scores(tmp_path / "out") == {"ada": "3", "ben": "0", "fay": "1.5"}
    assert graded(absent=("fay",)).nothing[-1] == NothingToGrade("fay", "nothing was handed in")
    assert scores(tmp_path / "out")["fay"] == "", "who has no adjustment any more has no 0 that nobody entered"


def test_who_handed_in_nothing_and_lost_points_has_no_score_until_0_is_entered(graded, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT})
    changes = ScoreChanges({"fay": [AdjustmentRow(2, "w", "fay", "", -1.0, "copied")]})
    for yes, score in ((False, ""), (True, "0"), (False, "0")):
        summary = graded(absent=("fay",), yes=yes, changes=changes)
        assert scores(tmp_path / "out")["fay"] == score
        assert summary.nothing == (NothingToGrade("fay", "nothing was handed in"),)
        validator().validate(record(tmp_path / "out", "fay"))


def test_points_of_a_person_for_no_work_are_put_away_by_nothing_and_say_why(graded, course, tmp_path) -> None:
    """A changed course put their record away, and no output said any more that nothing was handed in."""
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/x.txt": ""})
    given = {name: [AdjustmentRow(2, "w", name, "", 1.0, "oral exam")] for name in ("ben", "gus")}
    why = {"ben": "it holds x.txt, and no file that is named after an exercise", "gus": "nothing was handed in"}
    for each in (course, course, edited(course, tmp_path / "course", "title: ", "title: New ")):
        assert graded(absent=("gus",), course=each, changes=ScoreChanges(given)).removed == ()
        notes = {row["student"]: row["notes"] for row in rows(tmp_path / "out/grades.csv")}
        for name, says in why.items():
            assert notes[name].startswith(says), notes
            assert notes[name].endswith("; adjustment (+1 points): oral exam")
        assert record(tmp_path / "out", "ben")["reason"] == why["ben"]
        validator().validate(record(tmp_path / "out", "ben"))


def test_a_second_run_enters_no_zero_for_a_broken_archive(graded, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben.zip": "no archive", "cy/hw.ipynb": "{"})
    out, unscored = tmp_path / "out", {"ada": "3", "ben": "", "cy": ""}
    first = graded()
    assert (len(first.nothing), scores(out)) == (2, unscored)
    why = {entry.student: entry.why for entry in first.nothing}
    assert {row["student"]: row["notes"] for row in rows(out / "grades.csv") if not row["score"]} == why
    second = graded()
    assert (second.reused, second.gained, second.nothing, scores(out)) == (3, 0, first.nothing, unscored)
    assert graded(yes=True).entered
    assert (graded().entered, scores(out)) == (True, {"ada": "3", "ben": "0", "cy": "0"})


def test_the_table_says_why_a_score_is_blank_or_was_changed(course) -> None:
    failed = ExerciseResult("lin_grad", "04_linear", (AnswerResult("w.g", "error", 0.0, 3.0, "error", "no worker"),))
    right = ExerciseResult("lin_grad", "04_linear", (AnswerResult("w.g", "passed", 3.0, 3.0),))
    table = GradesTable(ExerciseNames(course, course.select(["lin_grad"])))
    table.count("ada", StudentResults("c", "ada", (failed,)))
    late = Lateness("2026-11-30T18:00", "2026-12-01T18:00", 1, -0.25, "1 day late: 10 % a day")
    table.count("ben", StudentResults("c", "ben", (right,), adjustments=(Adjustment("", -0.5, "oral"),), late=late))
    table.count("cem", StudentResults("c", "cem", (failed,), adjustments=(Adjustment("lin_grad", 1.5, "by hand"),)))
    notes = {row["student"]: row["notes"] for row in csv.DictReader(io.StringIO(table.text(), newline=""))}
    assert notes == {
        "ada": "lin_grad could not be graded: no worker",
        "ben": "adjustment (-0.5 points): oral; lateness (-0.25 points): 1 day late: 10 % a day",
        "cem": "lin_grad: graded by a person; adjustment lin_grad (+1.5 points): by hand",
    }


def test_an_error_is_blank_in_every_total(course) -> None:
    failed = ExerciseResult("lin_grad", "04_linear", (AnswerResult("w.g", "error", 0.0, 3.0, "error", "no worker"),))
    right = ExerciseResult("relu_grad", "05_activations", (AnswerResult("inp.g", "passed", 1.0, 1.0),))
    results = StudentResults("handgrad", "ada", (failed, right), 1, "none", course_digest="0" * 64)
    assert (results.score, results.raw_score) == (None, None)
    assert results.why_no_score == "lin_grad could not be graded: no worker"
    assert [unit["score"] for unit in results.units] == [None, 1]
    validator().validate(results.record)
    by_hand = replace(results, adjustments=(Adjustment("lin_grad", 2.0, "graded by hand"),))
    assert (by_hand.score, [unit["score"] for unit in by_hand.units]) == (3, [2, 1])
    validator().validate(by_hand.record)
    table = GradesTable(ExerciseNames(course, course.exercises))
    table.count("ada", results)
    table.count("ben", replace(results, student="ben", exercises=(course.find("lin_grad").missing_result, right)))
    (ada, ben), found = csv.DictReader(io.StringIO(table.text())), table.summary(ClassFolder((), ""), 2, 0, 1.0, [])
    assert [ada[cell] for cell in ("score", "04_linear", "05_activations", "lin_grad")] == ["", "", "1", "error"]
    assert (ben["score"], found.mean_score, found.scored, found.students) == ("1", 1, 1, 2)


def test_a_class_with_nothing_to_grade_loads_no_torch(tmp_path) -> None:
    put(tmp_path / "in", {"ada/report.pdf": "", "ben/report.pdf": ""})
    script = (
        "import sys; from grader.cli.main import main\ntry: main()\nexcept SystemExit as end: print(end.code)\n"
        "print([name for name in ('torch', 'numpy') if name in sys.modules])"
    )
    command = [sys.executable, "-c", script, "grade", "in", "--isolation", "none", "--exercise", "lin_grad"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == ["1", "[]"]
    assert scores(tmp_path / "grades") == {"ada": "", "ben": ""}


# --- what belongs together -----------------------------------------------------------------------------------------


def test_another_set_of_exercises_is_refused_and_nothing_is_lost(graded, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ada/relu_grad.py": RELU, "ben/lin_grad.py": RIGHT})
    out = tmp_path / "out"
    graded("04_linear")
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for targets, students in ((("05_activations",), ""), ((), ""), (("05_activations",), "ada")):
        with pytest.raises(UsageError) as refused:
            graded(*targets, students=students)
        assert f"{out} holds results of 04_linear, and this run grades " in str(refused.value)
        assert f"--out {out}-" in str(refused.value)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_results_of_a_course_with_another_name_are_told_by_the_names(graded, course, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT})
    graded("lin_grad")
    other = replace(course, config=course.config.model_copy(update={"course": "other"}))
    with pytest.raises(UsageError, match="results of the course handgrad, and this run grades the course other: name"):
        graded("lin_grad", course=other)


@pytest.mark.parametrize("change", [("points: 3\n", "points: 2\n"), ("title: Gradients", "title: New gradients")])
def test_after_an_edit_a_whole_run_regrades_everybody_and_says_so(graded, course, tmp_path, capsys, change) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/lin_grad.py": MEAN})
    graded()
    again = edited(course, tmp_path / "course", *change)
    with pytest.raises(UsageError, match="holds results of another version of the course: the same command without"):
        graded(students="ada", course=again)
    summary = graded(course=again)
    assert (summary.graded, summary.reused, summary.course_changed) == (2, 0, True)
    print_summary(course, summary, tmp_path / "out")
    assert "everybody was graded again" in capsys.readouterr().out
    assert not graded(course=again).course_changed


def test_other_points_are_no_other_course_to_a_whole_run_alone(graded, course, tmp_path) -> None:
    """Twice the points of what was graded before would be mixed with the old ones of the others."""
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/lin_grad.py": MEAN})
    graded()
    held = record(tmp_path / "out", "ben")
    for exercise in held["exercises"]:
        exercise["max_score"] *= 2
        for answer in exercise["answers"]:
            answer["max_score"] *= 2
    (tmp_path / "out/ben.json").write_text(json.dumps(held))
    with pytest.raises(UsageError, match="holds results of another version of the course"):
        graded(students="ada")


def test_records_of_another_version_are_regraded_whole_and_mixed_with_nothing(graded, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/lin_grad.py": MEAN})
    graded()
    for name in ("ada", "ben"):
        (tmp_path / f"out/{name}.json").write_text(json.dumps({**record(tmp_path / "out", name), "schema": OLD}))
    with pytest.raises(UsageError, match=r"ben\.json was written by another version of handgrad: the same command wi"):
        graded(students="ada")
    assert graded().graded == 2
    assert scores(tmp_path / "out") == {"ada": "3", "ben": "2"}


OLD = "handgrad/result@1"


def test_a_student_alone_who_handed_in_nothing_is_named_as_that(graded, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT})
    with pytest.raises(UsageError, match="fay handed in nothing: the same command without --student writes the record"):
        graded(absent=("fay",), students="fay")


def test_a_student_alone_changes_no_other_record_or_line(graded, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": MEAN, "ben/lin_grad.py": MEAN, "dan/report.pdf": ""})
    graded(absent=("fay",))
    out = tmp_path / "out"
    before = {path.name: path.read_bytes() for path in out.glob("*.json")}
    lines = (out / "grades.csv").read_text("utf-8-sig").splitlines()
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/lin_grad.py": RIGHT})
    summary = graded(students="ada")
    after = {path.name: path.read_bytes() for path in out.glob("*.json")}
    assert {name for name in before if before[name] != after[name]} == {"ada.json"}
    assert after.keys() == before.keys()
    assert [line for line in (out / "grades.csv").read_text("utf-8-sig").splitlines() if line not in lines] == [
        line for line in (out / "grades.csv").read_text("utf-8-sig").splitlines() if line.startswith("ada,")
    ]
    assert scores(out) == {"ada": "3", "ben": "2", "dan": "", "fay": ""}
    assert [entry.student for entry in summary.nothing] == ["dan", "fay"], "so that the exit code is 1 as before"


# --- one submission ------------------------------------------------------------------------------------------------


def test_one_submission_replaces_the_last_record_before_it_begins(course, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "empty/report.pdf": ""})
    out, grading = tmp_path / "r.json", Grading(1, "none", 7, course.select(["lin_grad"]))
    ada = grade_submission(course, tmp_path / "in/ada", out, grading, yes=False)
    assert (score_line(ada), exit_code(ada.exercises)) == ("ada: 3 of 3 points.", 0)
    nobody = grade_submission(course, tmp_path / "in/empty", out, grading, yes=False)
    assert exit_code(nobody.exercises) == 1
    assert json.loads(out.read_text())["score"] is None
    with pytest.raises(UsageError):
        grade_submission(course, tmp_path / "in/nobody", out, grading, yes=False)
    assert not out.exists()
    with pytest.raises(UsageError, match="is no record"):
        grade_submission(course, tmp_path / "in/ada", tmp_path / "in", grading, yes=False)


def test_one_submission_is_never_removed_in_favour_of_its_record(course, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT})
    work, grading = tmp_path / "in/ada/lin_grad.py", Grading(1, "none", 7, course.select(["lin_grad"]))
    for path in (work, work.parent):
        with pytest.raises(UsageError, match="is no record of a student: name another file with --out"):
            grade_submission(course, path, work, grading, yes=False)
    assert work.read_text() == RIGHT


def test_one_submission_passes_only_if_all_that_was_asked_passed(course, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT})
    results = grade_submission(course, tmp_path / "in/ada", tmp_path / "r.json", Grading(1, "none", 7), yes=False)
    assert (score_line(results), exit_code(results.exercises)) == ("ada: 3 of 4 points.", 1)


# --- what changed --------------------------------------------------------------------------------------------------


def test_a_run_that_changes_nothing_lists_nothing(graded, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/report.pdf": ""})
    for _ in range(2):
        summary = graded()
        assert (changes_in(tmp_path / "out"), summary.gained, summary.lost) == ([], 0, 0)
        assert (tmp_path / "out/changes.csv").read_text("utf-8-sig").split() == ["student,exercise,before,after,why"]
    assert not list((tmp_path / "out").glob(".grades*"))


def test_each_change_of_a_grade_is_listed_with_its_reason(graded, tmp_path, capsys, course) -> None:
    put(
        tmp_path / "in",
        {"ada/lin_grad.py": MEAN, "ben/lin_grad.py": RIGHT, "cem/report.pdf": "", "dan/lin_grad.py": MEAN},
    )
    graded()
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/lin_grad.py": MEAN, "eve/lin_grad.py": RIGHT})
    (tmp_path / "in/dan").rename(tmp_path / "dan")
    summary = graded(yes=True)
    again = "the submission changed"
    assert changes_in(tmp_path / "out") == [
        ("ada", "lin_grad", "2", "3", again), ("ada", "", "2", "3", again),
        ("ben", "lin_grad", "3", "2", again), ("ben", "", "3", "2", again),
        ("cem", "", "", "0", "0 was entered"),
        ("dan", "", "2", "", "no longer in the class"),
        ("eve", "", "", "3", "no record before"),
    ]  # fmt: skip
    assert (summary.gained, summary.lost) == (1, 1)  # an entered 0 is no gain
    print_summary(course, summary, tmp_path / "out")
    says = "Since the last run 1 student gained points and 1 student lost points: see changes.csv."
    assert says in capsys.readouterr().out


def test_an_earlier_result_that_no_longer_counts_is_put_away_and_nobody_is_said_to_have_left(
    graded, course, tmp_path, capsys
) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/lin_grad.py": RIGHT})
    graded()
    (tmp_path / "in/ada/lin_grad.py").unlink()
    put(tmp_path / "in", {"ada/homework.rar": "Rar!"})
    print_summary(course, graded(), tmp_path / "out")
    said = capsys.readouterr().out
    assert "Earlier results that no longer count, put away in removed/: ada.json.\n" in said
    assert "ada: homework.rar: such archives are not read" in said


def test_a_record_of_a_student_who_leaves_twice_replaces_no_other(graded, tmp_path) -> None:
    """The record of the first time was lost."""
    for answer, removed in ((MEAN, "eve.json"), (RIGHT, "eve-2.json"), (MEAN, "eve.json"), (RELU, "eve-3.json")):
        put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "eve/lin_grad.py": answer})
        graded()
        shutil.rmtree(tmp_path / "in/eve")
        assert graded().removed == (removed,)
    kept = sorted((tmp_path / "out/removed").iterdir())
    assert [(path.name, json.loads(path.read_bytes())["score"]) for path in kept] == [
        ("eve-2.json", 3), ("eve-3.json", 0), ("eve.json", 2),
    ]  # fmt: skip


def test_changes_of_a_run_that_was_stopped_are_listed_by_the_one_that_goes_on(graded, tmp_path, monkeypatch) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": MEAN, "ben/lin_grad.py": MEAN})
    graded()
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/lin_grad.py": RIGHT})
    with monkeypatch.context() as patch:
        patch.setattr("grader.classroom.class_grading.ResultsFolder.record_absent", _stopped)
        with pytest.raises(KeyboardInterrupt):
            graded()
    assert scores(tmp_path / "out") == {"ada": "3", "ben": "3"}
    assert graded().graded == 0
    assert [line[0] for line in changes_in(tmp_path / "out") if not line[1]] == ["ada", "ben"]


def _stopped(*arguments: object) -> None:
    raise KeyboardInterrupt


def test_adjustments_and_lateness_are_applied_to_stored_records_too(graded, tmp_path) -> None:
    """What another file says of a grade counts from the next run on, and no longer once it is gone."""
    put(tmp_path / "in", {"ada/lin_grad.py": MEAN, "ben/report.pdf": ""})
    graded()
    plain, out, due = (tmp_path / "out/ada.json").read_bytes(), tmp_path / "out", datetime(2026, 3, 1, tzinfo=UTC)
    rows = {
        "ada": [AdjustmentRow(2, "w", "ada", "lin_grad", 3.0, "a typing error")],
        "ben": [AdjustmentRow(3, "w", "ben", "", 1.0, "oral exam")],
    }
    late = LatePolicy(per_day=0.1)
    changed = ScoreChanges(rows, {"ada": due}, {"ada": due + timedelta(hours=1)}, late)
    summary = graded(changes=changed)
    assert (summary.graded, summary.reused, summary.nothing) == (0, 2, ())
    held = record(out, "ada")
    validator().validate(held)
    assert (held["raw_score"], held["score"], held["late"]["points"]) == (3, 2.7, -0.3)
    assert scores(out) == {"ada": "2.7", "ben": "1"}
    assert [line[1:] for line in changes_in(out)] == [
        ("lin_grad", "2", "3", "an adjustment"), ("", "2", "2.7", "an adjustment; late work"),
        ("", "", "1", "an adjustment"),
    ]  # fmt: skip
    written = (out / "ada.json").read_bytes()
    graded(changes=changed)
    assert (out / "ada.json").read_bytes() == written
    graded()
    assert (out / "ada.json").read_bytes() == plain
    assert scores(out) == {"ada": "2", "ben": ""}


def test_the_notes_show_an_adjustment_as_often_as_it_counts(graded, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": MEAN})
    twice = [AdjustmentRow(line, "w", "ada", "", 0.5, "oral exam") for line in (2, 3)]
    graded(changes=ScoreChanges({"ada": twice}))
    (row,) = rows(tmp_path / "out/grades.csv")
    says = "adjustment (+0.5 points): oral exam"
    assert (row["score"], row["notes"]) == ("3", f"{says}; {says}")


def test_a_zero_that_was_entered_for_late_work_is_not_said_to_come_from_lateness(graded, tmp_path) -> None:
    put(tmp_path / "in", {"ada/hw.rar": "Rar!", "ben/lin_grad.py": RIGHT})
    due = datetime(2026, 11, 20, tzinfo=UTC)
    late = {key: due + timedelta(days=2) for key in ("ada", "ben")}
    changes = ScoreChanges({}, dict.fromkeys(late, due), late, LatePolicy(per_day=0.1))
    graded(changes=changes)
    graded(changes=changes, yes=True)
    assert changes_in(tmp_path / "out") == [("ada", "", "", "0", "0 was entered")]
    put(tmp_path / "in", {"ben/hw.rar": "Rar!"})
    (tmp_path / "in/ben/lin_grad.py").unlink()
    graded(changes=changes)
    assert changes_in(tmp_path / "out") == [
        ("ben", "lin_grad", "3", "0", "the submission changed"), ("ben", "", "2.4", "", "the submission changed"),
    ]  # fmt: skip


def test_each_line_has_the_reasons_of_its_own(graded, course, tmp_path) -> None:
    """One reason for the whole run stood in every line: the course, or the exercises that were asked."""
    put(tmp_path / "in", dict.fromkeys(("ada/lin_grad.py", "eve/lin_grad.py"), RIGHT))
    put(tmp_path / "in", {"ben/lin_grad.py": MEAN, "dot/notes.txt": "", "fay/lin_grad.py": MEAN})
    graded("lin_grad", absent=("gus",), yes=True)
    put(tmp_path / "in", {"ada/relu_grad.py": RELU, "ben/lin_grad.py": RIGHT, "dot/other.txt": ""})
    (tmp_path / "in/fay/lin_grad.py").unlink()
    config = course.config.model_dump_json().replace('"id":"lin_grad","points":3.0', '"id":"lin_grad","points":4.0')
    assert config != course.config.model_dump_json()
    changed_course = edited(course, tmp_path / "course", "title: ", "title: New ")
    worth_4 = replace(changed_course, config=type(course.config).model_validate_json(config))
    rows = {
        "gus": [AdjustmentRow(2, "w", "gus", "", 1.0, "oral exam")],
        "eve": [AdjustmentRow(3, "w", "eve", "lin_grad", 2.0, "copied")],
    }
    graded(absent=("gus",), course=worth_4, changes=ScoreChanges(rows))
    new, asked = "the submission changed", "the assignment's exercises changed"
    points, everything = "the points of the exercise changed", "the course or handgrad changed"
    assert changes_in(tmp_path / "out") == [
        ("ada", "lin_grad", "3", "4", points), ("ada", "relu_grad", "", "1", asked),
        ("ada", "", "3", "5", f"{asked}; {points}"),
        ("ben", "lin_grad", "2", "4", f"{new}; {points}; {everything}"),
        ("ben", "", "2", "4", f"{new}; {points}; {everything}"),
        ("dot", "", "0", "", new),
        ("eve", "lin_grad", "3", "2", "an adjustment"), ("eve", "", "3", "2", "an adjustment"),
        ("fay", "lin_grad", "2", "0", new), ("fay", "", "2", "", new),
        ("gus", "", "0", "1", "an adjustment"),
    ]  # fmt: skip


def test_a_score_that_comes_or_goes_with_the_exercises_that_are_asked_is_no_new_submission(course, tmp_path) -> None:
    """Of whoever had 0 points, the reason was that the submission had changed."""
    asked, out = "the assignment's exercises changed", tmp_path / "out"
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/lin_grad.py": EXITS, "cem/lin_grad.py": EXITS})
    put(tmp_path / "in", {"dan/relu_grad.py": RELU})

    def run(*names: str, absent: str) -> list[tuple[str, ...]]:
        found = replace(find_submissions(course, tmp_path / "in", out), absent=(absent,))
        grade_class(course, found, out, Grading(1, "none", exercises=course.select(names), is_assignment=True))
        return changes_in(out)

    assert run("lin_grad", absent="eve") == []
    assert run("relu_grad", absent="eve") == [
        ("ada", "lin_grad", "3", "", asked), ("ada", "", "3", "", asked), ("ben", "", "0", "", asked),
        ("cem", "", "0", "", asked), ("dan", "relu_grad", "", "1", asked), ("dan", "", "", "1", asked),
    ]  # fmt: skip
    shutil.rmtree(tmp_path / "in/cem")
    put(tmp_path / "in", {"eve/lin_grad.py": EXITS})
    assert run("lin_grad", "relu_grad", absent="cem") == [
        ("ada", "lin_grad", "", "3", asked), ("ada", "", "", "3", asked), ("ben", "", "", "0", asked),
        ("eve", "", "", "0", "the submission changed"),
    ]  # fmt: skip
    shutil.rmtree(tmp_path / "in/ben")
    assert ("ben", "", "0", "", "the submission was removed") in run("lin_grad", absent="ben")


def test_a_sheet_that_counts_because_fewer_quizzes_are_asked_is_no_new_submission(tmp_path) -> None:
    """The reason was that the submission had changed."""
    whole, out, asked = load_course(PACKAGE.parent), tmp_path / "out", "the assignment's exercises changed"
    quiz = whole.find("quiz_03_one_example")
    sheet = solved_sheet("03_one_example", quiz.quiz)
    put(tmp_path / "in", {"ada/quiz.yaml": sheet, "ada/df_dx.py": "", "ben/df_dx.py": ""})

    def run(*units: str) -> list[tuple[str, ...]]:
        grading = Grading(1, "none", exercises=whole.select(units), is_assignment=True)
        grade_class(whole, find_submissions(whole, tmp_path / "in", out), out, grading)
        return changes_in(out)

    assert run("02_chain_rule", "03_one_example") == []
    points = str(quiz.points).removesuffix(".0")
    assert run("03_one_example") == [("ada", quiz.id, "0", points, asked), ("ada", "", "0", points, asked)]
    assert run("02_chain_rule", "03_one_example") == [
        ("ada", quiz.id, points, "0", asked),
        ("ada", "", points, "0", asked),
    ]
    put(tmp_path / "in", {"ben/03_one_example/quiz.yaml": sheet})
    new = "the submission changed"
    assert run("02_chain_rule", "03_one_example") == [("ben", quiz.id, "0", points, new), ("ben", "", "0", points, new)]


def test_a_record_without_hashes_of_the_submission_is_read_and_gets_them(graded, tmp_path) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": MEAN, "ben/lin_grad.py": MEAN, "cem/notes.txt": ""})
    graded(absent=("dan",))
    written = {path: path.read_text("utf-8") for path in (tmp_path / "out").glob("*.json")}
    for path, text in written.items():
        content = json.loads(text)
        assert content.pop("submission")
        validator().validate(content)
        path.write_text(re.sub(r' "submission": \{.*?\},', "", text), encoding="utf-8")
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT})
    assert graded(absent=("dan",)).graded == 1
    assert {line[-1] for line in changes_in(tmp_path / "out")} == {"the submission or the time limit changed"}
    for path, text in written.items():
        assert (path.read_text("utf-8") == text) == (path.name != "ada.json")


ROSTER = "Login,Name,Vorname\nada,Ada A,Ada\nben,Ben B,Ben\ncem,Cem C,Cem\n"


def test_entered_zeros_and_history_move_with_a_student_whom_a_roster_names(course, tmp_path, capsys) -> None:
    """Whoever had the name of a folder before had left the class, and the 0 that was entered was gone."""
    put(tmp_path / "in", {"Ada A/lin_grad.py": MEAN, "Ben B/x.txt": ""})
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")
    out, roster = tmp_path / "out", read_roster(tmp_path / "roster.csv")

    def run(*, named: bool, students: str = "") -> ClassSummary:
        found = find_submissions(course, tmp_path / "in", out)
        found = match_roster(found, roster) if named else found
        grading = Grading(1, "none", students=frozenset(students.split()))
        return grade_class(course, found, out, grading, ask=lambda nothing: not named)

    run(named=False)
    assert scores(out) == {"Ada A": "2", "Ben B": "0"}
    summary = run(named=True)
    assert (scores(out), summary.graded) == ({"ada": "2", "ben": "0", "cem": ""}, 0)
    assert changes_in(out) == [("cem", "", "", "", "no record before")]
    assert sorted(path.name for path in out.glob("*.json")) == ["ada.json", "ben.json", "cem.json"]
    assert not (out / "removed").exists()
    print_summary(course, summary, out)
    assert (
        "2 students are called otherwise than in the last run (Ada A is ada now, Ben B is ben now): their results are "
        "now named by the column Login.\n"
    ) in capsys.readouterr().out
    assert not run(named=True).renamed
    assert run(named=True, students="Ben").students == 3, "a cell of a column that handgrad does not know"
    put(tmp_path / "in", {"Ada A/lin_grad.py": RIGHT})
    assert dict(run(named=False).renamed) == {"ada": "Ada A", "ben": "Ben B"}
    assert changes_in(out) == [
        ("Ada A", "lin_grad", "2", "3", "the submission changed"), ("Ada A", "", "2", "3", "the submission changed"),
        ("cem", "", "", "", "no longer in the class"),
    ]  # fmt: skip
    assert dict(run(named=True, students="ben").renamed) == {"Ben B": "ben"}
    assert scores(out) == {"Ada A": "3", "ben": "0"}


def test_who_left_the_roster_is_not_said_to_be_named_by_its_column(course, tmp_path, capsys) -> None:
    put(tmp_path / "in", {"Ada A/lin_grad.py": RIGHT, "Ben B/lin_grad.py": RIGHT})
    for text in ("Login,Name\nada,Ada A\nben,Ben B\n", "Login,Name\nada,Ada A\n", "Login,Name\n1,Ada A\n"):
        (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
        found = find_submissions(course, tmp_path / "in", tmp_path / "out")
        found = match_roster(found, read_roster(tmp_path / "roster.csv"))
        print_summary(course, grade_class(course, found, tmp_path / "out", Grading(1, "none")), tmp_path / "out")
    said = [line.partition(" than in the last run ")[2] for line in capsys.readouterr().out.splitlines()]
    assert [line for line in said if line] == [
        "(ben is Ben B now): their results are now named by the names of their submissions.",
        "(ada is 1 now): their results are now named by the column Login.",
    ]


BROKEN_NOTEBOOK = '{"cells": [', '{"cells": [{"cell_type": "code", "source": ["x'


@pytest.mark.parametrize(
    ("place", "files"),
    [
        ("ben/hw.rar", ("Rar!1", "Rar!2")), ("ben/hw.docx", ("1", "2")), ("ben/hw.zip", ("PK1", "PK2")),
        ("ben/hw.ipynb", BROKEN_NOTEBOOK), ("ben.rar", ("Rar!1", "Rar!2")),
        ("ben/hw.zip", tuple(zipped({"x.rar": text}) for text in "12")),
    ],
)  # fmt: skip
def test_a_zero_that_was_entered_ends_with_another_file_of_the_same_name(course, tmp_path, place, files) -> None:
    """The new file, which cannot be graded for the same reason, had the 0 points of the old one."""
    out = tmp_path / "out"

    def run(content: str | bytes, *, enters: bool = False) -> ClassSummary:
        people = put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "cy/lin_grad.py": RIGHT, place: content})
        return grade_class(course, find_submissions(course, people, out), out, Grading(1, "none"), ask=lambda _: enters)

    run(files[0], enters=True)
    assert scores(out)["ben"] == "0"
    run(files[0])
    assert scores(out)["ben"] == "0", "nothing else was handed in"
    summary = run(files[1])
    assert (scores(out)["ben"], [nothing.student for nothing in summary.nothing]) == ("", ["ben"])
    assert ("ben", "", "0", "", "the submission changed") in changes_in(out)


ONLY_TOOLS = "it holds nothing but env, and tools use this name: ask for the answers outside of such a folder"


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (["x.rar"], ["final.rar"], "final.rar: such archives are not read; ask for a .zip or a .tar.gz"),
        ([], ["env/a.js"], ONLY_TOOLS),
        (["env/a.js"], [], "it is empty"),
    ],
)  # fmt: skip
def test_the_notes_have_no_reason_of_an_earlier_submission(course, tmp_path, before, after, why) -> None:
    """A file that was gone was named beside the one that had taken its place."""
    out, people = tmp_path / "out", tmp_path / "in"
    for files, enters in ((before, True), (after, False)):
        shutil.rmtree(people, ignore_errors=True)
        put(people, {"ada/lin_grad.py": RIGHT, **{f"ben/{name}": "1" for name in files}})
        (people / "ben").mkdir(exist_ok=True)
        grade_class(course, find_submissions(course, people, out), out, Grading(1, "none"), ask=lambda _: enters)
    assert [(row["score"], row["notes"]) for row in rows(out / "grades.csv")] == [("3", ""), ("", why)]


@pytest.mark.parametrize("moved", ["renamed to ada.json", "moved to removed/"])
def test_a_full_disk_while_records_are_moved_is_told(course, tmp_path, monkeypatch, moved: str) -> None:
    out, people = tmp_path / "out", put(tmp_path / "in", {"Ada A/lin_grad.py": RIGHT, "Ben/lin_grad.py": RIGHT})
    grade_class(course, find_submissions(course, people, out), out, Grading(1, "none"))
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    found = find_submissions(course, people, out)
    if moved.startswith("renamed"):
        found = match_roster(found, Roster([RosterStudent("ada", frozenset({"Ada A"}))]))
        monkeypatch.setattr(results_folder, "write_atomically", Mock(side_effect=full))
    else:
        found = replace(found, submissions=found.submissions[:1])
        monkeypatch.setattr(Path, "replace", Mock(side_effect=full))
    says = f"cannot be {moved} (No space left on device): close it or make room, and run the same command again."
    with pytest.raises(InfrastructureError) as raised:
        grade_class(course, found, out, Grading(1, "none"))
    assert str(raised.value).endswith(says)


def test_a_record_goes_to_nobody_whom_another_may_be(course, tmp_path) -> None:
    people = (Submission("7", (), frozenset({"Bob"})), Submission("8", (), frozenset({"Bob", "Eve"})))
    records: dict[str, tuple[str, ...]] = {"Bob": (), "Eve": (), "old eve": ("8",), "zed": ()}
    assert keys_of_records(ClassFolder(people, ""), records) == {"Eve": "8", "old eve": "8"}


def test_two_records_that_are_one_students_now_leave_nobody_out_of_the_class(course, tmp_path) -> None:
    put(tmp_path / "in", {"Zoë/lin_grad.py": RIGHT, "zoe/lin_grad.py": MEAN, "ada/lin_grad.py": RIGHT})
    (tmp_path / "roster.csv").write_text("Login,Name\n16,Zoë\n17,Ada\n", encoding="utf-8")
    out, found = tmp_path / "out", find_submissions(course, tmp_path / "in", tmp_path / "out")
    grade_class(course, found, out, Grading(1, "none"))
    grade_class(course, match_roster(found, read_roster(tmp_path / "roster.csv")), out, Grading(1, "none"))
    assert changes_in(out) == [
        ("16", "", "", "", "no record before"),
        ("Zoë", "", "3", "", "counts as 16 now"), ("zoe", "", "2", "", "counts as 16 now"),
    ]  # fmt: skip


def test_whoever_left_counts_as_nobody_who_was_another_student_in_the_last_run(course, tmp_path) -> None:
    """`ZOË L` was said to count as zoe now, who had a record in the last run too and has the same points as then."""
    put(tmp_path / "in", {"A/Zoë L/lin_grad.py": MEAN, "B/ZOË L/lin_grad.py": RIGHT, "B/ada/lin_grad.py": RIGHT})
    (tmp_path / "roster.csv").write_text("Login,Name,Section\nzoe,Zoë L,A\n", encoding="utf-8")
    roster, out = read_roster(tmp_path / "roster.csv"), tmp_path / "out"
    for why in ("", "no longer in the class"):
        found = match_roster(find_submissions(course, tmp_path / "in", out, "sections"), roster)
        grade_class(course, found, out, Grading(1, "none"))
        assert changes_in(out) == ([("ZOË L", "", "3", "", why)] if why else [])
        shutil.rmtree(tmp_path / "in/B/ZOË L", ignore_errors=True)


def test_a_record_of_a_roster_goes_to_nobody_who_has_a_part_of_the_name(tmp_path) -> None:
    (tmp_path / "roster.csv").write_text("login,name,email\nlee7,Bea Lee,b.lee@uni.edu\n", encoding="utf-8")
    found = match_roster(ClassFolder((), ""), read_roster(tmp_path / "roster.csv"))
    for were_listed in (False, True):
        by_part = keys_of_records(found, {"b.lee": ("Ben Lee",)}, were_listed=were_listed)
        assert by_part == ({} if were_listed else {"b.lee": "lee7"})
        assert keys_of_records(found, {"blee2": ("Bea Lee",)}, were_listed=were_listed) == {"blee2": "lee7"}


def test_the_record_of_who_handed_in_nothing_has_the_names_on_the_roster(course, tmp_path) -> None:
    """An export found no row for such a student, or that of another one with the same number."""
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT})
    out, roster = tmp_path / "out", tmp_path / "roster.csv"
    for email in ("ben@uni.edu", "bk@uni.edu"):  # the second run keeps the record, and has the new address
        roster.write_text(f"login,name,email\nada,Ada L,ada@uni.edu\nben,Ben K,{email}\n", encoding="utf-8")
        found = match_roster(find_submissions(course, tmp_path / "in", out), read_roster(roster))
        grade_class(course, found, out, Grading(1, "none"), ask=lambda nothing: True)
        assert (record(out, "ben")["known_as"], record(out, "ben")["score"]) == (["Ben K", email], 0)


def test_a_run_that_is_stopped_after_a_roster_came_keeps_what_was_before(course, tmp_path, monkeypatch) -> None:
    put(tmp_path / "in", {"Ada A/lin_grad.py": MEAN, "Ben B/x.txt": ""})
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")
    out, found = tmp_path / "out", find_submissions(course, tmp_path / "in", tmp_path / "out")
    grade_class(course, found, out, Grading(1, "none"))
    put(tmp_path / "in", {"Ada A/lin_grad.py": RIGHT})
    with monkeypatch.context() as patch:
        patch.setattr("grader.classroom.class_grading.ResultsFolder.record_absent", _stopped)
        with pytest.raises(KeyboardInterrupt):
            grade_class(course, found, out, Grading(1, "none"))
    grade_class(course, match_roster(found, read_roster(tmp_path / "roster.csv")), out, Grading(1, "none"))
    assert [line[:4] for line in changes_in(out)] == [
        ("ada", "lin_grad", "2", "3"), ("ada", "", "2", "3"), ("cem", "", "", ""),
    ]  # fmt: skip


def test_stored_grades_survive_their_file() -> None:
    exercise = ExerciseResult("lin_grad", "04_linear", (AnswerResult("w.g", "passed", 1 / 3, 1 / 3),))
    failed = ExerciseResult("relu_grad", "05_activations", (AnswerResult("inp.g", "error", 0.0, 1.0, "error", "lost"),))
    grades = {"ada.json": StoredGrades.of(StudentResults("handgrad", "ada", (exercise, failed), 1, "none"))}
    assert grades_from_json(grades_to_json(grades)) == grades
    assert grades["ada.json"].points == {"lin_grad": 1 / 3, "relu_grad": None}


def test_answers_and_adjustments_add_up_to_the_raw_score_and_never_below_zero() -> None:
    exercise = ExerciseResult("lin_grad", "04_linear", (AnswerResult("w.g", "passed", 1 / 3, 1 / 3),) * 1)
    results = StudentResults("handgrad", "ada", (exercise,), 1, "none", adjustments=(Adjustment("", -1.0, "copied"),))
    assert (results.raw_score, results.score) == (0, 0)
    assert "adjustments" in json.loads(dumps(results))
    held: Mapping[str, object] = replace(results, adjustments=(Adjustment("lin_grad", 2 / 3, "generous"),)).record
    assert (held["raw_score"], held["score"]) == (1, 1)


def test_an_exercise_that_is_no_longer_asked_has_no_points_in_the_changes() -> None:
    """A student who could not be graded before got a line with 0 points for it, as if they had been given."""
    dropped = {
        name: (StudentResults("c", name, (kept, gone)), StudentResults("c", name, (kept,)))
        for kept in [ExerciseResult("kept", "u", (AnswerResult("a", "passed", 1, 1),))]
        for name, gone in {
            "ada": ExerciseResult("gone", "u", (AnswerResult("a", "passed", 2, 2),)),
            "ben": ExerciseResult("gone", "u", (AnswerResult("a", "error", 0, 2),)),
            "cem": ExerciseResult("gone", "u", (AnswerResult("a", "todo", 0, 2),)),
        }.items()
    }
    comparison = GradeComparison({name: StoredGrades.of(before) for name, (before, _) in dropped.items()})
    for name, (_, after) in dropped.items():
        comparison.compare(name, after)
    lines = [(line.student, line.exercise, line.before, line.after) for line in comparison.lines]
    assert lines == [("ada", "gone", 2, None), ("ada", "", 3, 1), ("ben", "", None, 1)]
