"""Evaluation of a formula along its syntax tree: nothing is run as Python, and the work is counted."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.errors import ExpressionError

from .formula_syntax import INFIX, FormulaStatement, read_formula, shown_name
from .formula_work import Work
from .operations import MODULES, OPERATIONS, perform

LIBRARIES = frozenset("torch np numpy math nn functional F linalg special scipy Tensor Variable jnp jax".split())
NUMPYS = frozenset(("np", "numpy", "jnp"))
CONSTANTS: Mapping[str, Any] = {
    "newaxis": None, "Ellipsis": Ellipsis, "e": math.e, "pi": math.pi, "inf": math.inf, "nan": math.nan,
    **{name: name for name in "float float16 float32 float64 double half int int32 int64 long bool bool_".split()},
}  # fmt: skip
SIGNS: Mapping[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.MatMult: "@", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.BitAnd: "&", ast.BitOr: "|", ast.Invert: "~", ast.USub: "neg", ast.UAdd: "positive",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


@dataclass
class Evaluation:
    """Evaluate one formula at one point.

    Args:
        values: the variables by name: arrays, and numbers for axis sizes.
        work: the budget of work.
        local: the names that the formula itself assigns, by name.
    """

    values: Mapping[str, Any]
    work: Work
    local: dict[str, Any] = field(default_factory=dict)

    def run(self, statements: Sequence[FormulaStatement]) -> Any:
        """Return the value of the last statement: an array, a number, a tuple, or a text.

        Raises:
            ExpressionError: a name is unknown, a step is not possible, or there is too much work.
        """
        value: Any = None
        try:
            with np.errstate(all="ignore"):
                for statement in statements:
                    value = self.value_of(statement.value)
                    self._assign(statement.targets, value)
        except RecursionError as error:
            raise ExpressionError("it is nested too deeply: the answer is much simpler") from error
        return value

    def value_of(self, node: ast.expr) -> Any:
        """Return the value of a part of the formula.

        Raises:
            ExpressionError: the part is of a kind that formulas do not have, or has no value.
        """
        self.work.step()
        match node:
            case ast.Constant(value):
                return float(value) if type(value) is int else value
            case ast.Name(name):
                return self._value_of_name(name)
            case ast.BinOp(ast.BinOp(left, ast.Mult(), ast.Name(name)), ast.Mult(), right) if name in INFIX:
                if isinstance(right, ast.Tuple):
                    raise ExpressionError("brackets behind something that is no function: write `*` between them")
                return perform(self.work, name, [self.value_of(left), self.value_of(right)], title=INFIX[name])
            case ast.BinOp(left, sign, right) | ast.Compare(left, [sign], [right]):
                return self._sign(sign, [left, right])
            case ast.UnaryOp(sign, operand):
                return self._sign(sign, [operand])
            case ast.IfExp(condition, first, second):
                return perform(self.work, "if", [self.value_of(condition), self.value_of(first), self.value_of(second)])
            case ast.Call():
                return self._call(node)
            case ast.Attribute(owner, name):
                return (
                    self._constant(name) if self._is_library(owner) else self._apply(f".{name}", [self.value_of(owner)])
                )
            case ast.Subscript(owner, ast.Tuple(parts)) if parts:
                return perform(self.work, "[]", [self.value_of(owner), tuple(map(self.value_of, parts))])
            case ast.Subscript(owner, part):
                return perform(self.work, "[]", [self.value_of(owner), (self.value_of(part),)])
            case ast.Slice(start, stop, step):
                bounds = [None if bound is None else self.value_of(bound) for bound in (start, stop, step)]
                return perform(self.work, ":", bounds, title="a slice")
            case ast.Tuple(items) | ast.List(items):
                return tuple(self._items(items))
            case ast.ListComp(body, loops) | ast.GeneratorExp(body, loops):
                return tuple(self._loop_values(body, loops))
            case ast.Starred():
                raise ExpressionError("`*` has no place here")
            case ast.Compare():
                raise ExpressionError("two comparisons stand in a row: write one at a time, and `&` between them")
        raise ExpressionError("there is something in it that only a program has, such as `:=`")

    def _sign(self, sign: ast.AST, operands: Sequence[ast.expr]) -> Any:
        """Return the result of an operator on operands, which are evaluated first.

        Args:
            sign: the operator, such as `ast.Add`.
            operands: the parts of the formula that it is applied to.

        Raises:
            ExpressionError: the operator is `in`, which only stands behind `for`.
        """
        if type(sign) not in SIGNS:
            raise ExpressionError("`in` has no place here but behind `for`")
        name = SIGNS[type(sign)]
        return perform(
            self.work, name, [self.value_of(operand) for operand in operands], title=name.replace("neg", "-")
        )

    def _items(self, nodes: Sequence[ast.expr]) -> Iterator[Any]:
        """Yield the value of each part of the formula; of a starred part, `*x`, each of its items."""
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self.work.items(self.value_of(node.value))
            else:
                yield self.value_of(node)

    def _loop_values(self, body: ast.expr, loops: Sequence[ast.comprehension]) -> Iterator[Any]:
        """Yield the value of the body of a comprehension in every iteration of its nested loops.

        Raises:
            ExpressionError: a loop has an `if`, or goes over something that has no items.
        """
        if not loops:
            yield self.value_of(body)
            return
        loop, *others = loops
        if loop.ifs:
            raise ExpressionError("a loop with `if` cannot be read here: multiply by the condition")
        for value in self.work.items(self.value_of(loop.iter)):
            self._unpack(loop.target, value)
            yield from self._loop_values(body, others)

    def _unpack(self, target: ast.expr, value: Any) -> None:
        """Assign a value, or its items, to the names after `for`, which may be nested.

        Raises:
            ExpressionError: there are more or fewer items than names, or something else than names is there.
        """
        match target:
            case ast.Name(name):
                self.local[name] = value
            case ast.Tuple(parts) | ast.List(parts):
                for part, item in zip(parts, self._as_many(len(parts), value), strict=True):
                    self._unpack(part, item)
            case _:
                raise ExpressionError("behind `for` a name is missing")

    def _as_many(self, count: int, value: Any) -> Sequence[Any]:
        """Return the items of a value, of which there must be `count`.

        Raises:
            ExpressionError: the value has more items or fewer.
        """
        items = tuple(self.work.items(value))
        if len(items) != count:
            raise ExpressionError(f"{count} names are given to {len(items)} values", "error")
        return items

    def _assign(self, targets: Sequence[str], value: Any) -> None:
        """Assign a value to one name, or its items to several; nothing without names.

        Raises:
            ExpressionError: there are more or fewer items than names.
        """
        values = [value] if len(targets) == 1 else self._as_many(len(targets), value) if targets else []
        self.local.update(zip(targets, values, strict=True))

    def _value_of_name(self, name: str) -> Any:
        """Return the value of a name: a variable or a constant, or of `xh` the product if `x` and `h` are numbers.

        A name that the formula assigns comes before a variable, and a variable before a constant.

        Raises:
            ExpressionError: there is neither such a variable, a constant nor a product.
        """
        for known in (self.local, self.values, CONSTANTS):
            if name in known:
                return known[name]
        if all(np.ndim(self.values.get(letter, ())) == 0 for letter in name):  # `xh`, where both are numbers
            return math.prod(float(self.values[letter]) for letter in name)
        raise ExpressionError(f"there is no `{shown_name(name)}` here{self._known_names()}")

    def _known_names(self) -> str:
        """Return the end of a message that lists the variables: "; there is x, w".

        Sizes are listed only if there is no other variable. Without any, the message ends with the advice to write a
        number.
        """
        names = [name for name in self.values if name not in self.work.sizes] or [*self.values]
        if not names:
            return ": write a number"
        return f"; there is {', '.join(map(shown_name, names))}"

    def _constant(self, name: str) -> Any:
        """Return the value of a library's constant, such as `torch.pi`.

        Raises:
            ExpressionError: the constant is unknown.
        """
        if name in CONSTANTS:
            return CONSTANTS[name]
        raise ExpressionError(f"there is no `{name}` here")

    def _is_library(self, node: ast.expr) -> bool:
        """Return whether a part is the name of a library or of a module in one, such as `torch.nn`.

        A variable of that name is none.
        """
        while isinstance(node, ast.Attribute) and node.attr in LIBRARIES:
            node = node.value
        return isinstance(node, ast.Name) and node.id in LIBRARIES and node.id not in {**self.values, **self.local}

    def _call(self, node: ast.Call) -> Any:
        """Return the value of a call; what is called is a name, never a value.

        Raises:
            ExpressionError: anything else is called, or the call has no value.
        """
        options = {option.arg or "**": option.value for option in node.keywords}
        match node.func:
            case ast.Name(name):
                return self._apply(name, self._items(node.args), options, "python")
            case ast.Attribute(ast.Attribute(owner, first), second) if (
                self._is_library(owner) and first not in LIBRARIES
            ):
                return self._apply(f"{first}.{second}", self._items(node.args), options)
            case ast.Attribute(owner, name) if self._is_library(owner):
                return self._apply(name, self._items(node.args), options, _library(owner))
            case ast.Attribute(owner, name):
                return self._apply(name, self._items([owner, *node.args]), options, "method")
            case ast.Call(ast.Name(name) | ast.Attribute(_, name), [], made) if name in MODULES:  # nn.Softmax(dim=0)(x)
                options = {option.arg or "**": option.value for option in made}
                return self._apply(MODULES[name], self._items(node.args), options)
        raise ExpressionError("brackets behind something that is no function: write `*` between them")

    def _apply(
        self, name: str, arguments: Any, options: Mapping[str, ast.expr] | None = None, library: str = ""
    ) -> Any:
        """Return the result of an operation.

        An operation that is entered for the library comes before one for all of them.

        Args:
            name: the name of the operation.
            arguments: the values of its arguments by position.
            options: the parts of the formula that are its arguments by name.
            library: `np`, `torch`, `python` or `method`, by the way the operation is called.

        Raises:
            ExpressionError: the operation is unknown, or does not fit its arguments.
        """
        values = [*arguments]
        key = next((key for key in (f"{library}.{name}", name) if key in OPERATIONS), None)
        if key is None:
            bare = name.strip(".")
            if bare in self.values:
                raise ExpressionError(f"a dot before `{shown_name(bare)}` is no product: write `*`")
            hint = f": write `{bare}()`" if bare in OPERATIONS and name.startswith(".") else ""
            raise ExpressionError(f"there is no `{shown_name(bare)}` here{hint or self._known_names()}")
        named = {option: self.value_of(value) for option, value in (options or {}).items()}
        return perform(self.work, key, values, named, title=name.strip("."))


def _library(owner: ast.expr) -> str:
    """Return the library that a dotted name begins with: `np` for numpy, where some names differ, and else `torch`."""
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return "np" if isinstance(owner, ast.Name) and owner.id in NUMPYS else "torch"


def arithmetic(text: str, values: Mapping[str, float] | None = None) -> float:
    """Return the value of a formula that is one number.

    Args:
        text: the text of the formula.
        values: the numbers that it may use, by name.

    Raises:
        ExpressionError: the text is no such formula, or has no finite value.
    """
    known = values or {}
    return as_number(Evaluation(known, Work()).run(read_formula(text, known)))


def as_number(value: Any) -> float:
    """Return a formula's value as a number.

    Raises:
        ExpressionError: the value is no single finite number.
    """
    if value is None or isinstance(value, (bool, str, slice, type(Ellipsis))):
        raise ExpressionError("a number is wanted")
    array = perform(Work(), "array", [value], title="the answer")
    if array.size != 1:
        raise ExpressionError("one number is wanted")
    if not np.isfinite(array).all():
        raise ExpressionError("it has no finite value", "not-finite")
    return float(array.reshape(()))
