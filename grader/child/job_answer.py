"""Answers a job in the child: loads one learner's cells, calls their function, reports facts. It knows no exercise.

A job says which function to call with which arguments; the reply says what was returned, stored, printed and
raised. There is no verdict in it, and no way to express one.
"""

from __future__ import annotations

import math
import types
import warnings
from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from os import _exit  # learner code may have another in its place
from typing import Any, NoReturn

import numpy as np
import torch

from . import protocol
from .call_arguments import function_of, grouped
from .captured_output import CappedText, capture_output
from .clock import LATER, Clock, OutOfTime
from .cost_meter import CostMeter
from .failures import error_facts
from .function_loading import announce_imports, load_function, run_text
from .learner_imports import learner_imports
from .linux_calls import give_back_at_once
from .no_autograd import autograd_forbidden
from .nudge_watch import NudgeWatch, SeenEnough

MAX_ITEMS, MAX_DEPTH = 16, 2
MAX_ARRAY = 8 << 20
LARGE = 128 << 10
Arrays = list[np.ndarray]
Facts = dict[str, Any]
Parts = list[bytes | memoryview]
Send = Callable[[Parts], object]


class Sent:
    """The arrays of a reply: copies of what was there when they were added, for what runs next may change them."""

    def __init__(self) -> None:
        self.arrays: Arrays = []
        self.room = protocol.MAX_PAYLOAD

    def has_room(self, shape: Sequence[int], size: int) -> bool:
        """Whether there is room for an array of so many bytes, of which one is allowed no more than a part."""
        sizes_fit = len(shape) <= protocol.MAX_RANK and max(shape, default=0) <= MAX_ARRAY
        return sizes_fit and size <= min(MAX_ARRAY, self.room)

    def add(self, array: Any) -> int:
        """Its place among the arrays."""
        self.arrays.append(np.array(array))
        self.room -= self.arrays[-1].nbytes
        return len(self.arrays) - 1


def answer(header: Mapping[str, Any], inputs: Arrays, send: Send | None = None) -> Parts:
    """Run a job, or several that were sent together, and return the reply frame in parts.

    Args:
        header: the job, or the jobs under `together`, which share the arrays.
        inputs: the arrays that the arguments are made of.
        send: sends the reply where learner code never returns, after which this process ends.
    """
    sent = Sent()
    if "together" in header:
        return protocol.parts({"together": [_job_facts(job, inputs, sent) for job in header["together"]]}, sent.arrays)
    return protocol.parts(_job_facts(header, inputs, sent, send), sent.arrays)


def _job_facts(header: Mapping[str, Any], inputs: Arrays, sent: Sent, send: Send | None = None) -> Facts:
    """Run one job with its imports and captured output, and return its facts; its arrays are added to `sent`."""
    if header.get("tight_memory"):  # memory: holes between what was used before may not count as used
        give_back_at_once(LARGE)
    folder = header["filename"].rpartition("/")[0]
    imports = learner_imports(header.get("modules", {}), f"{folder}/" if folder else "", run_text)
    with capture_output() as printed, imports:
        return _Job(header, inputs, sent, printed, send).facts()


class _Job:
    """Run one job; the facts of the calls made so far can be sent at any moment.

    Args:
        header: the learner's cells, which function to call, and with which arguments.
        inputs: the arrays that the arguments are made of.
        sent: receives the arrays of the reply.
        printed: what the code prints.
        send: sends the reply where learner code never returns.
    """

    def __init__(
        self, header: Mapping[str, Any], inputs: Arrays, sent: Sent, printed: CappedText, send: Send | None
    ) -> None:
        """Prepare the job without running anything."""
        self.header, self.inputs, self.sent, self.printed, self.send = header, inputs, sent, printed, send
        self.clock = Clock(header["time_limit"], None if send is None else self._give_up)
        self.known: Facts = {"calls": []}
        self.call: _Call | None = None

    def facts(self) -> Facts:
        """Run the code and all calls, and return the facts: the calls, the error that ended them, what was printed."""
        filename = self.header["filename"]
        with self.clock:
            try:
                function = load_function(self.header, self.known, self.clock)
                if function is not None:
                    texts = [*self.header["cells"], *self.header.get("modules", {}).values()]
                    with warnings.catch_warnings(), autograd_forbidden(texts):
                        self._make_calls(function)
                    announce_imports(self.header.get("modules", {}), self.known)
            except BaseException as error:  # whatever learner code raises is a fact to report
                if len(self.known["calls"]) < len(self.header["calls"]):  # what comes after them concerns no answer
                    loading = not self.known["calls"]
                    self.known["error"] = error_facts(error, filename, loading=loading, run=self.clock.run)
        return {**self.known, "printed": self.printed.text()}

    def _make_calls(self, function: Callable[..., Any]) -> None:
        """Make the calls that have no facts yet; after a timeout, each has a small time limit of its own."""
        calls, filename = self.known["calls"], self.header["filename"]
        for call in self.header["calls"][len(calls) :]:
            if any(_is_timeout(earlier) for earlier in calls):
                self.clock.extend(self.header["time_limit"] * LATER / len(self.header["calls"]))
            self.call = _Call(function, call, self.inputs, filename)
            calls.append(self.call.facts(self.call.run(self.clock), self.sent))
            self.printed.stop_keeping()
        if "watched" in self.header:
            self.call = _Call(function, self.header["watched"], self.inputs, filename)
            watched = self.call.facts(self.call.run(self.clock), Sent())
            self.known |= {} if _is_timeout(watched) else {"nudged": watched["nudged"]}

    def _give_up(self, error: OutOfTime) -> NoReturn:
        """Record the timeout of a call that catches every exception, make the other calls, send the reply, and exit."""
        assert self.send is not None
        calls, expected = self.known["calls"], len(self.header["calls"])
        if self.call is None:
            self.known["error"] = error_facts(error, self.header["filename"], loading=True)
        elif len(calls) < expected:
            stuck = self.call
            calls.append(stuck.facts(error_facts(error, self.header["filename"]), self.sent))
            self._make_calls(stuck.function)
        self.send(protocol.parts({**self.known, "printed": self.printed.text()}, self.sent.arrays))
        _exit(0)


def _is_timeout(facts: Facts) -> bool:
    """Return whether the facts of a call say that it took too long."""
    return "error" in facts and facts["error"]["kind"] == "timeout"


class _Call:
    """Call the learner's function once, and observe it.

    Args:
        call: the arguments, and what is to be reported.
        inputs: the arrays that the arguments are made of.
        filename: of the learner's source.
    """

    def __init__(self, function: Callable[..., Any], call: Facts, inputs: Arrays, filename: str) -> None:
        """Build the arguments, and copies of them to compare with after the call."""
        self.function, self.filename, self.returned = function, filename, None
        self.arguments = {name: _build(value, inputs) for name, value in call["arguments"]}
        self.given = {name: inputs[value["tensor"]] for name, value in call["arguments"] if "tensor" in value}
        given, compared = self.given, call["arguments"] if call.get("after", True) else ()
        self.before = {name: given[name].copy() if name in given else _build(value, inputs) for name, value in compared}
        self.meter = CostMeter(call.get("huge") or math.inf)
        self.is_metered = call["meter"]
        self.watch = NudgeWatch({name: self.before[name] for name in given}) if call.get("nudges") else None

    def run(self, clock: Clock) -> Facts | None:
        """Call the function; return the exception that it raised as facts, or `None`."""
        floating = (self.arguments[name].dtype for name in self.given if self.arguments[name].is_floating_point())
        torch.set_default_dtype(next(floating, torch.float32))  # so that `torch.zeros(...)` without one fits
        try:
            warnings.simplefilter("ignore")
            meter = self.meter if self.is_metered else nullcontext()
            with meter, self.watch or nullcontext(), suppress(SeenEnough):
                self.returned = clock.run(self.function, *grouped(self.arguments).values())
        except BaseException as error:  # whatever learner code raises is a fact to report
            return error_facts(error, self.filename, run=clock.run)
        return None

    def facts(self, error: Facts | None, sent: Sent) -> Facts:
        """Return what the call returned, stored on its arguments and changed in them, and what it cost.

        Args:
            error: the facts of the exception that it raised.
            sent: receives the arrays.
        """
        arguments, from_huge = self.arguments, self.meter.from_huge
        facts: Facts = {} if error is None else {"error": error}
        facts["returned"] = _describe(self.returned, sent)
        facts["stored"] = {name: _attributes(arguments[name], sent) for name in self.given}
        changed = (name for name, was in self.before.items() if not _is_same(arguments[name], was))
        facts["after"] = {name: _describe(arguments[name], sent) for name in changed}
        facts["work"], facts["peak"] = self.meter.work, self.meter.peak
        if self.watch is not None:
            stored = {name: vars(arguments[name]).get("g") for name in self.given}
            facts["nudged"] = {
                name: {"smallest": abs(steps[0]), "largest": abs(steps[-1]), "is_imaginary": steps[-1].real == 0}
                for name, steps in self.watch.measuring_steps(stored, self.returned).items()
            }
        facts["from_huge"] = [name for name in self.given if from_huge and _storage(arguments[name]) in from_huge]
        return facts


def _storage(argument: torch.Tensor) -> int | None:
    """What holds the gradient stored on an argument, if it is a tensor."""
    gradient = vars(argument).get("g")
    dense = isinstance(gradient, torch.Tensor) and gradient.layout is torch.strided
    return gradient.untyped_storage()._cdata if dense else None  # type: ignore[union-attr]


def _build(value: Facts, inputs: Arrays) -> Any:
    if "tensor" in value:
        tensor = torch.from_numpy(inputs[value["tensor"]])
        if value["g"] is not None:
            tensor.g = torch.from_numpy(inputs[value["g"]])  # type: ignore[attr-defined]
        return tensor
    if "function" in value:
        return function_of(value["function"])
    if "dtype" in value:
        return getattr(torch, value["dtype"])
    return literal_eval(value["literal"])


def _is_same(now: Any, was: Any) -> bool:
    """An argument is as it was made; a function is so with what hangs on it."""
    if isinstance(was, np.ndarray):
        with suppress(Exception):  # what cannot be compared is not what it was
            array = torch.Tensor.detach(now).numpy()
            return (array.dtype, array.shape, array.tobytes()) == (was.dtype, was.shape, was.tobytes())
        return False
    if isinstance(was, types.FunctionType):
        return vars(now) == vars(was) and (now.__code__, now.__defaults__) == (was.__code__, was.__defaults__)
    return bool(now == was)


def _attributes(tensor: torch.Tensor, sent: Sent) -> Facts:
    """The attributes set on a tensor argument, `.grad` included: what `.g` is, and that the others are there."""
    found = dict(sorted(vars(tensor).items(), key=lambda item: item[0] != "g")[:MAX_ITEMS])
    if (grad := torch.Tensor.grad.__get__(tensor)) is not None:  # type: ignore[union-attr]
        found["grad"] = grad
    named = {name[:100]: value for name, value in found.items() if isinstance(name, str)}
    return {
        name: _describe(value, sent) if name == "g" or value is None or value is Ellipsis else _unknown(value)
        for name, value in named.items()
    }


def _describe(value: Any, sent: Sent, depth: int = 0) -> Facts:
    """A value as facts; array contents go to `sent`."""
    try:
        return _described(value, sent, depth)
    except Exception as error:  # a lying or broken object is a fact too
        return _unknown(value) | {"why": str(error)[:200]}


def _described(value: Any, sent: Sent, depth: int) -> Facts:
    if value is None or value is Ellipsis:
        return {"kind": "none" if value is None else "ellipsis"}
    if isinstance(value, torch.Tensor):
        with torch._C.DisableTorchFunctionSubclass():
            return _tensor(torch.Tensor.detach(value), sent)
    if isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, complex, np.complexfloating)):
        return {"kind": "number", "type": type(value).__name__, "array": sent.add(np.float64(value))}
    if isinstance(value, np.ndarray) and value.dtype in protocol.NAMES and sent.has_room(value.shape, value.nbytes):
        return {"kind": "ndarray", "type": "numpy array", "array": sent.add(value)}
    if type(value) in (tuple, list) and depth < MAX_DEPTH:
        items = [_describe(item, sent, depth + 1) for item in value[:MAX_ITEMS]]
        numbers = _numbers(value) if depth == 0 else None
        fits = numbers is not None and sent.has_room(numbers.shape, numbers.nbytes)
        array = sent.add(numbers) if fits else None
        return {"kind": "items", "type": type(value).__name__, "items": items, "array": array}
    return _unknown(value)


def _unknown(value: Any) -> Facts:
    return {"kind": "other", "type": type(value).__name__[:100]}


def _numbers(values: Sequence[Any]) -> np.ndarray | None:
    """Plain numbers, or tensors and arrays that are one number each, as one array; `None` for anything else."""
    if not 0 < len(values) <= MAX_ARRAY // 8:
        return None
    arrays = (torch.Tensor, np.ndarray, np.number)
    found = [value.item() if isinstance(value, arrays) and value.ndim == 0 else value for value in values]
    return np.array(found, "float64") if all(type(value) in (int, float) for value in found) else None


def _tensor(tensor: torch.Tensor, sent: Sent) -> Facts:
    if tensor.layout is not torch.strided or tensor.device.type != "cpu" or tensor.is_quantized:
        return {"kind": "other", "type": f"{str(tensor.layout).removeprefix('torch.')} {tensor.device.type} tensor"}
    array, dtype = None, str(tensor.dtype).removeprefix("torch.")
    if sent.has_room(tensor.shape, tensor.numel() * tensor.element_size()):
        readable = tensor
        if dtype not in protocol.DTYPES:  # numpy has none such
            readable = tensor.to(torch.complex64 if tensor.is_complex() else torch.float32)
        array = sent.add(readable.resolve_conj().resolve_neg().numpy())
    return {"kind": "tensor", "dtype": dtype, "shape": list(tensor.shape), "array": array}
