"""The pictures of a checked exercise as plain data, made only when asked for, and never a part of a result."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from grader.course.shapes import Axes
from grader.results.records import AnswerResult, ExerciseResult
from grader.safe_text import escaped

if TYPE_CHECKING:
    import numpy as np

OUT = "out"
WHY = {
    "todo": "it is not attempted yet, so there is nothing to draw",
    "missing-answer": "no array was stored or returned, so there is nothing to draw",
    "returned-not-stored": "no array was stored, so there is nothing to draw",
    "wrong-attribute": "no array was stored there, so there is nothing to draw",
    "wrong-type": "it is not an array of numbers, so there is nothing to draw",
}
NOTHING = "there is no array to draw"
Kind = Literal["values", "difference"]
SCHEMA = "handgrad/shown@1"


@dataclass(frozen=True)
class Grid:
    """One array of a picture.

    Args:
        title: what it is, in a word or two.
        axes: a name for each axis; one that begins with `_` is no name.
        kind: values, or differences, 0 where there is none to speak of.
        values: float64.
        limit: the value at either end of the colour scale, which all grids of a picture share.
        shaded: the values are whole numbers from `-limit` to `limit`: shades, in place of numbers that are kept back.
    """

    title: str
    axes: Axes
    values: np.ndarray
    kind: Kind = "values"
    limit: float = 0.0
    shaded: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape


@dataclass(frozen=True)
class Picture:
    """One answer that is not right, to be looked at.

    Args:
        answer: its name, such as `w.g`.
        where: the trial it is from, in words.
        grids: the learner's array and what it is compared with; none where there is nothing to draw.
        note: why there is nothing, or what should be known of it.
    """

    answer: str
    where: str = ""
    grids: tuple[Grid, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class GraphNode:
    """An input, or the result of an operation.

    Args:
        key: the input's name, or `%index` of the operation.
        label: what a learner calls it: `inp`, `@`, `mean`.
        shape: of its value in the trial, with axis names.
        operands: the keys of what it is computed from.
        answer: the answer that is its gradient, if any.
        marked: the answers whose diagnosis names it.
        edges: the operands of which the diagnosis names the way to them.
    """

    key: str
    label: str
    shape: str
    operands: tuple[str, ...] = ()
    answer: str = ""
    marked: tuple[str, ...] = ()
    edges: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Graph:
    """A forward pass.

    Args:
        nodes: by key, what is computed from others after these.
        out: the key of the output.
        unmarked: the answers drawn whose diagnosis names no operation.
    """

    nodes: Mapping[str, GraphNode]
    out: str
    unmarked: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExercisePictures:
    """The pictures of one exercise.

    Args:
        pictures: one for each answer that is not right.
        graph: the forward pass, where it is drawn.
    """

    exercise: str
    pictures: tuple[Picture, ...] = ()
    graph: Graph | None = None

    @property
    def is_drawn(self) -> bool:
        """There is an array in it."""
        return any(picture.grids for picture in self.pictures)


def no_pictures(result: ExerciseResult) -> ExercisePictures:
    """No pictures, and why in one line, for a verdict that was given without looking at an array."""
    wrong = [answer for answer in result.answers if answer.status != "passed"]
    if not wrong:
        return ExercisePictures(result.id)
    todo = all(answer.status == "todo" for answer in wrong)
    return ExercisePictures(result.id, (Picture(result.id, note=why_no_picture(wrong[0]) if todo else NOTHING),))


def why_no_picture(answer: AnswerResult) -> str:
    """Why there is nothing to draw of an answer of which there is no array."""
    return WHY.get(answer.code or "", NOTHING)


def without_repeats(pictures: Sequence[Picture]) -> Iterator[Picture]:
    """The pictures, neighbours of which there is nothing but the same note as one."""
    for (is_drawn, note), found in groupby(pictures, key=lambda picture: (bool(picture.grids), picture.note)):
        if is_drawn:
            yield from found
        else:
            yield Picture(", ".join(picture.answer for picture in found), note=note)


def dumps_with_pictures(record: Mapping[str, Any], album: Sequence[ExercisePictures]) -> str:
    """A record of results, as it is without pictures, and the pictures."""
    parts = {"schema": SCHEMA, "result": record, "shown": [_exercise_json(seen) for seen in album]}
    lines = (f'"{name}": {json.dumps(part, ensure_ascii=False, allow_nan=False)}' for name, part in parts.items())
    return escaped("{" + ",\n ".join(lines) + "}\n")


def _exercise_json(seen: ExercisePictures) -> dict[str, Any]:
    graph = None if seen.graph is None else _graph_json(seen.graph)
    return {"exercise": seen.exercise, "answers": [_picture_json(picture) for picture in seen.pictures], "graph": graph}


def _picture_json(picture: Picture) -> dict[str, Any]:
    grids = [_grid_json(grid) for grid in picture.grids]
    return {"name": picture.answer, "trial": picture.where, "note": picture.note, "grids": grids}


def _grid_json(grid: Grid) -> dict[str, Any]:
    """An array as nested lists; `nan` and `inf` as strings."""
    return {
        "title": grid.title,
        "kind": grid.kind,
        "shaded": grid.shaded,
        "axes": [None if axis.startswith("_") or axis.isdigit() else axis for axis in grid.axes],
        "shape": list(grid.shape),
        "values": _entries(grid.values.tolist()),
    }


def _entries(values: Any) -> Any:
    if isinstance(values, list):
        return [_entries(value) for value in values]
    return values if math.isfinite(values) else f"{values:g}"


def _graph_json(graph: Graph) -> dict[str, Any]:
    nodes = [
        {
            "key": node.key,
            "label": node.label,
            "shape": node.shape,
            "operands": list(node.operands),
            "marked": list(node.marked),
        }
        for node in graph.nodes.values()
    ]
    return {"out": graph.out, "nodes": nodes}
