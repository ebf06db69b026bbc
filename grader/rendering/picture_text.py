"""Pictures of wrong answers as text: heat maps that can be read without their colours, or sentences in plain mode."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from grader.course.shapes import describe

from .console import is_plain
from .figure_text import figure_lines, figure_sentences
from .heat_maps import NAMELESS, NOT_FINITE, RIGHT, Cell, Table, TableLimits, bands, omission
from .picture_data import OUT, ExercisePictures, Graph, GraphNode, Grid, Picture, merge_equal_notes
from .render_text import Line, Style, wrapped

INDENT, GAP = "  ", "   "
STEPS = 4
FAINT = 0.05
COLD: tuple[Style, ...] = ("cold1", "cold2", "cold3", "cold4")
HOT: tuple[Style, ...] = ("hot1", "hot2", "hot3", "hot4")
MARK_STYLES: dict[str, Style] = {RIGHT: "dim", NOT_FINITE: "bad"}
DIRECTION = "from the output back to the inputs; <== is where it goes wrong"
Block = list[Line]
MOST_ENTRIES = 8


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
    yield from _note_lines(DIRECTION, width, "forward pass")
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
    yield _node_line(graph, node, lead, is_drawn=is_drawn, named=named)
    for number, source in enumerate(() if is_drawn else node.operands):
        last = number + 1 == len(node.operands)
        marked_for = node.marked if source in node.edges and len(node.operands) > 1 else ()
        leads = f"{below}{'`' if last else '|'}- ", f"{below}{' ' if last else '|'}  "
        yield from _tree_lines(graph, source, *leads, drawn, marked_for)


def _node_line(graph: Graph, node: GraphNode, lead: str, *, is_drawn: bool, named: Sequence[str]) -> Line:
    """Return the line of a node in the tree: its name, its shape, and the answers that go wrong there.

    Args:
        graph: the forward pass.
        node: the node.
        lead: the text before the node, which draws the branches.
        is_drawn: whether the node and its operands are drawn further up, so that the line only refers to them.
        named: the answers whose diagnosis names the edge to this node.
    """
    name = f"{OUT} = {node.label}" if node.key == graph.out else node.label
    own: Style = "mark" if node.marked else "bold" if node.operands else ""
    line: list[tuple[str, Style]] = [(INDENT + lead, "mark" if named else "dim"), (name, own)]
    if is_drawn:
        return (*line, ("  (as above)", "dim"))
    line.append((f"  {node.shape}", "dim"))
    if node.marked:
        change = f"  {node.change}" if node.change else ""
        line.append((f"  <== {', '.join(node.marked)}{change}", "mark"))
    elif named:
        line.append((f"  <-- {', '.join(named)}", "mark"))
    elif node.answer:
        line.append((f"  {node.answer}", "dim"))
    return tuple(line)


def _shortened(line: Line, width: int) -> Line:
    """Return a line as it is, or without the node's shape if it is longer than `width` characters."""
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
    """Return the first `MOST_ENTRIES` entries of a grid and the number of the others: "1.5, -8.74e+03, and 4 more"."""
    entries = grid.values.ravel()
    more = f", and {entries.size - MOST_ENTRIES} more" if entries.size > MOST_ENTRIES else ""
    return ", ".join(f"{value:.3g}" for value in entries[:MOST_ENTRIES]) + more


def _forward_pass_sentences(graph: Graph) -> Iterator[str]:
    """Yield a sentence for each operation: its operands, its shape, and the answers whose mistake is there."""
    yield "The forward pass, from the inputs to the output:"
    names: dict[str, str] = {}
    steps = [node for node in graph.nodes.values() if node.operands]
    for node in graph.nodes.values():
        names[node.key] = f"step {steps.index(node) + 1}" if node.operands else node.label
    for number, node in enumerate(steps, 1):
        of = " and ".join(names[key] for key in node.operands)
        out = ", which is the output" if node.key == graph.out else ""
        change = f": {node.change}" if node.change else ""
        here = f". Here it goes wrong, for {', '.join(node.marked)}{change}" if node.marked else ""
        yield f"Step {number}: {node.label} of {of}{out}, shape {node.shape}{here}."
    if graph.unmarked:
        yield f"For {', '.join(graph.unmarked)} no operation is named."
