"""Figures of the shape of a mistake as SVG in the page's own colours: scatters, stamps, bars and verdicts.

What is right is hollow or dashed, what is the learner's is filled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape

import numpy as np

from .heat_maps import largest_magnitude, number, scatter_limits
from .picture_data import Figure, Series, early_values
from .svg_drawing import SvgDrawing

# Text keeps the page's own colour: against either tint it has a contrast of 4.5 on white and on black alike.
BELOW, ABOVE = "#1f77d0", "#c95010"
STRONGEST = 0.9
PLOT, LEFT, TOP, BELOW_PLOT, RIGHT_OF_PLOT = 180, 58, 40, 40, 24  # of a scatter, in pixels as all lengths here
LINE_OF_TEXT = 14  # the height of the equation above a scatter
DOT, ON_LINE = 4, 2e-4  # the radius of a point; how far off a line it counts as on it, of the largest entry
ALIKE = 3.0  # times that the largest number of an exercise's scatters may be larger than that of one drawn on its scale
TILE, MOST_TILES = 17, 14
LABELLED = 0.3  # of the largest bar: the end of a scale that is nearer to 0 has no number beside it
BAR, BARS_HEIGHT = 13, 120
Point = tuple[float, float]
EMPTY = 0.01  # in proportion to the largest: below it a tile has no colour
LETTER = 7.9  # the width of a letter in pixels
VISIT_WIDTH, VISIT_HEIGHT, VISIT_GAP = 58, 40, 16  # a value in an order, and the space between two
LOWEST_ARC, ARC, HIGHEST_ARC = 12, 7, 66  # of an arrow between neighbours; more for each value that it passes; at most
KEYS = {
    "scatter": "Each point is one entry: an open circle on the dashed line where yours equals the other number, else "
    "filled.",
    "unlike": "Each point is one entry: an open circle on the dashed line where yours equals the other number, else "
    "filled. The two axes have unlike scales.",
    "shaded": "Each point is one entry, moved to one of a few steps: an open circle on the dashed line where yours and "
    "the other number are in the same step, else filled.",
    "order": "From left to right. An arrow leads to a value that must come later; a bold one points back, to a value "
    "that comes too early.",
    "stamp": "Each tile is one entry: orange above 0 and blue below, the stronger, the larger.",
    "sums": "Each bar is a sum of entries along the axis named first. The right entries add up to 0; yours do not.",
}

OF_TRIALS = "The array has few entries: the points are those of several trials."


def figure_html(figure: Figure, scale: float = 0.0) -> str:
    """Return a figure as an HTML element.

    Args:
        figure: the figure.
        scale: the largest number in all scatters beside this figure; 0 for a figure that stands alone.
    """
    draw = {"stamp": _stamp, "verdicts": _verdicts, "order": _order}.get(figure.kind, _bars)
    drawing = _scatter(figure, scale) if figure.kind == "scatter" else draw(figure)
    name = escape(figure.title)  # whoever has no mouse scrolls it with the keyboard
    return f'<div class="shape" tabindex="0" role="group" aria-label="{name}">{drawing.inline()}</div>'


def _scatter(figure: Figure, scale: float) -> SvgDrawing:
    """Return the drawing of a scatter.

    Its axes end at `scale`, unless its own entries are so much smaller that they would not be seen.

    Args:
        figure: the scatter.
        scale: the largest number in all scatters beside this one.
    """
    across, yours, *lines = figure.series
    limits = _limits(figure, scale)
    names = "; ".join(line.name for line in lines) or "no line"
    longest = max((len(line.name) for line in lines), default=0)
    name_length = len(across.name) * LETTER
    is_long = name_length > PLOT + LEFT
    start_of_equation = LEFT if longest * LETTER <= PLOT else 4
    needed = start_of_equation + longest * LETTER, name_length if is_long else LEFT + PLOT
    width = round(max(LEFT + PLOT, *needed)) + RIGHT_OF_PLOT
    top = TOP if lines else TOP - LINE_OF_TEXT
    drawing = SvgDrawing(width, top + PLOT + BELOW_PLOT, figure.title, f"On {names}.")
    middle = LEFT + PLOT / 2, top + PLOT / 2

    def at(x: float, y: float) -> tuple[float, float]:
        return (middle[0] + x / limits[0] * PLOT / 2 * 0.95, middle[1] - y / limits[1] * PLOT / 2 * 0.95)

    drawing.box(LEFT, top, PLOT, PLOT, "plot", 0)
    drawing.line((LEFT, middle[1]), (LEFT + PLOT, middle[1]), "axis")
    drawing.line((middle[0], top), (middle[0], top + PLOT), "axis")
    for line in lines:
        for slope, intercept in np.atleast_2d(line.values):
            _line(drawing, at, limits, (slope, intercept), "wrong-line")
    _line(drawing, at, limits, (1.0, 0.0), "right-line")  # above the others, so that it is seen on one equal to it
    for x, y in dict.fromkeys(zip(across.values.tolist(), yours.values.tolist(), strict=True)):
        drawing.dot(*at(x, y), DOT, "agrees" if abs(x - y) <= ON_LINE * min(limits) else "dot")
    drawing.text(LEFT, 14, yours.name, "small", "start")
    for number_of_line, line in enumerate(lines):
        drawing.text(start_of_equation, 32 - LINE_OF_TEXT * number_of_line, line.name, "code small accent", "start")
    drawing.text(4 if is_long else middle[0], top + PLOT + 34, across.name, "small", "start" if is_long else "middle")
    if not figure.shaded:
        for x in (-limits[0], limits[0]):
            drawing.text(at(x, 0)[0], top + PLOT + 16, number(x), "small faint")
        for y in (-limits[1], limits[1]):
            drawing.text(LEFT - 5, at(0, y)[1] + 4, number(y), "small faint", "end")
        drawing.text(LEFT - 5, middle[1] + 4, "0", "small faint", "end")
        drawing.text(middle[0], top + PLOT + 16, "0", "small faint")
    return drawing


def largest_in_scatters(figures: Sequence[Figure]) -> float:
    """Return the largest magnitude of an entry in the scatters whose two axes have one scale; 0 without any."""
    limits = (scatter_limits(figure) for figure in figures if figure.kind == "scatter")
    return max((across for across, up in limits if across == up), default=0.0)


def _limits(figure: Figure, scale: float) -> tuple[float, float]:
    """Return the greatest number on the horizontal and on the vertical axis of a scatter.

    Args:
        figure: the scatter.
        scale: the greatest number in the scatters beside this one, which is returned for two axes of one scale unless
            the figure's own numbers are much smaller.
    """
    across, up = scatter_limits(figure)
    return (scale, scale) if across == up < scale <= ALIKE * up else (across, up)


def _line(drawing: SvgDrawing, at: Callable[[float, float], Point], limits: Point, line: Point, style: str) -> None:
    """Draw a straight line from one border of the plot to another; nothing if it does not cross the plot.

    Args:
        drawing: the drawing.
        at: takes x and y; returns that point in the pixels of the drawing.
        limits: the greatest coordinate on the horizontal and on the vertical axis.
        line: the line's slope and intercept.
        style: the name of its style in the style sheet.
    """
    slope, intercept = line
    ends = []
    for x in (-limits[0], limits[0]):
        y = slope * x + intercept
        if abs(y) > limits[1] and slope:
            y = limits[1] if y > 0 else -limits[1]
            x = (y - intercept) / slope
        if abs(x) <= limits[0] * 1.001:
            ends.append(at(x, y))
    if len(ends) == 2:
        drawing.line(ends[0], ends[1], style)


def _stamp(figure: Figure) -> SvgDrawing:
    """Return a drawing of the upstream gradient, the learner's answer to it and the right one, each as tiles."""
    shown = [_window(series) for series in figure.series]
    limit = largest_magnitude(*(values for values, _ in shown[1:])) or 1.0
    widths = [max(values.shape[1] * TILE, len(series.name) * LETTER) + 40 for (values, _), series in
              zip(shown, figure.series, strict=True)]  # fmt: skip
    height = max(values.shape[0] for values, _ in shown) * TILE + 58
    drawing = SvgDrawing(round(sum(widths)), height, figure.title, "The stronger a tile, the larger the entry.")
    left = 0.0
    for number_of_series, ((values, axes), series) in enumerate(zip(shown, figure.series, strict=True)):
        x = left + 22
        drawing.text(x, 15, series.name, "small code", "start")
        if axes[1]:
            drawing.text(x + values.shape[1] * TILE / 2, 32, axes[1], "small faint")
        if axes[0]:
            drawing.text(x - 5, 38 + values.shape[0] * TILE / 2 + 4, axes[0], "small faint", "end")
        own = limit if number_of_series else 1.0
        for (i, j), value in np.ndenumerate(values):
            drawing.tile(x + j * TILE, 38 + i * TILE, TILE, _colour(float(value) / own))
        left += widths[number_of_series]
    return drawing


def _window(series: Series) -> tuple[np.ndarray, tuple[str, str]]:
    """Return at most `MOST_TILES` rows and columns of a series around its largest entry, and the names of its axes.

    The largest is that of the greatest magnitude. The names are those of the rows' axis and of the columns'; empty for
    an axis without a name.
    """
    values = np.atleast_2d(series.values)
    row, column = divmod(int(np.abs(values).argmax()), values.shape[1])
    starts = [max(0, min(at - MOST_TILES // 2, size - MOST_TILES)) for at, size in zip((row, column), values.shape,
                                                                                     strict=True)]  # fmt: skip
    cut = values[starts[0] : starts[0] + MOST_TILES, starts[1] : starts[1] + MOST_TILES]
    names = ["" if name.startswith("_") or name.isdigit() else name for name in series.labels]
    return cut, ((names[-2] if len(names) > 1 else ""), (names[-1] if names else ""))


def _colour(level: float) -> str:
    """Return the CSS colour, such as `#1f77d080`, of a tile whose entry is `level` times the largest.

    Its hue shows the sign, its opacity the size. "none" for an entry near 0, or one that is not finite.
    """
    if not np.isfinite(level) or abs(level) < EMPTY:
        return "none"
    return with_opacity(ABOVE if level > 0 else BELOW, STRONGEST * min(abs(level), 1))


def with_opacity(colour: str, opacity: float) -> str:
    """Return a CSS colour such as `#1f77d0` with an opacity from 0 to 1 as two more digits: `#1f77d080`."""
    return f"{colour}{round(255 * opacity):02x}"


def _bars(figure: Figure) -> SvgDrawing:
    """Return a drawing of two bars for each step or place: the learner's is filled, the right one an outline."""
    yours, right = figure.series
    limit = largest_magnitude(yours.values, right.values) or 1.0
    values = np.concatenate([yours.values, right.values, [0.0]])
    values = values[np.isfinite(values)]
    highest, lowest = float(values.max()), float(values.min())
    step = 2 * BAR + 12
    width = max(70 + len(yours.values) * step, round(len(figure.title) * LETTER) + 20, 240)
    drawing = SvgDrawing(width, BARS_HEIGHT + 76, figure.title, "Filled: yours. Outline: what is right.")
    drawing.text(10, 15, figure.title, "small", "start")
    unit = BARS_HEIGHT / ((highest - lowest) or 1.0)
    base = 30 + unit * highest
    if not figure.shaded:
        for end in (end for end in (highest, lowest) if abs(end) > LABELLED * limit):
            drawing.text(54, base - unit * end + (10 if end > 0 else 0), number(end), "small faint", "end")
    drawing.text(54, base + 4, "0", "small faint", "end")
    drawing.line((60, base), (60 + len(yours.values) * step, base), "line")
    for i, label in enumerate(yours.labels):
        x = 66 + i * step
        for place, (series, style) in enumerate(((right, "right-bar"), (yours, "wrong-bar"))):
            value = float(series.values[i]) * unit
            drawing.box(x + place * BAR, base - max(value, 0), BAR, max(abs(value), 0.5), style, 0)
        drawing.text(x + BAR, BARS_HEIGHT + 46, label, "small faint")
    y = BARS_HEIGHT + 64
    for x, series, style in ((66, right, "right-bar"), (170, yours, "wrong-bar")):
        drawing.box(x, y - 10, 12, 12, style, 0)
        drawing.text(x + 18, y, series.name, "small", "start")
    return drawing


def _verdicts(figure: Figure) -> SvgDrawing:
    """Return a drawing with a mark for each backward pass; those that a learner's test rejects are in a box."""
    wrong, right = figure.series
    columns = 8
    inside = [(False, bool(ok)) for ok in wrong.values if ok] + [(True, False) for ok in right.values if not ok]
    outside = [(False, False) for ok in wrong.values if not ok] + [(True, bool(ok)) for ok in right.values if ok]
    rows = max(-(-max(len(inside), 1) // columns), -(-max(len(outside), 1) // columns))
    width = columns * 24 + 20
    drawing = SvgDrawing(2 * width + 40, rows * 24 + 58, figure.title, _verdict_sentence(figure))
    for left, name, marks in ((6, "rejected", inside), (width + 30, "accepted", outside)):
        drawing.text(left, 15, name, "small", "start")
        if name == "rejected":
            drawing.box(left, 22, width, rows * 24 + 12, "box")
        for i, (is_right, ok) in enumerate(marks):
            x, y = left + 22 + i % columns * 24, 46 + i // columns * 24
            if not ok:
                drawing.box(x - 11, y - 15, 22, 20, "marked")
            drawing.text(x, y, "\N{CHECK MARK}" if is_right else "\N{BALLOT X}")
    key = "\N{BALLOT X} wrong, \N{CHECK MARK} right; in orange where your test is mistaken"
    drawing.text(6, rows * 24 + 54, key, "small faint", "start")
    return drawing


def _verdict_sentence(figure: Figure) -> str:
    """Return "3 of 4 wrong ones are rejected, 2 of 2 right ones accepted." for the backward passes of a figure."""
    wrong, right = figure.series
    return (
        f"{int(wrong.values.sum())} of {wrong.values.size} wrong ones are rejected, "
        f"{int(right.values.sum())} of {right.values.size} right ones accepted."
    )


def _order(figure: Figure) -> SvgDrawing:
    """Return a drawing of values in their order, with arrows above them, and below them the arrows that point back."""
    values, places, arrows = figure.series
    count = len(values.values)
    pairs = [(int(source), int(target)) for source, target in arrows.values]
    too_early = {target for source, target in pairs if source > target}
    rooms = [max((_arc(s, t) for s, t in pairs if (s > t) == is_below), default=0.0) for is_below in (False, True)]
    omitted = np.diff(places.values, prepend=-1) > 1  # whether places are left out in front of each value
    gaps = VISIT_GAP * np.where(omitted, 2, 1)
    middles = (np.cumsum(gaps) + VISIT_WIDTH * (np.arange(count) + 0.5) + 10 - VISIT_GAP).tolist()
    width = max(middles[-1] + VISIT_WIDTH / 2 + 10, len(figure.title) * LETTER + 20)
    top = 26 + rooms[0]
    bottom = top + VISIT_HEIGHT
    drawing = SvgDrawing(round(width), round(bottom + rooms[1] + 10), figure.title, _order_sentence(figure))
    drawing.text(10, 15, figure.title, "small", "start")
    for source, target in pairs:
        y, style = (bottom, "backward") if source > target else (top, "forward")
        aside = 8 if source < target else -8  # so that an arrow that ends in a box and one that begins there are apart
        drawing.arrow((middles[source] + aside, y), (middles[target] - aside, y), style, _arc(source, target))
    for i, (x, value, name) in enumerate(zip(middles, values.values, values.labels, strict=True)):
        style = "dropped" if name == "missing" else "marked" if i in too_early else "box"
        drawing.box(x - VISIT_WIDTH / 2, top, VISIT_WIDTH, VISIT_HEIGHT, style)
        drawing.text(x, top + (18 if name else 25), f"{value:g}", "code")
        drawing.text(x, top + 33, name[:7], "small faint")
        if omitted[i]:
            drawing.text(x - VISIT_WIDTH / 2 - VISIT_GAP, top + 24, "\N{HORIZONTAL ELLIPSIS}", "small faint")
    return drawing


def _arc(source: int, target: int) -> float:
    """Return by how many pixels the middle of an arrow between two values is away from their row; always positive."""
    return min(LOWEST_ARC + ARC * (abs(source - target) - 1), HIGHEST_ARC)


def _order_sentence(figure: Figure) -> str:
    """Return a sentence on the values that come too early: "3 comes before 5, 6; 4 comes before 7.".

    For each of them it names those of the later values that it must come after. Without any, it is a full stop alone.
    """
    early = early_values(figure)
    return "; ".join(f"{value} comes before {', '.join(late)}" for value, late in early.values()) + "."


def figures_html(figures: Sequence[Figure], scale: float = 0.0) -> str:
    """Return figures side by side, the first of each kind above a key to it; empty where there are none.

    Args:
        figures: the figures of one answer.
        scale: the largest number in the scatters of the exercise.
    """
    if not figures:
        return ""
    drawn, explained = "", set[str]()
    for figure in figures:
        sentences = [each for each in _key(figure) if each not in explained]
        explained.update(sentences)
        key = f'<div class="dim key">{" ".join(sentences)}</div>' if sentences else ""
        drawn += f'<div class="captioned">{figure_html(figure, scale)}{key}</div>'
    return f'<div class="shapes">{drawn}</div>'


def _key(figure: Figure) -> Iterator[str]:
    """Yield sentences on what the signs of a figure mean."""
    if figure.kind == "scatter" and figure.shaded:
        yield KEYS["shaded"]
    elif figure.kind == "scatter" and len(set(scatter_limits(figure))) > 1:
        yield KEYS["unlike"]
    elif figure.kind in KEYS:
        if figure.kind == "stamp":
            yield f"{figure.title[0].upper()}{figure.title[1:]}."
        yield KEYS[figure.kind]
    if figure.is_of_several_trials:
        yield OF_TRIALS
