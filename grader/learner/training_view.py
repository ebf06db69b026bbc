"""A training as text, as an SVG picture and as JSON: both loss curves, and the plane or the text that was learned."""

from __future__ import annotations

import json
import math
import os
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from rich.console import Group
from rich.live import Live

from grader.rendering.console import is_plain, print_lines, report_width, styled_text, terminal
from grader.rendering.page import figure, page
from grader.rendering.render_text import Line, Style, wrapped
from grader.rendering.svg_drawing import SvgDrawing
from grader.results.records import AnswerResult, ExerciseResult
from grader.safe_text import plain

from . import training_loop
from .training import Curve, OnPart, Training

CHART_WIDTH, CHART_HEIGHT = 60, 12  # characters at most; a narrow terminal has fewer columns
BESIDE_CHART, BESIDE_PLANE = 16, 4  # characters of a line that the chart, and the plane, leave to labels and margins
PLANE_WIDTH, PLANE_HEIGHT, MARGIN = 60, 26, 1.15
BOTH, YOURS, TORCHS = "*", "o", "."
LEFT, TOP, WIDTH, HEIGHT, GAP = 60, 50, 360, 300, 60  # of the picture
PLACES = 60  # along each side of the plane
PARTS = 180  # of a curve
SCALE = "loss, on a logarithmic scale"
YOURS_WIDTH, TORCHS_WIDTH = 3, 9  # of the curves in pixels, so that both colours are seen where one lies on the other
LINE_HEIGHT, MOST_LINES, TEXT_COLUMNS = 18, 16, 42
GOES_ON = "\N{DOWNWARDS ARROW WITH TIP RIGHTWARDS} "  # before the rest of a line that is too long for the picture


def progress_line(training: Training) -> str:
    """Return the step and both losses of a training in one line, "step 100 of 500: loss 0.3, with torch's ... 0.3"."""
    steps = len(training.yours.losses)
    losses = f"loss {training.yours.last:.4g}, with torch's gradients {training.torchs.last:.4g}"
    return f"step {steps} of {training.model.steps}: {losses}"


def live_lines(training: Training) -> Iterator[Line]:
    """Yield the chart of a training that goes on, and below it the step and both losses, wrapped at the width."""
    yield from chart(training)
    yield from wrapped(progress_line(training), report_width(), "", "", indent=0)


def columns(curve: Curve, steps: int, width: int) -> list[float]:
    """Return the heights of a curve in a chart: for each column the mean loss of the steps in it.

    The `width` columns share the `steps` steps; columns that the curve has not reached, or that have no step, are
    missing.
    """
    parts = [curve.losses[column * steps // width : (column + 1) * steps // width] for column in range(width)]
    return [sum(part) / len(part) for part in parts if part]


def height_of(training: Training, loss: float) -> float:
    """Return the height at which a loss is drawn, from 0 at the bottom to 1, on a logarithmic scale.

    The scale begins at torch's least loss or the goal, and ends at torch's greatest. A loss outside of it, or one that
    is not finite, is drawn at its edge.
    """
    low, high = _scale(training)
    if not math.isfinite(loss) or loss >= high:
        return 1.0
    return math.log(max(loss, low) / low) / math.log(high / low)


def loss_at(training: Training, height: float) -> float:
    """Return the loss that is drawn at a height from 0 to 1."""
    low, high = _scale(training)
    return low * math.exp(height * math.log(high / low))


def _scale(training: Training) -> tuple[float, float]:
    """Return the losses at the bottom and the top of the chart: the least and the greatest of torch's and the goal.

    The top is at least twice the bottom.
    """
    losses = training.torchs.losses
    low = min([*losses, training.model.goal])
    return low, max([*losses, 2 * low])


def chart(training: Training) -> Iterator[Line]:
    """Yield the lines of a chart of both loss curves over the steps, on a logarithmic scale."""
    steps, width = training.model.steps, min(CHART_WIDTH, report_width() - BESIDE_CHART)
    yield ((f"{'loss':>8}", "dim"),)
    rows = [[" "] * width for _ in range(CHART_HEIGHT)]
    for curve, mark in ((training.torchs, TORCHS), (training.yours, YOURS)):
        for column, loss in enumerate(columns(curve, steps, width)):
            row = round((1 - height_of(training, loss)) * (CHART_HEIGHT - 1))
            rows[row][column] = BOTH if rows[row][column] == TORCHS else mark
    for number, marks in enumerate(rows):
        label = f"{loss_at(training, 1 - number / (CHART_HEIGHT - 1)):8.2g}" if number % 4 == 0 else " " * 8
        yield (label + " |", "dim"), ("".join(marks).rstrip(), "good" if training.first_difference is None else "bad")
    yield ((" " * 8 + f" +{'-' * width}", "dim"),)
    yield ((" " * 10 + f"0{steps:>{width - 1}} steps", "dim"),)
    margin = " " * (8 if width < CHART_WIDTH else 10)
    legend = f"{BOTH} yours and torch's, {YOURS} yours alone, {TORCHS} torch's alone"
    yield from wrapped(legend, report_width(), margin, "dim", indent=len(margin))


def plane_sides(training: Training, width: int, height: int) -> torch.Tensor:
    """Return the side, 1 or -1, on which the learner's weights put each point of a grid over the plane.

    Returns:
        The sides from the upper left point on; shape: `(height, width)`.
    """
    reach = MARGIN * float(training.data["inp"].abs().max())
    x, y = torch.linspace(-reach, reach, width), torch.linspace(reach, -reach, height)
    places = torch.stack((x.repeat(height), y.repeat_interleave(width)), 1)
    weights = training_loop.unpacked(training.model, training.yours.state)
    outputs: torch.Tensor = training.model.plane(weights, places)
    return torch.where(outputs > 0, 1, -1).reshape(height, width)


def separated_points(training: Training) -> tuple[int, int]:
    """Return how many points the learner's weights put on the right side of the boundary, and how many there are."""
    outputs = training.model.plane(training_loop.unpacked(training.model, training.yours.state), training.data["inp"])
    right = int(((outputs > 0) == (training.data["targ"] > 0)).sum())
    return right, len(outputs)


def learned_lines(training: Training) -> Iterator[Line]:
    """Yield what the learner's weights have learned: the plane with its boundary, or the text that they continue."""
    if hasattr(training.model, "plane"):
        right, total = separated_points(training)
        yield ((f"{right} of {total} points are on their side of the boundary.", ""),)
        if not is_plain():
            yield from _plane_lines(training)
    if hasattr(training.model, "continued") and torch.isfinite(training.yours.state).all():
        yield (("The model goes on from the first characters of the text:", ""),)
        for line in continued_text(training).splitlines():
            yield (("  " + line, "dim"),)


def continued_text(training: Training) -> str:
    """Return the text that the learner's weights generate."""
    weights = training_loop.unpacked(training.model, training.yours.state)
    return str(training.model.continued(weights, training.data))


def _plane_lines(training: Training) -> Iterator[Line]:
    """Yield the plane as text: `:` on one side of the boundary, a blank on the other, and a mark for each point."""
    inp, targ = training.data["inp"], training.data["targ"]
    reach, width = MARGIN * float(inp.abs().max()), min(PLANE_WIDTH, report_width() - BESIDE_PLANE)
    rows = [[":" if side > 0 else " " for side in row] for row in plane_sides(training, width, PLANE_HEIGHT).tolist()]
    for (x, y), side in zip(inp.tolist(), targ.tolist(), strict=True):
        row, column = (1 - y / reach) / 2 * (PLANE_HEIGHT - 1), (1 + x / reach) / 2 * (width - 1)
        rows[round(row)][round(column)] = "o" if side > 0 else "x"
    for row in rows:
        yield ((f"  {''.join(row)}".rstrip(), ""),)
    yield (("  the o belong where : is, the x where it is blank", "dim"),)


def verdict_lines(training: Training) -> Iterator[Line]:
    """Yield the verdict on a training as lines for the terminal, each sentence wrapped at its width."""
    for sentence, style in verdict_sentences(training):
        yield from wrapped(sentence, report_width(), "", style, indent=0)


def verdict_sentences(training: Training) -> Iterator[tuple[str, Style]]:
    """Yield the verdict on a training: its end, the loss, the first difference, and the exercises that do not pass.

    Each sentence comes with its style.
    """
    model, steps = training.model, len(training.yours.losses)
    if training.is_stopped:
        yield f"Stopped after step {steps} of {model.steps}. What was learned until then is kept.", "todo"
    elif training.why:
        yield f"It ended early: {training.why}.", "bad"
    is_reached = training.is_goal_reached
    loss = f"loss {training.yours.last:.4g} after {steps} steps; the goal is {model.goal:g}"
    yield f"{loss}: {'reached' if is_reached else 'not reached'}.", "good" if is_reached else "bad"
    if training.first_difference is None:
        yield "Your curve lies on the curve of torch's gradients at every step.", "good"
    else:
        yield f"Your curve leaves the curve of torch's gradients at step {training.first_difference}.", "bad"
    for result in training.failed:
        answer = min((a for a in result.answers if a.status != "passed"), key=_follows_from_another)
        code = f"  [{answer.code}]" if answer.code else ""
        yield f"{result.id} does not pass: {answer.name}: {answer.message}{code}", "bad"
        yield f"next: handgrad check {result.id}", ""
    if training.solved:
        yield f"Not written yet, so the worked solution stood in: {', '.join(training.solved)}.", "todo"


def _follows_from_another(answer: AnswerResult) -> bool:
    """Return whether an answer is not begun, or its mistake has its cause in another answer."""
    return answer.status == "todo" or bool(answer.mistake and answer.mistake.get("cause"))


def svg_of(training: Training) -> str:
    """Return a picture of a training as the text of an SVG file: both curves, and the plane or the text."""
    picture = SvgDrawing(2 * LEFT + 2 * WIDTH + GAP, TOP + HEIGHT + 68, training.model.title, _about(training))
    picture.text(LEFT, 26, training.model.title, "", "start")
    _draw_curves(picture, training)
    if hasattr(training.model, "plane"):
        _draw_plane(picture, training)
    elif torch.isfinite(training.yours.state).all():
        lines = [
            part
            for line in continued_text(training).splitlines()
            for part in textwrap.wrap(line, TEXT_COLUMNS, subsequent_indent=GOES_ON) or [""]
        ]
        for number, line in enumerate(lines[:MOST_LINES]):
            picture.text(LEFT + WIDTH + GAP, TOP + LINE_HEIGHT * (number + 1), line, "code", "start")
    return picture.svg()


def _about(training: Training) -> str:
    """Return a description of a training's picture, for those who cannot see it."""
    return f"Two loss curves over {len(training.yours.losses)} steps: with the learner's gradients, and with torch's."


def _draw_curves(picture: SvgDrawing, training: Training) -> None:
    """Draw both loss curves of a training in a box at the left, with a scale, the goal and the last losses."""
    picture.box(LEFT, TOP, WIDTH, HEIGHT, "box", 0)
    for share in (0.0, 0.5, 1.0):
        picture.text(LEFT - 6, TOP + HEIGHT * (1 - share) + 5, f"{loss_at(training, share):.2g}", "small faint", "end")
    picture.text(LEFT, TOP - 8, SCALE, "small faint", "start")
    height = height_of(training, training.model.goal)
    goal = TOP + HEIGHT * (1 - height)
    picture.line((LEFT, goal), (LEFT + WIDTH, goal), "line")
    ends = [height_of(training, loss) for loss in training.torchs.losses[-1:]]
    is_above = ends < [height] or goal > TOP + HEIGHT - LINE_HEIGHT  # where torch's curve does not end
    label = f"goal {training.model.goal:g}"
    picture.text(LEFT + WIDTH - 6, goal + (-6 if is_above else 15), label, "small faint", "end")
    below = TOP + HEIGHT + 20
    picture.text(LEFT, below, "0", "small faint")
    picture.text(LEFT + WIDTH, below, f"{training.model.steps} steps", "small faint", "end")
    own, torchs = (f"{curve.last:.4g}" for curve in (training.yours, training.torchs))
    picture.text(LEFT, below + 18, f"loss with your gradients (blue, thin): {own}", "small", "start")
    picture.text(LEFT, below + 34, f"with torch's gradients (orange, wide): {torchs}", "small", "start")
    curves = ((training.torchs, "backward", TORCHS_WIDTH), (training.yours, "forward", YOURS_WIDTH))
    for curve, style, width in curves:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in _curve_points(curve, training))
        line = f"stroke-width: {width}; stroke-linejoin: round; vector-effect: non-scaling-stroke"  # wide if small, too
        picture.parts.append(f'<polyline points="{points}" class="{style}" style="{line}"/>')


def _curve_points(curve: Curve, training: Training) -> list[tuple[float, float]]:
    """Return the points of a curve in the picture, as pairs of x and y."""
    heights = [height_of(training, mean) for mean in columns(curve, training.model.steps, PARTS)]
    scale = WIDTH / PARTS
    return [(LEFT + (column + 0.5) * scale, TOP + HEIGHT * (1 - height)) for column, height in enumerate(heights)]


def _draw_plane(picture: SvgDrawing, training: Training) -> None:
    """Draw the plane at the right: the region that the model assigns to the positive class, and the data as dots."""
    left, size = LEFT + WIDTH + GAP, HEIGHT / PLACES
    picture.box(left, TOP, HEIGHT, HEIGHT, "box", 0)
    region = ""
    for row, sides in enumerate(plane_sides(training, PLACES, PLACES).tolist()):
        column = 0
        for side, places in groupby(sides):
            count = len(list(places))
            if side > 0:
                region += f"M{left + column * size:g} {TOP + row * size:g}h{count * size:g}v{size:g}h{-count * size:g}z"
            column += count
    picture.parts.append(f'<path d="{region}" class="forward-fill" fill-opacity="0.3"/>')  # one, without seams
    inp, targ = training.data["inp"], training.data["targ"]
    reach = MARGIN * float(inp.abs().max())
    for (x, y), side in zip(inp.tolist(), targ.tolist(), strict=True):
        centre = f'cx="{left + (1 + x / reach) / 2 * HEIGHT:.1f}" cy="{TOP + (1 - y / reach) / 2 * HEIGHT:.1f}"'
        picture.parts.append(f'<circle {centre} r="3" class="{"forward" if side > 0 else "backward"}-fill"/>')


def training_page(training: Training) -> str:
    """Return a training as a page of HTML that refers to no other file: its picture, verdict, exercises and text."""
    title = training.model.title
    rows = "".join(
        f'<tr><th scope="row"><code>{escape(result.id)}</code></th><td>{_use_of(training, result)}</td></tr>'
        for result in training.results
    )
    head = '<thead><tr><th scope="col">exercise</th><th scope="col">used</th></tr></thead>'
    learned = ""
    if hasattr(training.model, "plane"):
        right, total = separated_points(training)
        learned = f"<p>{right} of {total} points are on their side of the boundary.</p>"
    elif hasattr(training.model, "continued") and torch.isfinite(training.yours.state).all():
        text = escape(plain(continued_text(training)))
        learned = f'<h2>The text that the model writes</h2><pre tabindex="0">{text}</pre>'
    return page(
        f"{title}: training",
        [
            *(f"<p>{escape(plain(sentence))}</p>" for sentence, _ in verdict_sentences(training)),
            figure(svg_of(training), _about(training)),
            learned,
            "<h2>The gradients that it was trained with</h2>",
            f"<table>{head}<tbody>{rows}</tbody></table>",
        ],
        header=[f"<h1>The training of {escape(training.unit)}</h1>"],
        kind="training",
    )


def _use_of(training: Training, result: ExerciseResult) -> str:
    """Return whose function of an exercise was used, as in "yours, which passes", or that it is the worked solution."""
    if result.id in training.solved:
        return "the worked solution, because nothing is written yet"
    return "yours, which passes" if result.status == "passed" else "yours, which does not pass"


@contextmanager
def shown_live(*, quiet: bool) -> Iterator[OnPart]:
    """Show a training while it runs: as a chart that is redrawn, or as lines if the output is no terminal or is plain.

    Args:
        quiet: whether to show nothing.

    Yields:
        The function to call with the training after each part.
    """
    if quiet:
        yield lambda _: None
    elif not sys.stdout.isatty() or is_plain() or "NO_COLOR" in os.environ:
        yield lambda training: print(progress_line(training), flush=True)
    else:
        with Live(console=terminal(), auto_refresh=False, transient=True) as live:
            yield lambda training: live.update(Group(*map(styled_text, live_lines(training))), refresh=True)


def print_training(training: Training, picture: Path) -> None:
    """Print a training's chart, what was learned, the verdict, and the paths of the files that were written.

    Args:
        training: the training.
        picture: the path of its picture, beside which the other files lie.
    """
    print_lines([((training.model.title, "bold"),)])
    if not is_plain():
        print_lines(chart(training))
    print_lines(learned_lines(training))
    print_lines(verdict_lines(training))
    print_lines(((f"{name}: {path}", "dim"),) for name, path in files_beside(picture).items())


def files_beside(picture: Path) -> dict[str, Path]:
    """Return the paths of a training's files by name: its picture, and the page and the weights beside it."""
    return {"picture": picture, "page": picture.with_suffix(".html"), "weights": picture.with_suffix(".npz")}


def as_json(training: Training, picture: Path) -> str:
    """Return a training as JSON text; a loss that is not finite is null in it.

    Args:
        training: the training.
        picture: the path of its picture; the text has this path, and those of the page and the weights beside it.
    """
    record: dict[str, Any] = {
        "version": 1,
        "unit": training.unit,
        "steps": training.model.steps,
        "goal": training.model.goal,
        "reached": training.is_goal_reached,
        "parted": training.first_difference,
        "why": training.why,
        "stopped": training.is_stopped,
        "exercises": {result.id: result.status for result in training.results},
        "solutions_used": list(training.solved),
        "loss": _finite(training.yours.losses),
        "loss_of_torch": _finite(training.torchs.losses),
        **{name: str(path) for name, path in files_beside(picture).items()},
    }
    if hasattr(training.model, "continued"):
        record["text"] = continued_text(training) if bool(training.yours.state.isfinite().all()) else ""
    return json.dumps(record)


def _finite(losses: list[float]) -> list[float | None]:
    """Return the losses, with `None` in place of each that is not finite, which JSON cannot hold."""
    return [loss if abs(loss) < float("inf") else None for loss in losses]
