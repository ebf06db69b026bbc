"""Pictures of unit 04: one weight and the rows that share it, the stack of contributions, and whose transpose."""

from __future__ import annotations

from picture_parts import labelled_grid

from grader.rendering.svg_drawing import CELL_WIDTH, GridIndex, SvgDrawing, height_of, row_middle, width_of

Table = list[list[float]]
INP: Table = [[1, 2], [0, 1], [2, -1], [-1, 3]]
W: Table = [[1, 0, -1], [2, 1, 3]]
B = [0.5, -1, 0]
OUT_G: Table = [[1, -1, 2], [0, 3, 1], [2, 0, -1], [1, 1, 0]]
OUT: Table = [[sum(row[k] * W[k][j] for k in range(2)) + B[j] for j in range(3)] for row in INP]
SHARES: list[Table] = [[[x * g for g in up] for x in row] for row, up in zip(INP, OUT_G, strict=True)]
W_G: Table = [[sum(share[k][j] for share in SHARES) for j in range(3)] for k in range(2)]
UNIT = 26
TOP, LOW = 52, 152


def weight() -> SvgDrawing:
    """One weight: the column that it feeds, and the four products that are added to its gradient."""
    picture = SvgDrawing(
        860,
        296,
        "One weight, the column it feeds, the rows that share it",
        "w[1,2] multiplies column 1 of inp and feeds column 2 of out, in all four rows. Its gradient adds four "
        "products of an entry of inp and an entry of out.g: 4 + 1 + 1 + 0 = 6.",
    )
    for left, names, tables, style in (
        (30, ("w", "out"), (W, OUT), "forward"),
        (430, ("w.g", "out.g"), (W_G, OUT_G), "backward"),
    ):
        _corner(picture, left, names, tables, style)
    picture.text(30, 30, "forward", "forward-fill", "start")
    picture.text(30, 76, "w[1,2] feeds", "forward-fill small", "start")
    picture.text(30, 92, "column 2 of out", "forward-fill small", "start")
    picture.text(30, 280, "every row uses it, with its own inp[i,1]; b is added too", "faint small", "start")
    picture.text(430, 30, "backward", "backward-fill", "start")
    picture.text(430, 76, "w[1,2] served", "backward-fill small", "start")
    picture.text(430, 92, "four rows: add", "backward-fill small", "start")
    picture.text(736, row_middle(TOP, 1) + 5, "adds up to 6", "backward-fill small", "start")
    for i, (row, up) in enumerate(zip(INP, OUT_G, strict=True)):
        words = f"{row[1]:g} \u00b7 {up[2]:g} = {row[1] * up[2]:g}".replace("-1 \u00b7 -1", "(-1) \u00b7 (-1)")
        picture.text(736, row_middle(LOW, i) + 5, words, "code small", "start")
    return picture


def _corner(picture: SvgDrawing, left: float, names: tuple[str, str], tables: tuple[Table, Table], style: str) -> None:
    """inp, beside it what its rows become, and above that the weights or their gradient; one weight stands out."""
    right = left + 148
    picture.text(left + width_of(INP) / 2, LOW - 12, "inp", "code")
    picture.text(right - 10, row_middle(TOP, 0) + 5, names[0], "code", "end")
    picture.text(right + width_of(W) / 2 - 22, LOW - 12, names[1], "code")
    picture.grid(left, LOW, INP, [(i, 1) for i in range(4)])
    picture.grid(right, TOP, tables[0], [(1, 2)])
    picture.grid(right, LOW, tables[1], [(i, 2) for i in range(4)])
    column = right + 2.5 * CELL_WIDTH
    upper, lower = (column, TOP + height_of(W) + 3), (column, LOW - 3)
    picture.arrow(*((upper, lower) if style == "forward" else (lower, upper)), style)
    for i in range(4):
        ends = (left + width_of(INP) + 4, row_middle(LOW, i)), (right - 4, row_middle(LOW, i))
        picture.line(*ends, "line")


def stack() -> SvgDrawing:
    """One outer product for each example, and their sum over the examples."""
    picture = SvgDrawing(
        900,
        176,
        "The (bs, n, m) stack",
        "Four tables of shape (n, m), one for each example; the entries [1,2] of the tables are 4, 1, 1 and 0, and "
        "their sum 6 is the entry [1,2] of w.g.",
    )
    top, marked = 76, [(1, 2)]
    for i, share in enumerate(SHARES):
        x = 40 + 176 * i
        picture.text(x + width_of(share) / 2, 34, f"example {i}")
        labelled_grid(picture, (x, top), share, [f"{v:g}" for v in INP[i]], [f"{v:g}" for v in OUT_G[i]], marked)
        picture.text(x + width_of(share) + 12, top + height_of(share) / 2 + 5, "+" if i < 3 else "=")
    picture.text(724 + width_of(W_G) / 2, 34, "w.g", "code")
    picture.grid(724, top, W_G, marked)
    picture.text(
        40,
        160,
        "before .sum(0): bs tables, each (n, m), with inp[i] down the side and out.g[i] along the top",
        "faint small",
        "start",
    )
    picture.text(724 + width_of(W_G) / 2, 160, "after it: (n, m)", "faint small")
    return picture


def transposes() -> SvgDrawing:
    """Draw the two products of the backward pass, and which factor is transposed in each."""
    picture = SvgDrawing(
        820,
        376,
        "Whose transpose it is",
        "For w.g the summed index i, of size bs, is first in inp and in out.g, so inp is transposed and stands to the "
        "left of out.g. For inp.g the summed index j, of size m, is last in out.g and in w, so w is transposed.",
    )
    picture.text(40, 30, "w.g[k,l] adds over i, which is first in inp and in out.g", "small", "start")
    left, top, low = 90, 74, 220
    _cells(picture, (left + UNIT, top), (4, 2), "inp (bs, n)", [(i, 1) for i in range(4)])
    _cells(picture, (left + 150, top), (4, 3), "out.g (bs, m)", [(i, 2) for i in range(4)])
    picture.arrow((left + 52, top + 106), (left + 52, low - 18), "backward")
    picture.text(left + 60, top + 122, "turn", "backward-fill small", "start")
    _cells(picture, (left, low), (2, 4), "", [(1, i) for i in range(4)])
    _cells(picture, (left + 150, low), (2, 3), "", [(1, 2)])
    picture.text(left + 52, low + 72, "inp.t() (n, bs)", "code small")
    picture.text(left + 190, low + 72, "w.g (n, m)", "code small")

    picture.text(450, 30, "inp.g[i,k] adds over j, which is last in out.g and in w", "small", "start")
    left = 520
    _cells(picture, (left, top + UNIT), (2, 3), "w (n, m)", [(0, j) for j in range(3)])
    _cells(picture, (left + 150, top), (3, 2), "w.t() (m, n)", [(j, 0) for j in range(3)])
    picture.arrow((left + 82, top + 52), (left + 146, top + 40), "backward")
    picture.text(left + 114, top + 64, "turn", "backward-fill small")
    _cells(picture, (left, low - UNIT), (4, 3), "", [(2, j) for j in range(3)])
    _cells(picture, (left + 150, low - UNIT), (4, 2), "", [(2, 0)])
    picture.text(left + 39, low + 98, "out.g (bs, m)", "code small")
    picture.text(left + 176, low + 98, "inp.g (bs, n)", "code small")
    picture.text(
        40,
        356,
        "A row of the left factor meets a column of the upper one, entry by entry: those two must be equally long.",
        "faint small",
        "start",
    )
    return picture


def _cells(
    picture: SvgDrawing, corner: tuple[float, float], shape: tuple[int, int], name: str, marked: list[GridIndex]
) -> None:
    """Draw a matrix without its numbers, and its name above it."""
    x, y = corner
    for i in range(shape[0]):
        for j in range(shape[1]):
            picture.box(x + j * UNIT, y + i * UNIT, UNIT, UNIT, "marked" if (i, j) in marked else "box", 0)
    picture.text(x + shape[1] * UNIT / 2, y - 10, name, "code small")
