"""The real course is sound; and whatever is broken in a copy of it is found, with what to do about it.

`thorough/test_every_audit.py` has every way to write some of it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.grading import words_of

from grader.authoring import audit_exercise
from grader.authoring.audit import AuditFinding, audit, read_pages, run_pages
from grader.authoring.build import build
from grader.course.course import load_course
from grader.judging.grading import Grader
from grader.sandbox.worker import Worker

ROOT = Path(__file__).resolve().parents[2]
SEED = 7
UNITS = """
course: small
title: A small course
units:
  - id: 05_activations
    title: Activations
    exercises:
      - id: relu_grad
  - id: 06_losses
    title: Losses
    exercises:
      - id: mse_grad
"""
RELU, MSE = "solutions/05_activations", "solutions/06_losses"
SPEC = f"{RELU}/spec.py"
Check = Callable[[], list[AuditFinding]]


@pytest.fixture
def root(sound: Path, tmp_path: Path) -> Path:
    """A copy of it, to break something in."""
    return shutil.copytree(sound, tmp_path, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound course of two exercises."""
    tmp_path = tmp_path_factory.mktemp("sound")
    (tmp_path / "course.yaml").write_text(UNITS)
    for unit in ("05_activations", "06_losses"):
        shutil.copytree(ROOT / "solutions" / unit, tmp_path / "solutions" / unit)
        (tmp_path / "exercises" / unit).mkdir(parents=True)
        lesson = "# A lesson: relu_grad.py, gelu_grad.py, mse_grad.py\n"
        (tmp_path / "exercises" / unit / "README.md").write_text(lesson)
    only(tmp_path, RELU, "relu_grad")
    only(tmp_path, MSE, "mse_grad")
    build(load_course(tmp_path))
    return tmp_path


def only(root: Path, unit: str, exercise: str) -> None:
    """Keep one exercise of a unit: its declaration, which starts at the left margin, and its solution."""
    spec = root / unit / "spec.py"
    first, *declarations = spec.read_text(encoding="utf-8").split("\n\n" + exercise, 1)
    body = exercise + declarations[0].partition("\n)\n")[0] + "\n)\n"
    imports = "from grader.course.exercise import Exercise, Misconception, stored\n"
    samplers = "from grader.course.sampling import away_from, normal, output\n"
    spec.write_text(f"{imports}{samplers}\n{body}", encoding="utf-8")
    assert first
    for path in (root / unit).glob("*.*"):
        if path.stem not in {exercise, "spec"}:
            path.unlink()


@pytest.fixture
def findings(root: Path, worker: Worker) -> Check:
    """Audit the copy, as it now is."""
    return lambda: audit(load_course(root), Grader(SEED), worker)


def edit(path: Path, old: str, new: str) -> None:
    """Replace a passage that must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path} has no {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def declare(root: Path, source: str) -> None:
    """Add source text to the end of the relu unit's spec."""
    with (root / SPEC).open("a", encoding="utf-8") as spec:
        spec.write("\n" + source)


def misconception(root: Path, source: str) -> None:
    """Give relu_grad another misconception, before its own."""
    edit(root / SPEC, "misconceptions=(", f"misconceptions=(\n        {source},")


def test_the_copy_is_sound(findings: Check):
    assert findings() == []


def test_a_broken_spec_is_one_finding_and_the_other_units_are_still_audited(root: Path, findings: Check):
    declare(root, "1 / 0\n")
    edit(root / MSE / "mse_grad.py", "2 * (inp", "3 * (inp")
    line = len((root / SPEC).read_text(encoding="utf-8").splitlines())
    broken, wrong = findings()
    assert broken == AuditFinding(
        SPEC, f"line {line}: ZeroDivisionError: {words_of('1 / 0')}; correct the declarations."
    )
    assert wrong.file == f"{MSE}/mse_grad.py"


def test_a_missing_spec_is_found(root: Path, findings: Check):
    (root / SPEC).unlink()
    (finding,) = findings()
    assert finding == AuditFinding(
        SPEC, "is missing: every unit of course.yaml needs a spec.py; correct the declarations."
    )


def test_a_forward_pass_that_fails_is_found(root: Path, findings: Check):
    edit(root / SPEC, "lambda inp: inp.clamp_min(0)", "lambda inp: inp @ inp.nothing")
    found = findings()
    says = (
        r"relu_grad: forward fails on sampled inputs \(inp of shape \(.*\)\): AttributeError: 'Tensor' object has no .*"
    )
    assert [finding.file for finding in found] == [SPEC]
    assert re.fullmatch(f"{says}; correct the declaration.", found[0].says)


def test_what_is_no_axis_is_found(root: Path, findings: Check):
    edit(root / SPEC, 'away_from(0.0, "...")', 'away_from(0.0, "bs-n")')
    (finding,) = findings()
    assert re.fullmatch(
        r"line \d+: 'bs-n' is no axis: write names, numbers or \.\.\., with blanks between them; .*", finding.says
    )


def test_a_sampler_that_fails_is_found(root: Path, findings: Check):
    edit(root / SPEC, 'away_from(0.0, "...")', 'type(away_from(0.0, "..."))("...", draw=None, differentiable=True)')
    (finding,) = findings()
    assert finding.file == SPEC
    assert finding.says.startswith("relu_grad: its declaration fails (TypeError: ")
    assert finding.says.endswith("; correct it.")


def test_a_kink_that_the_sampler_hits_is_found(root: Path, findings: Check):
    edit(root / SPEC, 'away_from(0.0, "...")', 'away_from(0.0, "...", gap=0.0)')
    edit(root / SPEC, "inp.clamp_min(0)", "(inp - inp.detach()).clamp_min(0) + inp.detach() * 0")
    found = [finding.says for finding in findings() if "disagree" in finding.says]
    assert found == ["relu_grad: autograd and finite differences of forward disagree; correct the declaration."]


HINT = "Nudge a positive entry, then a negative one. Which of the two changes `out`?"


FORMULAS = ("(inp > 0) * out.g", "( inp>0 )*out_g", "Write inp.g = (inp > 0) * out.g, then.")


@pytest.mark.parametrize("formula", FORMULAS[2:])
def test_a_hint_that_holds_the_formula_is_found(root: Path, findings: Check, formula: str):
    edit(root / SPEC, HINT, formula)
    says = "relu_grad: hint 1 of inp.g gives the formula away ((inp > 0) * out.g): ask for it instead."
    assert findings() == [AuditFinding(SPEC, says)]


def test_a_hint_of_a_code_that_holds_the_formula_is_found(findings: Check, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(audit_exercise, "HINTS", {"wrong-sign": ("(inp > 0) * out.g",)})
    says = "relu_grad: a hint of wrong-sign gives the formula away ((inp > 0) * out.g): ask for it instead."
    assert findings() == [AuditFinding(SPEC, says)]


def test_a_bare_name_is_no_formula(root: Path, findings: Check):
    edit(root / RELU / "relu_grad.py", "inp.g = (inp > 0) * out.g", "gate = out.g\n    inp.g = (inp > 0) * gate")
    assert findings() == []


WORDS = {
    "two hints": (
        f'"{HINT}",',
        "",
        "inp.g has 2 of 3 hints: write a nudge, a pointer, and one that is almost there.",
    ),
    "an empty hint": (HINT, " ", "a hint of inp.g is empty: write it."),
    "the same hint": (
        HINT,
        "The local derivative is a mask: some entries of `out.g` are multiplied by 1, the others by 0.",
        "a hint of inp.g is there twice: write another one.",
    ),
    "a forgotten comma": (
        'hints=("Can an entry of the upstream gradient be negative?",)',
        'hints=("Can an entry of the upstream gradient be negative?")',
        "the hints of the misconception wrong-operand about inp.g are one string: put a comma behind it.",
    ),
    "four hints of a misconception": (
        'hints=("Can an entry of the upstream gradient be negative?",)',
        'hints=("a?", "b?", "c?", "d?")',
        "the misconception wrong-operand about inp.g has 4 hints: keep 3 at most.",
    ),
}


@pytest.mark.parametrize("case", list(WORDS)[::3])
def test_hints_that_are_missing_or_misspelt_are_found(root: Path, findings: Check, case: str):
    old, new, says = WORDS[case]
    edit(root / SPEC, old, new)
    assert AuditFinding(SPEC, f"relu_grad: {says}") in findings()


def test_a_wrong_solution_is_found(root: Path, findings: Check):
    edit(root / RELU / "relu_grad.py", "(inp > 0)", "(inp < 0)")
    (finding,) = findings()
    assert finding.file == f"{RELU}/relu_grad.py"
    assert finding.says.startswith("inp.g is inverted-mask: ")
    assert finding.says.endswith("; correct the solution or its declaration.")


def test_a_solution_without_marks_is_found_once(root: Path, findings: Check):
    edit(root / RELU / "relu_grad.py", "    ### BEGIN SOLUTION\n", "")
    edit(root / RELU / "relu_grad.py", "    ### END SOLUTION\n", "")
    says = "line 4: put ### BEGIN SOLUTION and ### END SOLUTION around the answer."
    assert findings() == [AuditFinding(f"{RELU}/relu_grad.py", says)]


def test_a_missing_solution_is_found_once(root: Path, findings: Check):
    (root / RELU / "relu_grad.py").unlink()
    says = "is missing or cannot be read: write the worked solution of relu_grad there."
    assert findings() == [AuditFinding(f"{RELU}/relu_grad.py", says)]


def test_a_solution_with_other_arguments_is_found(root: Path, findings: Check):
    edit(root / RELU / "relu_grad.py", "def relu_grad(inp, out):", "def relu_grad(out, inp):")
    says = "it takes (out, inp), but spec.py declares (inp, out): make them the same."
    assert AuditFinding(f"{RELU}/relu_grad.py", says) in findings()


def test_a_stub_that_is_more_than_a_stub_is_found(root: Path, findings: Check):
    path = root / RELU / "relu_grad.py"
    edit(path, "    ### BEGIN SOLUTION\n", "")
    edit(
        path,
        "    ### END SOLUTION\n",
        "    ### BEGIN SOLUTION\n    inp.g = (inp > 0) * out.g\n    ### END SOLUTION\n    inp.g = out.g\n",
    )
    build(load_course(root))
    found = findings()
    says = "in the stub inp.g is missing-local, not todo: put the marks around all of the answer."
    assert AuditFinding("exercises/05_activations/relu_grad.py", says) in found


MISCONCEPTIONS = {
    "right": (
        'Misconception("wrong-local", "inp.g", lambda inp, out_g: (inp > 0) * out_g)',
        "wrong-local about inp.g gives the right answer in every trial: correct its rule, or remove it.",
    ),
    "under another code": (
        'Misconception("hard-coded", "inp.g", lambda inp, out_g: (inp > 0) * out_g.clamp_min(0))',
        "wrong-operand about inp.g is recognised as hard-coded (this is the result of a known mistake (hard-coded)): "
        "give it that code, or sharpen its rule.",
    ),
    "reported in other words": (
        'Misconception("wrong-operand", "inp.g", lambda inp, out_g: (inp > 0) * out_g.clamp_min(0), says="blocked")',
        "wrong-operand about inp.g is reported in other words (blocked): remove it, or the one before it.",
    ),
    "for one shape only": (
        'Misconception("wrong-local", "inp.g", lambda inp, out_g: out_g.reshape(3, 5))',
        "make its rule work at every size.",
    ),
    "not finite": (
        'Misconception("wrong-local", "inp.g", lambda inp, out_g: out_g / (0 * inp))',
        "wrong-local about inp.g gives inf or nan, so it is reported as not-finite: keep its rule finite, or remove "
        "it.",
    ),
}


@pytest.mark.parametrize("case", list(MISCONCEPTIONS)[::3])
def test_a_misconception_that_proves_nothing_is_found(root: Path, findings: Check, case: str):
    source, says = MISCONCEPTIONS[case]
    misconception(root, source)
    (finding,) = findings()
    assert finding.file == SPEC
    assert finding.says.startswith("relu_grad: the misconception ")
    assert finding.says.endswith(says)


def test_the_rule_of_a_misconception_may_take_the_answer(root: Path, findings: Check):
    source = """Misconception(
        "wrong-local", "inp.g",
        lambda inp, out_g, answer: out_g * 0.5 * (inp > 0) - (0.1 if answer is None else (answer * (inp < 0)).max()),
    )"""
    misconception(root, source)
    assert not any("but there is" in finding.says for finding in findings())


def test_a_kink_that_no_trial_hits_is_found(root: Path, findings: Check):
    declare(
        root,
        """
from dataclasses import replace

_inp = replace(relu_grad.inputs["inp"], exact=())
relu_grad = replace(relu_grad, inputs={**relu_grad.inputs, "inp": _inp})
""",
    )
    (finding,) = findings()
    assert finding.file == SPEC
    assert finding.says == (
        "relu_grad: inp goes into clamp, and no trial has entries of it that are exactly 0 or equal: "
        "say in its sampler which numbers they may be, exact=((-1.0, 0.0, 1.0),)."
    )


def test_zeros_that_pass_by_the_luck_of_one_run_are_found(root: Path, findings: Check):
    """The samplers of the audit's own run draw closed gates only; those of another run do not."""
    lucky = f"-1.0 if rng.bit_generator.seed_seq.entropy[0] == {SEED} else 1.0"
    declare(
        root,
        f"""
from dataclasses import replace

_inp = replace(normal("..."), draw=lambda rng, setting, shape: (({lucky}) + 0 * rng.random(shape)).astype("float32"))
relu_grad = replace(relu_grad, inputs={{**relu_grad.inputs, "inp": _inp}}, misconceptions=())
""",
    )
    says = "relu_grad: inp.g passes as zeros, which is not right elsewhere: let the samplers vary more."
    assert AuditFinding(SPEC, says) in findings()


def test_a_unit_without_a_lesson_is_found(root: Path, findings: Check):
    (root / "exercises/05_activations/README.md").write_text("\n")
    says = "the unit has no lesson: write it in this file."
    assert findings() == [AuditFinding("exercises/05_activations/README.md", says)]


def test_an_unlisted_declaration_is_found(root: Path, findings: Check):
    declare(root, "leaky_grad = relu_grad\nmse_grad = relu_grad\n")
    assert findings() == [
        AuditFinding(SPEC, "leaky_grad is declared but not listed: list it in course.yaml, or remove it."),
        AuditFinding(SPEC, "mse_grad is an exercise of 06_losses too: give this one another name."),
    ]


def test_the_same_thing_is_never_said_twice(root: Path, findings: Check):
    edit(root / SPEC, "inp.clamp_min(0)", "inp.clamp_min(0).tolist()")
    found = findings()
    assert len(found) == len(set(found)) == 1


def test_a_spec_that_imports_torch_is_found(root: Path, findings: Check):
    spec = root / SPEC
    spec.write_text("import torch\n" + spec.read_text())
    says = "it imports torch, which every listing of exercises would wait for: use tensor methods."
    assert AuditFinding(SPEC, says) in findings()


PAGE = """# relu_grad

# %% right: a mask
def relu_grad(inp, out):
    inp.g = (inp > 0) * out.g


# %% wrong: upstream gradient missing | inp.g: missing-upstream
def relu_grad(inp, out):
    inp.g = (inp > 0) * 1.0
"""
PAGE_FILE = "tests/learners/05_activations/relu_grad.py"
PAGE_FAULTS = {
    "a wrong submission is right": (
        "inp.g = (inp > 0) * 1.0",
        "inp.g = (inp > 0) * out.g",
        "line 8: inp.g passes, not missing-upstream: correct the submission, or what its head says.",
    ),
    "another code": (
        "missing-upstream\n",
        "wrong-sign\n",
        'line 8: inp.g is missing-upstream, not wrong-sign ("the factor out.g is missing: your code treats it as 1"): '
        "correct the submission, or what its head says.",
    ),
    "a right submission is wrong": (
        "* out.g",
        "* -out.g",
        'line 3: inp.g is wrong-sign, not passed ("this is the right answer with the wrong sign"): '
        "correct the submission, or what its head says.",
    ),
}
HEAD_FAULTS = {
    "no code": (
        "missing-upstream\n",
        "missing-upstrem\n",
        "line 8: missing-upstrem is no code of a mistake: write missing-upstream.",
    ),
    "no answer": ("| inp.g", "| w.g", "line 8: there is no answer w.g: write inp.g or *."),
    "no head": ("# %% right: a mask", "# %% a mask", "line 3: '# %% a mask' is no head: write '# %% right: title', "),
}


@pytest.fixture
def page(root: Path) -> Path:
    """The page of relu_grad in the copy, where mse_grad has none."""
    path = root / PAGE_FILE
    path.parent.mkdir(parents=True)
    path.write_text(PAGE)
    return path


@pytest.mark.usefixtures("warm_pool")
@pytest.mark.parametrize("case", PAGE_FAULTS)
def test_a_submission_with_another_outcome_than_its_page_says_is_found(root: Path, page: Path, case: str):
    old, new, says = PAGE_FAULTS[case]
    edit(page, old, new)
    pages, problems = read_pages(load_course(root), load_course(root).select(["relu_grad"]))
    assert problems == []
    assert run_pages(pages) == [AuditFinding(PAGE_FILE, says)]


@pytest.mark.parametrize("case", HEAD_FAULTS)
def test_a_head_that_names_what_there_is_not_is_found(root: Path, page: Path, case: str):
    old, new, says = HEAD_FAULTS[case]
    edit(page, old, new)
    _, (problem,) = read_pages(load_course(root), load_course(root).select(["relu_grad"]))
    assert (problem.file, problem.says[: len(says)]) == (PAGE_FILE, says)


def test_an_exercise_without_a_page_and_a_page_without_an_exercise_are_found(root: Path, page: Path):
    page.rename(page.with_name("other_grad.py"))
    course = load_course(root)
    assert [finding.file for finding in read_pages(course, course.exercises)[1]] == [
        "tests/learners/05_activations/other_grad.py",
        PAGE_FILE,
        "tests/learners/06_losses/mse_grad.py",
    ]


@pytest.mark.usefixtures("warm_pool")
def test_a_page_that_is_as_it_says_is_sound(root: Path, page: Path):
    course = load_course(root)
    assert run_pages(read_pages(course, course.select(["relu_grad"]))[0]) == []


def test_a_course_without_pages_is_sound(root: Path):
    course = load_course(root)
    assert read_pages(course, course.exercises) == ({}, [])


def test_an_example_of_a_lesson_that_prints_something_else_is_found(root: Path, findings: Check):
    lesson = "exercises/05_activations/README.md"
    with (root / lesson).open("a") as text:
        text.write("\n>>> import torch; nonsense\n[99.0]\n")
    (finding,) = findings()
    assert finding.file == lesson
    assert finding.says.startswith("line 3: `import torch; nonsense` raises NameError")


def test_a_solution_with_other_arguments_is_one_finding(root: Path, findings: Check):
    edit(root / RELU / "relu_grad.py", "def relu_grad(inp, out)", "def relu_grad(inp, result)")
    build(load_course(root))
    (finding,) = findings()
    assert finding.says == "it takes (inp, result), but spec.py declares (inp, out): make them the same."


def test_a_misconception_that_never_has_the_shape_of_the_answer_is_found(root: Path, findings: Check):
    misconception(root, 'Misconception("wrong-local", "inp.g", lambda inp: inp.sum())')
    (finding,) = [finding for finding in findings() if "never has the shape" in finding.says]
    assert finding.says.startswith("relu_grad: the misconception wrong-local about inp.g never has the shape")


def test_a_quiz_that_the_course_does_not_list_says_which_line_to_write(root: Path, findings: Check):
    (root / RELU / "quiz.yaml").write_text("one:\n")
    says = "05_activations has no quiz in course.yaml: write `quiz: 1` under its unit, or remove this file."
    assert findings() == [AuditFinding(f"{RELU}/quiz.yaml", says)]


def test_a_unit_without_exercises_says_how_to_begin_one(root: Path, findings: Check):
    with (root / "course.yaml").open("a") as listed:
        listed.write("  - {id: 07_new, title: New, exercises: []}\n")
    (root / "exercises/07_new").mkdir()
    (root / "solutions/07_new").mkdir()
    (root / "exercises/07_new/README.md").write_text("# New\n")
    (root / "solutions/07_new/spec.py").write_text("")
    (finding,) = findings()
    assert finding.says.endswith("07_new has no exercise yet: begin one with: handgrad new EXERCISE --unit 07_new")


def test_a_misconception_of_a_routine_may_return_another_number_of_entries():
    exercise = load_course(ROOT).find("topological_order")
    assert list(audit_exercise.check_numbers(exercise, Grader(SEED))) == []
