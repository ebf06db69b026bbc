"""Pictures of units 11 and 12: a network through time, attention, what one weight or key touches, and heat maps."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pictures_09_10 import HEAVIEST

from grader.rendering.svg_drawing import CELL_HEIGHT, CELL_WIDTH, SvgDrawing

INPUTS, WX, WH, FIRST_STATE = (1.0, -1.0, 2.0), 1.0, 0.5, 0.5
SIZES, MOMENTS = (1.5, 1.0, 0.9, 0.5), 12
SCORES = ((1.0,), (0.0, 1.0), (2.0, 0.0, 1.0), (0.0, 1.0, 1.0, 0.0))
UPSTREAM = ((1.0,), (2.0, -1.0), (1.0, -2.0, 0.0), (0.0, 2.0, -1.0, 1.0))


def unrolled() -> SvgDrawing:
    """Draw unit 11's three time steps with their numbers, forward and backward."""
    states = [FIRST_STATE]
    for x in INPUTS:
        states.append(math.tanh(x * WX + states[-1] * WH))
    gradients = [1.0]
    for state in reversed(states[1:]):
        gradients.insert(0, gradients[0] * (1 - state**2) * WH)
    picture = SvgDrawing(
        860,
        330,
        "Three time steps of a recurrent network",
        "Forward arrows lead from h0 through three states to out, each step reads its x, and all use the same wx and "
        "wh. Backward arrows bring the gradients 1, 0.058, 0.0212 and 0.003 from out to h0, and to the weights.",
    )
    places = [80 + 232 * i for i in range(len(states))]
    for i, (x, state) in enumerate(zip(places, states, strict=True)):
        name = "h0" if i == 0 else "out" if i == len(INPUTS) else f"h{i}"
        picture.labelled_box(x, 100, 92, name, f"{state:.4g}")
        picture.text(x, 68, f"g = {gradients[i]:.3g}", "code backward-fill small")
    for i, x in enumerate(INPUTS):
        left, right = places[i] + 48, places[i + 1] - 48
        middle = (left + right) / 2
        picture.arrow((left, 92), (right, 92), "forward")
        picture.arrow((right, 112), (left, 112), "backward")
        picture.labelled_box(middle, 30, 84, f"x = {x:g}")
        picture.arrow((middle, 46), (middle + 40, 88), "forward")
        picture.arrow((430 + (middle - 430) * 0.3, 232), (middle - 8, 120), "forward")
        picture.arrow((middle + 8, 120), (430 + (middle - 430) * 0.3 + 18, 232), "backward")
    picture.labelled_box(430, 254, 210, "wx, wh, b", "the same in every time step")
    shapes = "x (bs, n), states (bs, m), wx (n, m), wh (m, m), b (m,)"
    picture.text(430, 296, shapes, "code faint small")
    picture.text(24, 318, "forward: values", "forward-fill small", "start")
    picture.text(
        836, 318, "backward: three contributions meet at the weights, and are added", "backward-fill small", "end"
    )
    return picture


def touches() -> SvgDrawing:
    """Draw what a nudge of one entry of wh moves, step by step."""
    picture = SvgDrawing(
        720,
        220,
        "What one weight touches",
        "At the first time step one column of the state, at the second that column again and all others through the "
        "state before, at the third the same.",
    )
    rows, columns, marked = 3, 4, 1
    for moment in range(3):
        left, top = 40 + 232 * moment, 60
        picture.text(left + columns * CELL_WIDTH / 2, 40, f"the state at step {moment}")
        for i in range(rows):
            for j in range(columns):
                style = "marked" if j == marked else "box"
                x, y = left + j * CELL_WIDTH, top + i * CELL_HEIGHT
                picture.box(x, y, CELL_WIDTH, CELL_HEIGHT, style, 0)
                words = ("once" if moment == 0 else "both") if j == marked else ("" if moment == 0 else "moves")
                picture.text(x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2 + 4, words, "small")
        if moment:
            picture.arrow((left - 50, top + 42), (left - 6, top + 42), "forward")
    picture.text(40, 176, "wh[k,1] is nudged: column 1 of every example moves, at every time step", "small", "start")
    picture.text(40, 198, "and a state that has moved moves all of the next one", "small forward-fill", "start")
    return picture


def vanishing() -> SvgDrawing:
    """Draw how much of a gradient is left after so many time steps, for weights of several sizes."""
    picture = SvgDrawing(
        720,
        248,
        "A gradient on its way back through time",
        "Four rows, for the weights 1.5, 1, 0.9 and 0.5, and a column for each step back: the gradient grows in the "
        "first row, stays in the second, fades slowly in the third, and is gone after five time steps in the fourth.",
    )
    left, top = 110, 66
    picture.text(left + MOMENTS * CELL_WIDTH / 2, 30, "time steps back, where the derivative of tanh is 1")
    for j in range(MOMENTS):
        picture.text(left + (j + 0.5) * CELL_WIDTH, top - 10, str(j + 1), "code faint small")
    for i, size in enumerate(SIZES):
        y = top + i * (CELL_HEIGHT + 6)
        picture.text(left - 12, y + 19, f"wh = {size:g}", "code small", "end")
        _heat(picture, left, y, [size ** (j + 1) for j in range(MOMENTS)], 2.0)
    picture.text(left, 226, "the stronger the colour, the larger; all from 2 on look the same", "faint small", "start")
    return picture


def _heat(picture: SvgDrawing, x: float, y: float, row: Sequence[float], limit: float) -> None:
    """One row of shaded cells with their numbers: orange above 0, blue below."""
    for j, value in enumerate(row):
        left = x + j * CELL_WIDTH
        shade = min(1.0, abs(value) / limit) * HEAVIEST
        style = "backward-fill" if value >= 0 else "forward-fill"
        picture.box(left, y, CELL_WIDTH, CELL_HEIGHT, "box", 0)
        picture.parts.append(
            f'<rect x="{left:g}" y="{y:g}" width="{CELL_WIDTH}" height="{CELL_HEIGHT}" class="{style}" '
            f'opacity="{shade:.2f}"/>'
        )
        picture.text(
            left + CELL_WIDTH / 2,
            y + CELL_HEIGHT / 2 + 4,
            f"{value:.0f}" if abs(value) >= 10 else f"{value:.2f}",
            "code small",
        )


def attention() -> SvgDrawing:
    """Attention's forward pass as a graph with shapes, and the backward pass."""
    picture = SvgDrawing(
        900,
        262,
        "Attention as a graph",
        "q and k make the scores, softmax makes weights of them, weights and v make out. Backward: out.g to v.g and to "
        "the weights' gradient, from there to the scores' gradient, and on to q.g and k.g.",
    )
    nodes = (("q", 70, 60, "(s, d)"), ("k", 70, 190, "(t, d)"), ("scores", 300, 125, "(s, t)"),
             ("weights", 530, 125, "(s, t)"), ("v", 640, 220, "(t, e)"), ("out", 810, 125, "(s, e)"))  # fmt: skip
    for name, x, y, shape in nodes:
        picture.labelled_box(x, y, 92, name, shape)
    for start, end in (((118, 66), (252, 112)), ((118, 184), (252, 138)), ((348, 116), (482, 116)),
                       ((578, 116), (762, 116)), ((690, 212), (770, 150))):  # fmt: skip
        picture.arrow(start, end, "forward")
    for start, end in (((252, 126), (118, 80)), ((252, 150), (118, 198)), ((482, 136), (348, 136)),
                       ((762, 136), (578, 136)), ((782, 150), (690, 226))):  # fmt: skip
        picture.arrow(start, end, "backward")
    picture.text(196, 66, "q @ k.mT / sqrt(d)", "code small")
    picture.text(415, 104, "softmax", "small")
    picture.text(670, 104, "weights @ v", "code small")
    picture.text(415, 158, "row by row", "backward-fill small")
    picture.text(670, 158, "out.g @ v.mT", "code backward-fill small")
    picture.text(24, 246, "forward: values", "forward-fill small", "start")
    picture.text(140, 246, "backward: gradients, each with the shape of its owner", "backward-fill small", "start")
    return picture


def one_key() -> SvgDrawing:
    """Draw what a nudge of one key moves."""
    picture = SvgDrawing(
        760,
        220,
        "What one key touches",
        "A nudge of key 1 moves column 1 of the scores; softmax spreads it over every row of the weights, so all of "
        "out moves.",
    )
    words = (("scores (s, t)", 4, {1}), ("weights (s, t)", 4, {0, 1, 2, 3}), ("out (s, e)", 2, {0, 1}))
    left = 130
    picture.labelled_box(60, 102, 90, "k[1]", "nudged")
    for title, columns, moved in words:
        picture.text(left + columns * CELL_WIDTH / 2, 40, title, "code")
        for i in range(3):
            for j in range(columns):
                style = "marked" if j in moved else "box"
                picture.box(left + j * CELL_WIDTH, 60 + i * CELL_HEIGHT, CELL_WIDTH, CELL_HEIGHT, style, 0)
        picture.arrow((left - 24, 102), (left - 4, 102), "forward")
        left += columns * CELL_WIDTH + 40
    picture.text(130, 176, "one column: every query asks this key", "small", "start")
    picture.text(130, 198, "each row as a whole: what one weight gains, the others of its row lose", "small", "start")
    return picture


def causal_weights() -> tuple[list[list[float]], list[list[float]]]:
    """Weights of a causal attention, and the gradient of its scores, row by row."""
    weights, gradients = [], []
    for scores, upstream in zip(SCORES, UPSTREAM, strict=True):
        powers = [math.exp(score) for score in scores]
        row = [power / sum(powers) for power in powers]
        mean = sum(weight * g for weight, g in zip(row, upstream, strict=True))
        later = [0.0] * (len(SCORES) - len(row))
        weights.append([*row, *later])
        gradients.append([*(weight * (g - mean) for weight, g in zip(row, upstream, strict=True)), *later])
    return weights, gradients


def causal() -> SvgDrawing:
    """Draw a causal attention's weights and its scores' gradient as heat maps."""
    weights, gradients = causal_weights()
    picture = SvgDrawing(
        620,
        240,
        "Causal weights and the gradient of the scores",
        "On the left the weights, 0 above the diagonal. On the right the gradient of the scores: 0 at the same places, "
        "0 in the whole first row, and every row adds up to 0.",
    )
    for left, title, table, limit in ((60, "weights", weights, 1.0), (360, "gradient of the scores", gradients, 0.8)):
        picture.text(left + 2 * CELL_WIDTH, 40, title)
        for i, row in enumerate(table):
            _heat(picture, left, 60 + i * CELL_HEIGHT, row, limit)
            picture.text(left - 8, 60 + i * CELL_HEIGHT + 19, str(i), "code faint small", "end")
    picture.text(60, 206, "each row adds up to 1", "small", "start")
    picture.text(360, 206, "each row adds up to 0", "small", "start")
    return picture
