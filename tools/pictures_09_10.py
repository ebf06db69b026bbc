"""Pictures of units 09 and 10: the graph of a batch norm, what one entry touches, and gradients as heat maps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grader.rendering.svg_drawing import GridIndex, SvgDrawing

Table = list[list[float]]
SMALL_WIDTH, SMALL_HEIGHT = 40, 24
HEAVIEST = 0.45  # a colour over a cell, on which its number can be read in the dark too


def _heat(picture: SvgDrawing, x: float, y: float, rows: Table, limit: float, show: str = "{:.2f}") -> None:
    """Draw a table of numbers, red if positive and blue if negative; those of magnitude `limit` are the darkest."""
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            left, top = x + j * SMALL_WIDTH, y + i * SMALL_HEIGHT
            picture.box(left, top, SMALL_WIDTH, SMALL_HEIGHT, "box", 0)
            _tint(picture, left, top, SMALL_WIDTH, SMALL_HEIGHT, value / limit)
            text = "0" if abs(value) < 5e-4 else show.format(value * (1 + 1e-9))  # halves away from 0, of both signs
            picture.text(left + SMALL_WIDTH / 2, top + SMALL_HEIGHT / 2 + 4, text, "code small")


def _tint(picture: SvgDrawing, x: float, y: float, width: float, height: float, share: float) -> None:
    """Draw a colour over a cell: `share` is from -1, blue, to 1, red."""
    style, weight = ("backward" if share > 0 else "forward"), HEAVIEST * min(abs(share), 1)
    size = f'width="{width:g}" height="{height:g}"'
    picture.parts.append(f'<rect x="{x:g}" y="{y:g}" {size} class="{style}-fill" fill-opacity="{weight:.2f}"/>')


def _cells(
    picture: SvgDrawing, x: float, y: float, size: tuple[int, int], side: float, marked: Iterable[GridIndex]
) -> None:
    """Small empty cells, some of which stand out."""
    chosen = set(marked)
    for i in range(size[0]):
        for j in range(size[1]):
            picture.box(x + j * side, y + i * side, side, side, "marked" if (i, j) in chosen else "box", 0)


def norm_graph() -> SvgDrawing:
    """Batch norm in named steps, with shapes, and how many contributions come back to each."""
    picture = SvgDrawing(
        900,
        300,
        "Batch norm in named steps",
        "inp leads to centred directly and through mean; centred leads to hat directly and through var and inv; hat, "
        "gamma and beta make out. inp and centred have two arrows that leave, so two contributions come back to each.",
    )
    boxes = {
        "inp": (70, 90, "(bs, n)"), "mean": (200, 200, "(n,)"), "centred": (330, 90, "(bs, n)"),
        "var": (430, 200, "(n,)"), "inv": (540, 200, "(n,)"), "hat": (650, 90, "(bs, n)"), "out": (820, 90, "(bs, n)"),
        "gamma": (745, 200, "(n,)"), "beta": (840, 200, "(n,)"),
    }  # fmt: skip
    for name, (x, y, shape) in boxes.items():
        picture.labelled_box(x, y, 82, name, shape)
    picture.arrow((111, 84), (288, 84), "forward")
    picture.text(200, 74, "- mean", "code small")
    picture.arrow((92, 114), (160, 186), "forward")
    picture.text(116, 166, "mean", "code small", "end")
    picture.arrow((222, 176), (298, 114), "forward")
    picture.arrow((372, 84), (608, 84), "forward")
    picture.text(490, 74, "* inv", "code small")
    picture.arrow((352, 114), (402, 176), "forward")
    picture.text(370, 166, "** 2, mean", "code small", "end")
    picture.arrow((472, 200), (498, 200), "forward")
    picture.arrow((566, 176), (628, 114), "forward")
    picture.text(534, 166, "** -0.5", "code small", "end")
    picture.arrow((692, 84), (778, 84), "forward")
    picture.arrow((752, 176), (786, 114), "forward")
    picture.arrow((838, 176), (828, 114), "forward")
    for x in (24, 290):
        picture.text(x, 40, "two arrows leave: two contributions", "backward-fill small", "start")
    picture.text(
        24, 262, "(n,) to (bs, n): the forward pass copies a row to every example,", "forward-fill small", "start"
    )
    picture.text(24, 282, "so the backward pass sums over the examples.", "backward-fill small", "start")
    return picture


def norm_touches() -> SvgDrawing:
    """One nudged entry, and the entries of out that move, for three normalizations."""
    picture = SvgDrawing(
        900,
        270,
        "What one entry touches",
        "In batch norm the nudged entry moves its whole column of out, in layer norm its whole row, in group norm all "
        "places of the channels of its group, in its own example only.",
    )
    side, top = 26.0, 84.0
    panels = (
        ("batch norm, (bs, n)", 60, {(i, 2) for i in range(5)}, (5, 6), "its column: all examples"),
        ("layer norm, (bs, n)", 350, {(1, j) for j in range(6)}, (5, 6), "its row: all features"),
        ("group norm, one example (c, l)", 640, {(i, j) for i in (0, 1, 2) for j in range(5)}, (6, 5), "its group"),
    )
    for name, x, moved, size, below in panels:
        picture.text(x + size[1] * side / 2, 40, name)
        _cells(picture, x, top, size, side, moved)
        picture.text(x + 2.5 * side, top + 1.5 * side + 5, "x", "code backward-fill")
        picture.text(x + size[1] * side / 2, top + size[0] * side + 20, below, "faint small")
    picture.text(640 + 5 * side + 12, top + 1.5 * side + 4, "group 0", "faint small", "start")
    picture.text(640 + 5 * side + 12, top + 4.5 * side + 4, "group 1", "faint small", "start")
    picture.text(24, 66, "x: the entry that is nudged; shaded: the entries of out that move", "small", "start")
    return picture


def norm_jacobian() -> SvgDrawing:
    """Draw the rates of a standardized row, path by path, and their sum."""
    hat = [-1.5, -0.5, 0.0, 0.5, 1.5]
    count, std = len(hat), 2.0
    places = range(count)
    direct = [[1 / std if i == j else 0.0 for j in places] for i in places]
    mean = [[-1 / count / std for _ in places] for _ in places]
    width = [[-hat[i] * hat[j] / count / std for j in places] for i in places]
    total = [[direct[i][j] + mean[i][j] + width[i][j] for j in places] for i in places]
    picture = SvgDrawing(
        930,
        220,
        "The rates of a standardized row",
        "Four tables of five by five rates, outputs down and inputs along: directly, only the diagonal, 0.5; through "
        "the mean, -0.1 everywhere; through the std, up to -0.225 in two corners and 0.225 in the others; their sum.",
    )
    names = ("directly", "through the mean", "through the std", "together")
    for k, (name, table) in enumerate(zip(names, (direct, mean, width, total), strict=True)):
        x = 26 + 230 * k
        picture.text(x + count * SMALL_WIDTH / 2, 34, name)
        _heat(picture, x, 50, table, 0.5)
        if k:
            picture.text(x - 15, 50 + count * SMALL_HEIGHT / 2 + 5, "=" if k == 3 else "+")
    picture.text(26, 200, "row i, column j: how fast out[i] moves with inp[j]", "faint small", "start")
    picture.text(904, 200, "every row and column adds up to 0", "faint small", "end")
    return picture


def windows() -> SvgDrawing:
    """One input entry in several windows, through several taps; and back."""
    picture = SvgDrawing(
        900,
        250,
        "What one entry and one weight of a convolution touch",
        "inp[3] reaches out[1], out[2] and out[3], through the taps 2, 1 and 0. The tap w[1] joins inp[1] to out[0], "
        "inp[2] to out[1] and so on: it is used at every position.",
    )
    side = 44
    for x, title in ((50, "one entry, inp[3]: three positions of out"), (480, "one tap, w[1]: every position of out")):
        picture.text(x + 3 * side, 34, title)
        for name, y, count, left in (("out", 60, 5, x + side), ("inp", 190, 7, x)):
            picture.text(left - 8, y + 20, name, "code small", "end")
            for i in range(count):
                on = (name == "inp" and i == 3) or (name == "out" and 1 <= i <= 3) if x == 50 else False
                picture.box(left + i * side, y, side, 30, "marked" if on else "box", 0)
                picture.text(left + (i + 0.5) * side, y + 20, f"[{i}]", "code small")
    for i, tap in ((1, 2), (2, 1), (3, 0)):
        start, end = (50 + 3.5 * side, 188), (50 + side + (i + 0.5) * side + (i - 2) * 10, 94)
        picture.arrow(start, end, "forward")
        x, y = ((start[0] + end[0]) / 2 + (i - 2) * 26, 146) if i != 2 else (end[0] + 23, 108)  # between two arrows
        picture.text(x, y, f"w[{tap}]", "code small")
    for i in range(5):
        picture.arrow((480 + (i + 1.5) * side, 188), (480 + side + (i + 0.5) * side, 94), "forward")
    picture.text(50 + 3 * side, 240, "backward: three contributions to inp.g[3]", "backward-fill small")
    picture.text(480 + 3 * side, 240, "backward: w.g[1] sums over every position and example", "backward-fill small")
    return picture


def conv_graph() -> SvgDrawing:
    """Draw a convolution as windows, a matrix product and a bias, with shapes."""
    picture = SvgDrawing(
        900,
        200,
        "A convolution as windows and a matrix product",
        "inp, (bs, c, l), is copied into windows, (bs, c, p, k); these are multiplied with w, (o, c, k), and summed "
        "over c and k to give (bs, o, p); b is added. Backwards, windows that overlap are added up in inp.g.",
    )
    places = (("inp", "(bs, c, l)", 80), ("windows", "(bs, c, p, k)", 320), ("sums", "(bs, o, p)", 580),
              ("out", "(bs, o, p)", 810))  # fmt: skip
    for name, shape, x in places:
        picture.labelled_box(x, 70, 112, name, shape)
    for (_, _, a), (_, _, b), word in zip(places, places[1:], ("copy", "times w, summed", "+ b"), strict=False):
        picture.arrow((a + 58, 62), (b - 58, 62), "forward")
        picture.text((a + b) / 2, 50, word, "small")
        picture.arrow((b - 58, 82), (a + 58, 82), "backward")
    picture.text(200, 112, "add where they overlap", "backward-fill small")
    picture.labelled_box(450, 160, 90, "w", "(o, c, k)")
    picture.labelled_box(695, 160, 60, "b", "(o,)")
    picture.arrow((450, 136), (450, 92), "forward")
    picture.arrow((695, 136), (695, 92), "forward")
    picture.text(502, 164, "w.g: added over bs, p", "backward-fill small", "start")
    picture.text(734, 164, "b.g: the same", "backward-fill small", "start")
    return picture


def _correlate(signal: Sequence[float], kernel: Sequence[float]) -> list[float]:
    """Slide the kernel along the signal, without turning it."""
    size = len(kernel)
    return [sum(signal[i + k] * kernel[k] for k in range(size)) for i in range(len(signal) - size + 1)]


def turned() -> SvgDrawing:
    """Draw the worked upstream gradient, padded, with the kernel and the flipped kernel."""
    kernel, upstream = [1.0, 2.0, -1.0], [1.0, 0.0, 2.0]
    padded = [0.0, 0.0, *upstream, 0.0, 0.0]
    picture = SvgDrawing(
        900,
        236,
        "The flipped kernel",
        "out.g = (1, 0, 2) with two zeros on either side. With the kernel flipped, (-1, 2, 1), sliding gives "
        "(1, 2, 1, 4, -2), the gradient of inp; with the kernel as it was it gives (-1, 2, -1, 4, 2), which is wrong.",
    )
    picture.text(40, 34, "out.g, with k - 1 zeros on either side", "", "start")
    _heat(picture, 40, 46, [padded], 4, "{:g}")
    for x, name, taps, style in (
        (40, "flipped kernel: inp.g", kernel[::-1], "backward-fill"),
        (490, "kernel as it was: wrong", kernel, ""),
    ):
        picture.text(x, 112, name, style, "start")
        _heat(picture, x, 124, [taps], 4, "{:g}")
        picture.text(x + 3.5 * SMALL_WIDTH + 8, 140, "gives")
        _heat(picture, x + 4 * SMALL_WIDTH + 16, 124, [_correlate(padded, taps)], 4, "{:g}")
    picture.text(
        40, 196, "The first entry of inp met tap 0 at position 0 of out, and nothing else: 1 · 1 = 1.", "small", "start"
    )
    picture.text(40, 218, "The kernel as it was would give it tap 2, which it never met.", "small", "start")
    return picture


def image_gradient() -> SvgDrawing:
    """Draw the gradients of a two-dimensional convolution's input and kernel, as heat maps."""
    kernel = [[1.0, 2.0], [0.0, -1.0]]
    upstream = [[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, -1.0, 0.0]]
    stride, size = 2, 6
    back: Table = [[0.0] * size for _ in range(size)]
    for i, row in enumerate(upstream):
        for j, g in enumerate(row):
            for di in (0, 1):
                for dj in (0, 1):
                    back[i * stride + di][j * stride + dj] += g * kernel[di][dj]
    dense: Table = [[0.0] * 4 for _ in range(4)]
    for i, row in enumerate(upstream):
        for j, g in enumerate(row):
            for di in (0, 1):
                for dj in (0, 1):
                    dense[i + di][j + dj] += g * kernel[di][dj]
    picture = SvgDrawing(
        900,
        250,
        "Stamping the kernel",
        "Each entry of out.g stamps the kernel, times itself, into inp.g. With stride 1 the stamps overlap and add; "
        "with stride 2 they lie side by side.",
    )
    picture.text(40 + SMALL_WIDTH, 34, "w")
    _heat(picture, 40, 46, kernel, 3, "{:g}")
    picture.text(190 + 1.5 * SMALL_WIDTH, 34, "out.g")
    _heat(picture, 190, 46, upstream, 3, "{:g}")
    picture.text(370 + 2 * SMALL_WIDTH, 34, "inp.g, stride 1")
    _heat(picture, 370, 46, dense, 3, "{:g}")
    picture.text(590 + 3 * SMALL_WIDTH, 34, "inp.g, stride 2")
    _heat(picture, 590, 46, back, 3, "{:g}")
    picture.text(370, 170, "two stamps overlap in two cells:", "small faint", "start")
    picture.text(370, 188, "contributions add", "backward-fill small", "start")
    picture.text(590, 214, "stamps lie side by side", "small faint", "start")
    return picture
