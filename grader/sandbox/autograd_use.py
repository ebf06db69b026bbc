"""Find where a learner's function asks torch to differentiate, by reading its source: feedback that names the rule.

It is easily deceived; a deceiver is stopped in the worker, where nothing can differentiate. So it reports only uses
that are certain: none of a name that the file itself defines, and none in code that the function does not reach.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from grader.child import ipython_cells

LONGEST, LONGEST_SOURCE = 60, 1 << 16  # characters of an expression that is shown, and of a source that is read
LONGEST_CHAIN = 10  # attributes in a dotted name
# Every use has one of these words in it.
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
        The line, numbered through all cells from 1, and the expression; `None` if there is no such use, or the source
        is too long or nested too deeply.
    """
    if sum(map(len, texts)) > LONGEST_SOURCE or not any(map(WORDS.search, texts)):
        return None
    try:
        file = _File.of(_parse_cells(texts))
        uses = [use for part in file.reached_from(function) for use in file.uses(part)]
        first = min(uses, key=lambda use: (use.lineno, use.col_offset), default=None)
        return None if first is None else (first.lineno, _expression_text(first))
    except (RecursionError, MemoryError, ValueError):  # nested so deeply that it cannot be read, or cannot be shown
        return None


def _parse_cells(texts: Sequence[str]) -> ast.Module:
    """Return the statements of all cells as one module, its lines counted through; cells of no Python are left out."""
    whole = ast.Module([], [])
    for text, before in zip(texts, ipython_cells.line_offsets(texts), strict=True):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            whole.body += ipython_cells.parse(text, before).tree.body
    return whole


def _expression_text(use: ast.expr) -> str:
    """Return an expression as text on one line, cut to `LONGEST` characters."""
    text = " ".join(ast.unparse(use).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


@dataclass(frozen=True)
class _File:
    """The names that a file defines.

    Attributes:
        definitions: the statements that bind each top-level name. A later one replaces an earlier one at run time, but
            which of them the function uses cannot be told from the text.
        imports: the full name of each imported name: `{"ag": "torch.autograd"}`.
        attributes: the attributes and methods of the file's classes. If there is a class, `backward` is one of them: it
            may be inherited, or still missing from a learner's own engine.
    """

    definitions: Mapping[str, list[ast.stmt]]
    imports: Mapping[str, str]
    attributes: frozenset[str]

    @staticmethod
    def of(tree: ast.Module) -> _File:
        """Return the names that the statements of a file define."""
        definitions: dict[str, list[ast.stmt]] = {}
        for statement in tree.body:
            for name in _bound_by(statement):
                definitions.setdefault(name, []).append(statement)
        return _File(definitions, dict(_imports(tree)), frozenset(_members(tree)))

    def reached_from(self, function: str) -> list[ast.stmt]:
        """Return the statements that define a function and all names that it uses, directly or through others.

        Args:
            function: the name of the function.
        """
        waiting, seen, reached = [function], set[str](), dict[int, ast.stmt]()
        while waiting:
            name = waiting.pop()
            new = [] if name in seen else [part for part in self.definitions.get(name, []) if id(part) not in reached]
            seen.add(name)
            for part in new:  # each is read once, however many names it binds
                reached[id(part)] = part
                waiting += _free_names(part)
        return list(reached.values())

    def uses(self, part: ast.stmt) -> Iterator[ast.expr]:
        """Yield the expressions in a top-level statement that let torch differentiate."""
        local = _local_names(part)
        for node in ast.walk(part):
            if (isinstance(node, ast.Call) and self._requires_graph(node, local)) or (
                isinstance(node, (ast.Attribute, ast.Name)) and self._differentiates(node, local)
            ):
                yield node

    def _requires_graph(self, call: ast.Call, local: frozenset[str]) -> bool:
        """Return whether a call is `.backward(...)`, `.requires_grad_()`, or has `requires_grad=True` for torch.

        Args:
            call: any call in a statement.
            local: the local names of the statement.
        """
        called = call.func
        if isinstance(called, ast.Attribute) and called.attr in {"backward", "requires_grad_"} - self.attributes:
            owner = self._full_name(called.value, local)
            is_torch = owner is None or owner.startswith("torch")
            return is_torch and not any(_is_constant(False, value) for value in call.args)
        full = self._full_name(called, local)
        has_option = any(option.arg == "requires_grad" and _is_constant(True, option.value) for option in call.keywords)
        return has_option and full is not None and full.startswith("torch.")

    def _differentiates(self, node: ast.Attribute | ast.Name, local: frozenset[str]) -> bool:
        """Return whether a name is a function of torch that differentiates, or an attribute of a tensor with a graph.

        Args:
            node: any name or attribute in a statement.
            local: the local names of the statement.
        """
        full = self._full_name(node, local)
        if full is not None:
            is_listed = full not in HARMLESS and full.startswith(tuple(f"{module}." for module in DIFFERENTIATES))
            return is_listed or (full.startswith("torch.ops.") and "backward" in full)
        if not isinstance(node, ast.Attribute) or node.attr in self.attributes:
            return False
        return node.attr == "grad_fn" or (node.attr == "requires_grad" and isinstance(node.ctx, ast.Store))

    def _full_name(self, node: ast.expr, local: frozenset[str]) -> str | None:
        """Return the full name of a dotted name that begins with an import: `ag.grad` may be `torch.autograd.grad`.

        Args:
            node: any expression.
            local: the local names of the statement.

        Returns:
            The full name; `None` if its first name is not imported, is local, or is also defined in the file.
        """
        attributes: list[str] = []
        while isinstance(node, ast.Attribute) and len(attributes) < LONGEST_CHAIN:
            attributes.insert(0, node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id not in local and node.id not in self.definitions:
            return ".".join([self.imports[node.id], *attributes]) if node.id in self.imports else None
        return None


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement binds by a definition or an assignment, and not by an import."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        yield from _assigned_names(statement)


def _assigned_names(tree: ast.AST) -> Iterator[str]:
    """Yield the names of the variables that are assigned anywhere in a tree, loops and `with` included."""
    return (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def _members(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the methods of all classes, of the attributes set in them, and `backward`, in this file.

    Classes that extend one of torch's are left out.
    """
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, ast.ClassDef):
            inside = not _extends_torch(node)
            yield from ["backward"] * inside
        elif inside and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif inside and isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Store):
            yield node.attr if isinstance(node, ast.Attribute) else node.id
        waiting += [(child, inside) for child in ast.iter_child_nodes(node)]


def _extends_torch(definition: ast.ClassDef) -> bool:
    """Return whether a class extends torch's `Function`, whose `backward` its engine calls, `Module` or `Tensor`."""
    names = {getattr(base, "attr", getattr(base, "id", "")) for base in definition.bases}
    return any("Function" in name or name in {"Module", "Tensor"} for name in names)


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds, with the full name of what it is bound to.

    `import a.b` binds `a`; relative imports, as `from . import a`, are left out.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _local_names(part: ast.stmt) -> frozenset[str]:
    """Return the names that are local to a function or class: parameters, and names assigned or defined inside it.

    An assignment at top level has none, and a name that is declared `global` is none.
    """
    if isinstance(part, (ast.Assign, ast.AnnAssign)):
        return frozenset()
    names = {node.arg for node in ast.walk(part) if isinstance(node, ast.arg)} | {*_assigned_names(part)}
    names |= {
        node.name for node in ast.walk(part) if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node is not part
    }
    return frozenset(names.difference(*(node.names for node in ast.walk(part) if isinstance(node, ast.Global))))


def _free_names(part: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement reads and that are not local to it."""
    local = _local_names(part)
    for node in ast.walk(part):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in local:
            yield node.id


def _is_constant(constant: bool, value: ast.expr) -> bool:
    """Return whether an expression is the literal `True` if `constant` is true, or the literal `False` if it is not."""
    return isinstance(value, ast.Constant) and value.value is constant
