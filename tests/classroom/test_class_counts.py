"""The numbers of a class: counted by hand, and whatever the class, they add up."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from helpers.class_results import (
    CLASS,
    CONFIG,
    LIN,
    RATIO,
    RIGHT,
    counted,
    handed,
    passed,
    result,
    todo,
    ungraded,
    wrong,
)
from hypothesis import given
from hypothesis import strategies as st

from grader.classroom.class_report import Counts, Tally
from grader.classroom.graded_exercise import mistake_meaning, mistake_name
from grader.classroom.report_files import PageSource, html
from grader.cli.results import questions_json, summary_line
from grader.diagnosis.exceptions import diagnose_error
from grader.results.codes import MEANINGS, UNNAMED
from grader.results.records import Adjustment, AnswerResult, ExerciseResult, StudentResults
from grader.sandbox.checked_reply import Raised
from grader.sandbox.source_text import Source


def test_the_numbers_of_a_class_counted_by_hand() -> None:
    report = counted(CLASS)
    assert (report.title, report.max_score, len(report.students)) == ("Gradients by hand", 5, 7)
    assert {line.name: line.score for line in report.students} == {
        "ada": 5, "ben": 2, "cleo": 0, "dan": 3, "eve": 2, "finn": 2, "gil": 4,
    }  # fmt: skip
    assert report.median == 2.5, "eve, of whom something is not graded, is not in it"
    assert report.bins == (1, 0, 0, 0, 2, 0, 1, 0, 1, 1)
    assert (report.finished, [line.name for line in report.not_begun]) == (1, ["cleo"])
    slope, lin, relu = (exercise for unit in report.units for exercise in unit.exercises)
    assert slope.counts == Counts(passed=5, wrong=1, untried=1)
    assert lin.counts == Counts(passed=1, wrong=4, begun=1, untried=1)
    assert relu.counts == Counts(passed=2, wrong=2, untried=2, ungraded=1)
    assert [unit.finished for unit in report.units] == [5, 1, 2]
    assert [(answer.name, answer.counts.passed, answer.counts.wrong) for answer in lin.answers] == [
        ("b.g", 2, 4), ("w.g", 4, 2), ("inp.g", 5, 0),
    ]  # fmt: skip
    assert [(entry.student, entry.exercises, entry.why) for entry in report.ungraded] == [
        ("eve", (("05_activations", "relu_grad"),), "the worker is gone")
    ]


def test_an_error_with_points_from_a_person_is_not_listed_as_not_graded() -> None:
    gus = result("gus", ungraded("inp.g"), *RIGHT)
    report = counted([gus, replace(gus, student="hal", adjustments=(Adjustment("relu_grad", 1.0, "by hand"),))])
    assert [entry.student for entry in report.ungraded] == ["gus"]
    assert [line.name for line in report.scored] == ["hal"]
    relu = report.units[2].exercises[0]
    assert relu.counts == Counts(adjusted=1, ungraded=1)
    assert relu.answers[0].counts == Counts(adjusted=1, ungraded=1)
    assert report.scored[0].exercises == Counts(passed=2, adjusted=1)


def test_a_mistake_is_counted_once_for_each_student_with_an_example() -> None:
    lin = counted(CLASS).units[1].exercises[0]
    assert [(mistake.code, mistake.students, mistake.answers) for mistake in lin.mistakes] == [
        ("mean-for-sum", 2, ("b.g", "w.g")), ("error: unknown name", 1, ("b.g",)), (UNNAMED, 1, ("b.g",)),
    ]  # fmt: skip
    assert (lin.mistakes[0].example.student, lin.mistakes[0].example.message) == ("ben", RATIO)
    assert [(mistake.code, mistake.students) for mistake in counted(CLASS).mistakes][:2] == [
        ("mean-for-sum", 2), ("error: arithmetic", 1),
    ]  # fmt: skip


def test_there_is_nothing_to_teach_about_what_was_not_recognised() -> None:
    several = [result(f"s{i}", wrong("inp.g", "unknown"), *RIGHT) for i in range(4)]
    codes = [mistake.code for mistake in counted([*CLASS, *several]).mistakes]
    assert (codes[0], set(codes[-2:])) == ("mean-for-sum", {"unknown", UNNAMED})


def test_a_quiz_is_counted_by_its_questions_and_stands_last_in_its_unit() -> None:
    quiz = ExerciseResult(
        "quiz_01_slopes", "01_slopes", (wrong("zero_step", "imprecise", "`0.0` is not it"), passed("b"))
    )
    found = StudentResults("handgrad", "zoe", (quiz, *CLASS[0].exercises), 7, "box")
    slopes, linear, _ = counted([found, *CLASS[1:]]).units
    assert [exercise.id for exercise in slopes.exercises] == ["slope", "quiz_01_slopes"]
    assert [unit.id for unit in counted([found]).units][:2] == ["01_slopes", "04_linear"]
    assert slopes.exercises[1].counts == Counts(wrong=1, untried=6)
    assert [(answer.name, answer.counts.wrong) for answer in slopes.exercises[1].answers] == [
        ("zero_step", 1),
        ("b", 0),
    ]
    assert slopes.finished == 0, "whoever has not answered the quiz is not through"
    assert linear.exercises[0].id == "lin_grad"


def test_a_question_counts_its_wrong_answers_and_separates_strong_from_weak() -> None:
    """`telling` is right for whoever has the rest right, `upside_down` for the others, `alike` for everybody."""

    def taken(number: int, strong: bool) -> StudentResults:
        picked = wrong("telling", "wrong-sign", f"`{'up' if number % 4 else 'down'}` is not it. No.")
        known = passed if strong else lambda name: wrong(name, "unknown", "`3` is not it. No.")
        answers = (
            passed("telling") if strong else picked,
            wrong("upside_down", "unknown", "0 is not it. No.") if strong else passed("upside_down"),
            passed("alike"),
        )
        quiz = ExerciseResult("quiz_01_slopes", "01_slopes", (*answers, *(known(f"other_{i}") for i in range(5))))
        return StudentResults("handgrad", f"s{number:02}", (quiz,), 7, "box")

    blank = ExerciseResult("quiz_01_slopes", "01_slopes", (todo("telling"),))
    class_ = [*(taken(i, i < 8) for i in range(20)), StudentResults("handgrad", "zoe", (blank,), 7, "box")]
    quiz = counted(class_).units[0].exercises[0]
    asked = {answer.name: answer for answer in quiz.answers}
    assert quiz.is_quiz
    assert asked["telling"].given == (("up", 9), ("down", 3))
    assert asked["upside_down"].given == (("0", 8),)
    assert asked["telling"].separation == pytest.approx(1)
    assert asked["upside_down"].separation == pytest.approx(-1)
    assert asked["alike"].separation is None, "all are alike"
    few = counted(class_[:9]).units[0].exercises[0]
    assert {answer.separation for answer in few.answers} == {None}, "nine students tell nothing"
    text = summary_line(counted(class_), Path("report.html"))
    assert text.endswith("Hardly separates strong from weak: quiz_01_slopes upside_down (-1.00).")
    found = json.loads(questions_json(counted(class_)))["questions"]
    assert {"quiz": "quiz_01_slopes", "question": "telling", "passed": 8, "wrong": 12, "not_read": 0, "separation": 1.0,
            "wrong_answers": {"up": 9, "down": 3}} in found  # fmt: skip
    page = html(counted(class_), PageSource("grades", "report.csv", datetime(2026, 1, 1)))
    assert '<code>up</code> <span class="dim">(9 students)</span>, <code>down</code> ' in page
    assert "+1.00" in page
    assert "\N{MINUS SIGN}1.00" in page


def test_an_answer_that_could_not_be_read_says_nothing_of_its_question() -> None:
    def taken(number: int) -> StudentResults:
        known = passed("asked") if number < 6 else wrong("asked", "unknown", "`3` is not it. No.")
        unread = wrong("asked", "not-read", "`?` cannot be read: it has no points, and no mistake is counted. No.")
        other = passed("other") if number < 6 else wrong("other", "unknown", "4 is not it. No.")
        quiz = ExerciseResult("quiz_01_slopes", "01_slopes", (unread if number >= 12 else known, other))
        return StudentResults("handgrad", f"s{number:02}", (quiz,), 7, "box")

    report = counted([taken(number) for number in range(20)])
    (asked,) = (answer for answer in report.units[0].exercises[0].answers if answer.name == "asked")
    assert (asked.counts, asked.given) == (Counts(passed=6, wrong=6, unread=8), (("3", 6),))
    assert asked.separation == pytest.approx(1), "of those whose answer could be read"
    assert {"question": "asked", "not_read": 8, "wrong": 6}.items() <= next(
        each for each in json.loads(questions_json(report))["questions"] if each["question"] == "asked"
    ).items()


def test_an_example_that_was_measured_is_preferred() -> None:
    measured = (wrong("b.g", "mean-for-sum", "small", "nudge b[0] by 1e-4: ..."), *RIGHT[1:])
    lin = counted([*CLASS, result("zoe", passed("inp.g"), *measured)]).units[1].exercises[0]
    assert (lin.mistakes[0].example.student, lin.mistakes[0].example.evidence) == ("zoe", "nudge b[0] by 1e-4: ...")


def test_who_is_stuck() -> None:
    again = everywhere("zoe", "mean-for-sum")
    report = counted([*CLASS, again])
    assert [line.name for line in report.stuck] == ["zoe"]
    assert report.stuck[0].stuck == "3 wrong, 0 passed; mean-for-sum in 3 exercises"
    assert [(line.name, line.stuck) for line in report.failing] == [("finn", "3 wrong, 0 passed")]
    assert report.not_begun[0].stuck == "not begun"
    assert not [line for line in report.students if line.name in ("ada", "ben", "dan") and line.stuck]


def everywhere(student: str, code: str | None, message: str = "") -> StudentResults:
    """The same code in three exercises."""
    answers = (wrong("b.g", code, message), *RIGHT[1:])
    return result(student, wrong("inp.g", code, message), *answers, slope=wrong("return", code, message))


@pytest.mark.parametrize("code", ["unknown", None, "error", "crash", "timeout", "missing-function"])
def test_what_is_no_misconception_is_not_one_made_again(code: str | None) -> None:
    for message in ("", "RuntimeError: shapes (2,3) and (4,) do not match (lin_grad.py, line 2: a + b)"):
        (line,) = counted([everywhere("s", code, message)]).students
        assert (line.again, line.failing) == ((), True)


def test_what_could_not_be_read_is_counted_apart() -> None:
    """Neither right nor wrong: a file that Python cannot read is in no rate, and no mistake to teach about."""
    report = counted([*CLASS, everywhere("zoe", "syntax-error")])
    lin = report.units[1].exercises[0]
    assert lin.counts == Counts(passed=1, wrong=4, begun=1, unread=1, untried=1)
    assert lin.counts.tried == 6
    assert [(found.code, found.students) for found in report.unread] == [("syntax-error", 1)]
    assert "syntax-error" not in {found.code for found in report.mistakes}
    assert lin.mistakes[-1].code == "syntax-error"
    words = html(report, PageSource("grades", "report.csv", datetime(2026, 1, 1)))
    assert "files of 1 student (<code>syntax-error</code>)" in words


def test_a_quiz_with_a_wrong_answer_beside_an_unread_one_is_wrong() -> None:
    def quiz(*answers: AnswerResult) -> Counts:
        found = ExerciseResult("quiz_01_slopes", "01_slopes", answers)
        return counted([StudentResults("handgrad", "s", (found,), 7, "box")]).units[0].exercises[0].counts

    assert quiz(wrong("a", "not-read"), wrong("b", "unknown")) == Counts(wrong=1)
    assert quiz(wrong("a", "not-read"), passed("b")) == Counts(unread=1)


@pytest.mark.parametrize(
    ("type_", "message", "named"),
    [
        ("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (7x5 and 3x4)", "error: shapes do not fit"),
        ("ValueError", "operands could not be broadcast together", "error: shapes do not fit"),
        ("IndexError", "Dimension out of range (expected [-1, 0], but got 1)", "error: shapes do not fit"),
        ("IndexError", "index 7 is out of bounds for dimension 0 with size 7", "error: no such entry"),
        ("NameError", "name 'shape' is not defined", "error: unknown name"),
        ("AttributeError", "'Tensor' object has no attribute 'sizes'", "error: no such attribute"),
        ("TypeError", "unsupported operand type(s) for +: 'int' and 'str'", "error: wrong kind of value"),
        ("RuntimeError", "the size is not in this message", "error: shapes do not fit"),
        ("RuntimeError", "expected scalar type Float but found Double", "error: RuntimeError"),
        ("AssertionError", "", "error: AssertionError"),
    ],
)
def test_an_error_is_counted_by_what_failed(type_: str, message: str, named: str) -> None:
    """In the words of the judge, whose line of source may speak of shapes itself."""
    raised = Raised(kind="raised", type=type_, message=message, lines=[1], file="")
    found = diagnose_error(raised, Source(("x = inp.shape  # size",), "shape_size.py"))
    assert mistake_name(wrong("w.g", found.code, found.says)) == named
    assert mistake_meaning(named) or named.partition(": ")[2] == type_


def test_an_error_that_is_no_exception_stays_an_error() -> None:
    assert mistake_name(wrong("w.g", "error", "the notebook was not read: it is too long")) == "error"
    called = Raised(kind="raised", type="TypeError", message="f() takes 1 argument", lines=[], file="")
    found = diagnose_error(called, Source(("",), "f.py"), signature="f(a, b)")
    assert mistake_name(wrong("w.g", found.code, found.says)) == "error: arguments"


def test_a_unit_alone_is_counted_alone() -> None:
    report = counted(CLASS, "04_linear")
    assert (report.max_score, [unit.id for unit in report.units]) == (3, ["04_linear"])
    assert (report.finished, report.median, report.ungraded) == (1, 2.0, ())
    assert [line.name for line in report.failing] == ["ben", "eve", "finn", "gil"], "wrong in all that there is"


def test_stretch_neither_finishes_nor_is_needed_to_finish_and_teaching_order_is_kept() -> None:
    def slopes(student: str, pick_h: AnswerResult, numerical_grad: AnswerResult) -> StudentResults:
        answers = {"pick_h": pick_h, "numerical_grad": numerical_grad, "slope": passed()}
        exercises = (ExerciseResult(name, "01_slopes", (answer,)) for name, answer in answers.items())
        return StudentResults("handgrad", student, tuple(exercises), 7, "box")

    report = counted([slopes("done", todo(), passed()), slopes("open", passed(), wrong("return", "unknown"))])
    (unit,) = report.units
    assert [(exercise.id, exercise.stretch) for exercise in unit.exercises] == [
        ("slope", False), ("numerical_grad", False), ("pick_h", True),
    ]  # fmt: skip
    assert (unit.finished, [line.name for line in report.students if line.finished]) == (1, ["done"])


def test_without_a_course_file_the_names_of_the_records_do() -> None:
    tally = Tally()
    tally.add(handed(CLASS[0]))
    report = tally.report()
    assert (report.title, [unit.title for unit in report.units]) == ("handgrad", ["", "", ""])


def test_a_late_penalty_takes_no_more_than_the_unit_has() -> None:
    tally = Tally(CONFIG)
    line, _ = tally.add(handed(CLASS[1], {"04_linear": 7.0, "01_slopes": 0.25, "99_other": 3.0}))
    assert line.score == 0.75
    assert [(change.place, change.points) for change in line.changes] == [("01_slopes", -0.25), ("04_linear", -1.0)]
    assert tally.report().late


EXERCISES = {("01_slopes", "slope"): ("return",), ("04_linear", "lin_grad"): LIN, ("09_own", "extra"): ("a.g", "b.g")}
ANSWERS = st.sampled_from(["passed", "failed", "todo", "error"])
SOME_CODES = st.sampled_from(["mean-for-sum", "error", "syntax-error", "unknown", None])


@st.composite
def classes(draw: st.DrawFn) -> list[StudentResults]:
    """A class of any standing; not everybody's record lists every exercise."""

    def answer(name: str) -> AnswerResult:
        status = draw(ANSWERS)
        score = {"passed": 1.0, "failed": draw(st.sampled_from([0.0, 0.5]))}.get(status, 0.0)
        code = draw(SOME_CODES) if status == "failed" else None if status == "passed" else status
        return AnswerResult(name, status, score, 1.0, code, draw(st.text(max_size=5)))

    found = []
    for i in range(draw(st.integers(1, 6))):
        listed = draw(st.lists(st.sampled_from(list(EXERCISES)), unique=True, min_size=1))
        exercises = (ExerciseResult(key[1], key[0], tuple(map(answer, EXERCISES[key]))) for key in listed)
        found.append(StudentResults("handgrad", f"s{i}", tuple(exercises), 7, "box"))
    return found


@given(classes())
def test_the_counts_of_any_class_add_up(results: list[StudentResults]) -> None:
    report = counted(results)
    size = len(results)
    exercises = [exercise for unit in report.units for exercise in unit.exercises]
    assert len(report.students) == size
    assert sum(report.bins) == len(report.scored) == size - len({entry.student for entry in report.ungraded})
    for exercise in exercises:
        assert exercise.counts.total == size
        assert all(answer.counts.total == size for answer in exercise.answers)
        assert all(0 < mistake.students <= size for mistake in exercise.mistakes)
        assert sum(mistake.students for mistake in exercise.mistakes) >= exercise.counts.wrong + exercise.counts.unread
    for line in report.students:
        assert line.exercises.total == len(exercises)
        assert len(line.wrong) == line.exercises.wrong
    for name in ("passed", "wrong", "begun", "unread", "untried", "adjusted", "ungraded"):
        of_exercises = sum(getattr(exercise.counts, name) for exercise in exercises)
        assert of_exercises == sum(getattr(line.exercises, name) for line in report.students)
    assert sum(line.score for line in report.students) == pytest.approx(
        sum(exercise.score for found in results for exercise in found.exercises)
    )


def test_the_sentence_for_a_code_is_short() -> None:
    assert all(says.endswith(".") and len(says) < 100 for says in MEANINGS.values())
