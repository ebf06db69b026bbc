"""Facts of a reply: the values that learner code left, the exceptions that it raised, the text that it printed.

A fact is a dict that JSON can hold, such as {"kind": "tensor", "dtype": "float32", "shape": [4, 3], "array": 0}. The
contents of arrays go into the reply as `ReplyArrays`; `array` is the index of an array there, `None` if it has no room.
"""

from __future__ import annotations

import io
import os
import pdb
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import numpy as np
import torch

from . import protocol
from .accident_limits import NO_THREAD
from .clock import OutOfTime
from .learner_imports import absence
from .no_autograd import AutogradUsed

MAX_ITEMS, MAX_DEPTH = 16, 2  # of a list or a tuple that is described item by item, and of those in it
MAX_ARRAY = 8 << 20  # bytes
MAX_PRINTED = 16_000  # characters
MAX_TEXT, MAX_NAME, MAX_LINES = 2000, 100, 8  # characters of a message and of a name; lines of a traceback
NOT_THERE = "checks and graded runs have no files, no network, no processes and no threads"

Facts = dict[str, Any]
"""A description whose `kind` says which other keys it has: see `value_facts` and `error_facts`."""


class NoKeyboard(Exception):
    """Learner code asked for keyboard input."""


KINDS: dict[type[BaseException], str] = {
    OutOfTime: "timeout", AutogradUsed: "autograd", SystemExit: "exit", ImportError: "absent", NoKeyboard: "absent",
    MemoryError: "memory",
}  # fmt: skip
"""The kind of an exception in the reply; of every other type it is `raised`."""


class ReplyArrays:
    """Hold the arrays of a reply: copies made when they are added, as the code that runs next may change the originals.

    Attributes:
        arrays: the copies, in the order of their numbers.
        room: bytes that the payload of the reply can still take.
    """

    def __init__(self) -> None:
        """Begin without any array."""
        self.arrays: list[np.ndarray] = []
        self.room = protocol.MAX_PAYLOAD

    def has_room(self, shape: Sequence[int], size: int) -> bool:
        """Return whether an array of this shape and of `size` bytes may be added, by the limits of a frame."""
        sizes_fit = len(shape) <= protocol.MAX_RANK and max(shape, default=0) <= MAX_ARRAY
        return sizes_fit and size <= min(MAX_ARRAY, self.room)

    def add(self, array: Any) -> int:
        """Add a copy of an array or a number, whether there is room or not, and return its index among the arrays."""
        self.arrays.append(np.array(array))
        self.room -= self.arrays[-1].nbytes
        return len(self.arrays) - 1


def value_facts(value: Any, sent: ReplyArrays, depth: int = 0) -> Facts:
    """Describe a value of any type by its kind and type, and by its contents where they can be sent.

    Args:
        value: whatever learner code returned or stored.
        sent: receives the contents of arrays and numbers; the facts refer to them by index.
        depth: how many lists and tuples the value is in.

    Returns:
        {"kind": "number", "type": "float", "array": 0}, for example, and likewise of kind "ndarray"; or {"kind":
        "items", "type": "list", "items": [], "array": None}: `items` has the facts of the first `MAX_ITEMS` items, and
        `array` at depth 0 all of them where they are numbers. For a tensor see `_tensor_facts`. `None` and `...` have
        the kind "none" or "ellipsis" alone; all else, and a list in `MAX_DEPTH` others, is such as {"kind": "other",
        "type": "dict"}. Of an object that raises when it is read: the last, and `why`, the message of the exception.
    """
    try:
        return _unguarded_value_facts(value, sent, depth)
    except Exception as error:  # a lying or broken object is a fact too
        return _unreadable(value) | {"why": str(error)[:200]}


def _unguarded_value_facts(value: Any, sent: ReplyArrays, depth: int) -> Facts:
    """Describe a value of any type by its kind and type, and by its contents where they can be sent.

    Args:
        value: whatever learner code returned or stored.
        sent: receives the contents of arrays and numbers; the facts refer to them by index.
        depth: how many lists and tuples the value is in.

    Returns:
        The facts, with the keys that `value_facts` describes.

    Raises:
        Exception: whatever the value raises when it is read.
    """
    if value is None or value is Ellipsis:
        return {"kind": "none" if value is None else "ellipsis"}
    if isinstance(value, torch.Tensor):
        with torch._C.DisableTorchFunctionSubclass():
            return _tensor_facts(torch.Tensor.detach(value), sent)
    if isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, complex, np.complexfloating)):
        return {"kind": "number", "type": type(value).__name__, "array": sent.add(np.float64(value))}
    if isinstance(value, np.ndarray) and value.dtype in protocol.NAMES and sent.has_room(value.shape, value.nbytes):
        return {"kind": "ndarray", "type": "numpy array", "array": sent.add(value)}
    if type(value) in (tuple, list) and depth < MAX_DEPTH:
        items = [value_facts(item, sent, depth + 1) for item in value[:MAX_ITEMS]]
        numbers = _as_array(value) if depth == 0 else None
        fits = numbers is not None and sent.has_room(numbers.shape, numbers.nbytes)
        array = sent.add(numbers) if fits else None
        return {"kind": "items", "type": type(value).__name__, "items": items, "array": array}
    return _unreadable(value)


def _unreadable(value: Any) -> Facts:
    """Describe a value by the name of its type alone: {"kind": "other", "type": "dict"}."""
    return {"kind": "other", "type": type(value).__name__[:MAX_NAME]}


def _as_array(values: Sequence[Any]) -> np.ndarray | None:
    """Return a list or tuple of numbers as an array of float64, shape (n,); `None` if an item is no single number.

    A number is an `int`, a `float`, or a tensor, an array or a numpy number without dimensions. `None` also for no
    items, or for more than a reply may hold.
    """
    if not 0 < len(values) <= MAX_ARRAY // 8:
        return None
    arrays = (torch.Tensor, np.ndarray, np.number)
    numbers = [value.item() if isinstance(value, arrays) and value.ndim == 0 else value for value in values]
    return np.array(numbers, "float64") if all(type(number) in (int, float) for number in numbers) else None


def _tensor_facts(tensor: torch.Tensor, sent: ReplyArrays) -> Facts:
    """Describe a tensor by its dtype and shape, and add its values to `sent` if there is room for them.

    {"kind": "tensor", "dtype": "float32", "shape": [4, 3], "array": 0}, for example; `array` is `None` without room. A
    tensor that is sparse, quantized or not on the CPU has the kind `other`, and is described by its type alone. Numbers
    of a dtype that frames do not carry are sent as float32 or complex64.
    """
    if tensor.layout is not torch.strided or tensor.device.type != "cpu" or tensor.is_quantized:
        return {"kind": "other", "type": f"{str(tensor.layout).removeprefix('torch.')} {tensor.device.type} tensor"}
    array, dtype = None, str(tensor.dtype).removeprefix("torch.")
    if sent.has_room(tensor.shape, tensor.numel() * tensor.element_size()):
        readable = tensor
        if dtype not in protocol.DTYPES:  # numpy has none such
            readable = tensor.to(torch.complex64 if tensor.is_complex() else torch.float32)
        array = sent.add(readable.resolve_conj().resolve_neg().numpy())
    return {"kind": "tensor", "dtype": dtype, "shape": list(tensor.shape), "array": array}


def attribute_facts(tensor: torch.Tensor, sent: ReplyArrays) -> dict[str, Facts]:
    """Return for each attribute that was set on a tensor, `.grad` included, its facts by name: {"g": {...}}.

    `.g` is described with its contents, which are added to `sent`; every other attribute by its type alone. At most
    `MAX_ITEMS` attributes are described, `.g` before the others.
    """
    attributes = dict(sorted(vars(tensor).items(), key=lambda item: item[0] != "g")[:MAX_ITEMS])
    if (grad := torch.Tensor.grad.__get__(tensor)) is not None:  # type: ignore[union-attr]
        attributes["grad"] = grad
    attributes_by_name = {name[:MAX_NAME]: value for name, value in attributes.items() if isinstance(name, str)}
    return {
        name: value_facts(value, sent) if name == "g" or value is None or value is Ellipsis else _unreadable(value)
        for name, value in attributes_by_name.items()
    }


def _call_directly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with these arguments and without a time limit; return its result."""
    return function(*arguments)


def error_facts(
    error: BaseException, filename: str, *, loading: bool = False, run: Callable[..., Any] = _call_directly
) -> Facts:
    """Describe an exception: {"kind": "raised", "type": "KeyError", "message": "'x'", "file": "", "lines": [3]}.

    The lines are those of the learner's source in the traceback, outermost first, and `file` is empty. If the exception
    arose in another file of the same folder, `file` is its name, and the lines are those of that file. At most the
    `MAX_LINES` innermost lines are named.

    Args:
        error: the exception that learner code raised.
        filename: the path of the learner's source.
        loading: whether the exception arose while the source was compiled and run, and not in a call of the function.
        run: calls code that the learner may have defined, such as `__str__`, under a time limit, as it may never end.
    """
    message = "(its message cannot be shown)"
    with suppress(BaseException):  # an exception whose __str__ raises
        described = error.msg if isinstance(error, SyntaxError) else error
        message = run(absence, error) if isinstance(error, ImportError) else run(str, described)
    kind = next((KINDS[type_] for type_ in KINDS if isinstance(error, type_)), "raised")
    if kind == "raised" and "can't allocate memory" in message:
        kind = "memory"
    elif kind == "raised" and loading and isinstance(error, SyntaxError):
        kind = "syntax"
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        places.append((error.filename or "", error.lineno))
    folder = os.path.dirname(filename)
    places = [place for place in places if place[0].endswith(".py") and os.path.dirname(place[0]) == folder]
    last = places[-1][0] if places else filename
    if isinstance(error, PermissionError) or message == NO_THREAD:
        message = f"{message}; {NOT_THERE}"
    return {
        "kind": kind,
        "type": type(error).__name__[:MAX_NAME],
        "message": str(message)[:MAX_TEXT],
        "file": "" if last == filename else os.path.basename(last),
        "lines": [line for file, line in places if file == last and line is not None][-MAX_LINES:],
    }


def _refuse_input(*_args: object, **_kwargs: object) -> NoReturn:
    """Stand in for `input` in learner code, whatever the arguments.

    Raises:
        NoKeyboard: always.
    """
    raise NoKeyboard("there is no keyboard in a check or a graded run: remove input(), breakpoint() and pdb")


class CappedText(io.TextIOBase):
    """A terminal without a keyboard, which keeps the first `MAX_PRINTED` characters that are written to it."""

    encoding = "utf-8"
    read = readline = __next__ = _refuse_input

    def __init__(self) -> None:
        """Begin with an empty text."""
        self.content, self.is_silent = "", False

    def writable(self) -> bool:
        """Return true: Python asks before it writes."""
        return True

    def reconfigure(self, **_options: object) -> None:
        """Do nothing: a real stdout can change its encoding, and this one takes every character."""

    def write(self, text: str) -> int:
        """Keep as much of a text as there is room for, and return the length of the whole text as any stream does."""
        if not self.is_silent:  # one character more than is kept shows that there was more
            self.content += str(text[: MAX_PRINTED + 1 - len(self.content)])
        return len(text)

    def stop_keeping(self) -> None:
        """Discard all that is written from now on; called before the same code runs again with other inputs."""
        self.is_silent = True

    def text(self) -> str:
        """Return the text that was kept, with a note if it was cut short."""
        is_cut = len(self.content) > MAX_PRINTED
        return f"{self.content[:MAX_PRINTED]}\n... (the rest was not kept)" if is_cut else self.content


@contextmanager
def capture_output() -> Iterator[CappedText]:
    """Collect within this context what Python code writes to stdout and stderr; code that reads stdin is refused.

    Yields:
        The text so far, in which both streams are joined.
    """
    stream, saved = CappedText(), (sys.stdout, sys.stderr, sys.stdin, sys.breakpointhook, pdb.set_trace)
    sys.stdout = sys.stderr = sys.stdin = stream
    sys.breakpointhook = pdb.set_trace = _refuse_input
    try:
        yield stream
    finally:
        sys.stdout, sys.stderr, sys.stdin, sys.breakpointhook, pdb.set_trace = saved
