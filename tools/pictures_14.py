"""Pictures of unit 14: two directions through one graph, a Jacobian's lines, a Hessian never made, moments, a loop."""

from __future__ import annotations

from grader.rendering.svg_drawing import CELL_HEIGHT, CELL_WIDTH, SvgDrawing, height_of, row_middle, width_of

X0, X1 = 2, 3
STEPS, BETAS = (1, 2, 5, 10, 50, 200, 1000), (0.9, 0.999)
NODES = (("x0", 60, 120), ("x1", 60, 250), ("p", 220, 120), ("q", 220, 250), ("out0", 370, 120), ("out1", 370, 250))
EDGES = (("x0", "p"), ("x0", "q"), ("x1", "p"), ("x1", "q"), ("p", "out0"), ("q", "out0"), ("p", "out1"), ("q", "out1"))
HALF = 29
Point = tuple[float, float]


def rates() -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Of p = x0 * x1, q = x0 + x1, out0 = p * q, out1 = p - q: values, tangents for x0, gradients of out0."""
    p, q = X0 * X1, X0 + X1
    values = {"x0": X0, "x1": X1, "p": p, "q": q, "out0": p * q, "out1": p - q}
    tangents = {"x0": 1, "x1": 0, "p": X1, "q": 1, "out0": X1 * q + p, "out1": X1 - 1}
    gradients = {"out0": 1, "out1": 0, "p": q, "q": p, "x0": X1 * q + p, "x1": X0 * q + p}
    return values, tangents, gradients


def directions() -> SvgDrawing:
    """Forward mode and reverse mode through the same graph, which meet in one entry of the Jacobian."""
    values, tangents, gradients = rates()
    picture = SvgDrawing(
        900,
        340,
        "Two directions through one graph",
        "Left, forward mode: x0 moves at the rate 1, so p and q at 3 and 1, which make 21 at out0 and 2 at out1. "
        "Right, reverse mode: out0 has the gradient 1, so p and q 5 and 6, which make 21 at x0 and 16 at x1.",
    )
    for left, told, style in ((0, tangents, "forward"), (450, gradients, "backward")):
        places = {name: (left + x, y) for name, x, y in NODES}
        for start, end in EDGES:
            pair = places[start], places[end]
            picture.arrow(*_between(*(pair if style == "forward" else pair[::-1])), style)
        for name, (x, y) in places.items():
            picture.labelled_box(x, y, 2 * HALF, name, str(values[name]))
            meets = {"forward": "out0", "backward": "x0"}[style] == name
            if meets:
                picture.box(x - 20, y - 49, 40, 20, "marked")
            picture.text(x, y - 34, str(told[name]), f"code {style}-fill")
    picture.text(215, 34, "forward mode: how fast everything moves with x0")
    picture.text(665, 34, "reverse mode: how out0 reacts to everything")
    picture.text(215, 318, "one input, all outputs: a column, (21, 2)", "forward-fill small")
    picture.text(665, 318, "one output, all inputs: a row, (21, 16)", "backward-fill small")
    return picture


def _between(start: Point, end: Point) -> tuple[Point, Point]:
    """From the edge of one box to that of another beside it."""
    right = 1 if end[0] > start[0] else -1
    return (start[0] + right * (HALF + 3), start[1]), (end[0] - right * (HALF + 4), end[1] + (start[1] - end[1]) * 0.12)


def jacobian_lines() -> SvgDrawing:
    """Draw a Jacobian with the column that forward mode gives and the row that reverse mode gives."""
    table = [[21.0, 16.0], [2.0, 1.0], [3.0, 2.0]]  # the third output is p itself
    picture = SvgDrawing(
        820,
        262,
        "A Jacobian by columns and by rows",
        "Forward mode with the tangent (1, 0) gives the first column, 21, 2, 3. Reverse mode with the upstream "
        "gradient (0, 1, 0) gives the second row, 2, 1.",
    )
    top = 86
    for left, marked in ((150, [(i, 0) for i in range(3)]), (560, [(1, j) for j in range(2)])):
        picture.grid(left, top, table, marked)
        for i in range(3):
            picture.text(left - 8, row_middle(top, i) + 5, f"out{i}", "code faint small", "end")
        for j in range(2):
            picture.text(left + (j + 0.5) * CELL_WIDTH, top - 8, f"x{j}", "code faint small")
    picture.text(150 + width_of(table) / 2, 34, "forward mode")
    picture.text(560 + width_of(table) / 2, 34, "reverse mode")
    bottom = top + height_of(table)
    picture.text(150 + width_of(table) / 2, bottom + 50, "v = (1, 0)", "code forward-fill small")
    picture.arrow((150 + CELL_WIDTH / 2, bottom + 36), (150 + CELL_WIDTH / 2, bottom + 6), "forward")
    right = 560 + width_of(table)
    picture.text(right + 46, row_middle(top, 1) + 5, "u = (0, 1, 0)", "code backward-fill small", "start")
    picture.arrow((right + 40, row_middle(top, 1)), (right + 6, row_middle(top, 1)), "backward")
    picture.text(150 + width_of(table) / 2, 248, "n passes make the table", "small")
    picture.text(560 + width_of(table) / 2, 248, "m passes make the table", "small")
    return picture


def hessian_product() -> SvgDrawing:
    """Draw the path of v through a logistic regression, and the matrix that is never made."""
    picture = SvgDrawing(
        860,
        230,
        "A Hessian times a vector, without the Hessian",
        "v = (1, 1) times x gives (1, 3), one number for each example; times the sigmoid's derivative (0.25, 0.75); x "
        "transposed, over the batch, gives (0.5, 0.75). Beside it a matrix of n by n, which is never made.",
    )
    stops = (("v = w'", "(1, 1)", 90), ("(x @ w)'", "(1, 3)", 290), ("p'", "(0.25, 0.75)", 490),
             ("H @ v = grad'", "(0.5, 0.75)", 720))  # fmt: skip
    for name, numbers, x in stops:
        picture.labelled_box(x, 80, 134, name, numbers)
    for (_, _, start), (_, _, end), words in zip(
        stops, stops[1:], ("x @", "p · (1 - p) ·", "x.t() @ ... / bs"), strict=False
    ):
        picture.arrow((start + 70, 80), (end - 71, 80), "forward")
        picture.text((start + end) / 2, 46, words, "code small")
    for (_, _, x), shape in zip(stops, ("(n,)", "(bs,)", "(bs,)", "(n,)"), strict=True):
        picture.text(x, 122, shape, "code faint small")
    picture.box(350, 150, 84, 56)
    picture.text(392, 183, "(n, n)", "code")
    picture.line((350, 150), (434, 206), "backward")
    picture.line((350, 206), (434, 150), "backward")
    picture.text(450, 183, "the Hessian itself is never made", "backward-fill small", "start")
    return picture


def moments() -> SvgDrawing:
    """Draw how much of a moment that began with zeros is gradients after so many steps."""
    picture = SvgDrawing(
        640,
        190,
        "How much of a moment is gradients",
        "For beta = 0.9: 0.10, 0.19, 0.41, 0.65, 0.99 and then 1. For beta = 0.999: 0.00, 0.00, 0.00, 0.01, 0.05, 0.18 "
        "and 0.63 after 1000 steps.",
    )
    left, width = 150, 64
    picture.text(
        left + len(STEPS) * width / 2, 30, "1 - beta**t: the share of gradients after t steps; the rest is zeros"
    )
    for j, t in enumerate(STEPS):
        picture.text(left + (j + 0.5) * width, 60, f"t = {t}", "code faint small")
    for i, beta in enumerate(BETAS):
        y = 72 + i * (CELL_HEIGHT + 10)
        picture.text(left - 12, y + 19, f"beta = {beta:g}", "code small", "end")
        for j, t in enumerate(STEPS):
            share = 1 - beta**t
            picture.box(left + j * width, y, width, CELL_HEIGHT, "box", 0)
            fill = f'width="{width * share:.1f}" height="{CELL_HEIGHT}" class="forward-fill" opacity="0.35"'
            picture.parts.append(f'<rect x="{left + j * width:g}" y="{y:g}" {fill}/>')
            picture.text(left + (j + 0.5) * width, y + 19, f"{share:.3f}", "code small")
    picture.text(left, 172, "dividing by it makes an average of gradients alone", "small", "start")
    return picture


def loop() -> SvgDrawing:
    """Draw a fixed point: out depends on itself, and so does its gradient."""
    picture = SvgDrawing(
        760,
        250,
        "Backwards through a fixed point",
        "x and out @ w are added and go through tanh to out, which goes to the loss and around to out @ w again. "
        "Backward, out.g and what comes around meet at out, go through the tanh, and on to x.g and around again.",
    )
    for name, x, y, width in (("x", 70, 90, 70), ("+", 210, 90, 44), ("tanh", 350, 90, 84), ("out", 500, 90, 84),
                              ("loss", 670, 90, 84), ("@ w", 350, 196, 84)):  # fmt: skip
        picture.labelled_box(x, y, width, name)
    for start, end in (((106, 84), (186, 84)), ((233, 84), (306, 84)), ((393, 84), (456, 84)), ((543, 84), (626, 84)),
                       ((490, 106), (394, 188)), ((308, 204), (202, 107))):  # fmt: skip
        picture.arrow(start, end, "forward")
    for start, end in (((627, 98), (544, 98)), ((457, 98), (394, 98)), ((307, 98), (234, 98)), ((187, 98), (107, 98)),
                       ((220, 107), (322, 180)), ((394, 202), (512, 107))):  # fmt: skip
        picture.arrow(start, end, "backward")
    picture.text(585, 128, "out.g", "code backward-fill small")
    picture.text(500, 64, "u", "code backward-fill small")
    picture.text(146, 128, "x.g", "code backward-fill small")
    picture.text(350, 30, "u is the gradient at out: from the loss, and around the loop", "small")
    picture.text(350, 238, "(u · (1 - out²)) @ w.t()", "code backward-fill small")
    return picture
