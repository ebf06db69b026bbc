"""Figures of the shape of a mistake as text: plots of characters, and sentences for plain mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .heat_maps import largest_magnitude, number
from .picture_data import YOUR_LIST, Figure, Series, early_values
from .render_text import Line, Style

INDENT, BETWEEN = "  ", "    "
ACROSS, DOWN = 41, 15  # columns and rows of a scatter: odd, so that both axes are in the middle
ON_LINE = 2e-4  # how far off the diagonal a point counts as on it, of the largest entry
APART = 8.0  # times that the learner's entries may be larger than the right ones, on a common scale
BAR, MOST_TILES = 30, 14
FAINT, STRONG = 0.01, 0.5  # of the largest entry: below it a tile is empty, and above it its sign is there twice
MOST_NAMED = 4  # entries that a sentence names


def figure_lines(figure: Figure, width: int) -> Iterator[Line]:
    """Yield the lines of a figure: at most 60 columns wide, but a stamp as wide as `width` allows, and 44 at least."""
    yield ((INDENT, ""), (figure.title, "dim"))
    if figure.kind == "stamp":
        yield from _stamp_lines(figure, width - len(INDENT))
        return
    draw = {"scatter": _scatter_lines, "verdicts": _verdict_lines, "order": _order_lines}.get(figure.kind, _bar_lines)
    yield from draw(figure)


def _scatter_lines(figure: Figure) -> Iterator[Line]:
    """Yield the lines of a plot: `o` for a point, `.` if its entries are equal, `/` for the diagonal, axes at 0."""
    across, yours, *lines = figure.series
    limits = [largest_magnitude(series.values) or 1.0 for series in (across, yours)]
    if max(limits) <= APART * min(limits):
        limits = [max(limits)] * 2
    cells = [["|" if j == ACROSS // 2 else "-" if i == DOWN // 2 else " " for j in range(ACROSS)] for i in range(DOWN)]

    def put(x: float, y: float, mark: str) -> None:
        i, j = round((1 - y / limits[1]) * (DOWN - 1) / 2), round((1 + x / limits[0]) * (ACROSS - 1) / 2)
        if 0 <= i < DOWN and 0 <= j < ACROSS:
            cells[i][j] = mark

    for x in np.linspace(-limits[0], limits[0], ACROSS):
        put(float(x), float(x), "/")
    points = list(zip(across.values.tolist(), yours.values.tolist(), strict=True))
    for x, y in sorted(points, key=lambda point: abs(point[0] - point[1]) > ON_LINE * max(limits)):
        put(x, y, "o" if abs(x - y) > ON_LINE * max(limits) else ".")
    scale = "" if figure.shaded else f"  from {number(-limits[0])} to {number(limits[0])}"
    height = "" if figure.shaded else f"  up to {number(limits[1])}"
    yield ((INDENT, ""), (f"{yours.name}{height}", "dim"), *((f"   {line.name}", "mark") for line in lines))
    for row in cells:
        yield ((INDENT, ""), ("".join(row).rstrip(), ""))
    yield ((INDENT, ""), (f"{across.name}{scale}", "dim"))
    yield ((INDENT, ""), ("on / both are equal (.), o is off it", "dim"))
    if figure.is_of_several_trials:
        yield ((INDENT, ""), ("the points are those of all trials", "dim"))


def _stamp_lines(figure: Figure, room: int) -> Iterator[Line]:
    """Yield the upstream gradient and both answers to it: for each entry `++`, `+`, `.`, `-` or `--`.

    All three stand side by side if they fit into `room` columns, else both answers, else each array alone.
    """
    shown = [tiles(series) for series in figure.series]
    limit = largest_magnitude(*shown[1:]) or 1.0
    blocks = []
    for place, (series, values) in enumerate(zip(figure.series, shown, strict=True)):
        own = limit if place else 1.0
        rows = ["".join(f"{_tile(float(value) / own):>3}" for value in row) for row in values]
        width = max(map(len, (series.name, *rows)))
        blocks.append([f"{text:<{width}}" for text in (series.name, *rows)])
    ways = ([blocks], [blocks[:1], blocks[1:]], [[block] for block in blocks])
    fits = (way for way in ways if all(len(BETWEEN.join(block[0] for block in row)) <= room for row in way))
    for place, row in enumerate(next(fits, ways[-1])):
        if place:
            yield ()
        for i in range(max(map(len, row))):
            parts = (block[i] if i < len(block) else " " * len(block[0]) for block in row)
            yield ((INDENT, ""), (BETWEEN.join(parts).rstrip(), "bold" if i == 0 else ""))


def tiles(series: Series) -> np.ndarray:
    """Return at most `MOST_TILES` rows and columns of a series around its largest entry."""
    values = np.atleast_2d(series.values)
    at = divmod(int(np.abs(values).argmax()), values.shape[1])
    row, column = (max(0, min(i - MOST_TILES // 2, n - MOST_TILES)) for i, n in zip(at, values.shape, strict=True))
    return values[row : row + MOST_TILES, column : column + MOST_TILES]


def _tile(level: float) -> str:
    """Return an entry of a map: `++`, `+`, `.`, `-` or `--`.

    `level` is its size in proportion to the largest, from -1 to 1.
    """
    if not abs(level) > FAINT:
        return "."
    return ("+" if level > 0 else "-") * (2 if abs(level) > STRONG else 1)


def _bar_lines(figure: Figure) -> Iterator[Line]:
    """Yield a bar for each step or place: `#` as long as the learner's number, and `|` where the right one ends."""
    yours, right = figure.series
    limit = largest_magnitude(yours.values, right.values) or 1.0
    signed = min(yours.values.min(initial=0.0), right.values.min(initial=0.0)) < 0
    size = max(map(len, yours.labels), default=1)
    for label, own, wanted in zip(yours.labels, yours.values.tolist(), right.values.tolist(), strict=True):
        row = [" "] * (2 * BAR + 1 if signed else BAR + 1)
        zero = BAR if signed else 0
        end, mark = zero + round(own / limit * BAR), zero + round(wanted / limit * BAR)
        for j in range(min(zero, end), max(zero, end) + (own != 0)):
            row[j] = "#"
        row[mark] = "|"
        yield ((INDENT, ""), (f"{label:>{size}} ", "dim"), ("".join(row).rstrip(), ""))
    yield ((INDENT, ""), (f"# {yours.name}, | {right.name}", "dim"))


def _verdict_lines(figure: Figure) -> Iterator[Line]:
    """Yield a line such as "wrong caught ooo escaped x" on the wrong backward passes, and one on the right ones."""
    wrong, right = figure.series
    for series, yes, no in ((wrong, "caught", "escaped"), (right, "accepted", "rejected")):
        good = int(series.values.sum())
        yield (
            (INDENT, ""),
            (f"{series.name:<6} ", "bold"),
            (f"{yes} {'o' * good} ", ""),
            (f"{no} {'x' * (series.values.size - good)}", "mark" if good < series.values.size else "dim"),
        )


def _order_lines(figure: Figure) -> Iterator[Line]:
    """Yield a line for each value in an order: its place, its number, and the values that it wrongly comes before.

    A line "..." stands for places that are left out.
    """
    values, places, _ = figure.series
    early, before = early_values(figure), -1
    size, widest = len(f"{places.values[-1] + 1:g}"), max(len(f"{value:g}") for value in values.values)
    for i, (value, name, place) in enumerate(zip(values.values, values.labels, places.values, strict=True)):
        if place > before + 1:
            yield ((INDENT, ""), ("...", "dim"))
        before = place
        where = "" if name == "missing" else f"{place + 1:g}."
        line: list[tuple[str, Style]] = [(INDENT, ""), (f"{where:>{size + 1}} ", "dim")]
        line += [(f"value {value:<{widest}g}", "bold"), (f"  {name}" if name else "", "dim")]
        if i in early:
            line.append((f"  <== before {', '.join(early[i][1])}", "mark"))
        yield tuple(line)


def figure_sentences(figure: Figure, name: str) -> Iterator[str]:
    """Yield a sentence or two that say what a figure shows.

    Args:
        figure: the figure.
        name: the name of the answer.
    """
    if figure.kind == "scatter":
        yield from _scatter_sentences(figure)
    elif figure.kind == "stamp":
        upstream, yours, right = figure.series
        first = f"If {upstream.name}{_largest_entry(upstream.values)[1]} is 1 and all else of it 0"
        yield f"{first}, {name} of yours has {_entries(yours, figure)}, and must have {_entries(right, figure)}."
    elif figure.kind == "order":
        early, labels = early_values(figure), figure.series[0].labels
        said = [f"value {value} comes before {' and '.join(late)}" for value, late in list(early.values())[:MOST_NAMED]]
        said += [f"{len(early) - MOST_NAMED} more come too early"] if len(early) > MOST_NAMED else []
        if figure.title.startswith(YOUR_LIST):  # a backward pass may visit a value again
            counts = (("come again", labels.count("again")), ("are missing", labels.count("missing")))
            said += [f"values that {what}: {count}" for what, count in counts if count]
        yield f"In {figure.title}, {'; '.join(said)}."
    elif figure.kind == "verdicts":
        wrong, right = figure.series
        caught, accepted, every = int(wrong.values.sum()), int(right.values.sum()), wrong.values.size
        yield (
            f"Of {every} wrong backward passes {caught} are caught and {every - caught} escape; "
            f"of {right.values.size} right ones {accepted} are accepted."
        )
    else:
        yours, right = figure.series
        least = 1e-6 * largest_magnitude(yours.values, right.values)
        is_near = np.isclose(yours.values, right.values, rtol=1e-3, atol=least)
        off = [i for i, near in enumerate(is_near) if not near]
        what = "step" if figure.kind == "steps" else "place"
        listed = [
            f"{what} {yours.labels[i]}"
            + ("" if figure.shaded else f" is {number(yours.values[i])}, right is {number(right.values[i])}")
            for i in off[:MOST_NAMED]
        ]
        yield f"Of {figure.title}, {len(off)} of {len(yours.values)} are off: {'; '.join(listed)}."


def _scatter_sentences(figure: Figure) -> Iterator[str]:
    """Yield a sentence on the line that the points of a scatter are on, or sentences on those off the diagonal."""
    across, yours, *lines = figure.series
    scale = max(largest_magnitude(across.values, yours.values), 1e-300)
    off = np.abs(across.values - yours.values) > ON_LINE * scale
    plot = f"In a plot of {figure.title}{' in all trials' if figure.is_of_several_trials else ''}"
    if lines:
        yield f"{plot}, the points are on a line: {lines[0].name}."
        return
    lost = int((off & (np.abs(yours.values) <= ON_LINE * scale)).sum())
    extra = int((off & (np.abs(across.values) <= ON_LINE * scale)).sum())
    yield f"{plot}, {int(off.sum())} of {off.size} points are off the diagonal, on no common line."
    if lost:
        yield f"At {lost} of them yours is 0 and {across.name} is not."
    if extra:
        yield f"At {extra} of them {across.name} is 0 and yours is not."


def _largest_entry(values: np.ndarray) -> tuple[float, str]:
    """Return the entry of largest magnitude of an array, and its index as text, such as `[1, 2]`."""
    at = np.unravel_index(int(np.abs(values).argmax()), values.shape)
    return float(values[at]), f"[{', '.join(map(str, map(int, at)))}]"


def _entries(series: Series, figure: Figure) -> str:
    """Return how many entries of a series are not 0, and the first of them: "2 entries other than 0, at [0, 1] (1.50)".

    The values in round brackets are left out of a shaded figure. "only zeros" if every entry is 0.
    """
    limit = largest_magnitude(series.values)
    places: Sequence[Sequence[int]] = np.argwhere(np.abs(series.values) > 1e-6 * limit).tolist() if limit else []
    if not places:
        return "only zeros"
    listed = ", ".join(
        f"[{', '.join(map(str, place))}]"
        + ("" if figure.shaded else f" ({number(float(series.values[tuple(place)]))})")
        for place in places[:MOST_NAMED]
    )
    more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
    return f"{len(places)} entr{'y' if len(places) == 1 else 'ies'} other than 0, at {listed}{more}"
