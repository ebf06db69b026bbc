"""A line that says what an exercise asks: its formula as the author wrote it, or an answer with its shape."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.exercise import Answer, Exercise, Routine
from grader.course.shapes import ANY, alternatives, axes_of

if TYPE_CHECKING:  # a text about an answer reads no course.yaml
    from grader.course.course import CourseExercise


def formula(exercise: CourseExercise) -> str:
    """Return the forward pass as text, `out = inp @ w + b`.

    Where it is no lambda, or uses a name that begins with `_`, return the first line of its docstring, or, without one,
    the exercise's title; for an exercise without a forward pass, the title.
    """
    return formula_or_words(exercise)[0]


def formula_or_words(exercise: CourseExercise) -> tuple[str, bool]:
    """Return the text that `formula` returns, and whether it is a formula, not a title or docstring."""
    declaration = exercise.declaration
    if not isinstance(declaration, Exercise):
        return declaration.title, False
    body = _lambda_body(exercise.course.spec(exercise.unit), exercise.id)
    if body is None:
        return (declaration.forward.__doc__ or declaration.title).strip().splitlines()[0].removesuffix("."), False
    name = declaration.argument_with_role("output")
    return f"{name} = {body}" if name else body, True


def describe_answer(exercise: CourseExercise, answer: Answer) -> str:
    """Return in words what an answer is, with its shape: `the gradient of the loss with respect to w, shape (n, m)`.

    For an answer in a quiz, return the question; for a `Routine`, its signature and title.
    """
    declaration = exercise.declaration
    if isinstance(declaration, Routine):
        return f"{exercise.signature}: {declaration.title}"
    if not isinstance(declaration, Exercise):
        from grader.quiz.answer_sheet import variant_of  # a text about an exercise does without quizzes
        from grader.quiz.variants import question_of

        return question_of(declaration, answer.name, variant_of(exercise.path)).text
    text = formula(exercise)
    if answer.kind == "value":
        return f"the function returns the value of {text}"
    if answer.kind == "jacobian":
        return f"the Jacobian of {text} with respect to {answer.wrt}"
    shape = _shape_text(declaration, answer.wrt)
    if answer.stored:
        return f"{answer.name}, the gradient of the loss, {shape}, for {text}"
    of = "the loss" if declaration.gives_upstream else text
    forward = f", for {text}" if declaration.gives_upstream else ""
    return f"the gradient of {of} with respect to {answer.wrt}, {shape}{forward}"


def _shape_text(declaration: Exercise, name: str) -> str:
    """Return `shape (n, m)` for the input called `name`, or `shaped like w` if it has several shapes."""
    spec = declaration.inputs[name].spec
    if ANY in axes_of(spec) or len(alternatives(spec)) > 1:
        return f"shaped like {name}"
    axes = axes_of(spec)
    return f"shape ({', '.join(axes)}{',' if len(axes) == 1 else ''})"


def _lambda_body(spec: Path, exercise_id: str) -> str | None:
    """Return the expression of an exercise's forward pass in its spec as source, with constants inlined.

    `None` if the forward pass is no lambda, or the expression uses a name that begins with `_`.
    """
    assigned = _assigned_values(spec, spec.stat().st_mtime_ns)
    declared = assigned.get(exercise_id)
    if not isinstance(declared, ast.Call):
        return None
    forward = next((k.value for k in declared.keywords if k.arg == "forward"), None)
    if isinstance(forward, ast.Call) and forward.keywords:  # in named steps, the last of which is out
        forward = forward.keywords[-1].value
    if not isinstance(forward, ast.Lambda):
        return None
    body = _ConstantsInlined(assigned).visit(copy.deepcopy(forward.body))
    private = any(isinstance(node, ast.Name) and node.id.startswith("_") for node in ast.walk(body))
    return None if private else re.sub(r"(?<=\de[-+])0+(?=\d)", "", ast.unparse(body))  # 1e-5, not 1e-05


class _ConstantsInlined(ast.NodeTransformer):
    """A transformer of syntax trees that replaces the names of a spec's constants by their values."""

    def __init__(self, assigned: Mapping[str, ast.expr]) -> None:
        """Keep the expression assigned to each name."""
        self.assigned = assigned

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the constant that is assigned to the name; the name itself if none is."""
        value = self.assigned.get(node.id)
        return value if isinstance(value, ast.Constant) else node


@lru_cache(maxsize=32)
def _assigned_values(spec: Path, modified: int) -> dict[str, ast.expr]:
    """Return the expression assigned to each top-level name of a spec; the last one, if there are several.

    An assignment with an annotation does not count, nor does one to several names at once, such as `a, b = 1, 2`.

    Args:
        spec: the Python file.
        modified: the time of modification of the file in nanoseconds, so that an edited file is read again.
    """
    assignments = (node for node in ast.parse(spec.read_text(encoding="utf-8")).body if isinstance(node, ast.Assign))
    return {name.id: node.value for node in assignments for name in node.targets if isinstance(name, ast.Name)}
