"""Runs a learner's cells in one namespace, in their order, and finds the function that they define."""

from __future__ import annotations
import __future__

import ast
import os
import sys
import traceback
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from . import ipython_cells
from .clock import Clock
from .failures import error_facts
from .no_autograd import AutogradUsed

MOST_NAMES, MOST_FAILED = 16, 100
NOTEBOOK = ("check", "score")
Facts = dict[str, Any]


class _Silent:
    """Stands for `check`, `score` and whatever else a notebook gets from the grader: it does nothing here."""

    def __call__(self, *_args: object, **_kwargs: object) -> None: ...

    def __getattr__(self, _name: str) -> _Silent:
        return self


SILENT = _Silent()


def load_function(header: Mapping[str, Any], facts: Facts, clock: Clock) -> Callable[..., Any] | None:
    """Run the cells of a job; the function that it names, if they made one.

    Args:
        facts: what is found is entered here: `defined`, `failed`, `ignored`, and `stub` where there is a function.

    Raises:
        BaseException: whatever a file raises (its cells have no limit of their own), or all of the time has passed.
    """
    facts |= {"defined": [], "failed": [], "ignored": []}
    namespace, limit = _CellNamespace.of(header["function"], header["filename"]), header["cell_limit"]
    if limit is not None:
        vars(os).update(_exit=_refuse_to_exit, abort=_refuse_to_exit)  # one cell does not end the others
    for number, before in enumerate(ipython_cells.line_offsets(header["cells"])):
        try:
            clock.allow(limit)
            namespace.run(header["cells"][number], before, facts)
        except BaseException as error:
            if limit is None or clock.is_over():
                raise
            facts["failed"].append({"cell": number, "error": error_facts(error, namespace.filename, loading=True)})
        del facts["failed"][MOST_FAILED:], facts["ignored"][MOST_FAILED:], facts["defined"][MOST_NAMES:]
    clock.allow(None)
    function = namespace.names.get(namespace.function)
    return function if callable(function) and function is not SILENT else None


def _refuse_to_exit(*_code: object) -> NoReturn:
    """Stands for what would end the process at once."""
    raise SystemExit


@dataclass(frozen=True)
class _CellNamespace:
    """The namespace in which cells are run.

    Args:
        function: the name of the function that is looked for.
        filename: what tracebacks call the learner's source.
    """

    function: str
    filename: str
    names: dict[str, Any]

    @classmethod
    def of(cls, function: str, filename: str) -> _CellNamespace:
        """A module of its own, so that what learners pickle or annotate finds its names."""
        module = types.ModuleType(function)
        module.__file__ = filename
        sys.modules[function] = module
        vars(module).update(dict.fromkeys(NOTEBOOK, SILENT))
        return cls(function, filename, vars(module))

    def run(self, cell: str, before: int, facts: Facts) -> None:
        """Run one cell; what it says of the function counts if it is this cell that makes it."""
        parsed = ipython_cells.parse(cell, before, self.filename)
        facts["ignored"] += parsed.ignored
        facts["defined"] += [node.name for node in parsed.tree.body if isinstance(node, ast.FunctionDef)]
        known = self.names.get(self.function)
        try:
            self._execute(parsed.tree)
        finally:
            if self.names.get(self.function) is not known:
                made = [node for node in parsed.tree.body if getattr(node, "name", "") == self.function]
                facts["stub"] = any(ipython_cells.is_stub(node) for node in made[-1:])

    def _execute(self, tree: ast.Module) -> None:
        """Where nothing can differentiate, a learner's check at top level is passed over, not its whole cell."""
        tree.body = [statement for statement in tree.body if not self._is_for_notebooks(statement)]
        code = compile(tree, self.filename, "exec", dont_inherit=True)
        try:
            exec(code, self.names)
        except AutogradUsed as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno or 0 for frame in frames if frame.filename == self.filename]
            future = code.co_flags & __future__.annotations.compiler_flag
            for statement in tree.body:
                if statement.lineno > max(lines[:1], default=0):
                    rest = compile(ast.Module([statement], []), self.filename, "exec", future, dont_inherit=True)
                    with suppress(Exception):
                        exec(rest, self.names)

    def _is_for_notebooks(self, statement: ast.stmt) -> bool:
        """An import of what the grader gives to notebooks, and this process does not have: its names do nothing."""
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").split(".")[0] == "grader":
            module = sys.modules.get(statement.module or "")
            absent = [alias for alias in statement.names if not hasattr(module, alias.name)]
        elif isinstance(statement, ast.Import):
            theirs = [alias for alias in statement.names if alias.name.split(".")[0] == "grader"]
            absent = [alias for alias in theirs if alias.name not in sys.modules]
        else:
            return False
        self.names.update({alias.asname or alias.name.split(".")[0]: SILENT for alias in absent})
        return bool(absent)
