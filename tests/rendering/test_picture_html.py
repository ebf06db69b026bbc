"""Pictures as HTML: whole, escaped, in the page's own colours, and in need of nothing from anywhere."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from test_picture_terminal import graph, grid, three

from grader.rendering.figure_html import ABOVE, BELOW, STRONGEST, with_opacity
from grader.rendering.page import stylesheet
from grader.rendering.picture_data import ExercisePictures, Graph, GraphNode, Picture
from grader.rendering.picture_html import (
    HEIGHT,
    MARKED_HEIGHT,
    NOTEBOOK_PAPER,
    TITLE_HEIGHT,
    forward_pass_html,
    graph_svg,
    layout,
    pictures_html,
)
from grader.rendering.render_html import COLOUR, NOTEBOOK

VOID = {"meta"}
ELSEWHERE = re.compile(r"https?:|//|\bsrc=|\bhref=|url\(|@import|<script|<link|<img", re.IGNORECASE)


class Page(HTMLParser):
    """Check that every element is closed, and keep the rows of the tables and all words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[tuple[str, str]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append(("", dict(attrs).get("style") or ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None: ...

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)
        if self.open and self.open[-1] == "td":
            self.rows[-1][-1] = (data, self.rows[-1][-1][1])


def page(*pictures: Picture, drawn: Graph | None = None) -> Page:
    html = pictures_html(ExercisePictures("lin_grad", pictures, drawn))
    assert not ELSEWHERE.search(html)
    return Page(html)


def tint(cell: tuple[str, str]) -> str:
    return cell[1].removeprefix("background:")


def test_each_cell_holds_its_number_and_is_tinted_by_sign_and_size() -> None:
    cells = {cell[0]: tint(cell) for row in page(three()).rows for cell in row}
    assert cells["2.00"] == with_opacity(ABOVE, STRONGEST)
    assert cells["\N{MINUS SIGN}2.00"] == with_opacity(BELOW, STRONGEST)
    assert cells["0.500"] == with_opacity(ABOVE, STRONGEST / 4)
    assert cells["0"] == cells["."] == ""


def test_headings_name_the_axes() -> None:
    words = page(three()).words
    assert {"yours (n=2, m=3)", "nudged (n=2, m=3)", "yours - nudged (n=2, m=3)", "n \\ m"} <= set(words)


def test_nonfinite_and_right_entries_are_visible() -> None:
    odd = grid("yours", np.array([[np.nan, -np.inf, 1.0]]))
    difference = grid("yours - nudged", np.array([[np.nan, 4.0, 0.0]]), kind="difference", shaded=True)
    found = page(Picture("w.g", "", (odd, difference)))
    cells = [(cell[0], bool(tint(cell))) for row in found.rows for cell in row]
    assert cells == [
        ("nan", True),
        ("\N{MINUS SIGN}inf", True),
        ("1.00", True),
        ("nan", True),
        ("++", True),
        (".", False),
    ]


def test_red_cells_are_explained_where_there_are_any() -> None:
    drawn = [Picture("w.g", "", (grid("yours", np.array([[end, 1.0]])),)) for end in (np.inf, 2.0)]
    assert ["Red is inf or nan." in pictures_html(ExercisePictures("e", (each,))) for each in drawn] == [True, False]


def test_the_worst_slice_is_shown_and_the_others_are_folded_away() -> None:
    values = np.array([[[1.0, 2.0]], [[3.0, 50.0]], [[5.0, 6.0]]])
    grids = (grid("yours", values), grid("yours - nudged", values, kind="difference"))
    html = pictures_html(ExercisePictures("lin_grad", (Picture("w.g", "", grids),)))
    shown, _, folded = html.partition("<details")
    assert "50.0" in shown
    assert "3.00" in shown
    assert "2 more slices" in folded
    assert folded.index("2.00") < folded.index("6.00")
    assert "50.0" not in folded


def of_arrays(*arrays: np.ndarray) -> str:
    """Return the HTML of a picture of arrays of one shape."""
    return pictures_html(ExercisePictures("lin_grad", (Picture("w.g", "", tuple(grid("yours", a) for a in arrays)),)))


def test_equal_columns_of_a_picture_have_room_for_the_longest_of_their_entries() -> None:
    small = np.array([[0.5, -0.00123, 2.0], [1.0, 3.0, 4.0]])
    html = of_arrays(small, 1000 * small, small - 1000 * small)
    widths = [re.findall(r'across"(?: style="--digits:([\d.]+)")?>', table) for table in html.split("<table")[1:]]
    assert widths[0] == ["5.5", "7.8", "6.8"]  # of 1.00e3, -0.00123 and -2.00e3
    assert widths == [widths[0]] * 3


def test_a_wide_table_says_how_wide_it_is() -> None:
    wide, narrow = of_arrays(np.ones((2, 15))), of_arrays(np.ones((2, 3)))
    assert wide.count('class="map many" style="--width:') == 1
    assert "--width" not in narrow
    assert "--digits" not in narrow  # no entry is longer than the narrowest column


@pytest.mark.parametrize(("columns", "parts"), [(9, 1), (12, 2), (24, 3)])
def test_a_table_of_a_notebook_is_in_parts_that_fit_paper_as_they_are(columns: int, parts: int) -> None:
    shown = ExercisePictures("lin_grad", (Picture("w.g", "", (grid("yours", np.ones((2, columns))),)),))
    assert pictures_html(shown, NOTEBOOK_PAPER).count("<table") == parts
    assert pictures_html(shown).count("<table") == 1


def test_a_dot_is_explained_where_differences_are_drawn() -> None:
    yours, difference = grid("yours", np.ones((2, 2))), grid("yours - nudged", np.zeros((2, 2)), kind="difference")
    of_one, of_both = (
        pictures_html(ExercisePictures("lin_grad", (Picture("w.g", "", grids),)))
        for grids in ((yours,), (yours, difference))
    )
    assert ("A dot is no difference." in of_one, "A dot is no difference." in of_both) == (False, True)


def test_a_table_of_few_but_long_numbers_is_printed_smaller() -> None:
    assert 'class="map many" style="--width:' in of_arrays(np.full((2, 11), -0.000123))


def test_a_picture_with_many_rows_may_be_parted_in_print() -> None:
    assert '<figure class="picture tall">' in of_arrays(*[np.ones((9, 3))] * 3)
    assert '<figure class="picture">' in of_arrays(*[np.ones((8, 3))] * 3)


def test_names_are_escaped() -> None:
    nodes = {"<b>": GraphNode("<b>", "<b>", "(1,)"), "%0": GraphNode("%0", "<i>&", "()", ("<b>",), name="<u>")}
    found = page(Picture("<w>", "", (), "a & b"), drawn=Graph(nodes, "%0"))
    assert {"<w>", "a & b", "<b>", "<u> = <i>&"} <= set(found.words)


def contrast(one: list[float], other: list[float]) -> float:
    """Return the contrast of two colours, of three numbers up to 255 each, as WCAG defines it."""

    def linear(share: float) -> float:
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    def light(colour: list[float]) -> float:
        return sum(weight * linear(part / 255) for weight, part in zip((0.2126, 0.7152, 0.0722), colour, strict=True))

    brighter, darker = sorted((light(one), light(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def parts(colour: str) -> list[float]:
    """Return the three parts of a colour such as `#1f77d0`."""
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def mixed(share: float, one: list[float], other: list[float]) -> list[float]:
    return [share * a + (1 - share) * b for a, b in zip(one, other, strict=True)]


def test_text_can_be_read_on_the_strongest_tint_in_light_and_in_dark() -> None:
    for tinted in (ABOVE, BELOW):
        for paper, ink in ((255.0, 0.0), (0.0, 255.0)):
            assert contrast(mixed(STRONGEST, parts(tinted), [paper] * 3), [ink] * 3) >= 4.5


@pytest.mark.parametrize(
    ("ink", "paper"),
    [("#1b1f24", "#ffffff"), ("#1b1f24", "#f4f6f8"), ("#e6edf3", "#0f1318"), ("#e6edf3", "#191f26"),
     ("#3b3b3b", "#ffffff"), ("#cccccc", "#1e1e1e")],
)  # fmt: skip
def test_the_mark_of_a_verdict_can_be_read_on_pages_and_in_notebooks(ink: str, paper: str) -> None:
    for status, colour in COLOUR.items():
        (share,) = re.findall(
            rf"; color: color-mix\(in srgb,currentColor (\d+)%,{colour}\)", NOTEBOOK[f"mark {status}"]
        )
        assert contrast(mixed(int(share) / 100, parts(ink), parts(colour)), parts(paper)) >= 4.5
        assert re.search(rf"\.mark\.{status} {{ color: color-mix\(in srgb, currentColor {share}%, var", stylesheet())
        assert colour in stylesheet()


def test_the_graph_marks_what_is_named_and_describes_itself() -> None:
    nodes = dict(graph().nodes)
    nodes["%1"] = GraphNode("%1", "sin", "(bs=2, m=4)", ("%0",), marked=("inp.g",))
    svg = graph_svg(Graph(nodes, "%2"))
    assert svg.count('class="marked"') == 1
    assert svg.count('class="backward"') == 1
    assert "Marked: sin for inp.g." in svg
    assert "Marked: nothing." in graph_svg(graph())
    Page(svg)


def chain(length: int) -> Graph:
    """Return a chain of nodes that all read the first value as well, and each an input of its own."""
    nodes = [GraphNode("x", "x", "()")]
    for i in range(length):
        nodes.append(GraphNode(f"p{i}", f"p{i}", "()"))
        before = f"%{i - 1}" if i else "x"
        nodes.append(GraphNode(f"%{i}", "f", "()", tuple(dict.fromkeys((before, "x", f"p{i}")))))
    return Graph({node.key: node for node in nodes}, f"%{length - 1}")


def test_a_long_graph_in_which_nothing_is_marked_is_folded_away() -> None:
    assert "<details" not in forward_pass_html(chain(2))
    assert forward_pass_html(chain(8)).startswith('<details class="folded"><summary class="summary">the forward pass')
    marked = {key: replace(node, marked=("x.g",)) for key, node in chain(8).nodes.items()}
    assert "<details" not in forward_pass_html(Graph(marked, "%7"))


@pytest.mark.parametrize("drawn", [graph(), chain(2), chain(6)], ids=["diamond", "short", "long"])
def test_no_box_overlaps_another_and_no_edge_crosses_a_box(drawn: Graph) -> None:
    found = layout(drawn)
    boxes = {key: found.places[key] for key in drawn.nodes}
    for key, (x, y) in boxes.items():
        assert found.node_width / 2 <= x <= found.width - found.node_width / 2
        assert HEIGHT / 2 <= y <= found.height - HEIGHT / 2
        assert all(
            abs(x - x2) > found.node_width or abs(y - y2) > MARKED_HEIGHT for k, (x2, y2) in boxes.items() if k != key
        )
    for node in drawn.nodes.values():
        for source in node.operands:
            way = found.edge_path(source, node.key)
            assert (way[0], way[-1]) == (boxes[source], boxes[node.key])
            for x, y in way[1:-1]:
                assert all(abs(x - bx) > found.node_width / 2 or abs(y - by) > HEIGHT / 2 for bx, by in boxes.values())
                assert 0 <= x <= found.width


def test_a_long_title_stands_in_two_lines_and_is_not_cut() -> None:
    nodes = GraphNode("x", "x", "(bs=3,)"), GraphNode("%1", "/ sqrt(c) .. softmax", "(bs=3,)", ("x",), name="weights")
    drawn = Graph({node.key: node for node in nodes}, "%1")
    html = graph_svg(drawn)
    assert ">weights =<" in html
    assert ">/ sqrt(c) .. softmax<" in html
    assert "\N{HORIZONTAL ELLIPSIS}" not in html
    short = Graph({**drawn.nodes, "%1": replace(nodes[1], name="p")}, "%1")
    assert layout(drawn).height == layout(short).height + TITLE_HEIGHT


def test_a_value_that_a_step_takes_twice_has_two_arrows_of_which_one_may_be_marked() -> None:
    square = GraphNode("%1", "*", "(3,)", ("x", "x"), marked=("x.g",), edges=frozenset([1]), dropped=frozenset([1]))
    drawn = Graph({"x": GraphNode("x", "x", "(3,)"), "%1": square}, "%1")
    ways = re.findall(r'<path d="([^"]*)" class="(\w+)"', graph_svg(drawn))
    assert [style for _, style in ways] == ["forward", "dropped"]
    assert len({way for way, _ in ways}) == 2


def test_arrows_point_down_to_the_output() -> None:
    found = layout(graph())
    for node in graph().nodes.values():
        assert all(found.places[source][1] < found.places[node.key][1] for source in node.operands)
    assert max(y for _, y in found.places.values()) == found.places["%2"][1]


def test_a_node_says_how_many_more_answers_are_wrong_in_it() -> None:
    marked = ("x.g", "h.g", "wx.g", "wh.g", "bx.g", "bh.g")
    nodes = {"x": GraphNode("x", "x", "(3,)"), "%1": GraphNode("%1", "tanh", "(3,)", ("x",), marked=marked)}
    assert "x.g, h.g, wx.g and 3 more<" in graph_svg(Graph(nodes, "%1"))
