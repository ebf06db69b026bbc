"""What a formula consists of, once it is read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Number:
    """A number as it was typed."""

    value: float


@dataclass(frozen=True)
class Text:
    """What stands in quotes."""

    value: str


@dataclass(frozen=True)
class Name:
    """A variable or a function; `out.g` has the name `out_g`."""

    name: str


@dataclass(frozen=True)
class Attribute:
    """`owner.name`, whatever the owner is."""

    owner: Node
    name: str


@dataclass(frozen=True)
class Operation:
    """An operator with one operand or two; `·` where numbers and names merely stand side by side."""

    sign: str
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Call:
    """`function(arguments, option=...)`."""

    function: Node
    arguments: tuple[Node, ...]
    options: tuple[tuple[str, Node], ...] = ()


@dataclass(frozen=True)
class Index:
    """`x[:, None]`."""

    owner: Node
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Slice:
    """`start:stop:step`, `None` for what is left out."""

    parts: tuple[Node | None, ...]


@dataclass(frozen=True)
class Sequence:
    """A list or a tuple."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Star:
    """`*items` within a call or a list."""

    items: Node


@dataclass(frozen=True)
class Loop:
    """`[body for targets in items for ...]`, the outermost `for` first."""

    body: Node
    clauses: tuple[tuple[tuple[str, ...], Node], ...]


Node = Number | Text | Name | Attribute | Operation | Call | Index | Slice | Sequence | Star | Loop


@dataclass(frozen=True)
class Statement:
    """An expression, and the names that its value is given to."""

    targets: tuple[str, ...]
    value: Node
