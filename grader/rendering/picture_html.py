"""Pictures of wrong answers as HTML that fits any page, light or dark: tables of tinted cells, and a graph in SVG."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from .graph_svg import graph_svg
from .heat_maps import NAMELESS, NOT_FINITE, Cell, Table, TableLimits, bands, left_out
from .picture_data import ExercisePictures, Graph, Picture, without_repeats

# Text keeps the page's own colour: against either tint it has a contrast of 4.5 on white and on black alike.
BELOW, ABOVE = "31, 119, 208", "201, 80, 16"
STRONGEST = 0.9
BROKEN = "215, 50, 60"
ROOM = TableLimits(rows=24, columns=24, slices=6)


def pictures_html(shown: ExercisePictures) -> str:
    """The pictures of one exercise as HTML that refers to nothing outside itself."""
    if not shown.pictures:
        return div("Everything is right, so there is nothing to draw.")
    drawn = [_picture(picture) for picture in without_repeats(shown.pictures)]
    notes = dict.fromkeys(picture.note for picture in shown.pictures if picture.grids and picture.note)
    drawn += [div(escape(note), "opacity: 0.8; margin-top: 0.4em") for note in notes]
    return "".join([*drawn, forward_pass_html(shown.graph) if shown.graph is not None else ""])


def _picture(picture: Picture) -> str:
    said = picture.where if picture.grids else picture.note
    head = div(f'<b>{escape(picture.answer)}</b>&ensp;<span style="opacity: 0.8">{escape(said)}</span>')
    parts = []
    for band in bands(picture, ROOM):
        parts += [div(escape(line), "opacity: 0.8") for line in band.caption.splitlines()]
        tables = "".join(_figure(table) for table in band.tables)
        parts.append(div(tables, "display: flex; flex-wrap: wrap; gap: 0.4em 1.6em; margin: 0.3em 0"))
    return div("".join([head, *parts]), "margin: 0.6em 0")


def _figure(table: Table) -> str:
    caption = f'<figcaption style="font-weight: bold">{escape(table.heading)}</figcaption>'
    rows = [
        _row(str(i) if table.down else "", (_tinted("td", cell) for cell in row))
        for i, row in enumerate(table.rows, table.first[0])
    ]
    if table.across:
        count = max((len(row) for row in table.rows), default=0)
        rows.insert(0, _row(_corner(table), (_index(str(table.first[1] + j)) for j in range(count))))
    style = "border-collapse: collapse; margin: 0.2em 0; font-variant-numeric: tabular-nums; font-size: 13px"
    more = div(left_out(table), "opacity: 0.8") if left_out(table) else ""
    inside = f'{caption}<table style="{style}">{"".join(rows)}</table>{more}'
    return f'<figure style="margin: 0; max-width: 100%; overflow-x: auto">{inside}</figure>'


def _row(label: str, cells: Iterable[str]) -> str:
    return f'<tr style="background: none">{_index(label)}{"".join(cells)}</tr>'


def _corner(table: Table) -> str:
    """The names of the axes, those that have one."""
    down, across = ("" if name.startswith(NAMELESS) else name for name in (table.down, table.across))
    return f"{down} \\ {across}" if down or (across and table.down) else across


def _index(text: str) -> str:
    style = "font-weight: normal; opacity: 0.7; padding: 0.1em 0.5em; text-align: right"
    return f'<th style="{style}">{escape(text)}</th>'


def _tinted(tag: str, cell: Cell) -> str:
    """A cell in the colour of its value."""
    style = f"background: {_tint(cell)}; padding: 0.15em 0.5em; text-align: right; white-space: nowrap"
    text = cell.text.replace("-", "\N{MINUS SIGN}") if tag == "td" else cell.text
    return f'<{tag} style="{style}">{escape(text)}</{tag}>'


def _tint(cell: Cell) -> str:
    if cell.mark == NOT_FINITE:
        return f"rgba({BROKEN}, 0.6)"
    if cell.mark or not cell.level:
        return "none"
    return f"rgba({ABOVE if cell.level > 0 else BELOW}, {STRONGEST * abs(cell.level):.2f})"


def forward_pass_html(graph: Graph) -> str:
    """The forward pass with what is wrong marked."""
    head = div('<b>forward pass</b>&ensp;<span style="opacity: 0.8">from the inputs down to the output</span>')
    said = ""
    if graph.unmarked:
        said = div(f"Nothing is marked for {escape(', '.join(graph.unmarked))}: no operation is named.", "opacity: 0.8")
    return div(f"{head}{graph_svg(graph)}{said}", "margin: 0.6em 0")


def div(content: str, style: str = "") -> str:
    return f'<div style="{style}">{content}</div>' if style else f"<div>{content}</div>"
