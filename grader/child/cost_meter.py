"""Measure a call: how many elements its operations produced, the most memory they held at once, and what for."""

from __future__ import annotations

import math
import tracemalloc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


@dataclass
class Meter:
    """What one call cost.

    Args:
        work: elements written by tensor operations, views not counted.
        peak: bytes of tensors and other Python-traced memory (numpy included) held at once.
        huge: bytes that are too much to be held at once.
        from_huge: the storages of what was held whenever it became too much, and of all that was computed from it.
    """

    work: int = 0
    peak: int = 0
    huge: float = math.inf
    from_huge: set[int] = field(default_factory=set)


class _StorageCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts each new storage while it lives."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # wrapping for dynamo would import all of it, a second on first use

    def __init__(self, meter: Meter) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.meter = meter
        self.alive: dict[int, int] = {}
        self.held = 0
        self.too_much = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        known = {leaf.untyped_storage()._cdata for leaf in tree_leaves((args, kwargs)) if _is_dense(leaf)}
        result = func(*args, **(kwargs or {}))
        of_huge = not known.isdisjoint(self.meter.from_huge)
        for leaf in tree_leaves(result):
            if _is_dense(leaf):
                if leaf.untyped_storage()._cdata not in known:
                    self._count(leaf)
                if of_huge:
                    self.meter.from_huge.add(leaf.untyped_storage()._cdata)
        return result

    def _count(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        self.meter.work += tensor.numel()
        if storage._cdata not in self.alive:
            self.alive[storage._cdata] = storage.nbytes()
            self.held += storage.nbytes()
            weakref.finalize(storage, self._forget, storage._cdata)
        if self.held >= self.meter.huge and not self.too_much:
            self._mark_latest()
        self.too_much = self.held >= self.meter.huge
        self.meter.peak = max(self.meter.peak, self.held)

    def _mark_latest(self) -> None:
        """What came last until it was too much is the cause; what was there before may be another answer."""
        total = 0
        for storage, size in reversed(self.alive.items()):
            self.meter.from_huge.add(storage)
            total += size
            if total >= self.meter.huge / 2:
                return

    def _forget(self, storage: int) -> None:
        self.held -= self.alive.pop(storage, 0)
        self.meter.from_huge.discard(storage)
        self.too_much = self.held >= self.meter.huge


@contextmanager
def measure_cost(meter: Meter) -> Iterator[None]:
    """Fill `meter` with the cost of what runs inside."""
    tracemalloc.start()
    try:
        with _StorageCounter(meter):
            yield
    finally:
        meter.peak += tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()


def _is_dense(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is torch.strided
