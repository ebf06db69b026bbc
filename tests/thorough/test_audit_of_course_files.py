"""Faults that the audit finds in stubs, stray files, hints, and the order of a course."""

from __future__ import annotations

from pathlib import Path

from test_audit import MSE, RELU, SPEC, Check, declare, edit, findings, root, sound

from grader.authoring.audit import AuditFinding
from grader.authoring.build import build
from grader.course.course import load_course
from grader.course.course_file import line_of_name


def test_a_forward_pass_that_is_no_number_is_told_apart_from_a_wrong_gradient(root: Path, findings: Check):
    edit(root / SPEC, "lambda inp: inp.clamp_min(0)", "lambda inp: inp.log()")
    says = "relu_grad: forward is nan or infinite somewhere: draw its inputs from where it is defined"
    assert AuditFinding(SPEC, f"{says}; correct the declaration.") in findings()


def test_a_hint_of_a_misconception_that_holds_the_formula_is_found(root: Path, findings: Check):
    edit(root / SPEC, "Can an entry of the upstream gradient be negative?", "Is it (inp > 0) * out.g?")
    (finding,) = findings()
    assert finding.says.startswith("relu_grad: a hint of the misconception wrong-operand about inp.g gives the formula")


def test_an_argument_that_nobody_describes_is_found(root: Path, findings: Check):
    edit(root / RELU / "relu_grad.py", "    inp: any shape\n", "")
    build(load_course(root))
    says = "its docstring does not describe inp: add a line `inp: ...` with its shape."
    assert findings() == [AuditFinding(f"{RELU}/relu_grad.py", says)]


def test_an_edited_stub_and_a_missing_one_are_found(root: Path, findings: Check):
    relu, mse = (f"exercises/{name}.py" for name in ("05_activations/relu_grad", "06_losses/mse_grad"))
    edit(root / relu, "...", "0")
    (root / mse).unlink()
    assert findings() == [
        AuditFinding(relu, "it is not what its worked solution gives: write it with: handgrad build"),
        AuditFinding(mse, "it is missing: write it with: handgrad build"),
    ]


def test_stray_files_are_found_and_lessons_pictures_and_caches_are_not(root: Path, findings: Check):
    for file in ("exercises/05_activations/gate.svg", "exercises/.hidden", "solutions/README.md",
                 f"{RELU}/__pycache__/spec.pyc"):  # fmt: skip
        (root / file).parent.mkdir(exist_ok=True)
        (root / file).write_text("")
    assert findings() == []
    strays = ["exercises/05_activations/spec.py", "exercises/08_more/README.md", "exercises/notes.txt",
              f"{RELU}/old.yaml", f"{MSE}/old.py"]  # fmt: skip
    for file in strays:
        (root / file).parent.mkdir(exist_ok=True)
        (root / file).write_text("")
    says = "it belongs to nothing in course.yaml: list its exercise, or remove it."
    assert findings() == [AuditFinding(file, says) for file in strays]


def test_an_undeclared_exercise_is_found_and_the_others_are_audited(root: Path, findings: Check):
    edit(root / "course.yaml", "- id: relu_grad", "- id: relu_grad\n      - id: gelu_grad")
    line = line_of_name(root / "course.yaml", "gelu_grad")
    says = f"line {line}: gelu_grad is listed, but {SPEC} does not declare it: declare it, or unlist it."
    assert findings() == [AuditFinding("course.yaml", says)]


def test_declarations_in_another_order_than_they_are_taught_are_found(root: Path, findings: Check):
    edit(root / "course.yaml", "- id: relu_grad", "- id: leaky_grad\n      - id: relu_grad")
    declare(root, "leaky_grad = relu_grad\n")
    says = "relu_grad stands where course.yaml has leaky_grad: put both in teaching order."
    assert AuditFinding(SPEC, says) in findings()


def test_an_exercise_that_its_lesson_does_not_mention_is_found(root: Path, findings: Check):
    lesson = root / "exercises" / "05_activations" / "README.md"
    lesson.write_text(lesson.read_text().replace("relu_grad.py", "it"))
    says = "it does not mention relu_grad.py: list it among the unit's exercises."
    assert findings() == [AuditFinding("exercises/05_activations/README.md", says)]
