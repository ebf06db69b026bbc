"""Finds stubs that nobody touched: a copy of one below the answer does not take the answer's place."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from grader.child import ipython_cells
from grader.course import CourseExercise
from grader.source.definitions import (
    DEFINING,
    Definition,
    definitions,
    dumped,
    is_placeholder,
    parsed,
    without_docstring,
)
from grader.source.text import Source

MOST_TOLD = 5


def is_unanswered(exercise: CourseExercise, definition: Definition) -> bool:
    """The function is as the stub gives it: nothing but placeholders, or the faulty body that was to be mended."""
    statement = definition.statement
    if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    body = without_docstring(statement.body)
    if faulty := exercise.function.faulty:
        return list(map(dumped, body)) == list(map(dumped, ast.parse(faulty).body))
    return all(is_placeholder(each) or dumped(each) in exercise.given_statements for each in body)


def is_untouched(exercise: CourseExercise, texts: Sequence[str]) -> bool:
    """A file, or the cells of a notebook, define the function of an exercise, and only as its stub gives it."""
    found = definitions(texts, {exercise.id})
    return bool(found) and all(is_unanswered(exercise, each) for each in found)


def without_copied_stubs(exercise: CourseExercise, source: Source) -> Source:
    """Return the source without the stubs of an exercise that stand below its answer, and a note that says where."""
    found = [each for each in definitions(source.cells, {exercise.id}) if each.statement is not None]
    answered = [number for number, each in enumerate(found) if not is_unanswered(exercise, each)]
    copies = [each for each in found[answered[-1] + 1 :] if not each.is_in_block] if answered else []
    if not copies:
        return source
    answer, cells, notes = found[answered[-1]], list(source.cells), list(source.notes)
    for number in dict.fromkeys(each.cell for each in copies):
        below = answer.line if number == answer.cell else 0
        statements = {id(each.statement): each.statement for each in copies if each.cell == number}
        cells[number] = _without(cells[number], exercise.given_statements, below, statements)
    for each in copies[:MOST_TOLD]:
        same = each.cell == answer.cell
        where = f"line {each.line} of {_cell(source, each)}" if same else _cell(source, each)
        counts = f"line {answer.line}" if same else _cell(source, answer)
        notes.append(f"{where} holds {exercise.id} as it was given, and was passed over: the answer in {counts} counts")
    return replace(source, cells=tuple(cells), notes=tuple(notes))


def _without(text: str, given: Collection[str], below: int, copies: Mapping[int, ast.stmt | None]) -> str:
    """Return a cell in which the copies do nothing, and what stands with them just as the stub gives it; no line moves.

    Args:
        below: the line that the answer begins in, if this is its cell.
    """
    lines, tree = ipython_cells.lines(text), parsed(text)
    body = tree.body if tree is not None else []
    places = {(each.lineno, each.end_lineno) for each in copies.values() if each is not None}
    for statement in body:
        is_copy = (statement.lineno, statement.end_lineno) in places
        is_given = isinstance(statement, DEFINING) and dumped(statement) in given
        if statement.lineno > below and (is_copy or is_given):
            decorators = getattr(statement, "decorator_list", [])
            first = min(each.lineno for each in (*decorators, statement))
            last = statement.end_lineno or first
            lines[first - 1 : last] = ["pass", *[""] * (last - first)]
    return "\n".join(lines)


def _cell(source: Source, definition: Definition) -> str:
    return PurePath(source.file).name if source.file else source.cell_name(definition.cell)
