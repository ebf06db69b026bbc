"""The arguments of a call by name, in which the arrays of a list have names of their own: `ws[0]`, `ws[1]`, ..."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def grouped(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as a function takes them: `ws[0]` and `ws[1]` are a list `ws`."""
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        owner, several, _ = name.partition("[")
        if several:
            found.setdefault(owner, []).append(value)
        else:
            found[name] = value
    return found
