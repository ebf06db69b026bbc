"""More of the classes of `test_class_oracle`, from `HANDGRAD_ORACLE_FROM` up to `HANDGRAD_ORACLE_TO`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers.commands import Typed
from helpers.drawn_assignments import LAYOUTS
from test_class_oracle import assert_points

pytestmark = pytest.mark.usefixtures("warm_pool")
SEEDS = range(int(os.environ.get("HANDGRAD_ORACLE_FROM", "10")), int(os.environ.get("HANDGRAD_ORACLE_TO", "18")))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_output_of_a_drawn_class_has_the_points_of_the_docs(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str, seed: int
) -> None:
    assert_points(typed, tmp_path, monkeypatch, layout, seed)
