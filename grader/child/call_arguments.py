"""The arguments of a call: functions are made of their source, and the arrays of a list are put together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch


def grouped(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as a function takes them: what came by the names `ws[0]` and `ws[1]` is a list `ws`."""
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        owner, several, _ = name.partition("[")
        found[owner] = [*found.get(owner, []), value] if several else value
    return found


def function_of(source: str) -> Callable[..., Any]:
    """The function that a source makes: an expression, or a `def` of several lines."""
    names: dict[str, Any] = {"torch": torch, "math": math}
    if not source.startswith("def "):
        return eval(source, names)  # type: ignore[no-any-return]
    exec(source, names)
    return names[source[len("def ") : source.index("(")]]  # type: ignore[no-any-return]
