"""Pictures of units 01 and 02: secants that become a tangent, a chain of three steps, and one step by itself."""

from __future__ import annotations

from picture_parts import Axes, Curve, operation, there_and_back

from grader.rendering.svg_drawing import SvgDrawing


def secants() -> SvgDrawing:
    """Draw unit 1's curve with three secants and the tangent, all through the same point."""
    picture = SvgDrawing(
        680,
        330,
        "Secants that become a tangent",
        "Through the point x = 3 of the curve (x - 5) squared go secants with h = 3, 2 and 1, whose slopes are -1, -2 "
        "and -3, and the tangent, whose slope is -4.",
    )
    axes = Axes(picture, (50, 20), (600, 270), (0.8, 7.6), (-0.9, 9.2))
    axes.lines_at(0.8, 0)
    axes.ticks_along((1, 2, 3, 4, 5, 6, 7), on=0)
    axes.ticks_up((0, 2, 4, 6, 8), on=0.8)
    for h in (3, 2, 1):
        axes.curve(_line_of_slope(h - 4), "line", 1.9, 3 + h + 0.5)
    axes.curve(lambda x: (x - 5) ** 2, "forward", 1.9, 7.6)
    axes.curve(_line_of_slope(-4), "backward", 1.9, 4.2)
    for h in (0, 1, 2, 3):
        x, y = axes.place(3 + h, (h - 2) ** 2)
        picture.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" class="marked"/>')
    picture.text(256, 148, "here: x = 3, g = 4", "small", "start")
    for h, style in ((3, "small"), (2, "small"), (1, "small"), (0, "backward-fill small")):
        x, y = axes.place(1.9, 4 - 1.1 * (h - 4))
        picture.text(x - 6, y + 4, f"h = {h}" if h else "tangent", style, "end")
    for i, h in enumerate((3, 2, 1)):
        picture.text(400, 56 + 22 * i, f"secant with h = {h}:  slope {h - 4}", "small", "start")
    picture.text(400, 122, "h towards 0:  the tangent, slope -4", "backward-fill small", "start")
    picture.text(556, 176, "g(x) = (x - 5)\u00b2", "forward-fill small", "end")
    return picture


def _line_of_slope(slope: float) -> Curve:
    """Draw the straight line of this slope through the point (3, 4)."""
    return lambda x: 4 + slope * (x - 3)


def chain() -> SvgDrawing:
    """Draw unit 2's three steps with a nudge forward and the gradient backward."""
    picture = SvgDrawing(
        880,
        252,
        "A nudge forward, a gradient backward",
        "A nudge of 0.001 at x becomes 0.001 at y, about 0.018 at z and about 0.0045 at out. The gradient is 1 at out, "
        "0.25 at z, 4.5 at y and 4.5 at x.",
    )
    places = (190, 400, 610, 820)
    values = (("x[i]", "1"), ("y[i]", "3"), ("z[i]", "27"), ("out", "27"))
    for x, (name, value) in zip(places, values, strict=True):
        picture.labelled_box(x, 60, 76, name, value)
    factors = ("1", "18", "1/4")
    for i, step in enumerate(("+ 2", "3 \u00b7 y \u00b7 y", "mean of 4")):
        left, right = places[i] + 42, places[i + 1] - 42
        middle = (left + right) / 2
        picture.arrow((left, 60), (right, 60), "forward")
        picture.text(middle, 48, step, "code")
        picture.text(middle, 132, f"\u00b7 {factors[i]}", "code forward-fill small")
        picture.arrow((left, 140), (right, 140), "forward")
        picture.text(middle, 188, f"\u00b7 {factors[i]}", "code backward-fill small")
        picture.arrow((right, 196), (left, 196), "backward")
    for x, nudge, gradient in zip(
        places, ("0.001", "0.001", "0.018", "0.0045"), ("4.5", "4.5", "0.25", "1"), strict=True
    ):
        picture.text(x, 145, nudge, "code forward-fill")
        picture.text(x, 201, gradient, "code backward-fill")
    for y, words in ((65, "values"), (145, "nudge of x[i], forward"), (201, "gradient, backward")):
        picture.text(16, y, words, "faint small", "start")
    picture.text(16, 234, "The same three local derivatives, 1, 18 and 1/4, multiply both.", "faint small", "start")
    return picture


def step() -> SvgDrawing:
    """One step by itself: what it is given, what it multiplies by, and what it stores."""
    picture = SvgDrawing(
        820,
        218,
        "One step and its upstream gradient",
        "The step sqrt makes out = 2 from inp = 4. It is given out.g = 3, multiplies by its local derivative 0.25, and "
        "stores inp.g = 0.75. What lies between out and the loss L is not its concern.",
    )
    row, places = 66, (90, 260, 430, 600, 750)
    for x, name, value in ((places[0], "inp", "4"), (places[2], "out", "2")):
        picture.labelled_box(x, row, 90, name, value)
    picture.labelled_box(places[4], row, 60, "L")
    operation(picture, places[1], row, 90, "sqrt", "code")
    picture.box(places[3] - 60, row - 16, 120, 32, "box", 16)
    picture.text(places[3], row + 5, "other steps", "faint small")
    halves = (45, 45, 45, 60, 30)
    for i in range(4):
        there_and_back(picture, places[i] + halves[i] + 3, places[i + 1] - halves[i + 1] - 3, row)
    for x, formula, words in (
        (places[0], "inp.g = 0.75", "asked for: dL/dinp"),
        (places[1], "\u00b7 0.25", "the local derivative at 4"),
        (places[2], "out.g = 3", "given: dL/dout"),
    ):
        picture.text(x, 134, formula, "code backward-fill")
        picture.text(x, 156, words, "faint small")
    picture.text(places[3], 156, "they stored out.g", "faint small")
    picture.text(260, 198, "3 \u00b7 0.25 = 0.75", "code backward-fill")
    return picture
