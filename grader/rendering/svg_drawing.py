"""Plain SVG drawings of boxes, arrows, words and grids of numbers, readable on light and on dark pages.

All lengths are in pixels; x grows to the right and y downwards.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

GridIndex = tuple[int, int]
CELL_WIDTH, CELL_HEIGHT = 44, 28
HEAD = 7
SMALLEST = 0.75  # of a drawing's own size, to which a narrow page shrinks it

STYLE = """
.page { fill: #ffffff; stroke: #d0d7de; }
text { fill: #1f2328; font: 14px system-ui, -apple-system, "Segoe UI", sans-serif; }
.code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.faint { fill: #59636e; }
.small { font-size: 12px; }
.line { stroke: #59636e; stroke-width: 1.2; fill: none; }
.box { fill: #f6f8fa; stroke: #59636e; stroke-width: 1.2; }
.marked { fill: #fff1c2; stroke: #59636e; stroke-width: 1.2; }
.forward { stroke: #0a58ca; stroke-width: 1.8; fill: none; }
.backward { stroke: #b3470b; stroke-width: 1.8; fill: none; }
.forward-fill { fill: #0a58ca; }
.backward-fill { fill: #b3470b; }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117; stroke: #3d444d; }
  text { fill: #e6edf3; }
  .faint { fill: #9aa4af; }
  .line { stroke: #9aa4af; }
  .box { fill: #1b222c; stroke: #9aa4af; }
  .marked { fill: #4a3a12; stroke: #9aa4af; }
  .forward { stroke: #7ab7ff; }
  .backward { stroke: #ffa868; }
  .forward-fill { fill: #7ab7ff; }
  .backward-fill { fill: #ffa868; }
}
"""

SCOPE = "handgrad-drawing"
CLASSES = re.compile(r'class="([^"]*)"')
INLINE_STYLE = """
text { fill: currentColor; font: 14px system-ui, -apple-system, "Segoe UI", sans-serif; }
.code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.faint { opacity: 0.75; }
.small { font-size: 12px; }
.box { fill: rgba(127, 127, 127, 0.12); stroke: currentColor; stroke-opacity: 0.5; }
.marked { fill: rgba(201, 80, 16, 0.3); stroke: rgb(201, 80, 16); stroke-width: 2; }
.forward { stroke: currentColor; stroke-opacity: 0.55; stroke-width: 1.4; fill: none; }
.backward { stroke: rgb(201, 80, 16); stroke-width: 2.2; fill: none; }
.forward-fill { fill: currentColor; opacity: 0.55; }
.backward-fill { fill: rgb(201, 80, 16); }
.dropped { stroke: rgb(201, 80, 16); stroke-width: 2.2; fill: none; stroke-dasharray: 3 6; }
.dropped-fill { fill: none; stroke: rgb(201, 80, 16); stroke-dasharray: 2 2; }
.plot { fill: none; stroke: currentColor; stroke-opacity: 0.4; }
.axis { stroke: currentColor; stroke-opacity: 0.25; }
.right-line { stroke: currentColor; stroke-opacity: 0.55; stroke-dasharray: 5 4; }
.wrong-line { stroke: rgb(201, 80, 16); stroke-width: 1.4; }
.dot { fill: rgb(201, 80, 16); fill-opacity: 0.75; }
.agrees { fill: none; stroke: currentColor; stroke-opacity: 0.8; }
.right-bar { fill: none; stroke: currentColor; stroke-dasharray: 3 2; }
.wrong-bar { fill: rgb(201, 80, 16); stroke: rgb(201, 80, 16); }
.tile { stroke: currentColor; stroke-opacity: 0.25; stroke-width: 0.6; }
.accent { font-weight: 700; }
"""


@dataclass
class SvgDrawing:
    """A drawing, on a page of its own colour or inside an HTML page.

    Args:
        width: the width of the whole drawing, in pixels as all lengths here.
        height: the height of the whole drawing.
        title: a few words for those who cannot see it.
        description: the content in a sentence or two, for the same readers.
        parts: the SVG elements, in the order in which they are drawn.
    """

    width: int
    height: int
    title: str
    description: str
    parts: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, words: str, style: str = "", anchor: str = "middle", *, size: float = 0) -> None:
        """Add words on the baseline `y`, whose start, middle or end is at `x`.

        Args:
            x: the place of the anchor.
            y: the baseline of the words.
            words: the words.
            style: a class of the style sheet.
            anchor: which part of the words is at `x`: "start", "middle" or "end".
            size: the size of the letters in pixels; 0 for that of the style.
        """
        kind = (f' class="{style}"' if style else "") + (f' style="font-size: {size:g}px"' if size else "")
        self.parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{kind}>{escape(words)}</text>')

    def box(self, x: float, y: float, width: float, height: float, style: str = "box", round: float = 4) -> None:
        """Add a rectangle.

        Args:
            x: the left edge.
            y: the upper edge.
            width: the width of the rectangle.
            height: the height of the rectangle.
            style: a class of the style sheet.
            round: the radius of its corners.
        """
        size = f'width="{width:g}" height="{height:g}"'
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" {size} rx="{round:g}" class="{style}"/>')

    def dot(self, x: float, y: float, radius: float, style: str) -> None:
        """Add a circle around the point (x, y), in pixels, in a style, which is a class of the style sheet."""
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" class="{style}"/>')

    def tile(self, x: float, y: float, size: float, colour: str) -> None:
        """Add a square of a CSS colour, `size` pixels wide, whose upper left corner is at `x` and `y`."""
        place = f'x="{x:g}" y="{y:g}" width="{size:g}" height="{size:g}"'
        self.parts.append(f'<rect {place} class="tile" fill="{colour}"/>')

    def labelled_box(self, x: float, y: float, width: float, name: str, below: str = "") -> None:
        """Add a box, `width` pixels wide and centred at `x` and `y`, with a name, and a fainter line below the name."""
        height = 46 if below else 30
        self.box(x - width / 2, y - height / 2, width, height)
        self.text(x, y + (-2 if below else 5), name, "code")
        if below:
            self.text(x, y + 15, below, "code faint small")

    def line(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        """Add a straight line between two points (x, y) in a style, which is a class of the style sheet."""
        (x1, y1), (x2, y2) = start, end
        self.parts.append(f'<path d="M {x1:.1f} {y1:.1f} L {x2:.1f} {y2:.1f}" class="{style}"/>')

    def arrow(self, start: tuple[float, float], end: tuple[float, float], style: str, bend: float = 0) -> None:
        """Add an arrow.

        Args:
            start: the point (x, y) where it begins, in pixels.
            end: the point where its head is.
            style: a class of the style sheet, such as "forward".
            bend: by how many pixels the middle of the arrow is moved to the left of its direction.
        """
        (x1, y1), (x2, y2) = start, end
        length = math.hypot(x2 - x1, y2 - y1)
        middle = (x1 + x2) / 2 + 2 * bend * (y2 - y1) / length, (y1 + y2) / 2 - 2 * bend * (x2 - x1) / length
        angle = math.atan2(y2 - middle[1], x2 - middle[0])
        neck = x2 - HEAD * math.cos(angle), y2 - HEAD * math.sin(angle)
        curve = f"M {x1:.1f} {y1:.1f} Q {middle[0]:.1f} {middle[1]:.1f} {neck[0]:.1f} {neck[1]:.1f}"
        sides = [(x2 - 1.5 * HEAD * math.cos(angle + a), y2 - 1.5 * HEAD * math.sin(angle + a)) for a in (-0.45, 0.45)]
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in [(x2, y2), *sides])
        self.parts.append(f'<path d="{curve}" class="{style}"/>')
        self.parts.append(f'<polygon points="{corners}" class="{style}-fill"/>')

    def grid(self, x: float, y: float, rows: Sequence[Sequence[float]], marked: Sequence[GridIndex] = ()) -> None:
        """Add a table of numbers whose upper left corner is at `x` and `y`.

        Args:
            x: the left edge.
            y: the upper edge.
            rows: the numbers of each row.
            marked: row and column, from 0, of the cells that stand out.
        """
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                left, top = x + j * CELL_WIDTH, y + i * CELL_HEIGHT
                self.box(left, top, CELL_WIDTH, CELL_HEIGHT, "marked" if (i, j) in marked else "box", 0)
                self.text(left + CELL_WIDTH / 2, top + CELL_HEIGHT / 2 + 5, f"{value:g}", "code")

    def svg(self) -> str:
        """Return the text of an SVG file."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}"'
        size = f'width="{self.width}" height="{self.height}" role="img" aria-labelledby="title about"'
        page = f'<rect x="0.5" y="0.5" width="{self.width - 1}" height="{self.height - 1}" rx="8" class="page"/>'
        lines = [
            f"{head} {size}>",
            f'<title id="title">{escape(self.title)}</title>',
            f'<desc id="about">{escape(self.description)}</desc>',
            f"<style>{STYLE}</style>",
            page,
            *self.parts,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"

    def inline(self) -> str:
        """Return an `<svg>` element for an HTML page, in the page's own colours."""
        classes = {name for names in CLASSES.findall("".join(self.parts)) for name in names.split()}
        rows = INLINE_STYLE.strip().splitlines()
        used = (rule for rule in rows if not rule.startswith(".") or _name(rule) in classes)
        rules = "".join(f".{SCOPE} {rule}" for rule in used)  # only those used: a page has many drawings
        head = f'<svg class="{SCOPE}" viewBox="0 0 {self.width} {self.height}" role="img"'
        size = f'width="{self.width}" height="{self.height}" style="{shrinking(self.width)}"'
        words = f"<title>{escape(self.title)}</title><desc>{escape(self.description)}</desc>"
        return f"{head} {size}>{words}<style>{rules}</style>{''.join(self.parts)}</svg>"


def shrinking(width: float) -> str:
    """Return CSS with which a drawing of a width in pixels fits a narrower page, or scrolls where it would be tiny."""
    return f"max-width:max(100%,{SMALLEST * width:.0f}px);height:auto"


def _name(rule: str) -> str:
    """Return the class that a rule of a style sheet is for: "box" of ".box { fill: none }"."""
    return rule[1:].partition(" ")[0]


def width_of(rows: Sequence[Sequence[float]]) -> float:
    """Return the width in pixels of the grid that `SvgDrawing.grid` draws of these rows of numbers."""
    return len(rows[0]) * CELL_WIDTH


def height_of(rows: Sequence[Sequence[float]]) -> float:
    """Return the height in pixels of the grid that `SvgDrawing.grid` draws of these rows of numbers."""
    return len(rows) * CELL_HEIGHT


def row_middle(y: float, row: int) -> float:
    """Return the y of the middle of a row, counted from 0, in a grid whose upper edge is at `y`."""
    return y + (row + 0.5) * CELL_HEIGHT
