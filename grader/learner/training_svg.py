"""A training as a picture: both curves, and beside them the boundary in the plane, or the text."""

from __future__ import annotations

import textwrap

import torch

from grader.rendering.svg_drawing import SvgDrawing

from .curve_words import MARGIN, columns, continued, height_of, loss_at, sides
from .trained import Curve, Trained

LEFT, TOP, WIDTH, HEIGHT, GAP = 60, 50, 360, 300, 60
PLACES = 60  # along each side of the plane
PARTS = 180  # of a curve
LINE, MOST_LINES, WORDS = 18, 16, 42


def drawn(trained: Trained) -> str:
    """The picture as the text of an SVG file."""
    about = f"Two loss curves over {len(trained.yours.losses)} steps: with the learner's gradients, and with torch's."
    picture = SvgDrawing(2 * LEFT + 2 * WIDTH + GAP, TOP + HEIGHT + 60, trained.training.title, about)
    picture.text(LEFT, 30, trained.training.title, "", "start")
    _curves(picture, trained)
    if hasattr(trained.training, "plane"):
        _plane(picture, trained)
    elif torch.isfinite(trained.yours.state).all():
        lines = [part for line in continued(trained).splitlines() for part in textwrap.wrap(line, WORDS) or [""]]
        for number, line in enumerate(lines[:MOST_LINES]):
            picture.text(LEFT + WIDTH + GAP, TOP + LINE * (number + 1), line, "code", "start")
    return picture.svg()


def _curves(picture: SvgDrawing, trained: Trained) -> None:
    picture.box(LEFT, TOP, WIDTH, HEIGHT, "box", 0)
    for share in (0.0, 0.5, 1.0):
        picture.text(LEFT - 6, TOP + HEIGHT * (1 - share) + 5, f"{loss_at(trained, share):.2g}", "small faint", "end")
    goal = TOP + HEIGHT * (1 - height_of(trained, trained.training.goal))
    picture.line((LEFT, goal), (LEFT + WIDTH, goal), "line")
    below = TOP + HEIGHT + 20
    picture.text(LEFT, below, "0", "small faint")
    picture.text(LEFT + WIDTH, below, f"{trained.training.steps} steps", "small faint", "end")
    picture.text(LEFT, below + 18, f"loss with your gradients (blue): {trained.yours.last:.4g}", "small", "start")
    picture.text(LEFT, below + 34, f"with torch's gradients (orange): {trained.torchs.last:.4g}", "small", "start")
    for curve, style, width in ((trained.torchs, "backward", 6), (trained.yours, "forward", 2)):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in _points(curve, trained))
        picture.parts.append(f'<polyline points="{points}" class="{style}" style="stroke-width: {width}"/>')


def _points(curve: Curve, trained: Trained) -> list[tuple[float, float]]:
    heights = [height_of(trained, mean) for mean in columns(curve, trained.training.steps, PARTS)]
    scale = WIDTH / PARTS
    return [(LEFT + (column + 0.5) * scale, TOP + HEIGHT * (1 - height)) for column, height in enumerate(heights)]


def _plane(picture: SvgDrawing, trained: Trained) -> None:
    left, size = LEFT + WIDTH + GAP, HEIGHT / PLACES
    picture.box(left, TOP, HEIGHT, HEIGHT, "box", 0)
    for row, says in enumerate(sides(trained, PLACES, PLACES).tolist()):
        for column, side in enumerate(says):
            if side > 0:
                corner = f'x="{left + column * size:g}" y="{TOP + row * size:g}"'
                shape = f'width="{size:g}" height="{size:g}" class="forward-fill" fill-opacity="0.3"'
                picture.parts.append(f"<rect {corner} {shape}/>")
    inp, targ = trained.data["inp"], trained.data["targ"]
    reach = MARGIN * float(inp.abs().max())
    for (x, y), side in zip(inp.tolist(), targ.tolist(), strict=True):
        centre = f'cx="{left + (1 + x / reach) / 2 * HEIGHT:.1f}" cy="{TOP + (1 - y / reach) / 2 * HEIGHT:.1f}"'
        picture.parts.append(f'<circle {centre} r="3" class="{"forward" if side > 0 else "backward"}-fill"/>')
