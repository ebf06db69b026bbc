"""Draws a forward pass in SVG, from its inputs down to its output, with what a diagnosis names marked."""

from __future__ import annotations

import itertools

from .graph_layout import HEIGHT, MARKED_HEIGHT, WIDTH, Layout, layout
from .picture_data import OUT, Graph, Node
from .svg_drawing import Picture

LONGEST = 15


def graph_svg(graph: Graph) -> str:
    """An `<svg>` to stand in a page, in whatever colours the page has."""
    found = layout(graph)
    marked = [f"{node.label} for {', '.join(node.marked)}" for node in graph.nodes.values() if node.marked]
    about = f"From the inputs down to the output. Marked: {'; '.join(marked) or 'nothing'}."
    picture = Picture(round(found.width), round(found.height), "The forward pass", about)
    for node in graph.nodes.values():
        for source in node.operands:
            _edge(picture, graph, found, source, node)
    for node in graph.nodes.values():
        _box(picture, graph, node, found)
    return picture.inline()


def _height(node: Node) -> float:
    return MARKED_HEIGHT if node.marked else HEIGHT


def _box(picture: Picture, graph: Graph, node: Node, found: Layout) -> None:
    x, y = found.places[node.key]
    height = _height(node)
    label = f"{OUT} = {node.label}" if node.key == graph.out else node.label
    style = "marked" if node.marked else "box"
    picture.box(x - WIDTH / 2, y - height / 2, WIDTH, height, style, 4 if node.operands else HEIGHT / 2)
    top = y - height / 2
    picture.text(x, top + 19, _short(label), "code")
    picture.text(x, top + 35, _short(node.shape, LONGEST + 2), "code faint small")
    if node.marked:
        picture.text(x, top + 52, _short(f"\N{BALLOT X} {', '.join(node.marked)}"), "code small")


def _edge(picture: Picture, graph: Graph, found: Layout, source: str, node: Node) -> None:
    """An arrow from a value to what is computed of it."""
    way = found.edge_path(source, node.key)
    (x1, y1), (x2, y2) = way[0], way[-1]
    way = [(x1, y1 + _height(graph.nodes[source]) / 2), *way[1:-1], (x2, y2 - _height(node) / 2)]
    style = "backward" if source in node.edges or (node.marked and len(node.operands) == 1) else "forward"
    for start, end in itertools.pairwise(way[:-1]):
        picture.line(start, end, style)
    picture.arrow(way[-2], way[-1], style)


def _short(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
