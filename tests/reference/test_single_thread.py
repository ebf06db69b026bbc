"""Torch has one thread while a trial is computed, and all its threads afterwards."""

from __future__ import annotations

import pytest
import torch

from grader.reference.references import one_thread


def test_torch_gets_its_threads_back_even_after_an_exception() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
        with pytest.raises(ZeroDivisionError), one_thread():
            raise ZeroDivisionError
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
