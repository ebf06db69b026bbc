"""Pictures of unit 13: a tape filled and walked back, a diamond in two orders, copies added up, a chain in pieces."""

from __future__ import annotations

from picture_parts import Point

from grader.rendering.svg_drawing import CELL_HEIGHT, SvgDrawing, height_of, row_middle, width_of

STEPS = ("input x0", "input x1", "mul 0 1", "add 2 0", "mul 3 2")
TAKEN = ((), (), (0, 1), (2, 0), (3, 2))
VALUES, GRADIENTS = (2, 3, 6, 8, 48), (48, 28, 14, 6, 1)
PITCH = 42


def tape() -> SvgDrawing:
    """Draw the tape of the lesson's program, with its values and its gradients."""
    picture = SvgDrawing(
        760,
        300,
        "A tape, filled and walked back",
        "Five rows: the inputs 2 and 3, then 6, 8 and 48. Arrows at the left lead from each value down to the steps "
        "that take it; arrows at the right lead up from each step to the values that it hands a gradient to.",
    )
    columns = (150, 330, 430, 520)
    for x, name in zip(columns, ("", "step", "value", "gradient"), strict=True):
        picture.text(x, 40, name, "small")
    rows = [74 + PITCH * i for i in range(len(STEPS))]
    for i, y in enumerate(rows):
        picture.box(260, y - 15, 310, 30, "box", 4)
        picture.text(280, y + 5, str(i), "code faint small")
        picture.text(columns[1] + 10, y + 5, STEPS[i], "code small")
        picture.text(columns[2], y + 5, f"{VALUES[i]:g}", "code forward-fill")
        picture.text(columns[3], y + 5, f"{GRADIENTS[i]:g}", "code backward-fill")
        for place, taken in enumerate(TAKEN[i]):
            lean = 30 * (i - taken)
            shift = 4 - 8 * place
            picture.arrow((256, rows[taken] + shift), (256, y - shift), "forward", bend=-lean)
            picture.arrow((574, y - shift), (574, rows[taken] + shift), "backward", bend=-lean)
    picture.text(24, 282, "forward, downwards: each step takes earlier values", "forward-fill small", "start")
    picture.text(736, 282, "backward, upwards: contributions that meet are added", "backward-fill small", "end")
    return picture


def order() -> SvgDrawing:
    """Value 2 passing on at once, and passing on when both contributions have arrived."""
    picture = SvgDrawing(
        800,
        280,
        "Too early, and in time",
        "Left, value 2 passes 8 on before the 6 of value 3 has arrived, and value 0 ends with 30. Right, it waits, has "
        "14, and value 0 ends with 48.",
    )
    for left, title, sent, total in ((30, "passed on at once", 8, 30), (430, "passed on when all is there", 14, 48)):
        _diamond(picture, left, title, sent, total)
    picture.line((400, 30), (400, 250), "line")
    return picture


def _diamond(picture: SvgDrawing, left: float, title: str, sent: int, total: int) -> None:
    places: dict[int, Point] = {4: (170, 74), 3: (60, 134), 2: (250, 164), 0: (150, 232)}
    picture.text(left + 170, 34, title)
    points = {number: (left + x, y) for number, (x, y) in places.items()}
    for start, end, handed, where in (
        (4, 3, "6", (-14, -2)),
        (4, 2, "8", (16, -4)),
        (3, 2, "6", (0, -12)),
        (3, 0, "6", (-16, 6)),
        (2, 0, f"3 · {sent}", (30, 8)),
    ):
        (x1, y1), (x2, y2) = points[start], points[end]
        late = sent == 8 and (start, end) == (3, 2)
        slope = (y2 - y1) / (x2 - x1) if x2 != x1 else 0
        side = 44 if x2 > x1 else -44
        ends = ((x1 + side, y1 + side * slope), (x2 - side, y2 - side * slope))
        flat = abs(slope) < 0.4
        steep = ((x1, y1 + 16), (x2, y2 - 16))
        picture.arrow(*(ends if flat else steep), "backward")
        words = "6, too late" if late else handed
        picture.text((x1 + x2) / 2 + where[0], (y1 + y2) / 2 + where[1], words, "code small")
    for number, (x, y) in points.items():
        has = {4: "1", 3: "6", 2: str(sent), 0: str(total)}[number]
        picture.box(x - 42, y - 15, 84, 30, "marked" if number in (0, 2) else "box", 4)
        picture.text(x - 22, y + 5, f"v{number}", "code small")
        picture.text(x + 16, y + 5, has, "code backward-fill small")


def copies() -> SvgDrawing:
    """One contribution, added up for a bias and for a column."""
    contribution = [[1.0, 2, 0, 1], [0, 1, 1, 3], [2, 0, 1, 1]]
    bias = [[sum(column) for column in zip(*contribution, strict=True)]]
    column = [[sum(row)] for row in contribution]
    picture = SvgDrawing(
        720,
        250,
        "Copies are added up",
        "A contribution of three rows and four columns. For a bias of four it is added up over the rows: 3 3 2 5. For "
        "a column of three it is added up over the columns: 4, 5, 4.",
    )
    left, top, right = 60, 70, 520
    picture.text(left + width_of(contribution) / 2, 44, "a contribution, (3, 4)")
    picture.grid(left, top, contribution)
    below = top + height_of(contribution) + 50
    picture.grid(left, below, bias)
    picture.arrow((left + width_of(bias) / 2, below - 46), (left + width_of(bias) / 2, below - 4), "backward")
    picture.text(
        left + width_of(bias) + 16, below + CELL_HEIGHT / 2 + 4, "for b, (4,): over the rows", "small", "start"
    )
    picture.grid(right, top, column)
    for row in range(len(column)):
        start, end = left + width_of(contribution) + 4, right - 4
        picture.arrow((start, row_middle(top, row)), (end, row_middle(top, row)), "backward")
    picture.text(right + width_of(column) / 2, 44, "for c, (3, 1): over the columns", "small")
    return picture


def pieces() -> SvgDrawing:
    """Draw a chain of nine steps, of whose states every third is kept."""
    picture = SvgDrawing(
        800,
        220,
        "A chain in pieces",
        "Ten states in a row. States 0, 3 and 6 are kept, the others are forgotten on the way forward. States 7 and 8 "
        "are made again from state 6, and the three last steps are walked back first.",
    )
    places = [52 + 76 * i for i in range(10)]
    for i, x in enumerate(places):
        kept = i % 3 == 0 and i < 9
        picture.box(x - 24, 55, 48, 30, "marked" if kept or i == 9 else "box", 4)
        name = f"h{i}" if i < 9 else "out"
        picture.text(x, 75, name, "code small" if kept or i == 9 else "code faint small")
        if i:
            picture.arrow((places[i - 1] + 26, 70), (x - 26, 70), "forward")
    for i in (6, 7, 8):
        x = places[i]
        picture.box(x - 24, 125, 48, 30, "marked", 4)
        picture.text(x, 145, f"h{i}", "code small")
        if i < 8:
            picture.arrow((places[i + 1] - 26, 150), (x + 26, 150), "backward")
        if i > 6:
            picture.arrow((places[i - 1] + 26, 132), (x - 26, 132), "forward")
    picture.arrow((places[6], 87), (places[6], 123), "forward")
    picture.arrow((places[9], 87), (places[8] + 26, 146), "backward")
    picture.text(24, 36, "forward: every third state is kept", "forward-fill small", "start")
    picture.text(24, 145, "the last piece is made again, and walked back", "small", "start")
    picture.text(24, 196, "then the piece from h3 on, then the one from h0 on", "backward-fill small", "start")
    return picture
