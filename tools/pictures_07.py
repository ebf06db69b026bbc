"""Pictures of unit 07: a network as a graph, and one matrix in two places of it."""

from __future__ import annotations

from collections.abc import Sequence

from picture_parts import operation, there_and_back

from grader.rendering.svg_drawing import SvgDrawing

ROW, PARAMETERS = 60, 176


def network() -> SvgDrawing:
    """Draw the network: values in boxes, operations between them, and the gradient that each operation stores."""
    picture = SvgDrawing(
        920,
        256,
        "The network as a graph",
        "Forward arrows lead from inp through linear, relu, linear and mse to the loss, and from w1, b1, w2, b2 and "
        "targ into their operations; backward arrows lead from each operation to the tensors whose .g it stores.",
    )
    shapes = {"inp": "(bs, n)", "l1": "(bs, h)", "l2": "(bs, h)", "out": "(bs, 1)", "loss": "()"}
    places = _row(picture, 60, 100, list(shapes.items()), ("linear", "relu", "linear", "mse"), 40)
    for middle, names in ((places[1], ("w1", "b1")), (places[5], ("w2", "b2"))):
        for name, side in zip(names, (-1, 1), strict=True):
            x = middle + side * 46
            picture.labelled_box(x, PARAMETERS, 56, name)
            picture.text(x, PARAMETERS + 32, f"{name}.g", "code backward-fill small")
            picture.arrow((x - side * 14, PARAMETERS - 18), (middle + side * 8, 80), "forward")
            picture.arrow((middle + side * 24, 78), (x + side * 8, PARAMETERS - 18), "backward")
    picture.labelled_box(places[7], PARAMETERS, 60, "targ")
    picture.arrow((places[7], PARAMETERS - 18), (places[7], 80), "forward")
    picture.text(24, 242, "forward: values", "forward-fill small", "start")
    picture.text(
        134, 242, "backward: gradients, each stored on the tensor it belongs to", "backward-fill small", "start"
    )
    return picture


def tied() -> SvgDrawing:
    """One matrix in two places: two contributions, which are added."""
    picture = SvgDrawing(
        800,
        250,
        "Tied weights as a graph",
        "w goes into the first and into the last operation; each gives a contribution, and w.g is their sum.",
    )
    values = [(name, "") for name in ("inp", "sums", "hidden", "out")]
    places = _row(picture, 62, 112, values, ("@ w", "tanh", "@ w.t()"), -24)
    first, middle, last = places[1], places[3], places[5]
    picture.labelled_box(middle, 200, 60, "w")
    picture.text(middle, 236, "w.g", "code backward-fill small")
    for x, side in ((first, -1), (last, 1)):
        picture.arrow((middle + side * 32, 200), (x, 80), "forward", bend=12 * side)
        picture.arrow((x - side * 26, 78), (middle + side * 12, 140), "backward")
    picture.parts.append(f'<circle cx="{middle}" cy="144" r="11" class="box"/>')
    picture.text(middle, 149, "+")
    picture.arrow((middle, 157), (middle, 183), "backward")
    picture.text(first - 24, 108, "encoder", "small", "end")
    picture.text(last + 24, 108, "decoder", "small", "start")
    return picture


def _row(
    picture: SvgDrawing,
    start: float,
    pitch: float,
    values: Sequence[tuple[str, str]],
    operations: Sequence[str],
    below: float,
) -> list[float]:
    """Values and operations in turn, joined both ways, with gradients `below` the values; returns their middles."""
    places = [start + pitch * i for i in range(len(values) + len(operations))]
    for i, (name, shape) in enumerate(values):
        picture.labelled_box(places[2 * i], ROW, 76, name, shape)
        if name != "loss":
            picture.text(places[2 * i], ROW + below, f"{name}.g", "code backward-fill small")
    for i, name in enumerate(operations):
        x = places[2 * i + 1]
        operation(picture, x, ROW, 64, name, "code small" if "@" in name else "small")
        there_and_back(picture, places[2 * i] + 40, x - 34, ROW)
        there_and_back(picture, x + 34, places[2 * i + 2] - 40, ROW)
    return places
