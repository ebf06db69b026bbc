"""A quiz is an exercise like any other: checked, listed, hinted at, reset, graded, audited; nothing in it is run."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from helpers.courses import AT_ONCE

from grader.authoring.audit import AuditFinding, audit
from grader.authoring.build import build, stale_files, stub, worked_text
from grader.child.protocol import Frame
from grader.classroom.class_grading import grade_folder
from grader.cli.results import report
from grader.course.course import Course, CourseExercise, CourseFile, load_course
from grader.course.questions import AnswerableQuestion, Number
from grader.errors import CourseError, ExpressionError, SpecError
from grader.export.graded_work import GradedAnswer
from grader.judging.grading import Grader
from grader.judging.quiz_sheets import grade_quiz
from grader.learner.session import Session
from grader.quiz.answer_reading import number
from grader.quiz.answer_sheet import LARGEST, solved_sheet
from grader.quiz.variants import question_of
from grader.rendering.exercise_summary import describe_answer, formula
from grader.results.records import ExerciseResult, exit_code
from grader.sandbox.worker import Worker

ROOT = Path(__file__).resolve().parents[2]
UNIT = "01_slopes"
Judge = Callable[..., ExerciseResult]


class NoWorker:
    """A worker that is never asked."""

    def run(self, job: Frame, time_limit: float) -> None:
        raise AssertionError("an answer sheet is data: nothing is to be run")


@pytest.fixture(scope="module")
def real() -> Course:
    return load_course(ROOT)


@pytest.fixture(scope="module")
def judge(real: Course) -> Judge:
    """`judge(content)`: the verdict on a sheet of the first unit's quiz."""

    def judged(content: bytes | str | None, name: str = f"quiz_{UNIT}") -> ExerciseResult:
        data = content.encode() if isinstance(content, str) else content
        return Grader(1).grade(real.find(name), data, NoWorker())  # type: ignore[arg-type]

    return judged


def quizzes(course: Course) -> list[CourseExercise]:
    return [exercise for exercise in course.exercises if exercise.is_quiz]


def test_a_unit_ends_with_its_quiz(real: Course) -> None:
    ids = [exercise.id for exercise in real.exercises if exercise.unit == UNIT]
    assert ids == ["slope", "central_difference", "numerical_grad", "numerical_vjp", "pick_h", "quiz_01_slopes"]
    quiz = real.find("quiz_01_slopes")
    assert (quiz.file, quiz.points) == ("exercises/01_slopes/quiz.yaml", 3)
    assert quiz.solution == ROOT / "solutions/01_slopes/quiz.yaml"
    assert [answer.name for answer in quiz.declaration.answers] == list(quiz.quiz.questions)


@pytest.mark.parametrize("name", ["quiz_01_slopes", "exercises/01_slopes/quiz.yaml", "exercises/01_slopes/quiz"])
def test_a_quiz_is_found_by_its_id_and_by_its_file(real: Course, name: str) -> None:
    assert real.find(name).id == "quiz_01_slopes"
    assert real.exercise_at(ROOT / "exercises/01_slopes/quiz.yaml") == real.find(name)


def test_a_function_is_no_quiz_and_a_quiz_no_function(real: Course) -> None:
    with pytest.raises(SpecError, match="slope is no quiz"):
        _ = real.find("slope").quiz
    with pytest.raises(SpecError, match="declares no exercise 'quiz_01_slopes'"):
        _ = real.find("quiz_01_slopes").function


@pytest.mark.parametrize("variant", [4711])
def test_right_answers_pass_in_every_variant(real: Course, judge: Judge, variant: int) -> None:
    for exercise in quizzes(real):
        sheet = stub(exercise, variant)
        assert {answer.status for answer in judge(sheet, exercise.id).answers} == {"todo"}
        result = judge(solved_sheet(exercise.unit, exercise.quiz, variant), exercise.id)
        assert {answer.status for answer in result.answers} == {"passed"}
        assert result.score == pytest.approx(exercise.points)


def test_the_text_of_a_wrong_choice_stands_before_the_sentence_on_it_and_no_right_one_does(
    real: Course,
) -> None:
    quiz = real.find("quiz_06_losses")
    sheet = "variant: 0\naccident_learns: right\ntrue_of_cross_entropy: zero_sum\n"
    found = {answer.name: answer.message for answer in grade_quiz(quiz, sheet.encode()).answers}
    assert found["accident_learns"].startswith(
        '`right` is not it: "The right thing. The wanted differences are among those that are squared." They are,'
    )
    assert found["true_of_cross_entropy"].startswith("`zero_sum` is not it. One more is true.")


def test_a_verdict_has_the_mistake_its_code_and_the_questions_hints(judge: Judge) -> None:
    result = judge("variant: 0\nhow_far: 4\ngrad_shape: (bs, n)\nvjp_entry: 2y\nshows_0: shwon\n")
    found = {answer.name: answer for answer in result.answers}
    assert found["how_far"].code == "rate-for-change"
    assert found["how_far"].message == "`4` is not it. That is the rate, for a whole unit of x. The step was 0.001."
    assert found["how_far"].hints == ("A slope is output for each unit of input. How many units did x move?",)
    assert (found["grad_shape"].status, found["grad_shape"].score) == ("passed", 0.25)
    assert found["vjp_entry"].code == "not-read"
    assert found["vjp_entry"].message == (
        "`2y` cannot be read: it has no points, and no mistake is counted. There is no `y` here: write a number."
    )
    how, *hints = found["vjp_entry"].hints
    assert (how, len(hints)) == ("Answer with a number.", 2), "the hints of the question are still to be had"
    assert found["shows_0"].message.endswith("There is no choice `shwon`: did you mean shown?")
    assert (found["calls"].status, found["calls"].message) == ("todo", "not answered yet")
    assert result.status == "failed"


def test_the_variant_on_the_sheet_decides_what_is_right(judge: Judge) -> None:
    steps = {judge(f"variant: {v}\nhow_far: 0.004\n").answers[1].status for v in range(20)}
    assert steps == {"passed", "failed"}


def test_a_wrong_answer_comes_back_with_the_question_of_its_variant(real: Course, judge: Judge) -> None:
    quiz = real.find("quiz_12_attention")
    answers = {
        variant: {
            answer.name: answer
            for answer in judge(f"variant: {variant}\nsize_of_root: 1\nrow_sums: 7\n", "quiz_12_attention").answers
        }
        for variant in (0, 1)
    }
    for variant, given in answers.items():
        asked = question_of(quiz.quiz, "size_of_root", variant).ask
        assert given["size_of_root"].evidence == f"asked: {' '.join(asked.split())}"
        assert "backward(); round(abs(" in given["row_sums"].evidence
        assert GradedAnswer(judge(None), given["row_sums"], is_adjusted=False).helps[0] == (
            "asked",
            given["row_sums"].evidence.removeprefix("asked: "),
        )
    assert not any(each.evidence for each in answers[0].values() if each.status != "failed")


def test_a_misspelt_question_is_said_to_be_one(judge: Judge) -> None:
    result = judge("variant: 0\nhow_fare: 0.004\nquite_else: 3\n")
    found = {answer.name: answer.message for answer in result.answers}
    assert found["how_far"] == (
        "not answered yet: line 2 answers how_fare, which is no question; did you mean how_far?"
    )
    assert found["calls"] == "not answered yet"


HOSTILE = {
    "no file": (None, "handgrad reset quiz_01_slopes"),
    "empty": (b"", "the line `variant: N` is missing"),
    "no map": (b"- 1\n- 2\n", "line 1: every answer needs a name and a colon"),
    "laughs": (b'a: &a ["lol"]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]\n', "line 1: references"),
    "object": (b"variant: !!python/object/apply:os.system [id]\n", "line 1: tags"),
    "deep": (b"variant: 0\nhow_far: " + b"[" * 30_000, "line 2: there is far too much"),
    "huge": (b"#" * (LARGEST + 1), "larger than 32 KiB"),
    "bytes": (b"variant: 0\nhow_far: \xff\xfe\n", "line 2: this is not UTF-8 text"),
    "nul": (b"variant: 0\nhow_far: \x00\n", "characters in it that no text has"),
    "tabs": (b"variant: 0\nhow_far:\n\t4\n", "line 3: this is not valid YAML"),
    "twice": (b"variant: 0\nhow_far: 4\nhow_far: 5\n", "line 3: how_far is there a second time, after line 2"),
    "colon": (b"variant: 0\nhow_far: 4: 5\n", "line 2: this is not valid YAML"),
    "merge": (b"variant: 0\n<<: {how_far: 4}\n", "not answered yet"),
    "variant": (b"variant: -1\nhow_far: 4\n", "line 1: the variant must be the whole number"),
    "no variant": (b"how_far: 4\n", "the line `variant: N` is missing"),
    "long": (b"variant: 0\nforward_of_square: " + b"x" * 30_000, "It has 30000 characters"),
    "power": (b"variant: 0\nforward_of_square: 9**9**9**9\n", "Its value is not finite"),
    "attribute": (b"variant: 0\nforward_of_square: x.__class__\n", "`.__class__` is not allowed"),
    "escape": (b'variant: 0\nhow_far: "\\e[31m4"\n', "how_far"),
    "near misses": (b"variant: 0\n" + b"".join(b"how_fa%d: 1\n" % i for i in range(2300)), "did you mean how_far?"),
    "much work": (b"variant: 0\nhow_far: sum(i*j for i in range(5000) for j in range(5000))\n", "far more work"),
    "unknown": (b"variant: 0\n" + b"".join(b"k%d: 1\n" % i for i in range(3000)), "not answered yet"),
}


@pytest.mark.parametrize(("content", "says"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_sheet_gets_one_clear_sentence_at_once(judge: Judge, content: bytes | None, says: str) -> None:
    started = time.process_time()
    result = judge(content)
    assert time.process_time() - started < AT_ONCE
    assert result.status in {"failed", "todo"}
    assert result.score == 0
    told = {f"{answer.name} {answer.message}" for answer in result.answers if answer.status != "passed"}
    assert any(says in message for message in told), told
    assert not any("\n" in message or "\x1b" in message or len(message) > 400 for message in told)


def test_an_answer_that_cannot_be_judged_is_that_answers_alone(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is raised: the others keep their points, and the record and the exit code say that something is ours."""

    def judged(question: AnswerableQuestion, text: str) -> list[np.ndarray]:
        if text == "4.00":
            raise KeyError("nobody foresaw this")
        return number(question, text)  # type: ignore[arg-type]

    monkeypatch.setattr("grader.quiz.answer_reading.number", judged)
    result = judge("variant: 0\nhow_far: 4.00\ngrad_shape: (bs, n)\nvjp_entry: 5\n")
    found = {answer.name: answer for answer in result.answers}
    assert (found["how_far"].status, found["how_far"].code, found["how_far"].score) == ("error", "error", 0)
    assert found["how_far"].message == (
        "`4.00`: handgrad cannot judge this answer (KeyError: 'nobody foresaw this'), which is a fault of its own: "
        "please report it, with the answer"
    )
    assert (found["grad_shape"].status, found["vjp_entry"].status) == ("passed", "failed")
    assert result.score == found["grad_shape"].max_score
    assert (result.status, exit_code([result])) == ("error", 3)


def test_a_learner_is_asked_the_question_that_their_variant_has(
    tmp_path: Path, new_workspace: Callable[..., Course]
) -> None:
    mine = new_workspace(tmp_path / "ws", before="02_chain_rule")
    exercise = mine.find(f"quiz_{UNIT}")
    answer = next(answer for answer in exercise.declaration.answers if answer.name == "how_far")
    exercise.path.write_text("variant: 0\n")
    assert (
        describe_answer(exercise, answer) == "g has the slope -4 at x. About how far does g fall when x rises by 0.001?"
    )
    assert formula(exercise) == "Quiz of 12 questions"


def test_checking_a_quiz_imports_no_torch_and_starts_no_worker(
    tmp_path: Path, new_workspace: Callable[..., Course]
) -> None:
    new_workspace(tmp_path / "ws", before="02_chain_rule")
    script = (
        "import sys, subprocess\n"
        "def forbidden(*a, **k): raise SystemExit('a process was started')\n"
        "subprocess.Popen.__init__ = forbidden\n"
        "from grader.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as ended: print(ended.code, 'torch' in sys.modules)\n"
    )
    command = [sys.executable, "-c", script, "check", f"quiz_{UNIT}"]
    done = subprocess.run(command, cwd=tmp_path / "ws", capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "1 False", done.stderr
    command = [sys.executable, "-m", "pytest", "-q", f"exercises/{UNIT}/quiz.yaml", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path / "ws", capture_output=True, text=True, timeout=300)
    assert "12 todo" in done.stdout, done.stderr


def test_a_folder_or_a_missing_sheet_is_said_to_be_one(tmp_path: Path, new_workspace: Callable[..., Course]) -> None:
    mine = new_workspace(tmp_path / "ws", before="02_chain_rule")
    exercise = mine.find(f"quiz_{UNIT}")
    exercise.path.unlink()
    with Session(mine) as session:
        assert session.check(exercise).answers[0].message.endswith("handgrad reset quiz_01_slopes")
        exercise.path.mkdir()
        assert session.check(exercise).status == "error"


def with_quiz(real: Course, **changes: object) -> Course:
    """The first unit alone, with one exercise and its quiz."""
    unit = real.config.units[0]
    units = [{**unit.model_dump(), "exercises": [unit.exercises[0].model_dump()], **changes}]
    return replace(real, config=CourseFile.model_validate({**real.config.model_dump(), "units": units}))


@pytest.mark.usefixtures("warm_pool")
def test_a_class_is_graded_with_its_quizzes(real: Course, tmp_path: Path) -> None:
    course = with_quiz(real)
    exercise = course.find(f"quiz_{UNIT}")
    hand_in = {
        "ada/01_slopes/quiz.yaml": worked_text(exercise),
        "bob/exercises/01_slopes/quiz.yaml": "variant: 0\nhow_far: 4\ncalls: 1\n",
        "cyd/quiz_01_slopes.yaml": worked_text(exercise),
        "dan/quiz.yaml": worked_text(exercise),
        "eve/01_slopes/quiz.yaml": "variant: 0\nhow_far: [",
    }
    for name, text in hand_in.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True)
        (tmp_path / "in" / name).write_text(text)
    summary = grade_folder(course, tmp_path / "in", tmp_path / "out", workers=1, isolation="none")
    rows = list(csv.DictReader((tmp_path / "out/grades.csv").read_text(encoding="utf-8-sig").splitlines()))
    assert [row["quiz_01_slopes"] for row in rows] == ["3", "0", "3", "3", ""]
    assert "quiz.yaml: the file was not read: line " in rows[4]["notes"]
    assert rows[1]["mistakes"] == "quiz_01_slopes how_far: rate-for-change; quiz_01_slopes calls: used-autograd"
    assert {mistake.code for mistake in summary.mistakes["quiz_01_slopes"]} == {
        "rate-for-change", "used-autograd",
    }  # fmt: skip
    assert json.loads((tmp_path / "out/dan.json").read_text())["notes"] == []
    with pytest.raises(typer.Exit) as ended:
        report(str(tmp_path / "out"))
    assert ended.value.exit_code == 0
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "A rate of change was taken for the change itself." in page
    assert "<code>4</code> is not it." in page
    table = csv.DictReader((tmp_path / "out/report.csv").read_text(encoding="utf-8-sig").splitlines())
    told = {row["answer"]: (row["status"], row["code"]) for row in table if row["student"] == "bob"}
    assert (told["how_far"], told["grad_shape"]) == (("failed", "rate-for-change"), ("todo", "todo"))


@pytest.mark.usefixtures("warm_pool")
def test_a_changed_question_is_graded_anew(real: Course, tmp_path: Path) -> None:
    course = replace(with_quiz(real), solutions=tmp_path / "solutions")
    shutil.copytree(ROOT / f"solutions/{UNIT}", tmp_path / f"solutions/{UNIT}")
    (tmp_path / "in/ada/01_slopes").mkdir(parents=True)
    (tmp_path / "in/ada/01_slopes/quiz.yaml").write_text("variant: 0\ncalls: 78400\n")
    counts = []
    for old, new in (("", ""), ("", ""), ("{2*n*m}", "{2 * n * m}")):
        source = tmp_path / f"solutions/{UNIT}/quiz.yaml"
        source.write_text(source.read_text().replace(old, new) if old else source.read_text())
        fresh = Course(course.root, course.solutions, course.config)
        counts.append(grade_folder(fresh, tmp_path / "in", tmp_path / "out", workers=1, isolation="none").graded)
    assert counts == [1, 0, 1]


COURSE = """
course: small
title: A small course
units:
  - id: 03_one_example
    title: One
    exercises:
      - id: bias_grad
    quiz: 2
"""
SOURCE = "solutions/03_one_example/quiz.yaml"
SHEET = "exercises/03_one_example/quiz.yaml"


@pytest.fixture
def root(sound: Path, tmp_path: Path) -> Path:
    """A copy of it, to break something in."""
    return shutil.copytree(sound, tmp_path, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound course of one exercise and one quiz, with a prediction in it."""
    tmp_path = tmp_path_factory.mktemp("sound")
    (tmp_path / "course.yaml").write_text(COURSE)
    shutil.copytree(ROOT / "solutions/03_one_example", tmp_path / "solutions/03_one_example")
    for path in (tmp_path / "solutions/03_one_example").glob("*.py"):
        if path.name not in ("spec.py", "bias_grad.py"):
            path.unlink()
    spec = tmp_path / "solutions/03_one_example/spec.py"
    with spec.open("a") as file:
        file.write("\ndel df_dx, df_db, input_grad, weight_grad\n")
    with (tmp_path / SOURCE).open("a") as file:
        file.write(
            "\nadded:\n  kind: predict\n  ask: What?\n  params: {n: [2, 3]}\n  listing: '{n} + 1'\n"
            "  wrong: {'{n}': {code: missing-path, says: One more.}}\n  hints: [Add.]\n  because: Yes.\n"
        )
    (tmp_path / "exercises/03_one_example").mkdir(parents=True)
    (tmp_path / "exercises/03_one_example/README.md").write_text("# A lesson: bias_grad.py, quiz.yaml\n")
    build(load_course(tmp_path))
    return tmp_path


@pytest.fixture
def findings(root: Path, worker: Worker) -> Callable[[], list[AuditFinding]]:
    """Audit the course, as it now is."""
    return lambda: audit(load_course(root), Grader(3), worker)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path} has no {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_build_writes_sheets_and_computed_keys(root: Path, findings: Callable[[], list[AuditFinding]]) -> None:
    assert findings() == []
    assert stale_files(load_course(root)) == []
    keys = json.loads((root / "solutions/03_one_example/quiz_keys.json").read_text())
    assert keys == {"added": {"n=2": {"kind": "number", "right": "3"}, "n=3": {"kind": "number", "right": "4"}}}
    assert load_course(root).find("quiz_03_one_example").quiz.keys == keys


FAULTS = [
    ("listing: '{n} + 1'", "listing: '{n} + 2'", "computed answers of its predictions are out of date"),
    ("listing: '{n} + 1'", "listing: '{n} + '", "line 1 of the listing is not Python"),
    ("listing: '{n} + 1'", "listing: 'undefined'", "the listing stops with NameError"),
    ("wrong: {'{n}':", "wrong: {'{n + 1}':", "added (n=2): its wrong answer, 3, passes: correct it."),
    ("  right: out.g\n", "  right: out.g.sum(0)\n", "bias_gradient: its wrong answer, out.g.sum(), passes"),
    ("  right: out.g\n", "  right: out.g +\n", "bias_gradient: its right answer, out.g +, is judged as not-read"),
    ("    b * out.g:\n", "    out.g / m * 1:\n", "is judged as mean-for-sum"),
    ("ask: What?", "ask: What is {k}?", "{k} is not worked out"),
    ("d: [-6, 6", "d: [-3, 6", "one_weight_entry (a=4 d=-3): two of its wrong answers are the same"),
    ("    yes:\n", "    output:\n", "b_up_by_1: a choice is both right and wrong"),
    ("code: used-autograd", "code: used-autoguard", "used-autoguard is no public code of a mistake"),
    ("  wrong: {'{n}': {code: missing-path, says: One more.}}\n", "", "added (n=2): it declares no wrong answer"),
    ("    - b[j] feeds", "    - It is df @ weight. b[j] feeds", ""),
    ("    - The summed index is last", "    - df@weight? It stands", "hint 2 of other_storage gives"),
    ("kind: predict", "kind: predikt", ": added is of no known kind: write predict."),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "says"), FAULTS[::6])
def test_what_is_wrong_with_a_quiz_is_found(
    root: Path, findings: Callable[[], list[AuditFinding]], old: str, new: str, says: str
) -> None:
    """Here a few faults; `thorough/test_every_quiz_fault.py` has all."""
    edit(root / SOURCE, old, new)
    found = [finding for finding in findings() if finding.file == SOURCE]
    if not says:
        assert found == []
        return
    assert any(says in finding.says for finding in found), found
    assert all(finding.says.endswith((".", "handgrad build")) for finding in found)


def test_a_quiz_of_two_questions_is_sound(root: Path, findings: Callable[[], list[AuditFinding]]) -> None:
    source = root / SOURCE
    text = source.read_text()
    source.write_text(text[text.index("jacobian_of_x:") : text.index("touched_by_x:")])
    (root / "solutions/03_one_example/quiz_keys.json").unlink()
    build(load_course(root))
    assert findings() == []


def test_a_quiz_that_the_course_lists_and_nobody_wrote_is_found(
    root: Path, findings: Callable[[], list[AuditFinding]]
) -> None:
    (root / SOURCE).unlink()
    assert "course.yaml gives this unit a quiz" in findings()[-1].says
    with pytest.raises(SpecError, match=r"course\.yaml gives this unit a quiz"):
        build(load_course(root))


def test_points_of_a_quiz_are_checked(root: Path) -> None:
    edit(root / "course.yaml", "quiz: 2", "quiz: 0")
    with pytest.raises(CourseError, match=r"line 9: units.0.quiz: input should be greater than 0"):
        load_course(root)
    edit(
        root / "course.yaml",
        "quiz: 0",
        "quiz: 1\n  - id: 04_more\n    title: M\n    exercises: [id: quiz_04_more]\n    quiz: 1",
    )
    with pytest.raises(CourseError, match="quiz_04_more is listed twice"):
        load_course(root)


def test_every_question_of_the_course_is_worth_the_same_in_its_quiz(real: Course, judge: Judge) -> None:
    for exercise in quizzes(real):
        answers = judge(stub(exercise), exercise.id).answers
        assert len({answer.max_score for answer in answers}) == 1
        assert sum(answer.max_score for answer in answers) == pytest.approx(exercise.points)
        assert len(answers) >= 8


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("one fortieth", 1 / 40),
        ("minus three quarters", -0.75),
        ("a half", 0.5),
        ("two hundred and thirty-one", 231),
        ("three thousand", 3000),
        ("twice", 2),
    ],
)
def test_a_number_in_words_is_read(words: str, value: float) -> None:
    asked = Number.model_validate({"kind": "number", "ask": "?", "right": "1", "hints": ["?"], "because": "!"})
    assert float(number(asked, words)[0]) == pytest.approx(value)


@pytest.mark.parametrize(
    "words", ["two three", "twenty thirty", "one twenty", "hundred hundred", "fortieth of it", "a", "an", "b"]
)
def test_words_that_are_no_number_are_refused(words: str) -> None:
    asked = Number.model_validate({"kind": "number", "ask": "?", "right": "1", "hints": ["?"], "because": "!"})
    with pytest.raises(ExpressionError):
        number(asked, words)
