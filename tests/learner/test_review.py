"""What a learner is given to go over: by the mistakes met most, until they are got over."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.courses import ROOT

from grader.cli import main as cli
from grader.course.course import Course, load_course
from grader.course.questions import Choices
from grader.learner.progress import Progress
from grader.learner.quiz_session import Practice
from grader.learner.review import make_review
from grader.results.records import AnswerResult, ExerciseResult

Go = Callable[..., tuple[int, str]]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    shutil.copy(ROOT / "course.yaml", tmp_path)
    shutil.copytree(ROOT / "exercises", tmp_path / "exercises", ignore=shutil.ignore_patterns("*.md", "*.svg"))
    return load_course(tmp_path)


def met(course: Course, **codes: str | None) -> Progress:
    """A learner whose only answers to these exercises came out like this, one after the other."""
    progress = Progress.load(course.root)
    for name, code in codes.items():
        meet(course, progress, name, code)
    progress.save()
    return Progress.load(course.root)


def meet(course: Course, progress: Progress, name: str, code: str | None) -> None:
    exercise = course.find(name)
    status = "passed" if code is None else "todo" if code == "todo" else "failed"
    answer = AnswerResult(exercise.declaration.answers[0].name, status, 0.0, 1.0, code, "it is", hints=("a", "b", "c"))
    result = ExerciseResult(exercise.id, exercise.unit, (answer,))
    progress.record(exercise, result.with_hash_of(exercise.path.read_bytes()))


@pytest.fixture
def go(course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Go:
    """`go("a", "")`: the exit code of `handgrad review` and what it showed, while this was typed."""
    monkeypatch.chdir(course.root)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("grader.learner.workspace.new_variant", lambda: 7)

    def gone(*lines: str, options: tuple[str, ...] = ()) -> tuple[int, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        monkeypatch.setattr(sys, "argv", ["handgrad", "review", *options])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return int(left.value.code or 0), capsys.readouterr().out

    return gone


def test_a_mistake_is_counted_when_it_is_new_and_not_at_every_save(course: Course) -> None:
    progress = met(course, lin_grad="transposed")
    for code in ("transposed", "transposed", None, "transposed", "todo"):
        meet(course, progress, "lin_grad", code)
    assert progress.met == {"transposed": {"lin_grad": 2}}


def test_a_typo_on_the_way_does_not_count_again_nor_does_the_mistake_behind_it(course: Course) -> None:
    """As while watching, where every save is looked at."""
    progress = Progress.load(course.root)
    for code in 3 * ("transposed", "error", "syntax-error", "todo"):
        meet(course, progress, "lin_grad", code)
        progress.save()
        progress = Progress.load(course.root)
    assert progress.met == {code: {"lin_grad": 1} for code in ("transposed", "error", "syntax-error")}


def test_slips_come_last_and_nothing_else_is_asked_about_them(course: Course) -> None:
    """There are questions whose wrong answers are an error; they have nothing to do with a typo."""
    progress = met(course, lin_grad="transposed", slope="error", dy_dx="error", exp_grad="error", mse_grad="error")
    meet(course, progress, "slope", None)
    found = make_review(course, progress)
    assert [(each.code, each.times) for each in found.mistakes] == [("transposed", 1), ("error", 4)]
    assert {asked.code for asked in found.questions} == {"transposed"}
    assert [(each.code, each.exercise.id) for each in found.exercises] == [
        ("transposed", "lin_grad"),
        ("error", "dy_dx"),
    ]


def test_no_question_is_of_a_unit_that_comes_later_and_the_nearest_come_first(course: Course) -> None:
    order = [unit.id for unit in course.config.units]
    for name in ("central_difference", "div_grad", "lin_grad", "mse_grad"):
        progress = Progress(course.root / "new.json")
        meet(course, progress, name, "wrong-sign")
        units = [order.index(asked.quiz.unit) for asked in make_review(course, progress, 99).questions]
        assert units == sorted(units, reverse=True)
        assert max(units, default=0) <= order.index(course.find(name).unit)


def test_what_is_no_mistake_in_the_numbers_brings_only_questions_of_its_unit(course: Course) -> None:
    """Doing more work than was asked for has little to do with a question on what `backward()` does."""
    progress = met(course, lin_grad_needed="extra-work")
    assert {asked.quiz.unit for asked in make_review(course, progress).questions} <= {"04_linear"}
    progress = met(course, lin_grad="wrong-sign")
    assert {asked.quiz.unit for asked in make_review(course, progress, 99).questions} - {"04_linear"}


def test_several_answers_with_one_mistake_made_it_once(course: Course) -> None:
    exercise, progress = course.find("lin_grad"), Progress.load(course.root)
    answers = tuple(AnswerResult(a.name, "failed", 0.0, 1.0, "transposed") for a in exercise.declaration.answers)
    progress.record(exercise, ExerciseResult(exercise.id, exercise.unit, answers))
    assert progress.met == {"transposed": {"lin_grad": 1}}


def test_the_mistake_met_most_comes_first_and_each_has_its_questions(course: Course) -> None:
    progress = met(course, lin_grad="mean-for-sum", mse_grad="transposed", bmm_grad="transposed")
    found = make_review(course, progress)
    assert [(each.code, each.times) for each in found.mistakes] == [("transposed", 2), ("mean-for-sum", 1)]
    assert [asked.code for asked in found.questions][:2] == ["transposed", "mean-for-sum"]
    assert len({(asked.quiz.id, asked.name) for asked in found.questions}) == len(found.questions) == 5
    for asked in found.questions:
        question = asked.quiz.quiz.questions[asked.name]
        mistakes = [*question.wrong.values(), *(question.right.values() if isinstance(question, Choices) else ())]
        assert asked.code in {mistake.code for mistake in mistakes}


def test_an_open_exercise_comes_before_one_that_is_solved(course: Course) -> None:
    progress = met(course, mse_grad="transposed", bmm_grad="transposed")
    meet(course, progress, "mse_grad", None)
    (again,) = make_review(course, progress).exercises
    assert (again.exercise.id, again.solved) == ("bmm_grad", False)
    meet(course, progress, "bmm_grad", None)
    (again,) = make_review(course, progress).exercises
    assert again.solved


def test_a_question_that_went_wrong_is_asked_first(course: Course) -> None:
    quiz = next(exercise for exercise in course.exercises if exercise.is_quiz)
    name, question = list(quiz.quiz.questions.items())[-1]
    code = next(iter(question.wrong.values())).code
    progress = Progress.load(course.root)
    wrong = AnswerResult(name, "failed", 0.0, 1.0, code)
    progress.record(quiz, ExerciseResult(quiz.id, quiz.unit, (wrong,)))
    first = make_review(course, progress).questions[0]
    assert (first.quiz.id, first.name, first.code) == (quiz.id, name, code)


def test_without_a_mistake_there_is_nothing_to_go_over(go: Go) -> None:
    code, shown = go()
    assert code == 0
    assert shown.startswith("No mistake is on record: there is nothing to go over yet.")


def test_right_answers_take_a_mistake_off_the_record_and_no_sheet_is_touched(course: Course, go: Go) -> None:
    progress = met(course, lin_grad="mean-for-sum")
    before = {path: path.read_bytes() for path in course.root.rglob("quiz.yaml")}
    asked = make_review(course, progress, 1).questions[0]
    sitting = Practice(asked.quiz, 7)
    question = sitting.question(asked.name)
    letters = {label: letter for letter, label in sitting.choices_by_letter(asked.name, question).items()}
    code, shown = go("hint", letters[next(iter(question.right))], options=("--questions", "1"))
    assert code == 0
    assert "mean-for-sum  1 time  lin_grad" in shown
    assert "hint 1/" in shown
    assert "1 of 1 right." in shown
    assert "open: handgrad check lin_grad" in shown
    assert Progress.load(course.root).met == {"mean-for-sum": {}}
    assert {path: path.read_bytes() for path in course.root.rglob("quiz.yaml")} == before


def test_wrong_answers_are_explained_and_leaving_keeps_the_record(course: Course, go: Go) -> None:
    met(course, lin_grad="mean-for-sum")
    code, shown = go("", "q")
    assert code == 1
    assert "2 of 5" in shown
    assert "3 of 5" not in shown
    assert Progress.load(course.root).met == {"mean-for-sum": {"lin_grad": 1}}


def test_programs_get_json(course: Course, go: Go) -> None:
    met(course, lin_grad="transposed")
    code, shown = go(options=("--format", "json"))
    found = json.loads(shown)
    assert code == 0
    assert found["mistakes"] == [{"code": "transposed", "times": 1, "where": ["lin_grad"]}]
    assert found["exercises"] == [{"code": "transposed", "exercise": "lin_grad", "solved": False}]
    assert {each["code"] for each in found["questions"]} == {"transposed"}


def test_a_broken_count_is_left_out(course: Course) -> None:
    progress = met(course, lin_grad="transposed")
    state = json.loads(progress.path.read_text())
    state["met"] = {"transposed": {"lin_grad": "often", "gone": 2}, "x": 3}
    progress.path.write_text(json.dumps(state))
    assert Progress.load(course.root).met == {"transposed": {"gone": 2}}
    assert make_review(course, Progress.load(course.root)).mistakes[0].where == ()
