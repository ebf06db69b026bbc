"""What several pictures are made of: curves in axes with ticks, grids with names, operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.rendering.svg_drawing import CELL_WIDTH, GridIndex, SvgDrawing, row_middle

Curve = Callable[[float], float]
Point = tuple[float, float]
STEPS, TICK = 96, 3


@dataclass(frozen=True)
class Axes:
    """A rectangle of a picture in which curves are drawn.

    Args:
        picture: what is drawn on.
        corner: the upper left corner, in pixels.
        size: width and height, in pixels.
        x: the least and the greatest x.
        y: the least and the greatest y; what is beyond is not drawn.
    """

    picture: SvgDrawing
    corner: Point
    size: Point
    x: Point
    y: Point

    def place(self, x: float, y: float) -> Point:
        """Where a point is, in pixels."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        down = (self.y[1] - y) / (self.y[1] - self.y[0])
        return self.corner[0] + across * self.size[0], self.corner[1] + down * self.size[1]

    def lines_at(self, x: float, y: float) -> None:
        """Draw the two axes, which meet in a point."""
        polyline(self.picture, [self.place(self.x[0], y), self.place(self.x[1], y)], "line")
        polyline(self.picture, [self.place(x, self.y[0]), self.place(x, self.y[1])], "line")

    def ticks_along(self, xs: Sequence[float], on: float) -> None:
        """Ticks on the axis y = `on`, with their numbers at the foot of the rectangle."""
        for x in xs:
            left, level = self.place(x, on)
            polyline(self.picture, [(left, level - TICK), (left, level + TICK)], "line")
            self.picture.text(left, self.corner[1] + self.size[1] + 15, f"{x:g}", "faint small")

    def ticks_up(self, ys: Sequence[float], on: float) -> None:
        """Ticks on the axis x = `on`, with their numbers left of the rectangle."""
        for y in ys:
            left, level = self.place(on, y)
            polyline(self.picture, [(left - TICK, level), (left + TICK, level)], "line")
            self.picture.text(self.corner[0] - 4, level + 4, f"{y:g}", "faint small", "end")

    def curve(self, f: Curve, style: str, start: float, end: float) -> None:
        """Return the part of a curve that is inside, from just after `start` to `end`."""
        xs = [start + (end - start) * max(i / STEPS, 1e-9) for i in range(STEPS + 1)]
        polyline(self.picture, [self.place(x, f(x)) for x in xs if self.y[0] <= f(x) <= self.y[1]], style)


def polyline(picture: SvgDrawing, points: Sequence[Point], style: str) -> None:
    """Straight lines from point to point; a second word `dotted` in the style makes them so."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = ' stroke-dasharray="2 4"' if style.endswith("dotted") else ""
    picture.parts.append(f'<polyline points="{path}" class="{style.split()[0]}"{dashes}/>')


def labelled_grid(
    picture: SvgDrawing,
    corner: Point,
    rows: Sequence[Sequence[float]],
    down: Sequence[str],
    along: Sequence[str],
    marked: Sequence[GridIndex],
) -> None:
    """Draw a grid with names for its rows and columns, and cells that stand out."""
    x, y = corner
    picture.grid(x, y, rows, marked)
    for i, name in enumerate(down):
        picture.text(x - 8, row_middle(y, i) + 5, name, "code faint small", "end")
    for j, name in enumerate(along):
        picture.text(x + (j + 0.5) * CELL_WIDTH, y - 8, name, "code faint small")


def operation(picture: SvgDrawing, x: float, y: float, width: float, name: str, style: str = "") -> None:
    """Draw an operation of a graph as a circle, where values are squares; `x` and `y` are its centre."""
    picture.box(x - width / 2, y - 16, width, 32, "marked", 16)
    picture.text(x, y + 5, name, style)


def there_and_back(picture: SvgDrawing, left: float, right: float, y: float) -> None:
    """Draw a forward arrow to the right and a backward one under it."""
    picture.arrow((left, y - 8), (right, y - 8), "forward")
    picture.arrow((right, y + 8), (left, y + 8), "backward")
