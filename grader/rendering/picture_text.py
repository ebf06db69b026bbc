"""Pictures of wrong answers as text: heat maps that can be read without their colours, or sentences in plain mode.

The figures of a mistake's shape are plots of characters, or sentences in plain mode.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from grader.course.shapes import describe

from .console import is_plain
from .heat_maps import (
    NAMELESS,
    NOT_FINITE,
    RIGHT,
    Cell,
    Table,
    TableLimits,
    bands,
    largest_magnitude,
    omission,
    scatter_limits,
)
from .heat_maps import number as number_text
from .picture_data import (
    YOUR_LIST,
    ExercisePictures,
    Figure,
    Graph,
    GraphNode,
    Grid,
    Picture,
    Series,
    early_values,
    merge_equal_notes,
)
from .render_text import Line, Style, wrapped

INDENT, GAP, BETWEEN = "  ", "   ", "    "
STEPS = 4
FAINT = 0.05
COLD: tuple[Style, ...] = ("cold1", "cold2", "cold3", "cold4")
HOT: tuple[Style, ...] = ("hot1", "hot2", "hot3", "hot4")
MARK_STYLES: dict[str, Style] = {RIGHT: "dim", NOT_FINITE: "bad"}
DIRECTION = "from the output back to the inputs"
KEY_OF_MARKS, KEY_OF_EDGES = "; <== is where it goes wrong", ", <-- is an operand that it concerns"
Block = list[Line]
MOST_ENTRIES = 8
ACROSS, DOWN = 41, 15  # columns and rows of a scatter: odd, so that both axes are in the middle
ON_LINE = 2e-4  # how far off the diagonal a point counts as on it, of the largest entry
BAR, MOST_TILES = 30, 14
EMPTY, STRONG = 0.01, 0.5  # of the largest entry: below it a tile is empty, and above it its sign is there twice
MOST_NAMED = 4  # entries that a sentence names


def pictures_as_lines(shown: ExercisePictures, width: int) -> Iterator[Line]:
    """Yield the lines of an exercise's pictures, at most `width` columns wide; sentences if plain text was chosen."""
    return pictures_in_words(shown, width) if is_plain() else picture_lines(shown, width)


def picture_lines(shown: ExercisePictures, width: int) -> Iterator[Line]:
    """Yield the lines of an exercise's pictures, at most `width` columns wide."""
    if not shown.pictures:
        yield from _note_lines("everything is right, so there is nothing to draw", width, shown.exercise)
    for number, picture in enumerate(merge_equal_notes(shown.pictures)):
        if number:
            yield ()
        yield from _picture_lines(picture, width)
    if shown.graph is not None:
        yield ()
    notes = list(dict.fromkeys(picture.note for picture in shown.pictures if picture.grids and picture.note))
    for note in notes:
        yield from _note_lines(note, width)
    if shown.graph is not None:
        if notes:
            yield ()
        yield from _graph_lines(shown.graph, width)


def _picture_lines(picture: Picture, width: int) -> Iterator[Line]:
    """Yield the lines of an answer's picture: its name, the trial, the figures, and the arrays as tables.

    If there is nothing to draw, only the picture's note follows the name.

    Args:
        picture: the picture.
        width: the greatest number of columns in a line.
    """
    if not picture.is_drawn:
        yield from _note_lines(picture.note, width, picture.answer)
        return
    yield from _note_lines(picture.where, width, picture.answer)
    for figure in picture.figures:
        yield from figure_lines(figure, width)
        yield ()
    if not picture.grids:
        return
    room = width - len(INDENT)
    for band in bands(picture, _limits(picture, room)):
        if band.caption:
            for line in band.caption.splitlines():
                yield from _note_lines(line, width)
        size = max(map(_column_width, band.tables))
        yield from _packed_lines([_table_block(table, size) for table in band.tables], room)


def _limits(picture: Picture, room: int) -> TableLimits:
    """Return table limits with as many columns as fit into `room` characters, at least one."""
    most = TableLimits()
    tables = [table for band in bands(picture, most) for table in band.tables]
    margin, size = max(map(_label_width, tables), default=0), max(map(_column_width, tables), default=1)
    return replace(most, columns=max(min((room - margin) // (size + 1), most.columns), 1))


def _note_lines(text: str, width: int, name: str = "") -> Iterator[Line]:
    """Yield the lines of a sentence, wrapped at `width` columns.

    A name, if it is not empty, stands before it in bold.
    """
    first = f"{name}  " if name else ""
    parts = textwrap.wrap(first + text, max(width - len(INDENT), 20), break_long_words=False, subsequent_indent=INDENT)
    for number, part in enumerate(parts or [first]):
        if number == 0 and name:
            yield ((INDENT, ""), (name, "bold"), (part[len(name) :], "dim"))
        else:
            yield ((INDENT, ""), (part, "dim"))


def _packed_lines(blocks: Sequence[Block], room: int) -> Iterator[Line]:
    """Yield the lines of blocks of text, as many blocks side by side as fit into `room` characters."""
    row: list[Block] = []
    for block in blocks:
        if row and sum(_width(placed) + len(GAP) for placed in row) + _width(block) > room:
            yield from _side_by_side(row)
            row = []
        row.append(block)
    yield from _side_by_side(row)


def _side_by_side(blocks: Sequence[Block]) -> Iterator[Line]:
    """Yield the lines of a row of blocks of any heights, padded so that the blocks stand beside each other."""
    for i in range(max(map(len, blocks))):
        line: Line = ((INDENT, ""),)
        for number, block in enumerate(blocks):
            part = block[i] if i < len(block) else ()
            padding = _width(block) - _length(part) if number + 1 < len(blocks) else 0
            line = (*line, *part, (" " * padding + (GAP if number + 1 < len(blocks) else ""), ""))
        yield line


def _label_width(table: Table) -> int:
    """Return the width of the labels on the left of a table."""
    return max(len(_corner(table)), len(str(table.first[0] + len(table.rows) - 1)) if table.down else 0)


def _corner(table: Table) -> str:
    r"""Return the names of a table's axes for its upper left corner: "n\m", or "m" if only its columns have an axis."""
    down, across = ("" if name.startswith(NAMELESS) else name for name in (table.down, table.across))
    return f"{down}\\{across}" if down else across


def _column_width(table: Table) -> int:
    """Return the number of characters of a table's columns, in which each number and each index fits."""
    numbers = max((len(cell.text) for row in table.rows for cell in row), default=1)
    return max(numbers, len(str(table.first[1] + _column_count(table) - 1)))


def _column_count(table: Table) -> int:
    """Return the number of columns of a table."""
    return max(map(len, table.rows), default=0)


def _table_block(table: Table, size: int) -> Block:
    """Return the lines of a table: a heading, the indices of the columns, and the rows.

    A table whose columns are along no axis has no line of indices. If rows or columns are left out, a last line says
    how many.

    Args:
        table: the table.
        size: the width of each column, in characters.
    """
    margin = _label_width(table)
    block: Block = [((table.heading, "bold"),)]
    if table.across:
        numbers = "".join(f" {table.first[1] + j:>{size}}" for j in range(_column_count(table)))
        block.append(((f"{_corner(table):>{margin}}{numbers}", "dim"),))
    for i, row in enumerate(table.rows, table.first[0]):
        label = f"{i if table.down else '':>{margin}}"
        block.append(((label, "dim"), *((f" {cell.text:>{size}}", _style(cell)) for cell in row)))
    if more := omission(table):
        block.append(((f"{' ' * margin} {more}", "dim"),))
    return block


def _style(cell: Cell) -> Style:
    """Return the style of a cell: that of its mark, or a colour by the sign and size of its level; empty near zero."""
    if cell.mark:
        return MARK_STYLES[cell.mark]
    if abs(cell.level) < FAINT:
        return ""
    step = min(math.ceil(STEPS * abs(cell.level)), STEPS) - 1
    return HOT[step] if cell.level > 0 else COLD[step]


def _width(block: Block) -> int:
    """Return the number of columns in the terminal that the longest line of a block takes."""
    return max(map(_length, block))


def _length(line: Line) -> int:
    """Return the number of characters in a line."""
    return sum(len(text) for text, _ in line)


def _graph_lines(graph: Graph, width: int) -> Iterator[Line]:
    """Yield the lines, at most `width` columns wide, of a forward pass as a tree from the output to the inputs."""
    marked = [node for node in graph.nodes.values() if node.marked]
    has_edges = any(node.edges and len(node.operands) > 1 for node in marked)
    key = f"{DIRECTION}{KEY_OF_MARKS if marked else ''}{KEY_OF_EDGES if has_edges else ''}"
    yield from _note_lines(key, width, "forward pass")
    drawn: set[str] = set()
    for line in _tree_lines(graph, graph.out, "", "", drawn):
        yield _shortened(line, width)
    if graph.key_of_labels:
        yield from _note_lines(graph.key_of_labels, width)
    if graph.unmarked:
        yield from _note_lines(f"Nothing is marked for {', '.join(graph.unmarked)}: no operation is named.", width)


def _tree_lines(
    graph: Graph, key: str, lead: str, below: str, drawn: set[str], named: Sequence[str] = ()
) -> Iterator[Line]:
    """Yield the lines of a node and, below it, of all nodes that it is computed from.

    Args:
        graph: the forward pass.
        key: the key of the node.
        lead: the text before the node.
        below: the text before the nodes below it.
        drawn: the keys of the nodes drawn so far, whose operands are not drawn again; the key of this node is added.
        named: the answers whose diagnosis names the edge to this node.
    """
    node = graph.nodes[key]
    is_drawn = key in drawn and bool(node.operands)
    drawn.add(key)
    yield _node_line(node, lead, is_drawn=is_drawn, named=named)
    for number, source in enumerate(() if is_drawn else node.operands):
        last = number + 1 == len(node.operands)
        marked_for = node.marked if number in node.edges and len(node.operands) > 1 else ()
        leads = f"{below}{'`' if last else '|'}- ", f"{below}{' ' if last else '|'}  "
        yield from _tree_lines(graph, source, *leads, drawn, marked_for)


def _node_line(node: GraphNode, lead: str, *, is_drawn: bool, named: Sequence[str]) -> Line:
    """Return the line of a node in the tree: its name, its shape, and the answers that go wrong there.

    If none goes wrong at the node itself, the answers are those whose diagnosis names the edge to it; without these,
    the one whose gradient the node has, if any. A node that is drawn further up has "(as above)" after its name alone.

    Args:
        node: the node.
        lead: the text before the node, which draws the branches.
        is_drawn: whether the node and its operands are drawn further up, so that the line only refers to them.
        named: the answers whose diagnosis names the edge to this node.
    """
    own: Style = "mark" if node.marked else "bold" if node.operands else ""
    line: list[tuple[str, Style]] = [(INDENT + lead, "mark" if named else "dim"), (node.title, own)]
    if is_drawn:
        return (*line, ("  (as above)", "dim"))
    line.append((f"  {node.shape}", "dim"))
    if node.marked:
        change = f"  {'; '.join(node.change.splitlines())}" if node.change else ""
        line.append((f"  <== {', '.join(node.marked)}{change}", "mark"))
    elif named:
        line.append((f"  <-- {', '.join(named)}", "mark"))
    elif node.answer:
        line.append((f"  {node.answer}", "dim"))
    return tuple(line)


def _shortened(line: Line, width: int) -> Line:
    """Return a line of the graph as it is, or without the node's shape if it is longer than `width` characters.

    The shape is the third part of the line, if that part is dim. Without it the line may still be longer.
    """
    if _length(line) <= width:
        return line
    return tuple(part for number, part in enumerate(line) if number != 2 or part[1] != "dim")


def pictures_in_words(shown: ExercisePictures, width: int) -> Iterator[Line]:
    """Yield the lines of sentences that describe an exercise's pictures, at most `width` columns wide."""
    if not shown.pictures:
        yield from wrapped(f"{shown.exercise}: everything is right.", width, "", "")
    for picture in merge_equal_notes(shown.pictures):
        for sentence in _picture_sentences(picture):
            yield from wrapped(sentence, width, "", "", indent=0)
    if shown.graph is not None:
        for sentence in _forward_pass_sentences(shown.graph):
            yield from wrapped(sentence, width, "", "", indent=0)


def _picture_sentences(picture: Picture) -> Iterator[str]:
    """Yield sentences on a picture: how far the answer is off and where.

    A picture without a grid gives its note alone. Where its last grid is no difference, as for an answer of a wrong
    shape, the entries of every grid follow instead.
    """
    if not picture.is_drawn:
        yield f"{picture.answer}: {picture.note}."
        return
    if picture.where:
        yield f"{picture.answer}, {picture.where}."
    for figure in picture.figures:
        yield from figure_sentences(figure, picture.answer)
    if not picture.grids:
        return
    if picture.grids[-1].kind == "difference":
        yield from _comparison_sentences(picture.answer, picture.grids[-3:])
    else:
        for grid in picture.grids:
            yield f"{grid.title}, shape {describe(grid.shape, grid.axes)}: {_entry_list(grid)}."


def _comparison_sentences(name: str, grids: Sequence[Grid]) -> Iterator[str]:
    """Yield sentences on how many entries are off, and on the entries that are furthest off, with both values.

    Args:
        name: the name of the answer.
        grids: three: the learner's array or what it adds to a stored gradient, the right one, and their difference.
    """
    yours, right_values, off = grids
    broken = ~np.isfinite(off.values)
    large, small = int((off.values > 0).sum()), int((off.values < 0).sum())
    right = off.values.size - large - small - int(np.isnan(off.values).sum())
    counts = [f"{count} {what}" for count, what in ((large, "too high"), (small, "too low"), (right, "right")) if count]
    if off.values.size != 1:
        yield f"Of {off.values.size} entries, {', '.join(counts) or 'none is a number'}."
    wrong = np.argwhere((off.values != 0) | broken)
    furthest = sorted(wrong, key=lambda at: -abs(np.nan_to_num(off.values[tuple(at)], nan=np.inf)))
    if len(furthest) > 1:
        yield "The furthest off first:"
    for at in map(tuple, furthest[:MOST_ENTRIES]):
        place = f"{name}[{', '.join(map(str, at))}]" if at else name
        value, error = yours.values[at], off.values[at]
        how = "too high" if error > 0 else "too low" if error < 0 else "no number to compare"
        both = "" if yours.shaded else f"{right_values.title} is {right_values.values[at]:.3g}, "
        own = f"{yours.title} is {value:.3g}, " if not yours.shaded else f"{yours.title} is "
        yield f"{place}: {own}{both}{how}."
    if len(furthest) > MOST_ENTRIES:
        yield f"And {len(furthest) - MOST_ENTRIES} more."


def _entry_list(grid: Grid) -> str:
    """Return the first `MOST_ENTRIES` entries of a grid, row by row, and the number of the others.

    Such as "1.5, -8.74e+03; 2, 3, and 4 more" for two columns.
    """
    entries, columns = grid.values.ravel(), grid.shape[-1] if grid.shape else 1
    shown = [f"{value:.3g}" for value in entries[:MOST_ENTRIES]]
    rows = (", ".join(shown[i : i + columns]) for i in range(0, len(shown), max(columns, 1)))
    more = f", and {entries.size - MOST_ENTRIES} more" if entries.size > MOST_ENTRIES else ""
    return "; ".join(rows) + more


def _forward_pass_sentences(graph: Graph) -> Iterator[str]:
    """Yield a sentence for each operation and each marked input: its operands, its shape, and what goes wrong there."""
    yield "The forward pass, from the inputs to the output:"
    names: dict[str, str] = {}
    steps = [node for node in graph.nodes.values() if node.operands]
    for node in graph.nodes.values():
        names[node.key] = f"step {steps.index(node) + 1}" if node.operands else node.label
    for number, node in enumerate(steps, 1):
        of = " and ".join(names[key] for key in node.operands)
        name = f", {node.name}" if node.name else ""
        out = ", which is the output" if node.key == graph.out else ""
        yield f"Step {number}{name}: {node.label} of {of}{out}, shape {node.shape}.{_mark_sentence(node, names)}"
    for node in graph.nodes.values():
        if node.marked and not node.operands:
            yield f"{node.label}, shape {node.shape}.{_mark_sentence(node, names)}"
    if graph.key_of_labels:
        yield graph.key_of_labels
    if graph.unmarked:
        yield f"For {', '.join(graph.unmarked)} no operation is named."


def _mark_sentence(node: GraphNode, names: Mapping[str, str]) -> str:
    """Return a sentence, with a blank before it, on the answers whose mistake is in a node; empty for an unmarked node.

    Args:
        node: the node.
        names: by key, what the nodes are called.
    """
    if not node.marked:
        return ""
    edges = {names[node.operands[i]]: i for i in sorted(node.edges)} if len(node.operands) > 1 else {}
    way = f", on the way back to {' and '.join(edges)}" if edges else ""
    change = f": {'; '.join(node.change.splitlines())}" if node.change else ""
    return f" Here it goes wrong, for {', '.join(node.marked)}{way}{change}."


def figure_lines(figure: Figure, width: int) -> Iterator[Line]:
    """Yield the lines of a figure: at most 60 columns wide, but a stamp as wide as `width` allows, and 44 at least."""
    yield ((INDENT, ""), (figure.title, "dim"))
    if figure.kind == "stamp":
        yield from _stamp_lines(figure, width - len(INDENT))
        return
    draw = {"scatter": _scatter_lines, "verdicts": _verdict_lines, "order": _order_lines}.get(figure.kind, _bar_lines)
    yield from draw(figure)


def _scatter_lines(figure: Figure) -> Iterator[Line]:
    """Yield the lines of a plot: `o` for a point, `.` if its entries are equal, `/` for the diagonal, axes at 0."""
    across, yours, *lines = figure.series
    limits = scatter_limits(figure)
    is_alike, near = limits[0] == limits[1], ON_LINE * min(limits)
    cells = [["|" if j == ACROSS // 2 else "-" if i == DOWN // 2 else " " for j in range(ACROSS)] for i in range(DOWN)]

    def put(x: float, y: float, mark: str) -> None:
        i, j = round((1 - y / limits[1]) * (DOWN - 1) / 2), round((1 + x / limits[0]) * (ACROSS - 1) / 2)
        if 0 <= i < DOWN and 0 <= j < ACROSS:
            cells[i][j] = mark

    for x in np.linspace(-min(limits), min(limits), ACROSS):
        put(float(x), float(x), "/")
    points = list(zip(across.values.tolist(), yours.values.tolist(), strict=True))
    for x, y in sorted(points, key=lambda point: abs(point[0] - point[1]) > near):
        put(x, y, "o" if abs(x - y) > near else ".")
    scale = "" if figure.shaded else f"  from {number_text(-limits[0])} to {number_text(limits[0])}"
    height = "" if figure.shaded else f"  up to {number_text(limits[1])}"
    yield ((INDENT, ""), (f"{yours.name}{height}", "dim"), *((f"   {line.name}", "mark") for line in lines))
    for row in cells:
        yield ((INDENT, ""), ("".join(row).rstrip(), ""))
    yield ((INDENT, ""), (f"{across.name}{scale}", "dim"))
    key = f"on / both are equal (.), o is off it{'' if is_alike else '; the scales are unlike'}"
    yield ((INDENT, ""), (key, "dim"))
    if figure.is_of_several_trials:
        yield ((INDENT, ""), ("the points are those of several trials", "dim"))


def _stamp_lines(figure: Figure, room: int) -> Iterator[Line]:
    """Yield the upstream gradient and both answers to it: for each entry `++`, `+`, `.`, `-` or `--`.

    All three stand side by side if they fit into `room` columns, else both answers, else each array alone.
    """
    shown = [tiles(series) for series in figure.series]
    limit = largest_magnitude(*shown[1:]) or 1.0
    blocks = []
    for place, (series, values) in enumerate(zip(figure.series, shown, strict=True)):
        own = limit if place else 1.0
        rows = ["".join(f"{_tile(float(value) / own):>3}" for value in row) for row in values]
        width = max(map(len, (series.name, *rows)))
        blocks.append([f"{text:<{width}}" for text in (series.name, *rows)])
    ways = ([blocks], [blocks[:1], blocks[1:]], [[block] for block in blocks])
    fits = (way for way in ways if all(len(BETWEEN.join(block[0] for block in row)) <= room for row in way))
    for place, row in enumerate(next(fits, ways[-1])):
        if place:
            yield ()
        for i in range(max(map(len, row))):
            parts = (block[i] if i < len(block) else " " * len(block[0]) for block in row)
            yield ((INDENT, ""), (BETWEEN.join(parts).rstrip(), "bold" if i == 0 else ""))


def tiles(series: Series) -> np.ndarray:
    """Return at most `MOST_TILES` rows and columns of a series around its entry of the greatest magnitude."""
    values = np.atleast_2d(series.values)
    at = divmod(int(np.abs(values).argmax()), values.shape[1])
    row, column = (max(0, min(i - MOST_TILES // 2, n - MOST_TILES)) for i, n in zip(at, values.shape, strict=True))
    return values[row : row + MOST_TILES, column : column + MOST_TILES]


def _tile(level: float) -> str:
    """Return an entry of a map: `++`, `+`, `.`, `-` or `--`.

    `level` is its size in proportion to the largest, from -1 to 1.
    """
    if not abs(level) > EMPTY:
        return "."
    return ("+" if level > 0 else "-") * (2 if abs(level) > STRONG else 1)


def _bar_lines(figure: Figure) -> Iterator[Line]:
    """Yield a bar for each step or place: `#` as long as the learner's number, and `|` where the right one ends."""
    yours, right = figure.series
    limit = largest_magnitude(yours.values, right.values) or 1.0
    signed = min(yours.values.min(initial=0.0), right.values.min(initial=0.0)) < 0
    size = max(map(len, yours.labels), default=1)
    for label, own, wanted in zip(yours.labels, yours.values.tolist(), right.values.tolist(), strict=True):
        row = [" "] * (2 * BAR + 1 if signed else BAR + 1)
        zero = BAR if signed else 0
        end, mark = zero + round(own / limit * BAR), zero + round(wanted / limit * BAR)
        for j in range(min(zero, end), max(zero, end) + (own != 0)):
            row[j] = "#"
        row[mark] = "|"
        yield ((INDENT, ""), (f"{label:>{size}} ", "dim"), ("".join(row).rstrip(), ""))
    scale = "" if figure.shaded else f", {number_text(limit)} at most"
    yield ((INDENT, ""), (f"# {yours.name}, | {right.name}{scale}", "dim"))


def _verdict_lines(figure: Figure) -> Iterator[Line]:
    """Yield a line such as "wrong  caught 2 ##  escaped 1 #" on wrong backward passes, one on right ones, a key."""
    wrong, right = figure.series
    for series, yes, no in ((wrong, "caught", "escaped"), (right, "accepted", "rejected")):
        good = int(series.values.sum())
        bad = series.values.size - good
        yield (
            (INDENT, ""),
            (f"{series.name:<6} ", "bold"),
            (f"{yes} {good} {'#' * good}".rstrip(), ""),
            ("  ", ""),
            (f"{no} {bad} {'#' * bad}".rstrip(), "mark" if bad else "dim"),
        )
    yield ((INDENT, ""), ("each # is a backward pass that your test was run on", "dim"))


def _order_lines(figure: Figure) -> Iterator[Line]:
    """Yield a line for each value in an order: its place, its number, and the values that it wrongly comes before.

    A line "..." stands for places that are left out. The last line says why these must come first.
    """
    values, places, _ = figure.series
    early, before = early_values(figure), -1
    size, widest = len(f"{places.values[-1] + 1:g}"), max(len(f"{value:g}") for value in values.values)
    for i, (value, name, place) in enumerate(zip(values.values, values.labels, places.values, strict=True)):
        if place > before + 1:
            yield ((INDENT, ""), ("...", "dim"))
        before = place
        where = "" if name == "missing" else f"{place + 1:g}."
        line: list[tuple[str, Style]] = [(INDENT, ""), (f"{where:>{size + 1}} ", "dim")]
        line += [(f"value {value:<{widest}g}", "bold"), (f"  {name}" if name else "", "dim")]
        if i in early:
            line.append((f"  <== before {', '.join(early[i][1])}", "mark"))
        yield tuple(line)
    if early:
        yield ((INDENT, ""), (f"<== is before a value {_relation(figure, 1)}", "dim"))


def _relation(figure: Figure, count: int) -> str:
    """Return, in a figure of an order, a clause on the values that a value must come after; `count` is how many."""
    if figure.title.startswith(YOUR_LIST):
        return "which it is computed from"
    return f"which {'is' if count == 1 else 'are'} computed from it"


def figure_sentences(figure: Figure, name: str) -> Iterator[str]:
    """Yield a sentence or two that say what a figure shows.

    Args:
        figure: the figure.
        name: the name of the answer.
    """
    if figure.kind == "scatter":
        yield from _scatter_sentences(figure)
    elif figure.kind == "stamp":
        upstream, yours, right = figure.series
        first = f"If {upstream.name}{_largest_entry(upstream.values)[1]} is 1 and all else of it 0"
        yield f"{first}, {name} of yours has {_entries(yours, figure)}, and must have {_entries(right, figure)}."
    elif figure.kind == "order":
        early, labels = early_values(figure), figure.series[0].labels
        said = [
            f"value {value} comes before {' and '.join(late)}, {_relation(figure, len(late))}"
            for value, late in list(early.values())[:MOST_NAMED]
        ]
        said += [f"{len(early) - MOST_NAMED} more come too early"] if len(early) > MOST_NAMED else []
        if figure.title.startswith(YOUR_LIST):  # a backward pass may visit a value again
            counts = (("come again", labels.count("again")), ("are missing", labels.count("missing")))
            said += [f"values that {what}: {count}" for what, count in counts if count]
        yield f"In {figure.title}, {'; '.join(said)}."
    elif figure.kind == "verdicts":
        wrong, right = figure.series
        caught, accepted, every = int(wrong.values.sum()), int(right.values.sum()), wrong.values.size
        yield (
            f"Of {every} wrong backward passes {caught} are caught and {every - caught} escape; "
            f"of {right.values.size} right ones {accepted} are accepted."
        )
    else:
        yours, right = figure.series
        least = 1e-6 * largest_magnitude(yours.values, right.values)
        is_near = np.isclose(yours.values, right.values, rtol=1e-3, atol=least)
        off = [i for i, near in enumerate(is_near) if not near]
        what = "step" if figure.kind == "steps" else "place"
        listed = [
            f"{what} {yours.labels[i]}"
            + ("" if figure.shaded else f" is {number_text(yours.values[i])}, right is {number_text(right.values[i])}")
            for i in off[:MOST_NAMED]
        ]
        yield f"Of {figure.title}, {len(off)} of {len(yours.values)} are off: {'; '.join(listed)}."


def _scatter_sentences(figure: Figure) -> Iterator[str]:
    """Yield a sentence on the line that the points of a scatter are on, or sentences on those off the diagonal."""
    across, yours, *lines = figure.series
    scale = max(largest_magnitude(across.values, yours.values), 1e-300)
    off = np.abs(across.values - yours.values) > ON_LINE * scale
    plot = f"In a plot of {figure.title}{' in several trials' if figure.is_of_several_trials else ''}"
    if lines:
        yield f"{plot}, the points are on a line: {lines[0].name}."
        return
    lost = int((off & (np.abs(yours.values) <= ON_LINE * scale)).sum())
    extra = int((off & (np.abs(across.values) <= ON_LINE * scale)).sum())
    yield f"{plot}, {int(off.sum())} of {off.size} points are off the diagonal, on no common line."
    if lost:
        yield f"At {lost} of them yours is 0 and {across.name} is not."
    if extra:
        yield f"At {extra} of them {across.name} is 0 and yours is not."


def _largest_entry(values: np.ndarray) -> tuple[float, str]:
    """Return the entry of largest magnitude of an array, the first of several, and its index as text: `[1, 2]`."""
    at = np.unravel_index(int(np.abs(values).argmax()), values.shape)
    return float(values[at]), f"[{', '.join(map(str, map(int, at)))}]"


def _entries(series: Series, figure: Figure) -> str:
    """Return how many entries of a series are not 0, and where they are.

    For example "2 entries other than 0, at [0, 1] (1.50), [2, 0] (-1.00)", or "only zeros". At most `MOST_NAMED` are
    listed, and then "and 3 more". The values in round brackets are left out of a shaded figure. An entry within a
    millionth of the largest counts as 0.
    """
    limit = largest_magnitude(series.values)
    places: Sequence[Sequence[int]] = np.argwhere(np.abs(series.values) > 1e-6 * limit).tolist() if limit else []
    if not places:
        return "only zeros"
    listed = ", ".join(
        f"[{', '.join(map(str, place))}]"
        + ("" if figure.shaded else f" ({number_text(float(series.values[tuple(place)]))})")
        for place in places[:MOST_NAMED]
    )
    more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
    return f"{len(places)} entr{'y' if len(places) == 1 else 'ies'} other than 0, at {listed}{more}"
