"""CONTRIBUTING.md is true: its worked examples run, and its tables list what the code has."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
import torch
from helpers.class_results import CLASS, write_folder
from helpers.commands import Typed
from helpers.courses import ROOT
from helpers.document_claims import PACKAGE, Document
from helpers.documented_commands import AUTHOR_RUNS
from helpers.operator_examples import assert_explained
from test_session import KeptWorker

import handgrad
from grader.authoring.build import build
from grader.course.course import Course, load_course
from grader.course.course_file import CourseFile, Entry, Policy, Unit, read_course_file
from grader.course.exercise import Answer, Exercise, Misconception, Routine
from grader.course.questions import KINDS
from grader.course.quiz import Quiz, read_quiz
from grader.course.sampling import Array, Marker, Sampler
from grader.course.shapes import shape_of
from grader.course.trial_sizes import settings
from grader.course.yaml_file import StrictModel
from grader.diagnosis.operators import contract, pointwise
from grader.judging.grading import Grader
from grader.program.program import Program
from grader.quiz.answer_mistakes import mistake_in
from grader.quiz.answer_sheet import right_answer
from grader.quiz.computed_answers import compute_keys
from grader.quiz.variants import question_with_key
from grader.results.codes import CODES
from grader.sandbox.worker import Worker

CONTRIBUTING = Document(ROOT / "CONTRIBUTING.md", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
PUBLIC = {
    name: getattr(handgrad, name)
    for name in ("BackwardPass", "Sampler", *handgrad._NAMES["grader.course.sampling"].split())
}
UNIT = "05_activations"
NEW = "squareplus_grad"
SIZED_BY_TRIAL = "bs n m c"  # the axes that the examples of samplers name
COMMON = ("ask", "listing", "params", "hints", "because")


def block(file: str) -> str:
    """Return the fenced block that begins with a comment naming this file."""
    (body,) = [dedent(body) for _, body in CONTRIBUTING.blocks if body.startswith(f"# {file}\n")]
    return body.partition("\n")[2]


def names(heading: str) -> list[str]:
    """Return the first column of the table with this heading, without backticks."""
    return [row[0].strip("`") for row in CONTRIBUTING.table(heading)]


def code(cell: str) -> str:
    """Return the first text in backticks of a table's cell."""
    return cell.split("`")[1]


def insert(path: Path, before: str, text: str) -> None:
    """Write text in front of a passage of a file that occurs in it."""
    head, found, tail = path.read_text("utf-8").partition(before)
    assert found, f"{path} has no {before!r}"
    path.write_text(head + text + found + tail, encoding="utf-8")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of one unit of the course, to which everything is added as the page says."""
    copy = tmp_path_factory.mktemp("course")
    for folder in ("solutions", "exercises"):
        shutil.copytree(ROOT / folder / UNIT, copy / folder / UNIT, ignore=shutil.ignore_patterns("__pycache__"))
    listed = (ROOT / "course.yaml").read_text("utf-8")
    head, unit = listed.partition("units:\n")[0], re.search(rf"  - id: {UNIT}\n.*?\n\n", listed, re.DOTALL)
    assert unit
    (copy / "course.yaml").write_text(f"{head}units:\n{unit[0]}", encoding="utf-8")
    for file in (f"solutions/{UNIT}/spec.py", f"solutions/{UNIT}/quiz.yaml"):
        with (copy / file).open("a", encoding="utf-8") as stream:
            stream.write(f"\n{block(file)}")
    (copy / f"solutions/{UNIT}/{NEW}.py").write_text(block(f"solutions/{UNIT}/{NEW}.py"), encoding="utf-8")
    entry = next(body for language, body in CONTRIBUTING.blocks if body.startswith("# course.yaml\n"))
    insert(copy / "course.yaml", "    quiz: ", entry.partition("\n")[2])
    (line,) = [body for language, body in CONTRIBUTING.blocks if language == "markdown"]
    insert(copy / f"exercises/{UNIT}/README.md", "- `sigmoid_grad.py`", line)
    return copy


@pytest.fixture(scope="module")
def built(root: Path) -> Course:
    """The same course after `handgrad build`."""
    written = {path.relative_to(root).as_posix() for path in build(load_course(root))}
    assert written == {f"exercises/{UNIT}/{NEW}.py", f"exercises/{UNIT}/quiz.yaml"}
    return load_course(root)


def test_the_course_is_sound_with_the_exercise_and_the_question(
    built: Course, worker: Worker, grader: Grader, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    KeptWorker(worker).serve(grader, monkeypatch)
    done = typed("audit", cwd=built.root)
    (shown,) = re.findall(r"All \d+ exercises are sound", CONTRIBUTING.text)
    assert (done.returncode, re.sub(r"\d+", "12", done.stdout)) == (0, f"{re.sub(r'[0-9]+', '12', shown)}.\n")


def test_the_solution_of_the_exercise_passes_and_its_stub_is_still_to_do(
    built: Course, worker: Worker, grader: Grader
) -> None:
    exercise = built.find(NEW)
    assert grader.grade(exercise, exercise.solution.read_bytes(), worker).status == "passed"
    assert grader.grade(exercise, exercise.path.read_bytes(), worker).status == "todo"


def test_the_submissions_to_the_exercise_get_their_codes(built: Course, worker: Worker, grader: Grader) -> None:
    _, *cells = block(f"tests/learners/{UNIT}/{NEW}.py").split("# %% ")
    assert {cell.partition(":")[0] for cell in cells} == {"right", "wrong"}
    for cell in cells:
        head, _, source = cell.partition("\n")
        (verdict,) = grader.grade(built.find(NEW), source.encode(), worker).answers
        assert head.partition(" | ")[2] == (f"{verdict.name}: {verdict.code}" if verdict.code else "")


def test_the_question_is_judged(built: Course, worker: Worker, grader: Grader) -> None:
    quiz = built.find(f"quiz_{UNIT}")
    question = quiz.quiz.questions["slope_of_squareplus"]

    def code_of(answer: str) -> str | None:
        sheet = f"variant: 0\nslope_of_squareplus: {answer}\n".encode()
        answers = {each.name: each for each in grader.grade(quiz, sheet, worker).answers}
        return answers["slope_of_squareplus"].code

    assert code_of(str(question.right)) is None  # type: ignore[union-attr]
    assert {text: code_of(text) for text in question.wrong} == {"1": "missing-local", "0": "missing-path"}


def test_the_operator_is_the_one_of_the_tree_and_explains_its_example() -> None:
    source = (PACKAGE / "diagnosis/operators/pointwise.py").read_text("utf-8")
    shown = [body for language, body in CONTRIBUTING.blocks if language == "python" and body.startswith("@")]
    assert len(shown) == 2
    assert [body for body in shown if body.strip() not in source] == []
    operator = pointwise.leave_out_derivative
    assert_explained(operator, operator.examples[0])  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def fork(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the engine with the platform and the command of the page, and a graded class next to it."""
    copy = tmp_path_factory.mktemp("fork")
    for package in ("grader", "handgrad"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "grader/export/mail.py").write_text(block("grader/export/mail.py"), encoding="utf-8")
    platforms, results = copy / "grader/export/platforms.py", copy / "grader/cli/results.py"
    entry = next(body for _, body in CONTRIBUTING.blocks if body.startswith("# grader/export/platforms.py, in"))
    insert(platforms, "PLATFORMS:", "from .mail import mail\n\n")
    insert(platforms, '    "gradescope": for_each_student', entry.partition("\n")[2])
    insert(results, '"gradescope",', '"mail", ')
    command = next(body for _, body in CONTRIBUTING.blocks if body.startswith("# grader/cli/main.py, at"))
    insert(copy / "grader/cli/main.py", "app.add_typer", f"{command}\n")
    with (copy / "grader/cli/learner.py").open("a", encoding="utf-8") as learner:
        learner.write(f"\n\n{block('grader/cli/learner.py, at the end')}")
    (copy / "class").mkdir()
    shutil.copyfile(ROOT / "course.yaml", copy / "class/course.yaml")
    write_folder(copy / "class/grades", CLASS)
    return copy


def in_fork(fork: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Type a command of the copy in the folder of the class."""
    environment = {**os.environ, "PYTHONPATH": str(fork)}
    return subprocess.run(
        [sys.executable, "-m", "handgrad", *arguments],
        cwd=fork / "class", env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.slow
def test_the_platform_writes_files_from_records(fork: Path) -> None:
    (shown,) = re.findall(r"`handgrad (export grades/ada.json --to vpl [^`]*)`", CONTRIBUTING.text)
    done = in_fork(fork, *shown.replace("vpl", "mail").replace("ada", "ben").split())
    assert (done.returncode, done.stdout) == (0, "1 file(s) written to exported.\n"), done.stderr
    text = (fork / "class/exported/mail.txt").read_text("utf-8")
    assert text.startswith("2 of ")
    assert "relu_grad inp.g: out.g is missing [missing-upstream]" in text
    done = in_fork(fork, "export", "grades/", "--to", "mail")
    assert done.returncode == 3, done.stderr
    assert (fork / "class/exported/mail/eve.mail.txt").read_text("utf-8").startswith("This could not be graded")


@pytest.mark.slow
def test_the_command_runs(fork: Path) -> None:
    done = in_fork(fork, "points", "05_activations")
    assert done.returncode == 0, done.stderr
    assert {"relu_grad  1", "maximum_grad  2"} <= set(done.stdout.splitlines())
    unknown = in_fork(fork, "points", "nowhere")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "points" in in_fork(fork, "--help").stdout


def test_every_sampler_is_in_the_table() -> None:
    made = {name for name, value in PUBLIC.items() if inspect.isfunction(value) and _returns(value)}
    assert set(names("sampler")) == {*made, "Sampler"}


def _returns(function: Callable[..., object]) -> bool:
    return inspect.signature(function).return_annotation in ("Sampler", "Marker")


@pytest.mark.parametrize(
    ("name", "example"), [(row[0].strip("`"), code(row[2])) for row in CONTRIBUTING.table("sampler")]
)
def test_the_example_of_a_sampler_can_be_drawn(name: str, example: str) -> None:
    made = eval(example, dict(PUBLIC))
    assert example.startswith(f"{name}(")
    if isinstance(made, Sampler):
        _draw(made)
    else:
        assert isinstance(made, Marker)


def test_the_samplers_with_exact_entries_are_those_of_the_table() -> None:
    """Those that are made of another sampler have its values; an author's own has what its example says."""
    rows = CONTRIBUTING.table("sampled by")
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    examples = {row[0].strip("`"): code(row[2]) for row in CONTRIBUTING.table("sampler")}
    made = {name: eval(text, dict(PUBLIC)) for name, text in examples.items() if not re.search(r"\((\d, )?[a-z]", text)}
    having = {name for name, sampler in made.items() if isinstance(sampler, Sampler) and sampler.exact}
    assert {"weights", "mask"} <= set(made)
    assert having | {"Sampler"} == listed
    assert eval(code(rows[-1][1]).removeprefix("exact="))[0] == (-1.0, 0.0, 1.0)


@pytest.mark.parametrize("axes", [code(row[0]).strip('"') for row in CONTRIBUTING.table("axes")])
def test_axes_in_the_table_can_be_drawn(axes: str) -> None:
    _draw(PUBLIC["normal"](axes))


def _draw(sampler: Sampler) -> None:
    """Draw a value of each trial, and check the shapes of arrays."""
    rng = np.random.default_rng(0)
    specs = (sampler.spec,) if "..." in sampler.spec else (sampler.spec, SIZED_BY_TRIAL)
    trials = settings(specs, rng, sampler.least_trials, sampler.sizes)
    for trial in trials if sampler.spec else trials[: sampler.turns]:
        value = sampler.sample(rng, trial)
        if sampler.spec:
            assert isinstance(value, Array)
            assert value.values.shape == shape_of(value.axes, trial.sizes)


def test_every_form_of_answers_is_in_the_table() -> None:
    functions = {
        name: getattr(handgrad, name) for name in ("stored", "returned", "returned_jacobian", "returned_value")
    }
    assert [code(row[0]).partition("(")[0] for row in CONTRIBUTING.table("`answers=`")] == list(functions)
    for row in CONTRIBUTING.table("`answers=`"):
        assert all(isinstance(answer, Answer) for answer in eval(code(row[0]), dict(functions)))


@pytest.mark.parametrize(
    ("declaration", "section"),
    [
        (Exercise, "Fields of an `Exercise`"),
        (Routine, "Fields of a `Routine`"),
        (Misconception, "Mistakes that you declare"),
    ],
)
def test_every_field_of_a_declaration_is_in_its_table(declaration: type, section: str) -> None:
    listed = [row[0].strip("`") for row in CONTRIBUTING.tables_of(section)[0]]
    assert listed == [field.name for field in fields(declaration) if field.init]


def test_every_kind_of_question_is_in_the_table() -> None:
    rows = CONTRIBUTING.table("kind")
    assert [row[0].strip("`") for row in rows] == list(KINDS)
    for kind, *_, further in rows:
        own = set(KINDS[kind.strip("`")].model_fields) - {*COMMON, "kind", "right", "wrong"}
        assert {name for name in re.findall(r"`(\w+)`", further) if name != "x"} == own, kind


def test_every_field_of_all_questions_is_in_the_table() -> None:
    assert tuple(names("field of every kind")) == COMMON
    assert all(set(COMMON) <= set(kind.model_fields) for kind in KINDS.values())


def test_every_part_of_an_operator_is_in_the_table() -> None:
    parameters = list(inspect.signature(contract.operator).parameters)
    assert names("part") == ["the name", *(name for name in parameters if name != "name"), "the function"]


def test_the_methods_of_a_program_exist() -> None:
    for call in names("method of a `Program`"):
        name, arguments = call.rstrip(")").split("(")
        method = inspect.signature(getattr(Program, name))
        assert len(arguments.split(", ")) <= len(method.parameters) - 1


def test_the_codes_of_the_page_are_public() -> None:
    assert set(re.findall(r"^ +code: (\S+)$", CONTRIBUTING.text, re.MULTILINE)) <= set(CODES)


def test_other_ways_to_declare_mistakes_are_used_where_the_page_says() -> None:
    for way, file in CONTRIBUTING.table("another way to declare mistakes"):
        assert code(way).partition("(")[0] + "(" in (ROOT / code(file)).read_text("utf-8")


def test_the_names_of_a_training_exist() -> None:
    trainings = [path.read_text("utf-8") for path in (ROOT / "solutions").glob("*/training.py")]
    for row in CONTRIBUTING.tables_of("Add something to train")[0]:
        for name in re.findall(r"`(\w+)", row[0]):
            assert any(re.search(rf"^(def )?{name}\b", text, re.MULTILINE) for text in trainings), name


def test_the_example_of_a_misconception_is_one_of_an_exercise() -> None:
    (source,) = [body for _, body in CONTRIBUTING.blocks if body.startswith("misconceptions = (")]
    scope: dict[str, tuple[Misconception, ...]] = {}
    exec(source, {"Misconception": Misconception}, scope)
    (misconception,) = scope["misconceptions"]
    inputs = {"inp": PUBLIC["normal"]("bs n"), "out": PUBLIC["output"]()}
    Exercise("", lambda inp: inp**3, inputs, (Answer("inp.g", "inp"),), misconceptions=(misconception,))
    assert misconception.rule(torch.ones(2, 3) * 5, torch.ones(2, 3)).tolist() == [[1.0] * 3] * 2


@pytest.mark.slow
@pytest.mark.usefixtures("warm_pool")
def test_the_commands_of_an_author_do_what_the_page_says(
    tmp_path: Path, worker: Worker, grader: Grader, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    KeptWorker(worker).serve(grader, monkeypatch)
    folder = tmp_path
    for line, code, file in AUTHOR_RUNS["CONTRIBUTING.md"]:
        done = typed(*line.replace("UNIT", UNIT).split(), cwd=folder)
        assert done.returncode == code, (line, done.stdout, done.stderr)
        assert not file or (folder / file).is_file(), line
        folder = folder / line.split()[-1] if line.startswith("init --course") else folder


def test_it_is_said_that_misconceptions_are_the_operators_of_a_course() -> None:
    said = " ".join(CONTRIBUTING.text.split())
    assert "a course of your own cannot add any, and declares misconceptions in their place." in said


def test_there_is_an_example_of_every_kind_of_question_and_it_is_judged(tmp_path: Path) -> None:
    (tmp_path / "quiz.yaml").write_text(block("another quiz.yaml"), encoding="utf-8")
    questions = read_quiz(tmp_path / "quiz.yaml")
    quiz = Quiz(questions.questions, compute_keys(questions))
    assert {question.kind for question in quiz.questions.values()} | {"number"} == set(KINDS)
    for name in quiz.questions:
        question = question_with_key(quiz, name, 0)
        assert mistake_in(question, right_answer(question)) is None, name
        for answer, wrong in question.wrong.items():
            given = ", ".join([*question.right, answer]) if question.kind == "choices" else answer
            found = mistake_in(question, given)
            assert found is not None, name
            assert found.code == wrong.code


@pytest.mark.parametrize(
    ("model", "heading"),
    [(CourseFile, "field of the course"), (Unit, "field of a unit"), (Policy, "field of `policy`")],
)
def test_every_field_of_a_course_file_is_in_its_table(model: type[StrictModel], heading: str) -> None:
    assert names(heading) == list(model.model_fields)


def test_the_example_of_a_course_file_sets_every_field(tmp_path: Path) -> None:
    (tmp_path / "course.yaml").write_text(block("my-gradients/course.yaml"), encoding="utf-8")
    course = read_course_file(tmp_path / "course.yaml")
    (unit,) = course.units
    _, last = unit.exercises
    for model in (course, course.policy, unit, last):
        assert model.model_fields_set == set(type(model).model_fields)
    (row,) = [row for row in CONTRIBUTING.table("field of a unit") if row[0] == "`exercises`"]
    assert {name.partition(":")[0] for name in re.findall(r"`([^`]+)`", row[1])} == set(Entry.model_fields)
    assert course.policy != Policy()
