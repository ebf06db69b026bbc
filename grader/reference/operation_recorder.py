"""Records a forward pass: it is run once, and every torch operation on its way is noted."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from grader.exercise import Exercise, InSteps

from .composites import parts_of
from .symbolic_numbers import SymbolicNumber
from .trace import Position, Step, Trace, with_replaced
from .trial import Trial

MOST_ALIKE = 5
IN_PLACE = {
    "__iadd__": "add", "__isub__": "sub", "__imul__": "mul", "__idiv__": "div", "__itruediv__": "div",
    "__ipow__": "pow", "__setitem__": "index_put",
}  # fmt: skip

# What takes a value for its shape and its type, and nothing of its numbers.
OF_SHAPE_ALONE = {
    "zeros_like",
    "ones_like",
    "full_like",
    "empty_like",
    "rand_like",
    "randn_like",
    "new_zeros",
    "new_ones",
}


def record(forward: Callable[..., torch.Tensor], inputs: Mapping[str, Any], out_g: torch.Tensor) -> Trace:
    """Run `forward(**inputs)` once and note its operations; plain numbers in them remember the argument's name."""
    tensors = {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}
    spelled = {name: SymbolicNumber(value, name) if type(value) is float else value for name, value in inputs.items()}
    recorder = _Recorder(tensors)
    with torch.no_grad(), recorder:
        named = forward.values(**spelled) if isinstance(forward, InSteps) else {}
        out = list(named.values())[-1] if named else forward(**spelled)

    def again(changed: Mapping[str, torch.Tensor]) -> Trace:
        return record(forward, {**inputs, **changed}, out_g)

    names = {recorder.keys[id(value)]: name for name, value in named.items()}
    return Trace(tensors, _numbered(recorder.steps), recorder.keys[id(out)], out_g, again, names=names)


def trace_of(exercise: Exercise, trial: Trial, wrt: str = "") -> Trace:
    """The forward pass in one trial, recorded once; the step `wrt` is an input of it, if a step is called so."""
    assert trial.out_g is not None
    out_g, given = trial.out_g, (wrt if wrt in exercise.step_names else "")

    def recorded() -> Trace:
        inputs = {name: trial.inputs[name] for name in (*exercise.forward_names, *filter(None, [given]))}
        found = record(exercise.forward, inputs, out_g)
        upstream = exercise.upstream_name if exercise.gives_upstream else ""
        return replace(found, output_name=exercise.output_name, upstream_name=upstream, sizes=trial.setting.sizes)

    return trial.remember(("trace", given), recorded)  # type: ignore[no-any-return]


def _numbered(steps: list[Step]) -> tuple[Step, ...]:
    """The steps, with those that a learner would call the same numbered."""
    alike = [
        (step.name, getattr(step.func, "index", None), [arg for arg in step.args if isinstance(arg, (int, float))])
        for step in steps
    ]
    numbered = []
    for i, step in enumerate(steps):
        place = alike[:i].count(alike[i])
        several = alike.count(alike[i]) > 1 and place < MOST_ALIKE
        numbered.append(replace(step, nth=place + 1) if several else step)
    return tuple(numbered)


class _Recorder(TorchFunctionMode):
    """Notes each operation with copies of its operands, so that later work in place cannot change them."""

    def __init__(self, inputs: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        self.keys = {id(tensor): name for name, tensor in inputs.items()}
        self.values = dict(inputs)
        self.alive: list[torch.Tensor] = []
        self.steps: list[Step] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if (made_of := parts_of(func, args, kwargs or {})) is not None:
            with self:
                return made_of()
        given = _positional(args, kwargs or {})
        result = func(*args, **(kwargs or {}))
        if _works_in_place(func):
            self._note(_OutOfPlace(func), *given, args[0])
        elif isinstance(result, torch.Tensor) and id(result) not in self.keys:
            self._note(func, *given, result)
        elif isinstance(result, tuple):
            for i, part in enumerate(result):
                if isinstance(part, torch.Tensor):
                    self._note(_Part(func, i), *given, part)
        return result

    def _note(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, value: torch.Tensor) -> None:
        found = [*_tensors(args, ()), *(pair for name in kwargs for pair in _tensors(kwargs[name], (name,)))]
        known = {where: self.keys[id(tensor)] for where, tensor in found if id(tensor) in self.keys}
        copies = {where: self.values[key] for where, key in known.items()}
        operands = tuple(
            (where, key)
            for where, key in known.items()
            if copies[where].is_floating_point() and value.is_floating_point() and _name(func) not in OF_SHAPE_ALONE
        )
        kept = {name: with_replaced(given, copies, (name,)) for name, given in kwargs.items()}
        line = (*_calls(), _name(func), getattr(func, "index", 0))
        step = Step(
            len(self.steps),
            func,
            with_replaced(args, copies, ()),
            kept,
            value.clone(),
            operands,
            tuple(known.items()),
            line=line,
        )
        self.steps.append(step)
        self.alive.append(value)  # while it lives, nothing else gets its id
        self.keys[id(value)] = step.key
        self.values[step.key] = step.value


def _name(func: Callable[..., Any]) -> str:
    return str(getattr(func, "__name__", func))


def _calls() -> tuple[object, ...]:
    """The instructions, from `record` inwards, that are being executed: in a loop the same ones in every turn."""
    found: list[object] = []
    frame = sys._getframe()
    while frame is not None and frame.f_code is not record.__code__:
        if frame.f_code.co_filename != __file__:
            found.append((frame.f_code.co_filename, frame.f_code.co_firstlineno, frame.f_lasti))
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(reversed(found))


def _positional(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """`matmul(a, other=b)` as `matmul(a, b)`."""
    if len(args) == 1 and isinstance(kwargs.get("other"), torch.Tensor):
        return (*args, kwargs["other"]), {name: value for name, value in kwargs.items() if name != "other"}
    return args, dict(kwargs)


def _works_in_place(func: Callable[..., Any]) -> bool:
    name = str(getattr(func, "__name__", ""))
    return name in IN_PLACE or (name.endswith("_") and not name.endswith("__"))


@dataclass(frozen=True)
class _OutOfPlace:
    """An operation that changes its first argument, made to change and return a copy."""

    func: Callable[..., Any]

    @property
    def __name__(self) -> str:
        name = str(getattr(self.func, "__name__", self.func))
        return IN_PLACE.get(name, name.rstrip("_"))

    def __call__(self, first: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        copy = first.clone()
        self.func(copy, *args, **kwargs)
        return copy


@dataclass(frozen=True)
class _Part:
    """One tensor of an operation that returns several."""

    func: Callable[..., Any]
    index: int

    @property
    def __name__(self) -> str:
        return str(getattr(self.func, "__name__", self.func))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)[self.index]


def _tensors(value: Any, path: Position) -> Iterator[tuple[Position, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, (tuple, list)):
        yield from itertools.chain.from_iterable(_tensors(v, (*path, i)) for i, v in enumerate(value))
