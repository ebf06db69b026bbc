"""Parses formulas that a learner types, with a small parser of its own, never with Python's.

The grammar is that of numpy and torch in small: `+ - * / @ ** < >`, brackets, functions, methods, `x.T`,
`x[:, None]`.
`out.g` is the name `out_g`; `torch.exp(x)` and `x.exp()` are `exp(x)`; `^` is a power.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from grader.errors import ExpressionError

LONGEST = 500
MOST_PARTS = 200
LONGEST_PART = 40
DEEPEST = 30
LIBRARIES = frozenset(("torch", "np", "numpy", "math"))
MEANT = {"−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "÷": "/", "²": "**2", "³": "**3", "’": "'"}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>\*\*|[<>]=?|[-+*/@^().,:=\[\]]))",
    re.ASCII,
)


@dataclass(frozen=True)
class Number:
    """A number as it was typed."""

    value: float


@dataclass(frozen=True)
class Name:
    """A variable; `out.g` has the name `out_g`."""

    name: str


@dataclass(frozen=True)
class Operation:
    """One of `+ - * / @ ** < <= > >=` with two operands, or `-` with one."""

    sign: str
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Call:
    """A function, or a method with its owner as the first argument; an attribute is a call without brackets."""

    name: str
    arguments: tuple[Node, ...]
    options: tuple[tuple[str, Node], ...] = ()


@dataclass(frozen=True)
class Index:
    """`x[:, None]`: each part is `":"`, `"None"`, or the digits of a number."""

    owner: Node
    parts: tuple[str, ...]


Node = Number | Name | Operation | Call | Index


def parse(text: str) -> Node:
    """Read a formula.

    Raises:
        ExpressionError: it is too long or too deep, or is no formula; says where and what to write.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"it has {len(text)} characters: {LONGEST} are more than enough for this answer")
    for sign in text:
        if not (sign.isascii() and (sign.isprintable() or sign in "\t\n\r")):
            raise ExpressionError(_foreign(sign))
    return _Parser(list(_tokens(text))).whole()


def _foreign(sign: str) -> str:
    if sign in MEANT:
        return f"the sign {sign} cannot be read: write {MEANT[sign]}"
    name = unicodedata.name(sign, f"U+{ord(sign):04X}")
    return f"it contains {name}, which is not on every keyboard: use plain letters, digits and signs"


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place, text = 0, text.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            sign = text[place:].lstrip()[0]
            raise ExpressionError(f"the sign {sign} has no meaning here: use + - * / @ ** and brackets")
        kind = found.lastgroup or ""
        if len(found[kind]) > LONGEST_PART:
            says = f"there is a {kind} of {len(found[kind])} characters in it: {LONGEST_PART} are more than enough"
            raise ExpressionError(says)
        yield kind, found[kind]
        place = found.end()
    yield "end", ""


class _Parser:
    """One method for each level of binding, the loosest first."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        if len(tokens) > MOST_PARTS:
            raise ExpressionError(f"it has more than {MOST_PARTS} parts: the answer is much shorter")
        self.tokens = tokens
        self.place = 0
        self.depth = 0

    def whole(self) -> Node:
        node = self.comparison()
        kind, text = self.tokens[self.place]
        if text == ",":
            raise ExpressionError("there is a comma in it: one answer is wanted, with a point in decimal numbers")
        if kind != "end":
            is_number, before = self.tokens[self.place - 1]
            hint = f": write {before} * {text}" if is_number == "number" and (kind == "name" or text == "(") else ""
            raise ExpressionError(f"between {before} and {text} an operator is missing{hint}")
        return node

    def accept(self, *signs: str) -> str:
        """The next token if it is one of these, which it then leaves behind; else an empty text."""
        kind, text = self.tokens[self.place]
        if kind == "sign" and text in signs:
            self.place += 1
            return text
        return ""

    def expect(self, sign: str, opened: str) -> None:
        if not self.accept(sign):
            raise ExpressionError(f"the bracket {opened} is never closed: put {sign} where it ends")

    def comparison(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(f"its brackets are nested more than {DEEPEST} deep: the answer is much simpler")
        node = self.sum()
        if sign := self.accept("<", "<=", ">", ">="):
            node = Operation(sign, (node, self.sum()))
        self.depth -= 1
        return node

    def sum(self) -> Node:
        node = self.product()
        while sign := self.accept("+", "-"):
            node = Operation(sign, (node, self.product()))
        return node

    def product(self) -> Node:
        node = self.signed()
        while sign := self.accept("*", "/", "@"):
            node = Operation(sign, (node, self.signed()))
        return node

    def signed(self) -> Node:
        negative = False
        while sign := self.accept("-", "+"):
            negative ^= sign == "-"
        return Operation("-", (self.power(),)) if negative else self.power()

    def power(self) -> Node:
        base = self.postfix()
        if not self.accept("**", "^"):
            return base
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError("it piles powers on powers: the answer is much simpler")
        node = Operation("**", (base, self.signed()))
        self.depth -= 1
        return node

    def postfix(self) -> Node:
        node = self.atom()
        while True:
            if self.accept("."):
                node = self.attribute(node)
            elif self.accept("["):
                node = Index(node, self.index())
            else:
                return node

    def attribute(self, owner: Node) -> Node:
        kind, name = self.tokens[self.place]
        if kind != "name":
            raise ExpressionError("a name is missing behind a point")
        if name.startswith("_"):
            raise ExpressionError(f".{name} is not allowed: only arithmetic and array methods are")
        self.place += 1
        library = isinstance(owner, Name) and owner.name in LIBRARIES
        if self.accept("("):
            return self.call(name, () if library else (owner,))
        if name == "g" and isinstance(owner, Name):
            return Name(f"{owner.name}_g")
        return Call(f".{name}", (owner,))

    def index(self) -> tuple[str, ...]:
        parts = []
        while True:
            _, text = self.tokens[self.place]
            if text not in (":", "None") and not text.isdigit():
                raise ExpressionError("between [ and ] only a number, : and None can be read here")
            self.place += 1
            parts.append(text)
            if not self.accept(","):
                self.expect("]", "[")
                return tuple(parts)

    def atom(self) -> Node:
        kind, text = self.tokens[self.place]
        self.place += 1
        if kind == "number":
            return Number(float(text))
        if kind == "name":
            return self.call(text, ()) if self.accept("(") else Name(text)
        if text == "(":
            node = self.comparison()
            self.expect(")", "(")
            return node
        if kind == "end":
            raise ExpressionError("it ends too early: something is missing at its end")
        raise ExpressionError(f"something is missing before {text}")

    def call(self, name: str, owner: tuple[Node, ...]) -> Call:
        arguments, options = list(owner), []
        while not self.accept(")"):
            kind, text = self.tokens[self.place]
            if kind == "name" and self.tokens[self.place + 1][1] == "=":
                self.place += 2
                options.append((text, self.comparison()))
            else:
                arguments.append(self.comparison())
            if not self.accept(","):
                self.expect(")", "(")
                break
        return Call(name, tuple(arguments), tuple(options))


def names_in(node: Node) -> Iterator[str]:
    """The variables of a formula."""
    if isinstance(node, Name):
        yield node.name
    elif isinstance(node, (Operation, Call)):
        parts = node.operands if isinstance(node, Operation) else node.arguments
        for part in parts:
            yield from names_in(part)
    elif isinstance(node, Index):
        yield from names_in(node.owner)
