"""Shows a training in the terminal while it runs, and what came of it as text or as data."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.live import Live

from grader.rendering.console import is_plain, print_lines, styled_text, terminal

from .curve_words import chart, continued, learned, progress_line, verdict
from .train import OnPart
from .trained import Trained


@contextmanager
def shown_live(*, quiet: bool) -> Iterator[OnPart]:
    """What draws the curve after each part: over the last one, or as a line of its own where nothing may be redrawn.

    Args:
        quiet: nothing is shown.
    """
    if quiet:
        yield lambda _: None
    elif not sys.stdout.isatty() or is_plain() or "NO_COLOR" in os.environ:
        yield lambda trained: print(progress_line(trained), flush=True)
    else:
        with Live(console=terminal(), auto_refresh=False, transient=True) as live:
            yield lambda trained: live.update(
                Group(*map(styled_text, chart(trained)), styled_text(((progress_line(trained), ""),))), refresh=True
            )


def print_trained(trained: Trained, picture: Path, weights: Path) -> None:
    """Print what came of it, and where it is."""
    print_lines([((trained.training.title, "bold"),)])
    if not is_plain():
        print_lines(chart(trained))
    print_lines(learned(trained))
    print_lines(verdict(trained))
    print_lines([((f"picture: {picture}", "dim"),), ((f"weights: {weights}", "dim"),)])


def as_json(trained: Trained, picture: Path, weights: Path) -> str:
    """What came of it for programs; a loss that is not finite is null."""
    record: dict[str, Any] = {
        "version": 1,
        "unit": trained.unit,
        "steps": trained.training.steps,
        "goal": trained.training.goal,
        "reached": trained.reached,
        "parted": trained.parted,
        "why": trained.why,
        "stopped": trained.stopped,
        "exercises": {result.id: result.status for result in trained.results},
        "solutions_used": list(trained.solved),
        "loss": _finite(trained.yours.losses),
        "loss_of_torch": _finite(trained.torchs.losses),
        "picture": str(picture),
        "weights": str(weights),
    }
    if hasattr(trained.training, "continued"):
        record["text"] = continued(trained) if bool(trained.yours.state.isfinite().all()) else ""
    return json.dumps(record)


def _finite(losses: list[float]) -> list[float | None]:
    return [loss if abs(loss) < float("inf") else None for loss in losses]
