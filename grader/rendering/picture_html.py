"""Pictures of wrong answers as HTML for any page, light or dark: tables of tinted cells, and a graph in SVG."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from .graph_svg import graph_svg
from .heat_maps import NAMELESS, NOT_FINITE, Cell, Table, TableLimits, bands, omission
from .picture_data import ExercisePictures, Graph, Picture, merge_equal_notes

# Text keeps the page's own colour: against either tint it has a contrast of 4.5 on white and on black alike.
BELOW, ABOVE = "31, 119, 208", "201, 80, 16"
STRONGEST = 0.9
BROKEN = "215, 50, 60"
ROOM = TableLimits(rows=24, columns=24, slices=6)


def pictures_html(shown: ExercisePictures) -> str:
    """Return an exercise's pictures as HTML that loads nothing."""
    if not shown.pictures:
        return div("Everything is right, so there is nothing to draw.")
    drawn = [_picture_html(picture) for picture in merge_equal_notes(shown.pictures)]
    notes = dict.fromkeys(picture.note for picture in shown.pictures if picture.grids and picture.note)
    drawn += [div(escape(note), "opacity: 0.8; margin-top: 0.4em") for note in notes]
    return "".join([*drawn, forward_pass_html(shown.graph) if shown.graph is not None else ""])


def _picture_html(picture: Picture) -> str:
    subtitle = picture.where if picture.grids else picture.note
    head = div(f'<b>{escape(picture.answer)}</b>&ensp;<span style="opacity: 0.8">{escape(subtitle)}</span>')
    parts = []
    for band in bands(picture, ROOM):
        parts += [div(escape(line), "opacity: 0.8") for line in band.caption.splitlines()]
        tables = "".join(_table_html(table) for table in band.tables)
        parts.append(div(tables, "display: flex; flex-wrap: wrap; gap: 0.4em 1.6em; margin: 0.3em 0"))
    return div("".join([head, *parts]), "margin: 0.6em 0")


def _table_html(table: Table) -> str:
    """Return a table as a `<figure>` with its heading."""
    caption = f'<figcaption style="font-weight: bold">{escape(table.heading)}</figcaption>'
    rows = [
        _row_html(str(i) if table.down else "", (_cell_html("td", cell) for cell in row))
        for i, row in enumerate(table.rows, table.first[0])
    ]
    if table.across:
        count = max((len(row) for row in table.rows), default=0)
        rows.insert(0, _row_html(_corner(table), (_index_html(str(table.first[1] + j)) for j in range(count))))
    style = "border-collapse: collapse; margin: 0.2em 0; font-variant-numeric: tabular-nums; font-size: 13px"
    more = div(omission(table), "opacity: 0.8") if omission(table) else ""
    inside = f'{caption}<table style="{style}">{"".join(rows)}</table>{more}'
    return f'<figure style="margin: 0; max-width: 100%; overflow-x: auto">{inside}</figure>'


def _row_html(label: str, cells: Iterable[str]) -> str:
    return f'<tr style="background: none">{_index_html(label)}{"".join(cells)}</tr>'


def _corner(table: Table) -> str:
    """Return the label of a table's corner: the names of its axes, without those that have none."""
    down, across = ("" if name.startswith(NAMELESS) else name for name in (table.down, table.across))
    return f"{down} \\ {across}" if down or (across and table.down) else across


def _index_html(text: str) -> str:
    style = "font-weight: normal; opacity: 0.7; padding: 0.1em 0.5em; text-align: right"
    return f'<th style="{style}">{escape(text)}</th>'


def _cell_html(tag: str, cell: Cell) -> str:
    """Return a cell as HTML in the colour of its value."""
    style = f"background: {_background(cell)}; padding: 0.15em 0.5em; text-align: right; white-space: nowrap"
    text = cell.text.replace("-", "\N{MINUS SIGN}") if tag == "td" else cell.text
    return f'<{tag} style="{style}">{escape(text)}</{tag}>'


def _background(cell: Cell) -> str:
    """Return the CSS colour of a cell."""
    if cell.mark == NOT_FINITE:
        return f"rgba({BROKEN}, 0.6)"
    if cell.mark or not cell.level:
        return "none"
    return f"rgba({ABOVE if cell.level > 0 else BELOW}, {STRONGEST * abs(cell.level):.2f})"


def forward_pass_html(graph: Graph) -> str:
    """Return the graph of a forward pass as HTML, with a title and a note on answers for which nothing is marked."""
    head = div('<b>forward pass</b>&ensp;<span style="opacity: 0.8">from the inputs down to the output</span>')
    unmarked = ""
    if graph.unmarked:
        unmarked = div(
            f"Nothing is marked for {escape(', '.join(graph.unmarked))}: no operation is named.", "opacity: 0.8"
        )
    return div(f"{head}{graph_svg(graph)}{unmarked}", "margin: 0.6em 0")


def div(content: str, style: str = "") -> str:
    """Return HTML in a `<div>` with an inline style."""
    return f'<div style="{style}">{content}</div>' if style else f"<div>{content}</div>"
