"""Pictures of unit 15: what each trial hides, where a bug shows, and the room for a tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from grader.rendering.svg_drawing import CELL_HEIGHT, SvgDrawing

Rows = list[list[float]]
Wrong = Callable[[Sequence[float], int, int], Rows]
SIZES = range(1, 7)
LONGEST = 3  # rows that a loop which ends too soon goes through


def right(g: Sequence[float], bs: int, n: int) -> Rows:
    """Return the gradient of each row's mean; shape: (bs, n)."""
    return [[g[i] / n for _ in range(n)] for i in range(bs)]


def _in_wrong_places(g: Sequence[float], bs: int, n: int) -> Rows:
    repeated = [value / n for _ in range(n) for value in g]
    return [repeated[i * n : (i + 1) * n] for i in range(bs)]


MISTAKES: tuple[tuple[str, Wrong], ...] = (
    ("out.g is left out", lambda g, bs, n: [[1 / n] * n for _ in range(bs)]),
    ("the first row's out.g for all", lambda g, bs, n: [[g[0] / n] * n for _ in range(bs)]),
    ("numbers in wrong places", _in_wrong_places),
    ("no division by n", lambda g, bs, n: [[g[i]] * n for i in range(bs)]),
    ("divided by bs", lambda g, bs, n: [[g[i] / bs] * n for i in range(bs)]),
    ("divided by all entries", lambda g, bs, n: [[g[i] / (bs * n)] * n for i in range(bs)]),
    ("negative out.g taken for 0", lambda g, bs, n: [[max(g[i], 0) / n] * n for i in range(bs)]),
    ("a row laid along the columns where bs = n", lambda g, bs, n: [[g[j] / n for j in range(n)] for _ in range(bs)]
     if bs == n else right(g, bs, n)),
    ("stops after three rows", lambda g, bs, n: [[g[i] / n * (i < LONGEST)] * n for i in range(bs)]),
)  # fmt: skip
TRIALS = (
    ("out.g ones", "2 x 3", 2, 3, (1.0, 1.0)),
    ("one row", "1 x 3", 1, 3, (-1.5,)),
    ("one column", "3 x 1", 3, 1, (0.5, -1.0, 2.0)),
    ("square", "3 x 3", 3, 3, (0.5, -1.0, 2.0)),
    ("positive", "2 x 3", 2, 3, (0.5, 2.0)),
    ("random", "3 x 4", 3, 4, (0.5, -1.0, 2.0)),
    ("random", "5 x 4", 5, 4, (0.5, -1.0, 2.0, 1.5, -0.5)),
)


def is_hidden(wrong: Wrong, g: Sequence[float], bs: int, n: int) -> bool:
    """Return whether the wrong backward pass gives what the right one gives."""
    pairs = zip(wrong(g, bs, n), right(g, bs, n), strict=True)
    return all(math.isclose(a, b) for found, row in pairs for a, b in zip(found, row, strict=True))


def hides() -> SvgDrawing:
    """Draw which trial does not see which mistake, for the mean of each row."""
    left, top, width = 330, 84, 78
    height = top + len(MISTAKES) * CELL_HEIGHT + 44
    hidden = [[is_hidden(wrong, g, bs, n) for _, _, bs, n, g in TRIALS] for _, wrong in MISTAKES]
    told = "; ".join(
        f"{trial[0]} {trial[1]} hides {sum(row[j] for row in hidden)} of {len(MISTAKES)}"
        for j, trial in enumerate(TRIALS)
    )
    picture = SvgDrawing(left + len(TRIALS) * width + 24, height, "What each trial hides", f"{told}.")
    for j, (name, sizes, *_) in enumerate(TRIALS):
        picture.text(left + (j + 0.5) * width, 46, name, "small")
        picture.text(left + (j + 0.5) * width, 66, sizes, "code faint small")
    for i, (name, _) in enumerate(MISTAKES):
        y = top + i * CELL_HEIGHT
        picture.text(left - 12, y + CELL_HEIGHT / 2 + 4, name, "small", "end")
        for j, unseen in enumerate(hidden[i]):
            picture.box(left + j * width, y, width, CELL_HEIGHT, "marked" if unseen else "box", 0)
            words, style = ("hidden", "small") if unseen else ("seen", "faint small")
            picture.text(left + (j + 0.5) * width, y + CELL_HEIGHT / 2 + 4, words, style)
    picture.text(left, height - 16, "each row is seen by some trial, and no trial sees every row", "small", "start")
    return picture


def sizes() -> SvgDrawing:
    """At which sizes three mistakes show, and the least of them."""
    shown = ("no division by n", "divided by all entries", "numbers in wrong places")
    side = len(SIZES) * CELL_HEIGHT
    picture = SvgDrawing(
        760,
        282,
        "Where a bug shows",
        "Three grids of sizes: what does not divide by n is wrong from n = 2 on, first at (1, 2); what divides by all "
        "entries from bs = 2 on, first at (2, 1); numbers in wrong places from (2, 2) on.",
    )
    for place, name in enumerate(shown):
        wrong = dict(MISTAKES)[name]
        left, top = 50 + 240 * place, 76
        fails = {(bs, n) for bs in SIZES for n in SIZES if not is_hidden(wrong, _upstream(bs), bs, n)}
        least = min(fails, key=lambda size: (size[0] * size[1], size[0]))
        picture.text(left + side / 2, 32, name)
        for bs in SIZES:
            picture.text(left - 10, top + (bs - 0.5) * CELL_HEIGHT + 4, str(bs), "code faint small", "end")
            picture.text(left + (bs - 0.5) * CELL_HEIGHT, top - 8, str(bs), "code faint small")
            for n in SIZES:
                x, y = left + (n - 1) * CELL_HEIGHT, top + (bs - 1) * CELL_HEIGHT
                picture.box(x, y, CELL_HEIGHT, CELL_HEIGHT, "marked" if (bs, n) in fails else "box", 0)
                if (bs, n) == least:
                    picture.box(x + 5, y + 5, CELL_HEIGHT - 10, CELL_HEIGHT - 10, "backward", 3)
        picture.text(left + side / 2, top + side + 26, f"the least: {least}", "code backward-fill small")
    picture.text(28, 60, "bs", "code faint small", "end")
    picture.text(50 + side + 12, 68, "n", "code faint small", "start")
    return picture


def _upstream(bs: int) -> list[float]:
    """Upstream gradients that are all different, and none of them 1."""
    return [(-1) ** i * (0.5 + 0.75 * i) for i in range(bs)]


def tolerance() -> SvgDrawing:
    """Relative errors of right and of wrong answers on one scale, and the room between them."""
    left, right_end, level = 60, 800, 120
    picture = SvgDrawing(
        860,
        210,
        "The room for a tolerance",
        "On a scale of relative errors, rounding lies from 1e-16 to 1e-14 in float64 and from 1e-8 to 1e-6 in float32, "
        "nudges in float64 around 1e-9, a mistake of one percent at 1e-2, and most mistakes between 0.1 and 10.",
    )

    def at(power: float) -> float:
        return left + (power + 16) / 17 * (right_end - left)

    picture.arrow((left - 20, level), (right_end + 30, level), "forward")
    for start, end, words, style in (
        (-16, -14, "rounding, float64", "box"),
        (-8, -6, "rounding, float32", "box"),
        (-6, -3, "room for a tolerance", "marked"),
        (-2.2, -1.8, "1 %", "box"),
        (-1, 1, "most mistakes", "box"),
    ):
        picture.box(at(start), level - 24, at(end) - at(start), 48, style, 4)
        picture.text((at(start) + at(end)) / 2, level - (58 if style == "marked" else 36), words, "small")
    picture.arrow((at(-4.5), level - 52), (at(-4.5), level - 28), "forward")
    picture.text(at(-11), level - 58, "nudges, float64", "small")
    picture.arrow((at(-11), level - 52), (at(-9), level - 8), "forward")
    for power in range(-16, 2, 2):
        picture.text(at(power), level + 46, f"1e{power}", "code faint small")
    picture.text(left, level + 74, "the relative error of an answer: right ones on the left, wrong ones on the right",
                 "small", "start")  # fmt: skip
    return picture
