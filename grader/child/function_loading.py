"""Run a learner's cells in one namespace, in their order, and find the function that they define."""

from __future__ import annotations
import __future__

import ast
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, groupby
from typing import Any

from . import ipython_cells
from .clock import Clock
from .learner_imports import Absent, PassedOver, absence, unusual_imports
from .no_autograd import AutogradUsed
from .reply_facts import Facts, error_facts

MOST = {"defined": 16, "failed": 100, "ignored": 100, "unusual": 100}  # entries of each fact in a reply
IMPORTS = (ast.Import, ast.ImportFrom)
# Names that notebooks use without an import, and the package that each belongs to.
NOTEBOOK = {"check": "handgrad", "score": "handgrad", "get_ipython": "IPython", "display": "IPython"}


def load_function(header: Mapping[str, Any], facts: Facts, clock: Clock) -> Callable[..., Any] | None:
    """Run the cells of a job and return the function that the job names; `None` if they do not define it.

    Args:
        header: the job: `cells`, `filename`, `function`, `cell_limit` and `modules`.
        facts: receives `defined`, `failed`, `ignored`, `unusual` imports, and `stub` where there is a function.
        clock: limits each cell's time.

    Raises:
        BaseException: a file raised it (only the cells of a notebook have a time limit each, and may fail), or a cell
            raised it when all of the time had passed.
    """
    facts |= {name: [] for name in MOST}
    module, limit = types.ModuleType(header["function"]), header["cell_limit"]
    sys.modules[header["function"]] = module  # for learner code that pickles its objects or reads annotations
    names = vars(module)
    names.update(_notebook_names(), __file__=header["filename"])
    if limit is not None:
        vars(os).update(_exit=sys.exit, abort=sys.exit)  # one cell does not end the others
    for number, before in enumerate(ipython_cells.line_offsets(header["cells"])):
        try:
            clock.allow(limit)
            _run_cell(header, number, before, names, facts, clock)
        except BaseException as error:
            if limit is None or clock.is_over():
                raise
            facts["failed"].append(
                {"cell": number, "error": error_facts(error, header["filename"], loading=True, run=clock.run)}
            )
        finally:
            for name, most in MOST.items():
                del facts[name][most:]
    clock.allow(None)
    function = names.get(header["function"])
    return function if callable(function) and not isinstance(function, PassedOver) else None


def add_unusual_imports(own: Mapping[str, str], facts: Facts) -> None:
    """Add the unusual imports in the submission's other files to the facts, once these files were imported.

    Args:
        own: the texts of these files by the names of their modules.
        facts: has and receives `unusual`.
    """
    for name in own.keys() & sys.modules.keys():
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # reported when it is imported
            imports = unusual_imports(own[name], ast.parse(own[name]), own)
            facts["unusual"] += [{**unusual, "file": f"{name}.py"} for unusual in imports]
    del facts["unusual"][MOST["unusual"] :]


def _run_cell(
    header: Mapping[str, Any], number: int, line_offset: int, names: dict[str, Any], facts: Facts, clock: Clock
) -> None:
    """Run one cell; add its ignored lines, functions, unusual imports and whether the function is a stub to `facts`.

    Args:
        header: the job.
        number: the cell's index.
        line_offset: the number of lines in the cells before it.
        names: the namespace that all cells share.
        facts: has and receives `ignored`, `defined`, `unusual` and `stub`.
        clock: interrupts the cell when its time has passed.
    """
    cell, filename, function = header["cells"][number], header["filename"], header["function"]
    parsed = ipython_cells.parse(cell, line_offset, filename)
    facts["ignored"] += parsed.ignored
    facts["defined"] += [node.name for node in parsed.tree.body if isinstance(node, ast.FunctionDef)]
    facts["unusual"] += unusual_imports(cell, parsed.tree, header.get("modules", {}))
    former = names.get(function)
    try:
        clock.run(run_statements, parsed.tree, filename, names)
    finally:
        if names.get(function) is not former:
            definitions = {getattr(node, "name", ""): node for node in parsed.tree.body}
            facts["stub"] = ipython_cells.is_stub(definitions.get(function))


def run_text(text: str, filename: str, names: dict[str, Any]) -> None:
    """Run a file of the submission that is imported.

    Args:
        text: its source.
        filename: its path, for tracebacks.
        names: the namespace of its module.
    """
    names.update({name: value for name, value in _notebook_names().items() if name not in names})
    run_statements(ipython_cells.parse(text, 0, filename).tree, filename, names)


def _notebook_names() -> dict[str, PassedOver]:
    """Return stand-ins without effect for the names that a notebook's cells can use undefined, such as `display`."""
    return {name: PassedOver(owner) for name, owner in NOTEBOOK.items()}


def run_statements(tree: ast.Module, filename: str, names: dict[str, Any]) -> None:
    """Run the statements of a module; go on after those that a graded run cannot run.

    The name of an import that fails is bound to an `Absent`, which raises the reason when it is used. After a statement
    that asks for autograd, such as a learner's own check, the next ones are run one by one, and their errors ignored.

    Args:
        tree: the module; its line numbers are those of the source.
        filename: its path, for tracebacks.
        names: the namespace to run it in.

    Raises:
        Exception: whatever a statement raises, unless it is one of these cases.
    """
    flags, ignores_errors, waiting = 0, False, _import_parts(tree.body)
    while part := next(waiting, None):
        code = compile(ast.Module(part, []), filename, "exec", flags, dont_inherit=True)
        flags |= code.co_flags & __future__.annotations.compiler_flag
        try:
            exec(code, names)
        except AutogradUsed as error:
            line = traceback.extract_tb(error.__traceback__)[1].lineno or 0  # of the learner: the frame below this
            ignores_errors = True
            waiting = iter([[statement] for statement in chain(part, *waiting) if statement.lineno > line])
        except Exception as error:
            alias = part[0].names[0] if isinstance(part[0], IMPORTS) else None
            if isinstance(error, ImportError) and alias and alias.name != "*":  # whose names are not known
                names[(alias.asname or alias.name).split(".")[0]] = Absent(absence(error))
            elif not ignores_errors:
                raise


def _import_parts(statements: Sequence[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Yield the statements in parts: each imported name is one, and the statements between imports are one.

    If one name cannot be imported, the others of its statement still can.
    """
    for is_import, group in groupby(statements, lambda statement: isinstance(statement, IMPORTS)):
        if is_import:
            for statement in group:
                aliases = vars(statement)["names"]
                yield from ([type(statement)(**vars(statement) | {"names": [alias]})] for alias in aliases)
        else:
            yield list(group)
