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
from typing import Any

import numpy as np
import torch

from . import protocol
from .call_arguments import function_of, grouped
from .captured_output import CappedText, capture_output
from .clock import Clock, OutOfTime
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


def answer(header: Mapping[str, Any], inputs: Arrays) -> list[bytes | memoryview]:
    """The reply frame to one job, in parts.

    Several jobs may be sent together; what they take and what they leave are among the same arrays.
    """
    sent = Sent()
    replies = [_answered(job, inputs, sent) for job in header.get("together", [header])]
    return protocol.parts({"together": replies} if "together" in header else replies[0], sent.arrays)


def _answered(header: Mapping[str, Any], inputs: Arrays, sent: Sent) -> Facts:
    if header.get("tight_memory"):  # memory: holes between what was used before may not count as used
        give_back_at_once(LARGE)
    folder = header["filename"].rpartition("/")[0]
    imports = learner_imports(header.get("modules", {}), f"{folder}/" if folder else "", run_text)
    with capture_output() as printed, imports, Clock(header["time_limit"]) as clock:
        facts = _facts(header, inputs, sent, printed, clock)
    return {**facts, "printed": printed.text()}


def _facts(header: Mapping[str, Any], inputs: Arrays, sent: Sent, printed: CappedText, clock: Clock) -> Facts:
    facts: Facts = {"calls": []}
    try:
        function = load_function(header, facts, clock)
        if function is None:
            return facts
        texts = [*header["cells"], *header.get("modules", {}).values()]
        with warnings.catch_warnings(), autograd_forbidden(texts):
            for call in header["calls"]:
                facts["calls"].append(_call(function, call, inputs, sent, header["filename"]))
                printed.stop_keeping()
            if "watched" in header:
                facts["nudged"] = _call(function, header["watched"], inputs, Sent(), header["filename"])["nudged"]
        announce_imports(header.get("modules", {}), facts)
    except BaseException as error:  # whatever learner code raises is a fact to report
        if len(facts["calls"]) < len(header["calls"]):  # what comes after them concerns no answer
            facts["error"] = error_facts(error, header["filename"], loading=not facts["calls"])
    return facts


def _call(function: Callable[..., Any], call: Facts, inputs: Arrays, sent: Sent, filename: str) -> Facts:
    arguments = {name: _build(value, inputs) for name, value in call["arguments"]}
    given = {name: inputs[value["tensor"]] for name, value in call["arguments"] if "tensor" in value}
    compared = call["arguments"] if call.get("after", True) else ()
    before = {name: given[name].copy() if name in given else _build(value, inputs) for name, value in compared}
    facts: Facts = {}
    returned: Any = None
    meter = CostMeter(call.get("huge") or math.inf)
    watch = NudgeWatch({name: before[name] for name in given}) if call.get("nudges") else None
    floating = (arguments[name].dtype for name in given if arguments[name].is_floating_point())
    torch.set_default_dtype(next(floating, torch.float32))  # so that `torch.zeros(...)` without one fits
    try:
        warnings.simplefilter("ignore")
        with meter if call["meter"] else nullcontext(), watch or nullcontext(), suppress(SeenEnough):
            returned = function(*grouped(arguments).values())
    except BaseException as error:  # whatever learner code raises is a fact to report
        facts["error"] = error_facts(error, filename)
        if isinstance(error, OutOfTime):
            raise
    facts["returned"] = _describe(returned, sent)
    facts["stored"] = {name: _attributes(arguments[name], sent) for name in given}
    changed = (name for name, was in before.items() if not _is_same(arguments[name], was))
    facts["after"] = {name: _describe(arguments[name], sent) for name in changed}
    facts["work"], facts["peak"] = meter.work, meter.peak
    if watch is not None:
        stored = {name: vars(arguments[name]).get("g") for name in given}
        facts["nudged"] = {
            name: {"smallest": abs(steps[0]), "largest": abs(steps[-1]), "is_imaginary": steps[-1].real == 0}
            for name, steps in watch.measuring_steps(stored, returned).items()
        }
    facts["from_huge"] = [name for name in given if meter.from_huge and _storage(arguments[name]) in meter.from_huge]
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
