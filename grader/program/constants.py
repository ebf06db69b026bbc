"""The constants of a forward pass, such as a mask or an array of angles, with the calls that made them.

A constant is the result of torch functions that read no input, such as `torch.ones(t, t).triu(1)`. These calls are no
nodes of a program, as no gradient goes through them; they are kept so that they can be run with another number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from .operation import Array

MOST_CALLS = 200  # of a forward pass: more are those of a loop over entries


@dataclass(frozen=True, eq=False)
class ConstantCall:
    """A call of a torch function that read no recorded value.

    Args:
        func: the function.
        name: its name, such as `triu`.
        args: its arguments by position.
        kwargs: its arguments by name.
        result: the tensor that it returned.
        key: the position in the source: the same in every trial, and in all iterations of a loop.
        text: the expression in the source, such as `torch.ones(t, t).triu(1)`; empty where there is no source.
        variable: the variable that the result is assigned to; empty where there is none.
    """

    func: Callable[..., object]
    name: str
    args: tuple[object, ...]
    kwargs: Mapping[str, object]
    result: torch.Tensor
    key: tuple[object, ...]
    text: str
    variable: str = ""

    def run(self) -> torch.Tensor:
        """Call the function of this call with its arguments, and return the tensor that it returns.

        Raises:
            TypeError: the function returns no tensor.
        """
        result = self.func(*self.args, **self.kwargs)
        if not isinstance(result, torch.Tensor):
            raise TypeError(f"{self.name} returns no tensor")
        return result


class Constants:
    """The calls that made the constants of a forward pass, and the places that read these constants.

    A place is a pair of a node's id and a slot. Calls are numbered from 0 in the order in which they are added.
    """

    def __init__(self) -> None:
        """Begin without any calls."""
        self.calls: list[ConstantCall] = []
        self._numbers: dict[int, int] = {}  # of the call, by the identity of its result, which the call keeps
        self._read: dict[tuple[int, int], tuple[int, Array]] = {}  # by place: the number of the call, and the value

    def may_add(self, result: torch.Tensor) -> bool:
        """Return whether a call that returned this tensor can be added.

        It can unless it is complex, an earlier call has returned the same object, or there are `MOST_CALLS` calls.
        """
        return not result.is_complex() and len(self.calls) < MOST_CALLS and id(result) not in self._numbers

    def add(self, call: ConstantCall) -> None:
        """Append a call, for whose result `may_add` must return True."""
        self._numbers[id(call.result)] = len(self.calls)
        self.calls.append(call)

    def note_reader(self, place: tuple[int, int], operand: torch.Tensor, value: Array) -> None:
        """Remember that a node reads a tensor, if that is the result of one of the calls.

        Args:
            place: the id of the node, and the slot of the tensor.
            operand: the tensor.
            value: its value now, in double precision if it holds floating-point numbers.
        """
        if id(operand) in self._numbers:
            self._read[place] = self._numbers[id(operand)], value

    @cached_property
    def read_calls(self) -> tuple[ConstantCall, ...]:
        """Return the calls, in order, whose results a node reads, and those whose results these calls have read."""
        read = {number for number, _ in self._read.values()}
        for number in reversed(range(len(self.calls))):
            if number in read:
                read |= self._dependencies(self.calls[number])
        return tuple(self.calls[number] for number in sorted(read))

    def _dependencies(self, call: ConstantCall) -> set[int]:
        """Return the numbers of the calls whose results are among the arguments of a call."""
        numbers = (self._numbers.get(id(value)) for value in _flat((*call.args, *call.kwargs.values())))
        return {number for number in numbers if number is not None}

    @cached_property
    def _repeatable(self) -> dict[tuple[int, int], int]:
        """Return by place (node, slot) of a constant the number of the call that made it.

        Constants are left out that come out different when all calls are run once more.
        """
        results = self._results(lambda call: call.run(), None)
        return {
            place: number
            for place, (number, value) in self._read.items()
            if number in results and np.array_equal(_double(results[number]), value, equal_nan=value.dtype.kind == "f")
        }

    def rerun(
        self, key: tuple[object, ...], run: Callable[[ConstantCall], torch.Tensor]
    ) -> dict[tuple[int, int], Array]:
        """Return the constants that depend on the calls with a key, as they are if `run` gives the results of these.

        Args:
            key: the key of these calls: their position in the source.
            run: takes one of these calls; returns the tensor in place of its result.

        Returns:
            By place (node, slot) the new constant there, of any shape. Constants that depend on none of these calls are
            missing, and those that come out different each time.

        Raises:
            ValueError, TypeError, RuntimeError, ArithmeticError: a call cannot be run.
        """
        results = self._results(run, key)
        return {place: _double(results[number]) for place, number in self._repeatable.items() if number in results}

    def _results(
        self, run: Callable[[ConstantCall], torch.Tensor], key: tuple[object, ...] | None
    ) -> dict[int, torch.Tensor]:
        """Return by number the results of the calls with a key, made by `run`, and of all calls that depend on them.

        Args:
            run: takes a call; returns its result.
            key: the key; `None` for all calls.
        """
        results: dict[int, torch.Tensor] = {}

        def current(value: object) -> object:
            """Return an argument with the new results in place of the old ones."""
            if isinstance(value, (tuple, list)):
                return type(value)(map(current, value))
            return results.get(self._numbers.get(id(value), -1), value)

        for number, call in enumerate(self.calls):
            is_meant = key is None or call.key == key
            if is_meant or self._dependencies(call) & results.keys():
                kwargs = {name: current(value) for name, value in call.kwargs.items()}
                now = replace(call, args=tuple(map(current, call.args)), kwargs=kwargs)
                results[number] = run(now) if is_meant else now.run()
        return results


def _flat(values: Iterable[object]) -> Iterator[object]:
    """Yield the given values, and in place of a tuple or list the values inside it, at any depth."""
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _flat(value)
        else:
            yield value


def _double(tensor: torch.Tensor) -> Array:
    """Return a tensor as a new array, in double precision if it holds floating-point numbers."""
    array = tensor.detach().numpy()
    return np.array(array, dtype=np.float64 if array.dtype.kind == "f" else array.dtype)
