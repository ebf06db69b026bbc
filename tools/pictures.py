"""The pictures of lessons and documents: `python tools/pictures.py` writes those that are not what this file draws.

With `--check` it writes nothing, names them, and ends with exit code 1 if there are any.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from picture_packages import packages
from picture_parts import labelled_grid
from pictures_01_02 import chain, secants, step
from pictures_04 import stack, transposes, weight
from pictures_05_06 import beliefs, slopes
from pictures_07 import network, tied
from pictures_09_10 import conv_graph, image_gradient, norm_graph, norm_jacobian, norm_touches, turned, windows
from pictures_11_12 import attention, causal, one_key, touches, unrolled, vanishing
from pictures_13 import copies, order, pieces, tape
from pictures_14 import directions, hessian_product, jacobian_lines, loop, moments
from pictures_15 import hides, sizes, tolerance

from grader.rendering.svg_drawing import CELL_HEIGHT, SvgDrawing, height_of, row_middle, width_of

ROOT = Path(__file__).resolve().parent.parent
Table = list[list[float]]


def jacobian() -> SvgDrawing:
    """Draw unit 3's weights, and the Jacobian that consists of them."""
    w: Table = [[1, 0, -1], [2, 1, 3]]
    table = [list(column) for column in zip(*w, strict=True)]
    picture = SvgDrawing(
        640,
        210,
        "The weights and the Jacobian",
        "w[1,2] = 3 is the entry [2,1] of the Jacobian: rows are outputs there.",
    )
    left, right, top = 90, 440, 80
    picture.text(left + width_of(w) / 2, 36, "w, shape (n, m)")
    picture.text(right + width_of(table) / 2, 36, "the Jacobian, shape (m, n)")
    labelled_grid(picture, (left, top), w, ("x[0]", "x[1]"), ("f[0]", "f[1]", "f[2]"), [(1, 2)])
    labelled_grid(picture, (right, top), table, ("f[0]", "f[1]", "f[2]"), ("x[0]", "x[1]"), [(2, 1)])
    start = left + width_of(w) + 4, row_middle(top, 1)
    picture.arrow(start, (right - 46, row_middle(top, 2)), "forward", bend=-14)
    picture.text(312, 186, "how f[2] reacts to x[1]", "faint small")
    return picture


def broadcast() -> SvgDrawing:
    """Draw a bias copied into four rows, and the sum of the four rows of gradients."""
    bias: Table = [[0.5, -1, 0]]
    upstream: Table = [[1, -1, 2], [0, 3, 1], [2, 0, -1], [1, 1, 0]]
    totals: Table = [[sum(column) for column in zip(*upstream, strict=True)]]
    marked = [(i, 0) for i in range(len(upstream))]
    picture = SvgDrawing(
        820,
        230,
        "A broadcast and its backward sum",
        "Forward, b is copied into every row. Backward, the rows of gradients are added: (1, 0, 2, 1) gives 4.",
    )
    x, top = (30, 230, 470, 660), 66
    middle = top + height_of(upstream) / 2
    for place, name in zip(x, ("b", "b in every row", "out.g", "b.g"), strict=True):
        picture.text(place + width_of(bias) / 2, 44, name, "code" if " " not in name else "")
    picture.grid(x[0], middle - CELL_HEIGHT / 2, bias, [(0, 0)])
    picture.grid(x[1], top, bias * len(upstream), marked)
    picture.grid(x[2], top, upstream, marked)
    picture.grid(x[3], middle - CELL_HEIGHT / 2, totals, [(0, 0)])
    for i in range(len(upstream)):
        picture.arrow((x[0] + width_of(bias) + 4, middle), (x[1] - 4, row_middle(top, i)), "forward")
        picture.arrow((x[2] + width_of(upstream) + 4, row_middle(top, i)), (x[3] - 4, middle), "backward")
    picture.text(x[1] - 34, 208, "forward: copy", "forward-fill small")
    picture.text(x[3] - 30, 208, "backward: add", "backward-fill small")
    return picture


def rows() -> SvgDrawing:
    """Three rows picked from four, one of them twice, and where their gradients go."""
    table: Table = [[5, 6], [7, 8], [1, 2], [3, 4]]
    idx = (2, 0, 2)
    upstream: Table = [[1, 0], [10, 20], [100, 5]]
    put_back = [[sum(g[j] for g, row in zip(upstream, idx, strict=True) if row == i) for j in (0, 1)] for i in range(4)]
    picture = SvgDrawing(
        820,
        236,
        "Picking rows and putting their gradients back",
        "Row 2 is picked twice: its gradient is the sum of what both places send back. Rows 1 and 3 get zeros.",
    )
    x, top, lower = (60, 260, 480, 670), 66, 66 + CELL_HEIGHT / 2
    for place, name in zip(x, ("inp", "inp[idx]", "out.g", "inp.g"), strict=True):
        picture.text(place + width_of(table) / 2, 44, name, "code")
    twice = [(place, j) for place, row in enumerate(idx) if row == 2 for j in (0, 1)]
    picture.grid(x[0], top, table, [(2, 0), (2, 1)])
    picture.grid(x[1], lower, [table[row] for row in idx], twice)
    picture.grid(x[2], lower, upstream, twice)
    picture.grid(x[3], top, put_back, [(2, 0), (2, 1)])
    for row in range(len(table)):
        picture.text(x[0] - 10, row_middle(top, row) + 5, str(row), "code faint small", "end")
        picture.text(x[3] - 10 + width_of(table) + 20, row_middle(top, row) + 5, str(row), "code faint small", "start")
    right = width_of(table) + 4
    for place, row in enumerate(idx):
        picture.arrow((x[0] + right, row_middle(top, row)), (x[1] - 4, row_middle(lower, place)), "forward")
        picture.arrow((x[2] + right, row_middle(lower, place)), (x[3] - 4, row_middle(top, row)), "backward")
    picture.text((x[0] + x[1] + right) / 2, 212, "idx = (2, 0, 2)", "code forward-fill small")
    picture.text((x[2] + x[3] + right) / 2, 212, "two gradients meet: add", "backward-fill small")
    return picture


PICTURES: dict[str, Callable[[], SvgDrawing]] = {
    "docs/packages.svg": packages,
    "exercises/01_slopes/secants.svg": secants,
    "exercises/02_chain_rule/chain.svg": chain,
    "exercises/02_chain_rule/step.svg": step,
    "exercises/03_one_example/jacobian.svg": jacobian,
    "exercises/04_linear/stack.svg": stack,
    "exercises/04_linear/transposes.svg": transposes,
    "exercises/04_linear/weight.svg": weight,
    "exercises/05_activations/slopes.svg": slopes,
    "exercises/06_losses/beliefs.svg": beliefs,
    "exercises/07_network/graph.svg": network,
    "exercises/07_network/tied.svg": tied,
    "exercises/08_shapes/broadcast.svg": broadcast,
    "exercises/08_shapes/rows.svg": rows,
    "exercises/09_norm/graph.svg": norm_graph,
    "exercises/09_norm/jacobian.svg": norm_jacobian,
    "exercises/09_norm/touches.svg": norm_touches,
    "exercises/10_convolution/graph.svg": conv_graph,
    "exercises/10_convolution/stamps.svg": image_gradient,
    "exercises/10_convolution/turned.svg": turned,
    "exercises/10_convolution/windows.svg": windows,
    "exercises/11_time/touches.svg": touches,
    "exercises/11_time/unrolled.svg": unrolled,
    "exercises/11_time/vanishing.svg": vanishing,
    "exercises/12_attention/attention.svg": attention,
    "exercises/12_attention/causal.svg": causal,
    "exercises/12_attention/one_key.svg": one_key,
    "exercises/13_engine/copies.svg": copies,
    "exercises/13_engine/order.svg": order,
    "exercises/13_engine/pieces.svg": pieces,
    "exercises/13_engine/tape.svg": tape,
    "exercises/14_beyond/directions.svg": directions,
    "exercises/14_beyond/hvp.svg": hessian_product,
    "exercises/14_beyond/jacobian.svg": jacobian_lines,
    "exercises/14_beyond/loop.svg": loop,
    "exercises/14_beyond/moments.svg": moments,
    "exercises/15_clinic/hides.svg": hides,
    "exercises/15_clinic/sizes.svg": sizes,
    "exercises/15_clinic/tolerance.svg": tolerance,
}


def stale() -> dict[Path, str]:
    """Return the pictures that are missing or outdated, with their new content."""
    drawn = {ROOT / name: draw().svg() for name, draw in PICTURES.items()}
    return {path: text for path, text in drawn.items() if not path.is_file() or path.read_text("utf-8") != text}


def main(arguments: list[str]) -> int:
    """Write or name what is stale."""
    outdated = stale()
    for path, text in outdated.items():
        print(path.relative_to(ROOT).as_posix())
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8", newline="\n")
    if "--check" in arguments and outdated:
        print("Not what tools/pictures.py draws: write them with: python tools/pictures.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
