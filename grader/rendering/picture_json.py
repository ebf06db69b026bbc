"""Writes pictures of wrong answers as JSON: the numbers behind `check --show`, beside the record of the results."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from grader.safe_text import escaped

from .picture_data import ExercisePictures, Graph, Grid, Picture

SCHEMA = "handgrad/shown@1"


def dumps_with_pictures(record: Mapping[str, Any], album: Sequence[ExercisePictures]) -> str:
    """A record of results, as it is without pictures, and the pictures."""
    parts = {"schema": SCHEMA, "result": record, "shown": [_exercise_json(seen) for seen in album]}
    lines = (f'"{name}": {json.dumps(part, ensure_ascii=False, allow_nan=False)}' for name, part in parts.items())
    return escaped("{" + ",\n ".join(lines) + "}\n")


def _exercise_json(seen: ExercisePictures) -> dict[str, Any]:
    graph = None if seen.graph is None else _graph(seen.graph)
    return {"exercise": seen.exercise, "answers": [_picture(picture) for picture in seen.pictures], "graph": graph}


def _picture(picture: Picture) -> dict[str, Any]:
    grids = [_grid(grid) for grid in picture.grids]
    return {"name": picture.answer, "trial": picture.where, "note": picture.note, "grids": grids}


def _grid(grid: Grid) -> dict[str, Any]:
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


def _graph(graph: Graph) -> dict[str, Any]:
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
