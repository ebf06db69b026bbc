"""More of the classes of `test_drawn_classes`, from `HANDGRAD_DRAWN_FROM` up to `HANDGRAD_DRAWN_TO`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers.fault_injection import Classes
from test_drawn_classes import assert_graded, classes

__all__ = ["classes"]

SEEDS = range(int(os.environ.get("HANDGRAD_DRAWN_FROM", "2")), int(os.environ.get("HANDGRAD_DRAWN_TO", "5")))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_drawn_class_is_graded(classes: Classes, tmp_path: Path, seed: int) -> None:
    assert_graded(classes, tmp_path, seed)
