"""Runs torch on one thread: its pool of threads is slower for tensors as small as a trial's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Everything in here is worked out by the calling thread; afterwards torch has its threads back."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
