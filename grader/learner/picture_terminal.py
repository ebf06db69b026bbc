"""Pictures of wrong answers as lines of styled text: heat maps of numbers that can be read without their colours."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence

from grader.picture.heat_maps import NAMELESS, NOT_FINITE, RIGHT, Band, Cell, Table, TableLimits, bands, left_out
from grader.picture.picture_data import OUT, ExercisePictures, Graph, Node, Picture, without_repeats

from .render_text import Line, Style

INDENT, GAP = "  ", "   "
STEPS = 4
FAINT = 0.05
COLD: tuple[Style, ...] = ("cold1", "cold2", "cold3", "cold4")
HOT: tuple[Style, ...] = ("hot1", "hot2", "hot3", "hot4")
MEANS: dict[str, Style] = {RIGHT: "dim", NOT_FINITE: "bad"}
COMPACT = "each cell: the sign, and the size in ninths of the largest entry"
WAY = "from the output back to the inputs; <== is where it goes wrong"
Block = list[Line]


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
    columns = max((room - 6) // 3, 3)
    for band in bands(picture, TableLimits(columns=columns)):
        if band.caption:
            for line in band.caption.splitlines():
                yield from _said(line, width)
        yield from _packed(_blocks(band, room), room)
        if any(_is_compact(table, room) for table in band.tables):
            yield from _said(COMPACT, width)


def _said(text: str, width: int, name: str = "") -> Iterator[Line]:
    """A sentence, wrapped, after a name in bold."""
    first = f"{name}  " if name else ""
    parts = textwrap.wrap(first + text, max(width - len(INDENT), 20), break_long_words=False, subsequent_indent=INDENT)
    for number, part in enumerate(parts or [first]):
        if number == 0 and name:
            yield ((INDENT, ""), (name, "bold"), (part[len(name) :], "dim"))
        else:
            yield ((INDENT, ""), (part, "dim"))


def _blocks(band: Band, room: int) -> list[Block]:
    return [_block(table, compact=_is_compact(table, room)) for table in band.tables]


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


def _is_compact(table: Table, room: int) -> bool:
    """The numbers do not fit into `room` columns."""
    count = max((len(row) for row in table.rows), default=0)
    return _margin(table) + count * (_longest(table) + 1) > room


def _margin(table: Table) -> int:
    """How wide the names and indices on the left are."""
    return max(len(_corner(table)), len(str(len(table.rows) - 1)) if table.down else 0)


def _corner(table: Table) -> str:
    """The names of the axes, those that have one."""
    down, across = ("" if name.startswith(NAMELESS) else name for name in (table.down, table.across))
    return f"{down}\\{across}" if down or (across and table.down) else across


def _longest(table: Table) -> int:
    return max((len(cell.text) for row in table.rows for cell in row), default=1)


def _block(table: Table, *, compact: bool) -> Block:
    """A heading, the indices of the columns, and the rows."""
    count, margin = max((len(row) for row in table.rows), default=0), _margin(table)
    size = 2 if compact else max(_longest(table), len(str(count - 1)))
    block: Block = [((table.heading, "bold"),)]
    if table.across:
        numbers = "".join(f" {j if not compact or j < 100 else '':>{size}}" for j in range(count))
        block.append(((f"{_corner(table):>{margin}}{numbers}", "dim"),))
    for i, row in enumerate(table.rows):
        label = f"{i if table.down else '':>{margin}}"
        cells = [(f" {_compact(cell) if compact else cell.text:>{size}}", _style(cell)) for cell in row]
        block.append(((label, "dim"), *cells))
    if more := left_out(table):
        block.append(((f"{' ' * margin} {more}", "dim"),))
    return block


def _compact(cell: Cell) -> str:
    if cell.mark or not cell.level:
        return cell.text[:2]
    return f"{'+' if cell.level > 0 else '-'}{max(round(9 * abs(cell.level)), 1)}"


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


def _node(graph: Graph, node: Node, lead: str, *, again: bool, named: Sequence[str]) -> Line:
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
