"""More of the classes of `test_drawn_classes`, from `HANDGRAD_DRAWN_FROM` up to `HANDGRAD_DRAWN_TO`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.fault_injection import Classes
from test_drawn_classes import assert_graded, classes_in

from grader.sandbox.worker import start_worker

SEEDS = range(int(os.environ.get("HANDGRAD_DRAWN_FROM", "2")), int(os.environ.get("HANDGRAD_DRAWN_TO", "5")))


@pytest.fixture
def classes(tmp_path: Path) -> Iterator[Classes]:
    """Return the classes of a folder, each graded with a worker that is started for it."""
    with classes_in(tmp_path, start_worker) as classes:
        yield classes


@pytest.mark.parametrize("seed", SEEDS)
def test_a_drawn_class_is_graded(classes: Classes, tmp_path: Path, seed: int) -> None:
    assert_graded(classes, tmp_path, seed)
