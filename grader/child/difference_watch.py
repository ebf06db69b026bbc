"""Watch one call for finite differences: detect a gradient that was measured and not derived.

A formula works with the arguments that it is given. A measurement must make an array that differs from the argument by
a step in one entry, for every entry in turn, compute a number from each, and divide the differences of these numbers by
the step (or the imaginary part, if the step is imaginary). A gradient is reported as measured only if all of that was
observed, and the quotients are the gradient that the call leaves. A guard such as `x[i] + 1e-12`, a copy of an argument
with rounding errors, or a number that happens to be near an argument is no measurement.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

FEWEST_ENTRIES = 4  # an argument of one entry cannot be told from any other number
LEAST_STEP = 1e-10  # of the largest entry: far above rounding in float64, in which alone a measurement is exact enough
ROUNDING = 1e-12  # of the largest entry: the error of an entry that was moved in place, and moved back
LARGEST_STEP = 1e-2  # of the largest entry; an entry that moves further was replaced by another number
RTOL = 1e-4  # of the largest entry of the gradient, which may have been rounded to float32 after the division
MOST_NUMBERS = 32  # kept of those that were computed at one point: a loss is among the last few
COPYING = ("array", "asarray", "ascontiguousarray", "copy")  # the functions that make plain arrays of watched ones
MOST_ARRAYS = 60_000  # recorded in one call, which ends after that
MOST_ENTRIES, MOST_ITEMS = 1 << 16, 4096  # of an array, and of a list, beyond which they are passed over

Step = tuple[int, complex]
"""The index of the entry that was moved, in the flattened argument, and the step by which it was moved."""


class TooManyArrays(BaseException):
    """End a watched call: it has used more arrays than a measurement takes, and is not observed any more."""


class _ArgumentSteps:
    """The steps by which a call moved single entries of one argument, and the numbers that it computed at each step.

    Args:
        values: the argument as given, of any shape.

    Attributes:
        numbers: those computed at each step.
        unmoved: numbers computed from the argument as given: the last ones before the first step, the first ones after.
        current: the step of the array that was recorded last; `None` if that was the argument as given.
    """

    def __init__(self, values: np.ndarray) -> None:
        """Begin without a step; `values` are those of the argument as it was given."""
        self.values = values.astype(complex).ravel()
        self.largest = float(np.abs(values).max(initial=0.0))
        self.unmoved: deque[complex] = deque(maxlen=MOST_NUMBERS)
        self.numbers: dict[Step, list[complex]] = {}
        self.current: Step | None = None

    def record(self, array: np.ndarray) -> None:
        """Record an array that learner code computed: one like the argument with an entry moved by a step, or a number.

        A number counts as computed at the last step.

        Args:
            array: an array of any shape; one that has neither one entry nor as many as the argument is ignored.
        """
        if array.size == 1:
            self._record_number(complex(array.reshape(())))
        elif array.size == self.values.size >= FEWEST_ENTRIES:
            is_argument = self._record_step(array)
            if not is_argument and array.ndim == 2:
                self._record_step(array.T)

    def _record_number(self, number: complex) -> None:
        """Record a number as computed at the current step, or at the argument as given.

        Numbers beyond a limit for each are ignored.
        """
        if self.current is not None:
            numbers = self.numbers[self.current]
            if len(numbers) < MOST_NUMBERS:
                numbers.append(number)
        elif not self.numbers or len(self.unmoved) < MOST_NUMBERS:
            self.unmoved.append(number)

    def _record_step(self, array: np.ndarray) -> bool:
        """Return whether an array is the argument with at most one entry changed.

        If the size of that change can be a step, the numbers that are recorded from now on belong to it.

        Args:
            array: an array with as many entries as the argument.
        """
        flat = array.ravel()
        steps = flat - self.values
        moved = np.flatnonzero((np.abs(steps.real) > ROUNDING * self.largest) | (steps.imag != 0))
        if len(moved) > 1:
            return False
        self.current = None
        if len(moved) == 1:
            entry, step = int(moved[0]), complex(steps[moved[0]])
            if abs(step.real) <= ROUNDING * self.largest:
                step = complex(0, step.imag)
            if step.real == 0 or LEAST_STEP * self.largest <= abs(step) <= LARGEST_STEP * self.largest:
                self.current = (entry, step)
                if not self.numbers:
                    self.unmoved = deque(self.unmoved, maxlen=2 * MOST_NUMBERS)
                self.numbers.setdefault(self.current, [])
        return True

    def measuring_steps(self, gradients: Collection[np.ndarray]) -> list[complex]:
        """Return the steps, sorted by size, if a gradient consists of finite differences; otherwise an empty list.

        Args:
            gradients: arrays that may be the gradient of the argument; those of another size are ignored.
        """
        steps: dict[int, list[complex]] = {}
        for entry, step in self.numbers:
            steps.setdefault(entry, []).append(step)
        same_size = [gradient.ravel() for gradient in gradients if gradient.size == self.values.size]
        if len(steps) < self.values.size or not same_size:
            return []
        quotients = [self._difference_quotients(entry, steps[entry]) for entry in range(self.values.size)]
        for gradient in same_size:
            tolerance = RTOL * float(np.abs(gradient).max())
            differences = zip(quotients, gradient, strict=True)
            if tolerance > 0 and all((np.abs(seen - value) <= tolerance).any() for seen, value in differences):
                return sorted((step for _, step in self.numbers), key=abs)
        return []

    def _difference_quotients(self, entry: int, steps: list[complex]) -> np.ndarray:
        """Return every difference quotient of the numbers that were computed while an entry was moved; shape: (n,).

        Each number is compared with those of every other step, with those of the argument as given, and with 0, because
        it may be a difference itself, if results were subtracted before they were added up. An imaginary step is one of
        complex-step differentiation, whose quotient takes no difference.

        Args:
            entry: the index of the entry in the flattened argument.
            steps: the steps by which the entry was moved.
        """
        at_step = {step: np.array(self.numbers[entry, step]) for step in steps}
        quotients = [numbers.imag / step.imag for step, numbers in at_step.items() if step.real == 0]
        at_step[0j] = np.array(self.unmoved)
        for (step, numbers), (other_step, others) in product(at_step.items(), repeat=2):
            if step.real != other_step.real and step != 0:
                differences = numbers[:, None] - np.append(others, 0)
                quotients.append(differences.ravel() / (step - other_step))
        return np.concatenate(quotients) if quotients else np.zeros(0)


class DifferenceWatch(TorchFunctionMode):
    """Observe, within this context, every array that goes into an operation of torch or numpy, or comes out of it."""

    def __init__(self, arguments: Mapping[str, np.ndarray]) -> None:
        """Prepare to watch for steps of floating-point arrays.

        Args:
            arguments: the arguments of the call, by name; other values than such arrays are not watched.
        """
        super().__init__()
        self.steps = {name: _ArgumentSteps(values) for name, values in arguments.items() if values.dtype.kind == "f"}
        self.recorded = 0
        self._plain = {name: getattr(np, name) for name in COPYING}

    def __enter__(self) -> DifferenceWatch:
        """Begin to observe: numpy's copying functions return arrays that are watched."""
        for name, function in self._plain.items():
            setattr(np, name, partial(_call_and_watch, self, function))
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *raised: Any) -> None:
        """Stop observing, and restore numpy's functions."""
        super().__exit__(*raised)  # type: ignore[no-untyped-call]
        vars(np).update(self._plain)

    def measuring_steps(self, stored: Mapping[str, Any], returned: Any) -> dict[str, list[complex]]:
        """Return, by the name of the argument, the steps by which its gradient was measured, the smallest first.

        An argument whose gradient was not measured is missing.

        Args:
            stored: the `.g` of each argument after the call.
            returned: what the call returned; it may be, or contain, the gradient of any argument.
        """
        steps = {
            name: steps.measuring_steps([*_arrays(stored.get(name)), *_arrays(returned)])
            for name, steps in self.steps.items()
        }
        return {name: measuring for name, measuring in steps.items() if measuring}

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation of torch, record the arrays in its arguments and result, and watch the result."""
        result = func(*args, **(kwargs or {}))
        self.record((args, result))
        return watch_arrays(result, self)

    def record(self, value: Any) -> None:
        """Compare every array in a value with each argument, and record steps and the numbers computed at them.

        Args:
            value: an argument or a result of an operation, or a tuple or a list of them.

        Raises:
            TooManyArrays: more arrays were recorded than a measurement of these arguments takes.
        """
        for array in _arrays(value):
            self.recorded += 1
            for steps in self.steps.values():
                steps.record(array)
        if self.recorded > MOST_ARRAYS:
            raise TooManyArrays


def _arrays(value: Any) -> Iterator[np.ndarray]:
    """Yield as arrays the floating-point and complex tensors, arrays and numpy numbers in a value, or in its items.

    Those of more than `MOST_ENTRIES` entries are left out. Of a list or tuple, the first `MOST_ITEMS` items count.
    """
    if isinstance(value, (tuple, list)):
        for item in value[:MOST_ITEMS]:
            yield from _arrays(item)
    elif isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
        if value.numel() <= MOST_ENTRIES and value.layout is torch.strided:
            with torch._C.DisableTorchFunction(), suppress(RuntimeError, TypeError):  # one of vmap's, or of bfloat16
                yield value.detach().resolve_conj().resolve_neg().numpy()
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fc" and value.size <= MOST_ENTRIES:
        yield value.view(np.ndarray)
    elif isinstance(value, (np.floating, np.complexfloating)):
        yield np.asarray(value)


class _Watched(np.ndarray):
    """Show a watch what numpy does with this array, and with every array computed from it."""

    watch: DifferenceWatch | None = None

    def __array_finalize__(self, made_from: Any) -> None:
        """Take over the watch of the array that this one was made from."""
        self.watch = getattr(made_from, "watch", None)

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        """Return the mean by `np.mean`, as the method's own division by the number of entries is not observed."""
        return self.__array_function__(np.mean, (), (self, *args), kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Run a ufunc of numpy, record the arrays in its arguments and result, and watch the result."""
        result = self.__array_function__(getattr(ufunc, method), (), inputs, kwargs)
        return kwargs["out"][0] if "out" in kwargs else result

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        """Run a function of numpy, record the arrays in its arguments and result, and watch the result."""
        plain = [_without_watch(value) for value in args]
        result = func(*plain, **{name: _without_watch(value) for name, value in kwargs.items()})
        if self.watch is not None:
            self.watch.record((*plain, result))
        return watch_arrays(result, self.watch)


def watch_arrays(value: Any, watch: DifferenceWatch | None) -> Any:
    """Return an array, or each array in a tuple, as one whose operations the watch observes; other values unchanged."""
    if type(value) is tuple:
        return tuple(watch_arrays(item, watch) for item in value)
    if watch is None or type(value) is not np.ndarray:
        return value
    seen = value.view(_Watched)
    seen.watch = watch
    return seen


def _without_watch(value: Any) -> Any:
    """Return a watched array, or each watched array in a list or tuple, as a plain numpy array.

    Any other value is returned unchanged.
    """
    if isinstance(value, _Watched):
        return value.view(np.ndarray)
    return type(value)(map(_without_watch, value)) if type(value) in (list, tuple) else value


def _call_and_watch(watch: DifferenceWatch, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what a copying function of numpy returns.

    The copy of a tensor or of a watched array is watched as well.
    """
    result = function(*args, **kwargs)
    return watch_arrays(result, watch) if args and isinstance(args[0], (torch.Tensor, _Watched)) else result
