"""Tell from a learner's source what an answer is computed from.

The source is read and never run. It is read without the order of its statements: a name is computed from everything
that is assigned to it anywhere in the function.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from .definitions import DEFINING, definitions, parse_cell

LONGEST_SOURCE = 1 << 16  # characters that are read


@dataclass(frozen=True)
class AnswerSource:
    """The source of a learner's function, as far as it is known.

    Args:
        texts: the learner's cells, or the one text of a file; empty where it is not known.
        function: the name of the function.
    """

    texts: Sequence[str]
    function: str

    def names_behind(self, answer: str) -> frozenset[str] | None:
        """Return all names and gradients, such as `u` and `x.g`, that an answer such as `w.g` is computed from.

        A gradient that is assigned together with a name that the answer is computed from, as in `x.g = d = g * w`, is
        one of them. One that only gets the value of such a name, as in `x.g = d`, is not.

        Args:
            answer: the name of the answer, a gradient that the function stores.

        Returns:
            The names; `None` if that cannot be told, as where the function is not there or does not assign the answer.
        """
        places = definitions(self.texts, {self.function}) if self._trees else []
        body = places[-1].statement if places else None
        if not isinstance(body, ast.FunctionDef):
            return None
        reads, twins = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
        own = {node.name for tree in self._trees for node in ast.walk(tree) if isinstance(node, DEFINING)}
        for node in ast.walk(body):
            _note_statement(node, own, reads, twins)
        if answer not in reads:
            return None
        waiting, names = [answer], set[str]()
        while waiting:
            name = waiting.pop()
            if name not in names:
                names.add(name)
                waiting += reads.get(name, ())
        return frozenset(names).union(*(twins.get(name, ()) for name in names if name != answer))

    def may_read(self, name: str) -> bool:
        """Return whether the source reads a value of this name anywhere: `out` in `out > 0`, but not in `out.g`.

        True where that cannot be told.
        """
        nodes = [node for tree in self._trees for node in ast.walk(tree)]
        of_gradients = {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and node.attr == "g"}
        names = (node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
        return not nodes or any(node.id == name and id(node) not in of_gradients for node in names)

    @cached_property
    def _trees(self) -> list[ast.Module]:
        """Return the cells that are Python as syntax trees; none of a source that is too long to be read."""
        texts = self.texts if sum(map(len, self.texts)) <= LONGEST_SOURCE else ()
        return [tree for text in texts if (tree := parse_cell(text)) is not None]


UNKNOWN_SOURCE = AnswerSource((), "")


def _note_statement(node: ast.AST, own: set[str], reads: dict[str, set[str]], twins: dict[str, set[str]]) -> None:
    """Note what a statement assigns, in two mappings; nothing for a node that assigns nothing.

    Args:
        node: a node of the function's syntax tree.
        own: the names of the functions that the source defines.
        reads: by name, the names that it is computed from.
        twins: by name, those that are assigned together with it.
    """
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                _note(target, value, own, reads)
            names = {name for target in targets for name in _assigned(target)} if len(targets) > 1 else set()
            for name in names:
                twins[name] |= names
        case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
            _note(target, value, own, reads)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            _note(target, value, own, reads)
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            _note(target, value, own, reads)
        case ast.FunctionDef(name=name, body=statements):
            reads[name] |= {read for statement in statements for read in _read(statement, own)}
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=changed)) as call):  # x.g.add_(d)
            for name in _assigned(changed):
                reads[name] |= set(_read(call, own))


def _note(target: ast.expr, value: ast.expr, own: set[str], reads: dict[str, set[str]]) -> None:
    """Note that a target is computed from a value; of two tuples of one length, each item from its own.

    Args:
        target: what is assigned to.
        value: the value.
        own: the names of the functions that the source defines.
        reads: by name, the names that it is computed from.
    """
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for item, part in zip(target.elts, value.elts, strict=True):
            _note(item, part, own, reads)
        return
    for name in _assigned(target):
        reads[name] |= set(_read(value, own))


def _assigned(target: ast.expr) -> Iterator[str]:
    """Yield the names and gradients that an assignment to a target changes: `x.g` for `x.g[:, i]`.

    Of other parts it is the name that they belong to: `x` for `x[0]` and `x.h`.
    """
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=ast.Name(id=name), attr="g"):
            yield f"{name}.g"
        case ast.Subscript(value=part) | ast.Attribute(value=part) | ast.Starred(value=part):
            yield from _assigned(part)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _assigned(part)


def _read(node: ast.AST, own: set[str]) -> Iterator[str]:
    """Yield the names and gradients that are read in a part of a syntax tree.

    The gradient of an argument of a function of the source counts as read: the function may read it.

    Args:
        node: the part.
        own: the names of the functions that the source defines.
    """
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name):
                yield name
            case ast.Attribute(value=ast.Name(id=name), attr="g"):
                yield f"{name}.g"
            case ast.Call(func=ast.Name(id=called), args=arguments) if called in own:
                yield from (f"{argument.id}.g" for argument in arguments if isinstance(argument, ast.Name))
