"""Pictures of wrong answers as lines of styled text: heat maps of numbers that can be read without their colours."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from grader.course.shapes import describe

from .heat_maps import NAMELESS, NOT_FINITE, RIGHT, Cell, Table, TableLimits, bands, left_out
from .picture_data import OUT, ExercisePictures, Graph, GraphNode, Grid, Picture, without_repeats
from .render_text import Line, Style, wrapped

INDENT, GAP = "  ", "   "
STEPS = 4
FAINT = 0.05
COLD: tuple[Style, ...] = ("cold1", "cold2", "cold3", "cold4")
HOT: tuple[Style, ...] = ("hot1", "hot2", "hot3", "hot4")
MEANS: dict[str, Style] = {RIGHT: "dim", NOT_FINITE: "bad"}
WAY = "from the output back to the inputs; <== is where it goes wrong"
Block = list[Line]
MOST_ENTRIES = 8


def picture_lines(shown: ExercisePictures, width: int) -> Iterator[Line]:
    """The pictures of one exercise, at most `width` columns wide."""
    if not shown.pictures:
        yield from _said("everything is right, so there is nothing to draw", width, shown.exercise)
    for number, picture in enumerate(without_repeats(shown.pictures)):
        if number:
            yield ()
        yield from _picture(picture, width)
    if shown.graph is not None:
        yield ()
    notes = list(dict.fromkeys(picture.note for picture in shown.pictures if picture.grids and picture.note))
    for note in notes:
        yield from _said(note, width)
    if shown.graph is not None:
        if notes:
            yield ()
        yield from _graph(shown.graph, width)


def _picture(picture: Picture, width: int) -> Iterator[Line]:
    if not picture.grids:
        yield from _said(picture.note, width, picture.answer)
        return
    yield from _said(picture.where, width, picture.answer)
    room = width - len(INDENT)
    for band in bands(picture, _limits(picture, room)):
        if band.caption:
            for line in band.caption.splitlines():
                yield from _said(line, width)
        size = max(map(_longest, band.tables))
        yield from _packed([_block(table, size) for table in band.tables], room)


def _limits(picture: Picture, room: int) -> TableLimits:
    """As many columns as fit into `room`, with their numbers."""
    most = TableLimits()
    tables = [table for band in bands(picture, most) for table in band.tables]
    margin, size = max(map(_margin, tables), default=0), max(map(_longest, tables), default=1)
    return replace(most, columns=max(min((room - margin) // (size + 1), most.columns), 1))


def _said(text: str, width: int, name: str = "") -> Iterator[Line]:
    """A sentence, wrapped, after a name in bold."""
    first = f"{name}  " if name else ""
    parts = textwrap.wrap(first + text, max(width - len(INDENT), 20), break_long_words=False, subsequent_indent=INDENT)
    for number, part in enumerate(parts or [first]):
        if number == 0 and name:
            yield ((INDENT, ""), (name, "bold"), (part[len(name) :], "dim"))
        else:
            yield ((INDENT, ""), (part, "dim"))


def _packed(blocks: Sequence[Block], room: int) -> Iterator[Line]:
    """As many blocks side by side as there is room for, the others below."""
    row: list[Block] = []
    for block in blocks:
        if row and sum(_width(each) + len(GAP) for each in row) + _width(block) > room:
            yield from _beside(row)
            row = []
        row.append(block)
    yield from _beside(row)


def _beside(blocks: Sequence[Block]) -> Iterator[Line]:
    for i in range(max(map(len, blocks))):
        line: Line = ((INDENT, ""),)
        for number, block in enumerate(blocks):
            found = block[i] if i < len(block) else ()
            padding = _width(block) - _length(found) if number + 1 < len(blocks) else 0
            line = (*line, *found, (" " * padding + (GAP if number + 1 < len(blocks) else ""), ""))
        yield line


def _margin(table: Table) -> int:
    """How wide the names and indices on the left are."""
    return max(len(_corner(table)), len(str(table.first[0] + len(table.rows) - 1)) if table.down else 0)


def _corner(table: Table) -> str:
    """The names of the axes, those that have one."""
    down, across = ("" if name.startswith(NAMELESS) else name for name in (table.down, table.across))
    return f"{down}\\{across}" if down or (across and table.down) else across


def _longest(table: Table) -> int:
    """How wide a column must be: for its numbers and for its index."""
    numbers = max((len(cell.text) for row in table.rows for cell in row), default=1)
    return max(numbers, len(str(table.first[1] + _columns(table) - 1)))


def _columns(table: Table) -> int:
    return max(map(len, table.rows), default=0)


def _block(table: Table, size: int) -> Block:
    """A heading, the indices of the columns, and the rows.

    Args:
        size: how wide each column is.
    """
    margin = _margin(table)
    block: Block = [((table.heading, "bold"),)]
    if table.across:
        numbers = "".join(f" {table.first[1] + j:>{size}}" for j in range(_columns(table)))
        block.append(((f"{_corner(table):>{margin}}{numbers}", "dim"),))
    for i, row in enumerate(table.rows, table.first[0]):
        label = f"{i if table.down else '':>{margin}}"
        block.append(((label, "dim"), *((f" {cell.text:>{size}}", _style(cell)) for cell in row)))
    if more := left_out(table):
        block.append(((f"{' ' * margin} {more}", "dim"),))
    return block


def _style(cell: Cell) -> Style:
    if cell.mark:
        return MEANS[cell.mark]
    if abs(cell.level) < FAINT:
        return ""
    step = min(math.ceil(STEPS * abs(cell.level)), STEPS) - 1
    return HOT[step] if cell.level > 0 else COLD[step]


def _width(block: Block) -> int:
    return max(map(_length, block))


def _length(line: Line) -> int:
    return sum(len(text) for text, _ in line)


def _graph(graph: Graph, width: int) -> Iterator[Line]:
    yield from _said(WAY, width, "forward pass")
    drawn: set[str] = set()
    for line in _tree(graph, graph.out, "", "", drawn):
        yield _cut(line, width)
    if graph.unmarked:
        yield from _said(f"Nothing is marked for {', '.join(graph.unmarked)}: no operation is named.", width)


def _tree(graph: Graph, key: str, lead: str, below: str, drawn: set[str], named: Sequence[str] = ()) -> Iterator[Line]:
    """A node, and under it what it is computed from.

    Args:
        lead: what stands before the node.
        below: what stands before the nodes under it.
        drawn: the operations drawn already, which are not drawn twice.
        named: the answers whose diagnosis names the way to this node.
    """
    node = graph.nodes[key]
    again = key in drawn and bool(node.operands)
    drawn.add(key)
    yield _node(graph, node, lead, again=again, named=named)
    for number, source in enumerate(() if again else node.operands):
        last = number + 1 == len(node.operands)
        ways = node.marked if source in node.edges and len(node.operands) > 1 else ()
        leads = f"{below}{'`' if last else '|'}- ", f"{below}{' ' if last else '|'}  "
        yield from _tree(graph, source, *leads, drawn, ways)


def _node(graph: Graph, node: GraphNode, lead: str, *, again: bool, named: Sequence[str]) -> Line:
    name = f"{OUT} = {node.label}" if node.key == graph.out else node.label
    own: Style = "mark" if node.marked else "bold" if node.operands else ""
    line: list[tuple[str, Style]] = [(INDENT + lead, "mark" if named else "dim"), (name, own)]
    if again:
        return (*line, ("  (as above)", "dim"))
    line.append((f"  {node.shape}", "dim"))
    if node.marked:
        line.append((f"  <== {', '.join(node.marked)}", "mark"))
    elif named:
        line.append((f"  <-- {', '.join(named)}", "mark"))
    elif node.answer:
        line.append((f"  {node.answer}", "dim"))
    return tuple(line)


def _cut(line: Line, width: int) -> Line:
    """The line without its shape, where it is too long."""
    if _length(line) <= width:
        return line
    return tuple(part for number, part in enumerate(line) if number != 2 or part[1] != "dim")


def pictures_in_words(shown: ExercisePictures, width: int) -> Iterator[Line]:
    """The pictures of one exercise, as sentences of at most `width` columns to a line."""
    if not shown.pictures:
        yield from wrapped(f"{shown.exercise}: everything is right.", width, "", "")
    for picture in without_repeats(shown.pictures):
        for sentence in _sentences(picture):
            yield from wrapped(sentence, width, "", "", indent=0)
    if shown.graph is not None:
        for sentence in _forward_pass(shown.graph):
            yield from wrapped(sentence, width, "", "", indent=0)


def _sentences(picture: Picture) -> Iterator[str]:
    if not picture.grids:
        yield f"{picture.answer}: {picture.note}."
        return
    if picture.where:
        yield f"{picture.answer}, {picture.where}."
    yours, off = picture.grids[0], picture.grids[-1]
    if off.kind == "difference" and off.shape == yours.shape:
        yield from _compared(picture.answer, yours, off)
    else:
        for grid in picture.grids:
            yield f"{grid.title}, shape {describe(grid.shape, grid.axes)}: {_listed(grid)}."


def _compared(name: str, yours: Grid, off: Grid) -> Iterator[str]:
    """How many entries are off, and those that are furthest off."""
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
        yield f"{place}: yours is {value:.3g}, {how}."
    if len(furthest) > MOST_ENTRIES:
        yield f"And {len(furthest) - MOST_ENTRIES} more."


def _listed(grid: Grid) -> str:
    entries = grid.values.ravel()
    more = f", and {entries.size - MOST_ENTRIES} more" if entries.size > MOST_ENTRIES else ""
    return ", ".join(f"{value:.3g}" for value in entries[:MOST_ENTRIES]) + more


def _forward_pass(graph: Graph) -> Iterator[str]:
    """Each operation with what it is computed from, inputs first, and which of them a finding names."""
    yield "The forward pass, from the inputs to the output:"
    names: dict[str, str] = {}
    steps = [node for node in graph.nodes.values() if node.operands]
    for node in graph.nodes.values():
        names[node.key] = f"step {steps.index(node) + 1}" if node.operands else node.label
    for number, node in enumerate(steps, 1):
        of = " and ".join(names[key] for key in node.operands)
        out = ", which is the output" if node.key == graph.out else ""
        here = f". Here it goes wrong, for {', '.join(node.marked)}" if node.marked else ""
        yield f"Step {number}: {node.label} of {of}{out}, shape {node.shape}{here}."
    if graph.unmarked:
        yield f"For {', '.join(graph.unmarked)} no operation is named."
