"""Pictures of units 05 and 06: activations with their slopes, and a row of cross-entropy's gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence

from picture_parts import Axes, Curve, polyline

from grader.rendering.svg_drawing import SvgDrawing

EDGE = 4.0


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _area(x: float) -> float:
    """Return the area under the bell curve, up to x."""
    return (1 + math.erf(x / math.sqrt(2))) / 2


def _bell(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


ACTIVATIONS: tuple[tuple[str, Curve, Curve], ...] = (
    ("relu", lambda x: max(x, 0.0), lambda x: float(x > 0)),
    ("sigmoid", _sigmoid, lambda x: _sigmoid(x) * (1 - _sigmoid(x))),
    ("tanh", math.tanh, lambda x: 1 - math.tanh(x) ** 2),
    ("silu", lambda x: x * _sigmoid(x), lambda x: _sigmoid(x) + x * _sigmoid(x) * (1 - _sigmoid(x))),
    ("gelu", lambda x: x * _area(x), lambda x: _area(x) + x * _bell(x)),
)


def slopes() -> SvgDrawing:
    """Five activations, each with its slope in the same axes."""
    picture = SvgDrawing(
        900,
        252,
        "Five activations and their slopes",
        "relu steps from slope 0 to 1; sigmoid's slope is at most a quarter; tanh's reaches 1 at 0; the slopes of silu "
        "and gelu dip below 0 on the left and rise above 1 on the right.",
    )
    for i, (name, value, slope) in enumerate(ACTIVATIONS):
        _panel(picture, 26 + 176 * i, 46, name, value, slope)
    picture.text(24, 238, "out, as inp goes from -4 to 4", "forward-fill small", "start")
    picture.text(230, 238, "its slope: the local derivative", "backward-fill small", "start")
    return picture


def _panel(picture: SvgDrawing, left: float, top: float, name: str, value: Curve, slope: Curve) -> None:
    """One pair of curves."""
    axes = Axes(picture, (left, top), (150, 150), (-EDGE, EDGE), (-1, 2))
    picture.text(left + 75, top - 14, name, "code")
    polyline(picture, [axes.place(-EDGE, 1), axes.place(EDGE, 1)], "line dotted")
    axes.lines_at(0, 0)
    axes.ticks_along((-2, 0, 2), on=0)
    axes.ticks_up((-1, 0, 1, 2), on=0)
    axes.curve(value, "forward", -EDGE, EDGE)
    for start, end in ((-EDGE, 0.0), (0.0, EDGE)) if name == "relu" else ((-EDGE, EDGE),):
        axes.curve(slope, "backward", start, end)


def beliefs() -> SvgDrawing:
    """One row of cross-entropy's gradient: what the network believes, less what is true."""
    picture = SvgDrawing(
        760,
        260,
        "Prediction minus target",
        "The probabilities 0.09, 0.24 and 0.67 minus the target 1, 0 and 0 give the gradient -0.91, 0.24 and 0.67; "
        "the bars above the line are together as long as the one below it.",
    )
    logits = (1.0, 2.0, 3.0)
    total = sum(math.exp(z) for z in logits)
    belief = [math.exp(z) / total for z in logits]
    truth = [1.0, 0.0, 0.0]
    gradient = [p - t for p, t in zip(belief, truth, strict=True)]
    groups = (
        ("prediction: softmax(inp)", belief),
        ("target: class 0", truth),
        ("gradient of this row's loss", gradient),
    )
    for i, (name, values) in enumerate(groups):
        left = 60 + 240 * i
        picture.text(left + 75, 30, name)
        _bars(picture, left, 140, values)
        picture.text(left + 75, 242, ("adds up to 1", "adds up to 1", "adds up to 0")[i], "faint small")
        if i < 2:
            picture.text(left + 195, 145, ("minus", "gives")[i])
    return picture


def _bars(picture: SvgDrawing, left: float, middle: float, values: Sequence[float]) -> None:
    """One bar for each value, up or down from the line `middle`; 1 is 75 pixels."""
    polyline(picture, [(left - 8, middle), (left + 158, middle)], "line")
    for i, value in enumerate(values):
        size, x = abs(value) * 75, left + 50 * i + 6
        picture.box(x, middle - size if value > 0 else middle, 38, max(size, 1), "marked" if value < 0 else "box", 0)
        picture.text(x + 19, middle - size - 6 if value >= 0 else middle + size + 16, f"{value:.2f}", "small")
        picture.text(x + 19, middle + 16 if value >= 0 else middle - 6, f"[{i}]", "code faint small")
