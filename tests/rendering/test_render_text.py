"""What a learner reads, line by line: exact text, at two widths, and never without the next thing to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from golden import assert_exactly

from grader.course.course import Course, load_course
from grader.learner.check_terminal import exercise_lines, progress_bars
from grader.learner.progress import UnitProgress
from grader.rendering.render_text import (
    answer_in_need,
    as_text,
    exercise_report,
    failure_lines,
    first_steps,
    hint_lines,
    key_legend,
    next_step,
    plain,
    printed_lines,
)
from grader.results.records import AnswerResult, ExerciseResult

ROOT = Path(__file__).resolve().parents[2]
HINTS = ("Does the layer average over the batch, or does the loss?", "Whoever averages divides.", "It is in out.g.")
SHAPES = (
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (6x3 and 7x3) (lin_grad.py, line 2: inp.g = out.g @ w). "
    "Here inp is (bs=6, n=7), out and out.g are (bs=6, m=3), w is (n=7, m=3), b is (m=3,)"
)


@pytest.fixture(scope="module")
def course() -> Course:
    return load_course(ROOT)


@pytest.fixture
def new_course(new_workspace: Callable[..., Course], tmp_path: Path) -> Course:
    return new_workspace(tmp_path / "ws", before="07_network")


def answer(name: str, code: str | None = None, message: str = "", evidence: str = "") -> AnswerResult:
    status = "passed" if code is None else "todo" if code == "todo" else "failed"
    return AnswerResult(name, status, 0.0, 1.0, code, message, evidence, HINTS if code else ())


MEAN = answer(
    "w.g", "mean-for-sum", "every entry is 1/7 of what it should be, and bs = 7 here",
    "nudge w[0,1] by 1e-4: the loss moves by -2.113e-04, your gradient says -3.019e-05",
)  # fmt: skip
TODO = answer("b.g", "todo", "not attempted yet")


def lin_grad(*answers: AnswerResult) -> ExerciseResult:
    return ExerciseResult("lin_grad", "04_linear", answers)


@pytest.mark.parametrize("width", [80, 60])
def test_one_failed_answer(course: Course, width: int) -> None:
    text = as_text(failure_lines(course.find("lin_grad"), MEAN, width)) + "\n"
    assert_exactly(f"failure_{width}", text)
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [80, 60])
def test_one_exercise_with_a_pass_a_failure_and_a_todo(course: Course, width: int) -> None:
    result = lin_grad(answer("inp.g"), MEAN, TODO)
    text = as_text(exercise_report(course.find("lin_grad"), result, width, {})) + "\n"
    assert_exactly(f"exercise_{width}", text)
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [80, 60])
def test_the_same_failure_of_three_answers_is_printed_once(course: Course, width: int) -> None:
    result = lin_grad(*[answer(name, "error", SHAPES) for name in ("inp.g", "w.g", "b.g")])
    text = as_text(exercise_report(course.find("lin_grad"), result, width, {})) + "\n"
    assert_exactly(f"same_on_three_{width}", text)
    assert text.count("RuntimeError") == 1
    assert max(map(len, text.splitlines())) <= width


def test_an_exercise_not_begun_is_one_line(course: Course) -> None:
    result = lin_grad(*[answer(name, "todo", "not attempted yet") for name in ("inp.g", "w.g", "b.g")])
    lines = as_text(exercise_report(course.find("lin_grad"), result, 80, {}))
    assert lines == "exercises/04_linear/lin_grad.py  not attempted yet"


def test_hints_come_one_step_at_a_time_each_with_the_command_for_the_next(course: Course) -> None:
    exercise = course.find("lin_grad")
    shown = [as_text(hint_lines(exercise, MEAN, 80, seen)) for seen in range(4)]
    assert [[f"hint {step}/3" in text for step in (1, 2, 3)].count(True) for text in shown] == [0, 1, 2, 3]
    assert ["next hint: handgrad hint lin_grad w.g" in text for text in shown] == [True, True, True, False]


@pytest.mark.parametrize("seen", [1, 2, 3])
def test_every_failure_ends_with_what_to_do_next(course: Course, seen: int) -> None:
    """Name a command; after the last hint, the lesson."""
    last = as_text(failure_lines(course.find("lin_grad"), MEAN, 80, seen)).splitlines()[-1]
    assert ("handgrad hint lin_grad w.g" if seen < 3 else "exercises/04_linear/README.md") in last


def test_a_failure_without_hints_still_ends_with_what_to_do_next(course: Course) -> None:
    """A file that could not even be read has no hints: its own sentence says what to do."""
    unread = course.find("lin_grad").unread_result("exercises/04_linear/lin_grad.py cannot be read: make it readable")
    text = as_text(failure_lines(course.find("lin_grad"), unread.answers[0], 200))
    assert "make it readable  [error]" in text
    assert text.endswith("exercises/04_linear/README.md")


def test_every_status_has_a_style_and_no_style_changes_the_text(course: Course) -> None:
    result = lin_grad(answer("inp.g"), MEAN, TODO)
    parts = [part for line in exercise_report(course.find("lin_grad"), result, 80, {}) for part in line]
    assert {"good", "bad", "todo", "bold", "dim"} <= {style for _, style in parts}
    assert not any("\x1b" in text for text, _ in parts)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal_or_twenty_columns_of_text(course: Course, width: int) -> None:
    result = lin_grad(answer("inp.g"), MEAN, TODO)
    for exercise in (course.find("lin_grad"), course.find("forward_and_backward")):
        lines = as_text(exercise_report(exercise, result, width, {})).splitlines()
        longest = max(len(word) for line in lines for word in line.split())
        assert max(map(len, lines)) <= max(width, 29, longest + 9)


def test_bars_line_up_and_are_full_only_when_all_is_done() -> None:
    units = [
        UnitProgress("01_slopes", 5, 5, 0, 12),
        UnitProgress("02_chain_rule", 11, 12),
        UnitProgress("04_linear", 0, 20),
        UnitProgress("whole course", 64, 127, counted="exercises"),
    ]
    assert as_text(progress_bars(units, 80)).splitlines() == [
        "01_slopes      ##############  5 of 5  quiz 0 of 12",
        "02_chain_rule  ############..  11 of 12",
        "04_linear      ..............  0 of 20",
        "whole course   #######.......  64 of 127 exercises",
    ]


def test_bars_shrink_with_the_terminal() -> None:
    (line,) = as_text(progress_bars([UnitProgress("02_chain_rule", 6, 12)], 33)).splitlines()
    assert line == "02_chain_rule  ####.....  6 of 12"
    assert len(line) <= 33
    (line,) = as_text(progress_bars([UnitProgress("02_chain_rule", 6, 12, 0, 13)], 40)).splitlines()
    assert line == "02_chain_rule  6 of 12  quiz 0 of 13"


def test_progress_is_in_words_in_plain_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCESSIBLE", "1")
    (line,) = as_text(progress_bars([UnitProgress("04_linear", 1, 20, 0, 19)], 80)).splitlines()
    assert line == "04_linear: 1 of 20 answers, quiz 0 of 19 questions"
    (line,) = as_text(progress_bars([UnitProgress("whole course", 1, 127, counted="exercises")], 80)).splitlines()
    assert line == "whole course: 1 of 127 exercises"


@pytest.mark.parametrize("columns", ["60", "100"])
def test_the_columns_of_a_list_are_apart_and_line_up(
    course: Course, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    session: Any = SimpleNamespace(progress=SimpleNamespace(result=lambda _: None))
    texts = [as_text(exercise_lines(session, exercise)).splitlines() for exercise in course.exercises]
    assert [first for first, *_ in texts if not re.match(r"  (?=\w+ +0/\d+ +\S).{31}  \S", first)] == []
    assert {line[:35] for _, *more in texts for line in more} <= {" " * 35}
    assert max(len(line) for lines in texts for line in lines) <= int(columns)


def test_no_units_no_bars() -> None:
    assert list(progress_bars([], 80)) == []


def test_the_next_step_is_a_file_or_the_end(course: Course) -> None:
    assert as_text([next_step(course.find("slope"))]) == "next: exercises/01_slopes/slope.py"
    assert as_text([next_step(None)]) == "Every exercise is solved."


@pytest.mark.parametrize("width", [80, 50])
def test_the_first_screen_tells_to_read_to_open_and_to_save(course: Course, width: int) -> None:
    text = as_text(first_steps(course.find("slope"), width))
    assert max(map(len, text.splitlines())) <= width
    said = " ".join(text.split())
    assert said.startswith("The slope by a forward difference 1. Read the lesson: exercises/01_slopes/README.md")
    assert "2. Open exercises/01_slopes/slope.py in your editor" in said
    assert "3. Save the file" in said


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("inp.g = ...", "in place of each ..."),
        ("inp.g = (inp > 0) * out.g\n    return ...", "in place of each ..."),
        ("...", "in place of each ..."),
        ("pass", "in the body of relu_grad"),
        ("raise NotImplementedError  # ... later", "in the body of relu_grad"),
        ("return 'and so on ...'", "in the body of relu_grad"),
    ],
)
def test_the_first_steps_mention_the_dots_of_a_stub_only(new_course: Course, body: str, place: str) -> None:
    exercise = new_course.find("relu_grad")
    exercise.path.write_text(f'"""A lesson ..."""\n\ndef relu_grad(inp, out):\n    """Store ..."""\n    {body}\n')
    assert f"write your answer {place}" in " ".join(as_text(first_steps(exercise, 80)).split())
    exercise.path.unlink()
    assert "in the body of relu_grad" in " ".join(as_text(first_steps(exercise, 80)).split())


def test_a_legend_is_broken_between_keys_and_never_within() -> None:
    keys = [("h", "hint"), ("n", "next"), ("s", "solution"), ("q", "quit")]
    assert as_text(key_legend(keys, 80)) == "h hint  n next  s solution  q quit"
    assert as_text(key_legend(keys, 26)).splitlines() == ["h hint  n next  s solution", "q quit"]
    assert as_text(key_legend(keys, 25)).splitlines() == ["h hint  n next", "s solution  q quit"]
    assert len(as_text(key_legend(keys, 1)).splitlines()) == 4
    for line in key_legend(keys, 26):  # no blanks at its end either: a terminal would break the line after them
        assert len("".join(text for text, _ in line)) <= 26


def test_a_file_that_is_not_there_is_named_once(course: Course) -> None:
    slope = course.find("slope")
    gone = answer("return", "todo", f"{slope.file} is not there: get the stub back with: handgrad reset slope")
    result = ExerciseResult("slope", "01_slopes", (gone,))
    assert as_text(exercise_report(slope, result, 100, {})) == gone.message
    narrow = as_text(exercise_report(slope, result, 80, {})).splitlines()
    assert narrow == [gone.message.removesuffix(" handgrad reset slope"), "  handgrad reset slope"]


def test_a_wrong_answer_comes_before_an_untouched_one() -> None:
    assert answer_in_need(lin_grad(answer("inp.g"), TODO, MEAN)) is MEAN
    assert answer_in_need(lin_grad(answer("inp.g"), TODO)) is TODO
    assert answer_in_need(lin_grad(answer("inp.g"))) is None


def test_no_line_follows_a_hint_without_a_next_step(course: Course) -> None:
    lines = list(exercise_report(course.find("lin_grad"), lin_grad(MEAN), 80, {}, step=lambda *_: ""))
    assert as_text(lines).splitlines()[-1].strip() == f"hint 1/3: {HINTS[0]}"


def test_prints_are_shown_line_by_line_up_to_twenty_and_cut_at_the_edge() -> None:
    result = ExerciseResult("slope", "01_slopes", (), printed="\n".join(["x" * 300] * 30))
    lines = as_text(printed_lines(result, 60)).splitlines()
    assert lines[0] == "  your code printed:"
    assert len(lines) == 22
    assert lines[-1] == "  ... and 10 more lines"
    assert max(map(len, lines)) == 60


def test_code_that_prints_nothing_adds_no_lines() -> None:
    assert list(printed_lines(ExerciseResult("slope", "01_slopes", (), printed=" \n"), 60)) == []


def test_prints_that_were_cut_say_so() -> None:
    result = ExerciseResult("slope", "01_slopes", (), printed="\n".join(map(str, range(100))))
    assert "more" in as_text(printed_lines(result, 60)).splitlines()[-1]


def test_control_characters_are_replaced_for_the_terminal() -> None:
    assert plain("a\x1b[31mb\x07\tc\n\x9b2Jé") == "a\ufffd[31mb\ufffd\tc\n\ufffd2Jé"


def test_control_characters_in_a_message_are_not_shown(course: Course) -> None:
    nasty = answer("w.g", "error", "ValueError: \x1b]0;title\x07")
    assert "\x1b" not in as_text(failure_lines(course.find("lin_grad"), nasty, 80))
    assert "\x1b" not in as_text(exercise_report(course.find("lin_grad"), lin_grad(nasty), 80, {}))


def test_no_line_ends_in_a_space(course: Course) -> None:
    result = lin_grad(*[answer(name, "error", SHAPES) for name in ("inp.g", "w.g", "b.g")])
    for line in exercise_report(course.find("lin_grad"), result, 80, {}):
        text = "".join(part for part, _ in line)
        assert text == text.rstrip()
