"""A quiz in a notebook: its questions as Markdown, and its answers in an assignment, which is read and never run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from grader.child import ipython_cells
from grader.course.plain_yaml import Text
from grader.course.questions import Choice, Choices
from grader.course.quiz import VARIANT, Quiz
from grader.errors import ReadError

from .answer_sheet import LARGEST, LARGEST_VARIANT, Sheet, how_to_answer, right_answer
from .variants import options, question_of, question_with_key

MOST_INT = 10**100
TOO_LARGE = "a number too large to be read"
ONE_DICT = "the answers must stand in one dict(name=answer, ...), as they did"
BARE = re.compile(r"-?\d+(\.\d+)?")


def assignment_lines(name: str, quiz: Quiz, *, solved: bool = False, variant: int = 0) -> list[str]:
    """Return an answer sheet as lines of Python: `quiz_04_linear = dict(variant=0, what_is_g=..., )`.

    Args:
        name: the variable that is assigned.
        quiz: the quiz.
        solved: whether each answer is the right one, not `...`.
        variant: the number of the variant.

    Raises:
        SpecError: the right answer of a prediction was never computed.
    """
    answers = {key: right_answer(question_with_key(quiz, key, variant)) if solved else "..." for key in quiz.questions}
    written = {
        key: answer if answer == "..." or BARE.fullmatch(answer) else repr(answer) for key, answer in answers.items()
    }
    return [f"{name} = dict(", f"    {VARIANT}={variant},", *(f"    {k}={v}," for k, v in written.items()), ")"]


def questions_markdown(quiz: Quiz, variant: int = 0) -> str:
    """Return the questions of a variant as Markdown, each after its id."""
    return "\n\n".join(_question(name, quiz, variant) for name in quiz.questions)


def _question(name: str, quiz: Quiz, variant: int) -> str:
    """Return a question of a variant as Markdown, with its choices or the kind of its answer."""
    question = question_of(quiz, name, variant)
    parts = [f"**`{name}`** {_escaped(question.ask)}"]
    if question.listing:
        parts.append(f"```python\n{question.listing.rstrip()}\n```")
    if isinstance(question, (Choice, Choices)):
        choices = options(name, question, variant).items()
        parts.append("\n".join(f'- `"{label}"`: {_escaped(text)}' for label, text in choices))
    if isinstance(question, Choices):
        parts.append('Name all that are right: `["one", "another"]`.')
    if not isinstance(question, (Choice, Choices)):
        parts.append(how_to_answer(question))
    return "\n\n".join(parts)


def _escaped(text: str) -> str:
    """Return a text on one line, with the characters escaped that have a meaning in Markdown."""
    return re.sub(r"([*_<\[\]])", r"\\\1", " ".join(text.split()))


def sheet_in(name: str, quiz: Quiz, texts: Sequence[str]) -> Sheet | None:
    """Return the last sheet with answers that the cells of a notebook assign to a name.

    Args:
        name: the variable that holds the answers.
        quiz: the quiz.
        texts: the sources of the cells.

    Returns:
        The sheet; a sheet without answers if there are only such; `None` if nothing is assigned.

    Raises:
        ReadError: the assigned value is no answer sheet.
    """
    blank: Sheet | None = None
    for _, value in _assigned_values(name, texts):
        sheet = _read_sheet(quiz, value)
        if sheet.answers:
            return sheet
        blank = blank or sheet
    return blank


def places_of_sheets(name: str, quiz: Quiz, texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the cells of a notebook hold the sheet that counts, and then where they hold others.

    Args:
        name: the variable that holds the answers.
        quiz: the quiz.
        texts: the sources of the cells.

    Returns:
        The cell, from 0, and the line of each sheet that has answers, the last one first, which counts; those with the
        same answers as that one, and those that cannot be read, are left out.

    Raises:
        ReadError: the cells cannot be read, and none has answers.
    """
    places, counted = list[tuple[int, int]](), None
    try:
        for cell, value in _assigned_values(name, texts):
            with suppress(ReadError):
                sheet = _read_sheet(quiz, value)
                answers = sheet.variant, sheet.answers
                if sheet.answers and answers != counted:
                    counted = counted or answers
                    places.append((cell, value.lineno))
    except ReadError:
        if not places:
            raise
    return places


def _read_sheet(quiz: Quiz, value: ast.expr) -> Sheet:
    """Return the answer sheet in an assigned expression.

    Args:
        quiz: the quiz.
        value: a dict display or a call of `dict`, from the ids of questions to answers.

    Raises:
        ReadError: the value is another expression, names a question twice, or has no valid variant.
    """
    entries: dict[str, ast.expr] = {}
    for key, node in _entries(value):
        if key in entries:
            raise ReadError(node.lineno, f"{key} is there a second time: keep one of them")
        entries[key] = node
    answers = {key: answer for key, node in entries.items() if key in quiz.questions and (answer := _answer(node))}
    unknown = tuple(
        Text(key, node.lineno) for key, node in entries.items() if key not in quiz.questions and key != VARIANT
    )
    return Sheet(_variant(entries), answers, unknown)


def _assigned_values(name: str, texts: Sequence[str]) -> Iterator[tuple[int, ast.expr]]:
    """Yield the cell, from 0, and the expression, where the cells assign to a name, the last one first.

    Args:
        name: the variable that holds the answers.
        texts: the sources of the cells.

    Raises:
        ReadError: a cell with an assignment cannot be read; after all that the other cells assign.
    """
    broken: ReadError | None = None
    room = LARGEST
    for cell, text in reversed([*enumerate(texts)]):
        try:
            for value in reversed(list(_values_in_cell(name, text, room))):
                yield cell, value
        except ReadError as error:
            broken = broken or error
        if name in text and len(text) <= room:
            room -= len(text)  # so that no submission takes long to read, however many cells name the quiz
    if broken is not None:
        raise broken


def _values_in_cell(name: str, text: str, room: int) -> Iterator[ast.expr]:
    """Yield the expressions that a cell assigns to a name.

    Args:
        name: the variable that holds the answers.
        text: the source of the cell.
        room: how many characters may be read.

    Raises:
        ReadError: the cell has an assignment to the name, but cannot be parsed or is too long; or it stores answers
            in the name in another way, such as `quiz.update(a=1)`.
    """
    begins = re.search(rf"\b{name}\b(?=\s*(?::[^=]*)?=(?!=)|\s*(?:[|:]=|[.\[]))", text)
    if begins is None:
        return
    line = text.count("\n", 0, begins.start()) + 1
    if len(text) > room:
        raise ReadError(line, f"the cell is larger than {LARGEST >> 10} KiB: keep nothing but the answers in it")
    try:
        body = ipython_cells.parse(text, 0).tree.body
    except SyntaxError as error:
        message = f"Python cannot read the cell with your answers ({error.msg}): look there, and at the line above it"
        raise ReadError(error.lineno or line, message) from error
    except (RecursionError, MemoryError) as error:
        raise ReadError(
            line, "the cell is nested too deeply to be read: write one short answer in each line"
        ) from error
    for statement in body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if isinstance(statement, ast.Assign | ast.AnnAssign) and any(_is_name(target, name) for target in targets):
            if statement.value is not None:
                yield statement.value
        elif any(_stores_in(name, node) for node in ast.walk(statement)):
            raise ReadError(statement.lineno, ONE_DICT)


def _is_name(node: ast.AST | None, name: str) -> bool:
    """Return whether a node is the variable `name`."""
    return isinstance(node, ast.Name) and node.id == name


def _stores_in(name: str, node: ast.AST) -> bool:
    """Return whether a node assigns to a variable, or changes the dict that the variable holds."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _is_name(node.func.value, name) and node.func.attr in ("update", "setdefault", "__setitem__")
    if isinstance(node, ast.Subscript):
        return _is_name(node.value, name) and isinstance(node.ctx, ast.Store)
    return _is_name(node, name) and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _entries(value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield each key and the expression of its value, for a dict display or a call of `dict`.

    Raises:
        ReadError: the value is another expression, or a key is no text.
    """
    pairs: list[tuple[object, ast.expr]] = [(None, value)]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict" and not value.args:
        pairs = [(keyword.arg, keyword.value) for keyword in value.keywords]
    elif isinstance(value, ast.Dict):
        pairs = [(key.value if isinstance(key, ast.Constant) else None, answer)
                 for key, answer in zip(value.keys, value.values, strict=True)]  # fmt: skip
    for key, answer in pairs:
        if not isinstance(key, str):
            raise ReadError(value.lineno, ONE_DICT)
        yield key, answer


def _variant(entries: Mapping[str, ast.expr]) -> int:
    """Return the number of the quiz's variant, which decides which numbers its questions have.

    Args:
        entries: the answer sheet in the cell: a syntax tree for each name.

    Raises:
        ReadError: the sheet names no variant, or the number is not valid.
    """
    node = entries.get(VARIANT)
    number = node.value if isinstance(node, ast.Constant) else None
    if type(number) is not int or not 0 <= number <= LARGEST_VARIANT:
        line = 1 if node is None else node.lineno
        raise ReadError(line, "the variant must be the whole number that stood there: put it back")
    return number


def _answer(node: ast.expr) -> str:
    """Return an answer as text, the items of a list joined by commas; empty for a blank.

    Blank items of a list are dropped. Any other expression is its source, empty if it is nested too deeply.
    """
    if isinstance(node, ast.Constant):
        if node.value is None or node.value is Ellipsis:
            return ""
        return (hex(node.value) if type(node.value) is int and node.value > MOST_INT else str(node.value)).strip()
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return ", ".join(filter(None, map(_answer, node.elts)))
    try:
        return ast.unparse(node)
    except RecursionError:
        return ""
    except ValueError:  # a number of more digits than Python writes, behind a sign, say
        return TOO_LARGE
