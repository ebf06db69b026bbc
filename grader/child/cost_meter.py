"""Measure a call: how many elements its operations produced, the most memory they held at once, and what for."""

from __future__ import annotations

import math
import tracemalloc
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class CostMeter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A context in which each new storage is counted while it lives.

    Args:
        huge: bytes that are too much to be held at once.

    Attributes:
        work: elements written by tensor operations, views not counted.
        peak: bytes of tensors and other Python-traced memory (numpy included) held at once.
        from_huge: the storages of what was held whenever it became too much, and of all that was computed from it.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # wrapping for dynamo would import all of it, a second on first use

    def __init__(self, huge: float = math.inf) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.huge, self.work, self.peak, self.held = huge, 0, 0, 0
        self.from_huge, self.alive = set[int](), dict[int, int]()

    def __enter__(self) -> CostMeter:
        tracemalloc.start()
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)  # type: ignore[no-untyped-call]
        self.peak += tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        known = {tensor.untyped_storage()._cdata for tensor in _dense((*args, *options.values()))}
        result = func(*args, **options)
        of_huge = not known.isdisjoint(self.from_huge)
        for tensor in _dense(result):
            if tensor.untyped_storage()._cdata not in known:
                self._count(tensor)
            if of_huge:
                self.from_huge.add(tensor.untyped_storage()._cdata)
        return result

    def _count(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        self.work += tensor.numel()
        if storage._cdata not in self.alive:
            self.alive[storage._cdata] = storage.nbytes()
            self.held += storage.nbytes()
            weakref.finalize(storage, self._forget, storage._cdata)
            if self.held >= self.huge > self.held - storage.nbytes():  # it has just become too much
                self._mark_latest()
        self.peak = max(self.peak, self.held)

    def _mark_latest(self) -> None:
        """What came last until it was too much is the cause; what was there before may be another answer."""
        total = 0
        for storage, size in reversed(self.alive.items()):
            self.from_huge.add(storage)
            total += size
            if total >= self.huge / 2:
                return

    def _forget(self, storage: int) -> None:
        self.held -= self.alive.pop(storage, 0)
        self.from_huge.discard(storage)


def _dense(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in what an operation is given, or gives back, that have entries one after the other."""
    if isinstance(value, (tuple, list)):
        for one in value:
            yield from _dense(one)
    elif isinstance(value, torch.Tensor) and value.layout is torch.strided:
        yield value
