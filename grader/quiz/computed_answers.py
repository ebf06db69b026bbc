"""Right answers of `predict` questions, computed by running their listings, which are the author's own code."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import math
import warnings
from typing import Any

from grader.course.questions import Predict
from grader.course.quiz import Keys, Quiz
from grader.errors import SpecError

from .variants import every_values, fill_in_values, values_text

ANSWERABLE = (RuntimeError, ValueError, ZeroDivisionError)


def compute_keys(quiz: Quiz) -> Keys:
    """Return the right answer of every `predict` question, for every combination of its parameters' values.

    The listings of the questions are run in this process.

    Returns:
        By the id of the question and the `values_text` of the values: `{"kind": ..., "right": ...}`.

    Raises:
        SpecError: a listing cannot be run, or its value is neither a number, a shape nor a word.
    """
    return {
        name: {
            values_text(values): _computed_answer(name, fill_in_values(question, values).listing)
            for values in every_values(question)
        }
        for name, question in quiz.questions.items()
        if isinstance(question, Predict)
    }


def keys_text(keys: Keys) -> str:
    """Return the text of `quiz_keys.json`: JSON with one question on a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(by_values)}" for name, by_values in keys.items()]
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def _computed_answer(name: str, listing: str) -> dict[str, str]:
    """Return the value of a listing's last line, or the exception that ends it, as `{"kind": ..., "right": ...}`.

    What the listing prints, and its warnings, are dropped.

    Args:
        name: the id of the question, for messages.
        listing: the Python code.

    Raises:
        SpecError: the listing cannot be run, or its value is neither a number, a shape nor a word.
    """
    *body, last = _statements(name, listing)
    if not isinstance(last, ast.Expr):
        raise SpecError(f"{name}: the listing must end with an expression, whose value is to be predicted.")
    namespace: dict[str, Any] = {"__name__": "listing"}
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            exec(compile(ast.Module(body, []), name, "exec"), namespace)
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    except ANSWERABLE as error:
        return {"kind": "word", "right": type(error).__name__}
    except Exception as error:  # an error that nobody would ask about
        raise SpecError(f"{name}: the listing stops with {type(error).__name__}: {error}; correct it.") from error
    return _key(name, value)


def _statements(name: str, listing: str) -> list[ast.stmt]:
    """Return the statements of a listing, at least one: `pass` for an empty listing.

    Args:
        name: the id of the question, for the message.
        listing: the Python code.

    Raises:
        SpecError: the listing is not Python.
    """
    try:
        return ast.parse(listing).body or [ast.Pass()]
    except SyntaxError as error:
        raise SpecError(
            f"{name}: line {error.lineno} of the listing is not Python ({error.msg}); correct it."
        ) from error


def _key(name: str, value: Any) -> dict[str, str]:
    """Return a value as the right answer to the question `name`, `{"kind": ..., "right": ...}`.

    A number has at most ten significant digits; one that is not finite is a word, as are truth values and texts.

    Raises:
        SpecError: the value is neither a number, a shape nor a word.
    """
    if getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, (bool, str)) or value is None:
        return {"kind": "word", "right": str(value)}
    if isinstance(value, (int, float)):
        return {"kind": "number" if math.isfinite(value) else "word", "right": f"{value:.10g}"}
    if isinstance(value, tuple) and all(isinstance(size, int) for size in value):
        return {"kind": "shape", "right": f"({', '.join(map(str, value))}{',' if len(value) == 1 else ''})"}
    raise SpecError(f"{name}: the listing gives a {type(value).__name__}: let it end in a number, a shape or a word.")
