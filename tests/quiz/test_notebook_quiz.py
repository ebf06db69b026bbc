"""A quiz in a notebook: questions to read, one assignment to fill in, and nothing of it is run to be judged."""

from __future__ import annotations

import ast
import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.child import ipython_cells
from grader.course.course import CourseExercise, load_course
from grader.errors import ReadError
from grader.judging.grading import Grader
from grader.learner import session as session_module
from grader.learner.session import Session
from grader.nbgrader.source_notebook import HOW_TO_ANSWER, Lesson, notebook_lesson, source_notebook
from grader.quiz.answer_sheet import Sheet
from grader.quiz.notebook_quiz import LARGEST, assignment_lines, places_of_sheets, questions_markdown, sheet_in
from grader.results.records import ExerciseResult

ROOT = Path(__file__).resolve().parents[2]
REAL = load_course(ROOT)
QUIZ = REAL.find("quiz_01_slopes")
QUIZZES = pytest.mark.parametrize("exercise", [e for e in REAL.exercises if e.is_quiz], ids=lambda one: one.id)


def judged(*cells: str, exercise: CourseExercise = QUIZ) -> ExerciseResult:
    return Grader(1).grade(exercise, cells, None)  # type: ignore[arg-type]


def status(*cells: str) -> dict[str, str]:
    return {answer.name: answer.status for answer in judged(*cells).answers if answer.status != "todo"}


@QUIZZES
def test_the_stub_is_to_do_and_the_solution_passes(exercise: CourseExercise) -> None:
    stub, solved = ("\n".join(assignment_lines(exercise.id, exercise.quiz, solved=done)) for done in (False, True))
    assert stub.count("...") == len(exercise.quiz.questions)
    assert {answer.status for answer in judged(stub, exercise=exercise).answers} == {"todo"}
    assert judged("import torch", solved, "1 / 0", exercise=exercise).status == "passed"
    assert ast.parse(solved)


@QUIZZES
def test_the_questions_are_readable_and_hold_no_key(exercise: CourseExercise) -> None:
    text = questions_markdown(exercise.quiz)
    for name, question in exercise.quiz.questions.items():
        assert f"**`{name}`** " in text
        assert question.because not in text
        assert not any(mistake.says in text for mistake in question.wrong.values())
        assert not any(hint in text for hint in question.hints)
    assert text.count("```") == 2 * sum(bool(question.listing) for question in exercise.quiz.questions.values())


def test_signs_of_markdown_in_a_question_stay_signs() -> None:
    assert "x\\*\\*2" in questions_markdown(QUIZ.quiz)


@pytest.mark.parametrize(
    "cell",
    [
        "quiz_01_slopes = dict(variant=0, how_far=0.004)",
        "quiz_01_slopes = dict(variant=0, how_far='0.004')",
        "quiz_01_slopes = {'variant': 0, 'how_far': 4e-3}",
        "quiz_01_slopes = dict(\n    variant=0,\n    how_far=4 * 0.001,\n    calls=...,\n    put_back=None,\n)",
        "%matplotlib inline\nquiz_01_slopes = dict(variant=0, how_far=0.004)",
        "answers = quiz_01_slopes = dict(variant=0, how_far=0.004, )",
        "%%time\nquiz_01_slopes = dict(variant=0, how_far=0.004)",
    ],
)
def test_an_answer_may_be_written_in_many_ways(cell: str) -> None:
    assert status(cell) == {"how_far": "passed"}


@pytest.mark.parametrize("written", ['"(bs, n)"', '("bs", "n")', '["bs", "n"]', "(bs, n)"])
def test_a_shape_may_be_a_tuple_of_names(written: str) -> None:
    assert status(f"quiz_01_slopes = dict(variant=0, grad_shape={written})") == {"grad_shape": "passed"}


@pytest.mark.parametrize("written", ["'2*x + h'", "2*x + h", "'h + x + x'"])
def test_a_formula_may_stand_with_or_without_quotes(written: str) -> None:
    assert status(f"quiz_01_slopes = dict(variant=0, forward_of_square={written})") == {"forward_of_square": "passed"}


def test_a_quiz_says_before_it_is_answered_that_a_missing_quote_costs_nothing() -> None:
    answer = "quiz_01_slopes = dict(variant=0, forward_of_square=2*x + h)"
    with pytest.raises(NameError):
        exec(answer, {})
    assert status(answer) == {"forward_of_square": "passed"}
    assert "The cell is read, not run: where quotes are missing, Python shows a NameError" in HOW_TO_ANSWER
    titles = [cell["source"] for cell in source_notebook(REAL, REAL.config.units[0], Lesson("", ())).cells]
    assert any(title.startswith("## `quiz_01_slopes`") and HOW_TO_ANSWER in title for title in titles)


def test_the_last_cell_that_answers_counts_and_one_that_is_no_python_is_passed_over() -> None:
    first, second = (f"quiz_01_slopes = dict(variant=0, how_far={n})" for n in (4, 0.004))
    assert status(first, second, "quiz_01_slopes = dict(", "def f(:") == {"how_far": "passed"}
    assert status(second, first) == {"how_far": "failed"}


@pytest.mark.parametrize("number", ["0x" + "f" * 30_000, "9" * 4_000])
def test_a_number_beyond_all_bounds_is_refused(number: str) -> None:
    result = judged(f"quiz_01_slopes = dict(variant=0, how_far={number})")
    answer = next(answer for answer in result.answers if answer.name == "how_far")
    assert "characters: " in answer.message
    assert len(answer.message) < 200


@pytest.mark.parametrize("sign", ["-{}", "+{}", "{} + 1", "[-{}]"])
def test_nor_does_one_within_a_formula_stop_the_grading(sign: str) -> None:
    result = judged(f"quiz_01_slopes = dict(variant=0, calls={sign.format('0x' + 'f' * 50_000)})")
    answer = next(answer for answer in result.answers if answer.name == "calls")
    assert answer.status == "failed"
    assert len(answer.message) < 200


def test_a_blank_sheet_below_does_not_take_the_place_of_the_answers() -> None:
    answered, blank = "quiz_01_slopes = dict(variant=0, how_far=0.004)", "quiz_01_slopes = dict(variant=3, how_far=...)"
    for cells in ((answered, blank), (f"{answered}\n{blank}",), (blank, answered)):
        found = sheet_in(QUIZ.id, QUIZ.quiz, cells)
        assert found is not None
        assert (found.variant, found.answers) == (0, {"how_far": "0.004"})
    assert sheet_in(QUIZ.id, QUIZ.quiz, [blank]) == Sheet(3, {})


def test_choices_may_be_a_list() -> None:
    exercise = REAL.find("quiz_02_chain_rule")
    result = judged("quiz_02_chain_rule = dict(variant=0, true_of_backward=['adds', 'scalar'])", exercise=exercise)
    assert next(answer.status for answer in result.answers if answer.name == "true_of_backward") == "passed"


@pytest.mark.parametrize(
    ("cells", "status", "says"),
    [
        ((), "todo", "no cell answers the quiz: write your answers into quiz_01_slopes = dict(...)"),
        (("# YOUR CODE HERE\nraise NotImplementedError()",), "todo", "no cell answers the quiz"),
        (
            ("x = 1\nquiz_01_slopes = dict(\n  calls=,\n)",),
            "failed",
            "line 3: Python cannot read the cell with your answers",
        ),
        (
            ("quiz_01_slopes = dict(grad_shape=bs, n)",),
            "failed",
            "line 1: Python cannot read the cell with your answers",
        ),
        (("quiz_01_slopes = dict(calls=" + "(" * 9_000,), "failed", "line 1: "),
        (("quiz_01_slopes = dict(calls=" + "1+" * 20_000 + "1)",), "failed", "line 1: "),
        (("\nquiz_01_slopes = dict(calls=" + "1," * 50_000,), "failed", "line 2: the cell is larger than 32 KiB"),
        (("x = (", "y = '" + "1" * 100_000), "todo", "no cell answers the quiz"),
        (("quiz_01_slopes = 3",), "failed", "line 1: the answers must stand in one dict(name=answer, ...)"),
        (("\nquiz_01_slopes = dict([('calls', 1)])",), "failed", "line 2: the answers must stand in one dict"),
        (("quiz_01_slopes = dict(**{'variant': 0})",), "failed", "the answers must stand in one dict"),
        (("quiz_01_slopes = {1: 2}",), "failed", "the answers must stand in one dict"),
        (("quiz_01_slopes = dict(calls=1)",), "failed", "the variant must be the whole number"),
        (("quiz_01_slopes = dict(variant=True)",), "failed", "the variant must be the whole number"),
        (("quiz_01_slopes = dict(variant=-1)",), "failed", "the variant must be the whole number"),
        (("quiz_01_slopes = dict(variant=0,\n calls=0, calls=1)",), "failed", "line 2: calls is there a second time"),
    ],
)
def test_what_is_no_answer_sheet_is_said_in_one_sentence(cells: tuple[str, ...], status: str, says: str) -> None:
    result = judged(*cells)
    assert result.status == status
    assert all(says in answer.message for answer in result.answers)


def test_a_misspelt_question_is_said_to_be_one() -> None:
    (answer,) = (a for a in judged("quiz_01_slopes = dict(variant=0,\n how_fare=4)").answers if a.name == "how_far")
    assert answer.message == "not answered yet: line 2 answers how_fare, which is no question; did you mean how_far?"


def test_nothing_in_a_cell_is_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    cell = f"quiz_01_slopes = dict(variant=0, calls=open({str(trap)!r}, 'w').write('x'), how_far=__import__('os'))"
    result = judged(cell)
    assert not trap.exists()
    assert {answer.code for answer in result.answers if answer.status == "failed"} == {"not-read"}


@pytest.mark.parametrize("line", ["# quiz_01_slopes = 1\n", "quiz_01_slopes = (\n"], ids=["passed over", "broken"])
def test_however_many_cells_speak_of_the_quiz_few_are_read(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    parse = ipython_cells.parse
    monkeypatch.setattr(ipython_cells, "parse", lambda text, before: (read.append(len(text)), parse(text, before))[1])
    good = "quiz_01_slopes = dict(variant=0, how_far=0.004)"
    assert judged(*[line + "x\n" * 20_000] * 100).status != "passed"
    assert sum(read) <= LARGEST
    found = sheet_in(QUIZ.id, QUIZ.quiz, [*[line + "x\n" * 10_000] * 9, good])
    assert found is not None
    assert found.answers == {"how_far": "0.004"}


@given(st.text(max_size=100))
def test_any_cell_is_read_or_refused(text: str) -> None:
    for cell in (text, f"quiz_01_slopes = dict(variant=0, calls={text})"):
        with contextlib.suppress(ReadError):
            sheet_in(QUIZ.id, QUIZ.quiz, [cell])


def test_a_session_judges_a_quiz_in_cells_without_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "start_worker", None)
    with Session(REAL) as session:
        result = session.check_cells(QUIZ, ["quiz_01_slopes = dict(variant=0, how_far=0.004)"], Path())
        assert "grader" not in vars(session)
    assert [answer.name for answer in result.answers if answer.status == "passed"] == ["how_far"]


def test_a_lesson_in_a_notebook_speaks_of_the_quiz_there() -> None:
    lesson = notebook_lesson(REAL, REAL.config.units[0]).text
    assert "- `quiz_01_slopes`: the quiz of this unit; its questions stand at the end." in lesson
    assert "quiz.yaml" not in lesson
    assert "handgrad quiz" not in lesson


def test_an_annotated_assignment_is_one() -> None:
    assert sheet_in(QUIZ.id, QUIZ.quiz, [f"{QUIZ.id}: dict = dict(variant=3)"]) == Sheet(3, {})


@pytest.mark.parametrize(
    "other",
    [
        "{0}.update(one=1)", "{0}['one'] = 1", "{0} |= dict(one=1)", "if True:\n    {0} = dict(variant=3, one=1)",
        "print({0} := dict(variant=3, one=1))",
    ],
)  # fmt: skip
def test_answers_that_are_stored_in_another_way_are_not_taken_for_blanks(other: str) -> None:
    """The cell was 'not attempted', and nothing said why."""
    blank, written = f"{QUIZ.id} = dict(variant=3)", other.format(QUIZ.id)
    for cells in ([blank, written], [f"{blank}\n{written}"]):
        with pytest.raises(ReadError, match="the answers must stand in one dict"):
            sheet_in(QUIZ.id, QUIZ.quiz, cells)
        with pytest.raises(ReadError, match="the answers must stand in one dict"):
            places_of_sheets(QUIZ.id, QUIZ.quiz, cells)
    key = next(iter(QUIZ.quiz.questions))
    answered = f"{QUIZ.id} = dict(variant=3, {key}='a')"
    assert sheet_in(QUIZ.id, QUIZ.quiz, [written, answered]) == Sheet(3, {key: "a"})
    assert places_of_sheets(QUIZ.id, QUIZ.quiz, [written, answered]) == [(1, 1)]
