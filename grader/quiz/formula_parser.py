"""Parses formulas that a learner types, with a small parser of its own, never with Python's.

The grammar is Python's in small: statements, operators, calls, attributes, subscripts, lists and `for` in a list; and
what mathematics writes instead: `2x`, `a·b`, `x^2`, `w^T`, `w'`, `log 10`.
"""

from __future__ import annotations

from collections.abc import Callable

from grader.errors import ExpressionError

from .formula_nodes import (
    Attribute,
    Call,
    Index,
    Loop,
    Name,
    Node,
    Number,
    Operation,
    Sequence,
    Slice,
    Star,
    Statement,
    Text,
)
from .formula_tokens import Token, tokens

DEEPEST = 30
NO_NAMES = frozenset(
    "if else and or not lambda import from def class while with try raise del global assert yield await is in for "
    "return pass break continue eval exec".split()
)
OF_MATHEMATICS = frozenset("log ln exp sqrt sin cos tan tanh sum sigmoid".split())
ASSIGNED = ("=", "+=")
REFUSED = {
    "and": "and cannot be read here: write &",
    "or": "or cannot be read here: write |",
    "not": "not cannot be read here: write ~",
}


def parse(text: str, *, is_list: bool = False) -> tuple[Statement, ...]:
    """Read a formula; the value of the last statement is the answer.

    Args:
        is_list: whether a list is wanted, so that a comma is none of a number: `3,4` are two.

    Raises:
        ExpressionError: it is too long or too deep, or is no formula; says where and what to write.
    """
    parser = _Parser(tokens(text, decimal_comma=not is_list))
    statements = parser.program()
    if parser.is_bare_list and not is_list:
        raise ExpressionError("there is a comma in it: one answer is wanted")
    return statements


class _Parser:
    """One method for each level of binding, the loosest first."""

    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.place = 0
        self.depth = 0
        self.is_bare_list = False
        self.in_exponent = False

    @property
    def next(self) -> Token:
        return self.tokens[self.place]

    def accept(self, *signs: str) -> str:
        """The next token if it is one of these, which it then leaves behind; else an empty text."""
        if self.next.kind in ("sign", "name") and self.next.text in signs:
            self.place += 1
            return self.tokens[self.place - 1].text
        return ""

    def expect(self, sign: str, opened: str) -> None:
        if not self.accept(sign):
            raise ExpressionError(f"the bracket {opened} is never closed: put {sign} where it ends")

    def program(self) -> tuple[Statement, ...]:
        found = [self.statement()]
        while self.accept(";"):
            found.append(self.statement())
        if self.next.kind != "end":
            raise ExpressionError(self._unexpected())
        return tuple(found)

    def _unexpected(self) -> str:
        before, text = self.tokens[self.place - 1].text, self.next.text
        if text in REFUSED:
            return REFUSED[text]
        if self.next.kind == "sign" and text in ")]":
            return f"{text} closes a bracket that was never opened"
        return f"between {before} and {text} an operator is missing"

    def statement(self) -> Statement:
        """Whatever it is assigned to does not matter, but for later statements."""
        targets: tuple[str, ...] = ()
        while (sign := self._assigned()) is not None:
            targets = self._targets(sign)
            self.place = sign + 1
        self.accept("return")
        return Statement(targets, self.list_of_values())

    def _assigned(self) -> int | None:
        """Where the next assignment of this statement is."""
        depth = 0
        for place in range(self.place, len(self.tokens)):
            token = self.tokens[place]
            if token.kind == "sign":
                depth += (token.text in "([") - (token.text in ")]")
                if depth <= 0 and token.text == ";":
                    return None
                if depth <= 0 and token.text in ASSIGNED:
                    return place
        return None

    def _targets(self, end: int) -> tuple[str, ...]:
        """The names on the left of an assignment; none where something else stands there."""
        left = self.tokens[self.place : end]
        if left and left[0].text in ("(", "["):
            left = left[1:-1]
        names = "".join(token.text for token in left).split(",")
        plain = all(part.replace(".", "_").isidentifier() for part in names)
        return tuple(_variable(*part.split(".")) for part in names) if plain else ()

    def list_of_values(self) -> Node:
        first = self.starred()
        if self.next.text != "," or self.next.kind != "sign":
            return first
        items, self.is_bare_list = [first], True
        while self.accept(","):
            if self.next.kind == "end" or self.next.text in (")", ";", "]"):
                break
            items.append(self.starred())
        return Sequence(tuple(items))

    def starred(self) -> Node:
        return Star(self.expression()) if self.accept("*") else self.expression()

    def nested(self, within: Callable[[], Node]) -> Node:
        """What stands one level deeper."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(f"it is nested more than {DEEPEST} deep: the answer is much simpler")
        node = within()
        self.depth -= 1
        return node

    def expression(self) -> Node:
        return self.nested(self.either)

    def either(self) -> Node:
        node = self.comparison()
        if not self.accept("if"):
            return node
        condition = self.comparison()
        if not self.accept("else"):
            raise ExpressionError("behind if, else is missing")
        return Operation("if", (condition, node, self.nested(self.either)))

    def comparison(self) -> Node:
        node = self.any_of()
        if sign := self.accept("<", "<=", ">", ">=", "==", "!="):
            node = Operation(sign, (node, self.any_of()))
        return node

    def any_of(self) -> Node:
        return self._left_to_right(self.all_of, "|")

    def all_of(self) -> Node:
        return self._left_to_right(self.sum, "&")

    def sum(self) -> Node:
        return self._left_to_right(self.product, "+", "-")

    def _left_to_right(self, operand: Callable[[], Node], *signs: str) -> Node:
        node = operand()
        while sign := self.accept(*signs):
            node = Operation(sign, (node, operand()))
        return node

    def product(self) -> Node:
        node, sign = self.signed(), ""
        while True:
            if self._stands_beside():
                if sign in ("/", "//"):
                    raise ExpressionError(f"what is {self.next.text} divided by? Put brackets there")
                node = Operation("·", (node, self.power()))
            elif sign := self.accept("*", "/", "@", "//", "%", "·", "⊗"):
                node = Operation(sign, (node, self.signed()))
            else:
                return node

    def _stands_beside(self) -> bool:
        """Something begins where an operator could stand: `2x`, `(1 - out) out.g`."""
        if self.next.kind == "sign":
            return self.next.text == "(" and not self.in_exponent
        return self.next.kind == "name" and self.next.text not in NO_NAMES

    def signed(self) -> Node:
        signs = []
        while sign := self.accept("-", "+", "~"):
            signs.append(sign)
        node = self.power()
        if "~" in signs and len(signs) > 1:
            raise ExpressionError("~ stands beside another sign: put brackets there")
        return Operation(min(signs, key="-~+".index), (node,)) if signs.count("-") % 2 or "~" in signs else node

    def power(self) -> Node:
        base = self.postfix()
        while self.tokens[self.place].text in ("**", "^") and self.tokens[self.place + 1].text == "T":
            self.place += 2
            base = Attribute(base, "T")
        if not self.accept("**", "^"):
            return base
        outside, self.in_exponent = self.in_exponent, True
        node = Operation("**", (base, self.nested(self.signed)))
        self.in_exponent = outside
        return node

    def postfix(self) -> Node:
        node = self.atom()
        while True:
            if self.accept("."):
                node = self.attribute(node)
            elif self.accept("'"):
                node = Attribute(node, "T")
            elif self.accept("["):
                node = Index(node, self.index())
            elif self._is_called() and self.accept("("):
                node = self.call(node)
            else:
                return node

    def _is_called(self) -> bool:
        """What stands in brackets behind a gap is no part of an exponent: `x^2 (1 + x)`."""
        return not self.in_exponent or self.next.start == self.tokens[self.place - 1].end

    def attribute(self, owner: Node) -> Node:
        name = self.next
        if name.kind != "name":
            raise ExpressionError("a name is missing behind a point")
        if name.text.startswith("_"):
            raise ExpressionError(f".{name.text} is not allowed: only arithmetic and array methods are")
        self.place += 1
        if name.text in ("g", "grad") and isinstance(owner, Name) and self.next.text != "(":
            return Name(_variable(owner.name, name.text))
        return Attribute(owner, name.text)

    def index(self) -> tuple[Node, ...]:
        parts = [self.index_part()]
        while self.accept(","):
            if self.next.text != "]":
                parts.append(self.index_part())
        self.expect("]", "[")
        return tuple(parts)

    def index_part(self) -> Node:
        parts: list[Node | None] = [None if self.next.text in (":", "]") else self.expression()]
        while self.accept(":"):
            parts.append(None if self.next.text in (":", ",", "]") else self.expression())
        if len(parts) == 1 and parts[0] is not None:
            return parts[0]
        if not 2 <= len(parts) <= 3:
            raise ExpressionError("between [ and ] something is missing")
        return Slice(tuple(parts))

    def atom(self) -> Node:
        token = self.next
        self.place += 1
        if token.kind == "number":
            return Number(float(token.text))
        if token.kind == "text":
            return Text(token.text)
        if token.kind == "name" and token.text not in NO_NAMES:
            if token.text in OF_MATHEMATICS and self.next.kind in ("number", "name") and self.next.text not in NO_NAMES:
                applied = Call(Name(token.text), (self.nested(self.power),))
                if self.next.text in ("/", "**", "^"):
                    raise ExpressionError(f"where does {token.text} end? Put brackets there")
                return applied
            return Name(token.text)
        if token.text in ("(", "["):
            return self.bracket(token.text)
        if token.text == "..." and token.kind == "sign":
            return Name("...")
        if token.kind == "end":
            raise ExpressionError("it ends too early: something is missing at its end")
        raise ExpressionError(REFUSED.get(token.text, f"something is missing before {token.text}"))

    def bracket(self, opened: str) -> Node:
        """What stands in brackets: one thing, a list, or a loop."""
        closed = ")" if opened == "(" else "]"
        items: list[Node] = []
        is_list = opened == "["
        while not self.accept(closed):
            items.append(self.starred())
            if self.next.text == "for":
                node = self.loop(items[0])
                self.expect(closed, opened)
                return node
            if self.accept(","):
                is_list = True
            else:
                self.expect(closed, opened)
                break
        return Sequence(tuple(items)) if is_list or not items else items[0]

    def loop(self, body: Node) -> Loop:
        clauses = []
        while self.accept("for"):
            targets = [self.target()]
            while self.accept(","):
                targets.append(self.target())
            if not self.accept("in"):
                raise ExpressionError("behind for, in is missing")
            clauses.append((tuple(targets), self.any_of()))
        return Loop(body, tuple(clauses))

    def target(self) -> str:
        while self.accept("("):
            pass
        name = self.next
        if name.kind != "name" or name.text in NO_NAMES:
            raise ExpressionError("behind for a name is missing")
        self.place += 1
        while self.accept(")"):
            pass
        return name.text

    def call(self, function: Node) -> Call:
        arguments: list[Node] = []
        options: list[tuple[str, Node]] = []
        while not self.accept(")"):
            if self.next.kind == "name" and self.tokens[self.place + 1].text == "=":
                name = self.next.text
                self.place += 2
                options.append((name, self.expression()))
            else:
                arguments.append(self.starred())
                if self.next.text == "for":
                    arguments[-1] = self.loop(arguments[-1])
            if not self.accept(","):
                self.expect(")", "(")
                break
        return Call(function, tuple(arguments), tuple(options))


def _variable(*parts: str) -> str:
    """The name of a variable: `out.g`, `out.grad` and `out_g` are the same."""
    return "_".join((*parts[:-1], "g")) if parts[-1] == "grad" and len(parts) > 1 else "_".join(parts)
