"""What a function argument is made of, read from its source: which operations it takes of its own argument."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache

from grader.course.sampling import Function

from .trial import Trial

SIGNS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


@cache
def parts(source: str) -> frozenset[str]:
    """The operations of a lambda, `x` for whatever is made of its argument: `x / 2`, `2 / x`, `x / x`, `x.sin()`."""
    (statement,) = ast.parse(source).body
    function = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(function, ast.Lambda) or not function.args.args:
        return frozenset()
    return frozenset(_parts(function.body, function.args.args[0].arg))


def _parts(body: ast.expr, own: str) -> Iterator[str]:
    made_of = [node for node in ast.walk(body) if _uses(node, own)]
    for node in made_of:
        if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
            left, right = (own if _uses(side, own) else "2" for side in (node.left, node.right))
            yield f"{left} {SIGNS[type(node.op)]} {right}"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield f"-{own}"
        elif isinstance(node, ast.Subscript):
            yield f"{own}[...]"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _uses(node.func, own):
            yield f"{own}.{node.func.attr}()"


def _uses(node: ast.AST, own: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == own for each in ast.walk(node))


def _kinds(source: str) -> frozenset[str]:
    """The signs among the operations, whatever stands on either side: one method may be wrong for all of them."""
    return frozenset(part.split()[1] for part in parts(source) if " " in part)


def told_by(right: Sequence[Trial], wrong: Sequence[Trial]) -> tuple[str, list[str]]:
    """A function argument and the operations that it has in every wrong trial and in no right one; none, if nothing."""
    for name, value in wrong[0].arguments.items() if right and wrong else ():
        if isinstance(value, Function):
            for look in (parts, _kinds):
                made = [[look(trial.arguments[name].source) for trial in trials] for trials in (wrong, right)]
                if found := frozenset.intersection(*made[0]) - frozenset().union(*made[1]):
                    return name, sorted(found)
    return "", []
