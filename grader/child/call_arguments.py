"""The description of arguments in a job, which child and grader must read alike: lists by name, functions by source."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch


def group_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as a function takes them: `{"ws[0]": a, "ws[1]": b}` becomes `{"ws": [a, b]}`.

    Other arguments stay as they are.

    Args:
        arguments: the arguments by name, with the items of a list in their order.
    """
    grouped_arguments: dict[str, Any] = {}
    for name, value in arguments.items():
        owner, bracket, _ = name.partition("[")
        grouped_arguments[owner] = [*grouped_arguments.get(owner, []), value] if bracket else value
    return grouped_arguments


def function_of(source: str) -> Callable[..., Any]:
    """Return the function that a source defines, which may use `torch` and `math`.

    Args:
        source: text of the course's author: an expression, such as `lambda x: x * 2`, or one `def` statement.
    """
    names: dict[str, Any] = {"torch": torch, "math": math}
    if not source.startswith("def "):
        return eval(source, names)  # type: ignore[no-any-return]
    exec(source, names)
    return names[source[len("def ") : source.index("(")]]  # type: ignore[no-any-return]
