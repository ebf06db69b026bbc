"""Evaluates a parsed formula step by step; what a step may be is in a table, and the work is counted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
from .formula_parser import parse
from .formula_work import Work, whole
from .operations import MODULES, OPERATIONS

LIBRARIES = frozenset("torch np numpy math nn functional F linalg special scipy Tensor Variable jnp jax".split())
CONSTANTS: Mapping[str, Any] = {
    "True": True, "False": False, "None": None, "newaxis": None, "...": Ellipsis, "Ellipsis": Ellipsis,
    "e": math.e, "pi": math.pi, "inf": math.inf, "nan": math.nan,
    **{name: name for name in "float float16 float32 float64 double half int int32 int64 long bool bool_".split()},
}  # fmt: skip
NUMPYS = frozenset(("np", "numpy", "jnp"))


@dataclass
class Evaluation:
    """Evaluate one formula at one point.

    Args:
        values: the variables by name: arrays, and numbers for axis sizes.
        work: the budget of work.
    """

    values: Mapping[str, Any]
    work: Work
    local: dict[str, Any] = field(default_factory=dict)

    def run(self, statements: tuple[Statement, ...]) -> Any:
        """Return the value of the last statement: an array, a number, a tuple, or a text.

        Raises:
            ExpressionError: a name is unknown, a step cannot be done, or there is too much to do.
        """
        value: Any = None
        try:
            with np.errstate(all="ignore"):
                for statement in statements:
                    value = self.of(statement.value)
                    self._assign(statement.targets, value)
        except RecursionError as error:
            raise ExpressionError("it is nested too deeply: the answer is much simpler") from error
        return value

    def of(self, node: Node) -> Any:
        """Return the value of a part of the formula."""
        self.work.step()
        match node:
            case Number(value) | Text(value):
                return value
            case Name(name):
                return self._named(name)
            case Operation(sign, operands):
                return self._apply(sign, [self.of(operand) for operand in operands])
            case Call():
                return self._call(node)
            case Attribute(owner, name):
                return self._constant(name) if self._is_library(owner) else self._apply(f".{name}", [self.of(owner)])
            case Index(owner, parts):
                return self._apply("[]", [self.of(owner), tuple(self.of(part) for part in parts)])
            case Slice(parts):
                bounds = [None if part is None else self.of(part) for part in parts]
                return self.work.result("a slice", _slice, bounds, {})
            case Sequence(items):
                return tuple(self._items(items))
            case Loop(body, clauses):
                return tuple(self._turns(body, clauses))
        raise ExpressionError("* has no place here")

    def _items(self, items: tuple[Node, ...]) -> Iterator[Any]:
        for item in items:
            if isinstance(item, Star):
                yield from self.work.turns(self.of(item.items))
            else:
                yield self.of(item)

    def _turns(self, body: Node, clauses: tuple[tuple[tuple[str, ...], Node], ...]) -> Iterator[Any]:
        if not clauses:
            yield self.of(body)
            return
        (targets, items), *others = clauses
        for value in self.work.turns(self.of(items)):
            self._assign(targets, value)
            yield from self._turns(body, tuple(others))

    def _assign(self, targets: tuple[str, ...], value: Any) -> None:
        if len(targets) == 1:
            self.local[targets[0]] = value
        elif targets:
            values = tuple(self.work.turns(value))
            if len(values) != len(targets):
                raise ExpressionError(f"{len(targets)} names are given to {len(values)} values", "error")
            self.local.update(zip(targets, values, strict=True))

    def _named(self, name: str) -> Any:
        for known in (self.local, self.values):
            if name in known:
                return known[name]
        if name in CONSTANTS and len(name) > 1:
            return CONSTANTS[name]
        if name == "e":
            return math.e
        if all(np.ndim(self.values.get(letter, ())) == 0 for letter in name):  # `xh`, where both are numbers
            return math.prod(float(self.values[letter]) for letter in name)
        raise ExpressionError(f"there is no {_shown(name)} here{self._there_is()}")

    def _there_is(self) -> str:
        return f"; there is {', '.join(map(_shown, self.values))}" if self.values else ": a number is wanted"

    def _constant(self, name: str) -> Any:
        if name in CONSTANTS:
            return CONSTANTS[name]
        raise ExpressionError(f"there is no {name} here")

    def _is_library(self, node: Node) -> bool:
        while isinstance(node, Attribute) and node.name in LIBRARIES:
            node = node.owner
        return isinstance(node, Name) and node.name in LIBRARIES and node.name not in {**self.values, **self.local}

    def _call(self, node: Call) -> Any:
        function, arguments = node.function, node.arguments
        match function:
            case Name(name) if not self._is_known(name):
                return self._apply(name, list(self._items(arguments)), node.options, "python")
            case Attribute(Attribute(owner, first), second) if self._is_library(owner) and first not in LIBRARIES:
                return self._apply(f"{first}.{second}", list(self._items(arguments)), node.options)
            case Attribute(owner, name) if self._is_library(owner):
                return self._apply(name, list(self._items(arguments)), node.options, _library(owner))
            case Attribute(owner, name):
                return self._apply(name, [self.of(owner), *self._items(arguments)], node.options, "method")
            case Call(made, (), options) if (name := getattr(made, "name", "")) in MODULES:  # nn.Softmax(dim=0)(x)
                return self._apply(MODULES[name], list(self._items(arguments)), options)
        if len(arguments) == 1 and not node.options:
            return self._apply("·", [self.of(function), self.of(arguments[0])])
        raise ExpressionError("brackets behind something that is no function: write * between them")

    def _is_known(self, name: str) -> bool:
        return name in self.values or name in self.local

    def _apply(
        self, name: str, arguments: list[Any], options: tuple[tuple[str, Node], ...] = (), library: str = ""
    ) -> Any:
        operation = OPERATIONS.get(f"{library}.{name}", OPERATIONS.get(name))
        if operation is None:
            bare = name.strip(".")
            hint = f": write {bare}()" if bare in OPERATIONS and name.startswith(".") else ""
            raise ExpressionError(f"there is no {_shown(bare)} here{hint or self._there_is()}")
        given = {option: self.of(value) for option, value in options}
        return self.work.result(name.strip("."), operation, arguments, given)


def _slice(work: Work, *bounds: Any) -> slice:
    """Return `slice(*bounds)`; each bound is a whole number, or `None`.

    Raises:
        TypeError: one of them is something else.
    """
    return slice(*(None if bound is None else whole(bound) for bound in bounds))


def _library(owner: Node) -> str:
    while isinstance(owner, Attribute):
        owner = owner.owner
    return "np" if isinstance(owner, Name) and owner.name in NUMPYS else "torch"


def _shown(name: str) -> str:
    return f"{name[:-2]}.g" if name.endswith("_g") else name


def arithmetic(text: str, values: Mapping[str, float] | None = None) -> float:
    """The value of a formula that is one number.

    Raises:
        ExpressionError: it is no such formula, or has no finite value.
    """
    return as_number(Evaluation(values or {}, Work()).run(parse(text)))


def as_number(value: Any) -> float:
    """A value that is one number.

    Raises:
        ExpressionError: it is something else.
    """
    if value is None or isinstance(value, (bool, str, slice, type(Ellipsis))):
        raise ExpressionError("a number is wanted")
    array = Work().result("the answer", Work.array, [value], {})
    if array.size != 1:
        raise ExpressionError("one number is wanted")
    if not np.isfinite(array).all():
        raise ExpressionError("it has no finite value", "not-finite")
    return float(array.reshape(()))
