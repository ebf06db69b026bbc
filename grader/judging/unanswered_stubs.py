"""Find stubs that were left unchanged, so that a copy of one below the answer does not replace the answer."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath

from grader.child import ipython_cells
from grader.course.course import CourseExercise
from grader.errors import ReadError
from grader.quiz.answer_sheet import decode_sheet, read_sheet
from grader.sandbox.definitions import (
    DEFINING,
    Definition,
    comparable_text,
    definitions,
    is_placeholder,
    parse_cell,
    without_docstring,
)
from grader.sandbox.source_text import Content, Files, Source, UnreadableSource, decode

MOST_NOTES = 5


def is_unanswered(exercise: CourseExercise, definition: Definition) -> bool:
    """Return whether a function has the body of its stub: only placeholders, or the faulty body to be corrected.

    A name that is bound in another way than by a `def` is not.
    """
    statement = definition.statement
    if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    body = without_docstring(statement.body)
    if faulty := exercise.function.faulty:
        return list(map(comparable_text, body)) == list(map(comparable_text, ast.parse(faulty).body))
    return all(is_placeholder(node) or comparable_text(node) in exercise.given_statements for node in body)


def is_untouched(exercise: CourseExercise, texts: Sequence[str]) -> bool:
    """Return whether a file, or a notebook's cells, define the function of an exercise, and only as its stub does."""
    function_definitions = definitions(texts, {exercise.id})
    return bool(function_definitions) and all(
        is_unanswered(exercise, definition) for definition in function_definitions
    )


def answered_cells(exercise: CourseExercise, texts: Sequence[str]) -> list[int]:
    """Return the indices, in order, of the cells that bind the name of an exercise to anything but its stub.

    Args:
        exercise: the exercise; the stub of a quiz is an answer sheet that is not filled in.
        texts: the texts of the cells.
    """
    places = definitions(texts, {exercise.id}, literals_count=True)
    return list(dict.fromkeys(place.cell for place in places if not _is_blank(exercise, place)))


def with_answer_beside(exercise: CourseExercise, content: Content, beside: Files) -> tuple[Content, str]:
    """Return a notebook's cells and a note.

    An answer in the exercise's file beside the notebook is imported by a new cell. That is done only if no cell answers
    the exercise, and not for a quiz, whose answer sheet is not read in place of a cell. The note is on that file; it is
    empty if the file has no answer, or the cells import it themselves.

    Args:
        exercise: the exercise.
        content: the texts of the cells; the bytes of a file are returned unchanged, without a note.
        beside: the files in the notebook's folder, by name.
    """
    if isinstance(content, bytes) or exercise.name not in beside:
        return content, ""
    if exercise.is_quiz:
        with suppress(ReadError):
            if not read_sheet(decode_sheet(beside[exercise.name]), exercise.quiz).answers:
                return content, ""
        return content, f"{exercise.name} beside the notebook was not graded: {exercise.id} counts in its cell alone"
    if any(re.search(rf"\b(?:from|import)[ \t]+{exercise.id}\b", cell) for cell in content):
        return content, ""
    try:
        texts = (decode(beside[exercise.name]),)
    except UnreadableSource:
        return content, f"{exercise.name} beside the notebook cannot be read: save it as UTF-8"
    if not definitions(texts, {exercise.id}) or is_untouched(exercise, texts):
        return content, ""
    if answered_cells(exercise, content):
        return content, f"{exercise.name} beside the notebook was not graded: the answer in the notebook counts"
    note = f"{exercise.name} beside the notebook counts: no cell answers {exercise.id}"
    return (*content, f"from {exercise.id} import {exercise.id}"), note


def _is_blank(exercise: CourseExercise, definition: Definition) -> bool:
    """Return whether a definition is the stub of a function, or an answer sheet that is not filled in."""
    if not exercise.is_quiz:
        return is_unanswered(exercise, definition)
    call = getattr(definition.statement, "value", None)
    answers = (
        [keyword.value for keyword in call.keywords if keyword.arg != "variant"] if isinstance(call, ast.Call) else []
    )
    return bool(answers) and all(isinstance(value, ast.Constant) and value.value is ... for value in answers)


def without_copied_stubs(exercise: CourseExercise, source: Source) -> Source:
    """Return the source without copies of an exercise's stub below its answer, and with notes on where these were.

    A copy inside of a block, such as an `if`, stays; the first `MOST_NOTES` copies have a note.
    """
    defined = [
        definition for definition in definitions(source.cells, {exercise.id}) if definition.statement is not None
    ]
    answered = [number for number, definition in enumerate(defined) if not is_unanswered(exercise, definition)]
    copies = (
        [definition for definition in defined[answered[-1] + 1 :] if not definition.is_in_block] if answered else []
    )
    if not copies:
        return source
    answer, cells, notes = defined[answered[-1]], list(source.cells), list(source.notes)
    for number in dict.fromkeys(definition.cell for definition in copies):
        below = answer.line if number == answer.cell else 0
        statements = {
            id(definition.statement): definition.statement for definition in copies if definition.cell == number
        }
        cells[number] = _without_copies(cells[number], exercise.given_statements, below, statements)
    for definition in copies[:MOST_NOTES]:
        same = definition.cell == answer.cell
        where = (
            f"line {definition.line} of {_cell_name(source, definition)}" if same else _cell_name(source, definition)
        )
        counts = f"line {answer.line}" if same else _cell_name(source, answer)
        notes.append(f"{where} holds {exercise.id} as it was given, and was passed over: the answer in {counts} counts")
    return replace(source, cells=tuple(cells), notes=tuple(notes))


def replaced_definitions(exercise: CourseExercise, source: Source) -> tuple[str, ...]:
    """Return at most `MOST_NOTES` notes on answers to an exercise that a later definition in its source replaces."""
    answered = [
        definition
        for definition in definitions(source.cells, {exercise.id})
        if not (definition.is_import or is_unanswered(exercise, definition))
    ]
    if not answered or not all(isinstance(d.statement, ast.FunctionDef) and not d.is_in_block for d in answered):
        return ()  # which of them runs, reading does not tell
    *earlier, last = answered
    return tuple(
        f"{_place(source, definition)} holds another {exercise.id}, and was passed over: "
        f"the last one, in {_place(source, last)}, counts"
        for definition in earlier[:MOST_NOTES]
        if definition.statement and last.statement
        if comparable_text(definition.statement) != comparable_text(last.statement)
    )


def _place(source: Source, definition: Definition) -> str:
    """Return the place of a definition in words: its line, and in a notebook its cell too."""
    return f"line {definition.line} of {_cell_name(source, definition)}"


def _without_copies(text: str, given: Collection[str], below: int, copies: Mapping[int, ast.stmt | None]) -> str:
    """Return a cell with copies of the stub, and of the stub's other statements below the answer, replaced by `pass`.

    Every line keeps its number.

    Args:
        text: the source of the cell.
        given: the statements of the stub, as `ast.dump` shows them.
        below: the line in which the answer begins, if it is in this cell; 0 if it is in an earlier cell.
        copies: the statements of this cell that copy the function's stub; the keys are not used, and `None` is skipped.
    """
    lines, tree = ipython_cells.lines(text), parse_cell(text)
    body = tree.body if tree is not None else []
    places = {(node.lineno, node.end_lineno) for node in copies.values() if node is not None}
    for statement in body:
        is_copy = (statement.lineno, statement.end_lineno) in places
        is_given = isinstance(statement, DEFINING) and comparable_text(statement) in given
        if statement.lineno > below and (is_copy or is_given):
            decorators = getattr(statement, "decorator_list", [])
            first = min(node.lineno for node in (*decorators, statement))
            last = statement.end_lineno or first
            lines[first - 1 : last] = ["pass", *[""] * (last - first)]
    return "\n".join(lines)


def _cell_name(source: Source, definition: Definition) -> str:
    """Return the name of the file, or of the notebook's cell, that a definition is in."""
    return PurePath(source.file).name if source.file else source.cell_name(definition.cell)
