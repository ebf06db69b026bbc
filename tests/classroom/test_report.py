"""`handgrad report` as an instructor meets it: its two files, and everything that can be wrong with its source."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.class_results import (
    CLASS,
    MEAN,
    RIGHT,
    result,
    write_folder,
    write_gradebook,
    wrong,
)
from test_report_page import Page

from grader.classroom.student_results import read_folder
from grader.cli import main as cli
from grader.results.records import Adjustment, Lateness, StudentResults, dumps

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """The command inside this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def called(*arguments: object) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["handgrad", "report", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return subprocess.CompletedProcess([], int(ended.value.code or 0), *capfd.readouterr())

    return called


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one sentence of a refused command."""
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    return line.removeprefix("handgrad: ")


def test_the_command_writes_a_page_and_a_table(run: Run, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "grades", CLASS)
    done = run(folder)
    page, table = folder / "report.html", folder / "report.csv"
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout == f"{page} and {table}: 7 students, median 2.5 of 5, 1 finished, 0 stuck, 1 not graded in full.\n"
    )
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run().returncode == 0, "the folder is called grades, as grade calls it"
    assert {path.name for path in folder.iterdir() if path.suffix not in (".json", "")} == {
        "report.html", "report.csv", "grades.csv",
    }  # fmt: skip


def test_two_reports_differ_in_their_date_alone(run: Run, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "grades", CLASS)
    texts = []
    for _ in range(2):
        assert run(folder).returncode == 0
        text = (folder / "report.html").read_text(encoding="utf-8")
        texts.append((re.sub(r"<time.*?</time>", "", text), (folder / "report.csv").read_bytes()))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("unit", ["04_linear", "4"])
def test_out_names_the_page_and_unit_what_is_in_it(run: Run, tmp_path: Path, unit: str) -> None:
    write_folder(tmp_path / "grades", CLASS)
    done = run("grades", "--unit", unit, "--out", "new/linear.html")
    assert (done.returncode, done.stdout[:39]) == (0, "new/linear.html and new/linear.csv: 7 s")
    assert {row["unit"] for row in rows(tmp_path / "new/linear.csv")} == {"04_linear"}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def test_the_table_reads_back_as_it_was(run: Run, tmp_path: Path) -> None:
    said = 'a "quoted", message;\r\nwith\ttwo lines'
    strange = result('O\'Brien, "Pat"', wrong("inp.g", "error", said), *MEAN)
    write_folder(tmp_path / "grades", [*CLASS, strange])
    assert run("grades").returncode == 0
    found = rows(tmp_path / "grades/report.csv")
    assert [(r["student"], r["exercise"], r["answer"], r["status"]) for r in found] == [
        (s.student, e.id, a.name, a.status)
        for s in sorted([*CLASS, strange], key=lambda s: s.student)
        for e in s.exercises
        for a in sorted(e.answers, key=lambda a: a.name)
    ]
    assert [row["message"] for row in found if row["student"] == strange.student][-1] == said
    for student in CLASS:
        own = [row for row in found if row["student"] == student.student]
        assert sum(float(row["score"] or 0) for row in own) == sum(exercise.score for exercise in student.exercises)
    assert {row["score"] for row in found if row["status"] == "error"} == {""}
    assert {row["stuck"] for row in found if row["student"] == "finn"} == {"3 wrong, 0 passed"}
    data = (tmp_path / "grades/report.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbfstudent,unit,exercise,answer,status,score,max_score,code,message,stuck\r\n")


def test_no_name_in_the_table_moves_a_terminal(run: Run, tmp_path: Path) -> None:
    write_folder(tmp_path / "grades", [result("\x1b[2Jann\u202e", wrong("inp.g", "error", "no"), *RIGHT)])
    assert run("grades").returncode == 0
    table = (tmp_path / "grades/report.csv").read_text(encoding="utf-8-sig")
    assert "\N{REPLACEMENT CHARACTER}[2Jann\N{REPLACEMENT CHARACTER}," in table


def test_no_cell_of_the_table_is_a_formula(run: Run, tmp_path: Path) -> None:
    formula = result("=cmd()", wrong("inp.g", "error", "-2+3"), *RIGHT)
    write_folder(tmp_path / "grades", [formula])
    assert run("grades").returncode == 0
    last = rows(tmp_path / "grades/report.csv")[-1]
    assert (last["student"], last["message"]) == ("'=cmd()", "'-2+3")


BROKEN = {
    "cut off": (dumps(CLASS[0])[:200], "it is no valid JSON"),
    "empty": ("", "it is no valid JSON"),
    "deep": ("[" * 100_000, "it is no valid JSON"),
    "other": ('{"name": "package"}', "it is no handgrad/result@2 (schema: field required)"),
    "status": (
        dumps(CLASS[0]).replace('"passed"', '"perfect"'),
        "it is no handgrad/result@2 (exercises.0.answers.0",
    ),
    "nan": (dumps(CLASS[0]).replace('"score": 1.0', '"score": NaN'), "slope has a score that is no number"),
    "twice": (dumps(replace(CLASS[0], exercises=CLASS[0].exercises[:1] * 2)), "it lists an exercise twice"),
    "none": (re.sub(r'"answers": \[.*\]', '"answers": []', dumps(CLASS[0])), "slope has no answers"),
    "same": (dumps(CLASS[0]), "it holds ada, who has a record already"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_record_that_cannot_be_read_is_named_and_skipped(name: str, run: Run, tmp_path: Path) -> None:
    content, why = BROKEN[name]
    folder = write_folder(tmp_path / "grades", CLASS)
    (folder / f"z {name}.json").write_text(content)
    done = run(folder)
    assert done.returncode == 3
    assert done.stdout.endswith(
        ": 7 students, median 2.5 of 5, 1 finished, 0 stuck, 1 not graded in full, 1 result not read.\n"
    )
    assert done.stderr.startswith(f"handgrad: not counted: z {name}.json: {why}")
    words = Page((folder / "report.html").read_text(encoding="utf-8")).words
    assert "1 result could not be read, and is in no number on this page" in words
    assert f"z {name}.json: {why}" in words


def test_what_is_no_folder_of_results_is_refused_in_a_sentence(run: Run, tmp_path: Path) -> None:
    write_folder(tmp_path / "grades", CLASS)
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/package.json").write_text("{}")
    for arguments, says in (
        (
            ["nowhere"],
            "nowhere cannot be read (No such file or directory): name the folder that handgrad grade --out wrote.",
        ),
        (["grades/ada.json"], "grades/ada.json cannot be read (Not a directory): name the folder"),
        (["empty"], "empty holds no results: make them with handgrad grade SUBMISSIONS --out empty"),
        (["foreign"], "foreign holds no readable result: name the folder"),
        (["grades", "--unit", "nope"], "There is no unit 'nope'. Units: 01_slopes, 02_"),
        (["grades", "--gradebook", "sqlite:///x.db"], "A report is made from one class: name a folder or --gradebook"),
        (["grades", "--out", "empty"], "empty is a folder: name a file with --out, such as empty/report.html"),
        (["grades", "--out", "x.csv"], "--out names the page, and the CSV goes beside it: --out x.html"),
        (
            ["grades", "--out", "grades/ada.json/x.html"],
            "grades/ada.json/x.csv cannot be written (its folder is a file)",
        ),
    ):
        assert refused(run(*arguments)).startswith(says), arguments
    assert not (tmp_path / "nowhere").exists()
    assert not list(tmp_path.glob("**/*.html"))
    assert not list(tmp_path.glob("**/*.tmp"))


def test_results_of_another_version_are_refused(run: Run, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "grades", CLASS)
    record = json.loads((folder / "ben.json").read_text())
    (folder / "ben.json").write_text(json.dumps({**record, "schema": "handgrad/result@1"}))
    assert refused(run(folder)) == (
        f"{folder}/ben.json is a handgrad/result@1, and this handgrad reads handgrad/result@2: "
        "use the handgrad that made it, or grade the class again: handgrad grade SUBMISSIONS "
        f"--out {folder}"
    )
    assert not (folder / "report.csv").exists()


def test_a_report_that_fails_leaves_the_last_one(run: Run, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "grades", CLASS)
    assert run(folder).returncode == 0
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert run(folder, "--unit", "nope").returncode == 2
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_the_command_reads_a_gradebook_and_leaves_it_as_it_is(run: Run, tmp_path: Path) -> None:
    gradebook = write_gradebook(tmp_path / "gradebook.db", CLASS)
    before = (tmp_path / "gradebook.db").read_bytes()
    done = run("--gradebook", gradebook)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout
        == "report.html and report.csv: 7 students, median 2.5 of 5, 1 finished, 0 stuck, 1 not graded in full.\n"
    )
    assert (tmp_path / "gradebook.db").read_bytes() == before
    write_folder(tmp_path / "grades", CLASS)
    assert run("grades").returncode == 0
    assert (tmp_path / "report.csv").read_bytes() == (tmp_path / "grades/report.csv").read_bytes()


def test_what_is_no_gradebook_is_refused_in_a_sentence(run: Run, tmp_path: Path) -> None:
    import sqlite3

    sqlite3.connect(tmp_path / "other.db").execute("create table grade (id text)").connection.close()
    (tmp_path / "text.db").write_text("not a database, but long enough to be one" * 10)
    write_gradebook(tmp_path / "ungraded.db", [replace(CLASS[2], exercises=CLASS[2].exercises[:1])])
    for url, says in (
        ("gradebook.db", "--gradebook takes the address of a database, such as sqlite:///gradebook.db"),
        ("nosuch://x", "--gradebook takes the address of a database, such as sqlite:///gradebook.db"),
        ("sqlite:///nowhere.db", "There is no gradebook nowhere.db: name the one that nbgrader wrote, such as sqlite"),
        ("sqlite://", "This address names no file: name the one that nbgrader wrote"),
        ("sqlite:///other.db", "sqlite:///other.db is no gradebook of nbgrader's: name the one that nbgrader wrote."),
        ("sqlite:///text.db", "sqlite:///text.db cannot be read (file is not a database): put that right,"),
        ("sqlite:///ungraded.db", "sqlite:///ungraded.db holds no grades yet: grade with nbgrader autograde first."),
        ("mysql+nope://u:secret@h/x", "--gradebook takes the address of a database"),
        ("mysql://u:secret@h/x", "mysql://u:***@h/x needs the Python package MySQLdb: install it with pip."),
    ):
        line = refused(run("--gradebook", url))
        assert line.startswith(says), url
        assert "secret" not in line
    assert not (tmp_path / "nowhere.db").exists()
    assert not list(tmp_path.glob("*.html"))


def test_without_nbgrader_a_gradebook_cannot_be_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nbgrader.api", None)
    assert refused(run("--gradebook", "sqlite:///gradebook.db")) == (
        '--gradebook needs nbgrader: install it with pip install "nbgrader>=0.9.5"'
    )


def test_help_and_a_folder_need_neither_jinja2_nor_nbgrader_before_their_time(tmp_path: Path) -> None:
    script = "import sys; from grader.cli.main import main\ntry: main()\nexcept SystemExit: pass\n"
    script += "print([name for name in ('jinja2', 'nbgrader', 'sqlalchemy', 'torch') if name in sys.modules])"

    def loaded(*arguments: str) -> str:
        done = subprocess.run([sys.executable, "-c", script, *arguments], cwd=tmp_path, capture_output=True, text=True)
        return done.stdout.splitlines()[-1]

    assert loaded("--help") == loaded("report", "--help") == "[]"
    write_folder(tmp_path / "grades", CLASS)
    assert loaded("report") == "['jinja2']"


def test_what_stands_in_many_records_is_read_once_and_any_layout_is_read(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "grades", [CLASS[0], replace(CLASS[0], student="zoe")])
    (folder / "ben.json").write_text(json.dumps(json.loads(dumps(replace(CLASS[0], student="ben"))), indent=2))
    ada, ben, zoe = read_folder(folder)
    assert isinstance(ada, StudentResults)
    assert isinstance(ben, StudentResults)
    assert isinstance(zoe, StudentResults)
    assert [entry.student for entry in (ada, ben, zoe)] == ["ada", "ben", "zoe"]
    assert all(one is other for one, other in zip(ada.exercises, zoe.exercises, strict=True))
    assert ada.exercises == ben.exercises
    assert [exercise.id for exercise in ben.exercises] == [exercise.id for exercise in CLASS[0].exercises]


# --- who has no score, and what was changed

DORA = replace(CLASS[2], student="dora", reason="nothing was handed in")
FAY = replace(
    CLASS[0],
    student="fay",
    adjustments=(Adjustment("lin_grad", -1.0, "=copied, by hand"), Adjustment("", 0.5, "a good question")),
    late=Lateness("2026-01-01", "2026-01-02", 1, -0.45, "1 day late: 10 % a day"),
)


def test_who_handed_in_nothing_is_a_row_and_in_no_number(run: Run, tmp_path: Path) -> None:
    """Defect 15: the report forgot whoever had no score, and said nothing."""
    folder = write_folder(tmp_path / "grades", [*CLASS, DORA])
    done = run(folder)
    assert (
        ": 8 students, median 2.5 of 5, 1 finished, 0 stuck, 1 without a score, 1 not graded in full.\n" in done.stdout
    )
    words = Page((folder / "report.html").read_text(encoding="utf-8")).words
    assert "1 student has no score, and is not in the median or the chart dora: nothing was handed in" in words
    assert "2 students have answered no exercise: nothing was handed in, or" in words
    assert "dora (nothing was handed in)" in words
    assert "dora none" in words
    last = [row for row in rows(folder / "report.csv") if row["student"] == "dora"]
    assert [row["status"] for row in last] == ["todo"] * 5 + ["no score"]
    assert last[-1]["message"] == "nothing was handed in"


def test_every_exercise_that_was_asked_counts(run: Run, tmp_path: Path) -> None:
    """Defect 14: one right exercise of two people was `median 1 of 1, 2 finished`."""
    once = [
        replace(CLASS[2], student=name, exercises=(CLASS[0].exercises[0], *CLASS[2].exercises[1:])) for name in "ab"
    ]
    done = run(write_folder(tmp_path / "grades", once))
    assert ": 2 students, median 1 of 5, 0 finished, 0 stuck.\n" in done.stdout


def test_adjustments_and_lateness_are_lines_with_their_reason(run: Run, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "grades", [CLASS[1], FAY])
    assert run(folder).returncode == 0
    words = Page((folder / "report.html").read_text(encoding="utf-8")).words
    for says in (
        "fay adjustment lin_grad \N{MINUS SIGN}1 =copied, by hand", "fay adjustment +0.5 a good question",
        "fay lateness \N{MINUS SIGN}0.45 1 day late: 10 % a day", "fay 4.05 late",
    ):  # fmt: skip
        assert says in words
    own = [row for row in rows(folder / "report.csv") if row["student"] == "fay"]
    assert [(row["exercise"], row["status"], row["score"], row["message"]) for row in own[-3:]] == [
        ("lin_grad", "changed", "-1", "'=copied, by hand"),
        ("", "changed", "0.5", "a good question"),
        ("", "late", "-0.45", "1 day late: 10 % a day"),
    ]
    assert sum(float(row["score"]) for row in own) == pytest.approx(4.05)


def test_an_error_with_points_from_a_person_is_drawn_and_listed_as_that(run: Run, tmp_path: Path) -> None:
    eve = replace(CLASS[4], adjustments=(Adjustment("relu_grad", 1.0, "read by hand"),))
    folder = write_folder(tmp_path / "grades", [eve])
    assert run(folder).returncode == 0
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert 'aria-label="relu_grad: 1 graded by a person"' in text
    assert 'aria-label="exercises: 1 passed, 1 wrong, 1 graded by a person"' in text
    assert "1 not graded" not in text
    (own,) = [row for row in rows(folder / "report.csv") if (row["exercise"], row["answer"]) == ("relu_grad", "inp.g")]
    assert (own["status"], own["score"], own["message"]) == ("graded by a person", "", "the worker is gone")


def test_what_the_last_run_changed_is_shown(run: Run, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "grades", CLASS)
    text = 'student,exercise,before,after,why\r\nada,,4,5,"the course was edited"\r\n<b>,lin_grad,,1,x\r\n'
    (folder / "changes.csv").write_text(text, encoding="utf-8-sig", newline="")
    assert run(folder).returncode == 0
    words = Page((folder / "report.html").read_text(encoding="utf-8")).words
    assert "Since the run before Student Exercise Before After Why ada total 4 5 the course was edited" in words
    assert "<b> lin_grad 1 x" in words
    (folder / "changes.csv").write_bytes(b"student\r\n\xff")
    assert refused(run(folder)).startswith(f"{folder}/changes.csv cannot be read")
