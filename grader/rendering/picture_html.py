"""Pictures of wrong answers as HTML for any page, light or dark: tables of tinted cells, and a graph in SVG.

The graph shows a forward pass from its inputs down to its output, with the nodes of a diagnosis marked.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

from .figure_html import ABOVE, BELOW, STRONGEST, figures_html, largest_in_scatters, with_opacity
from .heat_maps import NAMELESS, NOT_FINITE, Band, Cell, Table, TableLimits, bands, omission
from .picture_data import ExercisePictures, Graph, GraphNode, Picture, merge_equal_notes
from .svg_drawing import SMALLEST, SvgDrawing

BROKEN = "#d7323c"
ROOM = TableLimits(rows=24, columns=24, slices=3)
KEY = "Orange is above 0 and blue below, on one scale: the stronger, the larger."
KEY_OF_BROKEN = " Red is inf or nan."
KEY_OF_DIFFERENCE = " A dot is no difference."
MANY = 12  # columns, above which a table is narrower, and printed smaller
TALL = 30  # rows of a picture's tables with their headings, above which it may be parted in print
WIDE = 66  # letters (em), above which the same is done for a table of fewer columns
SHORT = 4.6  # digits that fit the narrowest column of a table with fewer columns
DIGITS = {".": 0.5, "-": 1.3, "+": 1.3}  # the width of a sign in digits, about the same in common fonts
DIGIT = 0.64  # the width of a digit, in letters (em) of the table
HEIGHT, MARKED_HEIGHT = 44, 60  # of a node, in pixels as all lengths here; a marked one has a line more
NARROWEST, LETTER, SMALL_LETTER = 124, 8.4, 7.2  # the least width of a node; the width of a letter
PADDING = 11  # between the text of a node and its border
CHANGE_HEIGHT = 20  # more, for the formula of what is done there
TITLE_HEIGHT = 17  # more, for the second line of a title
BETWEEN, MARGIN, GAP = 34, 12, 16  # the rows; around the drawing; between neighbours
LANE = 24  # the width of an edge that passes a row
BESIDE = 18  # from an edge to the next one between the same two nodes
Point = tuple[float, float]
SCROLLS = 'tabindex="0" role="group"'  # whoever has no mouse scrolls it with the keyboard
LONGEST, LONGEST_MARKS = 24, 28  # characters of a node's label; of the answers whose mistake is in it
LONG = 12  # nodes of a graph


@dataclass(frozen=True)
class Paper:
    """The width of A4 between its margins, and of the columns of tables that are printed on it.

    Args:
        widest: the widest table, in letters (em) of the table, as both other widths.
        narrowest: the least width of a column, without the space around its numbers.
        around: the width of the space around a number.
    """

    widest: float
    narrowest: float
    around: float


PAGE = Paper(82, 0, 0.4)  # in letters of 8 pixels, which are 6 points
NOTEBOOK_PAPER = Paper(50, 4, 0.8)  # in letters of 13 pixels, as on the screen: a notebook's styles know no print


def pictures_html(shown: ExercisePictures, paper: Paper = PAGE) -> str:
    """Return an exercise's pictures as HTML that loads nothing; a sentence if there are none.

    Tables that would be too wide on the `paper` are in parts.
    """
    if not shown.pictures and shown.graph is None:
        return "<p>Everything is right, so there is nothing to draw.</p>"
    scale = largest_in_scatters([figure for picture in shown.pictures for figure in picture.figures])
    drawn = _folded_pictures(list(merge_equal_notes(shown.pictures)), scale, paper)
    notes = dict.fromkeys(picture.note for picture in shown.pictures if picture.grids and picture.note)
    drawn += [f'<p class="dim key">{escape(note)}</p>' for note in notes]
    return "".join([*drawn, forward_pass_html(shown.graph) if shown.graph is not None else ""])


def figures_of_answer_html(picture: Picture) -> str:
    """Return the figures of a picture as HTML, without its tables of numbers, below the name of its answer."""
    head = f"<figcaption><b>{escape(picture.answer)}</b></figcaption>"
    scale = largest_in_scatters(picture.figures)
    return f'<figure class="picture">{head}{figures_html(picture.figures, scale)}</figure>'


def _folded_pictures(pictures: Sequence[Picture], scale: float, paper: Paper) -> list[str]:
    """Return the HTML of an exercise's pictures.

    Neighbours whose mistake another answer's picture shows already, their `cause`, are folded away behind one line.

    Args:
        pictures: the pictures, in order.
        scale: the largest number in all their scatters.
        paper: the paper that they are printed on.
    """
    drawn = []
    for cause, group in itertools.groupby(pictures, key=lambda picture: picture.cause):
        together = list(group)
        html = "".join(_picture_html(picture, scale, paper) for picture in together)
        if cause:
            names = ", ".join(picture.answer for picture in together)
            summary = f'<summary class="summary">{escape(names)}: see {escape(cause)}</summary>'
            html = f'<details class="folded">{summary}{html}</details>'
        drawn.append(html)
    return drawn


def _picture_html(picture: Picture, scale: float, paper: Paper) -> str:
    """Return the picture of one answer: its name, and the tables in bands, each below its caption.

    Args:
        picture: the picture.
        scale: the largest number in the scatters of the exercise.
        paper: the paper that it is printed on.
    """
    subtitle = picture.where if picture.is_drawn else picture.note
    head = f'<figcaption><b>{escape(picture.answer)}</b> <span class="dim">{escape(subtitle)}</span></figcaption>'
    all_bands = list(bands(picture, ROOM))
    tables = [table for band in all_bands for table in band.tables]
    digits = _digits(tables)
    parts = [_band_html(picture, band, digits, paper) for band in all_bands]
    if len({grid.shape for grid in picture.grids}) == 1 and len(parts) > 1:  # slices, of which the worst comes first
        count = f"{len(parts) - 1} more slice{'s' if len(parts) > 2 else ''}"
        summary = f'<summary class="summary">{count}</summary>'
        parts = [parts[0], f'<details class="folded">{summary}{"".join(parts[1:])}</details>']
    dot = KEY_OF_DIFFERENCE if any(grid.kind == "difference" for grid in picture.grids) else ""
    is_broken = any(cell.mark == NOT_FINITE for table in tables for row in table.rows for cell in row)
    red = KEY_OF_BROKEN if is_broken else ""
    key = f'<div class="dim key">{KEY}{dot}{red}</div>' if any(not grid.shaded for grid in picture.grids) else ""
    kind = "picture tall" if sum(len(table.rows) + 2 for table in tables) > TALL else "picture"
    return f'<figure class="{kind}">{head}{figures_html(picture.figures, scale)}{"".join(parts)}{key}</figure>'


def _digits(tables: Sequence[Table]) -> list[float]:
    """Return by column the width of the widest entry that any of several tables has in it, in digits."""
    rows = [[sum(DIGITS.get(sign, 1) for sign in cell.text) for cell in row] for table in tables for row in table.rows]
    return [max(column) for column in itertools.zip_longest(*rows, fillvalue=0.0)]


def _band_html(picture: Picture, band: Band, digits: Sequence[float], paper: Paper) -> str:
    """Return the tables of a band as HTML, side by side below their caption.

    If they are too wide, they scroll together.

    Args:
        picture: the picture.
        band: the band.
        digits: by column the number of digits for which it has room, so that equal columns are equally wide.
        paper: the paper that they are printed on.
    """
    captions = "".join(f'<div class="dim">{escape(line)}</div>' for line in band.caption.splitlines())
    tables = "".join(_table_html(*part) for table in band.tables for part in _printable_parts(table, digits, paper))
    name = f"{picture.answer}: {', '.join(table.heading for table in band.tables)}"
    return f'{captions}<div class="maps" {SCROLLS} aria-label="{escape(name)}">{tables}</div>'


def _printable_parts(table: Table, digits: Sequence[float], paper: Paper) -> Iterator[tuple[Table, Sequence[float]]]:
    """Yield a table, or its parts of some columns each, none of which is wider than the paper; and their `digits`."""
    count = max((len(row) for row in table.rows), default=0)
    parts = math.ceil(_width(table, digits[:count], paper) / paper.widest)
    size = math.ceil(count / max(parts, 1))
    yield replace(table, rows=tuple(row[:size] for row in table.rows)), digits[:size]
    for i in range(size, count, size or 1):
        column = table.first[1] + i
        heading = f"{table.heading.partition(' (')[0]}, columns from {column}"
        rows = tuple(row[i : i + size] for row in table.rows)
        yield (
            replace(table, heading=heading, rows=rows, more=(0, 0), first=(table.first[0], column)),
            digits[i : i + size],
        )


def _width(table: Table, digits: Sequence[float], paper: Paper = PAGE) -> float:
    """Return the width of a table in letters (em).

    Args:
        table: the table.
        digits: the width of each column's numbers, in digits.
        paper: gives the least width of a column, and the space around a number.
    """
    labels = DIGIT * len(_corner(table)) + paper.around
    return labels + sum(max(DIGIT * n, paper.narrowest) + paper.around for n in digits)


def _table_html(table: Table, digits: Sequence[float]) -> str:
    """Return a table with its heading, whose columns have room for so many `digits`."""
    blank = '<td class="index"></td>'
    has_labels = bool(table.down or table.across)
    rows = [
        _row_html((_index_html(str(i), "row") if table.down else blank if has_labels else ""), map(_cell_html, row))
        for i, row in enumerate(table.rows, table.first[0])
    ]
    count = max((len(row) for row in table.rows), default=0)
    width, corner = _width(table, digits[:count]), _corner(table)
    is_wide = count > MANY or width > WIDE
    if table.across:
        shown_digits = (number if is_wide or number > SHORT else 0 for number in digits[:count])
        indices = (_index_html(str(table.first[1] + j), "col", "index across", n) for j, n in enumerate(shown_digits))
        rows.insert(0, _row_html(_index_html(corner, "col", "index corner") if corner else blank, indices))
    more = f"<small>{escape(omission(table))}</small>" if omission(table) else ""
    caption = f'<caption class="caption">{escape(table.heading)}{more}</caption>'
    kind = f'class="map many" style="--width:{width:.0f}"' if is_wide else 'class="map"'
    return f"<table {kind}>{caption}{''.join(rows)}</table>"


def _row_html(label: str, cells: Iterable[str]) -> str:
    """Return a row of a table, from the HTML of its label and of its cells."""
    return f'<tr class="row">{label}{"".join(cells)}</tr>'


def _corner(table: Table) -> str:
    r"""Return the names of a table's axes for its upper left corner: "n \ m", or "m" if only columns have an axis."""
    down, across = ("" if name.startswith(NAMELESS) else name for name in (table.down, table.across))
    return f"{down} \\ {across}".rstrip() if down else across


def _index_html(text: str, scope: str, kind: str = "index", digits: float = 0) -> str:
    """Return a heading of a table as HTML, such as an index: of a row (`scope` is `row`) or of a column (`col`).

    Args:
        text: the heading.
        scope: `row` or `col`.
        kind: its class in the style sheet.
        digits: the number of digits for which the column has room; 0 for the least.
    """
    style = f' style="--digits:{digits:.2g}"' if digits else ""
    return f'<th scope="{scope}" class="{kind}"{style}>{escape(text)}</th>'


def _cell_html(cell: Cell) -> str:
    """Return a cell as HTML in the colour of its value."""
    text = cell.text.replace("-", "\N{MINUS SIGN}")
    colour = _background(cell)
    style = f' style="background:{colour}"' if colour else ""
    return f'<td class="cell"{style}>{escape(text)}</td>'


def _background(cell: Cell) -> str:
    """Return the CSS colour of a cell, with its opacity as two hexadecimal digits; empty for no colour."""
    if cell.mark == NOT_FINITE:
        return with_opacity(BROKEN, 0.6)
    if cell.mark or not cell.level:
        return ""
    return with_opacity(ABOVE if cell.level > 0 else BELOW, STRONGEST * abs(cell.level))


def forward_pass_html(graph: Graph) -> str:
    """Return the graph of a forward pass as HTML, with a title, a key to its labels, and a note on unmarked answers.

    If no node is marked, a graph of more than `LONG` nodes is folded away.
    """
    head = '<b>forward pass</b> <span class="dim">from the inputs down to the output</span>'
    notes = [graph.key_of_labels] if graph.key_of_labels else []
    if graph.unmarked:
        notes.append(f"Nothing is marked for {', '.join(graph.unmarked)}: no operation is named.")
    below = "".join(f'<p class="dim key">{escape(note)}</p>' for note in notes)
    label = 'aria-label="The forward pass"'
    drawn = f'<div class="scroll" {SCROLLS} {label}>{graph_svg(graph)}{_first_mark_html(graph)}</div>'
    html = f'<figure class="drawing"><figcaption>{head}</figcaption>{drawn}{below}</figure>'
    if len(graph.nodes) <= LONG or any(node.marked for node in graph.nodes.values()):
        return html
    summary = '<summary class="summary">the forward pass, in which nothing is marked</summary>'
    return f'<details class="folded">{summary}{html}</details>'


def _first_mark_html(graph: Graph) -> str:
    """Return an empty element over the first marked node, to which a narrow page scrolls the graph at first.

    Empty if no node is marked.
    """
    placed, marked = layout(graph), [key for key, node in graph.nodes.items() if node.marked]
    if not marked:
        return ""
    drawn = f"min({round(placed.width)}px,max(100%,{SMALLEST * placed.width:.0f}px))"  # the width on the page
    wide = placed.node_width + 2 * MARGIN
    left, width = (share / placed.width for share in (placed.places[marked[0]][0] - wide / 2, wide))
    return f'<span class="first" style="left:calc({left:.3f}*{drawn});width:calc({width:.3f}*{drawn})"></span>'


@dataclass(frozen=True)
class Layout:
    """The size of a drawing, and the centre of each node.

    Args:
        width: the width of the drawing, in pixels as all lengths here.
        height: the height of the drawing.
        places: centres by the key of the node; an edge has a place in each row that it passes, by `_lane_key`.
        depth: by the key of the node, how many rows it is above the output.
        node_width: the width of each node.
        half_heights: half the height of each row, which is that of its tallest node; by its number, from the output.
    """

    width: float
    height: float
    places: Mapping[str, Point]
    depth: Mapping[str, int]
    node_width: float = NARROWEST
    half_heights: Sequence[float] = ()

    def edge_path(self, source: str, user: str) -> list[Point]:
        """Return the points of the edge from a node to one that reads it.

        It passes the rows between them vertically.
        """
        between = range(self.depth[source] - 1, self.depth[user], -1)
        lanes = [(*self.places[_lane_key(source, user, row)], self.half_heights[row]) for row in between]
        beside = [(x, y + side) for x, y, half in lanes for side in (-half, half)]
        return [self.places[source], *beside, self.places[user]]


def layout(graph: Graph) -> Layout:
    """Return a layout with the output at the bottom, and each other node as low as it can be above all its readers."""
    users: dict[str, list[str]] = {key: [] for key in graph.nodes}
    for node in graph.nodes.values():
        for source in dict.fromkeys(node.operands):
            users[source].append(node.key)
    depth: dict[str, int] = {}
    for key in reversed(list(graph.nodes)):
        depth[key] = max((depth[user] + 1 for user in users[key]), default=0)
    across: dict[str, float] = {}
    for row in range(max(depth.values()) + 1):
        across |= _row(graph, users, depth, across, row)
    half_heights = [
        max(_node_height(node) / 2 for node in graph.nodes.values() if depth[node.key] == row)
        for row in range(max(depth.values()) + 1)
    ]
    return _layout_at(across, depth, users, _node_width(graph), half_heights)


def _node_width(graph: Graph) -> float:
    """Return the width of every node of a graph, in which the longest label fits."""
    nodes = graph.nodes.values()
    labels = [line for node in nodes for line in (*_title_lines(node), *node.change.splitlines())]
    small = [_shortened(node.shape) for node in nodes] + [_marks(node) for node in nodes]
    return max(
        NARROWEST,
        LETTER * max(map(len, labels)) + 2 * PADDING,
        SMALL_LETTER * max(map(len, small)) + 2 * PADDING,
    )


def _marks(node: GraphNode) -> str:
    """Return the answers whose mistake is in a node as text, such as a cross and "w.g and 2 more"; empty for none.

    As many answers are named as fit, at least one.
    """
    for shown in range(len(node.marked), 0, -1):
        more = f" and {len(node.marked) - shown} more" if shown < len(node.marked) else ""
        text = f"\N{BALLOT X} {', '.join(node.marked[:shown])}{more}"
        if shown == 1 or len(text) <= LONGEST_MARKS:
            return text
    return ""


def _lane_key(source: str, user: str, row: int) -> str:
    """Return the key, in a layout, of the place at which an edge passes a row between the rows of its two nodes."""
    return f"{source} {user} {row}"


def _row(
    graph: Graph, users: Mapping[str, Sequence[str]], depth: Mapping[str, int], across: Mapping[str, float], row: int
) -> dict[str, float]:
    """Return the horizontal places of the nodes and passing edges in a row, each near the middle of its readers.

    The keys are those of the nodes, and `_lane_key` for edges; they come from left to right.

    Args:
        graph: the forward pass.
        users: by node, the nodes that read it.
        depth: by node, the row of the node.
        across: the places in all rows below, by the same keys.
        row: the row to place.
    """
    wished: list[tuple[float, int, str]] = []
    for source in users:
        if depth[source] < row:
            continue
        users_below = [user for user in users[source] if depth[user] < row]
        below = [across[user if depth[user] == row - 1 else _lane_key(source, user, row - 1)] for user in users_below]
        slots = [graph.nodes[user].operands.index(source) for user in users_below]
        if depth[source] == row:
            wished.append((sum(below) / max(len(below), 1), min(slots, default=0), source))
        else:
            wished += zip(below, slots, (_lane_key(source, user, row) for user in users_below), strict=True)
    wished.sort(key=lambda wish: wish[:2])
    keys = [key for _, _, key in wished]
    sizes = [_node_width(graph) + GAP if key in graph.nodes else LANE for key in keys]
    steps = [key in graph.nodes and bool(graph.nodes[key].operands) for key in keys]
    return dict(zip(keys, _spread([x for x, _, _ in wished], sizes, steps), strict=True))


def _spread(wished: Sequence[float], sizes: Sequence[float], fixed: Sequence[bool]) -> list[float]:
    """Return places that are in the given order, near the wished ones, and do not overlap.

    Args:
        wished: the wished places, in order.
        sizes: the width of each.
        fixed: for each place whether it counts: the mean distance of these from the wished places is 0; all count if
            none does.
    """
    placed: list[float] = []
    for i, x in enumerate(wished):
        placed.append(max(x, placed[-1] + (sizes[i - 1] + sizes[i]) / 2) if placed else x)
    off = [x - y for x, y, stays in zip(wished, placed, fixed, strict=True) if stays or not any(fixed)]
    shift = sum(off) / max(len(off), 1)
    return [x + shift for x in placed]


def _layout_at(
    across: Mapping[str, float],
    depth: Mapping[str, int],
    users: Mapping[str, Sequence[str]],
    node_width: float,
    half_heights: Sequence[float],
) -> Layout:
    """Return the layout of a graph from the places of its nodes, moved so that the leftmost one begins at the margin.

    Args:
        across: horizontal places of nodes and passing edges.
        depth: by node, the row of the node.
        users: by node, the nodes that read it.
        node_width: the width of each node.
        half_heights: by row, half the height of the tallest node in it.
    """
    left = min(x - node_width / 2 if key in depth else x for key, x in across.items()) - MARGIN
    right = max(x + node_width / 2 if key in depth else x for key, x in across.items()) + MARGIN
    rows = dict(depth)
    for source, used_by in users.items():
        for user in used_by:
            rows |= {_lane_key(source, user, row): row for row in range(depth[user] + 1, depth[source])}
    middles, below = list[float](), 0.0  # by row, its middle above the lower edge of the output
    for half in half_heights:
        middles.append(below + half)
        below += 2 * half + BETWEEN
    height = below - BETWEEN + 2 * MARGIN
    places = {key: (x - left, height - MARGIN - middles[rows[key]]) for key, x in across.items()}
    return Layout(right - left, height, places, depth, node_width, half_heights)


def graph_svg(graph: Graph) -> str:
    """Return an `<svg>` element of a forward pass, in the colours of the page that it stands in."""
    placed = layout(graph)
    marked = [f"{node.title} for {', '.join(node.marked)}" for node in graph.nodes.values() if node.marked]
    about = f"From the inputs down to the output. Marked: {'; '.join(marked) or 'nothing'}."
    drawing = SvgDrawing(round(placed.width), round(placed.height), "The forward pass", about)
    for node in graph.nodes.values():
        for place in range(len(node.operands)):
            _draw_edge(drawing, graph, placed, place, node)
    for node in graph.nodes.values():
        _draw_node(drawing, node, placed)
    return drawing.inline()


def _node_height(node: GraphNode) -> float:
    """Return the height of a node, which is greater if it is marked, or its title has two lines."""
    height = MARKED_HEIGHT + CHANGE_HEIGHT * len(node.change.splitlines()) if node.marked else HEIGHT
    return height + TITLE_HEIGHT * (len(_title_lines(node)) - 1)


def _title_lines(node: GraphNode) -> list[str]:
    """Return the title of a node in one line, or in two if it is too long: the name of the result, then its label."""
    if node.name and len(node.title) > LONGEST:
        return [_shortened(f"{node.name} ="), _shortened(node.label)]
    return [_shortened(node.title)]


def _draw_node(drawing: SvgDrawing, node: GraphNode, placed: Layout) -> None:
    """Draw a node at its place in the layout: its label, its shape, and the answers whose mistake is in it."""
    x, y = placed.places[node.key]
    height = _node_height(node)
    width = placed.node_width
    style = "marked" if node.marked else "box"
    drawing.box(x - width / 2, y - height / 2, width, height, style, 4 if node.operands else HEIGHT / 2)
    top = y - height / 2
    first, *more = _title_lines(node)
    drawing.text(x, top + 19, first, "code")
    for line in more:
        top += TITLE_HEIGHT
        drawing.text(x, top + 19, line, "code")
    drawing.text(x, top + 35, _shortened(node.shape), "code faint small")
    if node.marked:
        drawing.text(x, top + 52, _marks(node), "code small")
        for number_of_line, change in enumerate(node.change.splitlines()):
            drawing.text(x, top + 70 + CHANGE_HEIGHT * number_of_line, change, "code accent")


def _draw_edge(drawing: SvgDrawing, graph: Graph, placed: Layout, place: int, node: GraphNode) -> None:
    """Draw an arrow to a node from its operand at a place, highlighted if a diagnosis names this edge.

    An operand that the node takes several times has as many arrows, side by side.
    """
    source = node.operands[place]
    same = [i for i, operand in enumerate(node.operands) if operand == source]
    side = BESIDE * (same.index(place) - (len(same) - 1) / 2)
    path = [(x + side, y) for x, y in placed.edge_path(source, node.key)]
    (x1, y1), (x2, y2) = path[0], path[-1]
    path = [(x1, y1 + _node_height(graph.nodes[source]) / 2), *path[1:-1], (x2, y2 - _node_height(node) / 2)]
    is_at_node = (
        bool(node.marked) and not node.is_value_with_wrong_gradient and not node.edges and len(set(node.operands)) == 1
    )
    is_marked = place in node.edges or is_at_node or graph.nodes[source].is_value_with_wrong_gradient
    style = "dropped" if place in node.dropped else "backward" if is_marked else "forward"
    for start, end in itertools.pairwise(path[:-1]):
        drawing.line(start, end, style)
    drawing.arrow(path[-2], path[-1], style)


def _shortened(text: str, most: int = LONGEST) -> str:
    """Return a text as it is, or cut to `most` characters, the last of which is an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
