"""Checks an exercise's words: three hints for each answer, none of them the formula, and a full docstring."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from grader import diagnosis
from grader.course.course import CourseExercise
from grader.course.exercise import Declaration
from grader.diagnosis.operators import OPERATORS
from grader.diagnosis.words import STEPS, words
from grader.results.codes import CODES

from .build import Worked, read_worked

ATOMS = (ast.Name, ast.Attribute, ast.Constant)
SHORTEST = 3


def check_hints(declaration: Declaration) -> Iterator[str]:
    """What is wrong with the number and form of an exercise's hints."""
    for answer in declaration.answers:
        steps = declaration.hints.get(answer.name, ())
        count = 1 if _is_text(steps) else len(steps)
        if count != STEPS:
            yield f"{answer.name} has {count} of {STEPS} hints: write a nudge, a pointer, and one that is almost there."
        else:
            yield from _check_steps(f"a hint of {answer.name}", steps)
    for misconception in declaration.misconceptions:
        whose = f"the misconception {misconception.code} about {misconception.answer}"
        if _is_text(misconception.hints):
            yield f"the hints of {whose} are one string: put a comma behind it."
        elif len(misconception.hints) > STEPS:
            yield f"{whose} has {len(misconception.hints)} hints: keep {STEPS} at most."
        else:
            yield from _check_steps(f"a hint of {whose}", misconception.hints)


def _is_text(steps: Sequence[str]) -> bool:
    """One string, where a comma was forgotten."""
    return isinstance(steps, str)


def check_code_hints() -> Iterator[str]:
    """What is wrong with the hints that belong to the codes themselves, and with the words of the operators."""
    for code, steps in words()["hints"].items():
        if code not in CODES:
            yield f"{code} is no known code: correct its name."
        yield from _check_steps(f"a hint of {code}", steps)
    templates, spoken_of = words()["says"], _names_of_facts()
    for name in templates:
        if name not in spoken_of:
            yield f"there are words for {name}, which nothing is called: correct the name, or remove them."
    for name in words()["hints_of"]:
        if name not in {*templates, *(operator.name for operator in OPERATORS), "follows"}:
            yield f"there are hints for {name}, which nothing is called: correct the name, or remove them."
    for name, steps in chain(words()["hints_of"].items(), words()["hints_when"].items()):
        yield from _check_steps(f"a hint of {name}", steps)


@functools.cache
def _names_of_facts() -> set[str]:
    """Return every string in the modules that state facts: facts are called by such."""
    (folder,) = map(Path, diagnosis.__path__)
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in folder.glob("*.py"))
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _check_steps(what: str, steps: Sequence[str]) -> Iterator[str]:
    if not all(step.strip() for step in steps):
        yield f"{what} is empty: write it."
    if len({step.strip() for step in steps}) < len(steps):
        yield f"{what} is there twice: write another one."


def check_giveaways(exercise: CourseExercise) -> Iterator[str]:
    """The hints and facts that contain a formula of the worked solution.

    Raises:
        CourseError: the worked solution cannot be read.
    """
    found = formulas(read_worked(exercise))
    for what, text in _texts(exercise.function):
        for formula in found:
            if gives_away(formula, text):
                yield f"{what} gives the formula away ({formula}): ask for it instead."


def _texts(declaration: Declaration) -> Iterator[tuple[str, str]]:
    """Everything a learner may read on the way to an answer, each with a name for it."""
    for name, three in declaration.hints.items():
        yield from ((f"hint {i} of {name}", step) for i, step in enumerate(three, 1))
    for misconception in declaration.misconceptions:
        whose = f"the misconception {misconception.code} about {misconception.answer}"
        yield f"the fact told by {whose}", misconception.says
        yield from ((f"a hint of {whose}", step) for step in misconception.hints)
    for code, steps in words()["hints"].items():
        yield from ((f"the ladder of {code}", step) for step in steps)


def formulas(solution: Worked, *, final: bool = False) -> list[str]:
    """Every right-hand side in the marked regions that is more than a name or a number.

    Args:
        final: only what is returned or stored as an answer, and no step on the way to it.
    """
    values = [
        node.value
        for node in ast.walk(solution.tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.Return))
        and any(begin < node.lineno < end for begin, end in solution.regions)
        and not (final and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name))
    ]
    texts = (ast.unparse(value) for value in values if value is not None and not isinstance(value, ATOMS))
    return [text for text in dict.fromkeys(texts) if len(re.sub(r"\s", "", text)) >= SHORTEST]


def gives_away(formula: str, text: str) -> bool:
    """The text contains the formula, however it is spaced."""
    return bool(_pattern(formula).search(_normal(text)))


def _pattern(formula: str) -> re.Pattern[str]:
    """The formula with any whitespace between its parts, not in the middle of a longer word."""
    parts = re.findall(r"\w+|\S", _normal(formula))
    return re.compile(r"(?<![\w.])" + r"\s*".join(map(re.escape, parts)) + r"(?!\w)")


def _normal(text: str) -> str:
    """One spelling for `out_g` and `out.g`, and for `w.T` and `w.t()`."""
    return re.sub(r"\.m?T\b", ".t()", re.sub(r"(?<=\w)_g\b", ".g", text))


def check_signature(exercise: CourseExercise) -> Iterator[str]:
    """The worked function takes the declared inputs by name, and its docstring has a line for each.

    Raises:
        CourseError: the worked solution cannot be read.
    """
    function = read_worked(exercise).function
    taken = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    declared = list(exercise.function.argument_names)
    if taken != declared:
        yield f"it takes ({', '.join(taken)}), but spec.py declares ({', '.join(declared)}): make them the same."
        return
    described = re.findall(r"^\s*(\w+):", ast.get_docstring(function) or "", re.MULTILINE)
    for name in declared:
        if name not in described:
            yield f"its docstring does not describe {name}: add a line `{name}: ...` with its shape."
