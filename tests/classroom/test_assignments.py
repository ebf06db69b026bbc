"""The assignments of a `class.yaml`, with the commands and the files of docs/class.md, in a small class."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers import platforms
from helpers.commands import Typed
from helpers.courses import ROOT

from grader.classroom.class_folder import find_submissions
from grader.classroom.class_grading import Grading, grade_class
from grader.classroom.student_results import unfinished_run
from grader.course.course import load_course

pytestmark = pytest.mark.usefixtures("warm_pool")
UNIT = "04_linear"
COURSE = "course: small\ntitle: One\nunits:\n- id: 04_linear\n  title: L\n  exercises:\n  - {id: lin_grad, points: 3}\n"
PAGE = (ROOT / "docs" / "class.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line.removeprefix("handgrad ") for kind, text in BLOCKS if not kind for line in text.splitlines()]
ROSTER = "username,handed_in\nada,2026-11-30T18:00\nben,2026-12-03T10:00\ncem,\n"


@pytest.fixture
def school(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A class of three, of whom the third handed in nothing, in the current folder."""
    for part in ("exercises", "solutions"):
        shutil.copytree(ROOT / part / UNIT, tmp_path / part / UNIT, ignore=shutil.ignore_patterns("__pycache__"))
    (class_yaml,) = (text for kind, text in BLOCKS if kind == "yaml")
    (adjustments,) = (text for kind, text in BLOCKS if kind == "text")
    files = {"course.yaml": COURSE, "class.yaml": class_yaml, "adjustments.csv": adjustments, "people.csv": ROSTER}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    platforms.put(tmp_path / "submissions" / "Ada L.", {"lin_grad.py": platforms.RIGHT})
    platforms.put(tmp_path / "submissions" / "ben", {"lin_grad.py": platforms.MEAN})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def with_two_units(school: Path) -> None:
    """Give the course another unit, of which nobody handed in anything."""
    unit = "- id: 01_slopes\n  title: S\n  exercises:\n  - {id: slope, points: 1}\n"
    for part in ("exercises", "solutions"):
        shutil.copytree(ROOT / part / "01_slopes", school / part / "01_slopes")
    (school / "course.yaml").write_text(COURSE.replace("units:\n", f"units:\n{unit}"), encoding="utf-8")


def record(school: Path, student: str) -> dict[str, object]:
    """Return a student's record of week-1."""
    content: dict[str, object] = json.loads((school / "grades/week-1" / f"{student}.json").read_bytes())
    return content


def test_the_commands_of_the_page_work_in_their_order(school: Path, typed: Typed) -> None:
    assert COMMANDS == ["grade week-1", "report week-1", "export week-1 --to feedback"]
    for command in COMMANDS:
        done = typed(*shlex.split(command), cwd=school)
        assert done.returncode == (0 if command.startswith("report") else 1), done.stderr  # cem handed in nothing
    assert (school / "grades/week-1/report.html").is_file()
    assert (school / "exported/week-1/feedback/ben.feedback.html").is_file()


def test_the_record_has_the_changes_and_the_lateness_of_the_page(school: Path, typed: Typed) -> None:
    typed("grade", cwd=school)
    ada, ben = record(school, "ada"), record(school, "ben")
    assert (ada["raw_score"], ada["score"]) == (2.5, 2.5)
    assert "late" not in ada
    assert ben["raw_score"] == 2.5
    assert ben["late"]["days"] == 1  # type: ignore[index]
    assert ben["score"] == 2.25
    assert record(school, "cem")["score"] is None
    before = {path.name: path.read_bytes() for path in (school / "grades/week-1").iterdir() if path.suffix == ".json"}
    again = typed("grade", "week-1", cwd=school)
    assert "unchanged and kept" in again.stdout
    after = {path.name: path.read_bytes() for path in (school / "grades/week-1").iterdir() if path.suffix == ".json"}
    assert after == before, "a second run changes nothing"


def test_a_change_that_is_taken_back_is_gone_without_a_new_grading(school: Path, typed: Typed) -> None:
    typed("grade", cwd=school)
    (school / "adjustments.csv").unlink()
    done = typed("grade", cwd=school)
    assert "0 submissions graded" in done.stdout
    assert record(school, "ada")["score"] == 3
    assert "adjustments" not in record(school, "ada")
    with (school / "grades/week-1/changes.csv").open(encoding="utf-8-sig") as file:
        assert {row["student"] for row in csv.DictReader(file)} == {"ada", "ben"}


def test_who_has_no_known_time_is_told_once_and_loses_nothing(school: Path, typed: Typed) -> None:
    """Who handed in nothing that could be graded was listed as well."""
    (school / "people.csv").write_text("username\nada\nben\neve\n", encoding="utf-8")
    platforms.put(school / "submissions", {"eve/notes.txt": "I had no time."})
    done = typed("grade", "--yes", cwd=school)
    assert (done.stdout + done.stderr).count("2 submissions have no known time, and count as on time: ada, ben.\n") == 1
    assert "late" not in record(school, "ben")


def test_nobody_whose_submission_is_an_error_is_said_to_have_no_known_time(school: Path, typed: Typed) -> None:
    """The time of the student stands in the roster, and counts when the error is gone."""
    platforms.put(school / "submissions", {"ADA/lin_grad.py": platforms.RIGHT})
    done = typed("grade", cwd=school)
    assert "2 submissions of one student" in done.stderr
    assert "no known time" not in done.stdout


def test_a_report_and_an_export_say_that_a_run_did_not_finish(school: Path, typed: Typed) -> None:
    """They exited with 0 after a run that was killed, and nothing said that students had no record."""
    (school / "people.csv").write_text("username\nada\nben\ncem\ndan\n", encoding="utf-8")
    typed("grade", "--yes", cwd=school)
    folder = school / "grades/week-1"
    content: dict[str, None] = dict.fromkeys(f"{name}.json" for name in ("ada", "ben", "cem", "dan"))
    (folder / ".grades-before").write_text(json.dumps(content), encoding="utf-8")
    for name in ("cem", "dan"):
        (folder / f"{name}.json").unlink()
    says = "handgrad: the run that grades into grades/week-1 has not finished: 2 students have no record. "
    for command in ("report week-1", "export week-1 --to vpl"):
        done = typed(*shlex.split(command), cwd=school)
        assert (done.returncode, done.stderr.count(says)) == (1, 1), done.stderr
        assert "To finish it: handgrad grade week-1" in done.stderr
    done = typed("grade", "--yes", cwd=school)
    assert done.returncode == 0, done.stderr
    done = typed("report", cwd=school)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_that_is_stopped_leaves_the_names_of_those_without_a_record(school: Path) -> None:
    folder = school / "grades"
    submissions = find_submissions(load_course(school), school / "submissions", folder)

    def stop(progress: object) -> None:
        if list(folder.glob("*.json")):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade_class(load_course(school), submissions, folder, Grading(1, "none"), stop)
    assert unfinished_run(folder) == 1
    grade_class(load_course(school), submissions, folder, Grading(1, "none"))
    assert unfinished_run(folder) is None


def test_a_report_and_an_export_name_a_line_of_adjustments_that_is_wrong(school: Path, typed: Typed) -> None:
    """A line with a student, an exercise or points that do not exist was told by the next run alone."""
    typed("grade", cwd=school)
    text = (school / "adjustments.csv").read_text(encoding="utf-8")
    for row, wrong in (
        ("cem,lin_gard,1,x", "week-1 has no exercise 'lin_gard': did you mean lin_grad?"),
        ("cem,lin_grad,7,x", "lin_grad has 3 points, and not 7: leave out the exercise to add to the total."),
        ("ben,lin_grad,1,x", "line 2 sets lin_grad of ben too: remove one."),
        ("bem,,1,x", "nobody in grades/week-1 is called 'bem': did you mean"),
    ):
        (school / "adjustments.csv").write_text(f"{text}week-1,{row}\n", encoding="utf-8")
        says = f"handgrad: adjustments.csv, line {len(text.splitlines()) + 1}: {wrong}"
        assert says in typed("report", "week-1", cwd=school).stderr
    assert says in typed("export", "week-1", "--to", "vpl", cwd=school).stderr
    assert "nobody in" not in typed("export", "grades/week-1/ada.json", "--to", "vpl", cwd=school).stderr


def test_changes_of_a_student_graded_alone_are_added_to_those_of_the_class(school: Path, typed: Typed) -> None:
    """The run named changes.csv, which had no line of it."""
    typed("grade", cwd=school)
    changes = school / "grades/week-1/changes.csv"
    platforms.put(school / "submissions" / "Ada L.", {"lin_grad.py": platforms.MEAN})
    typed("grade", cwd=school)
    before = changes.read_text(encoding="utf-8-sig")
    assert before.count("ada,") == 2
    platforms.put(school / "submissions" / "ben", {"lin_grad.py": platforms.RIGHT})
    lines = (school / "adjustments.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (school / "adjustments.csv").write_text("".join(line for line in lines if ",ben," not in line), encoding="utf-8")
    done = typed("grade", "--student", "ben", cwd=school)
    assert "Since the last run 1 student gained points: see changes.csv." in done.stdout
    after = changes.read_text(encoding="utf-8-sig")
    assert after.startswith(before)
    rows = list(csv.reader(after.removeprefix(before).splitlines()))
    assert [row[:4] for row in rows] == [["ben", "lin_grad", "2.5", "3"], ["ben", "", "2.25", "2.7"]]
    typed("grade", "--student", "ben", cwd=school)
    assert changes.read_text(encoding="utf-8-sig") == after, "nothing changed"


def test_an_adjustment_above_the_points_that_can_be_had_is_named(school: Path, typed: Typed) -> None:
    with (school / "adjustments.csv").open("a", encoding="utf-8") as file:
        file.write("week-1,ada,,150,typo for 1.50\n")
    done = typed("grade", cwd=school)
    assert "More than 3 points by adjustments.csv: ada. Correct the file if that is a mistake." in done.stdout
    assert record(school, "ada")["score"] == 152.5


def test_adjustments_are_named_once_when_the_points_of_their_exercise_changed(school: Path, typed: Typed) -> None:
    says = (
        "Points in adjustments.csv for an exercise whose maximum has changed: line 2 (lin_grad: 3 before, 6 now). "
        "Change them if they should change with it."
    )
    assert "maximum" not in typed("grade", cwd=school).stdout
    (school / "course.yaml").write_text(COURSE.replace("points: 3", "points: 6"), encoding="utf-8")
    with (school / "adjustments.csv").open("a", encoding="utf-8") as file:
        file.write("week-1,ada,lin_grad,5,new\n")
    assert says in typed("grade", cwd=school).stdout.splitlines()
    assert "maximum" not in typed("grade", cwd=school).stdout


@pytest.mark.parametrize("command", ["report week-1", "export week-1 --to feedback"])
def test_points_from_before_an_edit_of_the_adjustments_are_named(school: Path, typed: Typed, command: str) -> None:
    """The old points were handed out without a word."""
    typed("grade", cwd=school)
    assert "adjustments.csv" not in typed(*shlex.split(command), cwd=school).stderr
    file = school / "adjustments.csv"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("-0.5", "-1"), encoding="utf-8")
    said = typed(*shlex.split(command), cwd=school).stderr
    sentence = "adjustments.csv has changed since these points were made: ada. To apply it: handgrad grade week-1"
    assert sentence in said
    file.write_text(text.replace("-0.5", "much"), encoding="utf-8")
    assert "adjustments.csv, line 3: 'much' is no number" in typed(*shlex.split(command), cwd=school).stderr
    file.unlink()
    assert "these points were made: ada, ben. To" in typed(*shlex.split(command), cwd=school).stderr
    typed("grade", cwd=school)
    assert "adjustments.csv" not in typed(*shlex.split(command), cwd=school).stderr


@pytest.mark.parametrize("command", ["report week-1", "export week-1 --to feedback"])
def test_points_from_before_an_edit_of_late_work_are_named(school: Path, typed: Typed, command: str) -> None:
    """The old points were handed out without a word."""
    typed("grade", cwd=school)
    says = "handgrad: class.yaml or people.csv has changed what late work loses since these points were made. To apply"
    assert says not in typed(*shlex.split(command), cwd=school).stderr
    for file, old, new in (
        ("class.yaml", "per_day: 0.1", "per_day: 0.2"), ("class.yaml", "ben: 2026-12-02", "ben: 2026-12-03"),
        ("people.csv", "2026-12-03T10:00", "2026-12-04T10:00"), ("class.yaml", "due: 2026-11-30", "due: 2026-11-29"),
    ):  # fmt: skip
        text = (school / file).read_text(encoding="utf-8")
        assert old in text
        (school / file).write_text(text.replace(old, new), encoding="utf-8")
        assert f"{says} it: handgrad grade week-1\n" in typed(*shlex.split(command), cwd=school).stderr
        typed("grade", "--student", "ben", cwd=school)
        assert says in typed(*shlex.split(command), cwd=school).stderr, "ada has the old rule"
        typed("grade", cwd=school)
        assert says not in typed(*shlex.split(command), cwd=school).stderr


@pytest.mark.parametrize("command", ["report week-1", "export week-1 --to vpl"])
def test_results_of_other_units_than_the_file_names_now_are_told(school: Path, typed: Typed, command: str) -> None:
    """The old units were handed out without a word; a number stands for the id of its unit."""
    with_two_units(school)
    file = school / "class.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("[04_linear]", "[4]"), encoding="utf-8")
    assert typed("grade", cwd=school).returncode == 1
    assert "other units" not in typed(*shlex.split(command), cwd=school).stderr
    file.write_text(text.replace("[04_linear]", "[4, 1]"), encoding="utf-8")
    says = "handgrad: class.yaml names other units than these results have. To grade them: handgrad grade week-1\n"
    assert says in typed(*shlex.split(command), cwd=school).stderr


def test_a_damaged_record_is_told_before_what_lies_in_it(school: Path, typed: Typed) -> None:
    """An export said that an adjusted student was not in the class, since the record could not be read."""
    typed("grade", cwd=school)
    (school / "grades/week-1/ada.json").write_text("{", encoding="utf-8")
    said = typed("export", "week-1", "--to", "vpl", cwd=school)
    assert "not exported: ada.json" in said.stderr
    assert "nobody in" not in said.stderr


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Return a function that sets the time zone of this machine, for one test."""
    if not hasattr(time, "tzset"):
        pytest.skip("only Unix lets a process choose its time zone")

    def choose(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield choose
    monkeypatch.undo()
    time.tzset()


def test_another_time_zone_than_that_of_the_run_is_named(
    school: Path, typed: Typed, zone: Callable[[str], None]
) -> None:
    """The files were named, which had not changed."""
    zone("UTC")
    typed("grade", cwd=school)
    assert "late work" not in typed("report", cwd=school).stderr
    zone("EST5EDT")
    now = "the time zone of this machine (now EST/EDT, then UTC)"
    says = f"handgrad: class.yaml, people.csv or {now} has changed what late work loses since these points were made."
    assert says in typed("report", cwd=school).stderr
    says = "The time zone of this machine is EST/EDT now, and was UTC in the last run: times without a zone mean others"
    assert f"{says} than then.\n" in typed("grade", cwd=school).stderr
    assert "time zone" not in typed("grade", cwd=school).stderr


def test_a_due_date_that_is_added_after_the_run_is_named(school: Path, typed: Typed) -> None:
    text = (school / "class.yaml").read_text(encoding="utf-8")
    begin = text.index("    due:")
    (school / "class.yaml").write_text(text[:begin], encoding="utf-8")
    typed("grade", cwd=school)
    assert "late work" not in typed("report", cwd=school).stderr
    (school / "class.yaml").write_text(text, encoding="utf-8")
    assert "has changed what late work loses" in typed("report", cwd=school).stderr
    (school / "grades/week-1/.graded-with").unlink()
    assert "late work" not in typed("report", cwd=school).stderr, "nobody knows, of results that were copied without it"


def test_zeros_for_a_class_are_not_advised_as_those_of_a_student_graded_alone(school: Path, typed: Typed) -> None:
    assert typed("grade", cwd=school).returncode == 1
    done = typed("grade", "--student", "ada", cwd=school)
    assert "To enter 0 for them: --yes, without --student\n" in done.stdout
    assert typed("grade", "--student", "ada", "--yes", cwd=school).returncode == 1
    assert record(school, "cem")["score"] is None
    assert typed("grade", "--yes", cwd=school).returncode == 0


def test_an_error_of_a_student_who_is_not_graded_again_is_advised_as_that(school: Path, typed: Typed) -> None:
    """Ben was an error for the sake of a name that an alias has given to ada since, and no run of ada's mends that."""
    (school / "people.csv").write_text("username,name\nada,Bob\nben,Bob\n", encoding="utf-8")
    for old, new in (("Ada L.", "Bob"), ("ben", "x")):
        (school / "submissions" / old).rename(school / "submissions" / new)
    text = (school / "class.yaml").read_text(encoding="utf-8")
    (school / "class.yaml").write_text(text.replace("Ada L.: ada", "x: ben"), encoding="utf-8")
    assert "Then run the same command again.\n" in typed("grade", cwd=school).stderr
    (school / "class.yaml").write_text(text.replace("Ada L.", "Bob"), encoding="utf-8")
    done = typed("grade", "--student", "ada", cwd=school)
    assert "Then run the same command again, without --student.\n" in done.stderr, done


def test_what_is_of_no_known_student_keeps_the_exit_code_of_a_class_with_zeros(school: Path, typed: Typed) -> None:
    platforms.put(school / "submissions", {"cem.ipynb": "{}", "hw.ipynb": "{}"})
    done = typed("grade", "--yes", cwd=school)
    assert (done.returncode, record(school, "cem")["score"]) == (1, 0), "the roster knows whose cem.ipynb is"
    assert "1 entry is of no known student, and without points:\n  hw: hw.ipynb: it lies outside" in done.stdout
    (school / "submissions/hw.ipynb").unlink()
    assert typed("grade", cwd=school).returncode == 0


def test_an_alias_of_nobody_is_told_with_its_line(school: Path, typed: Typed) -> None:
    text = (school / "class.yaml").read_text(encoding="utf-8")
    (school / "class.yaml").write_text(text.replace("Ada L.: ada", "Ada L.: adaa"), encoding="utf-8")
    done = typed("grade", cwd=school)
    assert done.stderr == "handgrad: class.yaml, line 3: nobody on the roster is called 'adaa': did you mean ada?\n"


def test_a_time_after_today_is_told(school: Path, typed: Typed) -> None:
    (school / "people.csv").write_text(ROSTER.replace("2026-12-03", "2206-12-03"), encoding="utf-8")
    said = typed("grade", cwd=school).stderr
    line = "people.csv, line 3: something was handed in at a time in the future: correct it if that is a mistake.\n"
    assert line in said.replace("lines 2, 3", "line 3"), "the class of the page may be of a later year"


def test_who_is_late_by_the_names_of_canvas_is_told_where_no_time_is_known(school: Path, typed: Typed) -> None:
    shutil.rmtree(school / "submissions")
    names = ["adalovelace_LATE_201_9001", "benoneil_202_9002", "cem_203_9003"]
    platforms.put(school / "submissions", {f"{name}_lin_grad.py": platforms.RIGHT for name in names})
    (school / "people.csv").write_text("id,login\n201,ada\n202,ben\n203,cem\n", encoding="utf-8")
    said = typed("grade", cwd=school).stdout
    assert "3 submissions have no known time, and count as on time: ada, ben, cem" in said
    line = "Late according to the file names that Canvas gave, and counted as on time: ada. "
    line += "Write their times into the roster."
    assert f"{line}\n" in said


def test_a_new_column_of_the_roster_renames_nobody(school: Path, typed: Typed) -> None:
    """All records went to removed/, and everybody was new in changes.csv."""
    (school / "people.csv").write_text("id,name\nada,Ada\nben,Ben\ncem,Cem\n", encoding="utf-8")
    typed("grade", cwd=school)
    text = "id,name,email\nada,Ada,a@u\nben,Ben,b@u\ncem,Cem,c@u\n"
    (school / "people.csv").write_text(text, encoding="utf-8")
    done = typed("grade", cwd=school)
    assert done.returncode == 1, done.stderr
    assert not (school / "grades/week-1/removed").exists()
    assert (school / "grades/week-1/changes.csv").read_text(encoding="utf-8-sig").count("\n") == 1
    with_week = (school / "class.yaml").read_text(encoding="utf-8") + "  week-2:\n    submissions: submissions/\n"
    (school / "class.yaml").write_text(with_week, encoding="utf-8")
    typed("grade", "week-2", cwd=school)
    assert (school / "grades/week-2/ben.json").exists(), "aliases and adjustments use the same names in all assignments"
    (school / "people.csv").write_text(text.replace("id,", "number,"), encoding="utf-8")
    done = typed("grade", "week-1", cwd=school)
    assert done.returncode == 2
    assert done.stderr == (
        "handgrad: people.csv: the results in grades/week-1 are named by the column id, which is gone: put that right, "
        "or move grades/week-1 away to name everybody by email.\n"
    )


def with_second_week(school: Path, roster: str) -> None:
    """Give the class an assignment week-2, due a week later, that takes off points for lateness, too."""
    text = (school / "class.yaml").read_text(encoding="utf-8")
    week = "  week-2:\n    submissions: submissions/\n    due: 2026-12-07T18:00\n    late: {per_day: 0.1}\n"
    (school / "class.yaml").write_text(text + week, encoding="utf-8")
    (school / "adjustments.csv").unlink()
    (school / "people.csv").write_text(roster, encoding="utf-8")


def test_times_that_may_be_of_another_assignment_take_nobodys_points(school: Path, typed: Typed) -> None:
    """The times of the second week made everybody a week late in the first one, when it was graded again."""
    with_second_week(school, "username,handed_in\nada,2026-12-07T17:00\nben,2026-12-07T17:00\ncem,\n")
    for name in ("week-1", "week-2"):
        done = typed("grade", name, cwd=school)
        assert done.returncode == 2
        assert "people.csv: the times in handed_in may be of week-1 or week-2" in done.stderr
        assert f"such as 'handed_in {name}'" in done.stderr


def test_each_assignment_takes_the_times_in_its_own_column(school: Path, typed: Typed) -> None:
    times = "ada,2026-11-30T17:00,2026-12-09T17:00\nben,2026-12-03T10:00,\ncem,,\n"
    with_second_week(school, f"username,handed_in_week-1,Handed in week-2\n{times}")
    first, second = typed("grade", "week-1", cwd=school), typed("grade", "week-2", cwd=school)
    assert "late" not in record(school, "ada")
    assert record(school, "ben")["late"]["days"] == 1  # type: ignore[index]
    late = json.loads((school / "grades/week-2/ada.json").read_bytes())["late"]
    assert late["days"] == 2
    assert "1 submission has no known time, and counts as on time: ben" in second.stdout
    for done in (first, second):
        assert "1 of 3 lost points for lateness: see the notes in grades.csv." in done.stdout


def test_a_plain_column_serves_the_one_assignment_without_a_column_of_its_own(school: Path, typed: Typed) -> None:
    with_second_week(school, "username,handed_in,handed_in week-2\nada,2026-12-01T17:00,\nben,,\ncem,,\n")
    done = typed("grade", "week-1", cwd=school)
    assert done.returncode == 1, done.stderr
    assert record(school, "ada")["late"]["days"] == 1  # type: ignore[index]


def test_a_column_of_times_of_no_assignment_is_named(school: Path, typed: Typed) -> None:
    """Everybody counted as on time, and no line named the column."""
    (school / "people.csv").write_text("username,Handed in week-9\nada,2026-12-03T10:00\nben,\n", encoding="utf-8")
    says = (
        "people.csv: the column Handed in week-9 is of no assignment in class.yaml, and its times count for nobody: "
        "name the assignment in it, as in 'handed_in week-1'."
    )
    assert says in typed("grade", cwd=school).stderr
    with_second_week(school, "username,handed_in week-1,handed_in week-2\nada,2026-11-30T10:00,\nben,,\n")
    assert "of no assignment" not in typed("grade", "week-1", cwd=school).stderr


def test_a_folder_that_the_shell_completes_is_the_assignment_of_its_name(school: Path, typed: Typed) -> None:
    """`week-1/` was graded without the due date and the adjustments, and no line said so."""
    (school / "submissions").rename(school / "week-1")
    text = (school / "class.yaml").read_text(encoding="utf-8").replace("submissions/", "week-1/")
    (school / "class.yaml").write_text(text, encoding="utf-8")
    done = typed("grade", "week-1/", cwd=school)
    assert done.stderr.startswith("week-1/ is taken as the assignment week-1: for the folder alone, type ./week-1\n")
    assert record(school, "ben")["score"] == 2.25
    assert typed("report", "week-1/", cwd=school).returncode == 0
    for results in ("week-1/", "grades/week-1"):
        typed("export", results, "--to", "vpl", cwd=school)
        shutil.rmtree(school / "exported/week-1/vpl")
    assert "is taken as" not in typed("grade", "week-1", cwd=school).stderr


@pytest.mark.parametrize("what", ["./week-1", "week-1/", "submissions", "submissions/ben", "one"])
def test_submissions_that_are_graded_without_the_rules_of_their_assignment_are_said_to_be(
    school: Path, typed: Typed, what: str
) -> None:
    """`week-1/` means a folder where the submissions of week-1 lie in another one."""
    says = f"{what} is graded without the rules of week-1 in class.yaml: due dates, lateness and adjustments do not"
    advice = "count. With them: handgrad grade week-1"
    if what.endswith("week-1"):
        (school / "class.yaml").write_text(
            (school / "class.yaml").read_text(encoding="utf-8").replace("submissions/", "week-1"), encoding="utf-8"
        )
        (school / "submissions").rename(school / "week-1")
    if what == "week-1/":
        shutil.copytree(school / "submissions", school / "week-1")
    words = ["--one", "submissions/ben", "--out", "ben.json"] if what == "one" else [what, "--layout", "plain"]
    done = typed("grade", *words, cwd=school)
    assert done.stderr.count(f"{says} {advice}".replace("one is", "submissions/ben is")) == 1, done.stderr
    assert not (school / "grades/week-1").exists()


def test_a_submission_graded_alone_takes_the_place_of_no_record_of_a_class(school: Path, typed: Typed) -> None:
    """Export and report took the points without lateness and adjustments, and said nothing."""
    alone = ["grade", "--one", "submissions/ben", "--out"]
    belongs = (
        "belongs to the assignment week-1: to grade one of its students again, run handgrad grade week-1 --student"
    )
    assert f"grades/week-1 {belongs} NAME; or name" in typed(*alone, "grades/week-1/ben.json", cwd=school).stderr
    typed("grade", "week-1", "--yes", cwd=school)
    typed("grade", "./submissions", "--layout", "plain", "--out", "plain", cwd=school)
    before = {path: path.read_bytes() for path in school.rglob("*.json")}
    for folder, says in (
        ("grades/week-1", belongs),
        ("plain", "holds the results of a class: to grade one of its students again, add --student"),
    ):
        done = typed(*alone, f"{folder}/ben.json", cwd=school)
        assert (done.returncode, f"{folder} {says}" in done.stderr) == (2, True), done.stderr
    assert {path: path.read_bytes() for path in school.rglob("*.json")} == before


def test_a_class_file_above_the_current_folder_is_said_not_to_be_read(school: Path, typed: Typed) -> None:
    """In a folder of the class, a run took the course from above, and not the rules, without a word."""
    done = typed("grade", ".", "--out", "../mine", "--layout", "plain", cwd=school / "submissions")
    says = f"{school / 'class.yaml'} is not read here, and its rules do not count: to apply them, run this in"
    assert done.stderr.startswith(f"{says} {school}\n")


def test_an_assignment_may_change_its_exercises_and_nothing_else_may(school: Path, typed: Typed) -> None:
    with_two_units(school)
    typed("grade", cwd=school)
    text = (school / "class.yaml").read_text(encoding="utf-8")
    (school / "class.yaml").write_text(text.replace("units: [04_linear]", "units: [01_slopes, 04_linear]"))
    refused = typed("grade", "week-1", "--student", "ada", cwd=school)
    assert refused.returncode == 2
    assert typed("grade", "week-1", cwd=school).returncode == 1
    assert [each["id"] for each in record(school, "ada")["exercises"]] == ["slope", "lin_grad"]  # type: ignore[attr-defined]


def test_zeros_that_were_entered_stay_when_the_exercises_change(school: Path, typed: Typed) -> None:
    """They vanished, with the reason that the submission or the time limit had changed."""
    with_two_units(school)
    platforms.put(school / "submissions", {"dan/hw.rar": "Rar!"})
    assert typed("grade", "--yes", cwd=school).returncode == 0
    assert (record(school, "cem")["score"], record(school, "dan")["score"]) == (0, 0)
    text = (school / "class.yaml").read_text(encoding="utf-8")
    (school / "class.yaml").write_text(text.replace("units: [04_linear]", "units: [01_slopes, 04_linear]"))
    slope = (ROOT / "solutions/01_slopes/slope.py").read_text(encoding="utf-8")
    platforms.put(school / "submissions" / "Ada L.", {"slope.py": slope})
    done = typed("grade", "--timeout", "9", cwd=school)
    assert done.returncode == 0, done.stderr
    assert "They have 0 points." in done.stdout
    assert (record(school, "cem")["score"], record(school, "dan")["score"]) == (0, 0)
    with (school / "grades/week-1/changes.csv").open(encoding="utf-8-sig", newline="") as file:
        assert {(row["student"], row["why"]) for row in csv.DictReader(file)} == {
            ("ada", "the assignment's exercises changed")
        }
    (school / "submissions/dan/hw.rar").rename(school / "submissions/dan/better.rar")
    assert typed("grade", "--timeout", "9", cwd=school).returncode == 1, "a new submission is asked about again"
    assert (record(school, "cem")["score"], record(school, "dan")["score"]) == (0, None)


def test_the_command_that_a_message_advises_works_when_it_is_typed(school: Path, typed: Typed) -> None:
    """Advice of another folder was refused where the folder belongs to an assignment."""
    with_two_units(school)
    for command in ("report week-1", "export week-1 --to vpl", "report", "export --to vpl"):
        said = typed(*shlex.split(command), cwd=school).stderr
        assert said == "handgrad: week-1 has no results: make them with handgrad grade week-1\n", command
    advised = "handgrad grade week-1"
    assert typed(*advised.split()[1:], cwd=school).returncode == 1
    assert typed("export", "--to", "vpl", cwd=school).returncode == 1, "the only assignment needs no name"
    assert (school / "exported/week-1/vpl/ben.vpl.txt").is_file()
    for command in ("report week-1 --unit 01_slopes", "export grades/week-1/ada.json --to vpl --unit 01_slopes"):
        said = typed(*shlex.split(command), cwd=school).stderr
        assert said.endswith("add it to class.yaml, line 6, and then run: handgrad grade week-1\n"), said
    file = school / "class.yaml"
    lines = file.read_text(encoding="utf-8").splitlines()
    lines[5] = lines[5].replace("[04_linear]", "[01_slopes, 04_linear]")
    file.write_text("\n".join(lines), encoding="utf-8")
    said = typed("report", "week-1", "--unit", "01_slopes", cwd=school).stderr
    assert said.endswith(": grade it again: handgrad grade week-1\n"), said
    said = typed("grade", "week-1", "--student", "ada", cwd=school).stderr
    assert said.endswith(": the same command without --student grades everybody again.\n"), said
    assert typed(*advised.split()[1:], cwd=school).returncode == 1
    assert typed("report", "week-1", "--unit", "01_slopes", cwd=school).returncode == 0


def test_a_unit_that_results_do_not_cover_is_graded_into_a_folder_of_its_own(school: Path, typed: Typed) -> None:
    with_two_units(school)
    (school / "class.yaml").unlink()
    (school / "adjustments.csv").unlink()
    typed("grade", "submissions", "--unit", "04_linear", "--out", "my grades", cwd=school)
    one = typed("grade", "--one", "submissions/ben", "--unit", "4", "--out", "ben.json", cwd=school)
    as_json = typed(
        "grade", "--one", "submissions/ben", "--unit", "4", "--out", "ben.json", "--format", "json", cwd=school
    )
    assert as_json.stdout == (school / "ben.json").read_text(encoding="utf-8")
    assert re.fullmatch(r"ben: [\d.]+ of 3 points\.\n", one.stdout), one.stdout
    for results, command in (
        ("my grades", "grade SUBMISSIONS --unit 01_slopes --out 'my grades-01_slopes'"),
        ("my grades/ben.json", "grade SUBMISSIONS --unit 01_slopes --out 'my grades-01_slopes'"),
        ("ben.json", "grade --one SUBMISSION --unit 01_slopes --out ben-01_slopes.json"),
    ):
        said = typed("export", results, "--to", "vpl", "--unit", "01_slopes", cwd=school).stderr
        assert said.endswith(f": handgrad {command}\n"), said
        words = shlex.split(command.replace("SUBMISSIONS", "submissions").replace("SUBMISSION", "submissions/ben"))
        assert typed(*words, cwd=school).returncode == 1
    (school / "course.yaml").write_text((school / "course.yaml").read_text("utf-8").replace("points: 3", "points: 4"))
    said = typed("report", "my grades", cwd=school).stderr
    command = "grade SUBMISSIONS --unit 04_linear --out 'my grades'"
    assert said.endswith(f"grade the class again: handgrad {command}\n"), said
    assert typed(*shlex.split(command.replace("SUBMISSIONS", "submissions")), cwd=school).returncode == 0
    shutil.copy(school / "my grades-01_slopes/Ada L..json", school / "my grades/zoe.json")
    (school / "my grades/Ada L..json").unlink()
    said = typed("report", "my grades", cwd=school).stderr
    command = "grade SUBMISSIONS --unit 04_linear --out 'my grades-again'"
    assert said.endswith(f"grade the class again: handgrad {command}\n"), said
    assert typed(*shlex.split(command.replace("SUBMISSIONS", "submissions")), cwd=school).returncode == 0


@pytest.mark.parametrize("command", ["report week-1", "export week-1 --to feedback"])
def test_outputs_take_the_course_that_the_class_file_names(school: Path, typed: Typed, command: str) -> None:
    (school / "mine").mkdir()
    for name in ("course.yaml", "exercises", "solutions"):
        (school / name).rename(school / "mine" / name)
    text = (school / "class.yaml").read_text(encoding="utf-8")
    (school / "class.yaml").write_text(f"course: mine\n{text}", encoding="utf-8")
    typed("grade", "week-1", cwd=school)
    (school / "mine" / "course.yaml").write_text(COURSE.replace("points: 3", "points: 4"), encoding="utf-8")
    done = typed(*shlex.split(command), cwd=school)
    assert done.returncode == 2
    assert "graded with another version of the course" in done.stderr


def test_an_unknown_unit_is_an_error_that_names_its_line(school: Path, typed: Typed) -> None:
    text = (school / "class.yaml").read_text(encoding="utf-8").replace("04_linear", "04_liner")
    (school / "class.yaml").write_text(text, encoding="utf-8")
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "04_liner" in row)
    done = typed("grade", "week-1", cwd=school)
    assert done.returncode == 2
    assert re.search(rf"class\.yaml, line {line}: .*04_liner", done.stderr), done.stderr
