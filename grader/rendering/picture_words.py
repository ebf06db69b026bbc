"""Pictures of wrong answers in words: which entries are too high or too low, and where it goes wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grader.course.shapes import describe

from .picture_data import ExercisePictures, Graph, Grid, Picture, without_repeats
from .render_text import Line, wrapped

MOST_ENTRIES = 8


def pictures_in_words(shown: ExercisePictures, width: int) -> Iterator[Line]:
    """The pictures of one exercise, as sentences of at most `width` columns to a line."""
    if not shown.pictures:
        yield from wrapped(f"{shown.exercise}: everything is right.", width, "", "")
    for picture in without_repeats(shown.pictures):
        for sentence in _sentences(picture):
            yield from wrapped(sentence, width, "", "", indent=0)
    if shown.graph is not None:
        for sentence in _forward_pass(shown.graph):
            yield from wrapped(sentence, width, "", "", indent=0)


def _sentences(picture: Picture) -> Iterator[str]:
    if not picture.grids:
        yield f"{picture.answer}: {picture.note}."
        return
    if picture.where:
        yield f"{picture.answer}, {picture.where}."
    yours, off = picture.grids[0], picture.grids[-1]
    if off.kind == "difference" and off.shape == yours.shape:
        yield from _compared(picture.answer, yours, off)
    else:
        for grid in picture.grids:
            yield f"{grid.title}, shape {describe(grid.shape, grid.axes)}: {_listed(grid)}."


def _compared(name: str, yours: Grid, off: Grid) -> Iterator[str]:
    """How many entries are off, and those that are furthest off."""
    broken = ~np.isfinite(off.values)
    large, small = int((off.values > 0).sum()), int((off.values < 0).sum())
    right = off.values.size - large - small - int(np.isnan(off.values).sum())
    counts = [f"{count} {what}" for count, what in ((large, "too high"), (small, "too low"), (right, "right")) if count]
    if off.values.size != 1:
        yield f"Of {off.values.size} entries, {', '.join(counts) or 'none is a number'}."
    wrong = np.argwhere((off.values != 0) | broken)
    furthest = sorted(wrong, key=lambda at: -abs(np.nan_to_num(off.values[tuple(at)], nan=np.inf)))
    if len(furthest) > 1:
        yield "The furthest off first:"
    for at in map(tuple, furthest[:MOST_ENTRIES]):
        place = f"{name}[{', '.join(map(str, at))}]" if at else name
        value, error = yours.values[at], off.values[at]
        how = "too high" if error > 0 else "too low" if error < 0 else "no number to compare"
        yield f"{place}: yours is {value:.3g}, {how}."
    if len(furthest) > MOST_ENTRIES:
        yield f"And {len(furthest) - MOST_ENTRIES} more."


def _listed(grid: Grid) -> str:
    entries = grid.values.ravel()
    more = f", and {entries.size - MOST_ENTRIES} more" if entries.size > MOST_ENTRIES else ""
    return ", ".join(f"{value:.3g}" for value in entries[:MOST_ENTRIES]) + more


def _forward_pass(graph: Graph) -> Iterator[str]:
    """Each operation with what it is computed from, inputs first, and which of them a finding names."""
    yield "The forward pass, from the inputs to the output:"
    names: dict[str, str] = {}
    steps = [node for node in graph.nodes.values() if node.operands]
    for node in graph.nodes.values():
        names[node.key] = f"step {steps.index(node) + 1}" if node.operands else node.label
    for number, node in enumerate(steps, 1):
        of = " and ".join(names[key] for key in node.operands)
        out = ", which is the output" if node.key == graph.out else ""
        here = f". Here it goes wrong, for {', '.join(node.marked)}" if node.marked else ""
        yield f"Step {number}: {node.label} of {of}{out}, shape {node.shape}{here}."
    if graph.unmarked:
        yield f"For {', '.join(graph.unmarked)} no operation is named."
