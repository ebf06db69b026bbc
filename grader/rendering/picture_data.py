"""The pictures of a checked exercise as plain data and as JSON; made only on request, and never a part of a result."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from grader.course.shapes import Axes
from grader.results.records import AnswerResult, ExerciseResult
from grader.safe_text import escaped

if TYPE_CHECKING:
    import numpy as np

WHY = {
    "todo": "it is not attempted yet, so there is nothing to draw",
    "missing-answer": "no array was stored or returned, so there is nothing to draw",
    "returned-not-stored": "no array was stored, so there is nothing to draw",
    "wrong-attribute": "no array was stored there, so there is nothing to draw",
    "wrong-type": "it is not an array of numbers, so there is nothing to draw",
}
NOTHING = "there is no array to draw"
LABEL_SIGNS = {  # by a pattern of what is in a label of a marked operation
    "(?:^|: )gradient of": "gradient of a: it is used in place of that of the box.",
    "->": "a -> b: b is used where a must be.",
    r"(?<![a-z])f'": "f': the derivative of f, the function in the box.",
    r"f'?\(x\b": "x: what f is applied to.",
    r"(?<![\w.])g\b": "g: the upstream gradient.",
}
DERIVED = re.compile(r"([a-z]\w+)'")  # a function with a name in a label, such as the sigmoid in `sigmoid' -> 1`
Kind = Literal["values", "difference"]
FigureKind = Literal["scatter", "stamp", "steps", "sums", "verdicts", "order"]
YOUR_LIST = "your list"  # how the title of the order in a learner's list begins
SCHEMA = "handgrad/shown@1"


@dataclass(frozen=True)
class Grid:
    """An array of a picture.

    Args:
        title: a word or two, such as `yours`.
        axes: a name for each axis; a name that begins with `_` is not shown.
        values: float64.
        kind: `values`, or a `difference` of two arrays that is 0 where they agree.
        limit: the value at either end of the colour scale, which all grids of a picture share.
        shaded: the values are whole numbers from `-limit` to `limit`: shades, because the numbers are confidential.
    """

    title: str
    axes: Axes
    values: np.ndarray
    kind: Kind = "values"
    limit: float = 0.0
    shaded: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the array."""
        return self.values.shape


@dataclass(frozen=True)
class Series:
    """Numbers of a figure.

    Args:
        name: what they are, such as `yours`; of a line in a scatter, its equation.
        values: float64; of a line in a scatter its slope and intercept, or several of these.
        labels: of a stamp the names of the axes; of the points of a scatter the trial of each, if they are of several;
            else a label for each value, or none.
    """

    name: str
    values: np.ndarray
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """The shape of a mistake in an answer.

    Args:
        kind: what the series are.
            `scatter`: each entry, of what it is compared with and of the learner's; the lines that the points are on.
            `stamp`: the upstream gradient, 1 in one place; the learner's answer to it; the right one.
            `steps`: a size for each step of a loop, the learner's and the right one.
            `sums`: the sum along an axis at each place, the learner's and the right one.
            `verdicts`: 1 for each backward pass that is judged rightly, else 0: the wrong ones, and the right ones.
            `order`: the numbers of values in an order, with the operation of each as its label; the place of each in
            the whole order; pairs of indices into these, the second of which must come after the first.
        title: a few words.
        series: the numbers.
        shaded: the values are whole numbers in steps of the largest, because the numbers are confidential.
    """

    kind: FigureKind
    title: str
    series: tuple[Series, ...]
    shaded: bool = False

    @property
    def is_of_several_trials(self) -> bool:
        """Return whether the figure is a scatter of the entries of several trials, and not of one alone."""
        return self.kind == "scatter" and len(set(self.series[0].labels)) > 1


def early_values(figure: Figure) -> dict[int, tuple[str, list[str]]]:
    """Return the values that come too early in a figure of an order, each with the values that it comes before.

    Returns:
        By the index of the value in the figure, in rising order, its number as text and the numbers of those others.
    """
    values, _, arrows = figure.series
    early: dict[int, tuple[str, list[str]]] = {}
    for source, target in arrows.values.astype(int).tolist():
        if source > target:
            early.setdefault(target, (f"{values.values[target]:g}", []))[1].append(f"{values.values[source]:g}")
    return dict(sorted(early.items()))


@dataclass(frozen=True)
class Picture:
    """An answer that is not right, with its arrays.

    Args:
        answer: its name, such as `w.g`.
        where: the trial that the arrays are from, in words.
        grids: the learner's array and those that it is compared with; none if there is nothing to draw.
        note: a remark on the grids, or why there are none.
        figures: the shape of the mistake, the most telling figure first.
        cause: the answer that has the same mistake, and whose figures show it; empty if there is none.
    """

    answer: str
    where: str = ""
    grids: tuple[Grid, ...] = ()
    note: str = ""
    figures: tuple[Figure, ...] = ()
    cause: str = ""

    @property
    def is_drawn(self) -> bool:
        """Return whether the picture has a grid or a figure."""
        return bool(self.grids or self.figures)


@dataclass(frozen=True)
class GraphNode:
    """An input, or the result of an operation.

    Args:
        key: the input's name, or `%index` of the operation.
        label: the name of the input, or of the operation as a learner spells it: `inp`, `@`, `mean`.
        shape: the shape of its value in the trial, with axis names.
        operands: the keys of the nodes that it is computed from, each as often as it is taken: `x * x` takes x twice.
        answer: the answer that its gradient is, or a part of; empty if there is none.
        marked: the answers whose diagnosis names the node.
        edges: the indices of the operands to which the diagnosis names the edge.
        dropped: those of `edges` along which no gradient comes, though one must.
        change: what is done there in place of what must be, as a formula: `+= -> =`; where that differs between the
            answers, a line for each formula, with its answers before it: `a.g: b -> 1`.
        name: what the exercise calls the result of the operation: `hidden`, `out`; empty if it has no name.
    """

    key: str
    label: str
    shape: str
    operands: tuple[str, ...] = ()
    answer: str = ""
    marked: tuple[str, ...] = ()
    edges: frozenset[int] = frozenset()
    dropped: frozenset[int] = frozenset()
    change: str = ""
    name: str = ""

    @property
    def is_value_with_wrong_gradient(self) -> bool:
        """Return whether it is a step marked for its own gradient, which is wrong on its way from the value's users."""
        return bool(self.operands) and self.marked == (self.answer,)

    @property
    def title(self) -> str:
        """Return the label with the name of the result before it, such as `hidden = tanh`."""
        return f"{self.name} = {self.label}" if self.name else self.label


@dataclass(frozen=True)
class Graph:
    """A forward pass.

    Args:
        nodes: by key; each stands behind all nodes that it is computed from.
        out: the key of the output.
        unmarked: the answers drawn whose diagnosis names no node; none where there is a single operation to name.
    """

    nodes: Mapping[str, GraphNode]
    out: str
    unmarked: tuple[str, ...] = ()

    @property
    def key_of_labels(self) -> str:
        """Return a sentence for each sign, such as `->` or `g`, in the labels of the marked operations.

        Empty if none occurs.
        """
        labels = [label for node in self.nodes.values() for label in node.change.splitlines()]
        sentences = [text for sign, text in LABEL_SIGNS.items() if any(re.search(sign, label) for label in labels)]
        functions = dict.fromkeys(name for label in labels for name in DERIVED.findall(label))
        return " ".join([*sentences, *(f"{name}': the derivative of {name}." for name in functions)])


@dataclass(frozen=True)
class ExercisePictures:
    """The pictures of an exercise.

    Args:
        exercise: its id.
        pictures: one for each answer that is not right.
        graph: the forward pass; `None` if it is not drawn.
    """

    exercise: str
    pictures: tuple[Picture, ...] = ()
    graph: Graph | None = None

    @property
    def is_drawn(self) -> bool:
        """Return whether any picture has anything to draw."""
        return any(picture.is_drawn for picture in self.pictures)


def no_pictures(result: ExerciseResult) -> ExercisePictures:
    """Return pictures without arrays for a result whose arrays are not known, with the reason in a note.

    If every answer is right there is no picture at all.
    """
    wrong = [answer for answer in result.answers if answer.status != "passed"]
    if not wrong:
        return ExercisePictures(result.id)
    todo = all(answer.status == "todo" for answer in wrong)
    return ExercisePictures(result.id, (Picture(result.id, note=why_no_picture(wrong[0]) if todo else NOTHING),))


def why_no_picture(answer: AnswerResult) -> str:
    """Return a clause on why a wrong answer has no array to draw, chosen by its code."""
    return WHY.get(answer.code or "", NOTHING)


def merge_equal_notes(pictures: Sequence[Picture]) -> Iterator[Picture]:
    """Yield pictures in order.

    Neighbours without arrays and with the same note become one, which names all their answers.
    """
    for (is_drawn, note), neighbours in groupby(pictures, key=lambda picture: (picture.is_drawn, picture.note)):
        if is_drawn:
            yield from neighbours
        else:
            yield Picture(", ".join(picture.answer for picture in neighbours), note=note)


def dumps_with_pictures(record: Mapping[str, Any], album: Sequence[ExercisePictures]) -> str:
    """Return a record of results and its pictures as a `handgrad/shown@1` JSON document.

    Args:
        record: a `handgrad/result@2` record, which is included unchanged.
        album: the pictures of each exercise.
    """
    parts = {"schema": SCHEMA, "result": record, "shown": [_exercise_json(seen) for seen in album]}
    lines = (f'"{name}": {json.dumps(part, ensure_ascii=False, allow_nan=False)}' for name, part in parts.items())
    return escaped("{" + ",\n ".join(lines) + "}\n")


def _exercise_json(seen: ExercisePictures) -> dict[str, Any]:
    """Return the pictures of an exercise as JSON data: its id, a picture for each answer, and the graph or `None`."""
    graph = None if seen.graph is None else _graph_json(seen.graph)
    return {"exercise": seen.exercise, "answers": [_picture_json(picture) for picture in seen.pictures], "graph": graph}


def _picture_json(picture: Picture) -> dict[str, Any]:
    """Return a picture as JSON data: the name of the answer, the trial in words, a note, the figures and the grids."""
    grids, figures = [_grid_json(grid) for grid in picture.grids], [_figure_json(each) for each in picture.figures]
    return {"name": picture.answer, "trial": picture.where, "note": picture.note, "figures": figures, "grids": grids}


def _figure_json(figure: Figure) -> dict[str, Any]:
    """Return a figure as JSON data: its kind, its title, and its series with their labels."""
    series = [
        {"name": each.name, "labels": list(each.labels), "values": _json_entries(each.values.tolist())}
        for each in figure.series
    ]
    return {"kind": figure.kind, "title": figure.title, "shaded": figure.shaded, "series": series}


def _grid_json(grid: Grid) -> dict[str, Any]:
    """Return a grid as JSON data: its title, kind, axes and shape, and its values as nested lists, NaN as text."""
    return {
        "title": grid.title,
        "kind": grid.kind,
        "shaded": grid.shaded,
        "axes": [None if axis.startswith("_") or axis.isdigit() else axis for axis in grid.axes],
        "shape": list(grid.shape),
        "values": _json_entries(grid.values.tolist()),
    }


def _json_entries(values: Any) -> Any:
    """Return a number, or numbers in nested lists, with NaN and infinity as strings, which JSON has no numbers for."""
    if isinstance(values, list):
        return [_json_entries(value) for value in values]
    return values if math.isfinite(values) else f"{values:g}"


def _graph_json(graph: Graph) -> dict[str, Any]:
    """Return the graph of a forward pass as JSON data: the key of its output, and its nodes with their operands."""
    nodes = [
        {
            "key": node.key,
            "label": node.label,
            "name": node.name,
            "shape": node.shape,
            "operands": list(node.operands),
            "marked": list(node.marked),
            "dropped": sorted({node.operands[i] for i in node.dropped}),
            "change": node.change,
        }
        for node in graph.nodes.values()
    ]
    return {"out": graph.out, "nodes": nodes}
