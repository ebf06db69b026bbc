"""Summarises what an exercise asks in one line: its formula as the author wrote it, and the answer's shape."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

from grader.course import CourseExercise
from grader.exercise import Answer, Exercise, Routine
from grader.quiz.answer_sheet import variant_of
from grader.quiz.quiz import Quiz
from grader.shapes import ANY, alternatives, axes_of


def formula(exercise: CourseExercise) -> str:
    """The forward pass as text, `inp @ w + b`; the title where it is no single expression."""
    return formula_or_words(exercise)[0]


def formula_or_words(exercise: CourseExercise) -> tuple[str, bool]:
    """The same, and whether it is a formula."""
    declaration = exercise.declaration
    if not isinstance(declaration, Exercise):
        return declaration.title, False
    body = _lambda_body(exercise.course.spec(exercise.unit), exercise.id)
    if body is None:
        return (declaration.forward.__doc__ or declaration.title).strip().splitlines()[0].rstrip("."), False
    name = declaration.argument_with_role("output")
    return f"{name} = {body}" if name else body, True


def describe_answer(exercise: CourseExercise, answer: Answer) -> str:
    """What is asked of one answer, with its shape."""
    declaration = exercise.declaration
    if isinstance(declaration, Quiz):
        return " ".join(declaration.question(answer.name, variant_of(exercise.path)).ask.split())
    if isinstance(declaration, Routine):
        return f"{exercise.signature}: {declaration.title}"
    text = formula(exercise)
    if answer.kind == "value":
        return f"the function returns the value of {text}"
    if answer.kind == "jacobian":
        return f"the Jacobian of {text} with respect to {answer.wrt}"
    shape = _shape(declaration, answer.wrt)
    if answer.stored:
        return f"{answer.name}, the gradient of the loss, {shape}, for {text}"
    of = "the loss" if declaration.gives_upstream else text
    forward = f", for {text}" if declaration.gives_upstream else ""
    return f"the gradient of {of} with respect to {answer.wrt}, {shape}{forward}"


def _shape(declaration: Exercise, name: str) -> str:
    spec = declaration.inputs[name].spec
    if ANY in axes_of(spec) or len(alternatives(spec)) > 1:
        return f"shaped like {name}"
    axes = axes_of(spec)
    return f"shape ({', '.join(axes)}{',' if len(axes) == 1 else ''})"


def _lambda_body(spec: Path, exercise_id: str) -> str | None:
    for node in _parsed(spec, spec.stat().st_mtime_ns).body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        if any(isinstance(target, ast.Name) and target.id == exercise_id for target in node.targets):
            forward = next((k.value for k in node.value.keywords if k.arg == "forward"), None)
            if isinstance(forward, ast.Call) and forward.keywords:  # in named steps, the last of which is out
                forward = forward.keywords[-1].value
            return ast.unparse(forward.body) if isinstance(forward, ast.Lambda) else None
    return None


@lru_cache(maxsize=32)
def _parsed(spec: Path, changed: int) -> ast.Module:
    """A unit's declarations, read once for all of its exercises and as often as they change."""
    return ast.parse(spec.read_text(encoding="utf-8"))
