"""A training as lines of text: both curves, the parted plane or the continued text, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from grader.rendering.console import is_plain, report_width
from grader.rendering.render_text import Line, wrapped
from grader.results.records import AnswerResult

from .trained import Curve, Trained
from .training_loop import unpacked

WIDTH, HEIGHT = 60, 12
PLANE_WIDTH, PLANE_HEIGHT, MARGIN = 60, 26, 1.15
BOTH, YOURS, TORCHS = "*", "o", "."


def progress_line(trained: Trained) -> str:
    """How far it is, in one line."""
    steps = len(trained.yours.losses)
    both = f"loss {trained.yours.last:.4g}, with torch's gradients {trained.torchs.last:.4g}"
    return f"step {steps} of {trained.training.steps}: {both}"


def columns(curve: Curve, steps: int, width: int) -> list[float]:
    """The mean loss of the steps behind each column; fewer where the curve is not so far yet."""
    parts = [curve.losses[column * steps // width : (column + 1) * steps // width] for column in range(width)]
    return [sum(part) / len(part) for part in parts if part]


def height_of(trained: Trained, loss: float) -> float:
    """Where a loss is drawn, on a logarithmic scale from 0, torch's least or the goal, to 1, torch's greatest.

    What is outside of the scale, or not finite, is drawn at its edge.
    """
    low, high = _edges(trained)
    if not math.isfinite(loss) or loss >= high:
        return 1.0
    return math.log(max(loss, low) / low) / math.log(high / low)


def loss_at(trained: Trained, height: float) -> float:
    """The loss that is drawn so high."""
    low, high = _edges(trained)
    return low * math.exp(height * math.log(high / low))


def _edges(trained: Trained) -> tuple[float, float]:
    losses = trained.torchs.losses
    low = min([*losses, trained.training.goal])
    return low, max([*losses, 2 * low])


def chart(trained: Trained) -> Iterator[Line]:
    """Both curves over the steps, one drawn over the other; the scale of the loss is logarithmic."""
    steps = trained.training.steps
    rows = [[" "] * WIDTH for _ in range(HEIGHT)]
    for curve, mark in ((trained.torchs, TORCHS), (trained.yours, YOURS)):
        for column, loss in enumerate(columns(curve, steps, WIDTH)):
            row = round((1 - height_of(trained, loss)) * (HEIGHT - 1))
            rows[row][column] = BOTH if rows[row][column] == TORCHS else mark
    for number, marks in enumerate(rows):
        label = f"{loss_at(trained, 1 - number / (HEIGHT - 1)):8.2g}" if number % 4 == 0 else " " * 8
        yield (label + " |", "dim"), ("".join(marks).rstrip(), "good" if trained.parted is None else "bad")
    yield ((" " * 8 + f" +{'-' * WIDTH}", "dim"),)
    yield ((" " * 10 + f"0{steps:>{WIDTH - 1}} steps", "dim"),)
    yield ((f"{' ' * 10}{BOTH} yours and torch's, {YOURS} yours alone, {TORCHS} torch's alone", "dim"),)


def sides(trained: Trained, width: int, height: int) -> torch.Tensor:
    """What the learner's weights say of each place, 1 or -1, from the upper left: (height, width)."""
    reach = MARGIN * float(trained.data["inp"].abs().max())
    x, y = torch.linspace(-reach, reach, width), torch.linspace(reach, -reach, height)
    places = torch.stack((x.repeat(height), y.repeat_interleave(width)), 1)
    weights = unpacked(trained.training, trained.yours.state)
    says: torch.Tensor = trained.training.plane(weights, places)
    return torch.where(says > 0, 1, -1).reshape(height, width)


def parted_right(trained: Trained) -> tuple[int, int]:
    """How many of the points are on their side of the boundary, and how many there are."""
    says = trained.training.plane(unpacked(trained.training, trained.yours.state), trained.data["inp"])
    right = int(((says > 0) == (trained.data["targ"] > 0)).sum())
    return right, len(says)


def learned(trained: Trained) -> Iterator[Line]:
    """What the learner's weights can do: the plane with its boundary, or a text."""
    if hasattr(trained.training, "plane"):
        right, every = parted_right(trained)
        yield ((f"{right} of {every} points are on their side of the boundary.", ""),)
        if not is_plain():
            yield from _plane(trained)
    if hasattr(trained.training, "continued") and torch.isfinite(trained.yours.state).all():
        yield (("The model goes on from the first characters of the text:", ""),)
        for line in continued(trained).splitlines():
            yield (("  " + line, "dim"),)


def continued(trained: Trained) -> str:
    """The text that the learner's weights make."""
    weights = unpacked(trained.training, trained.yours.state)
    return str(trained.training.continued(weights, trained.data))


def _plane(trained: Trained) -> Iterator[Line]:
    """The two sides of the boundary as `:` and blank, with the points on it."""
    inp, targ = trained.data["inp"], trained.data["targ"]
    reach = MARGIN * float(inp.abs().max())
    rows = [[":" if side > 0 else " " for side in row] for row in sides(trained, PLANE_WIDTH, PLANE_HEIGHT).tolist()]
    for (x, y), side in zip(inp.tolist(), targ.tolist(), strict=True):
        row, column = (1 - y / reach) / 2 * (PLANE_HEIGHT - 1), (1 + x / reach) / 2 * (PLANE_WIDTH - 1)
        rows[round(row)][round(column)] = "o" if side > 0 else "x"
    for row in rows:
        yield ((f"  {''.join(row)}".rstrip(), ""),)
    yield (("  the o belong where : is, the x where it is blank", "dim"),)


def verdict(trained: Trained) -> Iterator[Line]:
    """What became of it, which exercises do not pass, and what to do next."""
    training, steps = trained.training, len(trained.yours.losses)
    if trained.stopped:
        yield ((f"Stopped after step {steps} of {training.steps}. What was learned until then is kept.", "todo"),)
    elif trained.why:
        yield ((f"It ended early: {trained.why}.", "bad"),)
    reached = f"loss {trained.yours.last:.4g} after {steps} steps; the goal is {training.goal:g}"
    yield ((f"{reached}: {'reached' if trained.reached else 'not reached'}.", "good" if trained.reached else "bad"),)
    if trained.parted is None:
        yield (("Your curve lies on the curve of torch's gradients at every step.", "good"),)
    else:
        yield ((f"Your curve leaves the curve of torch's gradients at step {trained.parted}.", "bad"),)
    for result in trained.wrong:
        answer = min((each for each in result.answers if each.status != "passed"), key=_follows_from_another)
        code = f"  [{answer.code}]" if answer.code else ""
        says = f"{result.id} does not pass: {answer.name}: {answer.message}{code}"
        yield from wrapped(says, report_width(), "", "bad", indent=0)
        yield ((f"next: handgrad check {result.id}", ""),)
    if trained.solved:
        yield ((f"Not written yet, so the worked solution stood in: {', '.join(trained.solved)}.", "todo"),)


def _follows_from_another(answer: AnswerResult) -> bool:
    """Whether the cause of a mistake is told with another answer."""
    return answer.status == "todo" or bool(answer.mistake and answer.mistake.get("cause"))
