"""Answer a job in the child: load one learner's cells, call their function, report facts. It knows no exercise.

A job says which function to call with which arguments; the reply says what was returned, stored, printed and
raised, and what it cost. There is no verdict in it, and no way to express one.

The header of a job has the keys `cells` (texts), `filename`, `function` (a name), `modules` (the texts of other files
by the names of their modules), `time_limit` and `cell_limit` in seconds, `memory_limit` in MiB, and `calls`; it may
have `watched`, one more call. A call has `arguments`, pairs of a name and a description such as `{"tensor": 0, "g": 1}`
with the numbers of arrays, and `meter`, whether its cost is measured; it may have `huge` (bytes), `nudges` and `after`.
"""

from __future__ import annotations
import __future__

import ast
import math
import os
import sys
import traceback
import tracemalloc
import types
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import chain, groupby
from os import _exit  # learner code may have another in its place
from typing import Any, NoReturn

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import ipython_cells, protocol
from .call_arguments import function_of, group_arguments
from .clock import LATER, Clock, OutOfTime
from .difference_watch import DifferenceWatch, TooManyArrays
from .learner_imports import Absent, PassedOver, absence, learner_imports, unusual_imports
from .linux_calls import return_freed_blocks
from .no_autograd import AutogradUsed, forbid_autograd
from .reply_facts import CappedText, Facts, ReplyArrays, attribute_facts, capture_output, error_facts, value_facts

MOST_ENTRIES = {"defined": 16, "failed": 100, "ignored": 100, "unusual": 100}  # of each fact in a reply
IMPORT_STATEMENTS = (ast.Import, ast.ImportFrom)
# Names that notebooks use without an import, and the package that each belongs to.
NOTEBOOK_NAMES = {"check": "handgrad", "score": "handgrad", "get_ipython": "IPython", "display": "IPython"}
LARGE = 128 << 10  # bytes: where C's allocator begins, which raises it as memory is freed
Send = Callable[[protocol.Frame], object]


def answer(job: protocol.Frame, send: Send | None = None) -> protocol.Frame:
    """Run a job, or several that were sent together, and return the reply.

    Args:
        job: a header with the keys that this module's docstring lists, and the arrays that the arguments are made of;
            or `{"together": headers}`, for several jobs that share the arrays.
        send: sends a reply. It is called if learner code never returns, and then this process ends. Without it, and for
            jobs sent together, such code is left to the limits on the process.
    """
    sent = ReplyArrays()
    if "together" in job.header:
        facts = {"together": [_job_facts(header, job.arrays, sent) for header in job.header["together"]]}
    else:
        facts = _job_facts(job.header, job.arrays, sent, send)
    return protocol.Frame(facts, sent.arrays)


def _job_facts(
    header: Mapping[str, Any], inputs: Sequence[np.ndarray], sent: ReplyArrays, send: Send | None = None
) -> Facts:
    """Run one job, and return its facts as JSON data: {"calls": [...], "printed": "...", "defined": [...], ...}.

    Args:
        header: the header of the job, with `cells`, `function`, `calls` and so on.
        inputs: the arrays of the job.
        sent: receives the arrays of the reply.
        send: sends a reply, if learner code never returns; `None` to leave such code to the limits.
    """
    if header.get("tight_memory"):  # free memory between allocations may not count as used
        return_freed_blocks(LARGE)
    folder = header["filename"].rpartition("/")[0]
    imports = learner_imports(header.get("modules", {}), f"{folder}/" if folder else "", _run_text)
    with capture_output() as printed, imports:
        return _Job(header, inputs, sent, printed, send).facts()


class _Job:
    """Run one job; the facts of the calls made so far can be sent at any moment.

    Args:
        header: the header of the job: `cells`, `function`, `calls`, each with its `arguments`, and so on.
        inputs: the arrays that the arguments are made of.
        sent: receives the arrays of the reply.
        printed: collects what the code prints.
        send: sends the reply if learner code never returns.
    """

    def __init__(
        self, header: Mapping[str, Any], inputs: Sequence[np.ndarray], sent: ReplyArrays, printed: CappedText,
        send: Send | None,
    ) -> None:  # fmt: skip
        """Prepare the job without running anything.

        `header` describes the job, and `inputs` are the arrays that came with it; `sent` collects the arrays of the
        reply, and `printed` the printed text; `send`, unless `None`, sends a reply when learner code never returns.
        """
        self.header, self.inputs, self.sent, self.printed, self.send = header, inputs, sent, printed, send
        self.clock = Clock(header["time_limit"], None if send is None else self._give_up)
        self.facts_so_far: Facts = {"calls": []}
        self.call: _ObservedCall | None = None

    def facts(self) -> Facts:
        """Run the code, make all calls, and return the facts of the job as JSON data.

        They are `calls`, the facts of each call; `error`, the exception that ended the calls, if there was one;
        `printed`, a text; and what loading the code adds, such as `defined`, the names of its functions.
        """
        filename = self.header["filename"]
        with self.clock:
            try:
                function = _load_function(self.header, self.facts_so_far, self.clock)
                if function is not None:
                    texts = [*self.header["cells"], *self.header.get("modules", {}).values()]
                    with warnings.catch_warnings(), forbid_autograd(texts):
                        self._make_calls(function)
                    _add_unusual_imports(self.header.get("modules", {}), self.facts_so_far)
            except BaseException as error:  # whatever learner code raises is a fact to report
                if len(self.facts_so_far["calls"]) < len(
                    self.header["calls"]
                ):  # an error after them concerns no answer
                    loading = not self.facts_so_far["calls"]
                    self.facts_so_far["error"] = error_facts(error, filename, loading=loading, run=self.clock.run)
        return {**self.facts_so_far, "printed": self.printed.text()}

    def _make_calls(self, function: Callable[..., Any]) -> None:
        """Make the calls that have no facts yet; after a timeout, each has a small time limit of its own."""
        calls, filename = self.facts_so_far["calls"], self.header["filename"]
        for call in self.header["calls"][len(calls) :]:
            if any(_is_timeout(earlier) for earlier in calls):
                self.clock.extend(self.header["time_limit"] * LATER / len(self.header["calls"]))
            self.call = _ObservedCall(function, call, self.inputs, filename)
            calls.append(self.call.facts(self.call.run(self.clock), self.sent))
            self.printed.stop_keeping()
        if "watched" in self.header:
            self.call = _ObservedCall(function, self.header["watched"], self.inputs, filename)
            watched = self.call.facts(self.call.run(self.clock), ReplyArrays())
            self.facts_so_far |= {} if _is_timeout(watched) else {"nudged": watched["nudged"]}

    def _give_up(self, error: OutOfTime) -> NoReturn:
        """Record the timeout of a call that catches every exception, make the other calls, send the reply, and exit.

        Args:
            error: the first exception that the call caught.
        """
        assert self.send is not None
        calls, expected = self.facts_so_far["calls"], len(self.header["calls"])
        if self.call is None:
            self.facts_so_far["error"] = error_facts(error, self.header["filename"], loading=True)
        elif len(calls) < expected:
            stuck = self.call
            calls.append(stuck.facts(error_facts(error, self.header["filename"]), self.sent))
            self._make_calls(stuck.function)
        self.send(protocol.Frame({**self.facts_so_far, "printed": self.printed.text()}, self.sent.arrays))
        _exit(0)


def _load_function(header: Mapping[str, Any], facts: Facts, clock: Clock) -> Callable[..., Any] | None:
    """Run the cells of a job and return the function that the job names; `None` if they do not define it.

    Their module stays in `sys.modules`. Of each fact, at most as many entries are kept as `MOST_ENTRIES` says.

    Args:
        header: the job: `cells`, `filename`, `function`, `cell_limit` and `modules`.
        facts: receives `defined`, `failed`, `ignored`, `unusual` imports, and `stub` where there is a function.
        clock: limits each cell's time.

    Raises:
        BaseException: whatever a file raises; of a notebook's cells, only what a cell raises when the time of the job
            has passed, as any other failure is entered in the facts.
    """
    facts |= {name: [] for name in MOST_ENTRIES}
    # Cells may import a file that is called like the function: their own module has a name that cannot be imported.
    is_imported = header["function"] in header.get("modules", {})
    module = types.ModuleType(f"{header['function']} in cells" if is_imported else header["function"])
    sys.modules[module.__name__] = module  # for learner code that pickles its objects or reads annotations
    limit = header["cell_limit"]
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
            for name, most in MOST_ENTRIES.items():
                del facts[name][most:]
    clock.allow(None)
    function = names.get(header["function"])
    return function if callable(function) and not isinstance(function, PassedOver) else None


def _add_unusual_imports(own: Mapping[str, str], facts: Facts) -> None:
    """Add to the facts the imports, in the submission's other files, of modules that a graded run does not have.

    Only files that were imported are searched.

    Args:
        own: the texts of the other files, by the names of their modules.
        facts: has and receives `unusual`.
    """
    for name in own.keys() & sys.modules.keys():
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # reported when it is imported
            imports = unusual_imports(own[name], ast.parse(own[name]), own)
            facts["unusual"] += [{**unusual, "file": f"{name}.py"} for unusual in imports]
    del facts["unusual"][MOST_ENTRIES["unusual"] :]


def _run_cell(
    header: Mapping[str, Any], number: int, line_offset: int, names: dict[str, Any], facts: Facts, clock: Clock
) -> None:
    """Run one cell; add its ignored lines, functions, unusual imports and whether the function is a stub to `facts`.

    Args:
        header: the job.
        number: the index of the cell among the job's `cells`.
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


def _run_text(text: str, filename: str, names: dict[str, Any]) -> None:
    """Run the text of another file of the submission, which learner code imports.

    Lines that only IPython reads, and statements that a graded run cannot run, are passed over.

    Args:
        text: the source of the file.
        filename: the path of the file, for tracebacks.
        names: the namespace of the file's module; it gets stand-ins for names that only a notebook has, as `display`.
    """
    names.update({name: value for name, value in _notebook_names().items() if name not in names})
    run_statements(ipython_cells.parse(text, 0, filename).tree, filename, names)


def _notebook_names() -> dict[str, PassedOver]:
    """Return stand-ins without effect for the names that only a notebook has, such as `display`, by name."""
    return {name: PassedOver(owner) for name, owner in NOTEBOOK_NAMES.items()}


def run_statements(tree: ast.Module, filename: str, names: dict[str, Any]) -> None:
    """Run the statements of a module; go on after a statement that a graded run cannot run.

    An import that fails binds its name to an `Absent`, which raises the reason when it is used. From a statement on
    that asks for autograd, such as a learner's own check, the statements are run one by one, and their errors ignored.

    Args:
        tree: the module; its line numbers are those of the source.
        filename: the path of the source, for tracebacks.
        names: the namespace to run it in.

    Raises:
        Exception: whatever any other statement raises.
    """
    flags, ignores_errors, waiting = 0, False, iter(_import_parts(tree.body))
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
            alias = part[0].names[0] if isinstance(part[0], IMPORT_STATEMENTS) else None
            if isinstance(error, ImportError) and alias and alias.name != "*":  # whose names are not known
                names[(alias.asname or alias.name).split(".")[0]] = Absent(absence(error))
            elif not ignores_errors:
                raise


def _import_parts(statements: Sequence[ast.stmt]) -> list[list[ast.stmt]]:
    """Return the statements in parts: each imported name is a part, and so are the statements between two imports.

    If one name cannot be imported, the others of its statement still can. The parts are returned as a list, because
    Python prints a message where the time limit ends a generator.
    """
    parts = list[list[ast.stmt]]()
    for is_import, group in groupby(statements, lambda statement: isinstance(statement, IMPORT_STATEMENTS)):
        if is_import:
            for statement in group:
                aliases = vars(statement)["names"]
                parts += [[type(statement)(**vars(statement) | {"names": [alias]})] for alias in aliases]
        else:
            parts.append(list(group))
    return parts


def _is_timeout(facts: Facts) -> bool:
    """Return whether the facts of a call have a `timeout` as `error`: {"error": {"kind": "timeout", ...}, ...}."""
    return "error" in facts and facts["error"]["kind"] == "timeout"


class _ObservedCall:
    """Call the learner's function once, and observe it.

    Args:
        function: the learner's function.
        call: one of the job's `calls`: `arguments`, pairs of a name and a description; `meter`, whether the cost is
            measured; and, where they are given, `huge`, `nudges` and `after`.
        inputs: the arrays that the arguments are made of.
        filename: the path of the learner's source.

    Attributes:
        arguments: what the function is called with, by name.
        tensors: the arrays of the tensor arguments, which share their memory.
        before: a copy of each argument that is compared after the call.
        returned: what the function returned; `None` before that.
    """

    def __init__(self, function: Callable[..., Any], call: Facts, inputs: Sequence[np.ndarray], filename: str) -> None:
        """Build the arguments that `call` describes from the arrays `inputs`, and copies to compare with them later.

        `filename` is the path of the learner's source.
        """
        self.function, self.filename, self.returned = function, filename, None
        self.arguments = {name: _build_argument(value, inputs) for name, value in call["arguments"]}
        self.tensors = {name: inputs[value["tensor"]] for name, value in call["arguments"] if "tensor" in value}
        tensors, compared = self.tensors, call["arguments"] if call.get("after", True) else ()
        self.before = {
            name: tensors[name].copy() if name in tensors else _build_argument(value, inputs)
            for name, value in compared
        }
        self.meter = CostMeter(call.get("huge") or math.inf)
        self.is_metered = call["meter"]
        self.watch = DifferenceWatch({name: self.before[name] for name in tensors}) if call.get("nudges") else None

    def run(self, clock: Clock) -> Facts | None:
        """Call the function; return the facts of the exception that ended the call, or `None` if there was none.

        What the function returns is kept in `returned`. Torch's default dtype becomes that of the first floating-point
        tensor among the arguments, or float32.
        """
        floating = (self.arguments[name].dtype for name in self.tensors if self.arguments[name].is_floating_point())
        torch.set_default_dtype(next(floating, torch.float32))  # so that `torch.zeros(...)` without one fits
        try:
            warnings.simplefilter("ignore")
            meter = self.meter if self.is_metered else nullcontext()
            with meter, self.watch or nullcontext(), suppress(TooManyArrays):
                self.returned = clock.run(self.function, *group_arguments(self.arguments).values())
        except BaseException as error:  # whatever learner code raises is a fact to report
            return error_facts(error, self.filename, run=clock.run)
        return None

    def facts(self, error: Facts | None, sent: ReplyArrays) -> Facts:
        """Return the facts of the call: what it returned, stored on its arguments and changed in them, and its cost.

        Args:
            error: the facts of the exception that ended the call; `None` if there was none.
            sent: receives the arrays.
        """
        arguments, from_huge = self.arguments, self.meter.from_huge
        facts: Facts = {} if error is None else {"error": error}
        facts["returned"] = value_facts(self.returned, sent)
        facts["stored"] = {name: attribute_facts(arguments[name], sent) for name in self.tensors}
        changed = (name for name, copy in self.before.items() if not _is_same(arguments[name], copy))
        facts["after"] = {name: value_facts(arguments[name], sent) for name in changed}
        facts["work"], facts["peak"] = self.meter.work, self.meter.peak
        if self.watch is not None:
            stored = {name: vars(arguments[name]).get("g") for name in self.tensors}
            facts["nudged"] = {
                name: {"smallest": abs(steps[0]), "largest": abs(steps[-1]), "is_imaginary": steps[-1].real == 0}
                for name, steps in self.watch.measuring_steps(stored, self.returned).items()
            }
        facts["from_huge"] = [
            name for name in self.tensors if from_huge and _gradient_storage(arguments[name]) in from_huge
        ]
        return facts


def _gradient_storage(argument: torch.Tensor) -> int | None:
    """Return the address of the storage of an argument's `.g`; `None` unless it is a strided tensor."""
    gradient = vars(argument).get("g")
    is_strided = isinstance(gradient, torch.Tensor) and gradient.layout is torch.strided
    return gradient.untyped_storage()._cdata if is_strided else None  # type: ignore[union-attr]


def _build_argument(value: Facts, inputs: Sequence[np.ndarray]) -> Any:
    """Build one argument: a tensor with its `.g`, a function from its source, a dtype, or a literal.

    Args:
        value: the description of the argument in the job: {"tensor": 0, "g": None}, {"function": "lambda x: 2 * x"},
            {"dtype": "float32"} or {"literal": "[1, 2]"}.
        inputs: the arrays of the job; a tensor and its `.g` are named by their indices.
    """
    if "tensor" in value:
        tensor = torch.from_numpy(inputs[value["tensor"]])
        if value["g"] is not None:
            tensor.g = torch.from_numpy(inputs[value["g"]])  # type: ignore[attr-defined]
        return tensor
    if "function" in value:
        return function_of(value["function"])
    if "dtype" in value:
        return getattr(torch, value["dtype"])
    return ast.literal_eval(value["literal"])


def _is_same(argument: Any, copy: Any) -> bool:
    """Return whether an argument still equals the copy that was made before the call.

    A tensor, whose copy is an array, is compared bit for bit; functions are compared by code, defaults and attributes.
    """
    if isinstance(copy, np.ndarray):
        with suppress(Exception):  # a tensor that cannot be compared any more has changed
            array = torch.Tensor.detach(argument).numpy()
            return (array.dtype, array.shape, array.tobytes()) == (copy.dtype, copy.shape, copy.tobytes())
        return False
    if isinstance(copy, types.FunctionType):
        is_same_code = (argument.__code__, argument.__defaults__) == (copy.__code__, copy.__defaults__)
        return is_same_code and vars(argument) == vars(copy)
    return bool(argument == copy)


class CostMeter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Measure, within this context, how many elements operations write and how much memory they hold at once.

    Args:
        huge: bytes that are too much to be held at once.

    Attributes:
        work: elements written by tensor operations, views not counted.
        peak: the most bytes of tensors and of memory traced by Python (numpy's included) held at once.
        held: bytes of the tensors that are alive.
        alive: the bytes of each storage that is alive, by its address, in the order of their creation.
        from_huge: the addresses of the storages that made the memory too much, and of all that was computed from them.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return `False`, which tells torch not to wrap this mode for its compiler."""
        return False  # wrapping for dynamo would import all of it, a second on first use

    def __init__(self, huge: float = math.inf) -> None:
        """Begin with nothing counted.

        Args:
            huge: the number of bytes which must not be held at once.
        """
        super().__init__()  # type: ignore[no-untyped-call]
        self.huge, self.work, self.peak, self.held = huge, 0, 0, 0
        self.from_huge, self.alive = set[int](), dict[int, int]()

    def __enter__(self) -> CostMeter:
        """Begin to count operations and to trace Python's memory."""
        tracemalloc.start()
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *raised: Any) -> None:
        """Stop counting, and add the peak of Python's memory to that of the tensors."""
        super().__exit__(*raised)  # type: ignore[no-untyped-call]
        self.peak += tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation of torch, and count the storages of its result that are not those of its arguments."""
        options = kwargs or {}
        argument_storages = {tensor.untyped_storage()._cdata for tensor in _strided_tensors((*args, *options.values()))}
        result = func(*args, **options)
        is_from_huge = not argument_storages.isdisjoint(self.from_huge)
        for tensor in _strided_tensors(result):
            if tensor.untyped_storage()._cdata not in argument_storages:
                self._count(tensor)
            if is_from_huge:
                self.from_huge.add(tensor.untyped_storage()._cdata)
        return result

    def _count(self, tensor: torch.Tensor) -> None:
        """Add a result of an operation to `work`, and its storage, if it is new, to `alive`, `held` and `peak`."""
        storage = tensor.untyped_storage()
        self.work += tensor.numel()
        if storage._cdata not in self.alive:
            self.alive[storage._cdata] = storage.nbytes()
            self.held += storage.nbytes()
            weakref.finalize(storage, self._forget, storage._cdata)
            if self.held >= self.huge > self.held - storage.nbytes():  # it has just become too much
                self._blame_latest_storages()
        self.peak = max(self.peak, self.held)

    def _blame_latest_storages(self) -> None:
        """Add the latest storages to the set `from_huge`, until the added ones hold half of the limit `huge`, in bytes.

        The exercise's answer is blamed for the storages in this set. Those made before may belong to another answer.
        """
        total = 0
        for storage, size in reversed(self.alive.items()):
            self.from_huge.add(storage)
            total += size
            if total >= self.huge / 2:
                return

    def _forget(self, storage: int) -> None:
        """Stop counting the storage at this address, which torch has freed."""
        self.held -= self.alive.pop(storage, 0)
        self.from_huge.discard(storage)


def _strided_tensors(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in the arguments or the result of an operation whose layout is strided, which have a storage.

    Args:
        value: a tensor, or tuples and lists of tensors; any other value is ignored.
    """
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _strided_tensors(item)
    elif isinstance(value, torch.Tensor) and value.layout is torch.strided:
        yield value
