"""Records a forward pass as a program: it is run once, and each torch operation on recorded values becomes a node.

What is written in place is recorded as if it had been collected: a write remembers the region of the memory that it
fills, and a read of exactly that region gets the value that was written. Only a read of several regions makes a node,
`write`, which puts all parts together. So `states[t] = h` gives the same edges as `states.append(h)` and
`torch.stack(states)`: the next iteration and the output stay two uses of one value.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import linecache
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import CodeType
from typing import NamedTuple, NoReturn

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from .calls import Arguments, Function, Keywords, TorchCall, function_name, is_complex, read_call
from .composites import COMPOSITES, has_special_numbers
from .constants import ConstantCall, Constants
from .forward import INPUT, Forward, Key, Node
from .operation import OPERATIONS, Array, Operand, Operation, Options
from .program import Program
from .rearrangement import Slot

HERE, TORCH = os.path.dirname(__file__) + os.sep, os.path.dirname(torch.__file__) + os.sep
METHODS = (TORCH + "_tensor.py", TORCH + "overrides.py")  # through which every `1 - x` goes, wherever it stands
EXPLAIN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "explain") + os.sep  # runs what it explains
LONGEST_TEXT = 40  # of an expression in a message
MODULES = re.compile(r"\btorch\.(?:nn\.functional|linalg|special)\.")

# What gives the same value again, perhaps in another dtype; what takes of a value its shape and dtype alone; and so on.
SAME_VALUE = {"clone", "contiguous", "positive", "__pos__", "cpu", "double", "float", "to", "type", "type_as", "half",
              "bfloat16", "bool", "int", "long"}  # fmt: skip
CONSTANT = {"zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty",
            "new_tensor"}  # fmt: skip
OBSERVING = {"item", "tolist", "__bool__", "__int__", "__float__", "__index__", "equal", "allclose", "is_nonzero",
             "__contains__"}  # fmt: skip
OUTSIDE = {"numpy", "__array__", "__dlpack__"}
RANDOM = {"bernoulli", "bernoulli_", "multinomial", "normal_", "uniform_", "rrelu", "gumbel_softmax", "alpha_dropout",
          "rand_like", "randn_like", "randint_like",
          "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout", "feature_dropout"}  # fmt: skip
DRAWING = RANDOM | {"rand", "randn", "randint", "randperm", "normal", "poisson"}  # also of no recorded value
ASSIGNING = {"copy_", "fill_", "zero_"}


class Unrecordable(ValueError):
    """Signals that a forward pass cannot be recorded as a program, such as one that draws random numbers."""

    def __init__(self, reason: str, line: int = 0, text: str = "") -> None:
        """Store why, and where, the forward pass cannot be recorded.

        Args:
            reason: what the forward pass does: "`x.numpy()` takes a value out of torch".
            line: the line of the source that does it; 0 where that is not known.
            text: the expression in that line.
        """
        super().__init__(f"line {line}: {reason}" if line else reason)
        self.reason, self.line, self.text = reason, line, text


def record(
    forward: Callable[..., object],
    inputs: Mapping[str, object],
    upstream: object = None,
    *,
    targets: Sequence[str] = (),
    output_name: str = "out",
    upstream_name: str = "out.g",
) -> Program:
    """Run a forward pass once, and return it as a program with its right backward pass.

    For `record(lambda x, w: x @ w, {"x": x, "w": w})`: a program with two inputs, a node for `x @ w`, which is the only
    output, and the targets x and w.

    Args:
        forward: takes the inputs by name; returns a tensor; a sequence of tensors, of which the floating-point ones are
            the outputs; or a mapping of named values, the last of which is the output.
        inputs: tensors and arrays, lists of them, and anything else by name. Plain numbers are passed on as they are,
            so that a number that remembers its name is found in `Node.values` again.
        upstream: the upstream gradient: a tensor or an array shaped like the output, or a sequence with one for each
            output; ones by default.
        targets: the named values whose gradients are asked for, besides those of all floating-point inputs.
        output_name: what a learner calls the output.
        upstream_name: what a learner calls the upstream gradient; empty where none is given.

    Raises:
        Unrecordable: the forward pass does something that cannot be recorded. An exception of the forward pass itself
            is not caught.
        ValueError: an upstream gradient is not shaped like its output, or there is not one for each output.
    """
    recorder = _Recorder()
    given = {name: recorder.take_input(name, value) for name, value in inputs.items()}
    with torch.no_grad(), _without_custom_functions(), recorder:
        returned = forward(**given)
    named = dict(returned) if isinstance(returned, Mapping) else {}
    values = list(named.values())[-1:] if named else returned if isinstance(returned, (tuple, list)) else [returned]
    outputs = [value for value in values if isinstance(value, torch.Tensor) and value.is_floating_point()]
    if not outputs:
        raise Unrecordable("it returns no floating-point tensor")
    ids = tuple(recorder.read(value) for value in outputs)
    names = {recorder.read(value): name for name, value in named.items() if isinstance(value, torch.Tensor)}
    names |= {i: name for name, i in recorder.inputs.items()}
    asked = {name: i for name, i in recorder.inputs.items() if recorder.nodes[i].value.dtype.kind == "f"}
    asked |= {name: recorder.read(named[name]) for name in targets}
    upstreams = upstream if isinstance(upstream, (tuple, list)) else [upstream] * len(ids)
    gradients = tuple(
        np.ones(recorder.nodes[i].value.shape) if g is None else _array(g) for i, g in zip(ids, upstreams, strict=True)
    )
    for i, g in zip(ids, gradients, strict=True):
        if recorder.nodes[i].value.shape != g.shape:
            raise ValueError(
                f"the upstream gradient has the shape {g.shape}, and the output {recorder.nodes[i].value.shape}"
            )
    recorded = Forward(
        tuple(recorder.nodes), recorder.inputs, ids, asked, names, frozenset(recorder.observed), recorder.constants
    )

    def with_number(name: str, number: float) -> Program:
        """Record the forward pass with another number as the input of a name."""
        changed = {**inputs, name: number}
        return record(forward, changed, upstream, targets=targets, output_name=output_name, upstream_name=upstream_name)

    numbers = {name: value for name, value in inputs.items() if isinstance(value, int) and not isinstance(value, bool)}
    return Program(
        recorded,
        gradients,
        output_name=output_name,
        upstream_name=upstream_name,
        numbers=numbers,
        record_with_number=with_number,
    )


def _array(value: object) -> Array:
    """Return a tensor or an array as a new numpy array, in double precision if it holds floating-point numbers.

    Complex numbers become pairs: a last axis holds their real and their imaginary parts.
    """
    if isinstance(value, torch.Tensor):
        value = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
        array = value.detach().resolve_neg().numpy()
    else:
        array = np.asarray(value)
    return np.array(array, dtype=np.float64 if array.dtype.kind == "f" else array.dtype)


class SourceExpression(NamedTuple):
    """An expression in the source of a forward pass.

    Args:
        text: the source of the expression, such as `x @ w`; empty where there is no source.
        line: its line.
        variables: the variables that its value is assigned to: one, or one for each part that is unpacked; empty if
            none.
        is_returned: whether the function returns its value.
        call: the call of the author's function that it is executed in; empty in the forward pass itself.
    """

    text: str
    line: int
    variables: tuple[str, ...] = ()
    is_returned: bool = False
    call: str = ""

    def variable(self, number: int = 0) -> str:
        """Return the variable that a result of the expression is assigned to; empty where there is none.

        For `q, k = x.chunk(2)`: `q` for 0 and `k` for 1.

        Args:
            number: the number of the result, from 0.
        """
        return self.variables[number] if number < len(self.variables) else ""


@cache
def expression_at(code: CodeType, instruction: int) -> SourceExpression:
    """Return the piece of source whose value an instruction computes, with its line and what is done with the value.

    For `h = x @ w` and the instruction of `@`: the text `x @ w`, its line, and the variables ("h",). The text is empty
    where there is no source.

    Args:
        code: the code that is executed.
        instruction: the offset of the instruction, a frame's `f_lasti`.
    """
    begin, end, first, last = list(code.co_positions())[instruction // 2]
    line, following = begin or code.co_firstlineno, _following_instructions(code, instruction)
    variables, is_returned = _assigned_variables(following), following[:1] == [("RETURN_VALUE", None)]
    if begin is None or end is None or first is None or last is None:
        return SourceExpression("", line, variables, is_returned)
    lines = [linecache.getline(code.co_filename, number).encode() for number in range(begin, end + 1)]
    lines[-1] = lines[-1][:last]  # the columns are those of the encoded line
    lines[0] = lines[0][first:]
    text = " ".join(b" ".join(lines).decode(errors="replace").split())
    return SourceExpression(shorten(text), line, variables, is_returned)


def shorten(text: str) -> str:
    """Return an expression with about `LONGEST_TEXT` characters or less, in which `...` stands for the parts left out.

    `(inp - inp.mean(-1, keepdim=True)) / (var + 1e-5).sqrt()` becomes `(inp - ...) / (var + 1e-5).sqrt()`. The names of
    torch's modules, such as `torch.linalg.`, are left out first; then the smallest part that makes the text short
    enough; if there is none, the largest, and then further ones. A text that is no expression is cut off at its end. A
    long text of names alone stays as it is.

    Args:
        text: source code on one line.
    """
    short = text if len(text) <= LONGEST_TEXT else MODULES.sub("", text)
    while len(short) > LONGEST_TEXT:
        try:
            tree = ast.parse(short, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return short[: LONGEST_TEXT - 1] + "…"
        source = short.encode()  # the columns are those of the encoded line
        kept = (ast.Name, ast.Constant, ast.Attribute)  # names of methods among them
        parts = (node for node in ast.walk(tree) if isinstance(node, ast.expr) and node is not tree)
        places = [(part.col_offset, part.end_col_offset or 0) for part in parts if not isinstance(part, kept)]
        shorter = [source[:begin] + b"..." + source[end:] for begin, end in places if end - begin > len("...")]
        if not shorter:
            break
        fitting = [each.decode() for each in shorter if len(each.decode()) <= LONGEST_TEXT]
        short = max(fitting, key=len) if fitting else min(shorter, key=len).decode()
    return short.replace("....", "(...).")  # what a method is called on


def _following_instructions(code: CodeType, instruction: int) -> list[tuple[str, object]]:
    """Return the instructions of `code` after the one with the given offset, in order: [("STORE_FAST", "h"), ...].

    Each is a pair of its name and its argument, which is `None` for an instruction without any.
    """
    return [(i.opname, i.argval) for i in dis.get_instructions(code) if i.offset > instruction and i.opname != "CACHE"]


def _assigned_variables(following: list[tuple[str, object]]) -> tuple[str, ...]:
    """Return the variables that the value on top of the stack is assigned to by the instructions that follow.

    For `q, k = x.chunk(2)`: ("q", "k").

    Args:
        following: the instructions, each as its name and its argument: ("STORE_FAST", "q").

    Returns:
        One name, or one for each result that is unpacked; an empty tuple where the value is not assigned.
    """
    several = following[0][1] if following and following[0][0] == "UNPACK_SEQUENCE" else None
    count = several if isinstance(several, int) else 1
    names: list[str] = []
    for name, argument in following[several is not None :]:
        if not name.startswith("STORE_") or "SUBSCR" in name or len(names) >= count:
            break
        names += map(str, argument) if isinstance(argument, tuple) else [str(argument)]
    return tuple(names[:count]) if len(names) >= count else ()


def _frames() -> Iterator[tuple[CodeType, int]]:
    """Yield (code, offset of the current instruction) of each function that is being executed, the innermost first.

    The forward pass is the last. Functions of this package are left out, except those that write out a composite.
    """
    frame = sys._getframe()
    while frame is not None and frame.f_code is not record.__code__:
        if not frame.f_code.co_filename.startswith(HERE) or frame.f_code.co_filename.endswith("composites.py"):
            yield frame.f_code, frame.f_lasti
        frame = frame.f_back  # type: ignore[assignment]


def _current_position() -> tuple[tuple[tuple[str, int, int, int], ...], SourceExpression]:
    """Return where the forward pass is at this moment: the instructions being executed, and the current expression.

    The expression is the innermost one of a file that is neither of torch nor of this package, with its source text,
    line, and the variables that its value is assigned to. Where a function only returns the value, these are the
    variables that its call is assigned to, or the text of the call.

    Returns:
        The instructions, outermost first, each as the file, line and column where its function begins, and its offset,
        but for those of torch's methods; and the expression.
    """
    frames = list(_frames())
    own = [expression_at(*frame) for frame in frames if not frame[0].co_filename.startswith((HERE, TORCH, EXPLAIN))]
    expression, *callers = own or [SourceExpression("", 0)]
    variables, returned = expression.variables, expression.is_returned
    for caller in callers:
        if not returned or not caller.text:
            break
        variables, returned = caller.variables or (caller.text,), caller.is_returned
    executed = [frame for frame in reversed(frames) if frame[0].co_filename not in METHODS]
    instructions = tuple((*_function_start(code), at) for code, at in executed)
    return instructions, expression._replace(variables=variables, call=callers[0].text if callers else "")


@cache
def _function_start(code: CodeType) -> tuple[str, int, int]:
    """Return the file, line and column where a function begins; two lambdas on one line differ in the column."""
    columns = (position[2] for position in code.co_positions() if position[2])
    return code.co_filename, code.co_firstlineno, next(columns, 0)


def _unrecordable(reason: str) -> Unrecordable:
    """Return the exception which says that the expression being executed cannot be recorded, with its line.

    Args:
        reason: follows the expression in the message: "is random".
    """
    _, (text, line, *_) = _current_position()
    return Unrecordable(f"`{text}` {reason}", line, text)


@contextlib.contextmanager
def _without_custom_functions() -> Iterator[None]:
    """Make each call of a custom `torch.autograd.Function` inside the block raise `Unrecordable`.

    The backward pass of such a function need not be that of the operations that it calls.
    """

    def refuse(*_args: object, **_kwargs: object) -> NoReturn:
        """Raise the exception in place of the call."""
        raise _unrecordable("has a backward pass of its own")

    own = vars(torch.autograd.Function).get("apply")
    torch.autograd.Function.apply = staticmethod(refuse)  # type: ignore[method-assign]
    try:
        yield
    finally:
        if own is None:  # inherited from a class of torch that is written in C
            del torch.autograd.Function.apply
        else:
            torch.autograd.Function.apply = own  # type: ignore[method-assign]


@dataclass(eq=False)
class _Handle:
    """A tensor of the forward pass with the node whose value it has.

    Args:
        tensor: the tensor; while it is kept, no other one gets its identity.
        node: the id of the node.
        writes: the number of writes to the tensor's memory that are in the node's value already.
    """

    tensor: torch.Tensor
    node: int
    writes: int = 0


class _Write(NamedTuple):
    """A value that was written to memory.

    Args:
        region: the positions in the memory that its entries went to, shaped like the value.
        node: the id of the node with the value.
    """

    region: Array
    node: int


@dataclass(eq=False)
class _Memory:
    """Memory that was written to, and that several tensors may share.

    Args:
        tensor: one of these tensors; while it is kept, the memory is not given to anything else.
        before: the entries before the first write; shape: (entries,).
        writes: all writes, in order.
    """

    tensor: torch.Tensor
    before: Array
    writes: list[_Write] = field(default_factory=list)


class _Recorder(TorchFunctionMode):
    """Makes a node of every torch operation on a recorded value, while it is active as a context."""

    def __init__(self) -> None:
        """Begin with no nodes."""
        super().__init__()
        self.nodes: list[Node] = []
        self.inputs: dict[str, int] = {}
        self.observed: set[int] = set()
        self.differentiable: set[int] = set()  # the nodes that a gradient leads from to a floating-point input
        self.handles: dict[int, _Handle] = {}
        self.memories: dict[int, _Memory] = {}
        self.iterations: dict[Key, int] = {}
        self.composite = ""
        self.constants = Constants()
        self._is_without_grad = False
        self._before_switched_on: list[bool] = []

    def take_input(self, name: str, value: object) -> object:
        """Make nodes of the tensors and arrays in an input, and return the input as the forward pass is to get it.

        Args:
            name: the input's name; those of a list are called `x[0]`, `x[1]`, ...
            value: a tensor or an array, which is returned as a new tensor, in double precision if it holds
                floating-point numbers; a sequence of them; or anything else, which is returned unchanged.

        Raises:
            Unrecordable: an array is complex.
        """
        if isinstance(value, (torch.Tensor, np.ndarray)):
            array = _array(value)
            if np.iscomplexobj(value):
                raise Unrecordable(f"the input {name} is complex")
            tensor = torch.from_numpy(array.copy())
            self.inputs[name] = self._input(array, name)
            self.handles[id(tensor)] = _Handle(tensor, self.inputs[name])
            return tensor
        if isinstance(value, (tuple, list)) and any(isinstance(v, (torch.Tensor, np.ndarray)) for v in value):
            return type(value)(self.take_input(f"{name}[{i}]", part) for i, part in enumerate(value))
        return value

    def __torch_function__(
        self, func: Function, types: object, args: Arguments = (), kwargs: Keywords | None = None
    ) -> object:
        """Run a torch function, record what it does to recorded values, and return its result.

        A result inside `torch.no_grad()` is detached, as autograd does it.
        """
        if func is torch._C._set_grad_enabled:
            self._note_switch_of_gradients(bool(args[0]))
            return func(*args)  # type: ignore[arg-type]
        result = self._recorded(func, args, kwargs or {})
        if self._is_without_grad and isinstance(result, torch.Tensor) and self._is_recorded(result):
            is_new = all(result is not value for value in args)
            return self._recorded(torch.Tensor.detach, (result,), {}) if is_new else result
        return result

    def _note_switch_of_gradients(self, on: bool) -> None:
        """Note that a block of `no_grad` or `enable_grad` begins or ends.

        Gradients are off outside of the forward pass too, so that a block of `no_grad` both begins and ends with a
        switch to off: the first such switch begins a block, the next ends it, even where it begins a block inside the
        first.

        Args:
            on: whether gradients are switched on, as by `enable_grad`, which a later switch to off undoes.
        """
        if on:
            self._before_switched_on.append(self._is_without_grad)
        self._is_without_grad = (
            False if on else self._before_switched_on.pop() if self._before_switched_on else not self._is_without_grad
        )

    def _recorded(self, func: Function, args: Arguments, kwargs: Keywords) -> object:
        """Run a torch function, record what it does to recorded values, and return its result."""
        name = function_name(func)
        known = [tensor for tensor in _tensors((*args, *kwargs.values())) if self._is_recorded(tensor)]
        if not known:
            result = func(*args, **kwargs)
            if isinstance(result, torch.Tensor) and name not in DRAWING and not _writes_in_place(name):
                self._note_constant(func, name, args, kwargs, result)
            return result
        if name in COMPOSITES and not any(map(torch.is_complex, known)):
            try:
                if not has_special_numbers(name, args, kwargs):
                    return self._record_composite(name, args, kwargs)
            except (ValueError, TypeError):  # called in a form that is not taken apart
                pass
        self._check_recordable(name, known, args, kwargs)
        if _writes_in_place(name) or kwargs.get("inplace") is True:
            return self._record_write(func, name, args, kwargs)
        result = func(*args, **kwargs)
        if isinstance(result, torch.Tensor):
            self._record_result(TorchCall(func, name, args, kwargs, (result,), None), result)
        elif isinstance(result, (tuple, list)):
            tensors = tuple(_tensors(result))
            for i, part in enumerate(result):
                if isinstance(part, torch.Tensor):
                    self._record_result(TorchCall(func, name, args, kwargs, tensors, i), part)
                elif any(True for _ in _tensors((part,))):
                    raise _unrecordable("returns tensors inside each other")
        return result

    def _note_constant(
        self, func: Function, name: str, args: Arguments, kwargs: Keywords, result: torch.Tensor
    ) -> None:
        """Add the call of a torch function that read no recorded value to `constants`, if `may_add` allows it.

        Args:
            func: the function, such as `torch.arange`.
            name: its name.
            args: its arguments by position.
            kwargs: its arguments by name.
            result: the tensor that it returned.
        """
        if not self.constants.may_add(result):
            return
        instructions, expression = _current_position()
        key = (*instructions, name)
        text, variable = expression.text, expression.variable()
        self.constants.add(ConstantCall(func, name, args, kwargs, result, key, text, variable))

    def read(self, value: object) -> int:
        """Return the id of the node whose value is that of a tensor now, after all that was written to its memory.

        A new node is made where there is none with this value yet: one like an input, but without a name, for a
        constant; a `write`, which joins several written values, where the tensor sees more than one.

        Raises:
            Unrecordable: the value is no tensor, or several of its entries share one entry of memory that was written
                to.
        """
        if not isinstance(value, torch.Tensor):
            raise Unrecordable("it gives something that is no tensor")
        handle, memory = self.handles.get(id(value)), self.memories.get(_address(value))
        if handle is None and memory is None:
            self.handles[id(value)] = handle = _Handle(value, self._input(_array(value), ""))
        if memory is None:
            assert handle is not None
            return handle.node
        places = _positions(value)
        writes = _visible_writes(places, memory.writes[0 if handle is None else handle.writes :])
        if writes and _fills(writes[-1], places):
            node = writes[-1].node
        elif writes or handle is None:
            node = self._join_writes(handle.node if handle else memory.before[places], writes, places)
        else:
            node = handle.node
        self.handles[id(value)] = _Handle(value, node, len(memory.writes))
        return node

    def _is_recorded(self, tensor: torch.Tensor) -> bool:
        """Return whether a tensor has a node, or its memory was written to: it may depend on recorded values."""
        return id(tensor) in self.handles or _address(tensor) in self.memories

    def _check_recordable(self, name: str, known: Sequence[torch.Tensor], args: Arguments, kwargs: Keywords) -> None:
        """Raise an exception if a call cannot be recorded; add the values that it makes Python numbers to `observed`.

        Args:
            name: the name of the torch function, such as `item`.
            known: the tensors among its arguments that have nodes.
            args: its arguments by position.
            kwargs: its arguments by name.

        Raises:
            Unrecordable: the call is random, writes its result to `out`, or takes a differentiable value out of torch.
        """
        if kwargs.get("out") is not None:
            raise _unrecordable("writes its result into another tensor")
        if name in RANDOM and not _is_idle_dropout(name, args, kwargs):
            raise _unrecordable("is random")
        if name in OUTSIDE and any(self.read(tensor) in self.differentiable for tensor in known):
            raise _unrecordable("takes a value out of torch")
        if name in OBSERVING | OUTSIDE:
            self.observed |= {self.read(tensor) for tensor in known}

    def _record_composite(self, name: str, args: Arguments, kwargs: Keywords) -> torch.Tensor:
        """Run a composite function such as `cross_entropy` in its written-out form, and record each operation in it.

        Args:
            name: the function, a key of `COMPOSITES`.
            args: its arguments by position.
            kwargs: its arguments by name.

        Returns:
            The value of the function.

        Raises:
            ValueError: these arguments cannot be written out.
        """
        outer, self.composite = self.composite, self.composite or name
        try:
            with self:
                return COMPOSITES[name](*args, **kwargs)
        finally:
            self.composite = outer

    def _record_result(self, call: TorchCall, result: torch.Tensor) -> None:
        """Make a node of the tensor that a call returned.

        None is made where the tensor is recorded already, is the same value as an argument (`x.clone()`), or is a
        constant (`torch.zeros_like(x)`). The same value in another dtype, as of `x.float()`, makes a `cast`.
        """
        first = call.args[0] if call.args and isinstance(call.args[0], torch.Tensor) else None
        if id(result) in self.handles or call.name in CONSTANT:
            return
        memory = self.memories.get(_address(result))
        same = call.name in SAME_VALUE or "dropout" in call.name  # a random one has been refused
        if first is not None and same and result.dtype == first.dtype:
            self.handles[id(result)] = _Handle(result, self.read(first), len(memory.writes) if memory else 0)
        elif is_complex(call):
            if memory is not None:
                raise _unrecordable("reads complex numbers from memory that was written to")
            self._emit(_array(result), *read_call(call), result, call.result_number or 0)
        elif first is not None and call.name in SAME_VALUE:
            self._emit(_array(result), OPERATIONS["cast"], (first,), {"dtype": str(result.numpy().dtype)}, result)
        elif first is not None and memory is not None and _address(first) == _address(result):
            self._record_view(call, result, first, memory)
        else:
            operation, operands, options = read_call(call)
            self._emit(_array(result), operation, operands, options, result, call.result_number or 0)

    def _record_view(self, call: TorchCall, result: torch.Tensor, first: torch.Tensor, memory: _Memory) -> None:
        """Make a node of a view of memory that was written to; none where the view is exactly one written value.

        After `states[0] = h`, the view `states[0]` gets the node of h, and `states[0:2]` a new node.

        Args:
            call: the call that returned the view, such as `states[0]`.
            result: the view.
            first: the tensor that it is a view of.
            memory: the memory that both lie in, with all writes to it.
        """
        places, handle = _positions(result), self.handles.get(id(first))
        writes = _visible_writes(places, memory.writes)
        if writes and _fills(writes[-1], places):
            self.handles[id(result)] = _Handle(result, writes[-1].node, len(memory.writes))
        elif writes or handle is not None:
            if handle is None or _visible_writes(places, memory.writes[handle.writes :]):
                self.read(first)
            operation, operands, options = read_call(call)
            known = {id(first): self.handles[id(first)].node}  # what is written elsewhere is not seen from here
            self._emit(_array(result), operation, operands, options, result, call.result_number or 0, known)

    def _record_write(self, func: Function, name: str, args: Arguments, kwargs: Keywords) -> object:
        """Run a torch function that writes to its first argument, and record which value it writes to which region.

        Args:
            func: the function, such as `__setitem__` or `add_`.
            name: its name.
            args: its arguments by position.
            kwargs: its arguments by name.

        Returns:
            The function's result.
        """
        target = args[0]
        if not isinstance(target, torch.Tensor):
            return func(*args, **kwargs)
        if any(map(torch.is_complex, _tensors((*args, *kwargs.values())))):
            raise _unrecordable("writes complex numbers in place")
        memory = self.memories.get(_address(target)) or _Memory(target, _array(_whole_memory(target)))
        region = _positions(target)
        if name == "__setitem__":
            index, source = args[1:]
            region = torch.from_numpy(region)[index].numpy()  # type: ignore[index]
            self.observed |= {self.read(tensor) for tensor in _tensors((index,)) if self._is_recorded(tensor)}
            node = self._expand_to_region(source, region.shape)
            result = func(*args, **kwargs)
        elif name in ASSIGNING:
            node = self._expand_to_region(args[1] if len(args) > 1 else 0.0, region.shape)
            result = func(*args, **kwargs)
        else:
            on_copy = _on_copy(func)
            pure = {key: value for key, value in kwargs.items() if key != "inplace"}
            pure_name = name if name.endswith("__") else name.removesuffix("_")
            operation, operands, options = read_call(TorchCall(on_copy, pure_name, args, pure, (target,), None))
            resolved = self._resolve(operands)
            result = func(*args, **kwargs)
            node = self._append(_array(target), operation, *resolved, options, 0)
        self.memories[_address(target)] = memory
        memory.writes.append(_Write(region, node))
        return result

    def _expand_to_region(self, source: object, shape: tuple[int, ...]) -> int:
        """Return the id of a node with a written tensor or number, broadcast to the shape of what it is written to.

        For `x[:2] = 0.0` and x of shape (4, 3): that of an array of zeros of shape (2, 3).

        Args:
            source: the tensor, or the number, that is written.
            shape: the shape of what it is written to.
        """
        if not isinstance(source, torch.Tensor):
            return self._input(np.full(shape, source, dtype=float), "")
        node = self.read(source)
        if tuple(source.shape) == shape:
            return node
        value = np.array(
            np.broadcast_to(self.nodes[node].value.reshape(_without_leading_ones(source.shape, shape)), shape)
        )
        if len(source.shape) > len(shape):  # axes of size 1 in front, which torch allows
            name, options = "reshape", {"shape": shape}
        else:
            name, options = "expand", {"shape": shape}
        return self._append(value, OPERATIONS[name], ((0, node),), (self.nodes[node].value,), options, 0)

    def _join_writes(self, before: Array | int, writes: Sequence[_Write], places: Array) -> int:
        """Return the id of a `write` node: the value of a tensor after several writes to its memory.

        Without any writes it is the node of the value before.

        Args:
            before: the tensor's value before these writes, or the id of its node.
            writes: those writes of which the tensor shows an entry.
            places: the positions of its entries in the memory, shaped like it.

        Raises:
            Unrecordable: several entries of the tensor share one entry of memory.
        """
        if not writes:
            return before if isinstance(before, int) else self._input(before, "")
        order = np.argsort(places, axis=None)
        ordered = places.reshape(-1)[order]
        if (ordered[1:] == ordered[:-1]).any():
            raise _unrecordable("reads entries that share their memory, after a write to it")
        operands: list[object] = [] if isinstance(before, int) else [before]
        nodes, regions = [before] if isinstance(before, int) else [], []
        for region, node in writes:
            inside = np.isin(region, places)
            if not inside.all():
                index: Options = {"index": (Slot(1),)}
                value = self.nodes[node].value
                node = self._append(value[inside], OPERATIONS["getitem"], ((0, node),), (value, inside), index, 0)
                region = region[inside]
            nodes.append(node)
            regions.append(order[np.searchsorted(ordered, region)])
        values = (*operands, *(self.nodes[node].value for node in nodes))
        options = {"regions": tuple(regions), "shape": places.shape}
        edges = tuple((slot, node) for slot, node in enumerate(nodes, len(operands)))
        value = OPERATIONS["write"].run(values, options)  # type: ignore[arg-type]
        return self._append(value, OPERATIONS["write"], edges, values, options, 0)  # type: ignore[arg-type]

    def _input(self, value: Array, name: str) -> int:
        """Append a node with the operation `input` and the given value; return its id.

        Args:
            value: an array, which is made read-only.
            name: the name of the input; empty for a constant.
        """
        node = Node(len(self.nodes), INPUT, (), (value,), {}, value, (name or len(self.nodes),), text=name)
        value.flags.writeable = False  # all programs that are made of this one share it
        self.nodes.append(node)
        if name and value.dtype.kind == "f":
            self.differentiable.add(node.id)
        return node.id

    def _resolve(
        self, operands: Sequence[object], known: Mapping[int, int] | None = None
    ) -> tuple[tuple[tuple[int, int], ...], tuple[Operand, ...]]:
        """Return the operands of a new node: the slots that hold recorded values with the ids of these, and all values.

        Args:
            operands: tensors, arrays and numbers, in the order of the slots.
            known: the node ids of some tensors by their Python identity; for the others `read` finds the node.

        Returns:
            Pairs of a slot and an id, as `Node.operands`; and a value for every slot, as `Node.values`.
        """
        edges, values = [], list[Operand]()
        for slot, operand in enumerate(operands):
            if isinstance(operand, torch.Tensor) and self._is_recorded(operand):
                node = (known or {}).get(id(operand), -1)
                node = self.read(operand) if node < 0 else node
                edges.append((slot, node))
                values.append(self.nodes[node].value)
            elif isinstance(operand, (torch.Tensor, np.ndarray)):
                values.append(_array(operand))
            else:
                values.append(operand)  # type: ignore[arg-type]
        return tuple(edges), tuple(values)

    def _emit(
        self,
        value: Array,
        operation: Operation,
        operands: Sequence[object],
        options: Options,
        result: torch.Tensor,
        result_number: int = 0,
        known: Mapping[int, int] | None = None,
    ) -> None:
        """Append the node of a tensor that an operation returned; note its tensor, and which constants it reads.

        Args:
            value: the tensor's value.
            operation: the operation.
            operands: tensors, arrays and numbers, in the order of the slots.
            options: the options by name.
            result: the tensor.
            result_number: which of several results of a call it is, from 0.
            known: the node ids of some operands by their Python identity `id(tensor)`.
        """
        edges, values = self._resolve(operands, known)
        node = self._append(value, operation, edges, values, options, result_number)
        recorded_slots = {slot for slot, _ in edges}
        for slot, operand in enumerate(operands):
            if slot not in recorded_slots and isinstance(operand, torch.Tensor):
                self.constants.note_reader((node, slot), operand, np.asarray(values[slot]))
        memory = self.memories.get(_address(result))
        self.handles[id(result)] = _Handle(result, node, len(memory.writes) if memory else 0)

    def _append(
        self,
        value: Array,
        operation: Operation,
        edges: tuple[tuple[int, int], ...],
        values: tuple[Operand, ...],
        options: Options,
        result_number: int,
    ) -> int:
        """Append a node at the present position in the source; return its id.

        Args:
            value: the node's value, which is made read-only.
            operation: the operation.
            edges: the slots that hold values of nodes, with the ids of these.
            values: the values in all slots.
            options: the options by name.
            result_number: which of several results of a call it is, from 0.
        """
        instructions, expression = _current_position()
        number = 0 if operation.name == "select" else result_number  # rows are as iterations are
        key = (*instructions, operation.name, number)
        iteration = self.iterations[key] = self.iterations.get(key, -1) + 1
        node = Node(
            len(self.nodes), operation, edges, values, options, value, key, iteration, expression.text, expression.line,
            expression.variable(result_number), self.composite, expression.call,
        )  # fmt: skip
        value.flags.writeable = False
        self.nodes.append(node)
        if any(operand in self.differentiable for _, operand in node.edges):
            self.differentiable.add(node.id)
        return node.id


def _is_idle_dropout(name: str, args: Arguments, kwargs: Keywords) -> bool:
    """Return whether a call is a dropout that changes nothing: with p = 0, or not in training.

    Args:
        name: the name of the torch function, such as `dropout`.
        args: its arguments by position.
        kwargs: its arguments by name.
    """
    p = kwargs.get("p", args[1] if len(args) > 1 else 0.5)
    training = kwargs.get("training", args[2] if len(args) > 2 else True)
    return "dropout" in name and (p == 0 or training is False)


def _writes_in_place(name: str) -> bool:
    """Return whether a torch function with this name writes to its first argument, such as `add_` or `__setitem__`."""
    augmented = name.startswith("__i") and name not in ("__index__", "__int__", "__invert__", "__iter__", "__init__")
    return name == "__setitem__" or augmented or (name.endswith("_") and not name.endswith("__"))


def _on_copy(func: Function) -> Function:
    """Return a function that returns a copy of its first argument after `func`, such as `add_`, has written to it."""

    def run(first: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
        """Return the copy after `func` has written to it."""
        copy = first.clone()
        func(copy, *args, **kwargs)
        return copy

    return run


def _tensors(values: Sequence[object]) -> Iterator[torch.Tensor]:
    """Yield the tensors among `values`, and those inside the tuples and lists among them, at any depth."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)


def _address(tensor: torch.Tensor) -> int:
    """Return the address at which the memory begins that a tensor lies in, the same for all views of it.

    Return 0 for a tensor that is not stored entry by entry, such as a sparse one.

    Raises:
        Unrecordable: the tensor stands for several, as inside `torch.vmap`.
    """
    try:
        return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else 0
    except NotImplementedError:
        raise _unrecordable("is transformed by torch.func") from None


def _whole_memory(tensor: torch.Tensor) -> torch.Tensor:
    """Return all entries of the memory that a tensor lies in: for `x[1]` those of x; shape: (entries,)."""
    entries = tensor.untyped_storage().nbytes() // tensor.element_size()
    return torch.as_strided(tensor, (entries,), (1,), 0)


def _positions(tensor: torch.Tensor) -> Array:
    """Return the numbers, from 0, of a tensor's entries in the memory that it lies in, shaped like it.

    For the transpose of a tensor of shape (2, 3): [[0, 3], [1, 4], [2, 5]].
    """
    entries = tensor.untyped_storage().nbytes() // tensor.element_size()
    return (
        torch.as_strided(torch.arange(entries), tensor.shape, tensor.stride(), tensor.storage_offset()).numpy().copy()
    )


def _visible_writes(places: Array, writes: Sequence[_Write]) -> list[_Write]:
    """Return the writes of which an entry can still be read at some positions of a memory, in order.

    A write is left out where it went to none of these positions, or all of them have been written over since.

    Args:
        places: numbers of entries of the memory, of any shape.
        writes: all writes to it, in order, each with its region (the positions that it went to) and the id of the node
            with the written value.
    """
    concerned: list[_Write] = []
    open_places = set(places.ravel().tolist())
    for write in reversed(writes):
        met = open_places.intersection(write.region.ravel().tolist())
        if met:
            concerned.append(write)
            open_places -= met
    return concerned[::-1]


def _fills(write: _Write, places: Array) -> bool:
    """Return whether a write went to exactly the positions `places` of the memory, in the same order and shape.

    Then a tensor that lies there has the written value.
    """
    return write.region.shape == places.shape and bool((write.region == places).all())


def _without_leading_ones(shape: Sequence[int], region: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without the axes in front that it has beyond those of the region: (1, 2, 3) for (2, 3) is (2, 3).

    Args:
        shape: the shape of a written tensor, which torch allows to have further axes of size 1 in front.
        region: the shape of the region that it is written to.
    """
    return tuple(shape)[max(len(shape) - len(region), 0) :]
