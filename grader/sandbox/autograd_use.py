"""Finds where a learner's function asks torch to differentiate, in its source: feedback that names the rule.

It only reads, and is easily deceived; what stops a deceiver is in the worker, where nothing can differentiate. So it
says nothing where it is not sure: about names that the file defines itself, and about code that the function does
not reach.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from grader.child import ipython_cells

LONGEST, LONGEST_SOURCE, LONGEST_CHAIN = 60, 1 << 16, 10
# No use is without one of these words.
WORDS = re.compile(r"backward(?!s\b)|requires_grad|grad_fn|autograd|functorch|\bfunc\b|\bgrad\b")
DIFFERENTIATES = (
    "torch.autograd",
    "torch.func",
    "functorch",
    "torch._functorch",
    "torch._C._functorch",
    "torch.nn.grad",
)
HARMLESS = frozenset(
    "torch.autograd torch.func functorch torch.autograd.Function torch.autograd.Variable torch.autograd.no_grad "
    "torch.autograd.enable_grad torch.autograd.set_grad_enabled torch.autograd.inference_mode "
    "torch.autograd.grad_mode.no_grad torch.func.vmap functorch.vmap torch.func.functional_call".split()
)


def autograd_use(texts: Sequence[str], function: str) -> tuple[int, str] | None:
    """Return the line and the text of the first use of torch's differentiation in a function or in what it calls.

    Args:
        texts: the learner's cells, or the one text of a file; a cell that is not Python is left out.
        function: the name of the graded function.

    Returns:
        The line, numbered through all cells from 1, and the expression; `None` if there is no such use.
    """
    if sum(map(len, texts)) > LONGEST_SOURCE or not any(map(WORDS.search, texts)):
        return None
    try:
        file = _File.of(_parse_cells(texts))
        uses = [use for part in file.reached_from(function) for use in file.uses(part)]
        first = min(uses, key=lambda use: (use.lineno, use.col_offset), default=None)
        return None if first is None else (first.lineno, _words(first))
    except (RecursionError, MemoryError, ValueError):  # nested so deeply that it cannot be read, or cannot be shown
        return None


def _parse_cells(texts: Sequence[str]) -> ast.Module:
    """Parse all cells and return their statements as one module; cells that are not Python are left out."""
    whole = ast.Module([], [])
    for text, before in zip(texts, ipython_cells.line_offsets(texts), strict=True):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            whole.body += ipython_cells.parse(text, before).tree.body
    return whole


def _words(use: ast.expr) -> str:
    words = " ".join(ast.unparse(use).split())
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


@dataclass(frozen=True)
class _File:
    """What a file defines.

    Args:
        definitions: each top-level name with the statements that bind it; later ones replace earlier ones at run
            time, but which of them the function meets is not for us to say.
        imports: what each imported name stands for, in full: `{"ag": "torch.autograd"}`.
        attributes: every attribute and method that a class of the file has; with a class, also `backward`: what the
            class lacks or inherits may be called on a value of it, as the stubs of a learner's own engine do.
    """

    definitions: Mapping[str, list[ast.stmt]]
    imports: Mapping[str, str]
    attributes: frozenset[str]

    @staticmethod
    def of(tree: ast.Module) -> _File:
        definitions: dict[str, list[ast.stmt]] = {}
        for statement in tree.body:
            for name in _bound_by(statement):
                definitions.setdefault(name, []).append(statement)
        return _File(definitions, dict(_imports(tree)), frozenset(_members(tree)))

    def reached_from(self, function: str) -> list[ast.stmt]:
        """The statements that define a function and whatever it names, directly or through others."""
        waiting, met, reached = [function], set[str](), dict[int, ast.stmt]()
        while waiting:
            name = waiting.pop()
            new = [] if name in met else [part for part in self.definitions.get(name, []) if id(part) not in reached]
            met.add(name)
            for part in new:  # each is read once, however many names it binds
                reached[id(part)] = part
                waiting += _free_names(part)
        return list(reached.values())

    def uses(self, part: ast.stmt) -> Iterator[ast.expr]:
        """The expressions in a statement that differentiate by torch."""
        local = _local_names(part)
        for node in ast.walk(part):
            if (isinstance(node, ast.Call) and self._asks_for_a_graph(node, local)) or (
                isinstance(node, (ast.Attribute, ast.Name)) and self._differentiates(node, local)
            ):
                yield node

    def _asks_for_a_graph(self, call: ast.Call, local: frozenset[str]) -> bool:
        """`.backward(...)`, `.requires_grad_()`, or `requires_grad=True` for something that torch makes."""
        called = call.func
        if isinstance(called, ast.Attribute) and called.attr in {"backward", "requires_grad_"} - self.attributes:
            owner = self._full_name(called.value, local)
            return (owner is None or owner.startswith("torch")) and not any(_is(False, value) for value in call.args)
        full = self._full_name(called, local)
        asked = any(keyword.arg == "requires_grad" and _is(True, keyword.value) for keyword in call.keywords)
        return asked and full is not None and full.startswith("torch.")

    def _differentiates(self, node: ast.Attribute | ast.Name, local: frozenset[str]) -> bool:
        full = self._full_name(node, local)
        if full is not None:
            named = full not in HARMLESS and full.startswith(tuple(f"{module}." for module in DIFFERENTIATES))
            return named or (full.startswith("torch.ops.") and "backward" in full)
        if not isinstance(node, ast.Attribute) or node.attr in self.attributes:
            return False
        return node.attr == "grad_fn" or (node.attr == "requires_grad" and isinstance(node.ctx, ast.Store))

    def _full_name(self, node: ast.expr, local: frozenset[str]) -> str | None:
        """What a dotted name stands for, if it begins with an imported name that nothing else is called by."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute) and len(attributes) < LONGEST_CHAIN:
            attributes.insert(0, node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id not in local and node.id not in self.definitions:
            return ".".join([self.imports[node.id], *attributes]) if node.id in self.imports else None
        return None


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a top-level statement defines; what it imports does not count."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        yield from _assigned(statement)


def _assigned(tree: ast.AST) -> Iterator[str]:
    return (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def _members(tree: ast.Module) -> Iterator[str]:
    """Methods of all classes, and attributes set on `self` or on the class; each node is looked at once."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, ast.ClassDef):
            inside = not _is_torchs(node)
            yield from ["backward"] * inside
        elif inside and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif inside and isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Store):
            yield node.attr if isinstance(node, ast.Attribute) else node.id
        waiting += [(child, inside) for child in ast.iter_child_nodes(node)]


def _is_torchs(definition: ast.ClassDef) -> bool:
    """A subclass of `torch.autograd.Function`, whose `backward` torch's engine calls, of `Module` or of `Tensor`."""
    named = {getattr(base, "attr", getattr(base, "id", "")) for base in definition.bases}
    return any("Function" in name or name in {"Module", "Tensor"} for name in named)


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _local_names(part: ast.stmt) -> frozenset[str]:
    """Parameters, and what is assigned or defined inside a function or class."""
    if isinstance(part, (ast.Assign, ast.AnnAssign)):
        return frozenset()
    names = {node.arg for node in ast.walk(part) if isinstance(node, ast.arg)} | {*_assigned(part)}
    names |= {
        node.name for node in ast.walk(part) if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node is not part
    }
    return frozenset(names.difference(*(node.names for node in ast.walk(part) if isinstance(node, ast.Global))))


def _free_names(part: ast.stmt) -> Iterator[str]:
    local = _local_names(part)
    for node in ast.walk(part):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in local:
            yield node.id


def _is(constant: bool, value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is constant
