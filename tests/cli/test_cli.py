"""The `handgrad` command as a person at a terminal, a script, or a class's teacher meets it."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from golden import assert_golden
from helpers.measurements import SOURCES
from helpers.processes import children_of
from helpers.workers import strongest
from test_picture_html import ELSEWHERE, Page
from test_session import RIGHT, KeptWorker

from grader import __version__
from grader.classroom import grade_terminal as batch_report
from grader.course.course import Course, bundled_folder, load_course
from grader.judging.grading import TOGETHER, Grader
from grader.learner import workspace
from grader.learner.progress import Progress
from grader.results.records import SCHEMA_FILE
from grader.sandbox.isolation import machine, weakness
from grader.sandbox.worker import Worker

pytestmark = pytest.mark.slow

HANDGRAD = [sys.executable, "-c", "from grader.cli.main import main; main()"]
COMMANDS = [
    "init",
    "lesson",
    "check",
    "hint",
    "list",
    "reset",
    "solution",
    "quiz",
    "review",
    "train",
    "card",
    "grade",
    "report",
    "export",
    "gradescope",
    "doctor",
    "new",
    "build",
    "audit",
    "nbgrader",
]
MEAN = """\
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g / len(inp)
    b.g = ...
"""
SHAPES = "def lin_grad(inp, out, w, b):\n    inp.g = out.g @ w\n    w.g = inp.t() @ out.g\n    b.g = out.g.sum(0)\n"
SLOPE = "def slope(f, x, h):\n    return (f(x + h) - f(x)) / h\n"
HANG = "def central_difference(f, x, h):\n    while True:\n        pass\n"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def course(tmp_path: Path, new_workspace: Callable[..., Course]) -> Course:
    return new_workspace(tmp_path / "ws", before="07_network")


def handgrad(*arguments: str, cwd: Path, **options: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, 80 columns wide; nobody ever sees a traceback of ours."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run(
        [*HANDGRAD, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, **options
    )  # type: ignore[call-overload]
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    return done


@pytest.fixture
def here(course: Course, worker: Worker, grader: Grader, typed: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The same in a workspace, with a worker that is warm already."""
    KeptWorker(worker).serve(grader, monkeypatch)
    monkeypatch.chdir(course.root)
    return typed


def write(course: Course, exercise_id: str, text: str) -> None:
    course.find(exercise_id).path.write_text(text, encoding="utf-8")


def one_sentence(done: subprocess.CompletedProcess[str], code: int) -> str:
    """What was said on stderr: one line, with nothing on stdout."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("handgrad: ")
    return line


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(tmp_path: Path, typed: Run, command: str) -> None:
    done = typed(command, "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: handgrad {command}" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_help_lists_every_command_in_the_order_of_use_and_imports_no_torch(tmp_path: Path) -> None:
    script = "import sys; from grader.cli.main import main\ntry: main()\nexcept SystemExit: pass\n"
    script += "print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script, "--help"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    listed = re.findall(r"^  ([a-z]+)  ", done.stdout.partition("Commands:")[2], re.MULTILINE)
    assert listed == COMMANDS
    assert done.stdout.splitlines()[-1] == "False False"


COMPLETIONS = [("check slo", ["slope"]), ("hint pick", ["pick_h"]), ("quiz 04", ["04_linear"]), ("check nothing", [])]


@pytest.mark.parametrize(("typed", "offered"), COMPLETIONS[::2])
def test_the_shell_completes_exercises_and_units(course: Course, typed: str, offered: list[str]) -> None:
    script = Path(sys.executable).with_name("handgrad")
    asked = {"_HANDGRAD_COMPLETE": "complete_bash", "COMP_WORDS": f"handgrad {typed}", "COMP_CWORD": "2"}
    done = subprocess.run(
        [script], cwd=course.root, env={**os.environ, **asked}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.split() == offered


def test_version(tmp_path: Path) -> None:
    done = handgrad("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"handgrad {__version__}\n", "")


def test_the_console_script_is_installed(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("handgrad")
    done = subprocess.run([script, "--version"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"handgrad {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["frobnicate"], ["check", "--formt", "json"], ["hint"], ["check", "--format", "xml"], ["init"]]
)
def test_a_command_line_that_makes_no_sense_is_wrong_usage(tmp_path: Path, arguments: list[str], typed: Run) -> None:
    done = typed(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "-h" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    ["check", "hint slope", "list", "reset slope", "solution slope", "quiz", "build", "audit"],
)
def test_outside_a_course_every_command_says_how_to_get_one(tmp_path: Path, arguments: str, typed: Run) -> None:
    assert "handgrad init my-course" in one_sentence(typed(*arguments.split(), cwd=tmp_path), 2)


def test_a_class_is_graded_outside_a_course_with_the_one_that_is_named(tmp_path: Path, typed: Run) -> None:
    done = typed("grade", ".", cwd=tmp_path)
    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert first == "No course.yaml here: grading with the course that came with handgrad."
    assert "holds no student folders" in second


def test_init_makes_a_workspace_and_says_how_to_begin(tmp_path: Path, typed: Run) -> None:
    done = typed("init", "my-course", cwd=tmp_path)
    assert done.returncode == 0
    assert not (tmp_path / "my-course/solutions").exists()
    assert (tmp_path / "my-course/exercises/04_linear/lin_grad.py").exists()
    for line in ("my-course/exercises/01_slopes/README.md", "\n  cd my-course\n  handgrad\n"):
        assert line in done.stdout


def test_init_here_says_to_start_here(tmp_path: Path, typed: Run) -> None:
    """In the folder itself there is nowhere to go; the second time it is a course already, and one is in it."""
    done = typed("init", ".", cwd=tmp_path)
    assert done.stdout.startswith(f"{tmp_path} is ready. Start here:\n  handgrad\n")
    assert "  cd " not in done.stdout
    assert "and you are in it: type handgrad to go on" in one_sentence(typed("init", ".", cwd=tmp_path), 2)
    assert "and you are in it" in one_sentence(typed("init", "another", cwd=tmp_path), 2)


def test_init_refuses_a_folder_that_holds_something(tmp_path: Path, typed: Run) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert "name a new folder" in one_sentence(typed("init", ".", cwd=tmp_path), 2)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_init_below_a_file_is_one_sentence(tmp_path: Path, typed: Run) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert "notes.txt" in one_sentence(typed("init", "notes.txt/course", cwd=tmp_path), 3)


def test_check_names_the_mistake(here: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    done = here("check", "lin_grad")
    assert (done.returncode, done.stderr) == (1, "")
    assert_golden("check_mean_for_sum", done.stdout)


def test_check_tells_a_shape_error_once_with_axis_names(here: Run, course: Course) -> None:
    write(course, "lin_grad", SHAPES)
    done = here("check", "lin_grad")
    assert_golden("check_shape_error", done.stdout)
    assert done.stdout.count("RuntimeError") == 1


def test_check_of_several_lists_them_in_teaching_order(here: Run, course: Course) -> None:
    write(course, "slope", "def slope(f, x, h:\n")
    write(course, "lin_grad", MEAN)
    done = here("check", "lin_grad", "01_slopes", "mse_grad")
    assert done.returncode == 1
    assert_golden("check_several", done.stdout)


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_check_fits_the_terminal(here: Run, course: Course, columns: int) -> None:
    write(course, "lin_grad", MEAN)
    width = max(map(len, here("check", "lin_grad", columns=columns).stdout.splitlines()))
    assert width <= min(max(columns, 40), 100)


def test_check_of_what_is_right_is_ok_and_exits_with_zero(here: Run, course: Course) -> None:
    write(course, "lin_grad", RIGHT)
    done = here("check", "lin_grad")
    assert done.returncode == 0
    assert "inp.g, w.g, b.g  ok" in done.stdout
    assert "04_linear  ##............  3 of 20  quiz 0 of 19" in done.stdout
    assert done.stdout.splitlines()[-1] == "next: exercises/01_slopes/slope.py"


def test_check_shows_the_flag_of_a_right_answer_whether_alone_or_among_others(here: Run, course: Course) -> None:
    write(course, "lin_grad", SOURCES["lin_grad", "only one of them"])
    for arguments in (["lin_grad"], ["lin_grad", "slope"]):
        said = " ".join(here("check", *arguments).stdout.split())
        assert "w.g: each entry of w was changed alone, by 0.001" in said


def test_check_shows_what_learner_code_printed(here: Run, course: Course) -> None:
    write(course, "slope", SLOPE.replace("return", "print('here:', h); return"))
    assert "  | here: " in here("check", "slope").stdout


@pytest.mark.parametrize(
    "target",
    ["mse_grad", "06_losses", "exercises/06_losses", "exercises/06_losses/mse_grad.py", "./exercises/06_losses/"],
)
def test_check_takes_ids_units_files_and_folders(here: Run, target: str) -> None:
    done = here("check", target)
    assert done.stdout.splitlines()[0] == "exercises/06_losses/mse_grad.py  not attempted yet"
    assert re.search(r"^06_losses  \.{14}  0 of \d\d  quiz 0 of \d\d$", done.stdout, re.MULTILINE)


def test_check_takes_paths_from_where_you_stand(here: Run, course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(course.find("mse_grad").path.parent)
    for target in ("mse_grad.py", ".", str(course.find("mse_grad").path)):
        assert here("check", target).stdout.startswith("exercises/06_losses/mse_grad.py  not attempted yet")


def test_check_json_validates_against_the_published_schema_and_is_all_of_stdout(here: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN.replace("inp.g", "print('noise'); inp.g"))
    done = here("check", "lin_grad", "slope", "--format", "json")
    assert (done.returncode, done.stderr) == (1, "")
    record = json.loads(done.stdout)
    assert [exercise["id"] for exercise in record["exercises"]] == ["slope", "lin_grad"]
    assert [answer["code"] for answer in record["exercises"][1]["answers"]] == [None, "mean-for-sum", "todo"]
    jsonschema.validate(record, json.loads(SCHEMA_FILE.read_text()))
    assert (record["student"], record["isolation"], record["made_from"]) == ("learner", "none", None)


def test_check_draws_what_is_wrong_when_asked(here: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    plain, drawn = here("check", "lin_grad"), here("check", "lin_grad", "--show", columns=60)
    assert (drawn.returncode, drawn.stderr) == (1, "")
    assert "yours - nudged" not in plain.stdout
    assert re.search(r"^  yours \(n=\d, m=\d\)", drawn.stdout, re.MULTILINE)
    assert re.search(r"yours - nudged \(n=\d, m=\d\)", drawn.stdout)
    assert re.search(r"^    0 +-?\d\.\d+", drawn.stdout, re.MULTILINE)
    assert "keeps expected values back" not in drawn.stdout
    assert "<== w.g" in drawn.stdout
    assert "  b.g  it is not attempted yet, so there is nothing to draw" in drawn.stdout
    assert max(map(len, drawn.stdout.splitlines())) <= 60
    assert "\x1b" not in drawn.stdout


def test_a_course_that_keeps_expected_values_back_shows_colours_without_numbers(here: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    settings = course.root / "course.yaml"
    settings.write_text(settings.read_text().replace("show_expected: true", "show_expected: false"))
    drawn = here("check", "lin_grad", "--show").stdout
    page = here("check", "lin_grad", "--format", "html").stdout
    for title in ("yours (n=", "nudged (n=", "yours - nudged (n="):
        assert title in drawn
        assert title in page
    assert not re.search(r"\d\.\d", drawn[drawn.index("yours (n=") :])
    assert set(re.findall(r"<td[^>]*>([^<]*)</td>", page)) <= {*"+.", "++", "&#8722;", "&#8722;&#8722;"}
    for shown in (drawn, " ".join(page.split())):
        assert "This course keeps expected values back" in " ".join(shown.split())


def test_of_several_exercises_only_those_with_an_array_are_drawn(here: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    assert here("check", "lin_grad", "slope", "--show").stdout.count("nothing to draw") == 1
    none = here("check", "slope", "mse_grad", "--show").stdout
    assert "In none of these is there an array to draw." in none


def test_of_a_quiz_there_is_nothing_to_draw_and_one_line_says_so(here: Run, course: Course) -> None:
    quiz = next(exercise for exercise in course.exercises if exercise.is_quiz)
    assert here("check", quiz.id, "--show").stdout.count("nothing to draw") == 1
    quiz.path.write_text(quiz.path.read_text().replace(": null", ": by_4"))
    assert here("check", quiz.id, "--show").stdout.count("there is no array to draw") == 1
    page = here("check", quiz.id, "--format", "html").stdout
    assert "asked:" in page
    assert "no array to draw" not in page


def test_check_show_json_holds_the_record_and_beside_it_the_numbers(here: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    record = json.loads(here("check", "lin_grad", "--show", "--format", "json").stdout)
    jsonschema.validate(record["result"], json.loads(SCHEMA_FILE.read_text()))
    (seen,) = record["shown"]
    assert [(answer["name"], len(answer["grids"])) for answer in seen["answers"]] == [("w.g", 3), ("b.g", 0)]
    yours, measured, difference = seen["answers"][0]["grids"]
    assert yours["axes"] == ["n", "m"]
    assert [grid["shaded"] for grid in (yours, measured, difference)] == [False] * 3
    assert np.allclose(difference["values"], np.subtract(yours["values"], measured["values"]))
    assert [node["marked"] for node in seen["graph"]["nodes"] if node["label"] == "@"] == [["w.g"]]


def test_check_html_is_one_page_of_ascii_that_asks_for_nothing(here: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    write(course, "slope", "def slope(f, x, h:\n")
    done = here("check", "lin_grad", "slope", "mse_grad", "--format", "html")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.isascii()
    assert done.stdout.startswith("<!DOCTYPE html>")
    assert not ELSEWHERE.search(done.stdout)
    words = " ".join(Page(done.stdout.partition("\n")[2]).words)
    for said in ("yours (n=", "finite differences", "forward pass", "not attempted yet", "there is no array to draw"):
        assert said in words
    assert "default-src 'none'" in done.stdout
    assert "color-scheme: light dark" in done.stdout
    assert "width=device-width" in done.stdout


def test_check_says_when_progress_cannot_be_remembered(here: Run, course: Course) -> None:
    (course.root / ".handgrad").write_text("a file")
    done = here("check", "slope")
    assert done.returncode == 1
    assert "Progress is not remembered" in done.stdout
    assert "Progress is not remembered" in here("hint", "slope").stdout


def test_check_json_stays_json_when_progress_cannot_be_remembered(here: Run, course: Course) -> None:
    (course.root / ".handgrad").write_text("a file")
    assert json.loads(here("check", "slope", "--format", "json").stdout)["exercises"][0]["status"] == "todo"


def test_check_starts_over_from_a_broken_state_file_and_says_so(here: Run, course: Course) -> None:
    (course.root / ".handgrad").mkdir()
    (course.root / ".handgrad/progress.json").write_text('{"version": 99, "exercises": {}}')
    done = here("check", "slope")
    assert done.returncode == 1
    assert "version 99" in done.stdout
    assert "progress.broken.json" in done.stdout
    assert "version 99" not in here("check", "slope").stdout


def test_a_missing_stub_says_how_to_get_it_back(here: Run, course: Course) -> None:
    course.find("slope").path.unlink()
    done = here("check", "slope")
    assert done.returncode == 1
    assert "handgrad reset slope" in done.stdout


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [("lin_gard", "lin_grad"), ("04_liner", "04_linear"), ("exercises/04_linear/lin_gard.py", "lin_grad")],
)
@pytest.mark.parametrize("command", ["check", "hint", "reset", "solution"])
def test_an_unknown_id_is_answered_with_the_nearest(here: Run, command: str, asked: str, nearest: str) -> None:
    line = one_sentence(here(command, asked), 2)
    assert repr(asked) in line
    assert f"Did you mean {nearest}?" in line


def test_an_id_like_no_other_is_answered_with_the_list(here: Run) -> None:
    assert "handgrad list" in one_sentence(here("check", "xyzzyxyzzy"), 2)


@pytest.mark.parametrize("command", ["hint", "reset", "solution"])
def test_a_path_will_do_wherever_an_exercise_is_asked_for(here: Run, course: Course, command: str) -> None:
    """Shell completion gives a path; the error must not suggest the exercise that was named."""
    write(course, "slope", SLOPE)
    arguments = ["--yes"] if command == "reset" else []
    assert here(command, "exercises/01_slopes/slope.py", *arguments).returncode == 0


def hints_in(done: subprocess.CompletedProcess[str]) -> list[str]:
    return re.findall(r"^hint (\d)/3", done.stdout, re.MULTILINE)


def test_hints_come_one_at_a_time_are_remembered_and_end_with_the_lesson(here: Run) -> None:
    shown = [here("hint", "lin_grad", "w.g") for _ in range(4)]
    assert [hints_in(done) for done in shown] == [["1"], ["1", "2"], ["1", "2", "3"], ["1", "2", "3"]]
    assert "next hint: handgrad hint lin_grad w.g" in shown[1].stdout
    assert "exercises/04_linear/README.md" in shown[2].stdout.splitlines()[-1]
    assert {done.returncode for done in shown} == {0}


def test_after_a_failed_check_the_next_hint_is_the_second(here: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    assert "hint 1/3" in here("check", "lin_grad").stdout
    assert hints_in(here("hint", "lin_grad", "w.g")) == ["1", "2"]
    assert "hint 2/3" in here("check", "lin_grad").stdout


def test_hints_begin_again_when_the_mistake_changes(here: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    here("hint", "lin_grad", "w.g")
    here("hint", "lin_grad", "w.g")
    write(course, "lin_grad", MEAN.replace("/ len(inp)", "* -1"))
    assert "hint 1/3" in (again := here("check", "lin_grad").stdout)
    assert "hint 2/3" not in again


def test_a_hint_without_an_answer_is_about_the_first_open_one(here: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    assert here("hint", "lin_grad").stdout.startswith("exercises/04_linear/lin_grad.py  w.g\n")


def test_an_unknown_answer_is_told_which_there_are(here: Run) -> None:
    assert "inp.g, w.g, b.g" in one_sentence(here("hint", "lin_grad", "x.g"), 2)


def test_there_is_nothing_to_hint_at_once_it_passes(here: Run, course: Course) -> None:
    write(course, "lin_grad", RIGHT)
    done = here("hint", "lin_grad")
    assert (done.returncode, hints_in(done)) == (0, [])
    assert "passes" in done.stdout


def test_a_file_that_cannot_be_read_is_not_said_to_pass(here: Run, course: Course) -> None:
    course.find("slope").path.unlink()
    course.find("slope").path.mkdir()
    done = here("hint", "slope")
    assert "passes" not in done.stdout
    assert "cannot be read" in done.stdout + done.stderr


def test_a_file_saved_while_it_is_checked_has_no_verdict(
    here: Run, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict is on the bytes that were read: it is shown, and not taken for one on those that came after."""
    write(course, "slope", SLOPE)
    saved_meanwhile(monkeypatch, course, "slope")
    assert here("check", "slope").returncode == 0
    assert Progress.load(course.root).result(course.find("slope")) is None


def saved_meanwhile(monkeypatch: pytest.MonkeyPatch, course: Course, exercise_id: str) -> None:
    """Somebody saves a file between being read and being judged."""
    grade = Grader.grade

    def judged_late(self, exercise, *rest):
        write(course, exercise_id, "something else\n")
        return grade(self, exercise, *rest)

    monkeypatch.setattr(Grader, "grade", judged_late)


def test_list_shows_every_exercise_by_unit_and_how_far_it_is(here: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    here("check", "lin_grad")
    lines = here("list").stdout.splitlines()
    assert lines[0] == "01_slopes  Slopes, measured with a nudge"
    assert "  lin_grad                   1/3   A linear layer, backwards" in lines
    assert "04_linear       ..............  1 of 20  quiz 0 of 19" in lines
    entries = [line for line in lines if line.startswith("  ") and not line.startswith("   ")]  # not a wrapped title
    assert len(entries) == len(course.exercises)
    assert lines[-1] == "next: exercises/01_slopes/slope.py"


def test_reset_asks_first_and_no_is_no(here: Run, course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    write(course, "slope", "mine")
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    done = here("reset", "slope")
    assert done.returncode == 1
    assert "exercises/01_slopes/slope.py" in done.stdout
    assert course.find("slope").path.read_text() == "mine"
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    unanswered = here("reset", "slope")
    assert (unanswered.returncode, "Nothing was changed" in unanswered.stderr) == (1, True)
    assert course.find("slope").path.read_text() == "mine"


def test_a_question_is_broken_between_words_on_a_narrow_terminal(here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # for rich, the output is a terminal
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    asked = here("reset", "slope", columns=40).stdout.partition(" [y/N]: ")[0].splitlines()
    assert len(asked) > 2
    assert max(map(len, asked)) <= 40
    assert " ".join(asked).endswith("slope.py back? What you wrote is kept as a backup.")


def test_reset_keeps_every_version_and_forgets_the_verdict(here: Run, course: Course) -> None:
    stub = course.find("slope").path.read_text()
    for number in (1, 2):
        write(course, "slope", SLOPE + f"# {number}\n")
        here("check", "slope")
        assert f".handgrad/backups/01_slopes/slope-{number}.py" in here("reset", "slope", "--yes").stdout
        assert course.find("slope").path.read_text() == stub
        assert (course.root / f".handgrad/backups/01_slopes/slope-{number}.py").read_text() == SLOPE + f"# {number}\n"
    assert re.search(r"^  slope +0/1 ", here("list").stdout, re.MULTILINE)


def test_reset_brings_a_deleted_stub_back_without_asking(
    here: Run, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    course.find("slope").path.unlink()
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    done = here("reset", "slope")
    assert (done.returncode, done.stdout) == (0, "exercises/01_slopes/slope.py is a fresh stub.\n")


def test_the_solution_is_shown_only_once_yours_passes(here: Run, course: Course) -> None:
    assert "handgrad hint slope" in one_sentence(here("solution", "slope"), 2)
    write(course, "slope", SLOPE)
    done = here("solution", "slope")
    assert done.returncode == 0
    worked = course.find("slope").solution.read_text().rstrip().splitlines()
    shown = done.stdout.rstrip().splitlines()
    assert shown[:1] + shown[3:] == [line for line in worked if "### " not in line]
    write(course, "slope", SLOPE.replace("/ h", "* h"))
    one_sentence(here("solution", "slope"), 2)


@pytest.mark.parametrize("command", ["build", "audit"])
def test_a_learners_folder_cannot_be_built_or_audited_and_no_torch_is_waited_for(course: Course, command: str) -> None:
    before = course.find("slope").path.read_text()
    script = "import sys; from grader.cli.main import main\ntry: main()\nfinally: print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script, command], cwd=course.root, capture_output=True, text=True)
    assert done.stdout == "False\n"
    done.stdout = ""
    assert "solutions/" in one_sentence(done, 2)
    assert course.find("slope").path.read_text() == before


BROKEN = {
    "not yaml": (lambda text: text + "a: [\n", "not valid YAML"),
    "a wrong setting": (lambda text: text.replace("points: 2", "pointz: 2", 1), "line 54"),
    "empty": (lambda text: "", "line 1"),
    "a list": (lambda text: "[1, 2]", "line 1"),
    "twice the same": (lambda text: text.replace("id: mse_grad", "id: slope"), "slope is listed twice"),
    "no points": (lambda text: text.replace("points: 3", "points: 0"), "points"),
}


@pytest.mark.parametrize(("change", "says"), BROKEN.values(), ids=BROKEN)
def test_a_broken_course_file_is_one_sentence_with_its_line(
    here: Run, course: Course, change: Callable[[str], str], says: str
) -> None:
    file = course.root / "course.yaml"
    file.write_text(change(file.read_text()))
    line = one_sentence(here("check", "slope"), 2)
    assert f"{file}, line " in line
    assert says in line
    assert "CourseFile" not in line
    assert "pydantic" not in line


def test_a_course_file_that_is_no_text_is_one_sentence(here: Run, course: Course) -> None:
    (course.root / "course.yaml").write_bytes(b"\xff\xfe\x00")
    assert "course.yaml cannot be read (it is not UTF-8 text): save it as UTF-8" in one_sentence(here("list"), 2)


def test_a_broken_spec_is_one_sentence_with_its_line(here: Run, course: Course) -> None:
    shutil.copytree(
        bundled_folder() / "solutions", course.root / "solutions", ignore=shutil.ignore_patterns("__pycache__")
    )
    spec = course.root / "solutions/04_linear/spec.py"
    spec.write_text("x = 1\n" + spec.read_text() + "\n1 / 0\n")
    line = one_sentence(here("check", "lin_grad"), 2)
    assert f"{spec}, line {len(spec.read_text().splitlines())}: ZeroDivisionError" in line
    assert here("check", "slope").returncode == 1


def test_an_unknown_worker_mode_is_one_sentence(course: Course, monkeypatch: pytest.MonkeyPatch, typed: Run) -> None:
    monkeypatch.setenv("HANDGRAD_WORKER", "thread")
    assert "HANDGRAD_WORKER=spawn" in one_sentence(typed("check", "slope", cwd=course.root), 3)


def test_a_bug_of_the_grader_is_one_sentence_and_exit_three(
    here: Run, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("something the grader did not foresee")

    write(course, "slope", SLOPE)
    monkeypatch.setattr("grader.judging.given_answer.is_right", broken)
    done = here("check", "slope")
    assert done.returncode == 3
    assert "something the grader did not foresee" in done.stdout + done.stderr


def test_output_into_a_closed_pipe_ends_quietly(course: Course) -> None:
    with subprocess.Popen(
        [*HANDGRAD, "list"], cwd=course.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as listing:
        assert listing.stdout is not None
        assert listing.stderr is not None
        listing.stdout.close()
        assert listing.wait(120) in (0, 1)
        assert listing.stderr.read() == b""


def hanging_child(pid: int) -> tuple[int, int]:
    """The worker process below `pid`, and the child in it that takes more time than any honest one."""
    while True:
        for worker in children_of(pid):
            for child in children_of(worker):
                if processor_time(child) > TOGETHER + 1:  # it has a child of its own by now
                    return worker, child
        time.sleep(0.05)


def processor_time(pid: int) -> float:
    """Seconds that a process has run for; none if it has ended."""
    with contextlib.suppress(OSError):
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11]
        return int(ticks) / os.sysconf("SC_CLK_TCK")
    return 0.0


def assert_ends_well_by_ctrl_c(course: Course, command: list[str], code: int) -> None:
    """A command that meets an endless loop in its second file: the first one is remembered, and nothing is left."""
    write(course, "slope", SLOPE)
    write(course, "central_difference", HANG)
    running = subprocess.Popen(
        command, cwd=course.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        worker, child = hanging_child(running.pid)
        os.killpg(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=120)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == code
    assert "Traceback" not in out + err
    assert (
        load_course(course.root).find("slope").id
        in json.loads((course.root / ".handgrad/progress.json").read_text())["exercises"]
    )
    for pid in (worker, child):
        assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]


@pytest.fixture(scope="module")
def classroom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small course of one unit, and three submissions to it, one of them with nothing in it."""
    root = tmp_path_factory.mktemp("class")
    course = workspace.init(root / "ws")
    text = (course.root / "course.yaml").read_text()
    head, _, units = text.partition("units:\n")
    linear = "  - id: 04_linear" + units.partition("  - id: 04_linear")[2].partition("      - id: linear_grad")[0]
    (course.root / "course.yaml").write_text(head + "units:\n" + linear)
    submissions = {"Lovelace, Ada": RIGHT, "Émilie": MEAN, "nobody": None}
    for student, source in submissions.items():
        folder = root / "submissions" / student / "04_linear"
        folder.mkdir(parents=True)
        if source is not None:
            (folder / "lin_grad.py").write_text(source, encoding="utf-8")
    (root / "submissions/notes.txt").write_text("not a student")
    return root


@pytest.fixture(scope="module")
def graded(classroom: Path) -> subprocess.CompletedProcess[str]:
    return handgrad(
        "grade", "../submissions", "--out", "../text", "--seed", "7", "--workers", "1", cwd=classroom / "ws"
    )


def test_grade_ends_with_a_summary_of_scores_and_mistakes(graded: subprocess.CompletedProcess[str]) -> None:
    without = weakness(strongest(), machine())
    told = re.sub(r"^graded \d of 3, .*\n", "", graded.stderr, flags=re.MULTILINE)  # progress, where it takes long
    assert (graded.returncode, told) == (1, f"handgrad: {without}\n" if without else "")
    text = re.sub(r"in \d+\.\d s", "in <seconds> s", graded.stdout)
    assert_golden("grade_summary", text)


def test_grade_writes_a_valid_record_for_each_student(
    graded: subprocess.CompletedProcess[str], classroom: Path
) -> None:
    schema = json.loads(SCHEMA_FILE.read_text())
    scores = {}
    for student in ("Lovelace, Ada", "Émilie"):
        record = json.loads((classroom / "text" / f"{student}.json").read_text(encoding="utf-8"))
        jsonschema.validate(record, schema)
        scores[record["student"]] = record["score"]
    assert scores == {"Lovelace, Ada": 3.0, "Émilie": 1.0}


def test_grades_csv_opens_with_names_that_have_commas_and_accents(
    graded: subprocess.CompletedProcess[str], classroom: Path
) -> None:
    text = (classroom / "text/grades.csv").read_bytes().decode("utf-8-sig")
    rows = list(csv.DictReader(text.splitlines()))
    points = {row["student"]: row["score"] for row in rows}
    assert points == {"Lovelace, Ada": "3", "Émilie": "1", "nobody": ""}


@pytest.mark.usefixtures("warm_pool")
def test_grading_again_grades_nothing_twice(
    graded: subprocess.CompletedProcess[str], classroom: Path, typed: Run
) -> None:
    done = typed("grade", "../submissions", "--out", "../text", "--seed", "7", cwd=classroom / "ws")
    assert done.returncode == 1
    assert done.stdout.startswith("0 submissions graded, 3 unchanged and kept")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["../nowhere"], "nowhere"),
        (["../submissions/nobody"], "submission"),
        (["../submissions/notes.txt"], "notes.txt"),
        (["../submissions", "--workers", "0"], "workers"),
        (["../submissions", "--seed", "-1"], "seed"),
        (["../submissions", "--seed", "9007199254740992"], "seed"),
        (["../submissions", "--timeout", "0"], "timeout"),
        (["../submissions", "--timeout", "-3"], "timeout"),
        (["../submissions", "--timeout", "nan"], "timeout"),
        (["../submissions", "--out", "course.yaml"], "course.yaml"),
    ],
)
def test_grade_asked_for_nonsense_is_wrong_usage(classroom: Path, arguments: list[str], says: str, typed: Run) -> None:
    done = typed("grade", *arguments, cwd=classroom / "ws")
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert done.stdout == ""


def test_a_time_limit_for_one_run_leaves_the_course_as_it_is(course: Course) -> None:
    changed = batch_report.with_time_limit(course, 3.5)
    assert changed.policy.time_limit == 3.5
    assert course.policy.time_limit == 10
    assert [exercise.id for exercise in changed.exercises] == [exercise.id for exercise in course.exercises]
    assert all(exercise.course.policy.time_limit == 3.5 for exercise in changed.exercises)


@pytest.mark.usefixtures("warm_pool")
def test_audit_says_that_one_exercise_is_sound_and_fails_over_a_wrong_page(
    tmp_path: Path, worker: Worker, grader: Grader, typed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    KeptWorker(worker).serve(grader, monkeypatch)
    typed("init", "--course", "own", cwd=tmp_path)
    done = typed("audit", cwd=tmp_path / "own")
    assert (done.returncode, done.stdout) == (0, "The exercise is sound.\n")
    page = tmp_path / "own/tests/learners/01_first/square_grad.py"
    page.write_text(page.read_text().replace("missing-upstream", "wrong-sign"))
    done = typed("audit", "01_first", cwd=tmp_path / "own")
    assert done.returncode == 1
    assert done.stdout.splitlines()[1:] == ["1 finding in 1 exercise."]
    as_json = typed("audit", "01_first", "--format", "json", cwd=tmp_path / "own")
    says = (
        'line 8: inp.g is missing-upstream, not wrong-sign ("the factor out.g is missing: your code treats it as 1"): '
        "correct the submission, or what its head says."
    )
    finding = {"file": "tests/learners/01_first/square_grad.py", "says": says}
    assert as_json.returncode == 1
    assert json.loads(as_json.stdout) == {
        "exercises": ["square_grad"], "findings": [finding], "submissions_not_run": 0
    }  # fmt: skip
