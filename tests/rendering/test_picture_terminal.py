"""Pictures in the terminal: read without colour, in narrow windows too; coloured by sign and size."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from rich.style import Style as RichStyle
from rich.text import Text

from grader.rendering.console import STYLES
from grader.rendering.heat_maps import largest_magnitude
from grader.rendering.picture_data import ExercisePictures, Graph, GraphNode, Grid, Picture
from grader.rendering.picture_text import picture_lines
from grader.rendering.render_text import Line, as_text

YOURS = np.array([[0.5, -1.0, 0.0], [0.25, -0.01, 1.0]])
RIGHT = np.array([[1.0, -2.0, 0.0], [0.5, -0.02, 2.0]])


def grid(title: str, values: np.ndarray, axes: str = "n m", limit: float | None = None, **more: Any) -> Grid:
    found = largest_magnitude(values) if limit is None else limit
    return Grid(title, tuple(axes.split()), values, limit=found, **more)


def three() -> Picture:
    limit = largest_magnitude(YOURS, RIGHT)
    grids = (
        grid("yours", YOURS, limit=limit),
        grid("nudged", RIGHT, limit=limit),
        grid("yours - nudged", YOURS - RIGHT, limit=limit, kind="difference"),
    )
    return Picture("w.g", "a square case, n=2, m=3", grids, "nudged: by finite differences.")


def graph(**changes: object) -> Graph:
    nodes = [
        GraphNode("inp", "inp", "(bs=2, n=3)", answer="inp.g"),
        GraphNode("w", "w", "(n=3, m=4)"),
        GraphNode("%0", "@", "(bs=2, m=4)", ("inp", "w")),
        GraphNode("%1", "sin", "(bs=2, m=4)", ("%0",)),
        GraphNode("%2", "*", "(bs=2, m=4)", ("%0", "%1"), name="out"),
    ]
    return Graph({node.key: node for node in nodes}, "%2", **changes)  # type: ignore[arg-type]


def shown(*pictures: Picture, drawn: Graph | None = None) -> list[Line]:
    return list(picture_lines(ExercisePictures("lin_grad", pictures, drawn), 100))


def text(found: ExercisePictures, width: int) -> str:
    return as_text(picture_lines(found, width))


def styles(lines: Sequence[Line]) -> dict[str, str]:
    """Return the style of each part, by its text."""
    return {part.strip(): style for line in lines for part, style in line}


def test_three_grids_stand_side_by_side_where_there_is_room() -> None:
    assert text(ExercisePictures("lin_grad", (three(),)), 100).splitlines() == [
        "  w.g  a square case, n=2, m=3",
        "  yours (n=2, m=3)              nudged (n=2, m=3)             yours - nudged (n=2, m=3)",
        "  n\\m       0       1       2   n\\m       0       1       2   n\\m       0       1       2",
        "    0   0.500   -1.00       0     0    1.00   -2.00       0     0  -0.500    1.00       .",
        "    1   0.250 -0.0100    1.00     1   0.500 -0.0200    2.00     1  -0.250  0.0100   -1.00",
        "  nudged: by finite differences.",
    ]


def test_grids_stand_one_below_the_other_in_a_narrow_window() -> None:
    lines = text(ExercisePictures("lin_grad", (three(),)), 40).splitlines()
    assert [line.strip() for line in lines if "(n=2" in line] == [
        "yours (n=2, m=3)",
        "nudged (n=2, m=3)",
        "yours - nudged (n=2, m=3)",
    ]
    assert max(map(len, lines)) <= 40


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("count", [1, 7, 30, 400])
def test_no_line_is_wider_than_the_window(width: int, count: int) -> None:
    values = np.linspace(-3, 3, 2 * count).reshape(2, count)
    off = grid("yours - nudged", np.arange(2.0 * count).reshape(2, count) % 5, kind="difference", shaded=True)
    grids = (grid("yours", values), grid("nudged", -values), off)
    picture = Picture("w.g", "more sizes", grids, "a note " * 30)
    found = text(ExercisePictures("lin_grad", (picture,), graph()), width)
    assert max(map(len, found.splitlines())) <= width


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_the_worst_column_is_shown_when_not_all_fit(width: int) -> None:
    """Keep numbers, instead of shades for them, in narrow tables."""
    values = np.linspace(-1, 1, 30).reshape(1, 30)
    off = np.where(np.arange(30) == 25, 0.5, 0.0).reshape(1, 30)
    grids = (grid("yours", values, limit=1), grid("yours - nudged", off, limit=1, kind="difference"))
    found = text(ExercisePictures("lin_grad", (Picture("w.g", "", grids),)), width)
    assert "0.724" in found
    assert "0.500" in found
    assert re.search(r"n\\m .* 25\b", found)
    assert re.search(r"and \d+ more columns", found)


def test_omitted_rows_and_columns_are_counted() -> None:
    values = np.ones((30, 2))
    found = text(ExercisePictures("lin_grad", (Picture("w.g", "", (grid("yours", values),)),)), 60)
    assert "and 18 more rows" in found


def test_negative_is_cold_positive_hot_and_near_zero_plain() -> None:
    found = styles(shown(three()))
    assert [found[number] for number in ("0.500", "-1.00", "0.250", "-2.00", "2.00")] == [
        "hot1", "cold2", "hot1", "cold4", "hot4",
    ]  # fmt: skip
    assert (found["-0.0100"], found["."]) == ("", "dim")


def test_colours_are_printed_unless_none_are_wanted() -> None:
    def printed(**options: object) -> str:
        file = io.StringIO()
        console = Console(file=file, width=100, **options)  # type: ignore[arg-type]
        for line in shown(three()):
            console.print(Text.assemble(*[(part, STYLES.get(style, "")) for part, style in line]))
        return file.getvalue()

    coloured = printed(force_terminal=True, color_system="256")
    assert "\x1b[1;38;5;231;48;5;27m   -2.00" in coloured
    assert "\x1b[1;38;5;16;48;5;202m    2.00" in coloured
    assert "\x1b[" not in printed()
    assert "48;5" not in printed(force_terminal=True, no_color=True)


def test_every_style_is_one_that_the_console_knows() -> None:
    assert all(RichStyle.parse(style) for style in STYLES.values())
    assert {style for line in shown(three(), drawn=graph()) for _, style in line} <= {"", *STYLES}


def test_shades_are_signs_and_no_numbers() -> None:
    off = grid("yours - nudged", np.array([[0.0, 1.0, -4.0]]), kind="difference", shaded=True)
    yours = grid("yours", np.array([[0.0, -2.0, 3.0]]), limit=4, shaded=True)
    lines = shown(Picture("w.g", "", (yours, off)))
    assert as_text(lines).splitlines()[-1] == "    0  .  - ++         0  .  + --"
    assert [style for part, style in lines[-1] if part.strip() and set(part) <= set(" .+-")] == [
        "", "cold2", "hot3", "dim", "hot1", "cold4",
    ]  # fmt: skip


def test_a_note_that_several_answers_share_is_printed_once() -> None:
    assert text(ExercisePictures("lin_grad", (three(), three())), 100).count("by finite differences") == 1


def test_the_forward_pass_is_a_tree_with_each_operation_drawn_once() -> None:
    assert text(ExercisePictures("lin_grad", (), graph()), 80).splitlines()[2:] == [
        "  forward pass  from the output back to the inputs",
        "  out = *  (bs=2, m=4)",
        "  |- @  (bs=2, m=4)",
        "  |  |- inp  (bs=2, n=3)  inp.g",
        "  |  `- w  (n=3, m=4)",
        "  `- sin  (bs=2, m=4)",
        "     `- @  (as above)",
    ]


def test_the_named_operation_and_the_edge_to_it_are_marked() -> None:
    nodes = dict(graph().nodes)
    nodes["%0"] = GraphNode("%0", "@", "(bs=2, m=4)", ("inp", "w"), marked=("inp.g",), edges=frozenset([0]))
    lines = shown(drawn=Graph(nodes, "%2", unmarked=("w.g", "b.g")))
    found = as_text(lines).splitlines()
    key = "from the output back to the inputs; <== is where it goes wrong, <-- is an operand that it concerns"
    assert key in " ".join(" ".join(found).split())
    assert "  |- @  (bs=2, m=4)  <== inp.g" in found
    assert "  |  |- inp  (bs=2, n=3)  <-- inp.g" in found
    assert found[-1] == "  Nothing is marked for w.g, b.g: no operation is named."
    assert (styles(lines)["<== inp.g"], styles(lines)["<-- inp.g"], styles(lines)["@"]) == ("mark",) * 3


def test_a_right_exercise_is_one_line() -> None:
    assert text(ExercisePictures("lin_grad"), 80) == "  lin_grad  everything is right, so there is nothing to draw"
